#include "json/required_parts.hpp"

#include <algorithm>
#include <bit>

#include "json/machine.hpp"

namespace schemagen {

RequiredParts::RequiredParts(JsonMachine& machine)
    : program_(machine.program), positions_(machine.positions), shortest_(machine.shortest) {}

// The members or items that a slot of an object or array still requires, without the value that is being read.
Required RequiredParts::required(const FrameState* state, uint32_t slot) const {
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kArrayFrame)
        return shortest_.required_items(program_.arrays[p.arrays->disjuncts[slot]], p.arrays->state[slot], state->count,
                                        state->depth);
    const ObjectSet& set = *p.objects;
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    Required out;
    if (!program_.options.any_order)
        out = shortest_.plans[set.disjuncts[slot]].from[state->next[slot]];  // skipped members are not required
    else
        out = state->has_required ? state->required : missing(state, slot);
    out.leave_open(disjunct.final.size() > 1 || !disjunct.groups.empty() ||
                   uint64_t{state->count} + out.count < disjunct.min_properties);
    return out;
}

// The members of an object that are missing, where keys may come in any order.
Required RequiredParts::missing(const FrameState* state, uint32_t slot) const {
    const ObjectSet& set = *positions_[state->position]->objects;
    const ObjectPlan& plan = shortest_.plans[set.disjuncts[slot]];
    Required out = plan.from[0];
    for (uint32_t d : plan.order)
        if (bit(state->seen, set.key_at[slot][d])) out -= shortest_.member(plan.from, d);
    return out;
}

// Keep that sum: it is found once for the first state of an object, and then made less by each key.
void RequiredParts::remember_required(const FrameState* state) const {
    if (state->has_required || !program_.options.any_order || state->kind != FrameKind::kObjectFrame) return;
    if (positions_[state->position]->objects->disjuncts.size() != 1) return;
    state->required = missing(state, 0);
    state->has_required = true;
}

// A key was closed.
void RequiredParts::take(const FrameState* state, uint32_t key) const {
    if (!state->has_required) return;
    const ObjectSet& set = *positions_[state->position]->objects;
    const uint32_t place = set.place[0][key];
    if (place != kNoKey && program_.objects[set.disjuncts[0]].properties[place].required)
        state->required -= shortest_.member(shortest_.plans[set.disjuncts[0]].from, place);
}

uint32_t RequiredParts::slots(const FrameState* state) const {
    const Position& p = *positions_[state->position];
    return static_cast<uint32_t>(state->kind == FrameKind::kArrayFrame ? p.arrays->disjuncts.size()
                                                                       : p.objects->disjuncts.size());
}

// The slot that is alive if it is the only one.
uint32_t RequiredParts::only_slot(const FrameState* state) const {
    uint32_t found = kNoSlot;
    for (uint32_t slot = 0; slot < slots(state); ++slot) {
        if (!state->alive[slot]) continue;
        if (found != kNoSlot) return kNoSlot;
        found = slot;
    }
    return found;
}

// Whether a required property has not been read.
bool RequiredParts::is_missing(const FrameState* state, uint32_t slot, uint32_t property) const {
    const ObjectSet& set = *positions_[state->position]->objects;
    return program_.options.any_order ? !bit(state->seen, set.key_at[slot][property]) : property >= state->next[slot];
}

bool RequiredParts::is_offered(const FrameState* state, uint32_t slot, uint32_t key) const {
    const ObjectSet& set = *positions_[state->position]->objects;
    return bit(state->offered + size_t{slot} * set.words, key) && set.options[slot][key];
}

// The extra keys of a slot if they may be any ones.
const ExtraKeys* RequiredParts::any_keys(const FrameState* state, uint32_t slot) const {
    const std::vector<ExtraKeys>& extras =
        program_.objects[positions_[state->position]->objects->disjuncts[slot]].extras;
    const bool any = extras.size() == 1 && extras[0].options.size() == 1 && extras[0].open &&
                     program_.kernel().is_any_string(extras[0].regex);
    return any ? &extras[0] : nullptr;
}

// The required key that comes first in the shortest text, of those that the key being read may become.
uint32_t RequiredParts::next_required(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    const uint32_t slot = config.node == kNoNode ? kNoSlot : only_slot(state);
    if (slot == kNoSlot) return kNoKey;
    const ObjectSet& set = *positions_[state->position]->objects;
    const uint32_t high = set.trie[config.node].high;
    const uint64_t* offered = state->offered + size_t{slot} * set.words;
    auto find = [&](uint32_t low) {
        for (uint32_t w = low >> 6; w < set.words && w << 6 < high; ++w) {
            uint64_t both = offered[w] & set.required[slot][w];
            if (w == low >> 6) both &= ~0ull << (low & 63);
            if (both) return std::min(high, (w << 6) + static_cast<uint32_t>(std::countr_zero(both)));
        }
        return high;
    };
    uint32_t best = find(set.trie[config.node].low);
    if (best == high) return kNoKey;
    // A key that begins another one ends with a quote where the other goes on. So the other is written first only if it
    // goes on with a character below the quote. The keys are sorted, so such keys follow at once.
    const std::string& first = set.keys[best];
    const auto goes_on_before = [&](const std::string& key) {
        return key.starts_with(first) && key[first.size()] < '"';
    };
    for (uint32_t other = find(best + 1); program_.options.any_order && other < high && goes_on_before(set.keys[other]);
         other = find(other + 1))
        if (set.keys[other] + '"' < set.keys[best] + '"') best = other;
    return best;
}

}  // namespace schemagen
