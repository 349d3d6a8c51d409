#include "vocabulary/seams.hpp"

#include <algorithm>

#include "util/hash.hpp"
#include "util/heap.hpp"

namespace schemagen {

uint32_t Seams::part(const std::string& text) {
    const auto [at, is_new] = part_numbers_.try_emplace(text, static_cast<uint32_t>(parts_.size()));
    if (is_new) parts_.push_back({text, {}});
    return at->second;
}

Tail Seams::before(uint32_t part, Tail rest) {
    std::vector<Added>& known = parts_[part].added;
    auto at = std::ranges::find(known, rest.seam, &Added::after);
    if (at == known.end()) at = known.insert(at, added(parts_[part].text, rest.seam));
    return {at->before, rest.tokens + static_cast<uint32_t>(at->tokens)};
}

uint32_t Seams::fewest(std::string_view text, Tail rest) {
    constexpr size_t kCounted = 512, kLongest = 64;
    const auto counted = [&] {
        count(text, seams_[rest.seam]);
        return static_cast<uint32_t>(counts_[0]);
    };
    if (text.empty() || text.size() > kLongest) return rest.tokens + counted();
    if (counted_.empty()) counted_.resize(kCounted);
    Counted& known = counted_[mix(std::hash<std::string_view>()(text), rest.seam) % kCounted];
    if (known.after != rest.seam || known.text != text) known = {std::string(text), rest.seam, counted()};
    return rest.tokens + known.tokens;
}

void Seams::count(std::string_view text, const Seam& after) {
    const Trie& trie = tables_.all();
    const size_t size = text.size() + after.text.size();
    counts_.resize(text.size());
    counts_.insert(counts_.end(), after.tokens.begin(), after.tokens.end());
    for (size_t begin = text.size(); begin-- > 0;) {
        poll();
        uint32_t node = trie.root();
        int32_t fewest = INT32_MAX;
        for (size_t end = begin; end < size;) {
            const char byte = end < text.size() ? text[end] : after.text[end - text.size()];
            ++end;
            node = trie.child_of(node, static_cast<uint8_t>(byte));
            if (node == Trie::kNone) break;
            if (!trie.tokens_at(node).empty()) fewest = std::min(fewest, 1 + counts_[end]);
        }
        counts_[begin] = fewest;
    }
}

Seams::Added Seams::added(std::string_view text, uint32_t after) {
    const Seam& seam = seams_[after];
    count(text, seam);
    const size_t reach = this->reach(text, seam.text);
    Seam before;
    before.text = text.substr(0, reach);
    if (reach > text.size()) before.text += seam.text.substr(0, reach - text.size());
    before.tokens.clear();
    for (size_t k = 0; k <= reach; ++k) before.tokens.push_back(counts_[k] - counts_[0]);
    return {after, number(std::move(before)), counts_[0]};
}

uint32_t Seams::number(Seam seam) {
    if (seam.text.empty()) return 0;
    uint64_t hash = std::hash<std::string>()(seam.text);
    for (const int32_t tokens : seam.tokens) hash = mix(hash, static_cast<uint32_t>(tokens));
    for (auto [at, end] = seam_numbers_.equal_range(hash); at != end; ++at)
        if (seams_[at->second].text == seam.text && seams_[at->second].tokens == seam.tokens) return at->second;
    const auto made = static_cast<uint32_t>(seams_.size());
    seam_numbers_.emplace(hash, made);
    seams_.push_back(std::move(seam));
    return made;
}

// How many bytes of a text tokens may have that begin before it.
size_t Seams::reach(std::string_view text, std::string_view after) const {
    const Trie& ends = tables_.ends();
    uint32_t node = ends.root();
    for (size_t k = 0; k < text.size() + after.size(); ++k) {
        const char byte = k < text.size() ? text[k] : after[k - text.size()];
        node = ends.child_of(node, static_cast<uint8_t>(byte));
        if (node == Trie::kNone) return k;
    }
    return text.size() + after.size();
}

size_t Seams::memory_bytes() const {
    size_t bytes = heap_bytes(seams_) + heap_bytes(parts_) + heap_bytes(counts_) + heap_bytes(counted_) +
                   seam_numbers_.size() * heap_node(sizeof(*seam_numbers_.begin())) +
                   part_numbers_.size() * heap_node(sizeof(*part_numbers_.begin()));
    for (const Counted& counted : counted_) bytes += heap_bytes(counted.text);
    for (const Seam& seam : seams_) bytes += heap_bytes(seam.text) + heap_bytes(seam.tokens);
    for (const Part& part : parts_) bytes += 2 * heap_bytes(part.text) + heap_bytes(part.added);
    return bytes;
}

}  // namespace schemagen
