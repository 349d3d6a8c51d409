#include <algorithm>
#include <functional>
#include <unordered_set>

#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/hash.hpp"
#include "util/limits.hpp"
#include "util/shown.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

namespace {

bool any_in(const uint64_t* words, uint32_t low, uint32_t high) {
    for (uint32_t w = low >> 6; low < high; ++w) {
        uint32_t end = std::min(high, (w + 1) << 6);
        uint64_t mask = ~0ull << (low & 63);
        if (end & 63) mask &= (1ull << (end & 63)) - 1;
        if (words[w] & mask) return true;
        low = end;
    }
    return false;
}

}  // namespace

FrameMoves::FrameMoves(JsonMachine& machine)
    : program_(machine.program), positions_(machine.positions), groups_(machine.groups) {}

void FrameMoves::refresh_array(FrameState* frame) {
    const ArraySet& set = *positions_[frame->position]->arrays;
    frame->closable.reset();
    frame->more.reset();
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        if (!frame->alive[slot]) continue;
        const ArrayDisjunct& disjunct = program_.arrays[set.disjuncts[slot]];
        uint32_t state = set.state[slot];
        if (disjunct.final[state] && frame->count >= disjunct.min_items && frame->count <= disjunct.max_items)
            frame->closable.set(slot);
        if (!item_moves(frame, slot).empty()) frame->more.set(slot);
    }
}

// The ways in which a slot of an array can take its next item so that it can still be completed.
std::vector<Move> FrameMoves::item_moves(const FrameState* frame, uint32_t slot) {
    const ArraySet& set = *positions_[frame->position]->arrays;
    const ArrayDisjunct& disjunct = program_.arrays[set.disjuncts[slot]];
    std::vector<Move> moves;
    if (frame->count >= disjunct.max_items) return moves;
    const Options& options = frame->count < disjunct.prefix.size() ? disjunct.prefix[frame->count] : disjunct.items;
    for (const Option& option : options[set.state[slot]])
        if (program_.productive_option(option) &&
            program_.array_live(set.disjuncts[slot], option.target, uint64_t{frame->count} + 1))
            moves.push_back({option.value, set.base(slot) + option.target});
    return moves;
}

void FrameMoves::refresh_object(FrameState* frame) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    frame->closable.reset();
    frame->more.reset();
    frame->extra.reset();
    std::memset(frame->offered, 0, set.disjuncts.size() * set.words * 8);
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        if (!frame->alive[slot]) continue;
        if (program_.objects[set.disjuncts[slot]].final.size() == 1)
            refresh_plain(frame, slot);
        else
            refresh_counting(frame, slot);
    }
}

// How many keys that no disjunct declares a slot can still take, counted no further than it can matter.
uint64_t FrameMoves::extras_left(const FrameState* frame, uint32_t slot) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    if (!frame->extra_start) return 0;
    const Bits alive = program_.dfa().state(frame->extra_start).alive;
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    uint32_t base = slot - set.state[slot];
    uint64_t left = 0, enough = std::min<uint64_t>(disjunct.min_properties, 100'000) + disjunct.final.size() + 1;
    for (uint32_t k = 0; k < set.components.size() && left < enough; ++k) {
        if (set.components[k].first != base || !alive[k]) continue;
        const ExtraKeys& extra = disjunct.extras[set.components[k].second];
        const auto& options = extra.options[set.state[slot]];
        if (std::none_of(options.begin(), options.end(),
                         [&](const Option& o) { return program_.productive_option(o); }))
            continue;
        if (extra.open) return kUnbounded;
        left += program_.words_left(program_.dfa().component(frame->extra_start, k), enough);
    }
    return left;
}

