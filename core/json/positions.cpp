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

// Sorted, each once.
std::vector<ValueId> values_of(const std::vector<Move>& moves) {
    std::vector<ValueId> values;
    values.reserve(moves.size());
    for (const Move& move : moves) values.push_back(move.value);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

}  // namespace

Positions::Positions(JsonMachine& machine) : program_(machine.program) {}

// ---- positions ----------------------------------------------------------------------------------------------------

uint32_t Positions::position(std::vector<ValueId> values) {
    uint64_t hash = 3;
    for (ValueId value : values) hash = mix(hash, value);
    uint32_t known = position_index_.find(hash, [&](uint32_t other) { return positions_[other]->values == values; });
    if (known != HashIndex::kNone) return known;
    if (positions_.size() >= program_.max_states)
        throw LimitExceeded(Limit::kStates, positions_.size() + 1, program_.max_states, true);
    uint32_t id = static_cast<uint32_t>(positions_.size());
    positions_.push_back(std::make_unique<Position>());
    positions_.back()->values = std::move(values);
    position_index_.insert(hash, id);
    return id;
}

uint32_t Positions::child(std::vector<Move> moves) {
    uint64_t hash = 9;
    for (const Move& move : moves) hash = mix(mix(hash, move.value), uint64_t{move.alternative} << 32 | move.slot);
    uint32_t known = child_index_.find(hash, [&](uint32_t other) { return children[other].moves == moves; });
    if (known != HashIndex::kNone) return known;
    std::vector<ValueId> distinct = values_of(moves);
    if (distinct.size() > kMaxSlots) throw LimitExceeded(Limit::kAlternatives, distinct.size(), kMaxSlots);
    Child made;
    for (const Move& move : moves)
        made.component.push_back(
            static_cast<uint16_t>(std::lower_bound(distinct.begin(), distinct.end(), move.value) - distinct.begin()));
    made.moves = std::move(moves);
    made.position = position(std::move(distinct));
    uint32_t id = static_cast<uint32_t>(children.size());
    children.push_back(std::move(made));
    child_index_.insert(hash, id);
    return id;
}

Position& Positions::prepared(uint32_t id) {
    if (positions_[id]->prepared) return *positions_[id];
    Position made;  // whole or not at all: a limit may stop the work
    made.values = positions_[id]->values;
    prepare_strings(made);
    prepare_literal(made);
    prepare_objects(made);
    prepare_arrays(made);
    made.prepared = true;
    return *positions_[id] = std::move(made);
}

void Positions::prepare_strings(Position& p) {
    std::vector<NodeId> components;
    for (size_t k = 0; k < p.values.size(); ++k) {
        for (const StringDisjunct& disjunct : program_.values[p.values[k]].strings) {
            if (!program_.string_possible(disjunct)) continue;
            p.strings.push_back(disjunct);
            p.strings.back().any = program_.kernel().is_any_string(disjunct.regex);
            if (disjunct.max_chars != kUnbounded)
                p.strings.back().to_finish = program_.kernel().most_to_finish(disjunct.regex);
            p.string_owner.push_back(static_cast<uint16_t>(k));
            components.push_back(disjunct.regex);
            p.counted |= disjunct.min_chars > 0 || disjunct.max_chars != kUnbounded;
        }
    }
    if (components.empty()) return;
    if (components.size() > kMaxSlots) throw LimitExceeded(Limit::kAlternatives, components.size(), kMaxSlots);
    if (p.counted) components.push_back(program_.kernel().any_string(Encoding::kJson));
    p.string_start = program_.dfa().intern(components, p.counted);
}

void Positions::prepare_literal(Position& p) {
    std::vector<NodeId> components;
    for (size_t k = 0; k < p.values.size(); ++k) {
        if (program_.values[p.values[k]].literal == kEmpty) continue;
        components.push_back(program_.values[p.values[k]].literal);
        p.literal_owner.push_back(static_cast<uint16_t>(k));
    }
    if (!components.empty()) p.literal_start = program_.dfa().intern(components, false);
}

// A slot for each state of a disjunct that is allowed at a position.
template <class Set>
void Positions::add_slots(Set& set, uint32_t disjunct, size_t states, size_t owner) {
    if (set.disjuncts.size() + states > kMaxSlots)
        throw LimitExceeded(Limit::kAlternatives, set.disjuncts.size() + states, kMaxSlots);
    set.initial.set(set.disjuncts.size());
    for (uint32_t s = 0; s < states; ++s) {
        set.disjuncts.push_back(disjunct);
        set.state.push_back(s);
        set.owner.push_back(static_cast<uint16_t>(owner));
    }
}

void Positions::prepare_arrays(Position& p) {
    auto set = std::make_unique<ArraySet>();
    for (size_t k = 0; k < p.values.size(); ++k)
        for (uint32_t id : program_.values[p.values[k]].arrays)
            if (program_.array_live(id, 0, 0)) add_slots(*set, id, program_.arrays[id].final.size(), k);
    if (set->disjuncts.empty()) return;
    for (uint32_t id : set->disjuncts) {
        const ArrayDisjunct& disjunct = program_.arrays[id];
        uint64_t last = std::max<uint64_t>(disjunct.prefix.size(), disjunct.min_items);
        set->most_count =
            disjunct.max_items != kUnbounded ? kUnbounded : std::max(set->most_count, static_cast<uint32_t>(last));
        set->unique |= disjunct.unique;
    }
    p.arrays = std::move(set);
}

