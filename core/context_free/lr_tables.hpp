// Tables of an LR parser, as its generator wrote them.
//
// Invariant: a shift or a reduction, or nothing, for each state and terminal; a state is entered by one symbol.
#pragma once
#include <algorithm>
#include <vector>

#include "context_free/grammar.hpp"

namespace schemagen {

struct LrTables {
    struct Action {
        SymbolId
            symbol;  // a terminal, or the number of terminals for the end of the text; of a goto that of the rule and 1
        bool reduces;  // by the production `target`, else to the state `target`
        uint32_t target;
    };
    struct Production {
        SymbolId rule;
        uint32_t length;
    };
    std::vector<std::vector<Action>> actions;    // [state], sorted by symbol; rules are gotos
    std::vector<Production> productions;         // [production]
    std::vector<std::vector<LexemeId>> lexemes;  // [state]: those that the lexer looks for
    uint32_t start = 0, end = 0;                 // states

    const Action* action(uint32_t state, SymbolId symbol) const {
        const auto& row = actions[state];
        const auto at = std::lower_bound(row.begin(), row.end(), symbol,
                                         [](const Action& a, SymbolId wanted) { return a.symbol < wanted; });
        return at == row.end() || at->symbol != symbol ? nullptr : &*at;
    }
    // [state]: the states that lead to it.
    std::vector<std::vector<uint32_t>> predecessors() const;
    // Whether no conflict was resolved: where a rule is complete, there is no other action on any of its lookaheads.
    // May return false without a conflict, but only because of lookaheads of states that LALR(1) has merged.
    bool lose_nothing(const ContextFreeGrammar& grammar) const;
    // Whether their texts are just those of the grammar: in addition, each terminal is read in the same way everywhere.
    bool are_plain(const ContextFreeGrammar& grammar) const { return read_alike(grammar) && lose_nothing(grammar); }

private:
    bool read_alike(const ContextFreeGrammar& grammar) const;
    bool ends_well(const ContextFreeGrammar& grammar, uint32_t began, const Action& jump) const;
};

}  // namespace schemagen
