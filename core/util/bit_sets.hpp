// Sets of numbers below a bound, side by side.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/bits.hpp"
#include "util/heap.hpp"

namespace schemagen {

// Each a row of words; numbers are below `bits`.
class BitSets {
public:
    BitSets() : BitSets(0, 0) {}
    BitSets(size_t count, size_t bits) : words_((bits + 63) / 64), bits_(bits), all_(count * words_) {}

    size_t words() const { return words_; }
    uint64_t* operator[](size_t set) { return all_.data() + set * words_; }
    const uint64_t* operator[](size_t set) const { return all_.data() + set * words_; }
    bool has(size_t set, uint32_t bit) const { return has_bit((*this)[set], bit); }
    void add(size_t set, uint32_t bit) { set_bit((*this)[set], bit); }
    void fill(size_t set) {
        for (size_t w = 0; w < words_; ++w) (*this)[set][w] = ~uint64_t{0};
        if (bits_ % 64) (*this)[set][words_ - 1] = (uint64_t{1} << bits_ % 64) - 1;
    }
    void fill() {
        for (size_t set = 0; set * words_ < all_.size(); ++set) fill(set);
    }
    size_t append() {
        all_.resize(all_.size() + words_);
        return all_.size() / words_ - 1;
    }
    // Both return whether the set changed.
    bool unite(size_t set, const uint64_t* other) {
        uint64_t* own = (*this)[set];
        uint64_t changed = 0;
        for (size_t w = 0; w < words_; ++w) changed |= other[w] & ~own[w], own[w] |= other[w];
        return changed != 0;
    }
    // With the union of some others.
    template <class... Sets>
    bool intersect(size_t set, const Sets*... others) {
        uint64_t* own = (*this)[set];
        uint64_t changed = 0;
        for (size_t w = 0; w < words_; ++w) {
            const uint64_t common = own[w] & (others[w] | ...);
            changed |= own[w] ^ common;
            own[w] = common;
        }
        return changed != 0;
    }
    template <class Use>
    void each(size_t set, const Use& use) const {
        for_each_bit((*this)[set], words_, use);
    }
    size_t memory_bytes() const { return heap_bytes(all_); }

private:
    size_t words_, bits_;
    std::vector<uint64_t> all_;
};

}  // namespace schemagen
