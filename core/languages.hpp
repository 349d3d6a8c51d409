// The kernel and the lazy automaton that all grammars of a process share.
//
// The same patterns, formats, number ranges and free strings come back in schema after schema. Their derivatives, the
// states made of them and the masks inside strings therefore live in one place: what one grammar has paid for, the next
// one finds. Each grammar has a budget of its own for what it adds. When the place has grown too large, new grammars get
// a fresh one (the next generation); the old one dies with the last grammar that uses it.
//
// A `Guard` has all this for itself and charges a budget. Most of what a text needs is known soon, though, and where
// several threads are at work they read side by side (`Reading`): whoever meets something new starts over with a Guard.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "kernel.hpp"
#include "string_masks.hpp"

namespace schemagen {

class Languages {
public:
    explicit Languages(uint64_t generation_) : dfa(kernel), strings(dfa), generation(generation_) {}

    // The place for a new grammar.
    static std::shared_ptr<Languages> current();

    Kernel kernel;
    LazyDfa dfa;
    StringMasks strings;
    const uint64_t generation;

    // While one lives, work on texts of these languages reads first, since there are others.
    class Company {
    public:
        explicit Company(Languages& languages) : languages_(languages) { languages_.company_.fetch_add(1); }
        ~Company() { languages_.company_.fetch_sub(1); }
        Company(const Company&) = delete;
        Company& operator=(const Company&) = delete;

    private:
        Languages& languages_;
    };
    bool in_company() const { return company_.load(std::memory_order_relaxed) || always_in_company.load(std::memory_order_relaxed); }
    static inline std::atomic<bool> always_in_company{false};  // for tests

private:
    friend class Guard;
    friend class Reading;
    bool try_take();
    void take();
    void leave();
    std::atomic<uint32_t> company_{0}, waiting_{0};
    std::recursive_mutex writers_;
    std::shared_mutex readers_;  // held alone by the outermost Guard
    uint32_t depth_ = 0;         // of Guards, under `writers_`
};

// Exclusive use of the languages, on the account of one grammar.
class Guard {
public:
    explicit Guard(Languages& languages, Budget* budget = nullptr) : languages_(languages), owns_(true) {
        if (!languages.try_take()) languages.take();
        outer_ = languages.kernel.charge(budget);
    }
    // Only if nobody else is there.
    Guard(Languages& languages, Budget* budget, std::try_to_lock_t) : languages_(languages), owns_(languages.try_take()) {
        if (owns_) outer_ = languages.kernel.charge(budget);
    }
    ~Guard() {
        if (!owns_) return;
        languages_.kernel.charge(outer_);
        languages_.leave();
    }
    explicit operator bool() const { return owns_; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

private:
    Languages& languages_;
    const bool owns_;
    Budget* outer_ = nullptr;
};

// Shared use: what is not known yet throws NotKnown. A thread with a Guard must not ask for it.
class Reading {
public:
    explicit Reading(Languages& languages) : languages_(languages) {
        // Whoever waits to write goes first: a stream of readers would keep it out for good.
        if (languages.waiting_.load()) std::lock_guard pass(languages.writers_);
        lock_ = std::shared_lock(languages.readers_);
        languages.kernel.readers.fetch_add(1);
    }
    ~Reading() { languages_.kernel.readers.fetch_sub(1); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

private:
    Languages& languages_;
    std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace schemagen
