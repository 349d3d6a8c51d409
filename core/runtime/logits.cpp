#include "runtime/logits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "util/bits.hpp"

namespace schemagen {

namespace {

// An IEEE format: sign, exponent, fraction, in an unsigned integer of the same size.
template <class Bits_, unsigned kFraction>
struct Format {
    using Bits = Bits_;
    static constexpr Bits kSign = static_cast<Bits>(Bits(1) << (sizeof(Bits) * 8 - 1));
    static constexpr Bits kLeast = static_cast<Bits>(Bits(1) << kFraction);  // of the exponent
    static constexpr Bits kInfinity = static_cast<Bits>(kSign - kLeast);
    static constexpr Bits kLow = static_cast<Bits>(kSign | kInfinity);  // -inf
    static constexpr Bits kMost = static_cast<Bits>(kInfinity - 1);     // the largest finite number
};
using Half = Format<uint16_t, 10>;
using Brain = Format<uint16_t, 7>;
using Single = Format<uint32_t, 23>;
using Double = Format<uint64_t, 52>;

// The logits of one round of a branchless loop: as many as an element has bits, so that each bit can be tested in the
// lane of its logit.
template <class Bits>
constexpr size_t kLanes = std::min<size_t>(sizeof(Bits) * 8, 32);

template <class Bits>
constexpr auto kBitOfLane = [] {
    std::array<Bits, kLanes<Bits>> bits{};
    for (size_t lane = 0; lane < bits.size(); ++lane) bits[lane] = static_cast<Bits>(Bits(1) << lane);
    return bits;
}();

// Flags of the allowed logits. The sign bit of `exponent + least` is set for NaN and the infinities alone.
template <class Bits>
struct Seen {
    Bits any = 0, all = std::numeric_limits<Bits>::max();
};

template <class F>
void copy_lanes(const typename F::Bits* scores, typename F::Bits* out, Seen<typename F::Bits>& seen) {
    using Bits = typename F::Bits;
    Bits any = 0, all = seen.all;
    for (size_t lane = 0; lane < 32; ++lane) {
        const Bits value = scores[lane];
        const Bits carried = static_cast<Bits>((value & F::kInfinity) + F::kLeast);
        any |= carried;
        all &= carried;
        out[lane] = value;
    }
    seen.any |= any;
    seen.all = all;
}

template <class F>
void select_lanes(const typename F::Bits* scores, typename F::Bits* out, typename F::Bits word,
                  Seen<typename F::Bits>& seen) {
    using Bits = typename F::Bits;
    Bits any = 0, all = seen.all;
    for (size_t lane = 0; lane < kLanes<Bits>; ++lane) {
        const Bits allowed = word & kBitOfLane<Bits>[lane] ? std::numeric_limits<Bits>::max() : Bits(0);
        const Bits value = static_cast<Bits>((scores[lane] & allowed) | (F::kLow & ~allowed));
        const Bits carried = static_cast<Bits>((value & F::kInfinity) + F::kLeast);
        any |= carried & allowed;
        all &= carried;
        out[lane] = value;
    }
    seen.any |= any;
    seen.all = all;
}

// Faults in a row are rare: a second pass, over the output. Returns whether an allowed logit is above -inf.
template <class F>
bool repair_row(typename F::Bits* out, const uint32_t* words, size_t covered) {
    bool finite = false;
    auto each_allowed = [&](auto&& act) {
        for (size_t w = 0; w * 32 < covered; ++w)
            for (uint32_t left = words[w]; left; left &= left - 1) {
                size_t id = w * 32 + static_cast<size_t>(std::countr_zero(left));
                if (id < covered) act(out[id]);
            }
    };
    each_allowed([&](typename F::Bits& value) {
        if (value == F::kInfinity)
            value = F::kMost;
        else if ((value & F::kInfinity) == F::kInfinity)
            value = F::kLow;
        finite |= value != F::kLow;
    });
    if (!finite) each_allowed([](typename F::Bits& value) { value = 0; });
    return finite;
}

// Whether one of the logits [begin, end) is NaN, or inf without being that of an end. First a look for NaN and both
// infinities, which is faster; -inf is common, since other processors write it where they forbid a token.
template <class F>
bool overflows(const typename F::Bits* scores, size_t begin, size_t end, std::span<const uint32_t> ends) {
    using Bits = typename F::Bits;
    Bits found = 0;
    for (size_t at = begin; at < end; ++at) found |= static_cast<Bits>((scores[at] & F::kInfinity) + F::kLeast);
    if (!(found & F::kSign)) return false;
    for (size_t at = begin; at < end; ++at) {
        const Bits value = scores[at];
        if ((value & F::kInfinity) != F::kInfinity || value == F::kLow) continue;
        if (value != F::kInfinity || std::find(ends.begin(), ends.end(), at) == ends.end()) return true;
    }
    return false;
}

template <class F>
void mask_words(const typename F::Bits* scores, typename F::Bits* out, const uint32_t* words, size_t begin, size_t end,
                bool copy, Seen<typename F::Bits>& seen) {
    using Bits = typename F::Bits;
    size_t at = begin;
    for (; at + 32 <= end; at += 32) {
        const uint32_t word = words[at / 32];
        if (word == 0)
            std::fill_n(out + at, 32, F::kLow);
        else if (word == UINT32_MAX) {
            if (copy) copy_lanes<F>(scores + at, out + at, seen);
        } else
            for (size_t lane = 0; lane < 32; lane += kLanes<Bits>)
                select_lanes<F>(scores + at + lane, out + at + lane, static_cast<Bits>(word >> lane), seen);
    }
    for (; at < end; ++at) {
        const bool allowed = has_bit(words, static_cast<uint32_t>(at));
        out[at] = allowed ? scores[at] : F::kLow;
        const Bits carried = static_cast<Bits>((out[at] & F::kInfinity) + F::kLeast);
        if (allowed) seen.any |= carried, seen.all &= carried;
    }
}

// In blocks that stay in the nearest cache: a block is searched for NaN and inf, then masked.
template <class F>
bool mask_row(const typename F::Bits* scores, typename F::Bits* out, const uint32_t* words, const MaskRows& masks,
              size_t width, bool repair) {
    using Bits = typename F::Bits;
    const size_t covered = masks.covered;
    constexpr size_t kBlock = 2048;  // a multiple of 32
    Seen<Bits> seen;
    bool broken = false;
    for (size_t begin = 0; begin < covered; begin += kBlock) {
        const size_t end = std::min(covered, begin + kBlock);
        if (repair && !broken) broken = overflows<F>(scores, begin, end, masks.ends);
        mask_words<F>(scores, out, words, begin, end, repair || scores != out, seen);
    }
    std::fill(out + covered, out + width, F::kLow);
    if (repair && ((seen.any & F::kSign) || (seen.all & F::kSign))) broken |= !repair_row<F>(out, words, covered);
    return broken;
}

template <class Act>
auto with_format(FloatFormat format, const Act& act) {
    switch (format) {
        case FloatFormat::kHalf: return act(Half());
        case FloatFormat::kBrain: return act(Brain());
        case FloatFormat::kSingle: return act(Single());
        case FloatFormat::kDouble: break;
    }
    return act(Double());
}

}  // namespace

bool mask_logits(const LogitRows& logits, const MaskRows& masks, FloatFormat format, size_t row, bool repair) {
    return with_format(format, [&]<class F>(F) {
        using Bits = typename F::Bits;
        const ptrdiff_t r = static_cast<ptrdiff_t>(row);
        return mask_row<F>(static_cast<const Bits*>(logits.scores) + r * logits.scores_stride,
                           static_cast<Bits*>(logits.out) + r * logits.out_stride, masks.words + r * masks.stride,
                           masks, logits.width, repair);
    });
}

double sum_allowed(const float* values, const uint32_t* words, size_t covered) {
    constexpr size_t kSums = 8;            // independent ones, which a vector adds to at once
    constexpr size_t kWordsAtOnce = 1024;  // words summed before the result is added to a large sum
    double total = 0;
    size_t at = 0;
    while (at + 32 <= covered) {
        std::array<float, kSums> sums{};
        for (size_t stop = std::min(covered, at + kWordsAtOnce * 32); at + 32 <= stop; at += 32) {
            const uint32_t word = words[at / 32];
            if (word == 0) continue;
            for (size_t lane = 0; lane < 32; lane += kSums)
                for (size_t k = 0; k < kSums; ++k) {
                    // Of a forbidden value no bit is left, which is 0; a condition would become a branch.
                    const uint32_t allowed = word & kBitOfLane<uint32_t>[lane + k] ? UINT32_MAX : 0;
                    sums[k] += std::bit_cast<float>(std::bit_cast<uint32_t>(values[at + lane + k]) & allowed);
                }
        }
        for (float sum : sums) total += static_cast<double>(sum);
    }
    for (; at < covered; ++at)
        if (has_bit(words, static_cast<uint32_t>(at))) total += static_cast<double>(values[at]);
    return total;
}

namespace {

// The largest values offered so far.
class Largest {
public:
    explicit Largest(size_t count) : count_(count) { kept_.reserve(count + 1); }

