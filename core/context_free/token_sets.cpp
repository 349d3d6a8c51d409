#include "context_free/token_sets.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "util/bits.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"

namespace schemagen {

namespace {

uint64_t hash_piece(const uint32_t* words) {
    std::array<uint64_t, MaskPieces::kWords / 2> values;
    std::memcpy(values.data(), words, sizeof(values));
    std::array<uint64_t, 2> chains{0, 1};
    for (size_t k = 0; k < values.size(); ++k) chains[k & 1] = mix(chains[k & 1], values[k]);
    return mix(chains[0], chains[1]);
}

}  // namespace

// The slot of equal words, or the one that they belong into.
size_t MaskPieces::slot_of(const uint32_t* words) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash_piece(words) & mask;
    while (slots_[at] && std::memcmp((*this)[slots_[at]], words, kWords * sizeof(uint32_t)) != 0) at = (at + 1) & mask;
    return at;
}

uint32_t MaskPieces::intern(const uint32_t* words) {
    uint32_t any = 0;
    for (size_t w = 0; w < kWords; ++w) any |= words[w];
    if (!any) return 0;
    size_t at = slot_of(words);
    if (slots_[at]) return slots_[at];
    if (next_ * size_t{4} >= slots_.size() * 3) {
        grow();
        at = slot_of(words);
    }
    if (pages_.size() <= next_ / kPage) pages_.push_back(std::make_unique<uint32_t[]>(kPage * kWords));
    std::copy(words, words + kWords, pages_.back().get() + next_ % kPage * kWords);
    return slots_[at] = next_++;
}

void MaskPieces::grow() {
    slots_.assign(slots_.size() * 2, 0);
    for (uint32_t id = 1; id < next_; ++id) slots_[slot_of((*this)[id])] = id;
}

void TokenSet::add_to(uint32_t* words, size_t size) const {
    if (!pieces) {
        for (uint32_t token : parts) set_bit(words, token);
        return;
    }
    const size_t whole = size / MaskPieces::kWords;
    for (size_t k = 0; k < whole; ++k) {
        if (!parts[k]) continue;
        const uint32_t* piece = (*pieces)[parts[k]];
        uint32_t* to = words + k * MaskPieces::kWords;
        for (size_t w = 0; w < MaskPieces::kWords; ++w) to[w] |= piece[w];
    }
    if (parts.size() == whole || !parts[whole]) return;
    const uint32_t* last = (*pieces)[parts[whole]];
    for (size_t w = whole * MaskPieces::kWords; w < size; ++w) words[w] |= last[w - whole * MaskPieces::kWords];
}

void TokenSet::copy_to(uint32_t* words, size_t size) const {
    if (!pieces) {
        std::fill(words, words + size, 0);
        return add_to(words, size);
    }
    const size_t whole = size / MaskPieces::kWords;
    for (size_t k = 0; k < whole; ++k)
        std::memcpy(words + k * MaskPieces::kWords, (*pieces)[parts[k]], MaskPieces::kWords * sizeof(uint32_t));
    if (parts.size() == whole) return;
    const uint32_t* last = (*pieces)[parts[whole]];
    std::copy(last, last + size % MaskPieces::kWords, words + whole * MaskPieces::kWords);
}

// The pieces of words, the last one filled up.
std::vector<uint32_t> TokenSets::cut(const TokenSet::Words& words) {
    const size_t whole = words.size() / MaskPieces::kWords;
    std::vector<uint32_t> ids;
    ids.reserve(whole + 1);
    for (size_t k = 0; k < whole; ++k) ids.push_back(pieces_->intern(words.data() + k * MaskPieces::kWords));
    if (const auto rest = words.begin() + static_cast<ptrdiff_t>(whole * MaskPieces::kWords); rest != words.end()) {
        std::array<uint32_t, MaskPieces::kWords> last{};
        std::copy(rest, words.end(), last.begin());
        ids.push_back(pieces_->intern(last.data()));
    }
    return ids;
}

