#include "context_free/token_sets.hpp"

#include <algorithm>

#include "util/bits.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"

namespace schemagen {

namespace {

// How many words differ, if these are not more than `most`.
size_t count_differing(const uint32_t* one, const uint32_t* other, size_t size, size_t most) {
    constexpr size_t kBlock = 256;
    size_t count = 0;
    for (size_t begin = 0; begin < size && count <= most; begin += kBlock) {
        uint32_t differing = 0;
        for (size_t w = begin, end = std::min(begin + kBlock, size); w < end; ++w) differing += one[w] != other[w];
        count += differing;
    }
    return count;
}

}  // namespace

void TokenSet::add_to(uint32_t* words, size_t size) const {
    if (!base) {
        for (uint32_t token : parts) set_bit(words, token);
        return;
    }
    const uint32_t* whole = base->parts.data();
    size_t w = 0;
    for (size_t k = 0; !is_whole() && k < parts.size(); k += 2) {
        for (; w < parts[k]; ++w) words[w] |= whole[w];
        words[w++] |= parts[k + 1];
    }
    for (; w < size; ++w) words[w] |= whole[w];
}

void TokenSet::copy_to(uint32_t* words, size_t size) const {
    if (!base) {
        std::fill(words, words + size, 0);
        return add_to(words, size);
    }
    std::copy_n(base->parts.data(), size, words);
    for (size_t k = 0; !is_whole() && k < parts.size(); k += 2) words[parts[k]] = parts[k + 1];
}

const TokenSet* TokenSets::add(uint64_t hash, TokenSet set) {
    set.number = static_cast<uint32_t>(sets_.size());
    set.parts.shrink_to_fit();
    bytes_ += heap_bytes(set.parts);
    sets_.push_back(std::move(set));
    index_.insert(hash, sets_.back().number);  // after everything that may fail
    return &sets_.back();
}

const TokenSet* TokenSets::of_list(std::vector<uint32_t> tokens) {
    if (tokens.size() >= words_ / 4) {
        TokenSet::Words mask(words_, 0);
        for (uint32_t token : tokens) set_bit(mask.data(), token);
        return of_mask(mask);
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    if (tokens.empty()) return none();
    const uint64_t hash = hash_words(tokens.data(), tokens.size());
    const uint32_t known =
        index_.find(hash, [&](uint32_t number) { return !sets_[number].base && sets_[number].parts == tokens; });
    if (known != HashIndex::kNone) return &sets_[known];
    const auto count = static_cast<uint32_t>(tokens.size());
    return add(hash, {.parts = std::move(tokens), .count = count});
}

// The whole bitmask that differs in the fewest words; null if that is in many.
const TokenSet* TokenSets::nearest(const TokenSet::Words& words) const {
    const TokenSet* best = nullptr;
    size_t most = words_ / 8;
    for (const TokenSet* base : bases_) {
        const size_t differing = count_differing(words.data(), base->parts.data(), words_, most);
        if (differing <= most && (!best || differing < most)) best = base, most = differing;
    }
    return best;
}

const TokenSet* TokenSets::of_mask(const TokenSet::Words& words) {
    const uint32_t count = count_bits(words.data(), words.size());
    if (count < words_ / 4) {
        std::vector<uint32_t> tokens;
        tokens.reserve(count);
        for_each_bit(words.data(), words.size(), [&](uint32_t token) { tokens.push_back(token); });
        return of_list(std::move(tokens));
    }
    const uint64_t hash = hash_words(words.data(), words.size());
    TokenSet::Words known_words;
    const uint32_t known = index_.find(hash, [&](uint32_t number) {
        if (sets_[number].count != count) return false;
        known_words.resize(words_);
        sets_[number].copy_to(known_words.data(), words_);
        return known_words == words;
    });
    if (known != HashIndex::kNone) return &sets_[known];
    if (const TokenSet* base = nearest(words)) {
        TokenSet set{.base = base, .count = count};
        for (uint32_t w = 0; w < words_; ++w)
            if (words[w] != base->parts[w]) set.parts.insert(set.parts.end(), {w, words[w]});
        return add(hash, std::move(set));
    }
    add(hash, {.parts = words, .count = count});
    sets_.back().base = &sets_.back();
    if (bases_.size() == kMostBases) bases_.erase(bases_.begin());
    bases_.push_back(&sets_.back());
    return &sets_.back();
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
    return bytes_ + sets_.size() * sizeof(TokenSet) + heap_bytes(bases_) + index_.memory_bytes() +
           unions_.memory_bytes() + heap_bytes(known_);
}

}  // namespace schemagen
