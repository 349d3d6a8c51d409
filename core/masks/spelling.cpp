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

void Spelling::count_suffixes(std::string_view text, std::vector<uint32_t>& counts) const {
    const Trie& trie = tables_.all();
    if (counts.empty()) counts.push_back(0);
    counts.reserve(text.size() + 1);
    for (size_t length = counts.size(); length <= text.size(); ++length) {
        poll();
        uint32_t node = trie.root(), fewest = Automaton::kFar;
        for (size_t left = length; left-- > 0;) {
            node = trie.child_of(node, static_cast<uint8_t>(text[text.size() - 1 - left]));
            if (node == Trie::kNone) break;
            if (!trie.tokens_at(node).empty()) fewest = std::min(fewest, 1 + counts[left]);
        }
        counts.push_back(fewest);
    }
}

std::vector<uint32_t> Spelling::fewest_tokens(std::string_view text, std::span<const uint32_t> suffix) const {
    std::vector<uint32_t> counts(suffix.rbegin(), suffix.rend());
    count_suffixes(text, counts);
    std::reverse(counts.begin(), counts.end());
    return counts;
}

}  // namespace schemagen
