// Logits to -inf by bits, in one pass over memory.
//
// A word of the mask decides over 32 logits: none allowed (they are filled), all allowed (copied; in place: left as
// they are), or a mixture (a select without a branch). Floats are handled as integers of their size, so one loop serves
// every format and no value is ever converted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace schemagen {

enum class FloatFormat { kHalf, kBrain, kSingle, kDouble };

// Rows of one matrix. The unit of `stride` is an element.
struct LogitRows {
    const void* scores;
    void* out;  // may be `scores`
    ptrdiff_t scores_stride, out_stride;
    size_t width;
};

struct MaskRows {
    const uint32_t* words;
    ptrdiff_t stride;
    size_t covered;                  // bits that count, at most `width`; logits beyond are masked
    std::span<const uint32_t> ends;  // tokens whose logits may be inf
};

// Writes row `row` of the scores to `out`, with -inf where its bit is 0. With `repair` the row has a finite maximum
// then, if it has a bit: NaN counts as -inf, inf as the largest finite number, and where nothing finite is left, all
// allowed are 0. Returns whether no token can be chosen from such a row: a covered logit is NaN or (except in the
// `ends`) inf, or no allowed one is above -inf. Without `repair` the row is not checked.
bool mask_logits(const LogitRows& logits, const MaskRows& masks, FloatFormat format, size_t row, bool repair);

// The sum of the values whose bit is 1; of float32, the type of a softmax.
double sum_allowed(const float* values, const uint32_t* words, size_t covered);

// The places of the `count` largest of `width` values, and after them those of the `count` largest whose bit is 1, each
// in any order. Bits beyond `covered` count as 0. No value is negative; those that are 0 are left out.
std::vector<uint32_t> largest(const float* values, size_t width, const uint32_t* words, size_t covered, size_t count);

// Copies a row that is not masked; nothing to do in place.
void copy_logits(const LogitRows& logits, FloatFormat format, size_t row);

}  // namespace schemagen
