// JSON texts of numbers by value: between two ends, divisible, and in the forms and lengths that are allowed.
//
// Idea: a text is a mantissa and a power of ten. The place of the first digit other than 0 and how the digits compare
// with those of an end says which exponents put the value inside: an interval, for the larger the exponent the larger
// the value. Divisibility fits in: let the divisor be n * 10^x, n no multiple of 10, and let m * 10^q be the mantissa,
// m no multiple of 10. Then m * 10^(q + e) is divisible if and only if q + e >= x and n divides m * 10^(q + e - x); as
// n divides more and more of these as e grows, the exponents are an interval again. A text without an exponent is one
// with the exponent 0. So a state is the position of the first digit, a comparison with each end, the zeros at the end,
// and the remainder of m.
//
// Invariants: a state that no text completes is never made (`live` decides it by arithmetic, not by search); digits of
// ends have no zeros at the front or at the back. A rule that allows exponents has an upper end on both sides.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "util/hash_index.hpp"

namespace schemagen {

// d.ddd * 10^exponent, of a magnitude above 0.
struct NumberEnd {
    std::string digits;  // of values 0 to 9; empty if there is no such end
    int32_t exponent = 0;
    bool open = false;  // the end itself is outside
    bool there() const { return !digits.empty(); }
    bool operator==(const NumberEnd&) const = default;
};

// The magnitudes above 0 with one sign.
struct NumberSide {
    bool any = false;
    NumberEnd low, high;
    bool operator==(const NumberSide&) const = default;
};

struct NumberRule {
    enum Form : uint32_t { kWhole = 1, kPoint = 2, kExponent = 4 };
    static constexpr uint64_t kMaxDivisor = uint64_t{1} << 58;

    std::array<NumberSide, 2> sides;  // positive, negative
    bool zero = false;                // 0 is inside
    uint64_t divisor = 0;             // no multiple of 10; 0: any value
    int32_t power = 0;                // the value is a multiple of divisor * 10^power
    uint32_t integer_digits = 0, fraction_digits = 0;
    // Most digits of a text with a point or an exponent, zeros at the end aside; 0 if there is no such limit.
    uint32_t exact_digits = 0;
    uint32_t forms = kWhole;
    bool operator==(const NumberRule&) const = default;
};

enum class NumberPhase : uint8_t {
    kStart,
    kSign,
    kZero,
    kInteger,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits
};

struct NumberState {
    uint32_t rule = 0;
    NumberPhase phase = NumberPhase::kStart;
    bool negative = false;                      // the value; after the `e`: the exponent
    int8_t low = 0, high = 0;                   // how the digits so far compare with those of the ends; 0 if equal
    uint16_t digits = 0;                        // from the first one other than 0; in an exponent: all of them
    uint16_t fraction = 0;                      // digits after the point
    uint16_t zeros = 0;                         // at the end of `digits`, if they matter
    int16_t least = 0, most = 0, exponent = 0;  // the exponents that are allowed, and the one that is being read
    uint64_t rest = 0;                          // the digits without `zeros`, modulo the divisor
    bool operator==(const NumberState&) const = default;
};

class Numbers {
public:
    static constexpr uint32_t kNone = UINT32_MAX;
    // Exponents have at most this many digits, leading zeros included, and at most this value.
    static constexpr uint32_t kMostExponentDigits = 20, kMaxExponent = 1999;

    uint32_t rule(NumberRule rule);  // its number
    const NumberState& operator[](uint32_t state) const { return states_[state]; }
    // The state after a byte. Empty if no text goes on so.
    std::optional<NumberState> step(const NumberState& state, uint8_t byte) const;
    bool accepts(const NumberState& state) const;
    // Whether some text goes on from here, this one included.
    bool live(const NumberState& state) const;
    // Bytes of the shortest way to an end, found by arithmetic; a lower bound where ends have hundreds of digits.
    uint32_t shortest(const NumberState& state) const;
    // No text of its rule has more bytes, whatever has been read.
    uint32_t longest(const NumberState& state) const;
    // From no state of its rule the shortest way to an end has more bytes.
    uint32_t most_to_finish(const NumberState& state) const;
    // Whether two neighbouring bytes lead to different states, or may.
    bool differs(const NumberState& state, uint8_t byte) const;
    // The state here that equals a state of other numbers.
    NumberState adopted(const Numbers& from, uint32_t state);
    // The same state, without exponents if every value inside is usually written without one: neither below 10^-4 nor
    // from 10^16 on, where json.dumps begins to write them. Then the values inside have few texts.
    NumberState without_idle_exponents(uint32_t state);
    uint32_t find(const NumberState& state) const;  // kNone if not interned
    uint32_t intern(const NumberState& state);

private:
    struct Interval {
        int32_t least = 1, most = 0;
        bool empty() const { return least > most; }
    };
    const NumberSide& side(const NumberState& s) const { return rules_[s.rule].sides[s.negative]; }
    static std::optional<NumberState> sign(NumberState s, bool negative);
    std::optional<NumberState> point(NumberState s) const;
    std::optional<NumberState> begin_exponent(const NumberState& s) const;
    static std::optional<NumberState> exponent_digit(NumberState s, uint32_t d);
    std::optional<NumberState> digit(NumberState s, uint32_t d) const;
    void append(NumberState& s, uint32_t d) const;
    Interval exponents(const NumberState& s) const;
    bool exact(const NumberState& s) const;
    bool completes(const NumberState& s) const;
    std::optional<uint32_t> exponent_digits(const NumberState& s) const;
    uint32_t shortest(const NumberState& s, uint32_t most, uint32_t& work) const;
    bool ends_in(const NumberState& s, uint32_t bytes, uint32_t& work) const;
    bool ends_with_exponent(const NumberState& s, uint32_t more, int32_t first, uint32_t bytes) const;
    bool divides(const NumberState& s, int32_t last, uint32_t& more, uint64_t& modulus, uint64_t& rest) const;
    bool reaches(const NumberState& s, uint32_t more, int32_t last, int32_t first, bool is_whole) const;

    std::vector<NumberRule> rules_;
    std::vector<int32_t> shifts_;  // [rule]: how many powers of ten at most make a difference to the divisor
    HashIndex rules_index_;
    std::deque<NumberState> states_;
    HashIndex index_;
};

}  // namespace schemagen
