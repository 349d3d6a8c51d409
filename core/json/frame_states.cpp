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

constexpr uint32_t kMostStates = 50'000;
constexpr size_t kMostStateBytes = 32u << 20;
constexpr uint64_t kPending = 0x9E3779B97F4A7C15ull;

void relocate(FrameState* state, const FrameState* from) {
    const auto* old = reinterpret_cast<const std::byte*>(from);
    auto* base = reinterpret_cast<std::byte*>(state);
    auto move = [&](auto*& pointer) {
        if (pointer)
            pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(
                base + (reinterpret_cast<const std::byte*>(pointer) - old));
    };
    move(state->next);
    move(state->seen);
    move(state->offered);
    move(state->alternatives);
}

bool same(const FrameState* a, const FrameState* b, size_t slots, size_t words, size_t alternatives) {
    return a->kind == b->kind && a->open_value == b->open_value && a->position == b->position && a->child == b->child &&
           a->count == b->count && a->depth == b->depth && a->extra_start == b->extra_start && a->alive == b->alive &&
           (!slots || std::equal(a->next, a->next + slots, b->next)) &&
           (!words || std::equal(a->seen, a->seen + words, b->seen)) &&
           (!alternatives || std::equal(a->alternatives, a->alternatives + alternatives, b->alternatives));
}

}  // namespace

FrameStates::FrameStates(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      moves_(machine.moves),
      groups_(machine.groups),
      min_bytes_(machine.min_bytes),
      parts_(machine.parts),
      bounds_(machine.bounds),
      unique_(machine.unique) {
    Bits first;
    first.set(0);
    bits_id(first);  // kFirst
}

// The frames around the whole text, and around a container that a mask is made for.
void FrameStates::surround(ValueId root) {
    program_.root = root;
    auto make = [this](FrameKind kind, uint32_t child) {
        auto* state = static_cast<FrameState*>(state_arena.allocate(sizeof(FrameState)));
        *state = {};
        state->kind = kind;
        state->alive.set(0);
        state->bytes = sizeof(FrameState);
        state->open_value = true;
        state->child = child;
        auto* frame = static_cast<Frame*>(state_arena.allocate(sizeof(Frame)));
        *frame = {};
        frame->state = intern(state);
        frame->around.least = frame->around.most = 0;
        frame->tails = 0;
        return frame;
    };
    root_frame = make(FrameKind::kRootFrame, positions_.child({{root, 0}}));
    exit_frame = make(FrameKind::kExitFrame, 0);
}

// ---- what frames tell -----------------------------------------------------------------------------------------------

// Whether an open object can be completed without any key that no disjunct declares.
bool FrameStates::has_enough_members(const FrameState* state, uint64_t count) const {
    if (state->kind != FrameKind::kObjectFrame) return true;
    const ObjectSet& set = *positions_[state->position]->objects;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
        if (state->alive[slot] && (count < disjunct.min_properties || disjunct.final.size() > 1)) return false;
    }
    return true;
}

// Of the extra keys of a container, whatever their order, and of the last one until it is taken out of the language.
uint64_t FrameStates::used_keys(const Frame* frame) {
    if (!frame->used) return 0;
    return mix(frame->used->sum, frame->state->id) + (frame->pending ? mix(frame->used->hash, kPending) : 0);
}

uint32_t FrameStates::position_of(const FrameState* frame) const { return positions_.children[frame->child].position; }

FrameState* FrameStates::draft(const FrameState* from, Arena& arena) const {
    auto* out = static_cast<FrameState*>(arena.allocate(from->bytes));
    std::memcpy(static_cast<void*>(out), from, from->bytes);
    relocate(out, from);
    out->id = 0;
    out->after = out->item = nullptr;
    return out;
}

// Counts beyond the last bound are one; keys before the reader and dead slots have no effect.
void FrameStates::forget_what_is_over(FrameState* state) const {
    if (state->kind == FrameKind::kArrayFrame) {
        state->count = std::min(state->count, positions_[state->position]->arrays->most_count);
    } else if (state->kind == FrameKind::kObjectFrame) {
        const ObjectSet& set = *positions_[state->position]->objects;
        state->count = std::min(state->count, set.most_count);
        for (size_t slot = 0; slot < set.disjuncts.size(); ++slot)
            if (program_.options.any_order || !state->alive[slot]) state->next[slot] = 0;
        if (!program_.options.any_order && set.disjuncts.size() == 1) std::fill_n(state->seen, set.words, 0);
        for (uint32_t slot = 0; slot < set.first_alternative.size(); ++slot) groups_.forget_what_is_over(state, slot);
    }
}

