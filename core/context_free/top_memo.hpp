// Answers about stacks, each kept for all stacks with the same entries on top.
//
// The answers are in a trie of entries from the top down: an answer lies at the end of the entries that it depends on.
// Invariant: the same entries lead to the same looks, so on the way down a stack there is one answer at
// most.
#pragma once
#include <cstdint>

#include "context_free/grammar.hpp"
#include "context_free/parser.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class TopMemo {
public:
    static constexpr uint32_t kNone = PairMap::kNone;
    struct Answer {
        uint32_t value;   // kNone if unknown
        uint32_t lowest;  // the lowest entry that it depends on; UINT32_MAX if none
    };

    // `context`: what there is besides the stack. `stacks` tells `entry`, `below` and `height` of a stack.
    template <class Stacks>
    Answer find(const Stacks& stacks, uint32_t question, uint32_t context, ParserState stack) const {
        uint32_t node = next_.find(kRoot, context), lowest = UINT32_MAX;
        for (ParserState at = stack; node != kNone; at = stacks.below(at)) {
            if (const uint32_t value = answers_.find(node, question); value != kNone) return {value, lowest};
            if (!at) break;
            lowest = stacks.height(at);
            node = next_.find(node, stacks.entry(at));
        }
        return {kNone, UINT32_MAX};
    }
    template <class Stacks>
    void insert(const Stacks& stacks, uint32_t question, uint32_t context, ParserState stack, Answer answer) {
        uint32_t node = grown(kRoot, context);
        for (ParserState at = stack; at && stacks.height(at) >= answer.lowest; at = stacks.below(at))
            node = grown(node, stacks.entry(at));
        if (answers_.find(node, question) == kNone) answers_.insert(node, question, answer.value);
    }
    void clear() {
        answers_.clear();
        next_.clear();
        nodes_ = 1;
    }
    size_t memory_bytes() const { return answers_.memory_bytes() + next_.memory_bytes(); }

private:
    uint32_t grown(uint32_t node, uint32_t label) {
        if (const uint32_t known = next_.find(node, label); known != kNone) return known;
        next_.insert(node, label, nodes_);
        return nodes_++;
    }

    static constexpr uint32_t kRoot = 0;
    PairMap next_;  // (node, label) -> node
    uint32_t nodes_ = 1;
    PairMap answers_;  // (node, question) -> answer
};

}  // namespace schemagen
