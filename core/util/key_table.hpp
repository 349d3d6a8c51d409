// Numbers for keys of any length: equal keys have equal numbers, counted from 0.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/hash.hpp"
#include "util/hash_index.hpp"

namespace schemagen {

class KeyTable {
public:
    static constexpr uint32_t kNone = HashIndex::kNone;

    size_t size() const { return ends_.size(); }
    // The number of a key; kNone if it has none yet.
    uint32_t find(const std::vector<uint64_t>& key) const {
        return index_.find(hash_of(key), [&](uint32_t id) {
            const size_t begin = id ? ends_[id - 1] : 0;
            return ends_[id] - begin == key.size() &&
                   std::equal(key.begin(), key.end(), pool_.begin() + static_cast<ptrdiff_t>(begin));
        });
    }
    std::vector<uint64_t> key(uint32_t id) const {
        return {pool_.begin() + static_cast<ptrdiff_t>(id ? ends_[id - 1] : 0),
                pool_.begin() + static_cast<ptrdiff_t>(ends_[id])};
    }
    // Give the next number to a key that has none.
    uint32_t add(const std::vector<uint64_t>& key) {
        const auto id = static_cast<uint32_t>(ends_.size());
        index_.insert(hash_of(key), id);
        pool_.insert(pool_.end(), key.begin(), key.end());
        ends_.push_back(pool_.size());
        return id;
    }
    size_t memory_bytes() const {
        return pool_.capacity() * sizeof(uint64_t) + ends_.capacity() * sizeof(size_t) + index_.memory_bytes();
    }
    void clear() { *this = {}; }
    // Forget all but the first `count` keys.
    void truncate(size_t count) {
        if (count >= size()) return;
        ends_.resize(count);
        pool_.resize(count ? ends_.back() : 0);
        index_ = {};
        for (size_t id = 0, begin = 0; id < count; begin = ends_[id++])
            index_.insert(hash_of({pool_.begin() + static_cast<ptrdiff_t>(begin),
                                   pool_.begin() + static_cast<ptrdiff_t>(ends_[id])}),
                          static_cast<uint32_t>(id));
    }

    static uint64_t hash_of(const std::vector<uint64_t>& key) {
        uint64_t hash = key.size();
        for (uint64_t part : key) hash = mix(hash, part);
        return hash;
    }

private:
    std::vector<uint64_t> pool_;
    std::vector<size_t> ends_;  // [id] of its key in the pool
    HashIndex index_;
};

}  // namespace schemagen
