// Building: which values have an instance, and what stands at a position.
#include <algorithm>

#include "json/frames.hpp"

namespace schemagen {

JsonAutomaton::JsonAutomaton(std::shared_ptr<SharedAutomata> shared, JsonOptions options, uint64_t max_states)
    : Automaton({.strings = this, .containers = this, .guide = this}),
      shared_(std::move(shared)),
      options_(std::move(options)),
      max_states_(max_states) {
    values_.emplace_back();
    Bits first;
    first.set(0);
    bits_id(first);  // kFirst
}

ValueId JsonAutomaton::declare_value() {
    values_.emplace_back();
    return static_cast<ValueId>(values_.size() - 1);
}

uint32_t JsonAutomaton::add_object(ObjectDisjunct disjunct) {
    objects_.push_back(std::move(disjunct));
    return static_cast<uint32_t>(objects_.size() - 1);
}

uint32_t JsonAutomaton::add_array(ArrayDisjunct disjunct) {
    arrays_.push_back(std::move(disjunct));
    return static_cast<uint32_t>(arrays_.size() - 1);
}

uint64_t JsonAutomaton::memory_bytes() const {
    uint64_t bytes = state_bytes_ + values_.size() * sizeof(ValueNode) + positions_.size() * 320;
    for (const auto& disjunct : objects_) bytes += 64 + disjunct.properties.size() * 64;
    bytes += children_.size() * 96;
    return bytes;
}

// ---- which values have an instance --------------------------------------------------------------------------------

// Fewest further keys that bring a disjunct from `state` to a final state, taking every required key that is `usable`
// and any other only if it helps; kUnbounded if nothing does. Counts commute, so the order of the keys does not matter.
uint64_t JsonAutomaton::keys_to_finish(const ObjectDisjunct& disjunct, uint32_t state, const std::vector<bool>& usable,
                                       uint64_t extras) const {
    std::vector<uint64_t> fewest(disjunct.final.size(), kUnbounded);
    fewest[state] = 0;
    auto relax = [&](const std::vector<uint64_t>& from, const Options& options, std::vector<uint64_t>& to) {
        for (size_t s = 0; s < from.size(); ++s)
            if (from[s] < kUnbounded)
                for (const Option& option : options[s])
                    if (productive_option(option)) to[option.target] = std::min(to[option.target], from[s] + 1);
    };
    for (size_t d = 0; d < disjunct.properties.size(); ++d) {
        if (!usable[d]) continue;
        std::vector<uint64_t> next =
            disjunct.properties[d].required ? std::vector<uint64_t>(fewest.size(), kUnbounded) : fewest;
        relax(fewest, disjunct.properties[d].options, next);
        fewest = std::move(next);
    }
    for (size_t round = 0; round < std::min<uint64_t>(extras, fewest.size()); ++round)
        for (const ExtraKeys& extra : disjunct.extras) {
            std::vector<uint64_t> from(fewest);
            relax(from, extra.options, fewest);
        }
    uint64_t best = kUnbounded;
    for (size_t s = 0; s < fewest.size(); ++s)
        if (disjunct.final[s]) best = std::min(best, fewest[s]);
    return best;
}

bool JsonAutomaton::object_productive(const ObjectDisjunct& disjunct) const {
    auto possible = [&](const Options& options) {
        return std::any_of(options.begin(), options.end(), [&](const auto& list) {
            return std::any_of(list.begin(), list.end(), [&](const Option& o) { return productive_option(o); });
        });
    };
    uint64_t available = 0;
    for (const Property& property : disjunct.properties) {
        bool there = possible(property.options);
        if (property.required && !there) return false;
        available += there;
    }
    if (disjunct.min_properties > disjunct.max_properties ||
        available + extra_capacity(disjunct) < disjunct.min_properties)
        return false;
    uint64_t needed = keys_to_finish(disjunct, 0, std::vector<bool>(disjunct.properties.size(), true), kUnbounded);
    return needed < kUnbounded && needed <= disjunct.max_properties;
}

// How many keys that are not declared there can be, as far as minProperties makes it matter.
uint64_t JsonAutomaton::extra_capacity(const ObjectDisjunct& disjunct) const {
    uint64_t capacity = 0, enough = std::max<uint64_t>(disjunct.min_properties, 1);
    for (const ExtraKeys& extra : disjunct.extras) {
        bool there = std::any_of(extra.options.begin(), extra.options.end(), [&](const auto& list) {
            return std::any_of(list.begin(), list.end(), [&](const Option& o) { return productive_option(o); });
        });
        if (there && capacity < enough) capacity += extra.open ? enough : kernel().count_words(extra.regex, enough);
    }
    return capacity;
}

// From which states and counts an array can still be finished. Past the prefix and minItems only the distance to a
// final state matters, so the table stops there.
bool JsonAutomaton::settled_live(const ArrayDisjunct& disjunct, const ArrayOutlook& out, size_t state,
                                 uint64_t count) const {
    if (out.need[state] == kUnbounded) return false;
    if (count + out.need[state] >= disjunct.min_items) return count + out.need[state] <= disjunct.max_items;
    bool goes_on = std::any_of(disjunct.items[state].begin(), disjunct.items[state].end(),
                               [&](const Option& o) { return productive_option(o); });
    return goes_on && disjunct.min_items <= disjunct.max_items;  // only a disjunct with a single state gets here
}

JsonAutomaton::ArrayOutlook JsonAutomaton::outlook(const ArrayDisjunct& disjunct) const {
    ArrayOutlook out;
    out.ready = true;
    size_t states = disjunct.final.size();
    // A disjunct that counts nothing only needs to know whether items can go on: no table, however high minItems is.
    out.settled = static_cast<uint32_t>(disjunct.prefix.size());
    if (states > 1) out.settled = std::max(out.settled, disjunct.min_items);
    if (uint64_t{out.settled} * states > 50'000'000)
        throw LimitExceeded("max_states", uint64_t{out.settled} * states, 50'000'000);
    out.need.assign(states, kUnbounded);
    for (size_t s = 0; s < states; ++s)
        if (disjunct.final[s]) out.need[s] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t s = 0; s < states; ++s)
            for (const Option& option : disjunct.items[s])
                if (productive_option(option) && out.need[option.target] < kUnbounded &&
                    out.need[option.target] + 1 < out.need[s]) {
                    out.need[s] = out.need[option.target] + 1;
                    changed = true;
                }
    }
    auto at = [&](uint64_t count, size_t s) {
        return count >= out.settled ? settled_live(disjunct, out, s, count) : bool{out.live[count * states + s]};
    };
    out.live.assign(size_t{out.settled} * states, false);
    for (uint64_t count = out.settled; count-- > 0;)
        for (size_t s = 0; s < states; ++s) {
            bool now = disjunct.final[s] && count >= disjunct.min_items && count <= disjunct.max_items;
            const Options& options = count < disjunct.prefix.size() ? disjunct.prefix[count] : disjunct.items;
            for (const Option& option : options[s])
                now = now || (count < disjunct.max_items && productive_option(option) && at(count + 1, option.target));
            out.live[count * states + s] = now;
        }
    return out;
}