// Which keys a disjunct can take now so that it can still be completed: required keys fit under maxProperties, enough
// keys remain for minProperties, and in schema order nothing required is skipped.
void FrameMoves::refresh_plain(FrameState* frame, uint32_t slot) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    bool any_order = program_.options.any_order;
    uint32_t from = any_order ? 0 : frame->next[slot];
    const uint32_t furthest = disjunct.groups.empty() ? kNoKey : groups_.furthest(frame, slot);
    uint64_t missing = 0, available = 0;
    for (uint32_t d = from; d < disjunct.properties.size(); ++d) {
        if (bit(frame->seen, set.key_at[slot][d])) continue;
        missing += disjunct.properties[d].required;
        available += is_possible(frame, slot, d);
    }
    if (missing == 0 && furthest == kNoKey && frame->count >= disjunct.min_properties &&
        frame->count <= disjunct.max_properties)
        frame->closable.set(slot);
    if (frame->count >= disjunct.max_properties) return;
    uint64_t* offered = frame->offered + size_t{slot} * set.words;
    bool room_for_optional = frame->count + 1 + missing <= disjunct.max_properties;
    uint64_t left = extras_left(frame, slot), others = 0;
    for (uint32_t key = 0; set.disjuncts.size() > 1 && key < set.keys.size(); ++key)
        others += foreign_key(frame, slot, key);
    uint64_t skipped = 0;
    for (uint32_t d = from; d < disjunct.properties.size() && (any_order || d <= furthest); ++d) {
        uint32_t key = set.key_at[slot][d];
        if (bit(frame->seen, key)) continue;
        bool room = disjunct.properties[d].required || room_for_optional;
        bool enough = any_order || frame->count + available - skipped + left + others >= disjunct.min_properties;
        const bool possible = is_possible(frame, slot, d);
        if (possible && room && enough) set_bit(offered, key), frame->more.set(slot);
        skipped += possible;
        if (disjunct.properties[d].required && !any_order) break;
    }
    if (!room_for_optional || (!any_order && (missing > 0 || furthest != kNoKey))) return;
    if (!any_order && frame->count + left + others < disjunct.min_properties)
        return;  // no declared key can follow an extra one
    if (left > 0) frame->extra.set(slot), frame->more.set(slot);
    // Keys that only other disjuncts declare are extra keys of this one.
    for (uint32_t key = 0; key < set.keys.size(); ++key)
        if (foreign_key(frame, slot, key)) set_bit(offered, key), frame->more.set(slot);
}

// Whether the key that a slot declares at a place can have a value.
bool FrameMoves::is_possible(const FrameState* frame, uint32_t slot, uint32_t place) const {
    const ObjectSet& set = *positions_[frame->position]->objects;
    const Property& property = program_.objects[set.disjuncts[slot]].properties[place];
    if (property.group != kNoGroup) return groups_.offers(frame, slot, place);
    return !property.options[0].empty() && program_.productive_option(property.options[0][0]);
}

// Whether a key that only other disjuncts declare is still free, and an extra key of this one.
bool FrameMoves::foreign_key(const FrameState* frame, uint32_t slot, uint32_t key) const {
    const ObjectSet& set = *positions_[frame->position]->objects;
    const auto* options = set.options[slot][key];
    if (set.place[slot][key] != kNoKey || !options || bit(frame->seen, key)) return false;
    return std::any_of(options->begin(), options->end(),
                       [&](const Option& o) { return program_.productive_option(o); });
}

// Whether a counting disjunct can be completed after taking `key` (kNoKey: an extra key) by `option`.
bool FrameMoves::counting_live(const FrameState* frame, uint32_t slot, const Option& option, uint32_t key) {
    if (!program_.productive_option(option)) return false;
    const ObjectSet& set = *positions_[frame->position]->objects;
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    uint32_t place = key == kNoKey ? kNoKey : set.place[slot][key];
    uint32_t from = program_.options.any_order ? 0
                    : place == kNoKey          ? static_cast<uint32_t>(disjunct.properties.size())
                                               : place + 1;
    std::vector<bool> usable(disjunct.properties.size(), false);
    uint64_t available = 0;
    for (uint32_t d = 0; d < disjunct.properties.size(); ++d) {
        if (bit(frame->seen, set.key_at[slot][d]) || d == place) continue;
        if (d < from && !program_.options.any_order) {
            if (disjunct.properties[d].required && d >= frame->next[slot]) return false;
            continue;
        }
        usable[d] = true;
        available += 1;
    }
    uint64_t used = uint64_t{frame->count} + 1, left = extras_left(frame, slot);
    for (uint32_t other = 0; other < set.keys.size(); ++other) left += other != key && foreign_key(frame, slot, other);
    if (key == kNoKey && left > 0 && left < kUnbounded) --left;
    if (used + available + left < disjunct.min_properties) return false;
    uint64_t needed = program_.keys_to_finish(disjunct, option.target, usable, left);
    return needed < kUnbounded && used + needed <= disjunct.max_properties;
}

