// The kernel and the lazy automaton that all grammars of a process share.
//
// The same patterns, formats, number ranges and free strings come back in schema after schema. Their derivatives, the
// states made of them and the masks inside strings therefore live in one place: what one grammar has paid for, the next
// one finds. Each grammar has a budget of its own for what it adds. When the place has grown too large, new grammars get
// a fresh one (the next generation); the old one dies with the last grammar that uses it.
//
// Everything in here is written under `mutex`; a `Guard` holds it and charges a budget.
#pragma once
#include <memory>
#include <mutex>

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
    std::recursive_mutex mutex;
    const uint64_t generation;
};

// Exclusive use of the languages, on the account of one grammar.
class Guard {
public:
    Guard(Languages& languages, Budget& budget) : lock_(languages.mutex), kernel_(languages.kernel), outer_(kernel_.charge(&budget)) {}
    ~Guard() { kernel_.charge(outer_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

private:
    std::lock_guard<std::recursive_mutex> lock_;
    Kernel& kernel_;
    Budget* outer_;
};

}  // namespace schemagen
