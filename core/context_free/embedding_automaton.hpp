// A context-free grammar with guests in it (guests.hpp): a text is read by the strands of the grammar, and by guests.
//
// A configuration is the place of the strands that read lexemes, and a list of the guests that are being read, each
// with the state of the parser after it and its own configuration. The list is a frame: immutable, in the arena of the
// text. After the end of a lexeme or a guest both may follow: lexemes by the lexer, guests by their first byte.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "automata/completion_guide.hpp"
#include "automata/mask_factory.hpp"
#include "context_free/context_free_automaton.hpp"
#include "context_free/guests.hpp"

namespace schemagen {

// A guest that is being read; with kGap, one that has just ended.
struct GuestStrand {
    static constexpr uint32_t kGap = UINT32_MAX;
    ParserState after;  // of the parser, once the guest is read
    uint32_t guest;
    Promise promise;  // of the lexeme before it
    uint64_t length;  // bytes of its text so far
    Configuration inner;
};

class EmbeddingAutomaton final : public Automaton, MaskFactory, CompletionGuide {
public:
    EmbeddingAutomaton(std::shared_ptr<SharedAutomata> shared, std::unique_ptr<ContextFreeAutomaton> host,
                       Guests guests, bool is_settled);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    Configuration start() override { return host_->start(); }
    bool step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool accepting(const Configuration& config) override;
    ByteSet next_bytes(const Configuration& config) override;
    uint32_t min_bytes(const Configuration& config) override;
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override;
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override;
    uint64_t memory_bytes() const override;

    const Guests& guests() const { return guests_; }
    ContextFreeAutomaton& host() { return *host_; }
    // To be called before `min_bytes` of a guest; a second call changes nothing.
    void settle_shortest(const CountTokens& tokens) override;
    bool text_matters(const Configuration& config) const override;
    Configuration least_constrained(const Configuration& config, Arena& arena) override;
    bool stays_inside(const Configuration& from, const Configuration& next) override;
    Configuration keep(const Configuration& config, Arena& arena) override;
    // The guests that are being read.
    static std::span<const GuestStrand> strands_of(const Configuration& config);
    // The same place with these guests.
    static Configuration with(PlaceId place, std::span<const GuestStrand> strands, Arena& arena);

private:
    std::unique_ptr<MaskEngine> make_masks(const VocabularyTables& tables) override;
    // The configuration after a byte, in parts.
    struct Step {
        uint8_t byte;
        Arena& arena;
        std::vector<GuestStrand> guests, entered;
        std::vector<Strand> lexemes;
    };
    // `visit(parser, promise)` where a lexeme may have ended and the next byte may begin a guest.
    template <class Visit>
    void each_gap(PlaceId place, const Visit& visit);
    std::vector<LexemeGap> gaps(const Configuration& config);
    bool has_ended(const GuestStrand& strand) {
        return strand.guest == GuestStrand::kGap || guests_[strand.guest].automaton->accepting(strand.inner);
    }
    void go_on(const GuestStrand& strand, Step& step);
    void leave(const GuestStrand& strand, Step& step);
    void enter(ParserState at, Promise promise, Step& step);

    std::shared_ptr<SharedAutomata> shared_;
    std::unique_ptr<ContextFreeAutomaton> host_;
    Guests guests_;
    bool is_settled_;  // see settle_shortest
};

}  // namespace schemagen
