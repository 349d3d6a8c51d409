// A grammar with rules of at most so many tokens: read twice, without these bounds and with them.
//
// While every bound is far (token_counts.hpp) both readings allow the same tokens, so masks are those of the grammar
// without bounds, where the rules are rules like others (lexeme_masks.hpp). Near a bound masks come from the grammar
// that embeds these rules, and counts. Once a bound has ended a way to read the text, the free reading is given up,
// for it would know more ways.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "automata/completion_guide.hpp"
#include "automata/mask_factory.hpp"
#include "context_free/embedded_automaton.hpp"

namespace schemagen {

class CountingAutomaton final : public Automaton, MaskFactory, CompletionGuide {
public:
    // Of one grammar: without the bounds, and with them.
    CountingAutomaton(std::shared_ptr<SharedAutomata> shared, std::shared_ptr<Automaton> free,
                      std::shared_ptr<EmbeddedAutomaton> counted);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    Configuration start() override;
    bool step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool end_token(Configuration& config, uint32_t token, Arena& arena) override;
    bool search_step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool accepting(const Configuration& config) override { return counted_->accepting(pair_of(config).counted); }
    ByteSet next_bytes(const Configuration& config) override { return counted_->next_bytes(pair_of(config).counted); }
    uint32_t min_bytes(const Configuration& config) override { return counted_->min_bytes(pair_of(config).counted); }
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override;
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override {
        return counted_->refusal(pair_of(config).counted, byte, text, arena);
    }
    std::string refusal_of_end(const Configuration& config, uint32_t token) override {
        return counted_->refusal_of_end(pair_of(config).counted, token);
    }
    uint64_t memory_bytes() const override { return free_->memory_bytes() + counted_->memory_bytes(); }
    std::unique_ptr<MaskEngine> make_masks(const VocabularyTables& tables) override;

    struct Pair {
        Configuration free, counted;
        bool is_free;  // whether the free reading is followed
    };
    static const Pair& pair_of(const Configuration& config) {
        return *reinterpret_cast<const Pair*>(config.frame);  // the frames of this automaton are pairs
    }
    Automaton& free() { return *free_; }
    // Whether the free reading has the same mask as the counted one.
    bool is_far(const Pair& pair) const { return pair.is_free && !is_tight_ && counted_->is_far(pair.counted); }

private:
    static Configuration with(const Pair& pair, Arena& arena);
    void settle_shortest(const VocabularyTables& tables) override;
    bool text_matters(const Configuration& config) const override;
    uint64_t used_up(const Configuration& config) const override;
    bool stays_inside(const Configuration&, const Configuration&) override { return false; }
    Configuration least_constrained(const Configuration& config, Arena& arena) override;
    Configuration keep(const Configuration& config, Arena& arena) override;

    std::shared_ptr<SharedAutomata> shared_;
    std::shared_ptr<Automaton> free_;
    std::shared_ptr<EmbeddedAutomaton> counted_;
    Pair start_;
    bool is_tight_ = false;  // some bound can be near as soon as its rule begins
};

// The automaton that has the embedded languages of a grammar without its bounds; null if it embeds none.
inline EmbeddedAutomaton* embedded_in(Automaton& automaton) {
    auto* counting = dynamic_cast<CountingAutomaton*>(&automaton);
    return dynamic_cast<EmbeddedAutomaton*>(counting ? &counting->free() : &automaton);
}

}  // namespace schemagen
