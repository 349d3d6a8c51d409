#include "context_free/counting_automaton.hpp"

#include <algorithm>
#include <new>

#include "automata/container_view.hpp"
#include "masks/masks.hpp"

namespace schemagen {

namespace {

class CountingMasks final : public MaskEngine {
public:
    CountingMasks(CountingAutomaton& automaton, std::unique_ptr<MaskEngine> free, std::unique_ptr<MaskEngine> counted)
        : automaton_(automaton), free_(std::move(free)), counted_(std::move(counted)) {}
    uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) override {
        const auto& pair = CountingAutomaton::pair_of(config);
        return automaton_.is_far(pair) ? free_->fill(pair.free, words, arena)
                                       : counted_->fill(pair.counted, words, arena);
    }
    bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const override {
        const auto& pair = CountingAutomaton::pair_of(config);
        return automaton_.is_far(pair) && free_->fill_known(pair.free, words, allowed);
    }
    size_t memory_bytes() const override { return free_->memory_bytes() + counted_->memory_bytes(); }

private:
    CountingAutomaton& automaton_;
    std::unique_ptr<MaskEngine> free_, counted_;
};

}  // namespace

CountingAutomaton::CountingAutomaton(std::shared_ptr<SharedAutomata> shared, std::shared_ptr<Automaton> free,
                                     std::shared_ptr<EmbeddedAutomaton> counted)
    : shared_(std::move(shared)),
      free_(std::move(free)),
      counted_(std::move(counted)),
      start_{free_->start(), counted_->start(), true} {
    for (uint32_t k = 0; k < counted_->languages().size(); ++k)
        is_tight_ = is_tight_ || (counted_->counter(k) && counted_->counter(k)->is_tight());
    set_facets({.guide = this, .masks = this, .has_lines = true, .counts_tokens = true});
}

std::shared_ptr<Automaton> CountingAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    auto counted = std::static_pointer_cast<EmbeddedAutomaton>(counted_->renewed(shared));
    return std::make_shared<CountingAutomaton>(shared, free_->renewed(shared), std::move(counted));
}

Configuration CountingAutomaton::with(const Pair& pair, Arena& arena) {
    Configuration out;
    out.frame = reinterpret_cast<const Frame*>(new (arena.allocate(sizeof(Pair))) Pair(pair));
    return out;
}

Configuration CountingAutomaton::start() {
    Configuration out;
    out.frame = reinterpret_cast<const Frame*>(&start_);
    return out;
}

bool CountingAutomaton::step(Configuration& config, uint8_t byte, Arena& arena) {
    Pair next = pair_of(config);
    if (!counted_->step(next.counted, byte, arena)) return false;
    next.is_free = next.is_free && !EmbeddedAutomaton::has_lost(next.counted) && free_->step(next.free, byte, arena);
    config = with(next, arena);
    return true;
}

bool CountingAutomaton::end_token(Configuration& config, uint32_t token, Arena& arena) {
    Pair next = pair_of(config);
    if (!counted_->end_token(next.counted, token, arena)) return false;
    next.is_free =
        next.is_free && !EmbeddedAutomaton::has_lost(next.counted) && free_->end_token(next.free, token, arena);
    config = with(next, arena);
    return true;
}

// Searches follow the counted reading alone.
bool CountingAutomaton::search_step(Configuration& config, uint8_t byte, Arena& arena) {
    Pair next = pair_of(config);
    next.is_free = false;
    if (!counted_->search_step(next.counted, byte, arena)) return false;
    config = with(next, arena);
    return true;
}

bool CountingAutomaton::identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) {
    const Pair& pair = pair_of(config);
    const bool far = is_far(pair);
    key.push_back(far);
    return far ? free_->identity(pair.free, exact, key) : counted_->identity(pair.counted, exact, key);
}

std::unique_ptr<MaskEngine> CountingAutomaton::make_masks(const VocabularyTables& tables) {
    MaskFactory* factory = free_->facets().masks;
    std::unique_ptr<MaskEngine> free;
    if (factory)
        free = factory->make_masks(tables);
    else
        free = std::make_unique<Masks>(*free_, tables, shared_->strings);
    return std::make_unique<CountingMasks>(*this, std::move(free), counted_->facets().masks->make_masks(tables));
}

void CountingAutomaton::settle_shortest(const VocabularyTables& tables) {
    guide_of(*free_).settle_shortest(tables);
    guide_of(*counted_).settle_shortest(tables);
}

bool CountingAutomaton::text_matters(const Configuration& config) const {
    return guide_of(*counted_).text_matters(pair_of(config).counted);
}

uint64_t CountingAutomaton::used_up(const Configuration& config) const {
    return guide_of(*counted_).used_up(pair_of(config).counted);
}

// Equal identities are those of one of the readings, whose embedded texts may take more or fewer tokens.
Configuration CountingAutomaton::least_constrained(const Configuration& config, Arena& arena) {
    Pair least = pair_of(config);
    least.counted = guide_of(*counted_).least_constrained(least.counted, arena);
    least.free = guide_of(*free_).least_constrained(least.free, arena);
    return with(least, arena);
}

Configuration CountingAutomaton::keep(const Configuration& config, Arena& arena) {
    Pair kept = pair_of(config);
    kept.counted = guide_of(*counted_).keep(kept.counted, arena);
    kept.free = guide_of(*free_).keep(kept.free, arena);
    return with(kept, arena);
}

}  // namespace schemagen
