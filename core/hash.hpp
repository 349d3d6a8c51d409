// One step of the hash that every table of the core uses.
#pragma once
#include <cstdint>

namespace schemagen {

inline uint64_t mix(uint64_t hash, uint64_t value) {
    hash ^= value + 0x9E3779B97F4A7C15ull + (hash << 6) + (hash >> 2);
    hash *= 0xFF51AFD7ED558CCDull;
    return hash ^ (hash >> 32);
}

}  // namespace schemagen
