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
        const size_t mask = slots_.size() - 1;
        for (size_t at = place(first, second) & mask;; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.value == kNone) return kNone;
            if (slot.first == first && slot.second == second) return slot.value;
        }
    }
    // The pair is new, and the value is not kNone.
    void insert(uint32_t first, uint32_t second, uint32_t value) {
        if ((size_ + 1) * 3 > slots_.size() * 2) grow();
        put({first, second, value});
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
        uint32_t first = 0, second = 0, value = kNone;
    };
    static uint64_t place(uint32_t first, uint32_t second) { return mix(0, uint64_t{first} << 32 | second); }
    void put(const Slot& slot) {
        const size_t mask = slots_.size() - 1;
        size_t at = place(slot.first, slot.second) & mask;
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
