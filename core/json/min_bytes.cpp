#include <algorithm>
#include <functional>
#include <unordered_set>

#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"
#include "util/limits.hpp"
#include "util/shown.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

namespace {

constexpr size_t kMostLeasts = 50'000;  // surroundings, beyond which components are not told apart

}  // namespace

MinBytes::MinBytes(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      states_(machine.states),
      gaps_(machine.gaps),
      groups_(machine.groups),
      parts_(machine.parts),
      distinct_(machine.distinct),
      bounds_(machine.bounds),
      unique_(machine.unique) {}

uint32_t MinBytes::min_bytes_option(const std::vector<Option>& options, uint32_t depth) const {
    uint32_t best = kFar;
    for (const Option& option : options) best = std::min(best, min_bytes_value(option.value, depth));
    return best;
}

uint32_t MinBytes::min_bytes_option(const Options& options, uint32_t depth) const {
    uint32_t best = kFar;
    for (const auto& list : options) best = std::min(best, min_bytes_option(list, depth));
    return best;
}

// `alternative`: if that one of its group holds.
Needed MinBytes::needed_members(const ObjectDisjunct& disjunct, const FrameState* state, uint32_t slot,
                                uint32_t alternative) const {
    Needed out;
    const uint32_t depth = state ? state->depth : program_.options.fixed.lines;
    if (state && !program_.options.fixed.lines) {
        const Required rest = parts_.required(state, slot);
        out.bytes = rest.bytes;
        out.count = rest.count;
    } else {
        // With an indentation the bytes of a member depend on the depth.
        const ObjectSet* set = state ? positions_[state->position]->objects.get() : nullptr;
        for (uint32_t d = state && !program_.options.any_order ? state->next[slot] : 0; d < disjunct.properties.size();
             ++d) {
            const Property& property = disjunct.properties[d];
            if (!property.required || (state && bit(state->seen, set->key_at[slot][d]))) continue;
            out.bytes += member_bytes(property, min_bytes_option(property.options, depth), depth);
            ++out.count;
        }
    }
    for (const Group& group : disjunct.groups) {
        const Needed own = needed_of(disjunct, group, state, slot, kNoKey, alternative);
        out.bytes += own.bytes;
        out.count += own.count;
    }
    uint64_t count = (state ? state->count : 0) + out.count;
    if (count < disjunct.min_properties) {
        out.any = disjunct.min_properties - count;
        out.first = least_member(disjunct, 0, depth);
        out.other = least_member(disjunct, 1, depth);
        out.bytes += out.first + (out.any - 1) * out.other;
        out.count += out.any;
    }
    return out;
}

uint64_t MinBytes::member_bytes(const Property& property, uint32_t value, uint32_t depth) const {
    return uint64_t{gaps_.line_bytes(depth)} + property.key.size() + 2 + gaps_.colon_bytes() + value;
}

// The members that the cheapest alternative of a group still requires, or the given one if it is in the group. `taken`:
// of those that allow the key at this place, with its value besides. No state: at the beginning.
Needed MinBytes::needed_of(const ObjectDisjunct& disjunct, const Group& group, const FrameState* state, uint32_t slot,
                           uint32_t taken, uint32_t alternative) const {
    const uint32_t depth = state ? state->depth : program_.options.fixed.lines;
    if (state && groups_.is_over(state, slot, group)) return {};
    Needed best{kFar};
    const uint32_t first = state && alternative != kNoAlternative ? groups_.number_of(state, slot, group) : 0;
    const bool is_within = state && alternative != kNoAlternative && alternative >= first &&
                           alternative - first < group.alternatives.size();
    auto bytes = [this](const Needed& needed) { return needed.bytes + needed.count * gaps_.comma_bytes(); };
    auto try_one = [&](const Alternative& each, uint32_t number) {
        Needed needed;
        if (is_within && number != alternative) return true;
        for (size_t k = 0; k < group.places.size(); ++k) {
            if (group.places[k] == taken) {
                needed.bytes += min_bytes_value(each.values[k], depth);
                continue;
            }
            if (state ? !groups_.is_missing(state, slot, group, each, k) : !each.required[k]) continue;
            needed.bytes +=
                member_bytes(disjunct.properties[group.places[k]], min_bytes_value(each.values[k], depth), depth);
            ++needed.count;
        }
        if (bytes(needed) < bytes(best)) best = needed;
        return bytes(best) > 0;
    };
    if (state)
        groups_.each_alive(state, slot, group, try_one);
    else
        for (const Alternative& each : group.alternatives) try_one(each, 0);
    return best;
}

// The shortest member that is not required. `key`: the fewest bytes of its key if that is not declared.
uint64_t MinBytes::least_member(const ObjectDisjunct& disjunct, uint32_t key, uint32_t depth) const {
    uint64_t best = kFar;
    for (const Property& property : disjunct.properties)
        if (!property.required)
            best = std::min<uint64_t>(best, property.key.size() + min_bytes_option(property.options, depth));
    for (const ExtraKeys& extra : disjunct.extras)
        best = std::min<uint64_t>(
            best, std::max(program_.kernel().shortest(extra.regex), key) + min_bytes_option(extra.options, depth));
    return std::min<uint64_t>(best, kFar) + gaps_.line_bytes(depth) + 2 + gaps_.colon_bytes();
}

// The bytes needed without a member that is not required, if it is one of those that may be any.
Needed MinBytes::without_any(Needed needed) {
    if (!needed.any) return needed;
    --needed.count;
    needed.bytes -= --needed.any ? needed.other : needed.first;
    return needed;
}

Needed MinBytes::needed_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count, uint32_t depth) const {
    Needed out;
    const uint64_t begun = count, least = std::max<uint64_t>(disjunct.min_items, count + !disjunct.final[state]);
    auto item = [&] {
        return gaps_.line_bytes(depth) +
               least_item(count < disjunct.prefix.size() ? disjunct.prefix[count] : disjunct.items,
                          disjunct.unique && count > 0, depth);
    };
    for (; count < least && (count < disjunct.prefix.size() || count == 0); ++count, ++out.count) out.bytes += item();
    if (count < least) {
        out.bytes += (least - count) * item();
        out.count += least - count;
    }
    if (distinct_.tells(disjunct, begun)) out.bytes = std::max(out.bytes, distinct_.bytes(disjunct, out.count));
    const size_t id = static_cast<size_t>(&disjunct - program_.arrays.data());
    if (begun < disjunct.prefix.size() || to_final_.empty() || to_final_[id].empty()) return out;
    const Needed& counted = to_final_[id][state];  // either is a lower bound, so their maximum is
    auto bytes = [this](const Needed& needed) { return needed.bytes + needed.count * gaps_.comma_bytes(); };
    return bytes(counted) > bytes(out) ? counted : out;
}

