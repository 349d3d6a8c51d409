#include "regex/numbers.hpp"

#include <algorithm>
#include <cstdlib>

#include "util/hash.hpp"

namespace schemagen {

namespace {

// More than any divisor.
constexpr int64_t kMany = int64_t{1} << 59;

uint64_t times(uint64_t a, uint64_t b, uint64_t modulus) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % modulus);
}

uint64_t power_mod(uint64_t exponent, uint64_t modulus) {
    uint64_t out = 1 % modulus;
    for (uint64_t base = 10 % modulus; exponent; exponent >>= 1, base = times(base, base, modulus))
        if (exponent & 1) out = times(out, base, modulus);
    return out;
}

int8_t compare(uint32_t a, uint32_t b) { return static_cast<int8_t>(a < b ? -1 : a > b); }

uint32_t digit_of(const NumberEnd& end, size_t index) {
    return index < end.digits.size() ? static_cast<uint8_t>(end.digits[index]) : 0;
}

// The rest of a divisor when the values are multiples of 10^shift.
uint64_t reduced(uint64_t divisor, uint64_t shift) {
    for (; shift && divisor % 2 == 0; --shift) divisor /= 2;
    for (; shift && divisor % 5 == 0; --shift) divisor /= 5;
    return divisor;
}

uint32_t length(int32_t value) { return value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : 4; }

uint64_t hash_of(const NumberState& s) {
    uint64_t a = uint64_t{s.rule} << 32 | uint64_t{s.digits} << 16 | s.fraction;
    uint64_t b = uint64_t{static_cast<uint8_t>(s.phase)} << 56 | uint64_t{s.negative} << 48 |
                 uint64_t{static_cast<uint8_t>(s.low)} << 40 | uint64_t{static_cast<uint8_t>(s.high)} << 32 | s.zeros;
    uint64_t c = uint64_t{static_cast<uint16_t>(s.least)} << 32 | uint64_t{static_cast<uint16_t>(s.most)} << 16 |
                 static_cast<uint16_t>(s.exponent);
    return mix(mix(mix(mix(11, a), b), c), s.rest);
}

uint64_t hash_of(const NumberRule& rule) {
    uint64_t hash =
        mix(mix(13, rule.divisor), uint64_t{static_cast<uint32_t>(rule.power)} << 32 | rule.forms << 1 | rule.zero);
    hash = mix(mix(hash, uint64_t{rule.integer_digits} << 32 | rule.fraction_digits), rule.exact_digits);
    for (const NumberSide& side : rule.sides)
        for (const NumberEnd* end : {&side.low, &side.high}) {
            hash = mix(mix(hash, side.any), uint64_t{static_cast<uint32_t>(end->exponent)} << 1 | end->open);
            for (char digit : end->digits) hash = mix(hash, static_cast<uint8_t>(digit));
        }
    return hash;
}

}  // namespace

uint32_t Numbers::rule(NumberRule rule) {
    // A whole number is a multiple of 1, so there is nothing to count.
    if (rule.forms == NumberRule::kWhole && rule.divisor == 1 && rule.power <= 0) rule.divisor = 0;
    const uint64_t hash = hash_of(rule);
    uint32_t known = rules_index_.find(hash, [&](uint32_t k) { return rules_[k] == rule; });
    if (known != HashIndex::kNone) return known;
    known = static_cast<uint32_t>(rules_.size());
    rules_.push_back(rule);
    int32_t shifts = 0;
    for (uint64_t left = rule.divisor; left && reduced(left, 1) != left; ++shifts) left = reduced(left, 1);
    shifts_.push_back(shifts);
    rules_index_.insert(hash, known);
    return known;
}

NumberState Numbers::adopted(const Numbers& from, uint32_t state) {
    NumberState own = from.states_[state];
    own.rule = rule(from.rules_[own.rule]);
    return own;
}

