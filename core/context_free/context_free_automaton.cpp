#include "context_free/context_free_automaton.hpp"

#include "context_free/embedded.hpp"
#include "context_free/frame_parser.hpp"
#include "context_free/lexeme_masks.hpp"
#include "context_free/liveness.hpp"
#include "context_free/pruning_parser.hpp"
#include "util/heap.hpp"

namespace schemagen {

ContextFreeAutomaton::ContextFreeAutomaton(std::shared_ptr<SharedAutomata> shared, ContextFreeGrammar grammar,
                                           Parsing parsing, const Allowance& allowance,
                                           const ContextFreeAutomaton* before)
    : shared_(std::move(shared)),
      allowance_(allowance),
      grammar_(std::move(grammar)),
      parsing_(std::move(parsing)),
      sets_(grammar_.lexemes().size()),
      lexer_(grammar_, sets_, shared_->kernel, allowance_),
      adjacency_(grammar_, shared_->kernel, lexer_, before ? &before->adjacency_ : nullptr),
      pruned_(before ? before->pruned_ : std::vector<SymbolId>{}),
      has_lively_rules_(before ? before->has_lively_rules_ : find_lively()),
      parser_(make_parser()),
      strands_(grammar_, *parser_, sets_, lexer_, allowance_, is_lively_) {
    set_facets({.guide = this, .masks = this, .is_lively = strands_.is_lively(), .has_lines = true});
}

std::unique_ptr<Parser> ContextFreeAutomaton::make_parser() {
    std::unique_ptr<Parser> parser;
    is_lively_ = has_lively_rules_;
    if (parsing_.tables)
        parser = std::make_unique<LrParser>(grammar_, *parsing_.tables, sets_, allowance_, lr_liveness());
    else
        parser = std::make_unique<FrameParser>(grammar_, sets_, allowance_);
    if (parsing_.indentation)
        parser =
            std::make_unique<IndentingParser>(grammar_, *parsing_.indentation, sets_, allowance_, std::move(parser));
    return std::make_unique<PruningParser>(grammar_, parsing_.embedded, pruned_, sets_, adjacency_, std::move(parser));
}

// For tables that may lead into a dead end. If it is exact there is none any more.
std::unique_ptr<LrLiveness> ContextFreeAutomaton::lr_liveness() {
    const LrTables& tables = *parsing_.tables;
    const Indentation* indentation = parsing_.indentation.get();
    if (is_lively_ && tables.lose_nothing(grammar_)) return nullptr;
    auto liveness = std::make_unique<LrLiveness>(grammar_, tables, indentation, adjacency_);
    is_lively_ = is_lively_ || liveness->is_exact();
    return liveness;
}

// Plain tables are left out where the rules have no dead end: the parser of frames reads the same texts, and its masks
// have bounds.
bool ContextFreeAutomaton::find_lively() {
    if (parsing_.tables && parsing_.tables->are_plain(grammar_)) {
        Liveness liveness(grammar_, parsing_.indentation.get(), parsing_.embedded, nullptr, adjacency_);
        if (liveness.is_lively()) {
            parsing_.tables = nullptr;
            pruned_ = liveness.pruned();
            return true;
        }
    }
    Liveness liveness(grammar_, parsing_.indentation.get(), parsing_.embedded, parsing_.tables.get(), adjacency_);
    const bool is_lively = liveness.is_lively();
    pruned_ = liveness.pruned();
    if (!is_lively && !parsing_.embedded.empty()) throw NotLively(grammar_.name(liveness.stuck_rule()));
    return is_lively;
}

// Null where tables, lines or embedded languages decide how a text goes on, or where ends are searched for.
const RestBounds* ContextFreeAutomaton::find_bounds() {
    if (parsing_.tables || parsing_.indentation || !parsing_.embedded.empty() || !strands_.is_lively()) return nullptr;
    if (bounds_) return bounds_.get();
    Liveness liveness(grammar_, nullptr, parsing_.embedded, nullptr, adjacency_);
    if (!liveness.is_lively()) return nullptr;
    bounds_ = std::make_unique<RestBounds>(grammar_, liveness, adjacency_);
    parser_->take(*bounds_);
    return bounds_.get();
}

// Of tables the start may have no end though the rules have (lr_liveness.hpp): then nothing is viable.
bool ContextFreeAutomaton::has_texts() {
    const bool begins = !parsing_.tables || !sets_[parser_->viable(parser_->start())].empty();
    return strands_.accepting(kStartStrands) || (begins && strands_.has_texts());
}

std::shared_ptr<Automaton> ContextFreeAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    return renewed_host(std::move(shared));
}

std::unique_ptr<ContextFreeAutomaton> ContextFreeAutomaton::renewed_host(std::shared_ptr<SharedAutomata> shared) {
    ContextFreeGrammar grammar = grammar_.moved_to(shared->kernel, shared_->kernel);
    return std::make_unique<ContextFreeAutomaton>(std::move(shared), std::move(grammar), parsing_,
                                                  Allowance{allowance_.max_states, allowance_.max_alternatives}, this);
}

Configuration ContextFreeAutomaton::start() {
    Configuration config;
    config.state = kStartStrands;
    return config;
}

bool ContextFreeAutomaton::step(Configuration& config, uint8_t byte, Arena&) {
    config.state = strands_.step(config.state, byte);
    return config.state != kNoStrands;
}

bool ContextFreeAutomaton::identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) {
    key.push_back(uint64_t{config.state} << 1 | exact);
    return true;
}

Expectations ContextFreeAutomaton::expectations() {
    return {grammar_, *parser_, sets_, lexer_, strands_, parsing_.indentation.get()};
}

std::string ContextFreeAutomaton::refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena&) {
    Expectations expected = expectations();
    StrandSet set = kStartStrands;
    for (char each : text) {
        expected.read(expected.gaps(set), static_cast<uint8_t>(each));
        set = strands_.step(set, static_cast<uint8_t>(each));
    }
    expected.expect(config.state, text);
    expected.expect(expected.gaps(config.state), byte);
    return expected.sentence(byte, strands_.accepting(config.state));
}

uint64_t ContextFreeAutomaton::memory_bytes() const {
    return heap_block(sizeof(*this)) + grammar_.memory_bytes() + sets_.memory_bytes() + parser_->memory_bytes() +
           lexer_.memory_bytes() + adjacency_.memory_bytes() + strands_.memory_bytes() +
           (bounds_ ? heap_block(sizeof(RestBounds)) + bounds_->memory_bytes() : 0);
}

std::unique_ptr<MaskEngine> ContextFreeAutomaton::make_masks(const VocabularyTables& tables) {
    return std::make_unique<LexemeMasks>(grammar_, *parser_, sets_, lexer_, strands_, tables,
                                         [this] { return find_bounds(); });
}

}  // namespace schemagen
