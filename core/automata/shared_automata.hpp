// The kernel and the lazy automaton that all grammars of a process share.
//
// The same patterns, formats, number ranges and free strings come back in schema after schema. Their derivatives, the
// states made of them and the masks inside strings are therefore shared: a grammar finds those that an earlier one has
// paid for. Each grammar has a budget of its own for its additions.
//
// When the place has grown too large, new grammars get a fresh one (the next generation). The grammars of the old one
// go on there, but not for long: when the next generation is retired as well, or when the old one has grown to twice
// its size, it closes. Its grammars then move out, each with its parts into automata of its own (constraint.hpp): busy
// ones when they next have to make something, the others a few at a time while new grammars are made.
// So there are at most the newest generation, the one before, and those that are just being left.
//
// After a while a text needs few new states. So a thread that follows one reads (`SharedLock`), beside any number of
// others, and asks for exclusive access at the first new state (`Kernel::before_write`): it waits until the others have
// read to their end, and goes on from its place. One thread at a time can do that; a second one gets UpgradeConflict
// and starts over after it. An `ExclusiveLock` is exclusive from the start. Readers count themselves in slots of their
// own, so they do not pass a cache line around (a distributed lock of readers and a writer; Hsieh & Weihl 1992).
//
// Order: the mutex of a constraint before its shared automata. A reader never waits for anything but a writer. All of
// them wait as work.hpp says, without the interpreter's lock.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "automata/string_masks.hpp"
#include "regex/kernel.hpp"
#include "regex/lazy_dfa.hpp"

namespace schemagen {

// Something new is needed, and another thread is making something new.
struct UpgradeConflict {};

// A grammar that lives in some shared automata.
class Tenant {
public:
    // Move out of automata that are closing. Returns false if that has to wait.
    virtual bool move_out() = 0;

protected:
    ~Tenant() = default;
};

class SharedAutomata final : public ForkSafe {
public:
    explicit SharedAutomata(uint64_t generation_);

    // The place for a new grammar.
    static std::shared_ptr<SharedAutomata> current();
    // A place for one grammar alone.
    static std::shared_ptr<SharedAutomata> apart();
    bool is_apart() const { return apart_; }
    bool is_closing() const { return closing_.load(std::memory_order_relaxed); }
    void add_tenant(const std::shared_ptr<Tenant>& tenant);
    // Have a few grammars move out of the automata that are closing; not for a thread that holds any of all these
    // locks.
    static void clear_out();
    // The generations that are alive, and their bytes, about.
    struct Extent {
        size_t generations = 0, bytes = 0;
    };
    static Extent extent();
    // Nodes and states as of when something was made last.
    size_t node_count() const { return node_count_.load(std::memory_order_relaxed); }
    size_t state_count() const { return state_count_.load(std::memory_order_relaxed); }
    size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

    Kernel kernel;
    LazyDfa dfa;
    StringMasks strings;
    const uint64_t generation;
    static inline std::atomic<bool> always_conflict{false};  // for tests: as if another thread came first every time

private:
    friend class ExclusiveLock;
    friend class SharedLock;
    static constexpr size_t kSlots = 16;
    struct alignas(64) Slot {
        std::atomic<uint32_t> readers{0};
    };
    Slot& my_slot();
    void take();
    bool try_take_from_reading();
    void leave();
    void wait_for_readers(uint32_t own);
    void after_fork() override;

    std::array<Slot, kSlots> slots_;
    std::atomic<bool> writing_{false};  // no reader may come in
    std::recursive_timed_mutex writers_;
    uint32_t depth_ = 0;  // of Guards, under `writers_`
    std::atomic<size_t> node_count_{0}, state_count_{0}, memory_bytes_{0};
    std::atomic<size_t> text_bytes_{0};  // of tables of substrings
    bool is_full(size_t times) const;

    bool apart_ = false;
    std::atomic<bool> closing_{false};
    std::mutex tenants_mutex_;  // held for some instructions, as that of the generations
    std::vector<std::weak_ptr<Tenant>> tenants_;
    size_t full_tenants_ = 64;  // when to look for those that are gone
};

// Exclusive use of the shared automata, on the account of one grammar. Not for a thread that is reading them.
class ExclusiveLock {
public:
    explicit ExclusiveLock(SharedAutomata& shared, Budget* budget = nullptr) : shared_(shared) {
        shared.take();
        outer_ = shared.kernel.charge(budget);
    }
    ~ExclusiveLock() {
        shared_.kernel.charge(outer_);
        shared_.leave();
    }
    ExclusiveLock(const ExclusiveLock&) = delete;
    ExclusiveLock& operator=(const ExclusiveLock&) = delete;

private:
    SharedAutomata& shared_;
    Budget* outer_;
};

// Shared use, until something has to be made: on the account of one grammar. Not for a thread that has a ExclusiveLock.
class SharedLock {
public:
    SharedLock(SharedAutomata& shared, Budget& budget);
    ~SharedLock();
    SharedLock(const SharedLock&) = delete;
    SharedLock& operator=(const SharedLock&) = delete;
    // The thread that reads goes on alone; throws UpgradeConflict if another one was first.
    static void upgrade();

private:
    SharedAutomata& shared_;
    Budget& budget_;
    SharedAutomata::Slot& slot_;
    Budget* outer_ = nullptr;
    bool alone_ = false;
};

}  // namespace schemagen
