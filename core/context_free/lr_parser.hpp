// A parser that is driven by tables of states, shifts and reductions (Knuth 1965; DeRemer 1969 for LALR(1)).
//
// Which texts it reads depends on the tables: where a generator has resolved a conflict, it reads fewer than its
// grammar derives. So the tables are taken as they are, from whoever made them, and the texts are exactly those of that
// parser.
//
// A state of the parser is its stack: pairs of the state on top and the stack below, each kept once. A terminal may
// follow if it is shifted in the end, after all the reductions that it asks for: the lookaheads in LALR tables alone
// allow too much.
//
// Invariants: a table has a shift or a reduction, or nothing, for each state and terminal; a state is entered by one
// symbol.
#pragma once
#include <cstdint>
#include <tuple>
#include <vector>

#include "context_free/allowance.hpp"
#include "context_free/frame_parser.hpp"
#include "context_free/parser.hpp"
#include "util/pair_map.hpp"

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
};

class LrParser final : public Parser {
public:
    LrParser(const ContextFreeGrammar& grammar, const LrTables& tables, LexemeSets& sets, Allowance& allowance);
    ParserState start() override { return start_; }
    ParserState shift(ParserState state, SymbolId terminal) override;
    LexemeSets::SetId viable(ParserState state) override;
    bool accepting(ParserState state) override;
    ParserState united(ParserState, ParserState) override { return kNoParse; }
    uint32_t min_bytes(ParserState state) override;
    std::vector<SymbolId> open_rules(ParserState state, SymbolId terminal) override;
    size_t memory_bytes() const override;
    const LrParser* stacks() const override { return this; }
    // The state on top, the stack without it (kNoParse: nothing is left), and how many entries there are.
    uint32_t top(ParserState state) const { return stacks_[state].top; }
    ParserState below(ParserState state) const { return stacks_[state].below; }
    uint32_t height(ParserState state) const { return stacks_[state].height; }

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    struct Stack {
        uint32_t top;
        ParserState below;
        SymbolId symbol;  // that led to the state on top
        uint32_t height = 0;
        ParserState derived = kNoParse;  // of the parser of frames, behind the symbols on the stack
        LexemeSets::SetId viable = kUnknown;
        uint32_t viable_reach = 0;
    };
    const LrTables::Action* action(uint32_t top, SymbolId symbol) const;
    ParserState push(ParserState below, uint32_t top, SymbolId symbol);
    ParserState read(ParserState state, SymbolId terminal);
    ParserState derived(ParserState state);
    bool can_shift(ParserState state, SymbolId terminal);
    void find_viable(ParserState state);

    const ContextFreeGrammar& grammar_;
    const LrTables& tables_;
    LexemeSets& sets_;
    Allowance& allowance_;
    FrameParser frames_;         // tells how much a text needs at least
    std::vector<Stack> stacks_;  // [state]; 0 is none
    PairMap index_;              // (below, top) -> state
    PairMap shifts_;             // (state, terminal) -> state
    PairMap shift_reach_;        // (state, terminal) -> the lowest entry that this took
    StackReach reach_;
    std::vector<uint32_t> pushed_;  // by can_shift, on what it looks at
    ParserState start_ = kNoParse;
};

}  // namespace schemagen
