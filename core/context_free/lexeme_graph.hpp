// The states that lexemes go through, alone: those with the same texts left are made once for all lexemes.
//
// A lexer that reads a terminal in ways of its own for each set of rivals has hundreds of lexemes, and after their
// first bytes most of them are the same (lexer.hpp keeps them apart, since it has to name the one it reads). Only
// requested states are made.
#pragma once
#include <optional>
#include <vector>

#include "context_free/lexer.hpp"

namespace schemagen {

class LexemeGraph {
public:
    using State = uint32_t;

    LexemeGraph(const ContextFreeGrammar& grammar, Kernel& kernel, Lexer& lexer)
        : grammar_(grammar), kernel_(kernel), lexer_(lexer) {}
    // All states of a lexeme, the start first. Empty if there are too many.
    std::vector<State> states_of(LexemeId lexeme);
    // The state of a component, if it was met.
    std::optional<State> find(const Lexer::Component& component) const;
    // Those that a byte leads to; of a state that `states_of` returned.
    const std::vector<State>& next(State state) const { return states_[state].next; }
    // The promise of the lexeme if it may end there.
    const std::optional<Promise>& end(State state) const { return states_[state].end; }
    size_t state_count() const { return states_.size(); }
    size_t memory_bytes() const;

private:
    static constexpr size_t kMostStates = 2000;  // of one lexeme
    struct Node {
        Lexer::Component component;  // of the lexeme that came here first
        std::optional<Promise> end;
        std::vector<State> next;
        bool is_open = false;  // whether `next` is known
        uint32_t seen = 0;     // the last walk that came here
    };
    State state_of(const Lexer::Component& component);
    void open(State state);

    const ContextFreeGrammar& grammar_;
    Kernel& kernel_;
    Lexer& lexer_;
    PairMap plain_, marked_;  // (text, longer) -> state, of lexemes that are marked and others
    std::vector<Node> states_;
    uint32_t walks_ = 0;
};

}  // namespace schemagen
