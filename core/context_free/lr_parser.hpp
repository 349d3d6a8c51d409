// A parser that is driven by tables of states, shifts and reductions (Knuth 1965; DeRemer 1969 for LALR(1)).
//
// Which texts it reads depends on the tables: where a generator has resolved a conflict, it reads fewer than its
// grammar derives. So the tables are taken as the generator wrote them, and the texts are exactly those of its parser.
//
// A state of the parser is its stack: pairs of the state on top and the stack below, each kept once. A terminal may
// follow if it is shifted in the end, after all the reductions that it asks for: the lookaheads in LALR tables alone
// allow too much.
//
// Where tables may lead into a dead end, stacks are only those from which a text can be finished (lr_liveness.hpp).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "context_free/allowance.hpp"
#include "context_free/frame_parser.hpp"
#include "context_free/lr_liveness.hpp"
#include "context_free/lr_tables.hpp"
#include "context_free/parser.hpp"
#include "context_free/top_memo.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class LrParser final : public Parser {
public:
    // `liveness`: null if there is no dead end.
    LrParser(const ContextFreeGrammar& grammar, const LrTables& tables, LexemeSets& sets, Allowance& allowance,
             std::unique_ptr<LrLiveness> liveness);
    ParserState start() override { return start_; }
    ParserState shift(ParserState state, SymbolId terminal) override;
    LexemeSets::SetId viable(ParserState state) override;
    bool accepting(ParserState state) override;
    ParserState united(ParserState, ParserState) override { return kNoParse; }
    uint32_t min_bytes(ParserState state) override;
    std::span<const Distance> distances(ParserState state) override { return frames_.distances(derived(state)); }
    std::vector<SymbolId> open_rules(ParserState state, SymbolId terminal) override;
    size_t memory_bytes() const override;
    const LrParser* stacks() const override { return this; }
    // The entry on top, the stack without it (kNoParse if that is empty), and the number of entries. Stacks with the
    // same entries on top behave alike, as far down as a question looks.
    uint32_t entry(ParserState state) const { return stacks_[state].entry; }
    ParserState below(ParserState state) const { return stacks_[state].below; }
    uint32_t height(ParserState state) const { return stacks_[state].height; }

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    struct Stack {
        uint32_t top;
        ParserState below;
        SymbolId symbol;  // that led to the state on top
        uint32_t height = 0;
        uint32_t entry = 0;              // the state on top, or its context
        uint32_t reach = UINT32_MAX;     // the lowest entry that the context depends on
        ParserState derived = kNoParse;  // of the parser of frames, after the symbols on the stack
        LexemeSets::SetId viable = kUnknown;
        uint32_t viable_reach = 0;
    };
    ParserState push(ParserState below, uint32_t top, SymbolId symbol);
    ParserState read(ParserState state, SymbolId terminal);
    ParserState derived(ParserState state);
    // A stack while it is read on: the rest of an old stack, and above it states with the rules that led to them.
    struct Reading {
        ParserState under;
        std::vector<std::pair<uint32_t, SymbolId>> pushed{};
        // To find endless reductions: how many there were above this rest, and the entries pushed after some of them.
        uint32_t steps = 0;
        std::vector<std::pair<uint32_t, SymbolId>> earlier{};
    };
    using Wanted = std::vector<std::pair<SymbolId, LexemeId>>;  // sorted
    Reading& begin(ParserState state);
    uint32_t top(const Reading& reading);
    bool reduce(Reading& reading, uint32_t production);
    bool is_endless(Reading& reading) const;
    ParserState pushed(const Reading& reading);
    using Contexts = std::vector<LrLiveness::Context>;
    Contexts below(ParserState state, size_t count);
    Contexts begin_contexts(const Reading& reading);
    void add_contexts(const Reading& reading, size_t count, Contexts& contexts);
    bool can_finish(const Reading& reading, uint32_t top, LrLiveness::Kind last, Contexts& contexts);
    LexemeSets::SetId find_viable(ParserState state);
    void add_viable(const Reading& reading, const Wanted& wanted, std::vector<LexemeId>& found,
                    std::vector<std::pair<Reading, Wanted>>& todo);

    const ContextFreeGrammar& grammar_;
    const LrTables& tables_;
    LexemeSets& sets_;
    Allowance& allowance_;
    std::unique_ptr<LrLiveness> liveness_;
    FrameParser frames_;         // tells how much a text needs at least
    std::vector<Stack> stacks_;  // [state]; 0 is none
    PairMap index_;              // (below, top) -> state
    struct Shift {
        ParserState next;
        uint32_t reach;  // the lowest entry that it took
    };
    PairMap shifts_;              // (state, terminal) -> number of a shift
    std::vector<Shift> shifted_;  // [number]
    TopMemo viable_;              // sets by the top of the stack
    StackReach reach_;
    Reading reading_;  // of one terminal
    ParserState start_ = kNoParse;
};

}  // namespace schemagen