NumberState Numbers::without_idle_exponents(uint32_t state) {
    constexpr int32_t kLeast = -4, kMost = 15;
    NumberState plain = states_[state];
    NumberRule own = rules_[plain.rule];
    int32_t step = own.divisor ? own.power : kLeast - 1;  // the place of its first digit
    for (uint64_t left = own.divisor; left >= 10; left /= 10) ++step;
    for (const NumberSide& side : own.sides) {
        const bool large = !side.high.there() || side.high.exponent > kMost,
                   small = step < kLeast && (!side.low.there() || side.low.exponent < kLeast);
        if (side.any && (large || small)) return plain;
    }
    own.forms &= ~uint32_t{NumberRule::kExponent};
    plain.rule = rule(own);
    return plain;
}

uint32_t Numbers::find(const NumberState& state) const {
    return index_.find(hash_of(state), [&](uint32_t k) { return states_[k] == state; });
}

uint32_t Numbers::intern(const NumberState& state) {
    if (uint32_t known = find(state); known != HashIndex::kNone) return known;
    auto id = static_cast<uint32_t>(states_.size());
    states_.push_back(state);
    index_.insert(hash_of(state), id);
    return id;
}

// ---- one byte -----------------------------------------------------------------------------------------------------

std::optional<NumberState> Numbers::step(const NumberState& s, uint8_t byte) const {
    using enum NumberPhase;
    switch (byte) {
        case '-':
        case '+': return sign(s, byte == '-');
        case '.': return point(s);
        case 'e':
        case 'E': return begin_exponent(s);
        default: break;
    }
    if (byte < '0' || byte > '9') return std::nullopt;
    const uint32_t d = byte - '0';
    return s.phase >= kExponent ? exponent_digit(s, d) : digit(s, d);
}

std::optional<NumberState> Numbers::sign(NumberState s, bool negative) {
    using enum NumberPhase;
    if (s.phase == kStart && negative)
        s.phase = kSign;
    else if (s.phase == kExponent)
        s.phase = kExponentSign;
    else
        return std::nullopt;
    s.negative = negative;
    return s;
}

std::optional<NumberState> Numbers::point(NumberState s) const {
    using enum NumberPhase;
    const NumberRule& rule = rules_[s.rule];
    if ((s.phase != kZero && s.phase != kInteger) || !(rule.forms & (NumberRule::kPoint | NumberRule::kExponent)) ||
        !rule.fraction_digits)
        return std::nullopt;
    s.phase = kPoint;
    return s;
}

// In the exponent, neither the mantissa matters nor the rule it belonged to.
std::optional<NumberState> Numbers::begin_exponent(const NumberState& s) const {
    using enum NumberPhase;
    const bool mantissa = s.phase == kZero || s.phase == kInteger || s.phase == kFraction;
    if (!mantissa || !(rules_[s.rule].forms & NumberRule::kExponent) || !exact(s)) return std::nullopt;
    const Interval range = exponents(s);
    if (range.empty()) return std::nullopt;
    return NumberState{
        .phase = kExponent, .least = static_cast<int16_t>(range.least), .most = static_cast<int16_t>(range.most)};
}

std::optional<NumberState> Numbers::exponent_digit(NumberState s, uint32_t d) {
    const uint32_t value = static_cast<uint32_t>(s.exponent) * 10 + d;
    if (value > kMaxExponent || s.digits + 1u > kMostExponentDigits) return std::nullopt;
    s.phase = NumberPhase::kExponentDigits;
    s.exponent = static_cast<int16_t>(value);
    ++s.digits;
    return s;
}

std::optional<NumberState> Numbers::digit(NumberState s, uint32_t d) const {
    using enum NumberPhase;
    const NumberRule& rule = rules_[s.rule];
    switch (s.phase) {
        case kStart:
        case kSign:
            s.phase = d ? kInteger : kZero;
            if (d) append(s, d);
            return s;
        case kInteger:
            if (s.digits >= rule.integer_digits) return std::nullopt;
            append(s, d);
            return s;
        case kPoint:
        case kFraction:
            if (s.fraction >= rule.fraction_digits) return std::nullopt;
            s.phase = kFraction;
            ++s.fraction;
            if (d || s.digits) append(s, d);
            return s;
        default: return std::nullopt;
    }
}

