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
    uint32_t tokens = 0;           // that it has taken, if these are counted
    bool is_within_token = false;  // some bytes of the current token are counted
};

class EmbeddedAutomaton final : public Automaton, MaskFactory, CompletionGuide {
public:
    EmbeddedAutomaton(std::shared_ptr<SharedAutomata> shared, std::unique_ptr<ContextFreeAutomaton> host,
                      EmbeddedLanguages languages, std::shared_ptr<const VocabularyTables> tables,
                      const EmbeddedAutomaton* before);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    Configuration start() override { return host_->start(); }
    bool step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool end_token(Configuration& config, uint32_t token, Arena& arena) override;
    bool search_step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool accepting(const Configuration& config) override;
    ByteSet next_bytes(const Configuration& config) override;
    uint32_t min_bytes(const Configuration& config) override;
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override;
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override;
    std::string refusal_of_end(const Configuration& config, uint32_t token) override;
    uint64_t memory_bytes() const override;

    const EmbeddedLanguages& languages() const { return languages_; }
    // Of a language whose tokens are counted, else null.
    TokenCounter* counter(uint32_t language) const { return counters_[language].get(); }
    ContextFreeAutomaton& host() { return *host_; }
    // Whether a way to read the text was lost because its tokens were used up.
    static bool has_lost(const Configuration& config) { return config.mode != 0; }
    // Whether no bound of tokens can take out a token of the mask of unaligned texts, and none has so far.
    bool is_far(const Configuration& config) const;
    // To be called before `min_bytes` of an embedded language; a second call changes nothing.
    void settle_shortest(const VocabularyTables& tables) override;
    bool text_matters(const Configuration& config) const override;
    uint64_t used_up(const Configuration& config) const override;
    Configuration least_constrained(const Configuration& config, Arena& arena) override;
    bool stays_inside(const Configuration& from, const Configuration& next) override;
    Configuration keep(const Configuration& config, Arena& arena) override;
    // `visit(parser, promise)` where a lexeme may have ended and the next byte may begin an embedded text.
    template <class Visit>
    void each_gap(StrandSet set, const Visit& visit);
    // The aligned texts that may begin where the parser is.
    std::vector<EmbeddedStrand> aligned_after(ParserState at, Promise promise);
    // The bytes that may come after an embedded text.
    ByteSet bytes_after(const EmbeddedLanguage& language);
    // One embedded text by itself, as captures read it (captures.hpp): whether it may begin with a byte, the next byte
    // of it, the end of a token, whether more may follow, and whether two read on alike, as far as that is plain.
    bool may_begin(uint32_t language, uint8_t byte, bool is_within_token) const;
    bool read_inner(EmbeddedStrand& strand, uint8_t byte, Arena& arena, bool is_search = false);
    bool end_token(EmbeddedStrand& strand, uint32_t token, Arena& arena);
    bool can_go_on(const EmbeddedStrand& strand) const;
    bool is_same(const EmbeddedStrand& one, const EmbeddedStrand& other) const;
    // Whether an embedded text may end here.
    bool has_ended(const EmbeddedStrand& strand) {
        return strand.language == EmbeddedStrand::kGap ||
               (languages_[strand.language].automaton->accepting(strand.inner) && has_its_tokens(strand));
    }
    // The embedded texts that are being read. With `has_lost` the mode of a configuration is 1.
    static std::span<const EmbeddedStrand> strands_of(const Configuration& config);
    // The strands `set`, and these embedded texts.
    static Configuration with(StrandSet set, std::span<const EmbeddedStrand> strands, Arena& arena);

private:
    std::unique_ptr<MaskEngine> make_masks(const VocabularyTables& tables) override;
    // The configuration after a byte, in parts.
    struct Step {
        uint8_t byte;
        Arena& arena;
        bool is_search, is_within_token;
        bool has_lost = false;  // an embedded text, because its tokens are used up
        std::vector<EmbeddedStrand> languages, entered;
        std::vector<Strand> lexemes;
    };
    std::vector<LexemeGap> gaps(const Configuration& config);
    bool has_its_tokens(const EmbeddedStrand& strand) const {
        const TokenCount* count = languages_[strand.language].count.get();
        return !count || (strand.tokens >= count->least && !(count->is_aligned && strand.is_within_token));
    }
    bool take_byte(EmbeddedStrand& strand, bool is_search) const;
    bool read(Configuration& config, uint8_t byte, Arena& arena, bool is_search);
    bool dominates(const EmbeddedStrand& one, const EmbeddedStrand& other) const;
    bool counts_tokens(uint32_t language) const {
        return languages_[language].count || languages_[language].automaton->facets().counts_tokens;
    }
    void go_on(const EmbeddedStrand& strand, Step& step);
    void leave(const EmbeddedStrand& strand, Step& step);
    void enter(ParserState at, Promise promise, Step& step);

    std::shared_ptr<SharedAutomata> shared_;
    std::unique_ptr<ContextFreeAutomaton> host_;
    EmbeddedLanguages languages_;
    std::shared_ptr<const VocabularyTables> tables_;
    std::vector<std::unique_ptr<TokenCounter>> counters_;  // [language]
    bool is_settled_;                                      // see settle_shortest
};

template <class Visit>
void EmbeddedAutomaton::each_gap(StrandSet set, const Visit& visit) {
    Strands& strands = host_->strands();
    if (set == kStartStrands) visit(strands[set][0].parser, kNoPromise);
    for (const Strand& strand : strands[set]) {
        const std::vector<Lexer::End> ends = host_->lexer().ends(strand.lexer);
        for (const Lexer::End& end : ends)
            if (const ParserState after = strands.after(strand.parser, end.lexeme))
                visit(after, host_->lexer().both(strand.promise, end.promise));
    }
}

}  // namespace schemagen
