#include "string_masks.hpp"

#include <bit>
#include <map>

#include "hash.hpp"

namespace schemagen {

size_t StringMask::memory_bytes() const {
    size_t bytes = sizeof(*this) + inner.size() * 4 + counted.size() * 8;
    for (const StringExit& exit : exits) bytes += exit.tails.size() * 8 + 64;
    return bytes;
}

size_t StringMasks::Hash::operator()(const Key& key) const { return mix(key.vocabulary, key.state); }

std::shared_ptr<const StringMask> StringMasks::get(uint32_t state, bool counting, const VocabularyTables& tables) {
    Key key{tables.serial(), uint64_t{state} << 1 | (counting ? 1 : 0)};
    auto it = masks_.find(key);
    if (it != masks_.end()) return it->second;
    auto made = std::make_shared<const StringMask>(build(state, counting, tables));
    if (bytes_ + made->memory_bytes() > kMostBytes) {
        masks_.clear();  // those in use are kept alive by the masks that refer to them
        bytes_ = 0;
    }
    bytes_ += made->memory_bytes();
    masks_.emplace(key, made);
    return made;
}

StringMask StringMasks::build(uint32_t from, bool counting, const VocabularyTables& tables) const {
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
        uint32_t next = dfa_.next(at.state, trie.byte[k]);
        if (next) {
            bool boundary = true;
            if (counting) boundary = dfa_.state(next).boundary;
            path[depth + 1u] = {next, at.chars + (counting && boundary ? 1 : 0)};
            for (uint32_t t = trie.first_token[k]; t < trie.first_token[k + 1]; ++t) {
                uint32_t token = trie.tokens[t];
                out.inner[token >> 5] |= 1u << (token & 31);
                if (counting && !tables.is_plain(token)) out.counted.emplace_back(path[depth + 1u].chars + (boundary ? 0 : 1), token);
            }
            ++k;
            continue;
        }
        if (trie.byte[k] == '"' && dfa_.state(at.state).accepts.any()) {
            size_t group = SIZE_MAX;
            for (uint32_t t = trie.first_token[k]; t < trie.first_token[trie.skip[k]]; ++t) {
                uint32_t token = trie.tokens[t], tail = tables.tail_of(token, depth + 1u);
                if (tail == VocabularyTables::kNoTail) continue;
                if (group == SIZE_MAX) {
                    auto [it, fresh] = groups.try_emplace({at.state, at.chars}, out.exits.size());
                    if (fresh) out.exits.push_back({at.state, at.chars, {}});
                    group = it->second;
                }
                out.exits[group].tails.emplace_back(tail, token);
            }
        }
        k = trie.skip[k];
    }
    for (uint32_t word : out.inner) out.allowed += static_cast<uint32_t>(std::popcount(word));
    return out;
}

}  // namespace schemagen
