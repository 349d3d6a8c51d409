#include "context_free/token_sets.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "util/bits.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"

namespace schemagen {

namespace {

// How many tokens only one of two masks has, if these are not more than `most`.
size_t count_differing(const uint32_t* one, const uint32_t* other, size_t size, size_t most) {
    constexpr size_t kBlock = 256;
    std::array<uint32_t, kBlock> differing;
    size_t count = 0;
    for (size_t begin = 0; begin < size && count <= most; begin += kBlock) {
        const size_t block = std::min(kBlock, size - begin);
        for (size_t w = 0; w < block; ++w) differing[w] = one[begin + w] ^ other[begin + w];
        count += count_bits(differing.data(), block);
    }
    return count;
}

std::vector<uint32_t> tokens_of(const TokenSet::Words& words) {
    std::vector<uint32_t> tokens;
    tokens.reserve(count_bits(words.data(), words.size()));
    for_each_bit(words.data(), words.size(), [&](uint32_t token) { tokens.push_back(token); });
    return tokens;
}

}  // namespace

void TokenSet::add_to(uint32_t* words, size_t size) const {
    if (!base) return tokens.each([words](uint32_t token) { set_bit(words, token); });
    const uint32_t* other = base->whole->data();
    size_t w = 0;
    uint32_t differing = 0;  // of word w
    const auto go_to = [&](size_t end) {
        if (w == end) return;
        words[w] |= other[w] ^ std::exchange(differing, 0);
        for (++w; w < end; ++w) words[w] |= other[w];
    };
    tokens.each([&](uint32_t token) {
        go_to(token / kWordBits<uint32_t>);
        set_bit(&differing, token % kWordBits<uint32_t>);
    });
    go_to(size);
}

void TokenSet::copy_to(uint32_t* words, size_t size) const {
    if (base)
        std::ranges::copy(*base->whole, words);
    else
        std::fill_n(words, size, 0);
    tokens.each([words](uint32_t token) { words[token / kWordBits<uint32_t>] ^= 1u << token % kWordBits<uint32_t>; });
}

const TokenSet* TokenSets::add(uint64_t hash, TokenSet set) {
    set.number = static_cast<uint32_t>(sets_.size());
    bytes_ +=
        set.tokens.memory_bytes() + (set.whole ? heap_block(sizeof(TokenSet::Words)) + heap_bytes(*set.whole) : 0);
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
    AscendingList list(tokens);
    const uint32_t known =
        index_.find(hash, [&](uint32_t number) { return !sets_[number].base && sets_[number].tokens == list; });
    if (known != HashIndex::kNone) return &sets_[known];
    return add(hash, {.tokens = std::move(list), .count = static_cast<uint32_t>(tokens.size())});
}

// The whole bitmask that differs in the fewest tokens; null if that is in many.
const TokenSet* TokenSets::nearest(const TokenSet::Words& words) const {
    const TokenSet* best = nullptr;
    size_t most = words_ / 4;
    for (const TokenSet* base : bases_) {
        const size_t differing = count_differing(words.data(), base->whole->data(), words_, most);
        if (differing <= most && (!best || differing < most)) best = base, most = differing;
    }
    return best;
}

const TokenSet* TokenSets::of_mask(const TokenSet::Words& words) {
    const uint32_t count = count_bits(words.data(), words.size());
    if (count < words_ / 4) return of_list(tokens_of(words));
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
        TokenSet::Words differing(words);
        for (uint32_t w = 0; w < words_; ++w) differing[w] ^= (*base->whole)[w];
        return add(hash, {.base = base, .tokens = AscendingList(tokens_of(differing)), .count = count});
    }
    add(hash, {.whole = std::make_unique<const TokenSet::Words>(words), .count = count});
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
        for (const TokenSet* part : parts) part->tokens.each([&](uint32_t token) { tokens.push_back(token); });
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
