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

uint32_t JsonAutomaton::least_option(const std::vector<Option>& options, uint32_t depth) const {
    uint32_t best = kFar;
    for (const Option& option : options) best = std::min(best, least_value(option.value, depth));
    return best;
}

uint32_t JsonAutomaton::least_option(const Options& options, uint32_t depth) const {
    uint32_t best = kFar;
    for (const auto& list : options) best = std::min(best, least_option(list, depth));
    return best;
}

JsonAutomaton::Needed JsonAutomaton::needed_members(const ObjectArm& arm, const FrameState* state, uint32_t slot) const {
    Needed out;
    const uint32_t depth = state ? state->depth : options_.fixed.lines;
    if (state && !options_.fixed.lines) {
        const Required rest = required(state, slot);
        out.bytes = rest.bytes;
        out.count = rest.count;
    } else {
        // With an indentation the bytes of a member depend on the depth.
        const ObjectSet* set = state ? positions_[state->position]->objects.get() : nullptr;
        for (uint32_t d = state && !options_.any_order ? state->next[slot] : 0; d < arm.properties.size(); ++d) {
            const Property& property = arm.properties[d];
            if (!property.required || (state && bit(state->seen, set->key_at[slot][d]))) continue;
            out.bytes += line_bytes(depth) + property.key.size() + 2 + colon_bytes() + least_option(property.options, depth);
            ++out.count;
        }
    }
    uint64_t count = (state ? state->count : 0) + out.count;
    if (count < arm.min_properties) {
        out.any = arm.min_properties - count;
        out.each = least_member(arm, depth);
        out.bytes += out.any * out.each;
        out.count += out.any;
    }
    return out;
}

// The shortest member that is not required.
uint64_t JsonAutomaton::least_member(const ObjectArm& arm, uint32_t depth) const {
    uint64_t best = kFar;
    for (const Property& property : arm.properties)
        if (!property.required) best = std::min<uint64_t>(best, property.key.size() + least_option(property.options, depth));
    for (const ExtraKeys& extra : arm.extras) best = std::min<uint64_t>(best, kernel().shortest(extra.regex) + least_option(extra.options, depth));
    return std::min<uint64_t>(best, kFar) + line_bytes(depth) + 2 + colon_bytes();
}

// What is needed besides a member that is not required, if it is one of those that may be any.
JsonAutomaton::Needed JsonAutomaton::without_any(Needed needed) {
    if (needed.any) needed.bytes -= needed.each, --needed.count, --needed.any;
    return needed;
}

JsonAutomaton::Needed JsonAutomaton::needed_items(const ArrayArm& arm, uint32_t state, uint64_t count, uint32_t depth) const {
    Needed out;
    uint64_t least = std::max<uint64_t>(arm.min_items, count + !arm.final[state]);
    auto item = [&] { return line_bytes(depth) + least_item(count < arm.prefix.size() ? arm.prefix[count] : arm.items, arm.unique && count > 0, depth); };
    for (; count < least && (count < arm.prefix.size() || count == 0); ++count, ++out.count) out.bytes += item();
    if (count < least) {
        out.bytes += (least - count) * item();
        out.count += least - count;
    }
    return out;
}

// `repeated`: behind another item of an array with unique items.
uint32_t JsonAutomaton::least_item(const Options& options, bool repeated, uint32_t depth) const {
    if (!repeated || least_repeated_.empty() || options_.fixed.lines) return least_option(options, depth);
    uint32_t best = kFar;
    for (const auto& list : options)
        for (const Option& option : list) best = std::min(best, least_repeated_[option.value]);
    return best;
}

// Behind an item, numbers have no exponents where a value is out of reach (json/unique.cpp): that counts where all items are numbers.
void JsonAutomaton::settle_least_repeated() {
    if (std::none_of(arrays_.begin(), arrays_.end(), [](const ArrayArm& arm) { return arm.unique; })) return;
    std::vector<uint32_t> repeated = least_values_;
    for (size_t v = 0; v < values_.size(); ++v) {
        const ValueNode& value = values_[v];
        if (value.bare == kEmpty || !value.strings.empty() || !value.objects.empty() || !value.arrays.empty()) continue;
        const ByteSet first = dfa().next_bytes(dfa().intern({value.bare}, false));
        if (first.has('t') || first.has('f') || first.has('n')) continue;
        const NodeId plain = kernel().without_exponents(value.bare);
        if (plain != kEmpty) repeated[v] = dfa().bytes_to_accept(dfa().intern({plain}, false), 0);
    }
    least_repeated_ = std::move(repeated);
}

