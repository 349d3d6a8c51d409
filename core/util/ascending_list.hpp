// Different numbers in ascending order, as the gaps between them: 16 bits each, half of what the numbers take. A larger
// gap takes several entries; all of these but the last one are full, and stand for no number.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "util/heap.hpp"

namespace schemagen {

class AscendingList {
public:
    AscendingList() = default;
    explicit AscendingList(std::span<const uint32_t> numbers) {
        each_gap(numbers, [&](uint32_t gap) { size_ += gap / kFull + 1; });
        gaps_ = std::make_unique_for_overwrite<uint16_t[]>(size_);
        uint16_t* at = gaps_.get();
        each_gap(numbers, [&](uint32_t gap) {
            at = std::fill_n(at, gap / kFull, kFull);
            *at++ = static_cast<uint16_t>(gap % kFull);
        });
    }
    template <class Visit>
    void each(const Visit& visit) const {
        uint32_t number = 0;
        for (uint32_t k = 0; k < size_; ++k) {
            number += gaps_[k];
            if (gaps_[k] != kFull) visit(number);
        }
    }
    bool operator==(const AscendingList& other) const {
        return size_ == other.size_ && std::equal(gaps_.get(), gaps_.get() + size_, other.gaps_.get());
    }
    size_t memory_bytes() const { return heap_block(size_ * sizeof(uint16_t)); }

private:
    static constexpr uint16_t kFull = UINT16_MAX;
    template <class Visit>
    static void each_gap(std::span<const uint32_t> numbers, const Visit& visit) {
        uint32_t before = 0;
        for (const uint32_t number : numbers) visit(number - std::exchange(before, number));
    }
    std::unique_ptr<uint16_t[]> gaps_;
    uint32_t size_ = 0;
};

}  // namespace schemagen
