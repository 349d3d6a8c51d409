// What was found out of configurations of a parser, kept for all for which it is the same.
//
// Whether a terminal may follow depends on the few states on top of an LR stack, however deep the stack is. So while
// something is found out it is measured how far down the stack was looked at (`StackReach`), and what was found is kept
// by what lies above: the next stack with the same top has the answer, too. Reading down a stack comes to one answer at
// most, because the same states lead to the same looks.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "context_free/lr_parser.hpp"
#include "context_free/parser.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class StateMemo {
public:
    static constexpr uint32_t kNone = PairMap::kNone;

    explicit StateMemo(Parser& parser) : parser_(parser), stacks_(parser.stacks()) {}
    // What `ask()` says of a state, under one of many questions.
    template <class Ask>
    uint32_t get(uint32_t question, ParserState state, const Ask& ask) {
        if (const uint32_t known = find(question, state); known != kNone) return known;
        uint32_t answer = kNone;
        const uint32_t lowest = measure([&] { answer = ask(); });
        insert(question, state, lowest, answer);
        return answer;
    }
    // The parts of it. Of states that are no stacks nothing is measured, and all of the state counts.
    uint32_t find(uint32_t question, ParserState state) const {
        return stacks_ ? find_by_top(question, state) : answers_.find(state, question);
    }
    template <class Task>
    uint32_t measure(const Task& task) {
        if (stacks_) return parser_.reach()->measure(task);
        task();
        return 0;
    }
    void insert(uint32_t question, ParserState state, uint32_t lowest, uint32_t answer) {
        if (stacks_)
            insert_by_top(question, state, lowest, answer);
        else
            answers_.insert(state, question, answer);
    }
    // The entries of a stack; 0: it is none.
    uint32_t height(ParserState state) const { return stacks_ ? stacks_->height(parser_.stack_of(state).stack) : 0; }
    void clear() {
        answers_.clear();
        next_.clear();
        nodes_ = 1;
    }
    size_t memory_bytes() const { return answers_.memory_bytes() + next_.memory_bytes(); }

private:
    // A node stands for the context of a state and the top of its stack, or for the state itself.
    uint32_t grown(uint32_t node, uint32_t label) {
        if (const uint32_t known = next_.find(node, label); known != kNone) return known;
        next_.insert(node, label, nodes_);
        return nodes_++;
    }
    uint32_t find_by_top(uint32_t question, ParserState state) const {
        const StackOf whole = parser_.stack_of(state);
        uint32_t node = next_.find(kRoot, whole.context);
        uint32_t lowest = UINT32_MAX;
        for (ParserState at = whole.stack; node != kNone; at = stacks_->below(at)) {
            if (const uint32_t answer = answers_.find(node, question); answer != kNone) {
                parser_.reach()->look(lowest);
                return answer;
            }
            if (!at) return kNone;
            lowest = stacks_->height(at);
            node = next_.find(node, stacks_->entry(at));
        }
        return kNone;
    }
    void insert_by_top(uint32_t question, ParserState state, uint32_t lowest, uint32_t answer) {
        const StackOf whole = parser_.stack_of(state);
        uint32_t node = grown(kRoot, whole.context);
        for (ParserState at = whole.stack; at && stacks_->height(at) >= lowest; at = stacks_->below(at))
            node = grown(node, stacks_->entry(at));
        if (answers_.find(node, question) == kNone) answers_.insert(node, question, answer);
    }

    static constexpr uint32_t kRoot = 0;
    Parser& parser_;
    const LrParser* stacks_;  // null: states are not looked at in parts
    PairMap next_;            // (node, label) -> node
    uint32_t nodes_ = 1;
    PairMap answers_;  // (node, question) -> answer
};

}  // namespace schemagen
