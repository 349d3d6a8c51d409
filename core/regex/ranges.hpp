// Sets of code points, as sorted intervals that do not touch.
#pragma once
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "util/hash_index.hpp"

namespace schemagen {

using RangesId = uint32_t;
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

Ranges normalise(Ranges ranges);  // of any intervals
// The members of `ranges` in [low, high], minus `base`.
Ranges clip(const Ranges& ranges, uint32_t low, uint32_t high, uint32_t base);
bool contains(const Ranges& ranges, uint32_t value);
Ranges unite(const Ranges& left, const Ranges& right);
Ranges intersect(const Ranges& left, const Ranges& right);

// Sets, each once. References to them stay valid.
class RangesTable {
public:
    const Ranges& operator[](RangesId id) const { return sets_[id]; }
    RangesId find(const Ranges& ranges) const;  // HashIndex::kNone if absent
    RangesId add(Ranges ranges);                // absent so far
    size_t memory_bytes() const;                // about

private:
    static uint64_t hash_of(const Ranges& ranges);
    std::deque<Ranges> sets_;
    HashIndex index_;
};

}  // namespace schemagen
