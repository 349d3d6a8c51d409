// Transitions: one byte at a time.
#include "json/frames.hpp"

namespace schemagen {

namespace {

bool was_used(const Configuration& config) {
    for (const UsedKey* used = config.frame->used; used; used = used->previous)
        if (used->hash == config.hash && used->text == text_since(config.key, nullptr)) return true;
    return false;
}

}  // namespace

Configuration JsonAutomaton::start() {
    Configuration config;
    config.frame = root_frame_;
    config.mode = kValue;
    if (options_.whitespace <= Whitespace::kSpaced) config.gap = UINT16_MAX;  // no whitespace before the text
    config.state = position_of(root_frame_->state);
    return config;
}

bool JsonAutomaton::gap(Configuration& config, uint8_t byte, bool line_breaks) const {
    // 0: nothing read, 1: one space, n >= 2: a line break and n - 2 spaces or tabs.
    if (options_.whitespace != Whitespace::kFlexible) return false;
    if (config.gap == 0 && byte == ' ') return config.gap = 1, true;
    if (config.gap == 0 && byte == '\n' && line_breaks) return config.gap = 2, true;
    if (config.gap >= 2 && config.gap < options_.max_indent + 2 && (byte == ' ' || byte == '\t'))
        return ++config.gap, true;
    return false;
}

bool JsonAutomaton::step(Configuration& config, uint8_t byte, Arena& arena) {
    if (!advance(config, byte, arena)) return false;
    if (config.frame->tracking) {
        auto* last = static_cast<KeyByte*>(arena.allocate(sizeof(KeyByte)));
        *last = {config.text, byte};
        config.text = last;
    }
    return true;
}

bool JsonAutomaton::advance(Configuration& config, uint8_t byte, Arena& arena) {
    switch (config.mode) {
        case kString: return step_string(config, byte, arena);
        case kLiteral: return step_literal(config, byte, arena);
        case kKey: return step_key(config, byte, arena);
        case kColon:
            if (byte != ':') return is_space(byte) && step_gap(config, byte);
            if (!gap_is_read(config, byte)) return false;
            config.mode = kValue;
            config.gap = 0;
            config.count = 0;
            config.state = position_of(config.frame->state);
            return true;
        case kValue:
        case kItem:
        case kFirstItem: return step_value(config, byte, arena);
        case kFirstKey:
        case kNextKey: return step_before_key(config, byte, arena);
        case kAfter: return step_after(config, byte, arena);
        default: return !config.outside && is_space(byte) && step_gap(config, byte);  // kDone
    }
}

bool JsonAutomaton::step_value(Configuration& config, uint8_t byte, Arena& arena) {
    if (is_space(byte)) {
        if (options_.whitespace >= Whitespace::kAny) return step_gap(config, byte);
        if (config.gap == UINT16_MAX) return false;
        if (options_.whitespace == Whitespace::kSpaced && config.mode != kFirstItem)
            return byte == ' ' && config.gap == 0 && (config.gap = 1);
        return gap(config, byte, config.mode != kValue);
    }
    if (options_.whitespace == Whitespace::kSpaced && config.gap == 0 && config.mode != kFirstItem) return false;
    if (!gap_is_read(config, byte)) return false;
    if (config.mode == kFirstItem) {
        if (byte == ']') return close_container(config, byte, arena);
        if (config.frame->state->more.none()) return false;
        expect_item(config, arena);
    }
    return begin_value(config, byte, arena);
}

// Make the array frame expect its next item.
void JsonAutomaton::expect_item(Configuration& config, Arena& arena) {
    Frame* frame = copy(config.frame, with_item(config.frame->state, arena), arena);
    frame->count++;
    if (frame->items || frame->forbidden) set_forbidden(frame, {}, arena);
    config.frame = frame;
    config.state = position_of(frame->state);
    config.mode = kItem;
    config.gap = 0;
    config.count = 0;
}

bool JsonAutomaton::begin_value(Configuration& config, uint8_t byte, Arena& arena) {
    uint32_t at = config.state;
    Position& p = prepared(at);
    config.gap = 0;
    config.count = 0;
    config.start = config.text;
    const ValueList* forbidden = config.frame->child_forbidden;
    if (byte == '"') {
        config.mode = kString;
        config.state = forbidden ? string_start_without(p, *forbidden) : p.string_start;
        return config.state != 0;
    }
    if (byte == '{') {
        if (!p.objects) return false;
        config.frame = open(config, opened_object(at, depth_inside(config.frame->state), arena), arena);
        config.mode = kFirstKey;
        return true;
    }
    if (byte == '[') {
        if (!p.arrays) return false;
        config.frame = open(config, opened_array(at, depth_inside(config.frame->state), arena), arena);
        config.mode = kFirstItem;
        return true;
    }
    config.mode = kLiteral;
    uint32_t start = forbidden ? literal_start_without(p, *forbidden) : p.literal_start;
    config.state = start ? dfa().next(start, byte) : 0;
    return config.state != 0;
}

// Whether language k of the position can still be finished in the room that its length leaves.
bool JsonAutomaton::string_fits(const Configuration& config, uint32_t k) const {
    const uint32_t most = positions_[position_of(config.frame->state)]->strings[k].max_chars;
    return most == kUnbounded ||
           (config.count <= most && dfa().chars_to_accept(config.state, k) <= most - config.count);
}

bool JsonAutomaton::step_string(Configuration& config, uint8_t byte, Arena& arena) {
    uint32_t target = dfa().next(config.state, byte);
    if (target) {
        config.state = target;
        const LazyDfa::State& state = dfa().state(target);
        if (!state.marked) return true;
        config.count += state.boundary;
        const Position& p = *positions_[position_of(config.frame->state)];
        for (uint32_t k = 0; k < p.strings.size(); ++k)
            if (state.alive[k] && string_fits(config, k)) return true;
        return false;
    }
    if (byte != '"') return false;
    Bits satisfied = string_satisfied(config);
    return satisfied.any() && close_value(config, satisfied, config.start, byte, arena);
}

// Which components of the position a string satisfies if it ends here.
Bits JsonAutomaton::string_satisfied(const Configuration& config) {
    const LazyDfa::State& state = dfa().state(config.state);
    const Position& p = *positions_[position_of(config.frame->state)];
    Bits satisfied;
    for (size_t k = 0; k < p.strings.size(); ++k)
        if (state.accepts[k] && config.count >= p.strings[k].min_chars && config.count <= p.strings[k].max_chars)
            satisfied.set(p.string_owner[k]);
    return satisfied;
}

Bits JsonAutomaton::literal_satisfied(const Configuration& config) {
    const Position& p = *positions_[position_of(config.frame->state)];
    const Bits accepts = dfa().state(config.state).accepts;
    Bits satisfied;
    for (size_t k = 0; k < p.literal_owner.size(); ++k)
        if (accepts[k]) satisfied.set(p.literal_owner[k]);
    return satisfied;
}

bool JsonAutomaton::step_literal(Configuration& config, uint8_t byte, Arena& arena) {
    uint32_t target = dfa().next(config.state, byte);
    if (target) {
        config.state = target;
        return true;
    }
    // A number has no closing mark: it ends where a byte follows that cannot belong to it.
    const bool root = config.frame->state->kind == FrameKind::kRootFrame;
    if (root && options_.whitespace != Whitespace::kAny) return false;
    Bits satisfied = literal_satisfied(config);
    if (satisfied.none() || !close_value(config, satisfied, config.start, 0, arena)) return false;
    return config.outside || advance(config, byte, arena);  // outside: what the byte may do depends on what is around
}

bool JsonAutomaton::step_before_key(Configuration& config, uint8_t byte, Arena& arena) {
    const FrameState* frame = config.frame->state;
    bool spaced = options_.whitespace == Whitespace::kSpaced && config.mode == kNextKey;
    if (is_space(byte)) {
        if (spaced) return byte == ' ' && config.gap == 0 && (config.gap = 1);
        return options_.whitespace >= Whitespace::kAny ? step_gap(config, byte) : gap(config, byte, true);
    }
    if ((spaced && config.gap == 0) || !gap_is_read(config, byte)) return false;
    if (byte == '}' && config.mode == kFirstKey) return close_container(config, byte, arena);
    if (byte != '"' || frame->more.none()) return false;
    config.mode = kKey;
    config.gap = 0;
    config.count = 0;
    config.node = 0;
    config.hash = kNoBytes;
    config.key = nullptr;
    config.state = frame->extra_entry;
    return true;
}

bool JsonAutomaton::step_key(Configuration& config, uint8_t byte, Arena& arena) {
    const FrameState* frame = config.frame->state;
    const ObjectSet& set = *positions_[frame->position]->objects;
    uint32_t extra = config.state ? dfa().next(config.state, byte) : 0;
    uint32_t node = kNoNode;
    if (config.node != kNoNode) {
        uint32_t it = set.trie[config.node].first_child;
        while (it && set.trie[it].byte != byte) it = set.trie[it].sibling;
        if (it && (extra || key_possible(frame, set.trie[it])))
            node = it;  // an extra key may begin like a declared one
    }
    if (extra || node != kNoNode) {
        if (config.state || config.frame->forbidden) {  // an extra key, or one whose text matters
            auto* last = static_cast<KeyByte*>(arena.allocate(sizeof(KeyByte)));
            *last = {config.key, byte};
            config.key = last;
            config.hash = mix(config.hash + 1, byte);
        }
        config.state = extra;
        config.node = node;
        return true;
    }
    return byte == '"' && close_key(config, arena);
}

bool JsonAutomaton::close_key(Configuration& config, Arena& arena) {
    const FrameState* from = config.frame->state;
    const ObjectSet& set = *positions_[from->position]->objects;
    uint32_t key = config.node != kNoNode ? set.trie[config.node].key : kNoKey;
    if (key == kNoKey && (!config.state || was_used(config))) return false;
    static const Bits kNone;
    const FrameState* state = with_key(from, key, key == kNoKey ? dfa().state(config.state).accepts : kNone, arena);
    if (!state) return false;
    Frame* frame = copy(config.frame, state, arena);
    frame->count++;
    if (key == kNoKey) use_extra_key(frame, config, arena);
    if (frame->forbidden) {
        frame->key = store('"' + text_since(config.key, nullptr) + '"', arena);
        set_forbidden(frame, frame->key, arena);
    }
    config.frame = frame;
    config.mode = kColon;
    return true;
}

// Remember an extra key. Where no prefix has only finitely many keys below it, a repeated key is refused at its closing
// quote; elsewhere it is taken out of the language, or the text could run into a prefix with no key left.
void JsonAutomaton::use_extra_key(Frame* frame, const Configuration& config, Arena& arena) {
    auto* used = static_cast<UsedKey*>(arena.allocate(sizeof(UsedKey)));
    *used = {config.hash, store(text_since(config.key, nullptr), arena), frame->used};
    frame->used = used;
    frame->pending = positions_[frame->state->position]->objects->tracks_keys;
    frame->pending_key = config.key;
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
        components.push_back(objects_[set.disjuncts[a]].extras[e].open ? regex : kernel().conjunction({regex, others}));
    }
    return dfa().intern(components, false);
}

