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

Containers::Containers(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      states_(machine.states),
      identities_(machine.identities),
      stepper_(machine.stepper) {}

// Work that close_key leaves open (use_extra_key).
void Containers::settle(Configuration& config, Arena& arena) {
    if (!config.frame->pending) return;
    FrameState* state = states_.draft(config.frame->state, arena);
    state->extra_start = states_.settled_extra_keys(config.frame);
    Frame* frame = states_.copy(config.frame, states_.intern(state), arena);
    frame->pending = false;
    config.frame = frame;
}

Configuration Containers::detached(const Configuration& config, Arena& arena) {
    Configuration out = config;
    Frame* frame = states_.copy(config.frame, config.frame->state, arena);
    if (frame->parent) frame->parent = states_.exit_frame, frame->around = states_.around(states_.exit_frame);
    frame->used = nullptr;
    out.frame = frame;
    return out;
}

bool Containers::after_close(const Configuration& inside, uint32_t how, Configuration& out, Arena& arena) {
    out = inside;
    out.frame = inside.frame->parent;
    return stepper_.close_value(out, states_.bit_sets[how], nullptr, 0, arena);
}

uint32_t& Containers::tails_of(const Configuration& config) const { return config.frame->tails; }

bool Containers::leave(Configuration& config) const {
    if (!config.frame->parent) return false;
    config.frame = config.frame->parent;
    return true;
}

bool Containers::is_text_dependent(const Configuration& config) const { return config.frame->tracking; }

// Tokens can be looked up by automaton state inside strings, and in keys as far as they are extra ones.
StringBody Containers::string_body(const Configuration& config, uint32_t longest) {
    if (!config.state) return {};
    if (config.mode == kKey) return {config.state, true};
    if (config.mode != kString) return {};
    const LazyDfa::State& state = program_.dfa().state(config.state);
    if (!state.marked) return {config.state};
    if (!state.boundary) return {};
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    StringBody body{config.state};
    const auto is_bounded = [&](const StringDisjunct& disjunct) {
        // Texts taken out of a language may make it ask for more.
        return identities_.near_most(disjunct, config.count, longest) ||
               (config.frame->tracking && disjunct.max_chars != kUnbounded);
    };
    bool any_bounded = false;
    for (uint32_t k = 0; k < p.strings.size(); ++k) {
        if (!state.alive[k]) continue;
        body.counting |= identities_.near_least(p.strings[k], config.count, longest);
        any_bounded |= is_bounded(p.strings[k]);
    }
    if (!any_bounded) return body;
    body.counting = true;
    for (uint32_t k = 0; k < p.strings.size(); ++k) {
        if (!state.alive[k]) continue;
        const uint32_t most = p.strings[k].max_chars;
        body.languages.push_back(
            {program_.dfa().alone(config.state, k), most - std::min(config.count, most), is_bounded(p.strings[k])});
    }
    return body;
}

// A key counts as an extra one here. Where the text that follows may depend on it, `in_full` says so.
StringBody Containers::free_of_text(const Configuration& config) {
    const Frame* frame = config.frame;
    if (config.mode != kString && config.mode != kKey) return {};
    StringBody out{config.state, config.mode == kKey};
    out.counting = !out.key && positions_[states_.position_of(frame->state)]->counted;
    out.in_full = frame->tracking || frame->pending;
    if (out.key) out.in_full |= !states_.has_enough_members(frame->state, uint64_t{frame->count} + 1);
    return out;
}

bool Containers::go_on(Configuration& config, uint32_t state, uint32_t chars) {
    static constexpr uint8_t kNoByte = 0;  // that no key begins with
    static const KeyByte kUnlike{nullptr, kNoByte};
    config.state = state;
    if (config.mode == kKey) {
        config.node = kNoNode;
        config.key = &kUnlike;
        config.hash = mix(kNoBytes + 1, kNoByte);
        return true;
    }
    config.count += chars;
    return stepper_.string_fits(config);
}

uint32_t Containers::literal_state(const Configuration& config) const {
    return config.mode == kLiteral && !config.frame->tracking ? config.state : 0;
}

bool Containers::close_string(Configuration& config, uint32_t state, uint32_t chars, Arena& arena) {
    config.state = state;
    if (config.mode == kKey) {
        config.node = kNoNode;
        return stepper_.close_key(config, arena);
    }
    config.count += chars;
    const Bits satisfied = stepper_.string_satisfied(config);
    return satisfied.any() && stepper_.close_value(config, satisfied, config.start, '"', arena);
}

Configuration Containers::as_declared_key(const Configuration& config) {
    Configuration out = config;
    out.state = 0;
    return out;
}

ByteSet Containers::declared_bytes(const Configuration& config) {
    ByteSet bytes;
    if (config.mode != kKey) {
        bytes.words.fill(~0ull);
    } else if (config.node != kNoNode) {
        const ObjectSet& set = *positions_[config.frame->state->position]->objects;
        if (set.trie[config.node].key != kNoKey) bytes.add('"');
        for (uint32_t it = set.trie[config.node].first_child; it; it = set.trie[it].sibling)
            bytes.add(set.trie[it].byte);
    }
    return bytes;
}

void Containers::declared_closings(const Configuration& config, const Trie& trie, std::vector<uint32_t>& nodes) {
    if (config.mode != kKey || config.node == kNoNode) return;
    const ObjectSet& set = *positions_[config.frame->state->position]->objects;
    std::function<void(uint32_t, uint32_t)> descend = [&](uint32_t own, uint32_t node) {
        if (set.trie[own].key != kNoKey)
            if (uint32_t quote = trie.child_of(node, '"'); quote != Trie::kNone) nodes.push_back(quote);
        for (uint32_t it = set.trie[own].first_child; it; it = set.trie[it].sibling)
            if (uint32_t child = trie.child_of(node, set.trie[it].byte); child != Trie::kNone) descend(it, child);
    };
    descend(config.node, trie.root());
}

bool Containers::has_used_keys(const Configuration& config) const { return config.frame->used; }

std::vector<std::string> Containers::used_key_suffixes(const Configuration& config) {
    std::vector<std::string> rests;
    if (config.mode != kKey || !config.state) return rests;
    std::string text = text_since(config.key, nullptr);
    for (const UsedKey* used = config.frame->used; used; used = used->previous)
        if (used->text.starts_with(text)) rests.emplace_back(used->text.substr(text.size()));
    return rests;
}

LocalKey Containers::local_key(const Configuration& config, uint32_t longest) const {
    return identities_.local_key(config, longest);
}

}  // namespace schemagen
