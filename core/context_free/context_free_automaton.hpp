// The texts of a context-free grammar as an automaton over bytes: a thin composition of a grammar, its parser, its
// lexer and the strands that a text is read by. A configuration is the number of a set of strands, so forks and
// rollbacks are free.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "automata/mask_factory.hpp"
#include "automata/shared_automata.hpp"
#include "context_free/adjacency.hpp"
#include "context_free/expectations.hpp"
#include "context_free/indenting_parser.hpp"
#include "context_free/lr_parser.hpp"
#include "context_free/rest_bounds.hpp"
#include "context_free/strands.hpp"

namespace schemagen {

// How the terminals of a grammar are parsed.
struct Parsing {
    std::shared_ptr<const LrTables> tables;          // null to read every text that the grammar derives
    std::shared_ptr<const Indentation> indentation;  // null if line breaks have no meaning
    std::vector<EmbeddedTerminal> embedded;
};

class ContextFreeAutomaton final : public Automaton, MaskFactory, CompletionGuide {
public:
    // The grammar is finished. `before`: an earlier automaton of it, whose results are reused.
    ContextFreeAutomaton(std::shared_ptr<SharedAutomata> shared, ContextFreeGrammar grammar, Parsing parsing,
                         const Allowance& allowance, const ContextFreeAutomaton* before = nullptr);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    std::unique_ptr<ContextFreeAutomaton> renewed_host(std::shared_ptr<SharedAutomata> shared);
    // Its parts, for those that read more than it does.
    Parser& parser() { return *parser_; }
    Lexer& lexer() { return lexer_; }
    Strands& strands() { return strands_; }
    const std::string& name(SymbolId symbol) const { return grammar_.name(symbol); }
    bool may_follow(SymbolId terminal, SymbolId next) const { return grammar_.may_follow(terminal, next); }
    const Allowance& allowance() const { return allowance_; }
    // To describe the expectations at a place, in words.
    Expectations expectations();
    std::unique_ptr<MaskEngine> make_masks(const VocabularyTables& tables) override;

    // Whether the grammar has a text.
    bool has_texts();
    Configuration start() override;
    bool step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool accepting(const Configuration& config) override { return strands_.accepting(config.state); }
    ByteSet next_bytes(const Configuration& config) override { return strands_.next_bytes(config.state); }
    uint32_t min_bytes(const Configuration& config) override { return strands_.min_bytes(config.state); }
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override;
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override;
    uint64_t memory_bytes() const override;

private:
    // The string that a text is in is not known, so each token has to be read.
    bool stays_inside(const Configuration&, const Configuration&) override { return false; }
    std::optional<ByteSet> nearer_bytes(const Configuration& config) override {
        return strands_.nearer_bytes(config.state);
    }
    uint32_t step_cost() const override { return 10; }
    std::unique_ptr<Parser> make_parser();
    bool find_lively();
    std::unique_ptr<LrLiveness> lr_liveness();
    const RestBounds* find_bounds();

    std::shared_ptr<SharedAutomata> shared_;
    Allowance allowance_;
    ContextFreeGrammar grammar_;
    Parsing parsing_;
    LexemeSets sets_;
    Lexer lexer_;
    Adjacency adjacency_;
    std::vector<SymbolId> pruned_;  // see Liveness
    bool has_lively_rules_;         // see Liveness
    bool is_lively_ = false;        // see Strands
    std::unique_ptr<RestBounds> bounds_;
    std::unique_ptr<Parser> parser_;
    Strands strands_;
};

}  // namespace schemagen