JsonAutomaton::Needed JsonAutomaton::needed(const FrameState* state, uint32_t slot) const {
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kObjectFrame) return needed_members(objects_[p.objects->arms[slot]], state, slot);
    return needed_items(arrays_[p.arrays->arms[slot]], p.arrays->state[slot], state->count, state->depth);
}

uint32_t JsonAutomaton::closed(const Needed& inside) const { return plus(inside.bytes, 2 + (inside.count ? (inside.count - 1) * comma_bytes() + line_bytes(0) : 0)); }

// Least fixpoint over the values: those that stand alone first, then what is built of them.
void JsonAutomaton::settle_least() {
    std::vector<uint32_t> alone(values_.size(), kFar);
    for (size_t v = 0; v < values_.size(); ++v) {
        poll();
        if (values_[v].bare != kEmpty) alone[v] = dfa().bytes_to_accept(dfa().intern({values_[v].bare}, false), 0);
        for (const StringArm& arm : values_[v].strings) {
            if (!string_possible(arm)) continue;
            uint32_t shortest = kernel().is_any_string(arm.regex) ? 0 : dfa().bytes_to_accept(dfa().intern({arm.regex}, false), 0);
            alone[v] = std::min(alone[v], plus(2, std::max(shortest, arm.min_chars)));
        }
    }
    settle_least_lines();
    least_values_.assign(values_.size(), kFar);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t v = values_.size(); v-- > 0;) {  // what is inside was declared later
            poll();
            uint32_t best = alone[v];
            for (uint32_t id : values_[v].objects) best = std::min(best, closed(needed_members(objects_[id], nullptr, 0)));
            for (uint32_t id : values_[v].arrays) best = std::min(best, closed(needed_items(arrays_[id], 0, 0, options_.fixed.lines)));
            if (best >= least_values_[v]) continue;
            least_values_[v] = best;
            changed = true;
        }
    }
    settle_least_repeated();
}

// From behind a value in a container to behind its closing bracket; `opened`: from behind the opening bracket.
uint32_t JsonAutomaton::least_rest(const FrameState* state, bool opened) {
    uint32_t best = kFar;
    const Bits& alive = state->alive;
    for (uint32_t slot = 0; slot < kMaxSlots; ++slot) {
        if (!alive[slot]) continue;
        Needed rest = needed(state, slot);
        uint64_t commas = opened && rest.count ? rest.count - 1 : rest.count;
        best = std::min(best, plus(rest.bytes, commas * comma_bytes() + (opened && !rest.count ? 1 : closing_bytes(state))));
    }
    return best;
}

// The same from the end of the value that the container is waiting for.
uint32_t JsonAutomaton::least_behind(const FrameState* state) {
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return 0;
    if (state->id && state->id < least_behind_.size() && least_behind_[state->id] != kFar) return least_behind_[state->id];
    uint32_t best = kFar;
    for (const Move& move : children_[state->child].moves) {
        Needed rest = needed(state, move.slot);
        best = std::min(best, plus(rest.bytes, rest.count * comma_bytes() + closing_bytes(state)));
    }
    if (state->id) {
        if (least_behind_.size() <= state->id) least_behind_.resize(state->id * 2 + 16, kFar);
        least_behind_[state->id] = best;
    }
    return best;
}

uint32_t JsonAutomaton::least_position(uint32_t id, uint32_t depth, bool repeated) const {
    repeated &= !least_repeated_.empty() && !options_.fixed.lines;
    uint32_t best = kFar;
    for (ValueId value : positions_[id]->values) best = std::min(best, repeated ? least_repeated_[value] : least_value(value, depth));
    return best;
}