bool JsonAutomaton::array_live(uint32_t id, uint32_t state, uint64_t count) {
    const ArrayDisjunct& disjunct = arrays_[id];
    if (outlooks_.size() < arrays_.size()) outlooks_.resize(arrays_.size());
    ArrayOutlook& out = outlooks_[id];
    if (!out.ready) out = outlook(disjunct);
    return count >= out.settled ? settled_live(disjunct, out, state, count)
                                : bool{out.live[count * disjunct.final.size() + state]};
}

// Whether some string is in the language and short enough. SharedAutomata with a least length of their own come with it
// built in (schemagen/engine/native/lowering.py), so that the shortest word decides.
bool JsonAutomaton::string_possible(const StringDisjunct& disjunct) const {
    if (disjunct.min_chars > disjunct.max_chars || kernel().is_empty(disjunct.regex)) return false;
    if (disjunct.max_chars == kUnbounded || kernel().is_any_string(disjunct.regex)) return true;
    uint32_t start = dfa().intern({disjunct.regex, kernel().any_string(Encoding::kJson)}, true);
    return dfa().chars_to_accept(start, 0) <= disjunct.max_chars;
}

// Least fixpoint: a value has an instance if one of its alternatives needs only values that have one.
void JsonAutomaton::settle_productive() {
    auto live = [this](const ArrayOutlook& out, const ArrayDisjunct& disjunct) {
        return out.settled ? bool{out.live[0]} : settled_live(disjunct, out, 0, 0);
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (auto it = values_.rbegin(); it != values_.rend(); ++it) {  // what is inside was declared later
            ValueNode& value = *it;
            if (value.productive) continue;
            poll();
            bool now = value.literal != kEmpty && !kernel().is_empty(value.literal);
            for (const StringDisjunct& disjunct : value.strings) now = now || string_possible(disjunct);
            for (uint32_t id : value.arrays) now = now || live(outlook(arrays_[id]), arrays_[id]);
            for (uint32_t id : value.objects) now = now || object_productive(objects_[id]);
            value.productive = now;
            changed |= now;
        }
    }
}

