// Masks inside strings, where they are largest and where the same states recur.
//
// From a state of the string automaton every token does one of three things: it dies, it stays inside the string, or it
// closes the string after some prefix and goes on with a tail (`",` `"}` `":` ...). The first two depend on the state
// alone; the third on the state at the quote and on what may follow it. So the walk over the vocabulary is done once per
// state and remembered as a bitmask of inner tokens and a list of exits; what may follow is found by one walk over the few
// hundred distinct tails of the vocabulary (engine study of this project, "context vectors"; the idea is that of terminal
// labels in Koo et al. 2024, made exact).
//
// The automaton is shared by all grammars of the process, and so are these masks.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernel.hpp"
#include "vocabulary.hpp"

namespace schemagen {

struct StringExit {
    uint32_t state;  // at the closing quote
    uint32_t chars;  // code points read before it
    std::vector<std::pair<uint32_t, uint32_t>> tails;  // (tail, token)
};

struct StringMask {
    std::vector<uint32_t> inner;                          // bitmask of the tokens that stay inside
    uint32_t allowed = 0;                                 // how many those are
    std::vector<std::pair<uint32_t, uint32_t>> counted;   // (code points, token) of those that are not plain
    std::vector<StringExit> exits;
    size_t memory_bytes() const;
};

class StringMasks {
public:
    explicit StringMasks(LazyDfa& dfa) : dfa_(dfa) {}
    // The mask of a state; `counting` also splits it by code points, for strings with length bounds.
    std::shared_ptr<const StringMask> get(uint32_t state, bool counting, const VocabularyTables& tables);
    size_t memory_bytes() const { return bytes_; }

private:
    StringMask build(uint32_t state, bool counting, const VocabularyTables& tables) const;
    static constexpr size_t kMostBytes = 64u << 20;
    LazyDfa& dfa_;
    struct Key {
        uint64_t vocabulary, state;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& key) const;
    };
    std::unordered_map<Key, std::shared_ptr<const StringMask>, Hash> masks_;
    size_t bytes_ = 0;
};

}  // namespace schemagen