void FrameMoves::refresh_counting(FrameState* frame, uint32_t slot) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    bool missing = false;
    for (uint32_t d = 0; d < disjunct.properties.size(); ++d)
        missing |= disjunct.properties[d].required && !bit(frame->seen, set.key_at[slot][d]);
    bool enough = frame->count >= disjunct.min_properties && frame->count <= disjunct.max_properties;
    if (disjunct.final[set.state[slot]] && !missing && enough) frame->closable.set(slot);
    if (frame->count >= disjunct.max_properties) return;
    std::vector<Move> moves;
    for (uint32_t key = 0; key < set.keys.size(); ++key) {
        if (!set.options[slot][key] || bit(frame->seen, key)) continue;
        uint32_t place = set.place[slot][key];
        if (!program_.options.any_order && place != kNoKey && place < frame->next[slot]) continue;
        moves.clear();
        take_moves(frame, slot, *set.options[slot][key], key, moves);
        if (!moves.empty()) set_bit(frame->offered + size_t{slot} * set.words, key), frame->more.set(slot);
    }
    if (!extras_left(frame, slot)) return;
    moves.clear();
    for (const ExtraKeys& extra : disjunct.extras)
        take_moves(frame, slot, extra.options[set.state[slot]], kNoKey, moves);
    if (!moves.empty()) frame->extra.set(slot), frame->more.set(slot);
}

// The ways in which a slot can take a key that some disjunct declares.
void FrameMoves::key_moves(const FrameState* frame, uint32_t slot, uint32_t key, std::vector<Move>& moves) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    const uint32_t place = set.place[slot][key];
    if (place != kNoKey && program_.objects[set.disjuncts[slot]].properties[place].group != kNoGroup)
        groups_.take_moves(frame, slot, place, moves);
    else
        take_moves(frame, slot, *set.options[slot][key], key, moves);
}

void FrameMoves::take_moves(const FrameState* frame, uint32_t slot, const std::vector<Option>& options, uint32_t key,
                            std::vector<Move>& moves) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    bool counting = program_.objects[set.disjuncts[slot]].final.size() > 1;
    for (const Option& option : options)
        if (counting ? counting_live(frame, slot, option, key) : program_.productive_option(option))
            moves.push_back({option.value, slot - set.state[slot] + option.target});
}

// The same for a key that no disjunct declares, in the given classes of extra keys.
std::vector<Move> FrameMoves::extra_moves(const FrameState* frame, const Bits& components) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    std::vector<Move> moves;
    for (size_t k = 0; k < set.components.size(); ++k) {
        if (!components[k]) continue;
        auto [base, e] = set.components[k];
        for (uint32_t slot = base; slot < set.disjuncts.size() && slot - set.state[slot] == base; ++slot)
            if (frame->extra[slot])
                take_moves(frame, slot, program_.objects[set.disjuncts[slot]].extras[e].options[set.state[slot]],
                           kNoKey, moves);
    }
    return moves;
}

// The automaton of the extra keys that can be taken now.
uint32_t FrameMoves::extra_entry(const FrameState* frame) {
    const ObjectSet& set = *positions_[frame->position]->objects;
    if (frame->extra.none() || !frame->extra_start) return 0;
    std::vector<NodeId> components(set.components.size(), kEmpty);
    bool all = true;
    for (uint32_t k = 0; k < set.components.size(); ++k) {
        Bits one;
        one.set(k);
        bool possible = !extra_moves(frame, one).empty();
        if (possible) components[k] = program_.dfa().component(frame->extra_start, k);
        all &= possible;
    }
    return all ? frame->extra_start : program_.dfa().intern(components, false);
}

bool FrameMoves::key_possible(const FrameState* frame, const TrieNode& node) const {
    const ObjectSet& set = *positions_[frame->position]->objects;
    for (uint32_t a = 0; a < set.disjuncts.size(); ++a)
        if (frame->alive[a] && any_in(frame->offered + size_t{a} * set.words, node.low, node.high)) return true;
    return false;
}

}  // namespace schemagen