bool JsonAutomaton::close_value(Configuration& config, const Bits& satisfied, const KeyByte* start, uint8_t last,
                                Arena& arena) {
    const Frame* from = config.frame;
    if (from->state->kind == FrameKind::kRootFrame) {
        config.mode = kDone;
        config.gap = 0;
        config.count = 0;
        return satisfied[0];
    }
    if (from->state->kind == FrameKind::kExitFrame) {
        config.mode = kDone;
        config.outside = true;
        config.state = bits_id(satisfied);
        return true;
    }
    if (from->pending && from->parent == exit_frame_) {
        config.mode = kDone;
        config.outside = true;
        config.state = kUnclear;
        return true;
    }
    const FrameState* state;
    Frame* frame = copy(from, from->state, arena);
    if (!from->tracking && !from->pending && satisfied == bits_[kFirst]) {
        state = with_first_component(from->state, arena);
    } else {
        Bits alive = survivors(from->state, satisfied);
        if (alive.none() || (from->tracking && !note_value(frame, config, start, last, alive, arena))) return false;
        state =
            with_value(from->state, alive, from->pending ? settled_extra_keys(from) : from->state->extra_start, arena);
    }
    frame->pending = false;
    frame->state = state;
    config.frame = frame;
    config.mode = kAfter;
    config.gap = 0;
    config.count = 0;
    return state->closable.any() || state->more.any();
}

