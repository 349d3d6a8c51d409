#include "masks/spelling.hpp"

#include <algorithm>

namespace schemagen {

Spelling::Spelling(const VocabularyTables& tables) : tables_(tables) {
    const Trie& trie = tables.all();
    for (uint32_t k = trie.first_child[trie.root()]; k < trie.first_child[trie.root() + 1]; ++k)
        if (!trie.tokens_at(trie.child[k]).empty()) bytes_.add(trie.child_byte[k]);
    for (unsigned b = 0; b < 256; ++b) {
        const auto byte = static_cast<uint8_t>(b);
        if (is_mark(byte)) bytes_.add(byte);
        if (byte >= ' ') spells_all_ &= bytes_.has(byte);
    }
}

std::vector<uint32_t> Spelling::fewest_tokens(const std::string& text, std::span<const uint32_t> suffix) const {
    const Trie& trie = tables_.all();
    std::vector<uint32_t> fewest(text.size() + 1, Automaton::kFar);
    fewest.back() = 0;
    std::copy(suffix.begin(), suffix.end(), fewest.end() - static_cast<ptrdiff_t>(suffix.size()));
    for (size_t begin = text.size() + 1 - std::max<size_t>(suffix.size(), 1); begin-- > 0;) {
        poll();
        uint32_t node = trie.root();
        for (size_t at = begin; at < text.size(); ++at) {
            node = trie.child_of(node, static_cast<uint8_t>(text[at]));
            if (node == Trie::kNone) break;
            if (!trie.tokens_at(node).empty()) fewest[begin] = std::min(fewest[begin], 1 + fewest[at + 1]);
        }
    }
    return fewest;
}

}  // namespace schemagen
