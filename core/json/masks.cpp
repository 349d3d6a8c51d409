// What the mask engine asks of the JSON automaton (automaton.hpp): which configurations are alike, and how to look into
// one without what is around it.
#include <algorithm>
#include <functional>

#include "json/frames.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

// Whether a token read after so many code points may come too close to the length that the string must have.
bool JsonAutomaton::near_least(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const {
    return count < disjunct.min_chars && count + longest + 1 >= disjunct.min_chars;
}

// The same of the length that it must not exceed: what its language asks for behind the token has to fit as well.
bool JsonAutomaton::near_most(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const {
    return disjunct.max_chars != kUnbounded && uint64_t{count} + longest + 1 + disjunct.to_finish >= disjunct.max_chars;
}

// Counts only matter within a token's length of a bound: further below they are one, and so they are beyond it.
uint32_t JsonAutomaton::count_key(const Configuration& config, uint32_t longest) const {
    const Position& p = *positions_[position_of(config.frame->state)];
    if (!p.counted) return 0;
    uint32_t passed = 0;
    for (const StringDisjunct& disjunct : p.strings) {
        if (near_least(disjunct, config.count, longest) || near_most(disjunct, config.count, longest))
            return config.count;
        passed += config.count >= disjunct.min_chars;
    }
    return 0x80000000u | passed;
}

LocalKey JsonAutomaton::local_key(const Configuration& config, uint32_t longest) const {
    const Frame* frame = config.frame;
    LocalKey key;
    if (frame->tracking || frame->pending || !frame->state->id) return key;
    uint32_t state = 0, node = 0, count = 0;
    switch (config.mode) {
        case kKey:
            state = config.state;
            node = config.node;
            break;
        case kString:
            count = count_key(config, longest);
            state = config.state;
            break;
        case kLiteral: state = config.state; break;
        default: count = config.count;  // of the gap
    }
    key.usable = true;
    key.a = uint64_t{frame->state->id} << 32 | state;
    key.b = uint64_t{node} << 32 | count;
    key.c = uint64_t{config.gap} << 8 | config.mode;
    return key;
}

Configuration JsonAutomaton::detached(const Configuration& config, Arena& arena) {
    Configuration out = config;
    Frame* frame = copy(config.frame, config.frame->state, arena);
    if (frame->parent) frame->parent = exit_frame_, frame->around = around(exit_frame_);
    frame->used = nullptr;
    out.frame = frame;
    return out;
}

bool JsonAutomaton::after_close(const Configuration& inside, uint32_t how, Configuration& out, Arena& arena) {
    out = inside;
    out.frame = inside.frame->parent;
    return close_value(out, bits_[how], nullptr, 0, arena);
}

uint32_t& JsonAutomaton::tails_of(const Configuration& config) const { return config.frame->tails; }

bool JsonAutomaton::is_text_dependent(const Configuration& config) const { return config.frame->tracking; }

// Tokens can be looked up by automaton state inside strings, and in keys as far as they are extra ones.
StringBody JsonAutomaton::string_body(const Configuration& config, uint32_t longest) {
    if (!config.state) return {};
    if (config.mode == kKey) return {config.state, true};
    if (config.mode != kString) return {};
    const LazyDfa::State& state = dfa().state(config.state);
    if (!state.marked) return {config.state};
    if (!state.boundary) return {};
    const Position& p = *positions_[position_of(config.frame->state)];
    StringBody body{config.state};
    for (uint32_t k = 0; k < p.strings.size(); ++k) {
        const StringDisjunct& disjunct = p.strings[k];
        if (!state.alive[k]) continue;
        body.counting |= near_least(disjunct, config.count, longest);
        // Texts taken out of a language may make it ask for more.
        if (!near_most(disjunct, config.count, longest) &&
            !(config.frame->tracking && disjunct.max_chars != kUnbounded))
            continue;
        body.counting = body.bounded = true;
        body.room = disjunct.max_chars - std::min(config.count, disjunct.max_chars);
    }
    // Several languages with lengths of their own are only looked up while all the lengths are far away.
    return body.bounded && state.alive.count() > 1 ? StringBody{} : body;
}

uint32_t JsonAutomaton::literal_state(const Configuration& config) const {
    return config.mode == kLiteral && !config.frame->tracking ? config.state : 0;
}

bool JsonAutomaton::close_string(Configuration& config, uint32_t state, uint32_t chars, Arena& arena) {
    config.state = state;
    if (config.mode == kKey) {
        config.node = kNoNode;
        return close_key(config, arena);
    }
    config.count += chars;
    const Bits satisfied = string_satisfied(config);
    return satisfied.any() && close_value(config, satisfied, config.start, '"', arena);
}

Configuration JsonAutomaton::as_declared_key(const Configuration& config) {
    Configuration out = config;
    out.state = 0;
    return out;
}

void JsonAutomaton::declared_closings(const Configuration& config, const Trie& trie, std::vector<uint32_t>& nodes) {
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

bool JsonAutomaton::has_used_keys(const Configuration& config) const { return config.frame->used; }

std::vector<std::string> JsonAutomaton::used_key_suffixes(const Configuration& config) {
    std::vector<std::string> rests;
    if (config.mode != kKey || !config.state) return rests;
    std::string text = text_since(config.key, nullptr);
    for (const UsedKey* used = config.frame->used; used; used = used->previous)
        if (used->text.starts_with(text)) rests.emplace_back(used->text.substr(text.size()));
    return rests;
}

ByteSet JsonAutomaton::next_bytes(const Configuration& config) {
    ByteSet out;
    auto add = [&out](std::string_view bytes) {
        for (char byte : bytes) out.add(static_cast<uint8_t>(byte));
    };
    switch (config.mode) {
        case kString:
            out = dfa().next_bytes(config.state);
            add("\"");
            break;
        case kLiteral:
            out = dfa().next_bytes(config.state);
            add(" \n\t\r,]}");
            break;
        case kKey: {
            if (config.state) out = dfa().next_bytes(config.state);
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
    const ByteSet spaces = gap_bytes(config);
    for (size_t w = 0; w < 4; ++w) out.words[w] |= spaces.words[w];
    return out;
}

}  // namespace schemagen