// Shortest paths over the states of arrays that count items (Bellman and Ford): what the items to a final state take,
// with the values so far. States are mostly numbered in the order of a text.
void MinBytes::settle_to_final() {
    if (program_.options.fixed.lines) return;
    to_final_.resize(program_.arrays.size());
    for (size_t id = 0; id < program_.arrays.size(); ++id) {
        const ArrayDisjunct& disjunct = program_.arrays[id];
        const size_t states = disjunct.final.size();
        if (states == 1) continue;
        std::vector<Needed>& out = to_final_[id];
        out.resize(states, Needed{kFar});
        for (size_t state = 0; state < states; ++state)
            if (disjunct.final[state]) out[state] = {};
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t state = states; state-- > 0;)
                for (const Option& option : disjunct.items[state]) {
                    poll();
                    const Needed& next = out[option.target];
                    const uint64_t bytes = next.bytes + min_bytes_value(option.value, 0), count = next.count + 1;
                    if (bytes + count * gaps_.comma_bytes() >=
                        out[state].bytes + out[state].count * gaps_.comma_bytes())
                        continue;
                    out[state].bytes = bytes;
                    out[state].count = count;
                    changed = true;
                }
        }
    }
}

// `repeated`: after another item of an array with unique items.
uint32_t MinBytes::least_item(const Options& options, bool repeated, uint32_t depth) const {
    if (!repeated || of_repeated_.empty() || program_.options.fixed.lines) return min_bytes_option(options, depth);
    uint32_t best = kFar;
    for (const auto& list : options)
        for (const Option& option : list) best = std::min(best, of_repeated_[option.value]);
    return best;
}

