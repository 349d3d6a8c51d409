// How many bytes a JSON text needs at least from here to its end: the guide of the search for the shortest one
// (completion.hpp).
//
// Bounds are sums: the rest of the value being read, then for each open container around it the keys and values that it
// still requires. A value's own bound is a least fixpoint over the schema (Knuth 1977, shortest derivations). Where
// several alternatives are alive the smallest of them counts, so a bound is never too high, and where there is one it
// mostly is exact.
#include <algorithm>

#include "json/frames.hpp"

namespace schemagen {

namespace {

uint32_t plus(uint64_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a + b, Automaton::kFar)); }

}  // namespace

uint32_t JsonAutomaton::min_bytes_option(const std::vector<Option>& options, uint32_t depth) const {
    uint32_t best = kFar;
    for (const Option& option : options) best = std::min(best, min_bytes_value(option.value, depth));
    return best;
}

uint32_t JsonAutomaton::min_bytes_option(const Options& options, uint32_t depth) const {
    uint32_t best = kFar;
    for (const auto& list : options) best = std::min(best, min_bytes_option(list, depth));
    return best;
}

JsonAutomaton::Needed JsonAutomaton::needed_members(const ObjectDisjunct& disjunct, const FrameState* state,
                                                    uint32_t slot) const {
    Needed out;
    const uint32_t depth = state ? state->depth : options_.fixed.lines;
    if (state && !options_.fixed.lines) {
        const Required rest = required(state, slot);
        out.bytes = rest.bytes;
        out.count = rest.count;
    } else {
        // With an indentation the bytes of a member depend on the depth.
        const ObjectSet* set = state ? positions_[state->position]->objects.get() : nullptr;
        for (uint32_t d = state && !options_.any_order ? state->next[slot] : 0; d < disjunct.properties.size(); ++d) {
            const Property& property = disjunct.properties[d];
            if (!property.required || (state && bit(state->seen, set->key_at[slot][d]))) continue;
            out.bytes +=
                line_bytes(depth) + property.key.size() + 2 + colon_bytes() + min_bytes_option(property.options, depth);
            ++out.count;
        }
    }
    uint64_t count = (state ? state->count : 0) + out.count;
    if (count < disjunct.min_properties) {
        out.any = disjunct.min_properties - count;
        out.each = least_member(disjunct, depth);
        out.bytes += out.any * out.each;
        out.count += out.any;
    }
    return out;
}

// The shortest member that is not required.
uint64_t JsonAutomaton::least_member(const ObjectDisjunct& disjunct, uint32_t depth) const {
    uint64_t best = kFar;
    for (const Property& property : disjunct.properties)
        if (!property.required)
            best = std::min<uint64_t>(best, property.key.size() + min_bytes_option(property.options, depth));
    for (const ExtraKeys& extra : disjunct.extras)
        best = std::min<uint64_t>(best, kernel().shortest(extra.regex) + min_bytes_option(extra.options, depth));
    return std::min<uint64_t>(best, kFar) + line_bytes(depth) + 2 + colon_bytes();
}

// What is needed besides a member that is not required, if it is one of those that may be any.
JsonAutomaton::Needed JsonAutomaton::without_any(Needed needed) {
    if (needed.any) needed.bytes -= needed.each, --needed.count, --needed.any;
    return needed;
}

JsonAutomaton::Needed JsonAutomaton::needed_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count,
                                                  uint32_t depth) const {
    Needed out;
    uint64_t least = std::max<uint64_t>(disjunct.min_items, count + !disjunct.final[state]);
    auto item = [&] {
        return line_bytes(depth) + least_item(count < disjunct.prefix.size() ? disjunct.prefix[count] : disjunct.items,
                                              disjunct.unique && count > 0, depth);
    };
    for (; count < least && (count < disjunct.prefix.size() || count == 0); ++count, ++out.count) out.bytes += item();
    if (count < least) {
        out.bytes += (least - count) * item();
        out.count += least - count;
    }
    return out;
}

// `repeated`: behind another item of an array with unique items.
uint32_t JsonAutomaton::least_item(const Options& options, bool repeated, uint32_t depth) const {
    if (!repeated || min_bytes_repeated_.empty() || options_.fixed.lines) return min_bytes_option(options, depth);
    uint32_t best = kFar;
    for (const auto& list : options)
        for (const Option& option : list) best = std::min(best, min_bytes_repeated_[option.value]);
    return best;
}

