// Bit sets of tokens, tails and the like: bit k % 32 of word k / 32, as in the bitmasks of the package. Sets that are
// no such bitmask may have words of 64 bits.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace schemagen {

template <class Word>
constexpr uint32_t kWordBits = sizeof(Word) * 8;

template <class Word>
bool has_bit(const Word* words, uint32_t k) {
    return (words[k / kWordBits<Word>] & Word{1} << k % kWordBits<Word>) != 0;
}
template <class Word>
void set_bit(Word* words, uint32_t k) {
    words[k / kWordBits<Word>] |= Word{1} << k % kWordBits<Word>;
}
template <class Word>
void clear_bit(Word* words, uint32_t k) {
    words[k / kWordBits<Word>] &= ~(Word{1} << k % kWordBits<Word>);
}

// Sums within words, two halves of 16 bits in each: a compiler makes vectors of that.
inline uint32_t count_bits_portably(const uint32_t* words, size_t size) {
    constexpr size_t kBlock = 4095;  // words of 16 bits a half, at most, fit in a half
    uint32_t total = 0;
    for (size_t begin = 0; begin < size; begin += kBlock) {
        uint32_t halves = 0;
        for (size_t w = begin, end = std::min(begin + kBlock, size); w < end; ++w) {
            uint32_t x = words[w];
            x -= x >> 1 & 0x55555555u;
            x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
            x = (x + (x >> 4)) & 0x0F0F0F0Fu;
            halves += (x & 0x00FF00FFu) + (x >> 8 & 0x00FF00FFu);
        }
        total += (halves & 0xFFFF) + (halves >> 16);
    }
    return total;
}

#if defined(__x86_64__) && defined(__GNUC__)
// With the instruction that counts bits: the plain x86-64 that wheels are built for has none, but the machines do.
__attribute__((target("popcnt"))) inline uint32_t count_bits_by_popcnt(const uint32_t* words, size_t size) {
    uint64_t total = 0;
    size_t w = 0;
    for (; w + 2 <= size; w += 2) {
        uint64_t pair;
        std::memcpy(&pair, words + w, sizeof pair);
        total += static_cast<uint64_t>(__builtin_popcountll(pair));
    }
    if (w < size) total += static_cast<uint64_t>(__builtin_popcountll(words[w]));
    return static_cast<uint32_t>(total);
}

inline uint32_t count_bits(const uint32_t* words, size_t size) {
    static const bool has_popcnt = __builtin_cpu_supports("popcnt");
    return has_popcnt ? count_bits_by_popcnt(words, size) : count_bits_portably(words, size);
}
#else
inline uint32_t count_bits(const uint32_t* words, size_t size) { return count_bits_portably(words, size); }
#endif

// Calls `use(k)` for each bit k, in order. Most words of the sets that are listed are empty.
template <class Word, class Use>
void for_each_bit(const Word* words, size_t size, const Use& use) {
    constexpr size_t kBlock = 8;
    for (size_t begin = 0; begin < size; begin += kBlock) {
        const size_t end = std::min(begin + kBlock, size);
        Word any = 0;
        for (size_t w = begin; w < end; ++w) any |= words[w];
        for (size_t w = begin; any && w < end; ++w)
            for (Word bits = words[w]; bits; bits &= bits - 1)
                use(static_cast<uint32_t>(w * kWordBits<Word>) + static_cast<uint32_t>(std::countr_zero(bits)));
    }
}

}  // namespace schemagen
