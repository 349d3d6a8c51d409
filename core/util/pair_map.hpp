// A map from pairs of numbers to a number: open addressing, nothing is ever taken out but all at once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/hash.hpp"

namespace schemagen {

class PairMap {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t find(uint32_t first, uint32_t second) const {
        if (slots_.empty()) return kNone;
        const uint64_t key = uint64_t{first} << 32 | second;
        const size_t mask = slots_.size() - 1;
        for (size_t at = mix(0, key) & mask;; at = (at + 1) & mask) {
            if (slots_[at].value == kNone) return kNone;
            if (slots_[at].key == key) return slots_[at].value;
        }
    }
    // The pair is new, and the value is not kNone.
    void insert(uint32_t first, uint32_t second, uint32_t value) {
        if ((size_ + 1) * 2 > slots_.size()) grow();
        put({uint64_t{first} << 32 | second, value});
        ++size_;
    }
    void clear() {
        slots_.clear();
        size_ = 0;
    }
    // The same, but the room is kept.
    void reset() {
        if (size_) std::fill(slots_.begin(), slots_.end(), Slot{});
        size_ = 0;
    }
    size_t size() const { return size_; }
    size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        uint64_t key = 0;
        uint32_t value = kNone;
    };
    void put(const Slot& slot) {
        const size_t mask = slots_.size() - 1;
        size_t at = mix(0, slot.key) & mask;
        while (slots_[at].value != kNone) at = (at + 1) & mask;
        slots_[at] = slot;
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.value != kNone) put(slot);
    }
    std::vector<Slot> slots_;
    size_t size_ = 0;
};

}  // namespace schemagen