// From inside a key to behind its object.
uint32_t JsonAutomaton::least_key(const Leaf& leaf) {
    const FrameState* state = leaf.frame->state;
    const ObjectSet& set = *positions_[state->position]->objects;
    uint32_t best = kFar, beside_extra = kFar;
    // A key that is required costs nothing more, so no other one can be nearer.
    if (const uint32_t key = options_.fixed.lines ? kNoKey : next_required(leaf); key != kNoKey)
        if (const Needed rest = needed(state, only_slot(state)); rest.any == 0) return plus(rest.bytes, (rest.count - 1) * comma_bytes() - set.trie[leaf.node].depth);
    for (uint32_t slot = 0; slot < set.arms.size(); ++slot) {
        if (!state->alive[slot]) continue;
        const ObjectArm& arm = objects_[set.arms[slot]];
        Needed rest = needed(state, slot), others = without_any(rest);
        beside_extra = std::min(beside_extra, plus(others.bytes, others.count * comma_bytes() + closing_bytes(state)));
        if (leaf.node == kNoNode) continue;
        const TrieNode& node = set.trie[leaf.node];
        for (uint32_t key = node.low; key < node.high; ++key) {
            if (!bit(state->offered + size_t{slot} * set.words, key) || !set.options[slot][key]) continue;
            uint32_t place = set.place[slot][key];
            bool required = place != kNoKey && arm.properties[place].required;
            others = required ? rest : without_any(rest);
            if (required) {
                others.bytes -= line_bytes(state->depth) + set.keys[key].size() + 2 + colon_bytes() + least_option(arm.properties[place].options, state->depth);
                --others.count;
            }
            uint64_t own = set.keys[key].size() - node.depth + 1 + colon_bytes() + least_option(*set.options[slot][key], state->depth);
            best = std::min(best, plus(own + others.bytes, others.count * comma_bytes() + closing_bytes(state)));
        }
    }
    if (leaf.state) {
        uint32_t shortest = kFar;
        for (uint32_t k = 0; k < set.components.size(); ++k)
            if (dfa().state(leaf.state).alive[k]) shortest = std::min(shortest, dfa().bytes_to_accept(leaf.state, k));
        best = std::min(best, plus(uint64_t{shortest} + 2 + colon_bytes(), beside_extra));
    }
    return best;
}

uint32_t JsonAutomaton::least_string(const Leaf& leaf) {
    const LazyDfa::State& state = dfa().state(leaf.state);
    const Position& p = *positions_[position_of(leaf.frame->state)];
    uint32_t best = kFar;
    for (uint32_t k = 0; k < p.strings.size(); ++k) {
        if (!state.alive[k]) continue;
        uint32_t missing = leaf.count < p.strings[k].min_chars ? p.strings[k].min_chars - leaf.count : 0;
        // A character that was begun counts once it is complete.
        best = std::min(best, plus(std::max(dfa().bytes_to_accept(leaf.state, k), missing), 1));
    }
    return best;
}

uint32_t JsonAutomaton::least_bare(const Leaf& leaf) {
    const Position& p = *positions_[position_of(leaf.frame->state)];
    uint32_t best = kFar;
    for (uint32_t k = 0; k < p.bare_owner.size(); ++k)
        if (dfa().state(leaf.state).alive[k]) best = std::min(best, dfa().bytes_to_accept(leaf.state, k));
    return best;
}

// From an opening bracket, or the gap behind it, to behind the closing one.
uint64_t JsonAutomaton::least_first(const Leaf& leaf) {
    const uint64_t rest = least_rest(leaf.frame->state, true);
    if (!leaf.count) return rest;
    return std::max(rest - std::min<uint64_t>(rest, leaf.count), gap_bytes_left(leaf) + 1 + closing_bytes(leaf.frame->state));
}

// From a comma in an object to behind the object.
uint64_t JsonAutomaton::least_next_key(const Leaf& leaf) {
    const FrameState* state = leaf.frame->state;
    const uint64_t left = gap_bytes_left(leaf), rest = least_rest(state, true), line = line_bytes(state->depth);
    return std::max(rest + left - std::min(rest, line), 3 + colon_bytes() + left + closing_bytes(state));
}

uint32_t JsonAutomaton::min_bytes(const Leaf& leaf) {
    if (leaf.mode == kDone) return 0;
    const FrameState* state = leaf.frame->state;
    const uint32_t depth = state->depth, read = leaf.count;  // in a gap: how much of it
    uint64_t total = 0;
    switch (leaf.mode) {
        case kColon: total = colon_bytes() - read + least_position(position_of(state), depth) + uint64_t{least_behind(state)}; break;
        case kValue:
        case kItem: {
            const bool repeated = leaf.mode == kItem && leaf.frame->items && leaf.frame->items->count;
            total = gap_bytes_left(leaf) + least_position(leaf.state, depth, repeated) + uint64_t{least_behind(state)};
            break;
        }
        case kString: total = least_string(leaf) + uint64_t{least_behind(state)}; break;
        case kBare: total = least_bare(leaf) + uint64_t{least_behind(state)}; break;
        case kFirstItem:
        case kFirstKey: total = least_first(leaf); break;
        case kNextKey: total = least_next_key(leaf); break;
        case kKey: total = least_key(leaf); break;
        case kAfter: total = std::max<uint64_t>(least_rest(state, false), read + 1) - read; break;
        default: break;
    }
    return plus(total, summed(leaf.frame).least);
}

