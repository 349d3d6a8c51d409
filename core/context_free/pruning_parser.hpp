// A parser that reads a terminal only if it can go on from there.
//
// An ignored lexeme leaves the parser in its state. So it must not be read where no viable terminal can follow it, such
// as a comment up to the end of a line after Python's `def`, where no line may end. Other terminals may be pruned, too
// (liveness.hpp): in grammars that write comments and white space into their rules, no terminal is ignored.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "context_free/adjacency.hpp"
#include "context_free/parser.hpp"

namespace schemagen {

class PruningParser final : public Parser {
public:
    // `terminals`: those to prune in addition to ignored ones, sorted.
    PruningParser(const ContextFreeGrammar& grammar, const std::vector<EmbeddedTerminal>& embedded,
                  std::vector<SymbolId> terminals, LexemeSets& sets, Adjacency& adjacency,
                  std::unique_ptr<Parser> inner)
        : grammar_(grammar),
          embedded_(embedded),
          terminals_(std::move(terminals)),
          sets_(sets),
          adjacency_(adjacency),
          inner_(std::move(inner)) {
        measured_ = inner_->reach();
    }
    ParserState start() override { return inner_->start(); }
    ParserState shift(ParserState state, SymbolId terminal) override { return inner_->shift(state, terminal); }
    LexemeSets::SetId viable(ParserState state) override;
    bool accepting(ParserState state) override { return inner_->accepting(state); }
    ParserState united(ParserState one, ParserState other) override { return inner_->united(one, other); }
    uint32_t min_bytes(ParserState state) override { return inner_->min_bytes(state); }
    std::span<const Distance> distances(ParserState state) override { return inner_->distances(state); }
    void take(const RestBounds& bounds) override { inner_->take(bounds); }
    uint32_t most_bytes(ParserState state) override { return inner_->most_bytes(state); }
    std::span<const Distance> most_distances(ParserState state) override { return inner_->most_distances(state); }
    std::vector<SymbolId> open_rules(ParserState state, SymbolId terminal) override {
        return inner_->open_rules(state, terminal);
    }
    size_t memory_bytes() const override { return inner_->memory_bytes() + viable_.capacity() * sizeof(viable_[0]); }
    const LrParser* stacks() const override { return inner_->stacks(); }
    StackOf stack_of(ParserState state) const override { return inner_->stack_of(state); }

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    std::vector<LexemeId> pruned(LexemeSets::SetId set, bool may_end, const ByteSet& embedded);
    LexemeSets::SetId without_dead_ends(ParserState state, LexemeSets::SetId set);
    bool is_pruned(LexemeId lexeme) const;
    bool goes_on(ParserState state, LexemeId lexeme);
    LexemeSets::SetId without_stuck(ParserState state, LexemeSets::SetId set);

    const ContextFreeGrammar& grammar_;
    const std::vector<EmbeddedTerminal>& embedded_;
    const std::vector<SymbolId> terminals_;
    LexemeSets& sets_;
    Adjacency& adjacency_;
    std::unique_ptr<Parser> inner_;
    struct Viable {
        LexemeSets::SetId set = kUnknown;
        uint32_t reach = UINT32_MAX;  // see Parser::reach
    };
    std::vector<Viable> viable_;  // [state], kUnknown if not asked for
    PairMap pruned_;              // (set, whether the text may end) -> set, where nothing embedded follows
};

}  // namespace schemagen
