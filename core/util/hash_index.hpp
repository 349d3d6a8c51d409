// A hash table from content to the id it was interned under: open addressing, ids and a part of their hashes only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace schemagen {

class HashIndex {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    // The id among those with this hash for which `same(id)` holds; kNone if there is none.
    template <class Same>
    uint32_t find(uint64_t hash, const Same& same) const {
        if (slots_.empty()) return kNone;
        const size_t mask = slots_.size() - 1;
        const uint32_t tag = tag_of(hash);
        for (size_t at = tag & mask;; at = (at + 1) & mask) {
            const Slot& slot = slots_[at];
            if (slot.id == kNone) return kNone;
            if (slot.tag == tag && same(slot.id)) return slot.id;
        }
    }
    void insert(uint64_t hash, uint32_t id) {
        if (is_full()) grow();
        put({tag_of(hash), id});
        ++size_;
    }
    // Whether the next insertion moves everything there is.
    bool is_full() const { return (size_ + 1) * 3 > slots_.size() * 2; }
    size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        uint32_t tag = 0, id = kNone;
    };
    static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32 ^ hash); }
    void put(const Slot& slot) {
        const size_t mask = slots_.size() - 1;
        size_t at = slot.tag & mask;
        while (slots_[at].id != kNone) at = (at + 1) & mask;
        slots_[at] = slot;
    }
    void grow() {
        std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.id != kNone) put(slot);
    }
    std::vector<Slot> slots_;
    size_t size_ = 0;
};

}  // namespace schemagen