// ---- which configurations are the same ------------------------------------------------------------------------------

// Whether an open object can be completed without any key that no arm declares.
bool JsonAutomaton::has_enough_members(const FrameState* state, uint64_t count) const {
    if (state->kind != FrameKind::kObjectFrame) return true;
    const ObjectSet& set = *positions_[state->position]->objects;
    for (uint32_t slot = 0; slot < set.arms.size(); ++slot) {
        const ObjectArm& arm = objects_[set.arms[slot]];
        if (state->alive[slot] && (count < arm.min_properties || arm.final.size() > 1)) return false;
    }
    return true;
}

// The number of characters read, as far as it matters. Beyond every least length it only matters how near the greatest one
// is; for the shortest completion of a single language not even that, while the room left is enough for any of its ends.
uint32_t JsonAutomaton::count_identity(const Leaf& leaf, bool exact) const {
    const Position& p = *positions_[position_of(leaf.frame->state)];
    if (!p.counted) return 0;
    uint32_t least = 0;
    bool matters = false;
    for (const StringArm& arm : p.strings) {
        least = std::max(least, arm.min_chars);
        if (arm.max_chars == kUnbounded) continue;
        bool roomy = arm.to_finish < kUnbounded && uint64_t{leaf.count} + arm.to_finish <= arm.max_chars;
        matters |= exact || p.strings.size() > 1 || !(roomy || arm.any);
    }
    return matters ? leaf.count : std::min(leaf.count, least);
}

bool JsonAutomaton::text_matters(const Leaf& leaf) const {
    const Frame* frame = leaf.frame;
    if (!frame->around.interned || !frame->around.enough || !frame->state->id || frame->tracking) return true;
    bool reading = leaf.mode == kKey && leaf.state;
    return (frame->used || frame->pending || reading) && !has_enough_members(frame->state, uint64_t{frame->count} + reading);
}

// Of the extra keys of a container, whatever their order.
uint64_t JsonAutomaton::used_keys(const Frame* frame) {
    uint64_t out = 0;
    for (const UsedKey* used = frame->used; used; used = used->previous) out += mix(used->hash, frame->state->id);
    return out;
}

bool JsonAutomaton::identity(const Leaf& leaf, bool exact, std::vector<uint64_t>& key) {
    const Frame* frame = leaf.frame;
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
    switch (leaf.mode) {
        case kKey: {
            bool matters = leaf.state && !exact && (!has_enough_members(frame->state, frame->count + 1) || (frame->used && !used_key_suffixes(leaf).empty()));
            if (matters) count = leaf.hash;
            state = leaf.state;
            node = leaf.node;
            break;
        }
        case kString: count = count_identity(leaf, exact); [[fallthrough]];
        case kBare: state = leaf.state; break;
        default:
            if (spaces_matter) gap = leaf.gap;
            count = leaf.count;
    }
    key.push_back(gap << 32 | uint64_t{leaf.mode} << 1 | exact);
    key.push_back(state << 32 | node);
    key.push_back(count);
    key.push_back(used);
    key.push_back(frame->state->id);
    key.push_back(around.key_a);
    key.push_back(around.key_b);
    return true;
}

Leaf JsonAutomaton::keep(const Leaf& leaf, Arena& arena) {
    Leaf out = leaf;
    out.key = out.text = out.start = nullptr;
    const Frame** link = &out.frame;
    for (const Frame* frame = leaf.frame; frame; frame = frame->parent) {
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

Leaf JsonAutomaton::least_constrained(const Leaf& leaf) {
    Leaf out = leaf;
    if (leaf.mode == kString) out.count = count_identity(leaf, false);
    if (options_.whitespace == Whitespace::kAny) out.gap = 0;
    return out;
}

}  // namespace schemagen