// Behind an item, numbers have no exponents where a value is out of reach (json/unique.cpp): that counts where all
// items are numbers.
void JsonAutomaton::settle_min_bytes_repeated() {
    if (std::none_of(arrays_.begin(), arrays_.end(), [](const ArrayDisjunct& disjunct) { return disjunct.unique; }))
        return;
    std::vector<uint32_t> repeated = min_bytes_values_;
    for (size_t v = 0; v < values_.size(); ++v) {
        const ValueNode& value = values_[v];
        if (value.literal == kEmpty || !value.strings.empty() || !value.objects.empty() || !value.arrays.empty())
            continue;
        const ByteSet first = dfa().next_bytes(dfa().intern({value.literal}, false));
        if (first.has('t') || first.has('f') || first.has('n')) continue;
        const NodeId plain = kernel().without_exponents(value.literal);
        if (plain != kEmpty) repeated[v] = dfa().bytes_to_accept(dfa().intern({plain}, false), 0);
    }
    min_bytes_repeated_ = std::move(repeated);
}

JsonAutomaton::Needed JsonAutomaton::needed(const FrameState* state, uint32_t slot) const {
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kObjectFrame)
        return needed_members(objects_[p.objects->disjuncts[slot]], state, slot);
    return needed_items(arrays_[p.arrays->disjuncts[slot]], p.arrays->state[slot], state->count, state->depth);
}

uint32_t JsonAutomaton::closed(const Needed& inside) const {
    return plus(inside.bytes, 2 + (inside.count ? (inside.count - 1) * comma_bytes() + line_bytes(0) : 0));
}

// Least fixpoint over the values: those that stand alone first, then what is built of them.
void JsonAutomaton::settle_min_bytes() {
    std::vector<uint32_t> alone(values_.size(), kFar);
    for (size_t v = 0; v < values_.size(); ++v) {
        poll();
        if (values_[v].literal != kEmpty)
            alone[v] = dfa().bytes_to_accept(dfa().intern({values_[v].literal}, false), 0);
        for (const StringDisjunct& disjunct : values_[v].strings) {
            if (!string_possible(disjunct)) continue;
            uint32_t shortest = kernel().is_any_string(disjunct.regex)
                                    ? 0
                                    : dfa().bytes_to_accept(dfa().intern({disjunct.regex}, false), 0);
            alone[v] = std::min(alone[v], plus(2, std::max(shortest, disjunct.min_chars)));
        }
    }
    settle_min_bytes_lines();
    min_bytes_values_.assign(values_.size(), kFar);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t v = values_.size(); v-- > 0;) {  // what is inside was declared later
            poll();
            uint32_t best = alone[v];
            for (uint32_t id : values_[v].objects)
                best = std::min(best, closed(needed_members(objects_[id], nullptr, 0)));
            for (uint32_t id : values_[v].arrays)
                best = std::min(best, closed(needed_items(arrays_[id], 0, 0, options_.fixed.lines)));
            if (best >= min_bytes_values_[v]) continue;
            min_bytes_values_[v] = best;
            changed = true;
        }
    }
    settle_min_bytes_repeated();
}

// From behind a value in a container to behind its closing bracket; `opened`: from behind the opening bracket.
uint32_t JsonAutomaton::min_bytes_rest(const FrameState* state, bool opened) {
    uint32_t best = kFar;
    const Bits& alive = state->alive;
    for (uint32_t slot = 0; slot < kMaxSlots; ++slot) {
        if (!alive[slot]) continue;
        Needed rest = needed(state, slot);
        uint64_t commas = opened && rest.count ? rest.count - 1 : rest.count;
        best = std::min(best,
                        plus(rest.bytes, commas * comma_bytes() + (opened && !rest.count ? 1 : closing_bytes(state))));
    }
    return best;
}

// The same from the end of the value that the container is waiting for.
uint32_t JsonAutomaton::min_bytes_behind(const FrameState* state) {
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return 0;
    if (state->id && state->id < min_bytes_behind_.size() && min_bytes_behind_[state->id] != kFar)
        return min_bytes_behind_[state->id];
    uint32_t best = kFar;
    for (const Move& move : children_[state->child].moves) {
        Needed rest = needed(state, move.slot);
        best = std::min(best, plus(rest.bytes, rest.count * comma_bytes() + closing_bytes(state)));
    }
    if (state->id) {
        if (min_bytes_behind_.size() <= state->id) min_bytes_behind_.resize(state->id * 2 + 16, kFar);
        min_bytes_behind_[state->id] = best;
    }
    return best;
}

uint32_t JsonAutomaton::min_bytes_position(uint32_t id, uint32_t depth, bool repeated) const {
    repeated &= !min_bytes_repeated_.empty() && !options_.fixed.lines;
    uint32_t best = kFar;
    for (ValueId value : positions_[id]->values)
        best = std::min(best, repeated ? min_bytes_repeated_[value] : min_bytes_value(value, depth));
    return best;
}