const TokenSet* TokenSets::interned(TokenSet set) {
    if (!set.count) return none();
    const uint64_t hash = mix(hash_words(set.parts.data(), set.parts.size()), set.pieces != nullptr);
    const uint32_t known = index_.find(hash, [&](uint32_t number) {
        return sets_[number].pieces == set.pieces && sets_[number].parts == set.parts;
    });
    if (known != HashIndex::kNone) return &sets_[known];
    set.number = static_cast<uint32_t>(sets_.size());
    index_.insert(hash, set.number);
    set.parts.shrink_to_fit();
    bytes_ += heap_bytes(set.parts);
    return &sets_.emplace_back(std::move(set));
}

const TokenSet* TokenSets::of_mask(const TokenSet::Words& words) {
    TokenSet out;
    out.count = count_bits(words.data(), words.size());
    if (out.count < words_ / 4) {
        out.parts.reserve(out.count);
        for_each_bit(words.data(), words.size(), [&](uint32_t token) { out.parts.push_back(token); });
    } else {
        out.pieces = pieces_.get();
        out.parts = cut(words);
    }
    return interned(std::move(out));
}

const TokenSet* TokenSets::of_list(std::vector<uint32_t> tokens) {
    if (tokens.size() >= words_ / 4) {
        TokenSet::Words mask(words_, 0);
        for (uint32_t token : tokens) set_bit(mask.data(), token);
        return of_mask(mask);
    }
    TokenSet out;
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    out.count = static_cast<uint32_t>(tokens.size());
    out.parts = std::move(tokens);
    return interned(std::move(out));
}

const TokenSet* TokenSets::same_as(const TokenSet& set) {
    TokenSet::Words words(words_, 0);
    set.copy_to(words.data(), words_);
    return of_mask(words);
}

const TokenSet* TokenSets::united(const Parts& parts) {
    size_t count = 0;
    for (const TokenSet* part : parts) count += part->count;
    if (count < words_ / 4) {  // all of them are listed
        std::vector<uint32_t> tokens;
        for (const TokenSet* part : parts) tokens.insert(tokens.end(), part->parts.begin(), part->parts.end());
        return of_list(std::move(tokens));
    }
    TokenSet::Words words(words_, 0);
    for (const TokenSet* part : parts) part->add_to(words.data(), words_);
    return of_mask(words);
}

const TokenSet* TokenSets::part_of_union(const Parts& parts, const TokenSet* within) {
    if (!within) return united(parts);
    TokenSet::Words words(words_, 0), mask(words_, 0);
    for (const TokenSet* part : parts) part->add_to(words.data(), words_);
    within->copy_to(mask.data(), words_);
    for (size_t w = 0; w < words_; ++w) words[w] &= mask[w];
    return of_mask(words);
}

const TokenSet* TokenSets::known_union(Parts parts, const TokenSet* within) {
    if (parts.size() > kMostSorted) return part_of_union(parts, within);
    std::erase_if(parts, [](const TokenSet* part) { return part->count == 0; });
    std::ranges::sort(parts, {}, &TokenSet::number);
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    if (parts.size() == 1 && !within) return parts[0];
    if (parts.size() > kMostKnown) return part_of_union(parts, within);
    std::vector<uint32_t> key{within ? within->number : HashIndex::kNone};
    for (const TokenSet* part : parts) key.push_back(part->number);
    const uint32_t id = unions_.intern(key);
    if (known_.size() <= id) known_.resize(id + 1, nullptr);
    if (!known_[id]) known_[id] = part_of_union(parts, within);
    return known_[id];
}

size_t TokenSets::memory_bytes() const {
    return pieces_->memory_bytes() + bytes_ + sets_.size() * sizeof(TokenSet) + index_.memory_bytes() +
           unions_.memory_bytes() + heap_bytes(known_);
}

}  // namespace schemagen