// After an item, numbers that need no exponents have none (`without_idle_exponents`): that counts where all items are
// numbers.
void MinBytes::settle_min_bytes_repeated() {
    if (std::none_of(program_.arrays.begin(), program_.arrays.end(),
                     [](const ArrayDisjunct& disjunct) { return disjunct.unique; }))
        return;
    std::vector<uint32_t> repeated = of_value;
    for (size_t v = 0; v < program_.values.size(); ++v) {
        const ValueNode& value = program_.values[v];
        if (value.literal == kEmpty || !value.strings.empty() || !value.objects.empty() || !value.arrays.empty())
            continue;
        const ByteSet first = program_.dfa().next_bytes(program_.dfa().intern({value.literal}, false));
        if (first.has('t') || first.has('f') || first.has('n')) continue;
        const NodeId plain = program_.kernel().without_idle_exponents(value.literal);
        if (plain != kEmpty) repeated[v] = program_.dfa().bytes_to_accept(program_.dfa().intern({plain}, false), 0);
    }
    of_repeated_ = std::move(repeated);
}

Needed MinBytes::needed(const FrameState* state, uint32_t slot, uint32_t alternative) const {
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kObjectFrame)
        return needed_members(program_.objects[p.objects->disjuncts[slot]], state, slot, alternative);
    return needed_items(program_.arrays[p.arrays->disjuncts[slot]], p.arrays->state[slot], state->count, state->depth);
}

// The same with the keys used so far, of which only one is empty, and the items.
Needed MinBytes::needed(const Frame* frame, uint32_t slot, uint32_t alternative) const {
    Needed out = needed(frame->state, slot, alternative);
    if (frame->items)
        if (const ArrayDisjunct* array = distinct_.told(frame->state, slot))
            out.bytes = std::max(out.bytes, distinct_.unused_bytes(frame, *array, out.count));
    for (const UsedKey* used = out.any ? frame->used : nullptr; used; used = used->previous) {
        if (!used->text.empty()) continue;
        out.bytes += out.other - out.first;
        out.first = out.other;
        break;
    }
    return out;
}

uint32_t MinBytes::closed(const Needed& inside) const {
    return plus(inside.bytes, 2 + (inside.count ? (inside.count - 1) * gaps_.comma_bytes() + gaps_.line_bytes(0) : 0));
}

// Least fixpoint over the values: scalars first, then the containers built of them.
void MinBytes::settle_min_bytes() {
    std::vector<uint32_t> alone(program_.values.size(), kFar);
    for (size_t v = 0; v < program_.values.size(); ++v) {
        poll();
        if (program_.values[v].literal != kEmpty)
            alone[v] = program_.dfa().bytes_to_accept(program_.dfa().intern({program_.values[v].literal}, false), 0);
        for (const StringDisjunct& disjunct : program_.values[v].strings) {
            if (!program_.string_possible(disjunct)) continue;
            uint32_t shortest = program_.kernel().is_any_string(disjunct.regex)
                                    ? 0
                                    : program_.dfa().bytes_to_accept(program_.dfa().intern({disjunct.regex}, false), 0);
            alone[v] = std::min(alone[v], plus(2, std::max(shortest, disjunct.min_chars)));
        }
    }
    settle_min_bytes_lines();
    of_value.assign(program_.values.size(), kFar);
    for (bool changed = true; changed;) {
        changed = false;
        settle_to_final();
        for (size_t v = program_.values.size(); v-- > 0;) {  // inner values were declared later
            poll();
            uint32_t best = alone[v];
            for (uint32_t id : program_.values[v].objects)
                best = std::min(best, closed(needed_members(program_.objects[id], nullptr, 0)));
            for (uint32_t id : program_.values[v].arrays)
                best = std::min(best, closed(needed_items(program_.arrays[id], 0, 0, program_.options.fixed.lines)));
            if (best >= of_value[v]) continue;
            of_value[v] = best;
            changed = true;
        }
    }
    settle_min_bytes_repeated();
}