// The next digit after the first one other than 0, or that itself.
void Numbers::append(NumberState& s, uint32_t d) const {
    const NumberRule& rule = rules_[s.rule];
    const NumberSide& ends = side(s);
    if (!s.digits) s.low = ends.low.there() ? 0 : 1, s.high = ends.high.there() ? 0 : -1;
    if (!s.low) s.low = compare(d, digit_of(ends.low, s.digits));
    if (!s.high) s.high = compare(d, digit_of(ends.high, s.digits));
    ++s.digits;
    if (!rule.divisor && !rule.exact_digits) return;
    if (!d) {
        ++s.zeros;
        return;
    }
    if (rule.divisor) s.rest = (times(s.rest, power_mod(s.zeros + 1u, rule.divisor), rule.divisor) + d) % rule.divisor;
    s.zeros = 0;
}

bool Numbers::differs(const NumberState& s, uint8_t byte) const {
    static constexpr std::string_view kForms = "+,-./0:EFef";  // with the bytes after them
    if (kForms.find(static_cast<char>(byte)) != std::string_view::npos) return true;
    if (byte < '0' || byte > '9') return false;
    if (s.phase >= NumberPhase::kExponent) return true;
    const bool tied =
        s.digits ? !s.low || !s.high : s.phase == NumberPhase::kStart || side(s).low.there() || side(s).high.there();
    return tied || rules_[s.rule].divisor || rules_[s.rule].exact_digits || (byte == '1' && !s.digits);
}

// ---- ends ---------------------------------------------------------------------------------------------------------

// Whether a text with a point or an exponent may have these digits.
bool Numbers::exact(const NumberState& s) const {
    const uint32_t most = rules_[s.rule].exact_digits;
    return !most || s.digits - s.zeros <= static_cast<int32_t>(most);
}

// The exponents with which the mantissa so far is a value inside.
Numbers::Interval Numbers::exponents(const NumberState& s) const {
    const NumberRule& rule = rules_[s.rule];
    constexpr auto kMost = static_cast<int32_t>(kMaxExponent);
    if (!s.digits) return rule.zero ? Interval{-kMost, kMost} : Interval{};
    const NumberSide& ends = side(s);
    if (!ends.any) return {};
    const int32_t first = s.digits - 1 - s.fraction;
    Interval out{-kMost, kMost};
    if (ends.low.there()) {
        const bool all = s.digits >= ends.low.digits.size(), inside = s.low > 0 || (!s.low && all && !ends.low.open);
        out.least = std::max(out.least, ends.low.exponent - first + !inside);
    }
    if (ends.high.there()) {
        const bool all = s.digits >= ends.high.digits.size(),
                   inside = s.high < 0 || (!s.high && !(all && ends.high.open));
        out.most = std::min(out.most, ends.high.exponent - first - !inside);
    }
    if (!rule.divisor || out.empty()) return out;
    int32_t shift = 0;
    for (uint64_t rest = s.rest; rest; ++shift) {
        if (shift == shifts_[s.rule]) return {};
        rest = times(rest, 10, rule.divisor);
    }
    out.least = std::max(out.least, shift + rule.power - s.zeros + s.fraction);
    return out;
}

bool Numbers::accepts(const NumberState& s) const {
    using enum NumberPhase;
    const uint32_t forms = rules_[s.rule].forms;
    switch (s.phase) {
        case kExponentDigits: {
            const int32_t value = s.negative ? -s.exponent : s.exponent;
            return s.least <= value && value <= s.most;
        }
        case kZero:
        case kInteger:
            if (!(forms & NumberRule::kWhole)) return false;
            break;
        case kFraction:
            if (!(forms & NumberRule::kPoint) || !exact(s)) return false;
            break;
        default: return false;
    }
    const Interval range = exponents(s);
    return range.least <= 0 && 0 <= range.most;
}

