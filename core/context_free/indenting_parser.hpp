// A parser for languages in which the indentation of a line opens and closes blocks, around one that reads terminals.
//
// A line break with the white space after it is a terminal for each width. The parser then reads the blocks that follow
// from the widths of the open blocks: a terminal that opens a block if the line begins further right, one that closes a
// block for each that it has left. Between brackets line breaks are skipped. These are the rules of lark's `Indenter`,
// and of Python's own tokenizer.
//
// Invariants: the widths of open blocks grow, the first is 0; no state has a bracket open and a block begun inside it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "context_free/allowance.hpp"
#include "context_free/parser.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

struct Indentation {
    static constexpr uint32_t kAnyWidth = UINT32_MAX;     // of line breaks between brackets
    SymbolId newline, indent, dedent;                     // as the parser inside reads them
    std::vector<std::pair<SymbolId, uint32_t>> newlines;  // as they are written, with their widths; sorted
    std::vector<SymbolId> opening, closing;               // brackets
};

class IndentingParser final : public Parser {
public:
    IndentingParser(const ContextFreeGrammar& grammar, const Indentation& indentation, LexemeSets& sets,
                    Allowance& allowance, std::unique_ptr<Parser> inner);
    ParserState start() override { return start_; }
    ParserState shift(ParserState state, SymbolId terminal) override;
    LexemeSets::SetId viable(ParserState state) override;
    bool accepting(ParserState state) override;
    ParserState united(ParserState one, ParserState other) override;
    uint32_t min_bytes(ParserState state) override { return inner_->min_bytes(states_[state].inner); }
    std::span<const Distance> distances(ParserState state) override;
    std::vector<SymbolId> open_rules(ParserState state, SymbolId terminal) override {
        return inner_->open_rules(states_[state].inner, terminal);
    }
    size_t memory_bytes() const override;
    const LrParser* stacks() const override { return inner_->stacks(); }
    StackOf stack_of(ParserState state) const override {
        return {inner_->stack_of(states_[state].inner).stack, states_[state].context};
    }

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    struct State {
        ParserState inner;
        uint32_t context;  // of contexts_: open brackets, then the widths of open blocks
        LexemeSets::SetId viable = kUnknown;
        uint32_t viable_reach = UINT32_MAX;
    };
    ParserState intern(ParserState inner, const std::vector<uint32_t>& context);
    ParserState read(ParserState state, SymbolId terminal);
    template <class Task>
    uint32_t measured(const Task& task);
    std::vector<SymbolId> line_breaks(ParserState state);
    void find_viable(ParserState state);
    ParserState break_line(ParserState state, uint32_t width);

    const ContextFreeGrammar& grammar_;
    const Indentation& indentation_;
    LexemeSets& sets_;
    Allowance& allowance_;
    std::unique_ptr<Parser> inner_;
    InternedLists contexts_;
    std::vector<State> states_;  // [state]; 0 is none
    PairMap index_;              // (inner, context) -> state
    std::unordered_map<ParserState, std::vector<Distance>> distances_;
    struct Shift {
        ParserState next;
        uint32_t reach;  // the lowest entry of the stack that it took
    };
    PairMap shifts_;              // (state, terminal) -> number of a shift
    std::vector<Shift> shifted_;  // [number]
    ParserState start_ = kNoParse;
};

}  // namespace schemagen