void JsonAutomaton::finish(ValueId root) {
    settle_productive();
    for (const ValueNode& value : values_) {
        size_t objects = 0, arrays = 0;
        for (uint32_t id : value.objects) objects += objects_[id].final.size();
        for (uint32_t id : value.arrays) arrays += arrays_[id].final.size();
        size_t most = std::max({objects, arrays, value.strings.size()});
        if (most > kMaxSlots) throw LimitExceeded("alternatives in one place", most, kMaxSlots);
    }
    if (values_[root].productive) surround(root);
}

// The frames around the whole text, and around a container that a mask is made for.
void JsonAutomaton::surround(ValueId root) {
    root_ = root;
    auto make = [this](FrameKind kind, uint32_t child) {
        auto* state = static_cast<FrameState*>(state_arena_.allocate(sizeof(FrameState)));
        *state = {};
        state->kind = kind;
        state->alive.set(0);
        state->bytes = sizeof(FrameState);
        state->open_value = true;
        state->child = child;
        auto* frame = static_cast<Frame*>(state_arena_.allocate(sizeof(Frame)));
        *frame = {};
        frame->state = intern(state);
        frame->around.least = frame->around.most = 0;
        frame->tails = 0;
        return frame;
    };
    root_frame_ = make(FrameKind::kRootFrame, child({{root, 0}}));
    exit_frame_ = make(FrameKind::kExitFrame, 0);
}

// The nodes that the values and disjuncts name, always in the same order.
template <class Visit>
void JsonAutomaton::each_language(const Visit& visit) {
    for (ValueNode& value : values_) {
        visit(value.literal);
        for (StringDisjunct& disjunct : value.strings) visit(disjunct.regex);
    }
    for (ObjectDisjunct& disjunct : objects_)
        for (ExtraKeys& extra : disjunct.extras) visit(extra.regex);
}

std::shared_ptr<Automaton> JsonAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    std::vector<NodeId> nodes;
    each_language([&](NodeId node) { nodes.push_back(node); });
    nodes = shared->kernel.adopt(kernel(), nodes);
    auto made = std::make_shared<JsonAutomaton>(std::move(shared), options_, max_states_);
    made->values_ = std::move(values_);
    made->objects_ = std::move(objects_);
    made->arrays_ = std::move(arrays_);
    size_t at = 0;
    made->each_language([&](NodeId& node) { node = nodes[at++]; });
    made->surround(root_);
    return made;
}

// ---- positions ----------------------------------------------------------------------------------------------------

