// Masks inside strings, where they are largest and where the same states recur.
//
// From a state of the string automaton every token does one of three things: it dies, it stays inside the string, or it
// closes the string after some prefix and goes on with a tail (`",` `"}` `":` ...). The first two depend on the state
// alone; the third on the state at the quote and on what may follow it. So the walk over the vocabulary is done once per
// state and remembered as a bitmask of inner tokens and a list of exits; what may follow is found by one walk over the few
// hundred distinct tails of the vocabulary (engine study of this project, "context vectors"; the idea is that of terminal
// labels in Koo et al. 2024, made exact).
#pragma once
#include <cstdint>
#include <functional>
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
    std::vector<std::pair<uint32_t, uint32_t>> counted;   // (code points, token) of those that are not plain
    std::vector<StringExit> exits;
};

class StringMasks {
public:
    // The mask of a state; `counting` also splits it by code points, for strings with length bounds.
    const StringMask& get(uint32_t state, bool counting, LazyDfa& dfa, const VocabularyTables& tables);
    size_t memory_bytes() const { return bytes_; }

private:
    StringMask build(uint32_t state, bool counting, LazyDfa& dfa, const VocabularyTables& tables) const;
    static constexpr size_t kMostBytes = 64u << 20;
    std::unordered_map<uint64_t, StringMask> masks_;
    size_t bytes_ = 0;
};

}  // namespace schemagen
