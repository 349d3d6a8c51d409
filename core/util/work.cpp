#include "util/work.hpp"

#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define SCHEMAGEN_FORKS 1
#endif

#include "util/limits.hpp"

namespace schemagen {

constinit thread_local Here here SCHEMAGEN_QUICK_TLS;

constinit Interpreter interpreter{
    [] { return static_cast<void*>(&interpreter); },
    [](void*) {},
    [] { return false; },
    [] { return 0ul; },
};

namespace {

constexpr int64_t kMillisecond = std::chrono::steady_clock::duration(std::chrono::milliseconds(1)).count();
constexpr int64_t kPatience = 2 * kMillisecond;  // before a call gives up the interpreter's lock
constexpr int64_t kSignals = 50 * kMillisecond;  // between two looks for signals

std::atomic<unsigned long> main_thread{0};

bool is_main() { return interpreter.thread() == main_thread.load(std::memory_order_relaxed); }

// Threads that run in the core without the interpreter's lock, and forks that wait for them.
struct Gate {
    std::atomic<int> running{0}, forks{0};

    void enter() {
        while (true) {
            running.fetch_add(1);
            if (forks.load() == 0) return;
            running.fetch_sub(1);
            while (forks.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }
    void leave() { running.fetch_sub(1); }
    void stand_aside() {
        if (forks.load(std::memory_order_relaxed) == 0) return;
        leave();
        enter();
    }
};
Gate gate;

void count() {
    gate.enter();
    here.counted = true;
}

void count_no_more() {
    if (here.counted) gate.leave();
    here.counted = false;
}

}  // namespace

// ---- one call -----------------------------------------------------------------------------------------------------

Work::Work(double max_seconds, Manner manner, int64_t since)
    : outer_(here.innermost),
      max_seconds_(max_seconds),
      started_(since),
      manner_(outer_ && outer_->manner_ > manner ? outer_->manner_ : manner) {
    if (here.in_handler) throw Reentered();
    here.innermost = this;
    if (!outer_) here.looked = 0;
}

Work::~Work() {
    here.innermost = outer_;
    if (!outer_ && here.saved) take_back();
}

void Work::take_back() {
    count_no_more();
    void* saved = here.saved;
    here.saved = nullptr;
    interpreter.take_lock(saved);
}

void Work::release() {
    if (!here.innermost || here.innermost->manner_ != Manner::kRelease || here.saved || here.stop) return;
    count();
    here.looked = now();
    here.saved = interpreter.give_up_lock();
}

Work::Apart::Apart() {
    if (!here.innermost || here.innermost->manner_ == Manner::kKeep || here.saved || here.stop) return;
    takes_back_ = here.innermost->manner_ == Manner::kGiveWay;
    count();
    here.looked = now();
    here.saved = interpreter.give_up_lock();
}

Work::Apart::~Apart() {
    if (takes_back_ && here.saved) take_back();
}

void Work::check(int64_t time) {
    if (started_ == 0) started_ = time;
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::duration(time - started_)).count();
    if (passed > max_seconds_) throw LimitExceeded(Limit::kSeconds, passed, max_seconds_);
}

void Work::look() {
    here.countdown = kEvery;
    if (!here.innermost) return;
    const int64_t time = now();
    for (Work* work = here.innermost; work; work = work->outer_) work->check(time);
    if (here.looked == 0) here.looked = time;
    if (here.counted) gate.stand_aside();
    if (here.stop) {
        if (here.stop->load(std::memory_order_relaxed)) throw Stopped();
    } else if (here.saved) {
        if (time - here.looked > kSignals && is_main()) look_for_signals(false);
    } else if (time - here.looked > kPatience) {
        if (here.innermost->manner_ == Manner::kRelease) release();
        if (here.innermost->manner_ == Manner::kGiveWay) look_for_signals(false);
    }
}

// With the lock for a moment, or, where the call has it, without it for a moment.
void Work::look_for_signals(bool waiting) {
    if (here.saved)
        take_back();
    else
        interpreter.take_lock(interpreter.give_up_lock());
    here.looked = now();
    if (is_main()) {
        here.in_handler = true;
        const bool raised = interpreter.handle_signals();
        here.in_handler = false;
        if (raised) throw Interrupted();
    }
    if (waiting)
        here.saved = interpreter.give_up_lock();
    else
        release();
}

// ---- waiting ------------------------------------------------------------------------------------------------------

Work::Waiting::Waiting() : began_(now()) {
    if (here.innermost && !here.saved && !here.stop) {
        takes_back_ = here.innermost->manner_ != Manner::kRelease;
        here.looked = began_;
        here.saved = interpreter.give_up_lock();
    }
    count_no_more();
}

Work::Waiting::~Waiting() {
    if (takes_back_) {
        if (here.saved) take_back();
    } else if (here.saved || here.stop) {
        count();
    }
    const int64_t waited = now() - began_;
    for (Work* work = here.innermost; work; work = work->outer_)
        if (work->started_) work->started_ += waited;
}

bool Work::Waiting::sees_signals() const { return here.saved && is_main(); }

void Work::Waiting::look() { look_for_signals(true); }

// ---- threads of ours ----------------------------------------------------------------------------------------------

Helper::Helper(const std::atomic<bool>& stop) {
    here.stop = &stop;
    count();
}

Helper::~Helper() {
    count_no_more();
    here.stop = nullptr;
}

// ---- forks --------------------------------------------------------------------------------------------------------

struct Forks {
    static inline std::mutex mutex;  // held for some instructions
    static inline ForkSafe* first = nullptr;

    static void before() {
        gate.forks.fetch_add(1);
        while (gate.running.load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
        mutex.lock();
    }
    static void in_parent() {
        mutex.unlock();
        gate.forks.fetch_sub(1);
    }
    static void in_child() {
        mutex.unlock();
        gate.running.store(0);
        gate.forks.store(0);
        main_thread.store(interpreter.thread());
        // A signal handler that forks in the middle of a call holds locks that are its own, and goes on.
        if (here.innermost) return;
        for (ForkSafe* at = first; at; at = at->next_) at->after_fork();
    }
};

ForkSafe::ForkSafe() : previous_(nullptr) {
    std::lock_guard lock(Forks::mutex);
    next_ = Forks::first;
    if (next_) next_->previous_ = this;
    Forks::first = this;
}

ForkSafe::~ForkSafe() {
    std::lock_guard lock(Forks::mutex);
    (previous_ ? previous_->next_ : Forks::first) = next_;
    if (next_) next_->previous_ = previous_;
}

void watch_forks(unsigned long main) {
    main_thread.store(main);
#if defined(SCHEMAGEN_FORKS)
    pthread_atfork(&Forks::before, &Forks::in_parent, &Forks::in_child);
#endif
}

}  // namespace schemagen
