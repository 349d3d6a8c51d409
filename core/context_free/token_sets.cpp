#include "context_free/token_sets.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

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
    for (uint32_t token : list) set_bit(words, token);
    if (!mask) return;
    const size_t whole = size / MaskPieces::kWords;
    for (size_t k = 0; k < whole; ++k) {
        if (!mask->ids[k]) continue;
        const uint32_t* piece = (*mask->pieces)[mask->ids[k]];
        uint32_t* to = words + k * MaskPieces::kWords;
        for (size_t w = 0; w < MaskPieces::kWords; ++w) to[w] |= piece[w];
    }
    if (mask->ids.size() == whole || !mask->ids[whole]) return;
    const uint32_t* last = (*mask->pieces)[mask->ids[whole]];
    for (size_t w = whole * MaskPieces::kWords; w < size; ++w) words[w] |= last[w - whole * MaskPieces::kWords];
}

void TokenSet::copy_to(uint32_t* words, size_t size) const {
    if (!mask) {
        std::fill(words, words + size, 0);
        return add_to(words, size);
    }
    const size_t whole = size / MaskPieces::kWords;
    for (size_t k = 0; k < whole; ++k)
        std::memcpy(words + k * MaskPieces::kWords, (*mask->pieces)[mask->ids[k]],
                    MaskPieces::kWords * sizeof(uint32_t));
    if (mask->ids.size() == whole) return;
    const uint32_t* last = (*mask->pieces)[mask->ids[whole]];
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

TokenSet TokenSets::kept(const TokenSet::Words& words) {
    TokenSet out;
    out.count = count_bits(words.data(), words.size());
    if (out.count < words.size() / 4) {
        out.list.reserve(out.count);
        for_each_bit(words.data(), words.size(), [&](uint32_t token) { out.list.push_back(token); });
        bytes_ += heap_bytes(out.list) + sizeof(TokenSet);
        return out;
    }
    std::vector<uint32_t> ids = cut(words);
    auto& equal = masks_[hash_words(ids.data(), ids.size())];
    for (const auto& weak : equal)
        if (auto known = weak.lock(); known && known->ids == ids) {
            out.mask = std::move(known);
            return out;
        }
    bytes_ += heap_bytes(ids) + sizeof(TokenSet) + heap_block(sizeof(TokenSet::Mask) + 2 * sizeof(void*)) +
              heap_node(sizeof(*masks_.begin())) + heap_block(sizeof(out.mask));
    out.mask = std::make_shared<const TokenSet::Mask>(TokenSet::Mask{pieces_, std::move(ids)});
    equal.push_back(out.mask);
    return out;
}

TokenSet TokenSets::kept(std::vector<uint32_t> tokens, size_t words) {
    if (tokens.size() >= words / 4) {
        TokenSet::Words mask(words, 0);
        for (uint32_t token : tokens) set_bit(mask.data(), token);
        return kept(mask);
    }
    TokenSet out;
    out.count = static_cast<uint32_t>(tokens.size());
    tokens.shrink_to_fit();
    out.list = std::move(tokens);
    bytes_ += heap_bytes(out.list) + sizeof(TokenSet);
    return out;
}

TokenSet TokenSets::united(const std::vector<const TokenSet*>& sets, size_t words) {
    size_t count = 0;
    for (const TokenSet* set : sets) count += set->count;
    if (count < words / 4) {  // all of them are listed
        std::vector<uint32_t> tokens;
        for (const TokenSet* set : sets) tokens.insert(tokens.end(), set->list.begin(), set->list.end());
        std::sort(tokens.begin(), tokens.end());
        tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
        return kept(std::move(tokens), words);
    }
    TokenSet::Words all(words, 0);
    for (const TokenSet* set : sets) set->add_to(all.data(), words);
    return kept(all);
}

const TokenSet* TokenUnions::of(Parts parts, const TokenSet::Words* within) {
    if (parts.size() > kMostSorted) return make(parts, within);
    std::erase_if(parts, [](const TokenSet* part) { return part->count == 0; });
    std::sort(parts.begin(), parts.end(), std::less<>());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    if (parts.size() == 1 && !within) return parts[0];
    if (parts.size() > kMostKnown) return make(parts, within);
    std::vector<uint32_t> key;
    key.reserve(2 * parts.size() + 2);
    auto add = [&](const void* at) {
        const auto address = uint64_t{reinterpret_cast<uintptr_t>(at)};
        key.insert(key.end(), {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32)});
    };
    add(within);
    for (const TokenSet* part : parts) add(part);
    const uint32_t id = keys_.intern(key);
    if (known_.size() <= id) known_.resize(id + 1, nullptr);
    if (!known_[id]) known_[id] = make(parts, within);
    return known_[id];
}

const TokenSet* TokenUnions::make(const Parts& parts, const TokenSet::Words* within) {
    if (!within) return &made_.emplace_back(sets_.united(parts, words_));
    TokenSet::Words all(words_, 0);
    for (const TokenSet* part : parts) part->add_to(all.data(), words_);
    for (size_t w = 0; w < words_; ++w) all[w] &= (*within)[w];
    return keep(all);
}

void TokenUnions::clear() {
    keys_ = {};
    known_.assign(1, nullptr);
    made_.clear();
}

TokenSet TokenSets::kept_again(const TokenSet& before, size_t words) {
    TokenSet::Words all(words, 0);
    before.copy_to(all.data(), words);
    return kept(all);
}

void TokenSets::clear() {
    masks_.clear();
    pieces_ = std::make_shared<MaskPieces>();
    bytes_ = 0;
}

}  // namespace schemagen