    [[nodiscard]] float least() const { return least_; }

    void offer(float value, uint32_t place) {
        if (!(value > least_)) return;
        kept_.emplace_back(value, place);
        if (kept_.size() > count_) kept_.erase(std::min_element(kept_.begin(), kept_.end()));
        if (kept_.size() == count_) least_ = std::min_element(kept_.begin(), kept_.end())->first;
    }

    void append_to(std::vector<uint32_t>& places) const {
        for (const auto& [value, place] : kept_) places.push_back(place);
    }

private:
    size_t count_;
    float least_ = 0;  // what an offer has to exceed
    std::vector<std::pair<float, uint32_t>> kept_;
};

// Of values that are not negative, which are in the order of their bits: the maximum of integers needs no branch.
float largest_of_lanes(const float* values) {
    std::array<uint32_t, 8> best{};
    for (size_t lane = 0; lane < 32; lane += best.size())
        for (size_t k = 0; k < best.size(); ++k) {
            const auto bits = std::bit_cast<uint32_t>(values[lane + k]);
            best[k] = bits > best[k] ? bits : best[k];
        }
    return std::bit_cast<float>(*std::max_element(best.begin(), best.end()));
}

}  // namespace

std::vector<uint32_t> largest(const float* values, size_t width, const uint32_t* words, size_t covered, size_t count) {
    std::vector<uint32_t> places;
    if (count == 0) return places;
    Largest all(count), allowed(count);
    for (size_t at = 0; at < width; at += 32) {
        const size_t lanes = std::min<size_t>(32, width - at);
        const float best = lanes == 32 ? largest_of_lanes(values + at) : std::numeric_limits<float>::infinity();
        if (best > all.least())
            for (size_t lane = 0; lane < lanes; ++lane) all.offer(values[at + lane], static_cast<uint32_t>(at + lane));
        if (at >= covered || !(best > allowed.least())) continue;
        uint32_t word = words[at / 32];
        if (covered - at < 32) word &= (uint32_t{1} << (covered - at)) - 1;
        for (; word != 0; word &= word - 1) {
            const auto lane = static_cast<size_t>(std::countr_zero(word));
            allowed.offer(values[at + lane], static_cast<uint32_t>(at + lane));
        }
    }
    all.append_to(places);
    allowed.append_to(places);
    return places;
}

void copy_logits(const LogitRows& logits, FloatFormat format, size_t row) {
    if (logits.scores == logits.out) return;
    with_format(format, [&]<class F>(F) {
        using Bits = typename F::Bits;
        const ptrdiff_t r = static_cast<ptrdiff_t>(row);
        std::memcpy(static_cast<Bits*>(logits.out) + r * logits.out_stride,
                    static_cast<const Bits*>(logits.scores) + r * logits.scores_stride, logits.width * sizeof(Bits));
    });
}

}  // namespace schemagen
