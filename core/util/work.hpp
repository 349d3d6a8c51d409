// The call that a thread is making: how long it may take, and how it lets others go on meanwhile.
//
// A call from Python begins with a `Work`. Whatever may take long calls `poll` again and again, which costs a
// decrement; one poll in `kEvery` looks at the clock. A look does four things:
//   - past the time that the call may take (`Limits.max_seconds`) it throws LimitExceeded;
//   - a call that has lasted for 2 ms gives up the interpreter's lock until it ends, so that other threads go on;
//   - in the main thread such a call takes the lock for a moment every 50 ms, to see whether a signal came. Where its
//     handler raises (Ctrl-C), the call ends with `Interrupted`, and Python has the error;
//   - while another thread forks the process, it waits: see below.
//
// poll throws, so it is called only where an exception leaves everything as it was, or as if the request had never been
// made: at the start of functions that make something, and in loops of searches.
//
// Locks. A thread that waits for a mutex of the core with the interpreter's lock in its hand would block the thread
// that has the mutex and needs the interpreter's lock for a look. So a mutex that may be held across a poll is taken by
// `Work::lock`, which gives the interpreter's lock up where it has to wait. A mutex that is held for some instructions,
// with no poll among them, is taken as usual.
//
// Fork. os.fork is called with the interpreter's lock. Of the other threads those that hold no such lock alone are at
// work in the core; they are counted (`gate`), and the fork waits until each of them has come to a look, or to its end.
// So data that they were changing is consistent in the new process, where the locks have no holders (`ForkSafe`).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace schemagen {

// The interpreter that calls the core (python/interpreter.cpp). Without one there is no lock and no signal.
struct Interpreter {
    void* (*give_up_lock)();         // returns the state needed to take it back, never nullptr
    void (*take_lock)(void* saved);  // does not return while the interpreter ends
    bool (*handle_signals)();        // whether a handler raised
    unsigned long (*thread)();       // a number for this thread
};
extern constinit Interpreter interpreter;

// A signal handler raised: Python has the error already.
struct Interrupted {};

// A signal handler (or a finalizer) called the core from within a call of the same thread.
struct Reentered {};

// Another thread of the same call has failed.
struct Stopped {};

class Work;

// The data of a thread about its current call.
struct Here {
    uint32_t countdown = 64;  // polls until the next look
    Work* innermost = nullptr;
    void* saved = nullptr;  // without the interpreter's lock: the state needed to take it back
    // When the call began, gave up the lock or looked for signals, whichever was last; 0 if not known yet.
    int64_t looked = 0;
    const std::atomic<bool>* stop = nullptr;  // of a thread of ours, which never has the lock: whether it is to end
    bool counted = false;                     // among the threads that a fork waits for
    bool in_handler = false;
};

#if defined(__linux__)
#define SCHEMAGEN_QUICK_TLS __attribute__((tls_model("initial-exec")))
#else
#define SCHEMAGEN_QUICK_TLS
#endif
extern constinit thread_local Here here SCHEMAGEN_QUICK_TLS;

class Work {
public:
    static constexpr uint32_t kEvery = 64;
    static constexpr double kNoEnd = 1e18;
    // The interpreter's lock in a long call: released until the call ends; released and taken back now and then, to
    // give way to other threads; or kept (for calls that read objects which other threads could change).
    enum class Manner : uint8_t { kRelease, kGiveWay, kKeep };

    // `since`: when the time began to count, as `now` tells; 0: with this call. A Work within another one has a time of
    // its own besides.
    explicit Work(double max_seconds = kNoEnd, Manner manner = Manner::kRelease, int64_t since = 0);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    static void look();
    // Give the interpreter's lock up now, before work that is known to take long.
    static void release();
    static int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

    template <class Mutex>
    static void lock(Mutex& mutex) {
        if (!mutex.try_lock())
            wait(mutex, [](Mutex& m) { m.lock(); }, [](Mutex& m, auto time) { return m.try_lock_for(time); });
    }
    template <class Mutex>
    static void lock_shared(Mutex& mutex) {
        if (!mutex.try_lock_shared())
            wait(
                mutex, [](Mutex& m) { m.lock_shared(); },
                [](Mutex& m, auto time) { return m.try_lock_shared_for(time); });
    }

    // Work on our own data alone, without access to Python objects: even a call that gives way is without the
    // interpreter's lock meanwhile. For work that is known to take long.
    class Apart {
    public:
        Apart();
        ~Apart();
        Apart(const Apart&) = delete;
        Apart& operator=(const Apart&) = delete;

    private:
        bool takes_back_ = false;  // the lock, in the end
    };

    // Time in which this thread waits for another one: it holds no interpreter's lock, a fork need not wait for it, and
    // it does not count against `max_seconds`.
    class Waiting {
    public:
        Waiting();
        ~Waiting();
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;
        bool sees_signals() const;  // whether it has to look now and then
        void look();                // may throw Interrupted

    private:
        int64_t began_;
        bool takes_back_ = false;  // the interpreter's lock, in the end
    };

private:
    friend class Helper;
    template <class Mutex, class Lock, class Try>
    static void wait(Mutex& mutex, const Lock& lock, const Try& try_for) {
        Waiting waiting;
        if (!waiting.sees_signals()) return lock(mutex);
        while (!try_for(mutex, std::chrono::milliseconds(20))) waiting.look();
    }
    void check(int64_t time);
    static void take_back();
    static void look_for_signals(bool waiting);

    Work* outer_;
    double max_seconds_;
    int64_t started_;
    Manner manner_;
};

inline void poll() {
    if (--here.countdown == 0) Work::look();
}

// A std::lock_guard that waits as `Work::lock` does.
template <class Mutex>
class WorkLock {
public:
    explicit WorkLock(Mutex& mutex) : mutex_(mutex) { Work::lock(mutex_); }
    ~WorkLock() { mutex_.unlock(); }
    WorkLock(const WorkLock&) = delete;
    WorkLock& operator=(const WorkLock&) = delete;

private:
    Mutex& mutex_;
};

// A thread that a call starts for a part of its work; it ends at its next look once `stop` is set.
class Helper {
public:
    explicit Helper(const std::atomic<bool>& stop);
    ~Helper();
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
};

// An object with locks that a thread may hold which a forked process does not have.
class ForkSafe {
protected:
    ForkSafe();
    ForkSafe(const ForkSafe&) = delete;
    ForkSafe& operator=(const ForkSafe&) = delete;
    virtual ~ForkSafe();

private:
    friend struct Forks;
    virtual void after_fork() = 0;  // in the new process: no lock is held, no other thread runs
    ForkSafe *next_, *previous_;
};

// Once, when the module is loaded: what there is to do around a fork, and which thread sees signals.
void watch_forks(unsigned long main_thread);

}  // namespace schemagen