// ---- from a place in a text to its end ------------------------------------------------------------------------------

const std::vector<uint16_t>& MinBytes::owners(const FrameState* state) const {
    const Position& p = *positions_[state->position];
    return state->kind == FrameKind::kObjectFrame ? p.objects->owner : p.arrays->owner;
}

// From after a container that a slot closes.
uint32_t MinBytes::closed_by(const Frame* frame, uint32_t slot) const {
    const Around& around = frame->around;
    return around.leasts ? around.leasts[owners(frame->state)[slot]] : around.least;
}

// From after a value in a container; `opened`: from after the opening bracket.
uint32_t MinBytes::min_bytes_rest(const Frame* frame, bool opened) {
    uint32_t best = kFar;
    const FrameState* state = frame->state;
    size_t left = state->alive.count();
    for (uint32_t slot = 0; left; ++slot) {
        if (!state->alive[slot]) continue;
        --left;
        const Needed rest = needed(frame, slot);
        const uint64_t commas = opened && rest.count ? rest.count - 1 : rest.count;
        const uint64_t closing = opened && !rest.count ? 1 : gaps_.closing_bytes(state);
        best = std::min(best, plus(rest.bytes, commas * gaps_.comma_bytes() + closing + closed_by(frame, slot)));
    }
    return best;
}

// From after a value in a container to after the container, which the slot of a move closes.
uint32_t MinBytes::min_bytes_slot(const Frame* frame, const Move& move) const {
    const Needed rest = needed(frame, move.slot, move.alternative);
    return plus(rest.bytes, rest.count * gaps_.comma_bytes() + gaps_.closing_bytes(frame->state));
}

// From the end of the value that a container is waiting for to after the container.
uint32_t MinBytes::min_bytes_after(const Frame* frame) {
    const FrameState* state = frame->state;
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return 0;
    const bool is_kept =
        state->id && !frame->items && (!frame->used || states_.has_enough_members(state, frame->count));
    if (is_kept && state->id < bytes_after_.size() && bytes_after_[state->id] != kFar) return bytes_after_[state->id];
    uint32_t best = kFar;
    for (const Move& move : positions_.children[state->child].moves) best = std::min(best, min_bytes_slot(frame, move));
    if (is_kept) {
        if (bytes_after_.size() <= state->id) bytes_after_.resize(state->id * 2 + 16, kFar);
        bytes_after_[state->id] = best;
    }
    return best;
}

// The same to the end of the text, if the value satisfies a component of its position.
uint32_t MinBytes::min_bytes_satisfied(const Frame* frame, uint32_t component) {
    const FrameState* state = frame->state;
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return frame->around.least;
    const Child& child = positions_.children[state->child];
    if (!frame->around.leasts && positions_[child.position]->values.size() == 1)
        return plus(min_bytes_after(frame), frame->around.least);
    uint32_t best = kFar;
    for (size_t m = 0; m < child.moves.size(); ++m) {
        if (child.component[m] != component) continue;
        best = std::min(best, plus(min_bytes_slot(frame, child.moves[m]), closed_by(frame, child.moves[m].slot)));
    }
    return best;
}

// Store what the containers around one require; of the parent this is known.
void MinBytes::sum_around(const Around& around, const Frame* parent) {
    const FrameState* state = parent->state;
    const bool is_inside = state->kind == FrameKind::kObjectFrame || state->kind == FrameKind::kArrayFrame;
    const size_t components =
        is_inside ? positions_[positions_.children[state->child].position]->values.size() : size_t{1};
    around.leasts = nullptr;
    if (components == 1) {
        around.least = min_bytes_satisfied(parent, 0);
        return;
    }
    const uint64_t key = mix(around.key_a, around.key_b);
    const bool is_kept = around.numbered && around.enough;
    const auto known = is_kept ? leasts_.find(key) : leasts_.end();
    std::vector<uint32_t> leasts;
    if (known != leasts_.end() && known->second.size() == components)
        leasts = known->second;
    else
        for (uint32_t k = 0; k < components; ++k) leasts.push_back(min_bytes_satisfied(parent, k));
    around.least = *std::min_element(leasts.begin(), leasts.end());
    if (!is_kept || (known == leasts_.end() && leasts_.size() >= kMostLeasts)) return;
    const std::vector<uint32_t>& kept = leasts_.try_emplace(key, std::move(leasts)).first->second;
    if (kept.size() == components) around.leasts = kept.data();
}

