#include "context_free/token_sets.hpp"

#include <algorithm>

#include "util/bits.hpp"
#include "util/hash.hpp"

namespace schemagen {

void TokenSet::add_to(uint32_t* words, size_t size) const {
    if (mask)
        for (size_t w = 0; w < size; ++w) words[w] |= (*mask)[w];
    for (uint32_t token : list) set_bit(words, token);
}

TokenSet TokenSets::kept(const TokenSet::Words& words) {
    TokenSet out;
    out.count = count_bits(words.data(), words.size());
    if (out.count < words.size() / 4) {
        for (uint32_t w = 0; w < words.size(); ++w)
            for (uint32_t bit = 0, bits = words[w]; bits; ++bit, bits >>= 1)
                if (bits & 1) out.list.push_back(w * 32 + bit);
        bytes_ += out.list.size() * sizeof(uint32_t) + sizeof(TokenSet);
        return out;
    }
    auto& equal = masks_[hash_words(words.data(), words.size())];
    for (const auto& weak : equal)
        if (auto known = weak.lock(); known && *known == words) {
            out.mask = std::move(known);
            return out;
        }
    out.mask = std::make_shared<const TokenSet::Words>(words);
    equal.push_back(out.mask);
    bytes_ += words.size() * sizeof(uint32_t) + sizeof(TokenSet);
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
    bytes_ += out.list.size() * sizeof(uint32_t) + sizeof(TokenSet);
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

void TokenSets::clear() {
    masks_.clear();
    bytes_ = 0;
}

}  // namespace schemagen