// From inside a key to behind its object.
uint32_t JsonAutomaton::min_bytes_key(const Configuration& config) {
    const FrameState* state = config.frame->state;
    const ObjectSet& set = *positions_[state->position]->objects;
    uint32_t best = kFar, beside_extra = kFar;
    // A key that is required costs nothing more, so no other one can be nearer.
    if (const uint32_t key = options_.fixed.lines ? kNoKey : next_required(config); key != kNoKey)
        if (const Needed rest = needed(state, only_slot(state)); rest.any == 0)
            return plus(rest.bytes, (rest.count - 1) * comma_bytes() - set.trie[config.node].depth);
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        if (!state->alive[slot]) continue;
        const ObjectDisjunct& disjunct = objects_[set.disjuncts[slot]];
        Needed rest = needed(state, slot), others = without_any(rest);
        beside_extra = std::min(beside_extra, plus(others.bytes, others.count * comma_bytes() + closing_bytes(state)));
        if (config.node == kNoNode) continue;
        const TrieNode& node = set.trie[config.node];
        for (uint32_t key = node.low; key < node.high; ++key) {
            if (!bit(state->offered + size_t{slot} * set.words, key) || !set.options[slot][key]) continue;
            uint32_t place = set.place[slot][key];
            bool required = place != kNoKey && disjunct.properties[place].required;
            others = required ? rest : without_any(rest);
            if (required) {
                others.bytes -= line_bytes(state->depth) + set.keys[key].size() + 2 + colon_bytes() +
                                min_bytes_option(disjunct.properties[place].options, state->depth);
                --others.count;
            }
            uint64_t own = set.keys[key].size() - node.depth + 1 + colon_bytes() +
                           min_bytes_option(*set.options[slot][key], state->depth);
            best = std::min(best, plus(own + others.bytes, others.count * comma_bytes() + closing_bytes(state)));
        }
    }
    if (config.state) {
        uint32_t shortest = kFar;
        for (uint32_t k = 0; k < set.components.size(); ++k)
            if (dfa().state(config.state).alive[k])
                shortest = std::min(shortest, dfa().bytes_to_accept(config.state, k));
        best = std::min(best, plus(uint64_t{shortest} + 2 + colon_bytes(), beside_extra));
    }
    return best;
}

uint32_t JsonAutomaton::min_bytes_string(const Configuration& config) {
    const LazyDfa::State& state = dfa().state(config.state);
    const Position& p = *positions_[position_of(config.frame->state)];
    uint32_t best = kFar;
    for (uint32_t k = 0; k < p.strings.size(); ++k) {
        if (!state.alive[k]) continue;
        uint32_t missing = config.count < p.strings[k].min_chars ? p.strings[k].min_chars - config.count : 0;
        // A character that was begun counts once it is complete.
        best = std::min(best, plus(std::max(dfa().bytes_to_accept(config.state, k), missing), 1));
    }
    return best;
}

uint32_t JsonAutomaton::min_bytes_literal(const Configuration& config) {
    const Position& p = *positions_[position_of(config.frame->state)];
    uint32_t best = kFar;
    for (uint32_t k = 0; k < p.literal_owner.size(); ++k)
        if (dfa().state(config.state).alive[k]) best = std::min(best, dfa().bytes_to_accept(config.state, k));
    return best;
}

// From an opening bracket, or the gap behind it, to behind the closing one.
uint64_t JsonAutomaton::min_bytes_first(const Configuration& config) {
    const uint64_t rest = min_bytes_rest(config.frame->state, true);
    if (!config.count) return rest;
    return std::max(rest - std::min<uint64_t>(rest, config.count),
                    gap_bytes_left(config) + 1 + closing_bytes(config.frame->state));
}

// From a comma in an object to behind the object.
uint64_t JsonAutomaton::min_bytes_next_key(const Configuration& config) {
    const FrameState* state = config.frame->state;
    const uint64_t left = gap_bytes_left(config), rest = min_bytes_rest(state, true), line = line_bytes(state->depth);
    return std::max(rest + left - std::min(rest, line), 3 + colon_bytes() + left + closing_bytes(state));
}

uint32_t JsonAutomaton::min_bytes(const Configuration& config) {
    if (config.mode == kDone) return 0;
    const FrameState* state = config.frame->state;
    const uint32_t depth = state->depth, read = config.count;  // in a gap: how much of it
    uint64_t total = 0;
    switch (config.mode) {
        case kColon:
            total = colon_bytes() - read + min_bytes_position(position_of(state), depth) +
                    uint64_t{min_bytes_behind(state)};
            break;
        case kValue:
        case kItem: {
            const bool repeated = config.mode == kItem && config.frame->items && config.frame->items->count;
            total = gap_bytes_left(config) + min_bytes_position(config.state, depth, repeated) +
                    uint64_t{min_bytes_behind(state)};
            break;
        }
        case kString: total = min_bytes_string(config) + uint64_t{min_bytes_behind(state)}; break;
        case kLiteral: total = min_bytes_literal(config) + uint64_t{min_bytes_behind(state)}; break;
        case kFirstItem:
        case kFirstKey: total = min_bytes_first(config); break;
        case kNextKey: total = min_bytes_next_key(config); break;
        case kKey: total = min_bytes_key(config); break;
        case kAfter: total = std::max<uint64_t>(min_bytes_rest(state, false), read + 1) - read; break;
        default: break;
    }
    return plus(total, summed(config.frame).least);
}

