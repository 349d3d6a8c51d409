#include <algorithm>
#include <functional>
#include <unordered_set>

#include "automata/container_view.hpp"
#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/hash.hpp"
#include "util/limits.hpp"
#include "util/shown.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

namespace {

// The one space of a spaced layout.
bool step_space(Configuration& config, uint8_t byte) {
    if (byte != ' ' || config.gap != 0) return false;
    config.gap = 1;
    return true;
}

}  // namespace

Stepper::Stepper(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      moves_(machine.moves),
      states_(machine.states),
      gaps_(machine.gaps),
      unique_(machine.unique) {}

Configuration Stepper::start() {
    Configuration config;
    config.frame = states_.root_frame;
    config.mode = kValue;
    const bool any_before = program_.options.whitespace == Whitespace::kAny && program_.options.around;
    if (!any_before && program_.options.whitespace != Whitespace::kFixed)
        config.gap = UINT16_MAX;  // none before the text
    config.state = states_.position_of(states_.root_frame->state);
    return config;
}

bool Stepper::step(Configuration& config, uint8_t byte, Arena& arena) {
    if (!advance(config, byte, arena)) return false;
    if (config.frame->tracking) {
        auto* last = static_cast<KeyByte*>(arena.allocate(sizeof(KeyByte)));
        *last = {config.text, byte};
        config.text = last;
    }
    return true;
}

bool Stepper::advance(Configuration& config, uint8_t byte, Arena& arena) {
    switch (config.mode) {
        case kString: return step_string(config, byte, arena);
        case kLiteral: return step_literal(config, byte, arena);
        case kKey: return step_key(config, byte, arena);
        case kColon:
            if (byte != ':') return is_space(byte) && gaps_.step_gap(config, byte);
            if (!gaps_.gap_is_read(config, byte)) return false;
            config.mode = kValue;
            config.gap = 0;
            config.count = 0;
            config.state = states_.position_of(config.frame->state);
            return true;
        case kValue:
        case kItem:
        case kFirstItem: return step_value(config, byte, arena);
        case kFirstKey:
        case kNextKey: return step_before_key(config, byte, arena);
        case kAfter: return step_after(config, byte, arena);
        default:  // kDone
            return program_.options.around && !config.outside && is_space(byte) && gaps_.step_gap(config, byte);
    }
}

bool Stepper::step_value(Configuration& config, uint8_t byte, Arena& arena) {
    if (is_space(byte)) {
        if (program_.options.whitespace >= Whitespace::kAny) return gaps_.step_gap(config, byte);
        if (config.gap == UINT16_MAX) return false;
        if (program_.options.whitespace == Whitespace::kSpaced && config.mode != kFirstItem)
            return step_space(config, byte);
        return gaps_.gap(config, byte, config.mode != kValue);
    }
    if (program_.options.whitespace == Whitespace::kSpaced && config.gap == 0 && config.mode != kFirstItem)
        return false;
    if (!gaps_.gap_is_read(config, byte)) return false;
    if (config.mode == kFirstItem) {
        if (byte == ']') return close_container(config, byte, arena);
        if (config.frame->state->more.none()) return false;
        expect_item(config, arena);
    }
    return begin_value(config, byte, arena);
}

// Make the array frame expect its next item.
void Stepper::expect_item(Configuration& config, Arena& arena) {
    Frame* frame = states_.copy(config.frame, states_.with_item(config.frame->state, arena), arena);
    frame->count++;
    if (frame->items || frame->forbidden) unique_.set_forbidden(frame, {}, arena);
    config.frame = frame;
    config.state = states_.position_of(frame->state);
    config.mode = kItem;
    config.gap = 0;
    config.count = 0;
}

bool Stepper::begin_value(Configuration& config, uint8_t byte, Arena& arena) {
    uint32_t at = config.state;
    Position& p = positions_.prepared(at);
    config.gap = 0;
    config.count = 0;
    config.start = config.text;
    if (byte == '"') {
        config.mode = kString;
        config.state = unique_.string_start(p, config.frame->child_forbidden);
        return config.state != 0;
    }
    if (byte == '{') {
        if (!p.objects) return false;
        config.frame =
            states_.open(config, states_.opened_object(at, gaps_.depth_inside(config.frame->state), arena), arena);
        config.mode = kFirstKey;
        return true;
    }
    if (byte == '[') {
        if (!p.arrays) return false;
        config.frame =
            states_.open(config, states_.opened_array(at, gaps_.depth_inside(config.frame->state), arena), arena);
        config.mode = kFirstItem;
        return true;
    }
    config.mode = kLiteral;
    const uint32_t start = unique_.literal_start(p, config.frame->child_forbidden);
    config.state = start ? program_.dfa().next(start, byte) : 0;
    return config.state != 0;
}

// Whether language k of the position can still be finished in the room that its length leaves.
bool Stepper::string_fits(const Configuration& config, uint32_t k) const {
    const uint32_t most = positions_[states_.position_of(config.frame->state)]->strings[k].max_chars;
    return most == kUnbounded ||
           (config.count <= most && program_.dfa().chars_to_accept(config.state, k) <= most - config.count);
}

bool Stepper::string_fits(const Configuration& config) const {
    const LazyDfa::State& state = program_.dfa().state(config.state);
    if (!state.marked) return true;
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    for (uint32_t k = 0; k < p.strings.size(); ++k)
        if (state.alive[k] && string_fits(config, k)) return true;
    return false;
}

bool Stepper::step_string(Configuration& config, uint8_t byte, Arena& arena) {
    uint32_t target = program_.dfa().next(config.state, byte);
    if (target) {
        config.state = target;
        const LazyDfa::State& state = program_.dfa().state(target);
        config.count += state.marked && state.boundary;
        return !state.marked || string_fits(config);
    }
    if (byte != '"') return false;
    Bits satisfied = string_satisfied(config);
    return satisfied.any() && close_value(config, satisfied, config.start, byte, arena);
}

// Which components of the position a string satisfies if it ends here.
Bits Stepper::string_satisfied(const Configuration& config) {
    const LazyDfa::State& state = program_.dfa().state(config.state);
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    Bits satisfied;
    for (size_t k = 0; k < p.strings.size(); ++k)
        if (state.accepts[k] && config.count >= p.strings[k].min_chars && config.count <= p.strings[k].max_chars)
            satisfied.set(p.string_owner[k]);
    return satisfied;
}

Bits Stepper::literal_satisfied(const Configuration& config) {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    const Bits accepts = program_.dfa().state(config.state).accepts;
    Bits satisfied;
    for (size_t k = 0; k < p.literal_owner.size(); ++k)
        if (accepts[k]) satisfied.set(p.literal_owner[k]);
    return satisfied;
}

bool Stepper::step_literal(Configuration& config, uint8_t byte, Arena& arena) {
    uint32_t target = program_.dfa().next(config.state, byte);
    if (target) {
        config.state = target;
        return true;
    }
    // A number has no closing mark: it ends before a byte that cannot belong to it.
    const bool root = config.frame->state->kind == FrameKind::kRootFrame;
    if (root && (program_.options.whitespace != Whitespace::kAny || !program_.options.around)) return false;
    Bits satisfied = literal_satisfied(config);
    if (satisfied.none() || !close_value(config, satisfied, config.start, 0, arena)) return false;
    return config.outside || advance(config, byte, arena);  // outside: the byte depends on the surroundings
}

bool Stepper::step_before_key(Configuration& config, uint8_t byte, Arena& arena) {
    const FrameState* frame = config.frame->state;
    bool spaced = program_.options.whitespace == Whitespace::kSpaced && config.mode == kNextKey;
    if (is_space(byte)) {
        if (spaced) return step_space(config, byte);
        return program_.options.whitespace >= Whitespace::kAny ? gaps_.step_gap(config, byte)
                                                               : gaps_.gap(config, byte, true);
    }
    if ((spaced && config.gap == 0) || !gaps_.gap_is_read(config, byte)) return false;
    if (byte == '}' && config.mode == kFirstKey) return close_container(config, byte, arena);
    if (byte != '"' || frame->more.none()) return false;
    open_key(config);
    return true;
}

bool Stepper::step_key(Configuration& config, uint8_t byte, Arena& arena) {
    const FrameState* frame = config.frame->state;
    const ObjectSet& set = *positions_[frame->position]->objects;
    uint32_t extra = config.state ? program_.dfa().next(config.state, byte) : 0;
    uint32_t node = kNoNode;
    if (config.node != kNoNode) {
        uint32_t it = set.trie[config.node].first_child;
        while (it && set.trie[it].byte != byte) it = set.trie[it].sibling;
        if (it && (extra || moves_.key_possible(frame, set.trie[it])))
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

bool Stepper::close_key(Configuration& config, Arena& arena) {
    const FrameState* from = config.frame->state;
    const ObjectSet& set = *positions_[from->position]->objects;
    uint32_t key = config.node != kNoNode ? set.trie[config.node].key : kNoKey;
    if (key == kNoKey && (!config.state || was_used(config))) return false;
    static const Bits kNone;
    const FrameState* state =
        states_.with_key(from, key, key == kNoKey ? program_.dfa().state(config.state).accepts : kNone, arena);
    if (!state) return false;
    Frame* frame = states_.copy(config.frame, state, arena);
    frame->count++;
    if (key == kNoKey) use_extra_key(frame, config, arena);
    if (frame->forbidden) {
        frame->key = store('"' + text_since(config.key, nullptr) + '"', arena);
        unique_.set_forbidden(frame, frame->key, arena);
    }
    config.frame = frame;
    config.mode = kColon;
    return true;
}

// Remember an extra key. Where no prefix has only finitely many keys below it, a repeated key is refused at its closing
// quote; elsewhere it is taken out of the language, or the text could run into a prefix with no key left.
void Stepper::use_extra_key(Frame* frame, const Configuration& config, Arena& arena) {
    auto* used = static_cast<UsedKey*>(arena.allocate(sizeof(UsedKey)));
    const uint64_t before = frame->used ? frame->used->sum : 0;
    *used = {config.hash, store(text_since(config.key, nullptr), arena), frame->used, before + config.hash};
    frame->used = used;
    frame->pending = positions_[frame->state->position]->objects->tracks_keys;
    frame->pending_key = config.key;
}

bool Stepper::close_value(Configuration& config, const Bits& satisfied, const KeyByte* start, uint8_t last,
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
        config.state = states_.bits_id(satisfied);
        return true;
    }
    if (from->pending && from->parent == states_.exit_frame) {
        config.mode = kDone;
        config.outside = true;
        config.state = ContainerView::kUnclear;
        return true;
    }
    const FrameState* state;
    Frame* frame = states_.copy(from, from->state, arena);
    if (!from->tracking && !from->pending && satisfied == states_.bit_sets[ContainerView::kFirst]) {
        state = states_.with_first_component(from->state, arena);
    } else {
        Bits alive = states_.survivors(from->state, satisfied);
        if (alive.none() || (from->tracking && !unique_.note_value(frame, config, start, last, alive, arena)))
            return false;
        state = states_.with_value(from->state, alive, satisfied,
                                   from->pending ? states_.settled_extra_keys(from) : from->state->extra_start, arena);
    }
    frame->pending = false;
    frame->state = state;
    config.frame = frame;
    config.mode = kAfter;
    config.gap = 0;
    config.count = 0;
    return state->closable.any() || state->more.any();
}

bool Stepper::close_container(Configuration& config, uint8_t last, Arena& arena) {
    const Frame* frame = config.frame;
    if (!states_.may_close(frame)) return false;
    const Position& p = *positions_[frame->state->position];
    const std::vector<uint16_t>& owner =
        frame->state->kind == FrameKind::kObjectFrame ? p.objects->owner : p.arrays->owner;
    Bits satisfied;
    for (size_t a = 0; a < owner.size(); ++a)
        if (frame->state->closable[a]) satisfied.set(owner[a]);
    config.frame = frame->parent;
    return close_value(config, satisfied, frame->start, last, arena);
}

bool Stepper::step_after(Configuration& config, uint8_t byte, Arena& arena) {
    const FrameState* frame = config.frame->state;
    const bool object = frame->kind == FrameKind::kObjectFrame;
    if (is_space(byte) && program_.options.whitespace >= Whitespace::kAny) return gaps_.step_gap(config, byte);
    if (byte == ',' && (config.gap == 0 || program_.options.whitespace >= Whitespace::kAny)) {
        if (frame->more.none() || !gaps_.gap_is_read(config, byte)) return false;
        config.gap = 0;
        config.count = 0;
        if (object)
            config.mode = kNextKey;
        else
            expect_item(config, arena);
        return true;
    }
    if (!states_.may_close(config.frame)) return false;
    if (byte == static_cast<uint8_t>(object ? '}' : ']'))
        return gaps_.gap_is_read(config, byte) && close_container(config, byte, arena);
    return is_space(byte) && gaps_.gap(config, byte, true);
}

bool Stepper::accepting(const Configuration& config) {
    if (config.mode == kDone) return true;
    return config.mode == kLiteral && config.frame->state->kind == FrameKind::kRootFrame &&
           literal_satisfied(config)[0];
}

ByteSet Stepper::next_bytes(const Configuration& config) {
    ByteSet out;
    auto add = [&out](std::string_view bytes) {
        for (char byte : bytes) out.add(static_cast<uint8_t>(byte));
    };
    switch (config.mode) {
        case kString:
            out = program_.dfa().next_bytes(config.state);
            add("\"");
            break;
        case kLiteral:
            out = program_.dfa().next_bytes(config.state);
            add(" \n\t\r,]}");
            break;
        case kKey: {
            if (config.state) out = program_.dfa().next_bytes(config.state);
            add("\"");
            if (config.node == kNoNode) break;
            const ObjectSet& set = *positions_[config.frame->state->position]->objects;
            for (uint32_t it = set.trie[config.node].first_child; it; it = set.trie[it].sibling)
                out.add(set.trie[it].byte);
            break;
        }
        case kColon: add(":"); break;
        case kFirstKey:
        case kNextKey: add("\"}"); break;
        case kAfter: add(",]}"); break;
        case kFirstItem: add("]"); [[fallthrough]];
        case kValue:
        case kItem: add("\"{[-0123456789tfn"); break;
        default: break;
    }
    const ByteSet spaces = gaps_.gap_bytes(config);
    out.add(spaces);
    return out;
}

}  // namespace schemagen
