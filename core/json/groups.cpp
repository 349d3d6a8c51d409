#include "json/groups.hpp"

#include <algorithm>

#include "json/machine.hpp"
#include "util/bits.hpp"

namespace schemagen {

Groups::Groups(JsonMachine& machine) : program_(machine.program), positions_(machine.positions) {}

const ObjectDisjunct& Groups::disjunct(const FrameState* state, uint32_t slot) const {
    return program_.objects[positions_[state->position]->objects->disjuncts[slot]];
}

// The alternatives at the opening bracket: those that can be completed.
void Groups::open(FrameState* state) const {
    const ObjectSet& set = *positions_[state->position]->objects;
    for (uint32_t slot = 0; slot < set.first_alternative.size(); ++slot)
        for (const Group& group : disjunct(state, slot).groups)
            for (uint32_t k = 0; k < group.alternatives.size(); ++k)
                if (program_.alternative_productive(group.alternatives[k]))
                    set_bit(state->alternatives, number_of(state, slot, group) + k);
}

bool Groups::is_over(const FrameState* state, uint32_t slot, const Group& group) const {
    return !program_.options.any_order && group.places.back() < state->next[slot];
}

// Whether an alternative requires a key that was not there yet. In declared order those that passed were.
bool Groups::is_missing(const FrameState* state, uint32_t slot, const Group& group, const Alternative& each,
                        size_t member) const {
    if (!each.required[member]) return false;
    const uint32_t place = group.places[member];
    if (!program_.options.any_order) return place >= state->next[slot];
    return !bit(state->seen, positions_[state->position]->objects->key_at[slot][place]);
}

// The place of the first such key, kNoKey if there is none.
uint32_t Groups::first_missing(const FrameState* state, uint32_t slot, const Group& group,
                               const Alternative& each) const {
    for (size_t k = 0; k < group.places.size(); ++k)
        if (is_missing(state, slot, group, each, k)) return group.places[k];
    return kNoKey;
}

// In declared order the last place that the next key may have, so that each group can still hold; kNoKey if the object
// may end, as far as its groups tell.
uint32_t Groups::furthest(const FrameState* state, uint32_t slot) const {
    uint32_t least = kNoKey;
    for (const Group& group : disjunct(state, slot).groups) {
        if (is_over(state, slot, group)) continue;
        uint32_t most = 0;
        each_alive(state, slot, group, [&](const Alternative& each, uint32_t) {
            most = std::max(most, first_missing(state, slot, group, each));
            return most != kNoKey;
        });
        least = std::min(least, most);
    }
    return least;
}

// Whether an alternative can take the key at a place, which is one of its group.
bool Groups::allows(const FrameState* state, uint32_t slot, const Group& group, const Alternative& each,
                    uint32_t place) const {
    const uint32_t member = disjunct(state, slot).properties[place].member;
    return program_.values[each.values[member]].productive &&
           (program_.options.any_order || first_missing(state, slot, group, each) >= place);
}

bool Groups::offers(const FrameState* state, uint32_t slot, uint32_t place) const {
    const ObjectDisjunct& own = disjunct(state, slot);
    const Group& group = own.groups[own.properties[place].group];
    bool found = false;
    each_alive(state, slot, group, [&](const Alternative& each, uint32_t) {
        found = allows(state, slot, group, each, place);
        return !found;
    });
    return found;
}

void Groups::take_moves(const FrameState* state, uint32_t slot, uint32_t place, std::vector<Move>& moves) const {
    const Property& property = disjunct(state, slot).properties[place];
    const Group& group = disjunct(state, slot).groups[property.group];
    each_alive(state, slot, group, [&](const Alternative& each, uint32_t number) {
        if (allows(state, slot, group, each, place)) moves.push_back({each.values[property.member], slot, number});
        return true;
    });
}

// The alternatives that still hold after a key (kNoKey: one that the slot does not declare): those that do not require
// a key before it, and in its own group allow it.
void Groups::narrow_by_key(const FrameState* from, FrameState* state, uint32_t slot, uint32_t place) const {
    const ObjectDisjunct& own = disjunct(from, slot);
    for (uint32_t g = 0; g < own.groups.size(); ++g) {
        const Group& group = own.groups[g];
        const bool is_own = place != kNoKey && own.properties[place].group == g;
        if (!is_own && (program_.options.any_order || is_over(from, slot, group))) continue;
        each_alive(from, slot, group, [&](const Alternative& each, uint32_t number) {
            const bool holds =
                is_own ? allows(from, slot, group, each, place) : first_missing(from, slot, group, each) >= place;
            if (!holds) clear_bit(state->alternatives, number);
            return true;
        });
    }
}

// And after the value: those that it satisfied.
void Groups::narrow_by_value(FrameState* state, const Child& child, const Bits& satisfied) {
    for (size_t m = 0; m < child.moves.size(); ++m)
        if (child.moves[m].alternative != kNoAlternative && !satisfied[child.component[m]])
            clear_bit(state->alternatives, child.moves[m].alternative);
}

void Groups::forget_what_is_over(FrameState* state, uint32_t slot) const {
    for (const Group& group : disjunct(state, slot).groups) {
        if (state->alive[slot] && !is_over(state, slot, group)) continue;
        for (uint32_t k = 0; k < group.alternatives.size(); ++k)
            clear_bit(state->alternatives, number_of(state, slot, group) + k);
    }
}

}  // namespace schemagen