// ---- which configurations are the same ------------------------------------------------------------------------------

// Whether an open object can be completed without any key that no disjunct declares.
bool JsonAutomaton::has_enough_members(const FrameState* state, uint64_t count) const {
    if (state->kind != FrameKind::kObjectFrame) return true;
    const ObjectSet& set = *positions_[state->position]->objects;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        const ObjectDisjunct& disjunct = objects_[set.disjuncts[slot]];
        if (state->alive[slot] && (count < disjunct.min_properties || disjunct.final.size() > 1)) return false;
    }
    return true;
}

// The number of characters read, as far as it matters. Beyond every least length it only matters how near the greatest
// one is; for the shortest completion of a single language not even that, while the room left is enough for any of its
// ends.
uint32_t JsonAutomaton::count_identity(const Configuration& config, bool exact) const {
    const Position& p = *positions_[position_of(config.frame->state)];
    if (!p.counted) return 0;
    uint32_t least = 0;
    bool matters = false;
    for (const StringDisjunct& disjunct : p.strings) {
        least = std::max(least, disjunct.min_chars);
        if (disjunct.max_chars == kUnbounded) continue;
        bool roomy =
            disjunct.to_finish < kUnbounded && uint64_t{config.count} + disjunct.to_finish <= disjunct.max_chars;
        matters |= exact || p.strings.size() > 1 || !(roomy || disjunct.any);
    }
    return matters ? config.count : std::min(config.count, least);
}

bool JsonAutomaton::text_matters(const Configuration& config) const {
    const Frame* frame = config.frame;
    if (!frame->around.interned || !frame->around.enough || !frame->state->id || frame->tracking) return true;
    bool reading = config.mode == kKey && config.state;
    return (frame->used || frame->pending || reading) &&
           !has_enough_members(frame->state, uint64_t{frame->count} + reading);
}

// Of the extra keys of a container, whatever their order.
uint64_t JsonAutomaton::used_keys(const Frame* frame) {
    uint64_t out = 0;
    for (const UsedKey* used = frame->used; used; used = used->previous) out += mix(used->hash, frame->state->id);
    return out;
}

bool JsonAutomaton::identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) {
    const Frame* frame = config.frame;
    const Around& around = frame->around;
    if (!around.interned || !around.settled || !frame->state->id || frame->tracking) return false;
    uint64_t used = around.used_keys;
    if (exact && !around.unused) return false;
    if (frame->used || frame->pending) {
        if (exact) return false;
        if (!has_enough_members(frame->state, frame->count)) {
            if (frame->pending) return false;
            used += used_keys(frame);
        }
    }
    uint64_t state = 0, node = 0, count = 0, gap = 0;
    // Nothing shorter follows whitespace that may be left out.
    const bool spaces_matter = exact || options_.whitespace != Whitespace::kAny;
    switch (config.mode) {
        case kKey: {
            bool matters = config.state && !exact &&
                           (!has_enough_members(frame->state, frame->count + 1) ||
                            (frame->used && !used_key_suffixes(config).empty()));
            if (matters) count = config.hash;
            state = config.state;
            node = config.node;
            break;
        }
        case kString: count = count_identity(config, exact); [[fallthrough]];
        case kLiteral: state = config.state; break;
        default:
            if (spaces_matter) gap = config.gap;
            count = config.count;
    }
    key.push_back(gap << 32 | uint64_t{config.mode} << 1 | exact);
    key.push_back(state << 32 | node);
    key.push_back(count);
    key.push_back(used);
    key.push_back(frame->state->id);
    key.push_back(around.key_a);
    key.push_back(around.key_b);
    return true;
}

Configuration JsonAutomaton::keep(const Configuration& config, Arena& arena) {
    Configuration out = config;
    out.key = out.text = out.start = nullptr;
    const Frame** link = &out.frame;
    for (const Frame* frame = config.frame; frame; frame = frame->parent) {
        Frame* kept = copy(frame, frame->state, arena);
        kept->used = nullptr;
        kept->pending_key = kept->start = nullptr;
        kept->key = {};
        kept->items = kept->forbidden = kept->child_forbidden = nullptr;
        *link = kept;
        link = &kept->parent;
    }
    return out;
}

Configuration JsonAutomaton::least_constrained(const Configuration& config) {
    Configuration out = config;
    if (config.mode == kString) out.count = count_identity(config, false);
    if (options_.whitespace == Whitespace::kAny) out.gap = 0;
    return out;
}

}  // namespace schemagen
