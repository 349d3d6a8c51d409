// The hash that every table of the core uses.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace schemagen {

// One step.
inline uint64_t mix(uint64_t hash, uint64_t value) {
    hash ^= value + 0x9E3779B97F4A7C15ull + (hash << 6) + (hash >> 2);
    hash *= 0xFF51AFD7ED558CCDull;
    return hash ^ (hash >> 32);
}

// Of a text, which is short.
inline uint64_t hash_text(std::string_view text) {
    uint64_t hash = text.size();
    for (; text.size() >= sizeof(uint64_t); text.remove_prefix(sizeof(uint64_t))) {
        uint64_t value;
        std::memcpy(&value, text.data(), sizeof(value));
        hash = mix(hash, value);
    }
    uint64_t rest = 0;
    std::memcpy(&rest, text.data(), text.size());
    return mix(hash, rest);
}

// Of many words. A step waits for the multiplication of the one before it, so four chains run side by side.
inline uint64_t hash_words(const uint32_t* words, size_t size) {
    std::array<uint64_t, 4> chains{size, 1, 2, 3};
    size_t w = 0;
    for (; w + 8 <= size; w += 8) {
        std::array<uint64_t, 4> values;
        std::memcpy(values.data(), words + w, sizeof(values));
        for (size_t k = 0; k < 4; ++k) chains[k] = mix(chains[k], values[k]);
    }
    for (; w < size; ++w) chains[0] = mix(chains[0], words[w]);
    return mix(mix(mix(chains[0], chains[1]), chains[2]), chains[3]);
}

}  // namespace schemagen