uint32_t JsonAutomaton::position(std::vector<ValueId> values) {
    uint64_t hash = 3;
    for (ValueId value : values) hash = mix(hash, value);
    uint32_t known = position_index_.find(hash, [&](uint32_t other) { return positions_[other]->values == values; });
    if (known != HashIndex::kNone) return known;
    if (positions_.size() >= max_states_) throw LimitExceeded("max_states", positions_.size() + 1, max_states_, true);
    uint32_t id = static_cast<uint32_t>(positions_.size());
    positions_.push_back(std::make_unique<Position>());
    positions_.back()->values = std::move(values);
    position_index_.insert(hash, id);
    return id;
}

uint32_t JsonAutomaton::child(std::vector<Move> moves) {
    uint64_t hash = 9;
    for (const Move& move : moves) hash = mix(mix(hash, move.value), move.slot);
    uint32_t known = child_index_.find(hash, [&](uint32_t other) { return children_[other].moves == moves; });
    if (known != HashIndex::kNone) return known;
    std::vector<ValueId> distinct;
    for (const Move& move : moves) distinct.push_back(move.value);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() > kMaxSlots) throw LimitExceeded("max_alternatives", distinct.size(), kMaxSlots);
    Child made;
    for (const Move& move : moves)
        made.component.push_back(
            static_cast<uint16_t>(std::lower_bound(distinct.begin(), distinct.end(), move.value) - distinct.begin()));
    made.moves = std::move(moves);
    made.position = position(std::move(distinct));
    uint32_t id = static_cast<uint32_t>(children_.size());
    children_.push_back(std::move(made));
    child_index_.insert(hash, id);
    return id;
}