// From before a value to the end of the text.
uint32_t MinBytes::min_bytes_position(uint32_t id, const Frame* frame) {
    const std::vector<ValueId>& values = positions_[id]->values;
    const ValueList* others = program_.options.fixed.lines ? nullptr : frame->child_forbidden;
    uint32_t best = kFar;
    for (uint32_t k = 0; k < values.size(); ++k) {
        const uint32_t own = others ? min_bytes_unlike(id, k, others) : min_bytes_value(values[k], frame->state->depth);
        best = std::min(best, plus(own, min_bytes_satisfied(frame, k)));
    }
    return best;
}

// Of a value of a component of a position that is a container, or a scalar and none of some.
uint32_t MinBytes::min_bytes_unlike(uint32_t id, uint32_t component, const ValueList* others) {
    const Position& p = positions_.prepared(id);
    const ValueNode& value = program_.values[p.values[component]];
    uint32_t best = kFar;
    for (uint32_t object : value.objects)
        best = std::min(best, closed(needed_members(program_.objects[object], nullptr, 0)));
    for (uint32_t array : value.arrays) best = std::min(best, closed(needed_items(program_.arrays[array], 0, 0, 0)));
    const uint32_t string = unique_.string_start(p, others), literal = unique_.literal_start(p, others);
    for (uint32_t k = 0; string && k < p.strings.size(); ++k) {
        if (p.string_owner[k] != component || !program_.dfa().state(string).alive[k]) continue;
        best =
            std::min(best, plus(std::max(program_.dfa().near_bytes_to_accept(string, k), p.strings[k].min_chars), 2));
    }
    for (uint32_t k = 0; literal && k < p.literal_owner.size(); ++k)
        if (p.literal_owner[k] == component && program_.dfa().state(literal).alive[k])
            best = std::min(best, program_.dfa().near_bytes_to_accept(literal, k));
    return best;
}

// From inside a key.
uint32_t MinBytes::min_bytes_key(const Configuration& config) {
    const Frame* frame = config.frame;
    const FrameState* state = frame->state;
    const ObjectSet& set = *positions_[state->position]->objects;
    // A key that is required costs nothing more, so no other one can be nearer.
    if (const uint32_t key = program_.options.fixed.lines ? kNoKey : parts_.next_required(config); key != kNoKey) {
        const uint32_t slot = parts_.only_slot(state);
        if (const Needed rest = needed(frame, slot); rest.any == 0)
            return plus(rest.bytes,
                        (rest.count - 1) * gaps_.comma_bytes() - set.trie[config.node].depth + closed_by(frame, slot));
    }
    uint32_t best = config.state ? min_bytes_extra(config) : kFar;
    for (uint32_t slot = 0; config.node != kNoNode && slot < set.disjuncts.size(); ++slot)
        if (state->alive[slot])
            best = std::min(best, min_bytes_declared(frame, slot, set.trie[config.node], needed(frame, slot)));
    return best;
}

// From inside an extra key, by the slots that can take it.
uint32_t MinBytes::min_bytes_extra(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    const ObjectSet& set = *positions_[state->position]->objects;
    uint32_t best = kFar;
    for (uint32_t k = 0; k < set.components.size(); ++k) {
        if (!program_.dfa().state(config.state).alive[k]) continue;
        uint64_t key = uint64_t{program_.dfa().bytes_to_accept(config.state, k)} + 1 + gaps_.colon_bytes();
        key += program_.dfa().state(config.state).accepts[k] && was_used(config);
        const auto [first, extra] = set.components[k];
        for (uint32_t slot = first; slot < set.disjuncts.size() && slot - set.state[slot] == first; ++slot) {
            if (!state->extra[slot]) continue;
            const auto& options = program_.objects[set.disjuncts[slot]].extras[extra].options[set.state[slot]];
            const Needed others = without_any(needed(config.frame, slot));
            const uint64_t rest = others.bytes + others.count * gaps_.comma_bytes() + gaps_.closing_bytes(state) +
                                  closed_by(config.frame, slot);
            best = std::min(best, plus(key + min_bytes_option(options, state->depth), rest));
        }
    }
    return best;
}

