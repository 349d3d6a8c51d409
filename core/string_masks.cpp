#include "string_masks.hpp"

#include <map>

namespace schemagen {

const StringMask& StringMasks::get(uint32_t state, bool counting, LazyDfa& dfa, const VocabularyTables& tables) {
    uint64_t key = uint64_t{state} << 1 | (counting ? 1 : 0);
    auto it = masks_.find(key);
    if (it != masks_.end()) return it->second;
    if (bytes_ > kMostBytes) {
        masks_.clear();
        bytes_ = 0;
    }
    StringMask made = build(state, counting, dfa, tables);
    bytes_ += made.inner.size() * 4 + made.counted.size() * 8;
    for (const StringExit& exit : made.exits) bytes_ += exit.tails.size() * 8 + 64;
    return masks_.emplace(key, std::move(made)).first->second;
}

StringMask StringMasks::build(uint32_t from, bool counting, LazyDfa& dfa, const VocabularyTables& tables) const {
    StringMask out;
    out.inner.assign(tables.words(), 0);
    const Trie& trie = tables.all();
    struct At {
        uint32_t state, chars;
    };
    std::vector<At> path(trie.max_depth + 1);
    path[0] = {from, 0};
    std::map<std::pair<uint32_t, uint32_t>, size_t> groups;
    for (size_t k = 0; k < trie.size();) {
        uint16_t depth = trie.depth[k];
        At at = path[depth];
        uint32_t next = dfa.next(at.state, trie.byte[k]);
        if (next) {
            const LazyDfa::State& state = dfa.state(next);
            bool boundary = !counting || state.boundary;
            path[depth + 1u] = {next, at.chars + (counting && boundary ? 1 : 0)};
            for (uint32_t t = trie.first_token[k]; t < trie.first_token[k + 1]; ++t) {
                uint32_t token = trie.tokens[t];
                out.inner[token >> 5] |= 1u << (token & 31);
                if (counting && !tables.is_plain(token)) out.counted.emplace_back(path[depth + 1u].chars + (boundary ? 0 : 1), token);
            }
            ++k;
            continue;
        }
        if (trie.byte[k] == '"' && dfa.state(at.state).accepts.any()) {
            auto [group, fresh] = groups.try_emplace({at.state, at.chars}, out.exits.size());
            if (fresh) out.exits.push_back({at.state, at.chars, {}});
            for (uint32_t t = trie.first_token[k]; t < trie.first_token[trie.skip[k]]; ++t) {
                uint32_t token = trie.tokens[t];
                out.exits[group->second].tails.emplace_back(tables.tail_of(tables.token(token).substr(depth + 1u)), token);
            }
        }
        k = trie.skip[k];
    }
    return out;
}

}  // namespace schemagen
