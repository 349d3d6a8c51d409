// A context-free grammar that embeds other languages (embedded.hpp): a text is read by the strands of the grammar, and
// by the automata of these languages.
//
// A configuration is the set of the strands that read lexemes, and a list of the embedded texts that are being read,
// each with the state of the parser after it and a configuration of its own. The list is a frame: immutable, in the
// arena of the text. After the end of a lexeme or an embedded text both may follow: the lexer knows where a lexeme may
// begin, the first byte where an embedded text may.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "automata/completion_guide.hpp"
#include "automata/mask_factory.hpp"
#include "context_free/context_free_automaton.hpp"
#include "context_free/embedded.hpp"

namespace schemagen {

// An embedded text that is being read; with kGap, one that has just ended.
struct EmbeddedStrand {
    static constexpr uint32_t kGap = UINT32_MAX;
    ParserState after;  // of the parser, once the embedded text is read
    uint32_t language;  // its number
    Promise promise;    // of the lexeme before it
    uint64_t length;    // bytes of its text so far
    Configuration inner;
};

class EmbeddedAutomaton final : public Automaton, MaskFactory, CompletionGuide {
public:
    EmbeddedAutomaton(std::shared_ptr<SharedAutomata> shared, std::unique_ptr<ContextFreeAutomaton> host,
                      EmbeddedLanguages languages, bool is_settled);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    Configuration start() override { return host_->start(); }
    bool step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool accepting(const Configuration& config) override;
    ByteSet next_bytes(const Configuration& config) override;
    uint32_t min_bytes(const Configuration& config) override;
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override;
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override;
    uint64_t memory_bytes() const override;

    const EmbeddedLanguages& languages() const { return languages_; }
    ContextFreeAutomaton& host() { return *host_; }
    // To be called before `min_bytes` of an embedded language; a second call changes nothing.
    void settle_shortest(const CountTokens& tokens) override;
    bool text_matters(const Configuration& config) const override;
    Configuration least_constrained(const Configuration& config, Arena& arena) override;
    bool stays_inside(const Configuration& from, const Configuration& next) override;
    Configuration keep(const Configuration& config, Arena& arena) override;
    // The embedded texts that are being read.
    static std::span<const EmbeddedStrand> strands_of(const Configuration& config);
    // The strands `set`, and these embedded texts.
    static Configuration with(StrandSet set, std::span<const EmbeddedStrand> strands, Arena& arena);

private:
    std::unique_ptr<MaskEngine> make_masks(const VocabularyTables& tables) override;
    // The configuration after a byte, in parts.
    struct Step {
        uint8_t byte;
        Arena& arena;
        std::vector<EmbeddedStrand> languages, entered;
        std::vector<Strand> lexemes;
    };
    // `visit(parser, promise)` where a lexeme may have ended and the next byte may begin an embedded text.
    template <class Visit>
    void each_gap(StrandSet set, const Visit& visit);
    std::vector<LexemeGap> gaps(const Configuration& config);
    bool has_ended(const EmbeddedStrand& strand) {
        return strand.language == EmbeddedStrand::kGap ||
               languages_[strand.language].automaton->accepting(strand.inner);
    }
    void go_on(const EmbeddedStrand& strand, Step& step);
    void leave(const EmbeddedStrand& strand, Step& step);
    void enter(ParserState at, Promise promise, Step& step);

    std::shared_ptr<SharedAutomata> shared_;
    std::unique_ptr<ContextFreeAutomaton> host_;
    EmbeddedLanguages languages_;
    bool is_settled_;  // see settle_shortest
};

}  // namespace schemagen
