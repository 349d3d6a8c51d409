// What the mask engine asks of the JSON automaton (automaton.hpp): which configurations are alike, and how to look into
// one without what is around it.
#include <algorithm>
#include <functional>

#include "json/frames.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

// Whether a token read after so many code points may come too close to the length that the string must have.
bool JsonAutomaton::near_least(const StringArm& arm, uint32_t count, uint32_t longest) const { return count < arm.min_chars && count + longest + 1 >= arm.min_chars; }

// The same of the length that it must not exceed: what its language asks for behind the token has to fit as well.
bool JsonAutomaton::near_most(const StringArm& arm, uint32_t count, uint32_t longest) const {
    return arm.max_chars != kUnbounded && uint64_t{count} + longest + 1 + arm.to_finish >= arm.max_chars;
}

// Counts only matter within a token's length of a bound: further below they are one, and so they are beyond it.
uint32_t JsonAutomaton::count_key(const Leaf& leaf, uint32_t longest) const {
    const Position& p = *positions_[position_of(leaf.frame->state)];
    if (!p.counted) return 0;
    uint32_t passed = 0;
    for (const StringArm& arm : p.strings) {
        if (near_least(arm, leaf.count, longest) || near_most(arm, leaf.count, longest)) return leaf.count;
        passed += leaf.count >= arm.min_chars;
    }
    return 0x80000000u | passed;
}

LocalKey JsonAutomaton::local_key(const Leaf& leaf, uint32_t longest) const {
    const Frame* frame = leaf.frame;
    LocalKey key;
    if (frame->tracking || frame->pending || !frame->state->id) return key;
    uint32_t state = 0, node = 0, count = 0;
    switch (leaf.mode) {
        case kKey:
            state = leaf.state;
            node = leaf.node;
            break;
        case kString:
            count = count_key(leaf, longest);
            state = leaf.state;
            break;
        case kBare: state = leaf.state; break;
        default: count = leaf.count;  // of the gap
    }
    key.usable = true;
    key.a = uint64_t{frame->state->id} << 32 | state;
    key.b = uint64_t{node} << 32 | count;
    key.c = uint64_t{leaf.gap} << 8 | leaf.mode;
    return key;
}

Leaf JsonAutomaton::detached(const Leaf& leaf, Arena& arena) {
    Leaf out = leaf;
    Frame* frame = copy(leaf.frame, leaf.frame->state, arena);
    if (frame->parent) frame->parent = exit_frame_, frame->around = around(exit_frame_);
    frame->used = nullptr;
    out.frame = frame;
    return out;
}

bool JsonAutomaton::after_close(const Leaf& inside, uint32_t how, Leaf& out, Arena& arena) {
    out = inside;
    out.frame = inside.frame->parent;
    return close_value(out, bits_[how], nullptr, 0, arena);
}

uint32_t& JsonAutomaton::tails_of(const Leaf& leaf) const { return leaf.frame->tails; }

bool JsonAutomaton::is_text_dependent(const Leaf& leaf) const { return leaf.frame->tracking; }

// Tokens can be looked up by automaton state inside strings, and in keys as far as they are extra ones.
StringBody JsonAutomaton::string_body(const Leaf& leaf, uint32_t longest) {
    if (!leaf.state) return {};
    if (leaf.mode == kKey) return {leaf.state, true};
    if (leaf.mode != kString) return {};
    const LazyDfa::State& state = dfa().state(leaf.state);
    if (!state.marked) return {leaf.state};
    if (!state.boundary) return {};
    const Position& p = *positions_[position_of(leaf.frame->state)];
    StringBody body{leaf.state};
    for (uint32_t k = 0; k < p.strings.size(); ++k) {
        const StringArm& arm = p.strings[k];
        if (!state.alive[k]) continue;
        body.counting |= near_least(arm, leaf.count, longest);
        // Texts taken out of a language may make it ask for more.
        if (!near_most(arm, leaf.count, longest) && !(leaf.frame->tracking && arm.max_chars != kUnbounded)) continue;
        body.counting = body.bounded = true;
        body.room = arm.max_chars - std::min(leaf.count, arm.max_chars);
    }
    // Several languages with lengths of their own are only looked up while all the lengths are far away.
    return body.bounded && state.alive.count() > 1 ? StringBody{} : body;
}

uint32_t JsonAutomaton::literal_state(const Leaf& leaf) const { return leaf.mode == kBare && !leaf.frame->tracking ? leaf.state : 0; }

bool JsonAutomaton::close_string(Leaf& leaf, uint32_t state, uint32_t chars, Arena& arena) {
    leaf.state = state;
    if (leaf.mode == kKey) {
        leaf.node = kNoNode;
        return close_key(leaf, arena);
    }
    leaf.count += chars;
    const Bits satisfied = string_satisfied(leaf);
    return satisfied.any() && close_value(leaf, satisfied, leaf.start, '"', arena);
}

Leaf JsonAutomaton::as_declared_key(const Leaf& leaf) {
    Leaf out = leaf;
    out.state = 0;
    return out;
}

void JsonAutomaton::declared_closings(const Leaf& leaf, const Trie& trie, std::vector<uint32_t>& nodes) {
    if (leaf.mode != kKey || leaf.node == kNoNode) return;
    const ObjectSet& set = *positions_[leaf.frame->state->position]->objects;
    std::function<void(uint32_t, uint32_t)> descend = [&](uint32_t own, uint32_t node) {
        if (set.trie[own].key != kNoKey)
            if (uint32_t quote = trie.child_of(node, '"'); quote != Trie::kNone) nodes.push_back(quote);
        for (uint32_t it = set.trie[own].first_child; it; it = set.trie[it].sibling)
            if (uint32_t child = trie.child_of(node, set.trie[it].byte); child != Trie::kNone) descend(it, child);
    };
    descend(leaf.node, trie.root());
}

bool JsonAutomaton::has_used_keys(const Leaf& leaf) const { return leaf.frame->used; }

std::vector<std::string> JsonAutomaton::used_key_suffixes(const Leaf& leaf) {
    std::vector<std::string> rests;
    if (leaf.mode != kKey || !leaf.state) return rests;
    std::string text = text_since(leaf.key, nullptr);
    for (const UsedKey* used = leaf.frame->used; used; used = used->previous)
        if (used->text.starts_with(text)) rests.emplace_back(used->text.substr(text.size()));
    return rests;
}

ByteSet JsonAutomaton::next_bytes(const Leaf& leaf) {
    ByteSet out;
    auto add = [&out](std::string_view bytes) {
        for (char byte : bytes) out.add(static_cast<uint8_t>(byte));
    };
    switch (leaf.mode) {
        case kString:
            out = dfa().next_bytes(leaf.state);
            add("\"");
            break;
        case kBare:
            out = dfa().next_bytes(leaf.state);
            add(" \n\t\r,]}");
            break;
        case kKey: {
            if (leaf.state) out = dfa().next_bytes(leaf.state);
            add("\"");
            if (leaf.node == kNoNode) break;
            const ObjectSet& set = *positions_[leaf.frame->state->position]->objects;
            for (uint32_t it = set.trie[leaf.node].first_child; it; it = set.trie[it].sibling) out.add(set.trie[it].byte);
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
    const ByteSet spaces = gap_bytes(leaf);
    for (size_t w = 0; w < 4; ++w) out.words[w] |= spaces.words[w];
    return out;
}

}  // namespace schemagen
