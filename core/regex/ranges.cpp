#include "regex/ranges.hpp"

#include <algorithm>
#include <utility>

#include "util/hash.hpp"

namespace schemagen {

Ranges clip(const Ranges& ranges, uint32_t low, uint32_t high, uint32_t base) {
    Ranges out;
    auto it =
        std::lower_bound(ranges.begin(), ranges.end(), low, [](const auto& r, uint32_t v) { return r.second < v; });
    for (; it != ranges.end() && it->first <= high; ++it)
        out.emplace_back(std::max(it->first, low) - base, std::min(it->second, high) - base);
    return out;
}

bool contains(const Ranges& ranges, uint32_t value) {
    auto it =
        std::lower_bound(ranges.begin(), ranges.end(), value, [](const auto& r, uint32_t v) { return r.second < v; });
    return it != ranges.end() && it->first <= value;
}

Ranges normalise(Ranges ranges) {
    std::sort(ranges.begin(), ranges.end());
    size_t count = 0;  // those before are done
    for (auto [low, high] : ranges) {
        if (count && (low <= ranges[count - 1].second || low == ranges[count - 1].second + 1))
            ranges[count - 1].second = std::max(ranges[count - 1].second, high);
        else
            ranges[count++] = {low, high};
    }
    ranges.resize(count);
    return ranges;
}

Ranges unite(const Ranges& left, const Ranges& right) {
    Ranges all(left);
    all.insert(all.end(), right.begin(), right.end());
    return normalise(std::move(all));
}

Ranges intersect(const Ranges& left, const Ranges& right) {
    Ranges out;
    size_t i = 0, j = 0;
    while (i < left.size() && j < right.size()) {
        uint32_t low = std::max(left[i].first, right[j].first), high = std::min(left[i].second, right[j].second);
        if (low <= high) out.emplace_back(low, high);
        (left[i].second < right[j].second ? i : j)++;
    }
    return out;
}

uint64_t RangesTable::hash_of(const Ranges& ranges) {
    uint64_t hash = 7;
    for (auto [low, high] : ranges) hash = mix(mix(hash, low), high);
    return hash;
}

RangesId RangesTable::find(const Ranges& ranges) const {
    return index_.find(hash_of(ranges), [&](uint32_t k) { return sets_[k] == ranges; });
}

RangesId RangesTable::add(Ranges ranges) {
    const auto id = static_cast<RangesId>(sets_.size());
    index_.insert(hash_of(ranges), id);
    sets_.push_back(std::move(ranges));
    return id;
}

size_t RangesTable::memory_bytes() const {
    constexpr size_t kOfRanges = 96;  // ranges of characters, which are short
    return sets_.size() * kOfRanges + index_.memory_bytes();
}

}  // namespace schemagen
