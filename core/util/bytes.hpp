#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace schemagen {

// JSON's whitespace.
inline bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

// Whether no text in UTF-8 has a byte: such bytes spell the tokens that a grammar names
// (schemagen/vocabulary/marks.py).
inline bool is_mark(uint8_t byte) { return byte == 0xC0 || byte == 0xC1 || byte >= 0xF5; }

// Bytes, as a bit set.
struct ByteSet {
    std::array<uint64_t, 4> words{};
    void add(uint8_t byte) { words[byte >> 6] |= 1ull << (byte & 63); }
    void add(const ByteSet& bytes) {
        for (size_t w = 0; w < words.size(); ++w) words[w] |= bytes.words[w];
    }
    bool has(uint8_t byte) const { return words[byte >> 6] >> (byte & 63) & 1; }
    size_t size() const {
        size_t count = 0;
        for (uint64_t word : words) count += static_cast<size_t>(std::popcount(word));
        return count;
    }
};

}  // namespace schemagen
