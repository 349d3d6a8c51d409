// Lists of numbers, each kept once: equal lists have equal ids, counted from 0, which is the empty list.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "util/hash.hpp"
#include "util/hash_index.hpp"

namespace schemagen {

class InternedLists {
public:
    using List = std::span<const uint32_t>;

    static constexpr uint32_t kNone = HashIndex::kNone;

    InternedLists() { intern({}); }
    // kNone if it was not interned.
    uint32_t find(List list) const { return find(list, hash_words(list.data(), list.size())); }
    // Invalidates results of `operator[]`, unless the list was known.
    uint32_t intern(List list) {
        const uint64_t hash = hash_words(list.data(), list.size());
        if (const uint32_t known = find(list, hash); known != kNone) return known;
        const auto id = static_cast<uint32_t>(ends_.size());
        const size_t size = pool_.size() + list.size();
        if (size > UINT32_MAX) throw std::length_error("the lists take more than 16 GiB");
        constexpr size_t kFirst = 16;
        if (size > pool_.capacity()) pool_.reserve(std::max(size + size / 4, kFirst));
        pool_.insert(pool_.end(), list.begin(), list.end());
        ends_.push_back(static_cast<uint32_t>(size));
        index_.insert(hash, id);
        return id;
    }
    List operator[](uint32_t id) const {
        const size_t begin = id ? ends_[id - 1] : 0;
        return {pool_.data() + begin, ends_[id] - begin};
    }
    size_t size() const { return ends_.size(); }
    size_t memory_bytes() const {
        return pool_.capacity() * sizeof(uint32_t) + ends_.capacity() * sizeof(uint32_t) + index_.memory_bytes();
    }

private:
    uint32_t find(List list, uint64_t hash) const {
        return index_.find(hash, [&](uint32_t id) {
            const List other = (*this)[id];
            return std::equal(list.begin(), list.end(), other.begin(), other.end());
        });
    }
    std::vector<uint32_t> pool_;
    std::vector<uint32_t> ends_;  // [id] of its list in the pool
    HashIndex index_;
};

}  // namespace schemagen
