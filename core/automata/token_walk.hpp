// Every token that can be read from a configuration, with the configuration after it.
#pragma once
#include <vector>

#include "automata/automaton.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

// Depth-first over a trie of the vocabulary below a node, `depth` bytes deep: `visit(node, config)` for each node that
// tokens end at. The frames of the config are gone when the walk has left its subtree; those of `from` stay, so a
// config with the frame of `from` is safe to keep. `settle(node, config, depth)`: whether to skip the tokens below a
// node.
template <class Visit, class Settle>
void walk_tokens(Automaton& automaton, const Trie& trie, uint32_t top, size_t depth, const Configuration& from,
                 Arena& arena, const Visit& visit, const Settle& settle) {
    struct Level {
        Configuration config;
        uint32_t at, end;
        ByteSet bytes;
        Arena::Mark mark;
    };
    std::vector<Level> levels;
    constexpr uint32_t kMany = 8;  // children from which on it pays to ask for the possible bytes first
    ByteSet all;
    all.words.fill(~0ull);
    auto open = [&](const Configuration& config, uint32_t node, const Arena::Mark& mark) {
        uint32_t at = trie.first_child[node], end = trie.first_child[node + 1];
        levels.push_back({config, at, end, end - at > kMany ? automaton.next_bytes(config) : all, mark});
    };
    if (settle(top, from, depth)) return;
    open(from, top, arena.mark());
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.at == level.end) {
            arena.release(level.mark);
            levels.pop_back();
            continue;
        }
        poll();
        uint32_t k = level.at++;
        if (!level.bytes.has(trie.child_byte[k])) continue;
        Arena::Mark mark = arena.mark();
        Configuration next = level.config;
        if (!automaton.step(next, trie.child_byte[k], arena)) {
            arena.release(mark);
            continue;
        }
        uint32_t node = trie.child[k];
        if (!trie.tokens_at(node).empty()) visit(node, next);
        if (trie.has_children(node) && !settle(node, next, depth + levels.size()))
            open(next, node, mark);
        else
            arena.release(mark);
    }
}

template <class Visit>
void walk_tokens(Automaton& automaton, const Trie& trie, const Configuration& from, Arena& arena, const Visit& visit) {
    walk_tokens(automaton, trie, trie.root(), 0, from, arena, visit,
                [](uint32_t, const Configuration&, size_t) { return false; });
}

// Whether two configurations with the same frame are at the same place. The bytes of a key may lie where those of
// another one lay before.
inline bool same_place(const Configuration& a, const Configuration& b) {
    return a.state == b.state && a.count == b.count && a.mode == b.mode && a.node == b.node && a.gap == b.gap &&
           a.key == b.key && a.hash == b.hash;
}

}  // namespace schemagen