// From inside a declared key of a slot, which asks for `rest`.
uint32_t MinBytes::min_bytes_declared(const Frame* frame, uint32_t slot, const TrieNode& node,
                                      const Needed& rest) const {
    const FrameState* state = frame->state;
    const ObjectSet& set = *positions_[state->position]->objects;
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    uint32_t best = kFar;
    for (uint32_t key = node.low; key < node.high; ++key) {
        if (!bit(state->offered + size_t{slot} * set.words, key) || !set.options[slot][key]) continue;
        const uint32_t place = set.place[slot][key];
        const bool required = place != kNoKey && disjunct.properties[place].required;
        Needed others = required ? rest : without_any(rest);
        if (required) {
            others.bytes -=
                member_bytes(disjunct.properties[place],
                             min_bytes_option(disjunct.properties[place].options, state->depth), state->depth);
            --others.count;
        }
        uint64_t own = set.keys[key].size() - node.depth + 1 + gaps_.colon_bytes();
        if (place == kNoKey || disjunct.properties[place].group == kNoGroup) {
            own += min_bytes_option(*set.options[slot][key], state->depth);
        } else {
            const Group& group = disjunct.groups[disjunct.properties[place].group];
            const Needed without = needed_of(disjunct, group, state, slot, kNoKey, kNoAlternative),
                         with = needed_of(disjunct, group, state, slot, place, kNoAlternative);
            others.bytes += with.bytes - without.bytes;
            others.count += with.count - without.count;
        }
        best =
            std::min(best, plus(own + others.bytes, others.count * gaps_.comma_bytes() + gaps_.closing_bytes(state)));
    }
    return plus(best, closed_by(frame, slot));
}

uint32_t MinBytes::min_bytes_string(const Configuration& config) {
    const LazyDfa::State& state = program_.dfa().state(config.state);
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    uint32_t best = kFar;
    for (uint32_t k = 0; k < p.strings.size(); ++k) {
        if (!state.alive[k] || config.count + uint64_t{!state.accepts[k]} > p.strings[k].max_chars) continue;
        const uint32_t missing = config.count < p.strings[k].min_chars ? p.strings[k].min_chars - config.count : 0;
        // A character that was begun counts once it is complete.
        const uint64_t own = uint64_t{std::max(program_.dfa().bytes_to_accept(config.state, k), missing)} + 1;
        best = std::min(best, plus(own, min_bytes_satisfied(config.frame, p.string_owner[k])));
    }
    return best;
}

uint32_t MinBytes::min_bytes_literal(const Configuration& config) {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    uint32_t best = kFar;
    for (uint32_t k = 0; k < p.literal_owner.size(); ++k)
        if (program_.dfa().state(config.state).alive[k])
            best = std::min(best, plus(program_.dfa().bytes_to_accept(config.state, k),
                                       min_bytes_satisfied(config.frame, p.literal_owner[k])));
    return best;
}

// From an opening bracket, or the gap after it.
uint64_t MinBytes::min_bytes_first(const Configuration& config) {
    const uint64_t rest = min_bytes_rest(config.frame, true);
    if (!config.count) return rest;
    return std::max(
        rest - std::min<uint64_t>(rest, config.count),
        gaps_.gap_bytes_left(config) + 1 + gaps_.closing_bytes(config.frame->state) + config.frame->around.least);
}

// From a comma in an object.
uint64_t MinBytes::min_bytes_next_key(const Configuration& config) {
    Configuration key = config;
    open_key(key);
    return gaps_.gap_bytes_left(config) + 1 + min_bytes_key(key);
}