const FrameState* FrameStates::intern(FrameState* state) {
    forget_what_is_over(state);
    bool object = state->kind == FrameKind::kObjectFrame;
    size_t slots = object ? positions_[state->position]->objects->disjuncts.size() : 0;
    size_t words = object ? positions_[state->position]->objects->words : 0;
    size_t alternatives = object ? positions_[state->position]->objects->alternative_words() : 0;
    uint64_t hash = mix(mix(static_cast<uint64_t>(state->kind) * 2 + state->open_value, state->position), state->child);
    hash = mix(mix(hash, state->count), uint64_t{state->depth} << 32 | state->extra_start);
    hash = mix(hash, std::hash<Bits>()(state->alive));
    for (size_t k = 0; k < slots; ++k) hash = mix(hash, state->next[k]);
    for (size_t k = 0; k < words; ++k) hash = mix(hash, state->seen[k]);
    for (size_t k = 0; k < alternatives; ++k) hash = mix(hash, state->alternatives[k]);
    uint32_t known =
        state_index_.find(hash, [&](uint32_t k) { return same(interned_[k], state, slots, words, alternatives); });
    if (known != HashIndex::kNone) return interned_[known];
    if (!state->open_value) {
        if (object)
            moves_.refresh_object(state), state->extra_entry = moves_.extra_entry(state);
        else if (state->kind == FrameKind::kArrayFrame)
            moves_.refresh_array(state);
    }
    if (!min_bytes_.of_value.empty()) parts_.remember_required(state);
    if (interned_.size() >= kMostStates || state_bytes > kMostStateBytes) return state;
    auto* kept = static_cast<FrameState*>(state_arena.allocate(state->bytes));
    std::memcpy(static_cast<void*>(kept), state, state->bytes);
    relocate(kept, state);
    kept->id = static_cast<uint32_t>(interned_.size() + 1);
    state_bytes += state->bytes + 64;
    state_index_.insert(hash, static_cast<uint32_t>(interned_.size()));
    interned_.push_back(kept);
    return kept;
}

uint32_t FrameStates::bits_id(const Bits& bits) {
    if (bits.none()) return 0;
    auto [it, fresh] = bits_index_.try_emplace(bits, static_cast<uint32_t>(bit_sets.size()));
    if (fresh) bit_sets.push_back(bits);
    return it->second;
}

const FrameState* FrameStates::opened_object(uint32_t at, uint32_t depth, Arena& arena) {
    Position& p = *positions_[at];
    if (p.object_state && p.object_state->depth == depth) return p.object_state;
    const ObjectSet& set = *p.objects;
    size_t slots = set.disjuncts.size();
    size_t next_bytes = (slots * 4 + 7) & ~size_t{7};
    size_t bytes = sizeof(FrameState) + next_bytes + ((1 + slots) * set.words + set.alternative_words()) * 8;
    auto* base = static_cast<std::byte*>(arena.allocate(bytes));
    std::memset(base, 0, bytes);
    auto* state = reinterpret_cast<FrameState*>(base);
    state->kind = FrameKind::kObjectFrame;
    state->position = at;
    state->depth = depth;
    state->alive = set.initial;
    state->bytes = static_cast<uint32_t>(bytes);
    state->extra_start = set.extra_start;
    state->next = reinterpret_cast<uint32_t*>(base + sizeof(FrameState));
    state->seen = reinterpret_cast<uint64_t*>(base + sizeof(FrameState) + next_bytes);
    state->offered = state->seen + set.words;
    state->alternatives = state->offered + slots * set.words;
    groups_.open(state);
    const FrameState* out = intern(state);
    if (out->id) p.object_state = out;
    return out;
}

const FrameState* FrameStates::opened_array(uint32_t at, uint32_t depth, Arena& arena) {
    Position& p = *positions_[at];
    if (p.array_state && p.array_state->depth == depth) return p.array_state;
    auto* state = static_cast<FrameState*>(arena.allocate(sizeof(FrameState)));
    *state = FrameState{};
    state->kind = FrameKind::kArrayFrame;
    state->position = at;
    state->depth = depth;
    state->alive = p.arrays->initial;
    state->bytes = sizeof(FrameState);
    const FrameState* out = intern(state);
    if (out->id) p.array_state = out;
    return out;
}

// The state once its next item was begun.
const FrameState* FrameStates::with_item(const FrameState* from, Arena& arena) {
    if (from->item) return from->item;
    const ArraySet& set = *positions_[from->position]->arrays;
    std::vector<Move> moves;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        if (!from->more[slot]) continue;
        std::vector<Move> more = moves_.item_moves(from, slot);
        moves.insert(moves.end(), more.begin(), more.end());
    }
    FrameState* state = draft(from, arena);
    state->child = positions_.child(std::move(moves));
    state->count++;
    state->open_value = true;
    const FrameState* out = intern(state);
    if (out->id) from->item = out;
    return out;
}

