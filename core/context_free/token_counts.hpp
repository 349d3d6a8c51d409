// Embedded languages whose tokens are counted: how many tokens a text of one may take, and which.
//
// A text takes every token that has a byte of it, so a token that ends the text and goes on counts, too. An aligned
// text consists of whole tokens: it begins and ends where tokens do, and may be restricted to some tokens of the
// vocabulary.
//
// A text that has taken some of its tokens stays alive while its shortest completion fits into the tokens that are
// left (masks/completion.hpp). So a mask never leads into a dead end, and near the bound it is the mask of a budget
// (masks/budget_masks.hpp). While more tokens are left than any place of the language needs to its end (its `reach`),
// the bound changes no mask, and such places count as equal.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "masks/budget_masks.hpp"
#include "masks/completion.hpp"
#include "util/bits.hpp"

namespace schemagen {

struct TokenCount {
    static constexpr uint32_t kNoBound = UINT32_MAX;
    uint32_t least = 0, most = kNoBound;
    bool is_aligned = false;
    std::vector<uint32_t> members;  // of an aligned text: the tokens it may consist of, as a mask
    bool has(uint32_t token) const {
        return members.empty() || (token / 32 < members.size() && has_bit(members.data(), token));
    }
};

class TokenCounter {
public:
    // `reach`: of an earlier counter of the same language, or kUnknown.
    TokenCounter(const TokenCount& count, Automaton& automaton, const VocabularyTables& tables, StringMasks& strings,
                 uint32_t reach);
    static constexpr uint32_t kUnknown = UINT32_MAX;
    uint32_t reach() const { return reach_; }
    uint32_t left(uint32_t taken) const { return count_.most == TokenCount::kNoBound ? kMany : count_.most - taken; }
    // Whether the text can be finished with the tokens that are left after `taken`.
    bool is_live(const Configuration& inner, uint32_t taken, Arena& arena);
    // Whether the bound is so far away that it takes out no token.
    bool is_far(uint32_t taken) const { return left(taken) > reach_; }
    // Whether it can be near right after the first token.
    bool is_tight() const { return left(0) <= reach_; }
    // Take out of a mask the tokens after which the text could not be finished. Returns how many are left.
    uint32_t tighten(const Configuration& inner, uint32_t taken, uint32_t* words, uint32_t allowed, Arena& arena);
    uint64_t memory_bytes() const { return ends_.memory_bytes() + budgets_.memory_bytes(); }

private:
    static constexpr uint32_t kMany = UINT32_MAX / 2;
    uint32_t find_reach();
    uint32_t keep_live(const Configuration& inner, uint32_t taken, uint32_t* words, Arena& arena);
    const TokenCount& count_;
    Completions ends_;
    BudgetMasks budgets_;
    Automaton& automaton_;
    const VocabularyTables& tables_;
    uint32_t reach_;  // most tokens needed from any place; kMany if there are too many places
};

}  // namespace schemagen
