// Bit sets of tokens, tails and the like: bit k % 32 of word k / 32, as in the bitmasks of the package.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

namespace schemagen {

inline bool has_bit(const uint32_t* words, uint32_t k) { return words[k >> 5] >> (k & 31) & 1; }
inline void set_bit(uint32_t* words, uint32_t k) { words[k >> 5] |= 1u << (k & 31); }
inline void clear_bit(uint32_t* words, uint32_t k) { words[k >> 5] &= ~(1u << (k & 31)); }

inline uint32_t count_bits(const uint32_t* words, size_t size) {
    uint32_t total = 0;
    for (size_t w = 0; w < size; ++w) total += static_cast<uint32_t>(std::popcount(words[w]));
    return total;
}

}  // namespace schemagen