// The state once a key was closed: a declared one, or one of the given classes of extra keys. nullptr if it may not
// close.
const FrameState* FrameStates::with_key(const FrameState* from, uint32_t key, const Bits& classes, Arena& arena) {
    uint64_t memo = uint64_t{from->id} << 32 | (key != kNoKey ? key : 0x80000000u | bits_id(classes));
    if (from->id) {
        auto known = key_moves_.find(memo);
        if (known != key_moves_.end()) return known->second;
    }
    const ObjectSet& set = *positions_[from->position]->objects;
    auto slots = static_cast<uint32_t>(set.disjuncts.size());
    std::vector<Move> moves;
    if (key == kNoKey) {
        moves = moves_.extra_moves(from, classes);
    } else {
        for (uint32_t slot = 0; slot < slots; ++slot)
            if (from->alive[slot] && bit(from->offered + size_t{slot} * set.words, key))
                moves_.key_moves(from, slot, key, moves);
    }
    const FrameState* out = nullptr;
    if (!moves.empty()) {
        FrameState* state = draft(from, arena);
        state->count++;
        state->child = positions_.child(std::move(moves));
        state->open_value = true;
        if (key != kNoKey) set_bit(state->seen, key), parts_.take(state, key);
        for (uint32_t slot = 0; slot < slots; ++slot) {
            uint32_t place = key == kNoKey ? kNoKey : set.place[slot][key];
            state->next[slot] = place == kNoKey
                                    ? static_cast<uint32_t>(program_.objects[set.disjuncts[slot]].properties.size())
                                    : place + 1;
            if (!set.first_alternative.empty()) groups_.narrow_by_key(from, state, slot, place);
        }
        out = intern(state);
    }
    if (from->id && (!out || out->id)) key_moves_.emplace(memo, out);
    return out;
}

// The slots that live on when a value satisfied these components.
Bits FrameStates::survivors(const FrameState* from, const Bits& satisfied) const {
    const Child& child = positions_.children[from->child];
    Bits alive;
    for (size_t m = 0; m < child.moves.size(); ++m)
        if (satisfied[child.component[m]]) alive.set(child.moves[m].slot);
    return alive;
}

// The state once a value was read that satisfied these components, by which these slots live on.
const FrameState* FrameStates::with_value(const FrameState* from, const Bits& alive, const Bits& satisfied,
                                          uint32_t extra_start, Arena& arena) {
    FrameState* state = draft(from, arena);
    Groups::narrow_by_value(state, positions_.children[from->child], satisfied);
    state->alive = alive;
    state->extra_start = extra_start;
    state->child = 0;
    state->open_value = false;
    return intern(state);
}

// The common case of a value that was read, remembered.
const FrameState* FrameStates::with_first_component(const FrameState* from, Arena& arena) {
    if (from->after) return from->after;
    Bits first;
    first.set(0);
    const FrameState* out = with_value(from, survivors(from, first), first, from->extra_start, arena);
    if (out->id) from->after = out;
    return out;
}

Frame* FrameStates::copy(const Frame* from, const FrameState* state, Arena& arena) const {
    auto* out = static_cast<Frame*>(arena.allocate(sizeof(Frame)));
    *out = *from;
    out->state = state;
    return out;
}

// The surroundings of a container that is opened inside `parent`.
Around FrameStates::around(const Frame* parent) {
    const FrameState* state = parent->state;
    Around out = parent->around;
    out.key_a = mix(out.key_a, state->id);
    out.key_b = mix(~out.key_b, uint64_t{state->id} << 32);
    out.numbered &= state->id != 0;
    out.interned &= out.numbered && !parent->tracking;
    if (parent->used || parent->pending) {
        out.unused = false;
        out.all_keys += used_keys(parent);
        if (!has_enough_members(state, parent->count)) {
            out.enough = false;
            out.used_keys += used_keys(parent);
        }
    }
    out.least = out.most = kNotSummed, out.tail = kNotCounted;
    if (bounds_.has_sums(parent)) bounds_.sum_around(out, parent);
    return out;
}

// A new container, with the registers it takes over from the frame around it.
Frame* FrameStates::open(const Configuration& config, const FrameState* state, Arena& arena) {
    auto* out = static_cast<Frame*>(arena.allocate(sizeof(Frame)));
    *out = Frame{};
    out->state = state;
    out->parent = config.frame;
    out->around = around(config.frame);
    out->tails = kNoTails;
    out->tracking = config.frame->tracking;
    out->start = config.start;
    out->forbidden = config.frame->child_forbidden;
    if (state->kind == FrameKind::kArrayFrame) out->tracking |= positions_[state->position]->arrays->unique;
    return out;
}

// Take the key used last out of the language of those that are left. Done when its value has been read, not when it
// closes: a mask closes hundreds of keys that no text will have, and the states of each would stay in memory.
uint32_t FrameStates::settled_extra_keys(const Frame* frame) {
    const ObjectSet& set = *positions_[frame->state->position]->objects;
    NodeId others = program_.kernel().complement(program_.kernel().literals({text_since(frame->pending_key, nullptr)}));
    std::vector<NodeId> components;
    for (uint32_t k = 0; k < set.components.size(); ++k) {
        auto [a, e] = set.components[k];
        NodeId regex = program_.dfa().component(frame->state->extra_start, k);
        components.push_back(
            program_.objects[set.disjuncts[a]].extras[e].open ? regex : program_.kernel().conjunction({regex, others}));
    }
    return program_.dfa().intern(components, false);
}

// Whether the container may end here, as far as it and the values that it must not become decide. Whitespace that only
// a closing bracket can follow asks this as well: no other byte could come after it.
bool FrameStates::may_close(const Frame* frame) const {
    return frame->state->closable.any() && !(frame->forbidden && unique_.is_forbidden(frame));
}

}  // namespace schemagen