bool Numbers::live(const NumberState& s) const {
    using enum NumberPhase;
    if (s.phase == kExponent) return s.least <= s.most;
    if (s.phase > kExponent) return exponent_digits(s).has_value();
    if (s.digits) return completes(s);
    if (s.phase != kStart && !side(s).any && !rules_[s.rule].zero) return false;  // it need not read zeros to see that
    if (accepts(s) || step(s, 'e')) return true;
    for (uint8_t byte : {'1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '0', '-'})
        if (auto next = step(s, byte); next && live(*next)) return true;
    return false;
}

// `live` after a digit other than 0.
bool Numbers::completes(const NumberState& s) const {
    using enum NumberPhase;
    const NumberRule& rule = rules_[s.rule];
    const NumberSide& ends = side(s);
    if (!ends.any) return false;
    const auto places = static_cast<int32_t>(rule.fraction_digits);
    const int32_t first = s.digits - 1 - s.fraction;
    const bool in_integer = s.phase == kInteger;
    const int32_t most_integer = in_integer ? static_cast<int32_t>(rule.integer_digits) - s.digits : 0;
    // Without an exponent: from the longest text down, which has the most digits to choose.
    int32_t more = most_integer, least = 0;
    if (ends.high.there()) more = std::min(more, ends.high.exponent - first);
    if (ends.low.there()) least = std::max(least, ends.low.exponent - first);
    for (; more >= least; --more) {
        const auto count = static_cast<uint32_t>(more);
        if (in_integer && (rule.forms & NumberRule::kWhole) && reaches(s, count, 0, first + more, true)) return true;
        const uint32_t decimals = rule.fraction_digits - s.fraction;
        if ((rule.forms & NumberRule::kPoint) && (places || !in_integer) &&
            reaches(s, count + decimals, -places, first + more, false))
            return true;
    }
    if (!(rule.forms & NumberRule::kExponent)) return false;
    const auto count = static_cast<uint32_t>(most_integer + places - s.fraction);
    const int32_t top = ends.high.exponent, bottom = ends.low.there() ? ends.low.exponent : top - 1;
    for (int32_t at : {top - 1, top, bottom, bottom + 1})
        if (at <= top && at >= bottom && reaches(s, count, at - s.digits - static_cast<int32_t>(count) + 1, at, false))
            return true;
    return false;
}

// The condition of divisibility on `more` further digits, the last one worth 10^last: that they and `rest` together are
// a multiple of `modulus`. Those that have to be zeros are taken off `more`. Returns false if no digits do.
bool Numbers::divides(const NumberState& s, int32_t last, uint32_t& more, uint64_t& modulus, uint64_t& rest) const {
    const NumberRule& rule = rules_[s.rule];
    modulus = rule.divisor;
    if (last >= rule.power) {
        modulus = reduced(modulus, static_cast<uint64_t>(last - rule.power));
    } else if (auto needed = static_cast<uint32_t>(rule.power - last); needed <= more) {
        more -= needed;
    } else {
        needed -= more;
        more = 0;
        if (needed > s.zeros || times(s.rest, power_mod(s.zeros - needed, modulus), modulus)) return false;
        modulus = 1;
    }
    rest = times(s.rest % modulus, power_mod(uint64_t{s.zeros} + more, modulus), modulus);
    return true;
}

// Whether some value inside has the digits so far, the first one worth 10^first, and `more` further ones, the last one
// worth 10^last.
bool Numbers::reaches(const NumberState& s, uint32_t more, int32_t last, int32_t first, bool is_whole) const {
    const NumberRule& rule = rules_[s.rule];
    const NumberSide& ends = side(s);
    const bool low_near = ends.low.there() && first == ends.low.exponent,
               high_near = ends.high.there() && first == ends.high.exponent;
    if ((ends.low.there() && first < ends.low.exponent) || (low_near && s.low < 0)) return false;
    if ((ends.high.there() && first > ends.high.exponent) || (high_near && s.high > 0)) return false;
    if (!is_whole && rule.exact_digits) {  // zeros from there on
        if (!exact(s)) return false;
        const uint32_t free = std::min(more, rule.exact_digits - std::min<uint32_t>(s.digits, rule.exact_digits));
        last += static_cast<int32_t>(more - free);
        more = free;
    }
    uint64_t modulus = 1, rest = 0;
    if (rule.divisor && !divides(s, last, more, modulus, rest)) return false;
    // The further digits as a number lie between two numbers; how many there are, and the lower one modulo the divisor.
    const bool low_tied = low_near && !s.low, high_tied = high_near && !s.high;
    int64_t difference = 0;
    uint64_t lowest = rest;
    for (uint32_t k = 0; k < more; ++k) {
        const uint32_t from = low_tied ? digit_of(ends.low, s.digits + k) : 0,
                       to = high_tied ? digit_of(ends.high, s.digits + k) : 9;
        difference = std::clamp(difference * 10 + to - from, -kMany, kMany);
        if (modulus == 1 && std::abs(difference) == kMany) break;  // it stays there
        // `rest` has the zeros for these digits already.
        if (modulus > 1 && from) lowest = (lowest + times(from, power_mod(more - 1 - k, modulus), modulus)) % modulus;
    }
    const size_t written = size_t{s.digits} + more;
    if (low_tied && (ends.low.digits.size() > written || ends.low.open)) --difference, ++lowest;
    if (high_tied && ends.high.open && ends.high.digits.size() <= written) --difference;
    if (difference < 0) return false;
    const uint64_t missing = (modulus - lowest % modulus) % modulus;
    return missing <= static_cast<uint64_t>(difference);
}

// ---- the shortest way to an end
// ---------------------------------------------------------------------------------------

// Further digits of the exponent that is being read, at least; nothing if none lead to one that is allowed.
std::optional<uint32_t> Numbers::exponent_digits(const NumberState& s) const {
    const int32_t least = s.negative ? std::max(0, -s.most) : std::max<int32_t>(0, s.least),
                  most = s.negative ? -s.least : s.most;
    if (s.phase != NumberPhase::kExponentDigits) return least <= most ? std::optional(length(least)) : std::nullopt;
    int32_t from = s.exponent, to = s.exponent;
    const uint32_t further = std::min(length(kMaxExponent), kMostExponentDigits - s.digits);
    for (uint32_t k = 0; k <= further; ++k, from *= 10, to = to * 10 + 9)
        if (std::max(from, least) <= std::min(to, most)) return k;
    return std::nullopt;
}

uint32_t Numbers::shortest(const NumberState& s) const {
    uint32_t work = 0;
    return shortest(s, UINT16_MAX, work);
}

// A sign, the digits with their point, and an exponent with its letter and sign.
uint32_t Numbers::longest(const NumberState& s) const {
    const NumberRule& rule = rules_[s.rule];
    const uint32_t exponent = rule.forms & NumberRule::kExponent ? 2 + kMostExponentDigits : 0;
    return 1 + std::max(rule.integer_digits, 1u) + 1 + rule.fraction_digits + exponent;
}

// The digits that bring a value to an end and past the first of its digits that differ, and to a power of ten, besides
// a sign, a digit, a point with another one, and an exponent with its letter and sign.
uint32_t Numbers::most_to_finish(const NumberState& s) const {
    constexpr uint64_t kDigits = 4;
    const NumberRule& rule = rules_[s.rule];
    if (rule.divisor > 1) return longest(s);
    uint64_t ends = 0;
    for (const NumberSide& side : rule.sides) {
        if (!side.any) continue;
        uint64_t own = side.high.there() ? static_cast<uint64_t>(std::max(0, -side.high.exponent)) : 0;
        if (side.low.there())
            own +=
                static_cast<uint64_t>(std::abs(side.low.exponent)) + side.low.digits.size() + side.high.digits.size();
        ends = std::max(ends, own);
    }
    const uint64_t exponent = rule.forms & NumberRule::kExponent ? 2 + static_cast<uint64_t>(length(kMaxExponent)) : 0;
    const uint64_t most = kDigits + exponent + ends + static_cast<uint64_t>(std::max(0, rule.power));
    return static_cast<uint32_t>(std::min<uint64_t>(most, longest(s)));
}

// `shortest` if it is at most `most`, else anything above `most`. Before the first digit other than 0 every byte is
// tried, after it every number of bytes.
uint32_t Numbers::shortest(const NumberState& s, uint32_t most, uint32_t& work) const {
    constexpr uint32_t kMostWork = 20'000;
    if (accepts(s)) return 0;
    if (s.phase == NumberPhase::kExponent)
        return s.most >= 0 ? length(std::max<int32_t>(0, s.least)) : 1 + length(-s.most);
    if (s.phase > NumberPhase::kExponent) return exponent_digits(s).value_or(most + 1);
    if (s.digits) {
        for (uint32_t bytes = 1; bytes <= most; ++bytes)
            if (ends_in(s, bytes, work) || work > kMostWork) return bytes;
        return most + 1;
    }
    uint32_t best = most + 1;
    for (uint8_t byte : {'e', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '0', '-'}) {
        if (best <= 1) break;
        if (auto next = step(s, byte); next && live(*next)) best = std::min(best, 1 + shortest(*next, best - 2, work));
    }
    return best;
}

// Whether a text ends `bytes` bytes after a digit other than 0: digits, perhaps a point and digits, perhaps an
// exponent.
bool Numbers::ends_in(const NumberState& s, uint32_t bytes, uint32_t& work) const {
    using enum NumberPhase;
    const NumberRule& rule = rules_[s.rule];
    if (!side(s).any) return false;
    const bool in_integer = s.phase == kInteger;
    const uint32_t most_integer = in_integer ? rule.integer_digits - s.digits : 0,
                   most_decimals = rule.fraction_digits - s.fraction;
    const uint32_t point = in_integer ? 1 : 0;
    const int32_t first = s.digits - 1 - s.fraction;
    // The mantissa grows by `integer` digits, and by `decimals` digits after the point, `used` bytes in all.
    auto ends = [&](uint32_t integer, uint32_t decimals, uint32_t used) {
        ++work;
        const auto top = first + static_cast<int32_t>(integer);
        const uint32_t more = integer + decimals;
        if (used == bytes) {
            const bool whole = in_integer && !decimals;
            if (!(rule.forms & (whole ? NumberRule::kWhole : NumberRule::kPoint))) return false;
            return reaches(s, more, top - static_cast<int32_t>(s.digits + more) + 1, top, whole);
        }
        return bytes - used >= 2 && rule.forms & NumberRule::kExponent &&
               ends_with_exponent(s, more, top, bytes - used - 1);
    };
    for (uint32_t integer = 0; integer <= std::min(most_integer, bytes); ++integer) {
        if (s.phase != kPoint && ends(integer, 0, integer)) return true;
        for (uint32_t decimals = 1; decimals <= most_decimals && integer + point + decimals <= bytes; ++decimals)
            if (ends(integer, decimals, integer + point + decimals)) return true;
    }
    return false;
}

// Whether `more` further digits, the first digit of all worth 10^first, and an exponent of `bytes` bytes make a value
// inside.
bool Numbers::ends_with_exponent(const NumberState& s, uint32_t more, int32_t first, uint32_t bytes) const {
    const NumberSide& ends = side(s);
    const int32_t last = first - static_cast<int32_t>(s.digits + more) + 1;
    const int32_t least[] = {0, 10, 100, 1000, 10'000};
    auto some = [&](int32_t low, int32_t high) {  // of these exponents
        const int32_t inside = std::min(high, ends.high.there() ? ends.high.exponent - first - 1 : high);
        for (int32_t exponent : {inside, ends.high.exponent - first, ends.low.exponent - first})
            if (low <= exponent && exponent <= high && reaches(s, more, last + exponent, first + exponent, false))
                return true;
        return false;
    };
    constexpr auto kMost = static_cast<int32_t>(kMaxExponent);
    if (bytes <= 4 && some(least[bytes - 1], std::min(least[bytes] - 1, kMost))) return true;
    return bytes >= 2 && bytes <= 5 && some(-std::min(least[bytes - 1] - 1, kMost), -least[bytes - 2]);
}

}  // namespace schemagen
