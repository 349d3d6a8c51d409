// Transitions: one byte at a time.
#include "json/frames.hpp"

namespace schemagen {

namespace {

bool was_used(const Leaf& leaf) {
    for (const UsedKey* used = leaf.frame->used; used; used = used->previous)
        if (used->hash == leaf.hash && used->text == text_since(leaf.key, nullptr)) return true;
    return false;
}

}  // namespace

Leaf JsonAutomaton::start() {
    Leaf leaf;
    leaf.frame = root_frame_;
    leaf.mode = kValue;
    if (options_.whitespace <= Whitespace::kSpaced) leaf.gap = UINT16_MAX;  // no whitespace before the text
    leaf.state = position_of(root_frame_->state);
    return leaf;
}

bool JsonAutomaton::gap(Leaf& leaf, uint8_t byte, bool line_breaks) const {
    // 0: nothing read, 1: one space, n >= 2: a line break and n - 2 spaces or tabs.
    if (options_.whitespace != Whitespace::kFlexible) return false;
    if (leaf.gap == 0 && byte == ' ') return leaf.gap = 1, true;
    if (leaf.gap == 0 && byte == '\n' && line_breaks) return leaf.gap = 2, true;
    if (leaf.gap >= 2 && leaf.gap < options_.max_indent + 2 && (byte == ' ' || byte == '\t')) return ++leaf.gap, true;
    return false;
}

bool JsonAutomaton::step(Leaf& leaf, uint8_t byte, Arena& arena) {
    if (!advance(leaf, byte, arena)) return false;
    if (leaf.frame->tracking) {
        auto* last = static_cast<KeyByte*>(arena.allocate(sizeof(KeyByte)));
        *last = {leaf.text, byte};
        leaf.text = last;
    }
    return true;
}

bool JsonAutomaton::advance(Leaf& leaf, uint8_t byte, Arena& arena) {
    switch (leaf.mode) {
        case kString: return step_string(leaf, byte, arena);
        case kBare: return step_bare(leaf, byte, arena);
        case kKey: return step_key(leaf, byte, arena);
        case kColon:
            if (byte != ':') return is_space(byte) && step_gap(leaf, byte);
            if (!gap_is_read(leaf, byte)) return false;
            leaf.mode = kValue;
            leaf.gap = 0;
            leaf.count = 0;
            leaf.state = position_of(leaf.frame->state);
            return true;
        case kValue:
        case kItem:
        case kFirstItem: return step_value(leaf, byte, arena);
        case kFirstKey:
        case kNextKey: return step_before_key(leaf, byte, arena);
        case kAfter: return step_after(leaf, byte, arena);
        default: return !leaf.outside && is_space(byte) && step_gap(leaf, byte);  // kDone
    }
}

bool JsonAutomaton::step_value(Leaf& leaf, uint8_t byte, Arena& arena) {
    if (is_space(byte)) {
        if (options_.whitespace >= Whitespace::kAny) return step_gap(leaf, byte);
        if (leaf.gap == UINT16_MAX) return false;
        if (options_.whitespace == Whitespace::kSpaced && leaf.mode != kFirstItem) return byte == ' ' && leaf.gap == 0 && (leaf.gap = 1);
        return gap(leaf, byte, leaf.mode != kValue);
    }
    if (options_.whitespace == Whitespace::kSpaced && leaf.gap == 0 && leaf.mode != kFirstItem) return false;
    if (!gap_is_read(leaf, byte)) return false;
    if (leaf.mode == kFirstItem) {
        if (byte == ']') return close_container(leaf, byte, arena);
        if (leaf.frame->state->more.none()) return false;
        expect_item(leaf, arena);
    }
    return begin_value(leaf, byte, arena);
}

// Make the array frame expect its next item.
void JsonAutomaton::expect_item(Leaf& leaf, Arena& arena) {
    Frame* frame = copy(leaf.frame, with_item(leaf.frame->state, arena), arena);
    frame->count++;
    if (frame->items || frame->forbidden) set_forbidden(frame, {}, arena);
    leaf.frame = frame;
    leaf.state = position_of(frame->state);
    leaf.mode = kItem;
    leaf.gap = 0;
    leaf.count = 0;
}

bool JsonAutomaton::begin_value(Leaf& leaf, uint8_t byte, Arena& arena) {
    uint32_t at = leaf.state;
    Position& p = prepared(at);
    leaf.gap = 0;
    leaf.count = 0;
    leaf.start = leaf.text;
    const ValueList* forbidden = leaf.frame->child_forbidden;
    if (byte == '"') {
        leaf.mode = kString;
        leaf.state = forbidden ? string_start_without(p, *forbidden) : p.string_start;
        return leaf.state != 0;
    }
    if (byte == '{') {
        if (!p.objects) return false;
        leaf.frame = open(leaf, opened_object(at, depth_inside(leaf.frame->state), arena), arena);
        leaf.mode = kFirstKey;
        return true;
    }
    if (byte == '[') {
        if (!p.arrays) return false;
        leaf.frame = open(leaf, opened_array(at, depth_inside(leaf.frame->state), arena), arena);
        leaf.mode = kFirstItem;
        return true;
    }
    leaf.mode = kBare;
    uint32_t start = forbidden ? bare_start_without(p, *forbidden) : p.bare_start;
    leaf.state = start ? dfa().next(start, byte) : 0;
    return leaf.state != 0;
}

// Whether language k of the position can still be finished in the room that its length leaves.
bool JsonAutomaton::string_fits(const Leaf& leaf, uint32_t k) const {
    const uint32_t most = positions_[position_of(leaf.frame->state)]->strings[k].max_chars;
    return most == kUnbounded || (leaf.count <= most && dfa().chars_to_accept(leaf.state, k) <= most - leaf.count);
}

bool JsonAutomaton::step_string(Leaf& leaf, uint8_t byte, Arena& arena) {
    uint32_t target = dfa().next(leaf.state, byte);
    if (target) {
        leaf.state = target;
        const LazyDfa::State& state = dfa().state(target);
        if (!state.marked) return true;
        leaf.count += state.boundary;
        const Position& p = *positions_[position_of(leaf.frame->state)];
        for (uint32_t k = 0; k < p.strings.size(); ++k)
            if (state.alive[k] && string_fits(leaf, k)) return true;
        return false;
    }
    if (byte != '"') return false;
    Bits satisfied = string_satisfied(leaf);
    return satisfied.any() && close_value(leaf, satisfied, leaf.start, byte, arena);
}

// Which components of the position a string satisfies if it ends here.
Bits JsonAutomaton::string_satisfied(const Leaf& leaf) {
    const LazyDfa::State& state = dfa().state(leaf.state);
    const Position& p = *positions_[position_of(leaf.frame->state)];
    Bits satisfied;
    for (size_t k = 0; k < p.strings.size(); ++k)
        if (state.accepts[k] && leaf.count >= p.strings[k].min_chars && leaf.count <= p.strings[k].max_chars) satisfied.set(p.string_owner[k]);
    return satisfied;
}

Bits JsonAutomaton::bare_satisfied(const Leaf& leaf) {
    const Position& p = *positions_[position_of(leaf.frame->state)];
    const Bits accepts = dfa().state(leaf.state).accepts;
    Bits satisfied;
    for (size_t k = 0; k < p.bare_owner.size(); ++k)
        if (accepts[k]) satisfied.set(p.bare_owner[k]);
    return satisfied;
}

bool JsonAutomaton::step_bare(Leaf& leaf, uint8_t byte, Arena& arena) {
    uint32_t target = dfa().next(leaf.state, byte);
    if (target) {
        leaf.state = target;
        return true;
    }
    // A number has no closing mark: it ends where a byte follows that cannot belong to it.
    const bool root = leaf.frame->state->kind == FrameKind::kRootFrame;
    if (root && options_.whitespace != Whitespace::kAny) return false;
    Bits satisfied = bare_satisfied(leaf);
    if (satisfied.none() || !close_value(leaf, satisfied, leaf.start, 0, arena)) return false;
    return leaf.outside || advance(leaf, byte, arena);  // outside: what the byte may do depends on what is around
}

bool JsonAutomaton::step_before_key(Leaf& leaf, uint8_t byte, Arena& arena) {
    const FrameState* frame = leaf.frame->state;
    bool spaced = options_.whitespace == Whitespace::kSpaced && leaf.mode == kNextKey;
    if (is_space(byte)) {
        if (spaced) return byte == ' ' && leaf.gap == 0 && (leaf.gap = 1);
        return options_.whitespace >= Whitespace::kAny ? step_gap(leaf, byte) : gap(leaf, byte, true);
    }
    if ((spaced && leaf.gap == 0) || !gap_is_read(leaf, byte)) return false;
    if (byte == '}' && leaf.mode == kFirstKey) return close_container(leaf, byte, arena);
    if (byte != '"' || frame->more.none()) return false;
    leaf.mode = kKey;
    leaf.gap = 0;
    leaf.count = 0;
    leaf.node = 0;
    leaf.hash = kNoBytes;
    leaf.key = nullptr;
    leaf.state = frame->extra_entry;
    return true;
}

bool JsonAutomaton::step_key(Leaf& leaf, uint8_t byte, Arena& arena) {
    const FrameState* frame = leaf.frame->state;
    const ObjectSet& set = *positions_[frame->position]->objects;
    uint32_t extra = leaf.state ? dfa().next(leaf.state, byte) : 0;
    uint32_t node = kNoNode;
    if (leaf.node != kNoNode) {
        uint32_t it = set.trie[leaf.node].first_child;
        while (it && set.trie[it].byte != byte) it = set.trie[it].sibling;
        if (it && (extra || key_possible(frame, set.trie[it]))) node = it;  // an extra key may begin like a declared one
    }
    if (extra || node != kNoNode) {
        if (leaf.state || leaf.frame->forbidden) {  // an extra key, or one whose text matters
            auto* last = static_cast<KeyByte*>(arena.allocate(sizeof(KeyByte)));
            *last = {leaf.key, byte};
            leaf.key = last;
            leaf.hash = mix(leaf.hash + 1, byte);
        }
        leaf.state = extra;
        leaf.node = node;
        return true;
    }
    return byte == '"' && close_key(leaf, arena);
}

bool JsonAutomaton::close_key(Leaf& leaf, Arena& arena) {
    const FrameState* from = leaf.frame->state;
    const ObjectSet& set = *positions_[from->position]->objects;
    uint32_t key = leaf.node != kNoNode ? set.trie[leaf.node].key : kNoKey;
    if (key == kNoKey && (!leaf.state || was_used(leaf))) return false;
    static const Bits kNone;
    const FrameState* state = with_key(from, key, key == kNoKey ? dfa().state(leaf.state).accepts : kNone, arena);
    if (!state) return false;
    Frame* frame = copy(leaf.frame, state, arena);
    frame->count++;
    if (key == kNoKey) use_extra_key(frame, leaf, arena);
    if (frame->forbidden) {
        frame->key = store('"' + text_since(leaf.key, nullptr) + '"', arena);
        set_forbidden(frame, frame->key, arena);
    }
    leaf.frame = frame;
    leaf.mode = kColon;
    return true;
}

// Remember an extra key. Where no prefix has only finitely many keys below it, a repeated key is refused at its closing
// quote; elsewhere it is taken out of the language, or the text could run into a prefix with no key left.
void JsonAutomaton::use_extra_key(Frame* frame, const Leaf& leaf, Arena& arena) {
    auto* used = static_cast<UsedKey*>(arena.allocate(sizeof(UsedKey)));
    *used = {leaf.hash, store(text_since(leaf.key, nullptr), arena), frame->used};
    frame->used = used;
    frame->pending = positions_[frame->state->position]->objects->tracks_keys;
    frame->pending_key = leaf.key;
}

// Take the key used last out of the language of those that are left. Done when its value has been read, not when it
// closes: a mask closes hundreds of keys that no text will have, and each would leave its states behind.
uint32_t JsonAutomaton::settled_extra_keys(const Frame* frame) {
    const ObjectSet& set = *positions_[frame->state->position]->objects;
    NodeId others = kernel().complement(kernel().literals({text_since(frame->pending_key, nullptr)}));
    std::vector<NodeId> components;
    for (uint32_t k = 0; k < set.components.size(); ++k) {
        auto [a, e] = set.components[k];
        NodeId regex = dfa().component(frame->state->extra_start, k);
        components.push_back(objects_[set.arms[a]].extras[e].open ? regex : kernel().conjunction({regex, others}));
    }
    return dfa().intern(components, false);
}

bool JsonAutomaton::close_value(Leaf& leaf, const Bits& satisfied, const KeyByte* start, uint8_t last, Arena& arena) {
    const Frame* from = leaf.frame;
    if (from->state->kind == FrameKind::kRootFrame) {
        leaf.mode = kDone;
        leaf.gap = 0;
        leaf.count = 0;
        return satisfied[0];
    }
    if (from->state->kind == FrameKind::kExitFrame) {
        leaf.mode = kDone;
        leaf.outside = true;
        leaf.state = bits_id(satisfied);
        return true;
    }
    if (from->pending && from->parent == exit_frame_) {
        leaf.mode = kDone;
        leaf.outside = true;
        leaf.state = kUnclear;
        return true;
    }
    const FrameState* state;
    Frame* frame = copy(from, from->state, arena);
    if (!from->tracking && !from->pending && satisfied == bits_[kFirst]) {
        state = with_first_component(from->state, arena);
    } else {
        Bits alive = survivors(from->state, satisfied);
        if (alive.none() || (from->tracking && !note_value(frame, leaf, start, last, alive, arena))) return false;
        state = with_value(from->state, alive, from->pending ? settled_extra_keys(from) : from->state->extra_start, arena);
    }
    frame->pending = false;
    frame->state = state;
    leaf.frame = frame;
    leaf.mode = kAfter;
    leaf.gap = 0;
    leaf.count = 0;
    return state->closable.any() || state->more.any();
}

// Whether the container may end here, as far as it and the values that it must not become decide. Whitespace that only a
// closing bracket can follow asks this as well: behind it there is no other way.
bool JsonAutomaton::may_close(const Frame* frame) const { return frame->state->closable.any() && !(frame->forbidden && is_forbidden(frame)); }

bool JsonAutomaton::close_container(Leaf& leaf, uint8_t last, Arena& arena) {
    const Frame* frame = leaf.frame;
    if (!may_close(frame)) return false;
    const Position& p = *positions_[frame->state->position];
    const std::vector<uint16_t>& owner = frame->state->kind == FrameKind::kObjectFrame ? p.objects->owner : p.arrays->owner;
    Bits satisfied;
    for (size_t a = 0; a < owner.size(); ++a)
        if (frame->state->closable[a]) satisfied.set(owner[a]);
    leaf.frame = frame->parent;
    return close_value(leaf, satisfied, frame->start, last, arena);
}

bool JsonAutomaton::step_after(Leaf& leaf, uint8_t byte, Arena& arena) {
    const FrameState* frame = leaf.frame->state;
    const bool object = frame->kind == FrameKind::kObjectFrame;
    if (is_space(byte) && options_.whitespace >= Whitespace::kAny) return step_gap(leaf, byte);
    if (byte == ',' && (leaf.gap == 0 || options_.whitespace >= Whitespace::kAny)) {
        if (frame->more.none() || !gap_is_read(leaf, byte)) return false;
        leaf.gap = 0;
        leaf.count = 0;
        if (object)
            leaf.mode = kNextKey;
        else
            expect_item(leaf, arena);
        return true;
    }
    if (!may_close(leaf.frame)) return false;
    if (byte == (object ? '}' : ']')) return gap_is_read(leaf, byte) && close_container(leaf, byte, arena);
    return is_space(byte) && gap(leaf, byte, true);
}

bool JsonAutomaton::accepting(const Leaf& leaf) {
    if (leaf.mode == kDone) return true;
    return leaf.mode == kBare && leaf.frame->state->kind == FrameKind::kRootFrame && bare_satisfied(leaf)[0];
}

}  // namespace schemagen