uint32_t MinBytes::min_bytes(const Configuration& config) {
    if (config.mode == kDone) return 0;
    const Frame* frame = config.frame;
    bounds_.summed(frame);
    const uint32_t read = config.count;  // in a gap: how much of it
    uint64_t total = 0;
    switch (config.mode) {
        case kColon:
            total = gaps_.colon_bytes() - read + uint64_t{min_bytes_position(states_.position_of(frame->state), frame)};
            break;
        case kValue:
        case kItem: total = gaps_.gap_bytes_left(config) + min_bytes_position(config.state, frame); break;
        case kString: return min_bytes_string(config);
        case kLiteral: return min_bytes_literal(config);
        case kFirstItem:
        case kFirstKey: total = min_bytes_first(config); break;
        case kNextKey: total = min_bytes_next_key(config); break;
        case kKey: return min_bytes_key(config);
        case kAfter:
            total = std::max<uint64_t>(min_bytes_rest(frame, false), read + uint64_t{1} + frame->around.least) - read;
            break;
        default: break;
    }
    return plus(total, 0);
}

// A value at a greater depth is indented more: each of its line breaks takes more bytes. The fewest line breaks and
// the fewest bytes may be those of different instances, so the sum is a lower bound.
uint32_t MinBytes::min_bytes_value(ValueId value, uint32_t depth) const {
    if (of_lines_.empty()) return of_value[value];
    return plus(of_value[value], uint64_t{depth} * program_.options.fixed.indent.size() * of_lines_[value]);
}

uint64_t MinBytes::min_bytes_lines(const std::vector<Option>& options) const {
    uint64_t best = kFar;
    for (const Option& option : options) best = std::min<uint64_t>(best, of_lines_[option.value]);
    return best;
}

uint64_t MinBytes::min_bytes_lines(const Options& options) const {
    uint64_t best = kFar;
    for (const auto& list : options) best = std::min(best, min_bytes_lines(list));
    return best;
}

uint64_t MinBytes::min_bytes_lines(const ObjectDisjunct& disjunct) const {
    uint64_t lines = 0, members = 0, any = kFar;
    for (const Property& property : disjunct.properties) {
        const uint64_t inside = min_bytes_lines(property.options);
        if (property.required) lines += inside + 1, ++members;
        if (!property.required) any = std::min(any, inside);
    }
    for (const ExtraKeys& extra : disjunct.extras) any = std::min(any, min_bytes_lines(extra.options));
    if (members < disjunct.min_properties)
        lines += (disjunct.min_properties - members) * (any + 1), members = disjunct.min_properties;
    return members ? lines + 1 : 0;
}

uint64_t MinBytes::min_bytes_lines(const ArrayDisjunct& disjunct) const {
    uint64_t lines = 0, items = std::max<uint64_t>(disjunct.min_items, !disjunct.final[0]);
    for (uint64_t k = 0; k < items && k < disjunct.prefix.size(); ++k) lines += min_bytes_lines(disjunct.prefix[k]) + 1;
    if (items > disjunct.prefix.size())
        lines += (items - disjunct.prefix.size()) * (min_bytes_lines(disjunct.items) + 1);
    return items ? lines + 1 : 0;
}

// Least fixpoint over the values, as that of their bytes.
void MinBytes::settle_min_bytes_lines() {
    if (!program_.options.fixed.lines) return;
    of_lines_.assign(program_.values.size(), kFar);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t v = program_.values.size(); v-- > 0;) {  // inner values were declared later
            uint64_t best = program_.values[v].literal != kEmpty || !program_.values[v].strings.empty() ? 0 : kFar;
            for (uint32_t id : program_.values[v].objects) best = std::min(best, min_bytes_lines(program_.objects[id]));
            for (uint32_t id : program_.values[v].arrays) best = std::min(best, min_bytes_lines(program_.arrays[id]));
            if (best >= of_lines_[v]) continue;
            of_lines_[v] = static_cast<uint32_t>(best);
            changed = true;
        }
    }
}

size_t MinBytes::memory_bytes() const {
    size_t bytes = heap_bytes(of_value) + heap_bytes(to_final_) + heap_bytes(of_repeated_) + heap_bytes(of_lines_) +
                   heap_bytes(bytes_after_);
    for (const auto& each : leasts_) bytes += heap_node(sizeof(each)) + heap_bytes(each.second);
    return bytes;
}

}  // namespace schemagen