void Positions::prepare_objects(Position& p) {
    auto set = std::make_unique<ObjectSet>();
    for (size_t k = 0; k < p.values.size(); ++k)
        for (uint32_t id : program_.values[p.values[k]].objects)
            if (program_.object_productive(program_.objects[id]))
                add_slots(*set, id, program_.objects[id].final.size(), k);
    if (set->disjuncts.empty()) return;
    for (uint32_t id : set->disjuncts) {
        const ObjectDisjunct& disjunct = program_.objects[id];
        bool bounded = disjunct.max_properties != kUnbounded || disjunct.final.size() > 1;
        set->most_count = bounded ? kUnbounded : std::max(set->most_count, disjunct.min_properties);
    }
    number_alternatives(*set);
    list_keys(*set);
    for (uint32_t slot = 0; slot < set->disjuncts.size(); ++slot) place_keys(*set, slot);
    start_extra_keys(*set);
    p.objects = std::move(set);
}

// The alternatives of groups, one slot after the other.
void Positions::number_alternatives(ObjectSet& set) {
    std::vector<uint32_t> first;
    for (uint32_t id : set.disjuncts) {
        first.push_back(set.alternatives);
        set.alternatives += program_.objects[id].alternative_count();
    }
    if (set.alternatives) set.first_alternative = std::move(first);
}

// Every declared key of every disjunct, sorted, as a trie.
void Positions::list_keys(ObjectSet& set) {
    for (size_t slot = 0; slot < set.disjuncts.size(); ++slot)
        for (const Property& property : program_.objects[set.disjuncts[slot]].properties)
            if (set.state[slot] == 0) set.keys.push_back(property.key);
    std::sort(set.keys.begin(), set.keys.end());
    set.keys.erase(std::unique(set.keys.begin(), set.keys.end()), set.keys.end());
    set.words = static_cast<uint32_t>((set.keys.size() + 63) / 64);
    build_trie(set);
}

// The automaton of the keys that no disjunct declares.
void Positions::start_extra_keys(ObjectSet& set) {
    Kernel& kernel = program_.kernel();
    const bool many = set.initial.count() > 1;
    const NodeId others = many ? kernel.complement(kernel.literals(set.keys)) : kEmpty;
    std::vector<NodeId> components;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        if (set.state[slot] != 0) continue;
        const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
        for (uint32_t e = 0; e < disjunct.extras.size(); ++e) {
            const ExtraKeys& extra = disjunct.extras[e];
            const NodeId regex = many && !extra.open ? kernel.conjunction({extra.regex, others}) : extra.regex;
            if (kernel.is_empty(regex)) continue;
            components.push_back(regex);
            set.components.emplace_back(static_cast<uint16_t>(slot), e);
            set.tracks_keys |= !extra.open;
        }
    }
    if (components.size() > kMaxSlots) throw LimitExceeded(Limit::kAlternatives, components.size(), kMaxSlots);
    if (!components.empty()) set.extra_start = program_.dfa().intern(components, false);
}

// Where a slot has each key: declared, in a class of extra keys, or nowhere.
void Positions::place_keys(ObjectSet& set, uint32_t slot) {
    poll();
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    uint32_t state = set.state[slot];
    std::vector<const std::vector<Option>*> options(set.keys.size(), nullptr);
    std::vector<uint32_t> place(set.keys.size(), kNoKey), key_at;
    std::vector<uint64_t> required((set.keys.size() + 63) / 64, 0);
    for (uint32_t d = 0; d < disjunct.properties.size(); ++d) {
        auto at = static_cast<uint32_t>(std::lower_bound(set.keys.begin(), set.keys.end(), disjunct.properties[d].key) -
                                        set.keys.begin());
        options[at] = &disjunct.properties[d].options[state];
        place[at] = d;
        key_at.push_back(at);
        if (disjunct.properties[d].required) set_bit(required.data(), at);
    }
    for (const ExtraKeys& extra : disjunct.extras) {
        uint32_t start = program_.dfa().intern({extra.regex}, false);
        for (uint32_t key = 0; key < set.keys.size(); ++key) {
            if (options[key]) continue;
            uint32_t at = start;
            for (char c : set.keys[key]) at = at ? program_.dfa().next(at, static_cast<uint8_t>(c)) : 0;
            if (at && program_.dfa().state(at).accepts.any()) options[key] = &extra.options[state];
        }
    }
    set.options.push_back(std::move(options));
    set.place.push_back(std::move(place));
    set.key_at.push_back(std::move(key_at));
    set.required.push_back(std::move(required));
}

void Positions::build_trie(ObjectSet& set) {
    auto& trie = set.trie;
    trie.push_back({0, 0, 0, 0, 0, static_cast<uint32_t>(set.keys.size()), kNoKey});
    for (uint32_t k = 0; k < set.keys.size(); ++k) {
        uint32_t node = 0;
        for (char c : set.keys[k]) {
            // Keys come sorted, so the child is the one made last, if it is there at all.
            uint32_t last = 0;
            for (uint32_t it = trie[node].first_child; it; it = trie[it].sibling) last = it;
            if (!last || trie[last].byte != static_cast<uint8_t>(c)) {
                auto made = static_cast<uint32_t>(trie.size());
                trie.push_back({static_cast<uint8_t>(c), trie[node].depth + 1, 0, 0, k, k, kNoKey});
                (last ? trie[last].sibling : trie[node].first_child) = made;
                last = made;
            }
            node = last;
            trie[node].high = k + 1;
        }
        trie[node].key = k;
    }
}

}  // namespace schemagen
