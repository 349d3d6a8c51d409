// Results about configurations of a parser, each shared by all configurations for which it is the same.
//
// Whether a terminal may follow depends on the few states on top of an LR stack, however deep the stack is. So a
// computation records how far down the stack it looked (`StackReach`), and its result is cached by the entries above
// (top_memo.hpp): the next stack with the same top has the answer, too.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "context_free/lr_parser.hpp"
#include "context_free/parser.hpp"
#include "context_free/top_memo.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class StateMemo {
public:
    static constexpr uint32_t kNone = PairMap::kNone;

    explicit StateMemo(Parser& parser) : parser_(parser), stacks_(parser.stacks()) {}
    // The answer of `ask()` for a state, under one of many questions.
    template <class Ask>
    uint32_t get(uint32_t question, ParserState state, const Ask& ask) {
        if (const uint32_t known = find(question, state); known != kNone) return known;
        uint32_t answer = kNone;
        const uint32_t lowest = measure([&] { answer = ask(); });
        insert(question, state, lowest, answer);
        return answer;
    }
    // The parts of it. For states that are not stacks, all of the state counts.
    uint32_t find(uint32_t question, ParserState state) const {
        if (!stacks_) return answers_.find(state, question);
        const StackOf whole = parser_.stack_of(state);
        const TopMemo::Answer known = by_top_.find(*stacks_, question, whole.context, whole.stack);
        parser_.reach()->look(known.lowest);
        return known.value;
    }
    template <class Task>
    uint32_t measure(const Task& task) {
        if (stacks_) return parser_.reach()->measure(task);
        task();
        return 0;
    }
    void insert(uint32_t question, ParserState state, uint32_t lowest, uint32_t answer) {
        if (!stacks_) return answers_.insert(state, question, answer);
        const StackOf whole = parser_.stack_of(state);
        by_top_.insert(*stacks_, question, whole.context, whole.stack, {answer, lowest});
    }
    // The entries of a stack; 0 if the state is not a stack.
    uint32_t height(ParserState state) const { return stacks_ ? stacks_->height(parser_.stack_of(state).stack) : 0; }
    void clear() {
        answers_.clear();
        by_top_.clear();
    }
    size_t memory_bytes() const { return answers_.memory_bytes() + by_top_.memory_bytes(); }

private:
    Parser& parser_;
    const LrParser* stacks_;  // null if states have no parts
    TopMemo by_top_;          // of stacks
    PairMap answers_;         // of other states: (state, question) -> answer
};

}  // namespace schemagen