JsonAutomaton::Position& JsonAutomaton::prepared(uint32_t id) {
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

void JsonAutomaton::prepare_strings(Position& p) {
    std::vector<NodeId> components;
    for (size_t k = 0; k < p.values.size(); ++k) {
        for (const StringDisjunct& disjunct : values_[p.values[k]].strings) {
            if (!string_possible(disjunct)) continue;
            p.strings.push_back(disjunct);
            p.strings.back().any = kernel().is_any_string(disjunct.regex);
            if (disjunct.max_chars != kUnbounded) p.strings.back().to_finish = kernel().most_to_finish(disjunct.regex);
            p.string_owner.push_back(static_cast<uint16_t>(k));
            components.push_back(disjunct.regex);
            p.counted |= disjunct.min_chars > 0 || disjunct.max_chars != kUnbounded;
        }
    }
    if (components.empty()) return;
    if (components.size() > kMaxSlots) throw LimitExceeded("max_alternatives", components.size(), kMaxSlots);
    if (p.counted) components.push_back(kernel().any_string(Encoding::kJson));
    p.string_start = dfa().intern(components, p.counted);
}

void JsonAutomaton::prepare_literal(Position& p) {
    std::vector<NodeId> components;
    for (size_t k = 0; k < p.values.size(); ++k) {
        if (values_[p.values[k]].literal == kEmpty) continue;
        components.push_back(values_[p.values[k]].literal);
        p.literal_owner.push_back(static_cast<uint16_t>(k));
    }
    if (!components.empty()) p.literal_start = dfa().intern(components, false);
}

void JsonAutomaton::prepare_arrays(Position& p) {
    auto set = std::make_unique<ArraySet>();
    for (size_t k = 0; k < p.values.size(); ++k) {
        for (uint32_t id : values_[p.values[k]].arrays) {
            if (!array_live(id, 0, 0)) continue;
            size_t states = arrays_[id].final.size();
            if (set->disjuncts.size() + states > kMaxSlots)
                throw LimitExceeded("max_alternatives", set->disjuncts.size() + states, kMaxSlots);
            set->initial.set(set->disjuncts.size());
            for (uint32_t s = 0; s < states; ++s) {
                set->disjuncts.push_back(id);
                set->state.push_back(s);
                set->owner.push_back(static_cast<uint16_t>(k));
            }
        }
    }
    if (set->disjuncts.empty()) return;
    for (uint32_t id : set->disjuncts) {
        const ArrayDisjunct& disjunct = arrays_[id];
        uint64_t last = std::max<uint64_t>(disjunct.prefix.size(), disjunct.min_items);
        set->most_count =
            disjunct.max_items != kUnbounded ? kUnbounded : std::max(set->most_count, static_cast<uint32_t>(last));
        set->unique |= disjunct.unique;
    }
    p.arrays = std::move(set);
}

void JsonAutomaton::prepare_objects(Position& p) {
    auto set = std::make_unique<ObjectSet>();
    size_t disjuncts = 0;
    for (size_t k = 0; k < p.values.size(); ++k) {
        for (uint32_t id : values_[p.values[k]].objects) {
            if (!object_productive(objects_[id])) continue;
            size_t states = objects_[id].final.size();
            if (set->disjuncts.size() + states > kMaxSlots)
                throw LimitExceeded("max_alternatives", set->disjuncts.size() + states, kMaxSlots);
            set->initial.set(set->disjuncts.size());
            ++disjuncts;
            for (uint32_t s = 0; s < states; ++s) {
                set->disjuncts.push_back(id);
                set->state.push_back(s);
                set->owner.push_back(static_cast<uint16_t>(k));
            }
        }
    }
    if (!disjuncts) return;
    // 1) Every declared key of every disjunct, sorted, as a trie.
    for (size_t slot = 0; slot < set->disjuncts.size(); ++slot)
        for (const Property& property : objects_[set->disjuncts[slot]].properties)
            if (set->state[slot] == 0) set->keys.push_back(property.key);
    std::sort(set->keys.begin(), set->keys.end());
    set->keys.erase(std::unique(set->keys.begin(), set->keys.end()), set->keys.end());
    set->words = static_cast<uint32_t>((set->keys.size() + 63) / 64);
    build_trie(*set);
    for (uint32_t id : set->disjuncts) {
        bool bounded = objects_[id].max_properties != kUnbounded || objects_[id].final.size() > 1;
        set->most_count = bounded ? kUnbounded : std::max(set->most_count, objects_[id].min_properties);
    }
    // 2) What each slot asks of each key, and of the keys that no disjunct declares.
    NodeId others = disjuncts > 1 ? kernel().complement(kernel().literals(set->keys)) : kEmpty;
    std::vector<NodeId> components;
    for (uint32_t slot = 0; slot < set->disjuncts.size(); ++slot) place_keys(*set, slot);
    for (uint32_t slot = 0; slot < set->disjuncts.size(); ++slot) {
        if (set->state[slot] != 0) continue;
        const ObjectDisjunct& disjunct = objects_[set->disjuncts[slot]];
        for (uint32_t e = 0; e < disjunct.extras.size(); ++e) {
            bool open = disjunct.extras[e].open;
            NodeId regex = disjuncts > 1 && !open ? kernel().conjunction({disjunct.extras[e].regex, others})
                                                  : disjunct.extras[e].regex;
            if (kernel().is_empty(regex)) continue;
            components.push_back(regex);
            set->components.emplace_back(static_cast<uint16_t>(slot), e);
            set->tracks_keys |= !disjunct.extras[e].open;
        }
    }
    if (components.size() > kMaxSlots) throw LimitExceeded("max_alternatives", components.size(), kMaxSlots);
    if (!components.empty()) set->extra_start = dfa().intern(components, false);
    p.objects = std::move(set);
}

// Where a slot has each key: declared, in a class of extra keys, or nowhere.
void JsonAutomaton::place_keys(ObjectSet& set, uint32_t slot) {
    poll();
    const ObjectDisjunct& disjunct = objects_[set.disjuncts[slot]];
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
        uint32_t start = dfa().intern({extra.regex}, false);
        for (uint32_t key = 0; key < set.keys.size(); ++key) {
            if (options[key]) continue;
            uint32_t at = start;
            for (char c : set.keys[key]) at = at ? dfa().next(at, static_cast<uint8_t>(c)) : 0;
            if (at && dfa().state(at).accepts.any()) options[key] = &extra.options[state];
        }
    }
    set.options.push_back(std::move(options));
    set.place.push_back(std::move(place));
    set.key_at.push_back(std::move(key_at));
    set.required.push_back(std::move(required));
}

void JsonAutomaton::build_trie(ObjectSet& set) {
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