// Whether the container may end here, as far as it and the values that it must not become decide. Whitespace that only
// a closing bracket can follow asks this as well: behind it there is no other way.
bool JsonAutomaton::may_close(const Frame* frame) const {
    return frame->state->closable.any() && !(frame->forbidden && is_forbidden(frame));
}

bool JsonAutomaton::close_container(Configuration& config, uint8_t last, Arena& arena) {
    const Frame* frame = config.frame;
    if (!may_close(frame)) return false;
    const Position& p = *positions_[frame->state->position];
    const std::vector<uint16_t>& owner =
        frame->state->kind == FrameKind::kObjectFrame ? p.objects->owner : p.arrays->owner;
    Bits satisfied;
    for (size_t a = 0; a < owner.size(); ++a)
        if (frame->state->closable[a]) satisfied.set(owner[a]);
    config.frame = frame->parent;
    return close_value(config, satisfied, frame->start, last, arena);
}

bool JsonAutomaton::step_after(Configuration& config, uint8_t byte, Arena& arena) {
    const FrameState* frame = config.frame->state;
    const bool object = frame->kind == FrameKind::kObjectFrame;
    if (is_space(byte) && options_.whitespace >= Whitespace::kAny) return step_gap(config, byte);
    if (byte == ',' && (config.gap == 0 || options_.whitespace >= Whitespace::kAny)) {
        if (frame->more.none() || !gap_is_read(config, byte)) return false;
        config.gap = 0;
        config.count = 0;
        if (object)
            config.mode = kNextKey;
        else
            expect_item(config, arena);
        return true;
    }
    if (!may_close(config.frame)) return false;
    if (byte == (object ? '}' : ']')) return gap_is_read(config, byte) && close_container(config, byte, arena);
    return is_space(byte) && gap(config, byte, true);
}

bool JsonAutomaton::accepting(const Configuration& config) {
    if (config.mode == kDone) return true;
    return config.mode == kLiteral && config.frame->state->kind == FrameKind::kRootFrame &&
           literal_satisfied(config)[0];
}

}  // namespace schemagen
