#include "json/number_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace schemagen {

namespace {

constexpr uint32_t kMostDigits = 1000;  // before and after the point: more than any text has
constexpr size_t kEndDigits = 24;
constexpr int kMantissaBits = 53, kLeastPower = -1074;
constexpr double kDense = 9007199254740992.0;  // integers up to 2^53 are floats

// A magnitude: digits of values 0 to 9, and the power of ten of the last one.
struct Decimal {
    std::string digits;
    int32_t exponent = 0;

    void multiply(uint32_t factor) {
        uint64_t carry = 0;
        for (size_t k = digits.size(); k-- > 0; carry /= 10) {
            carry += uint64_t{static_cast<uint8_t>(digits[k])} * factor;
            digits[k] = static_cast<char>(carry % 10);
        }
        for (; carry; carry /= 10) digits.insert(digits.begin(), static_cast<char>(carry % 10));
    }
    void multiply(uint32_t base, int32_t times, int32_t chunk) {
        uint32_t factor = 1;
        for (int32_t k = 0; k < chunk; ++k) factor *= base;
        for (; times >= chunk; times -= chunk) multiply(factor);
        for (; times > 0; --times) multiply(base);
    }
    void trim() {
        while (!digits.empty() && !digits.back()) digits.pop_back(), ++exponent;
    }
};

// n * 2^power, exactly.
Decimal decimal_of(uint64_t n, int32_t power) {
    Decimal out;
    for (; n; n /= 10) out.digits.insert(out.digits.begin(), static_cast<char>(n % 10));
    if (power >= 0) {
        out.multiply(2, power, 24);
    } else {
        out.multiply(5, -power, 10);
        out.exponent = power;
    }
    out.trim();
    return out;
}

// A float above 0 as mantissa * 2^power, with the power that its neighbours have, too.
struct Parts {
    uint64_t mantissa;
    int32_t power;
};
Parts parts_of(double magnitude) {
    int exponent = 0;
    const double fraction = std::frexp(magnitude, &exponent);
    const int power = std::max(exponent - kMantissaBits, kLeastPower);
    return {static_cast<uint64_t>(std::ldexp(fraction, exponent - power)), power};
}

// An end with few digits, further out if it needs more.
NumberEnd end_of(Decimal value, bool upper, bool open) {
    const auto first = value.exponent + static_cast<int32_t>(value.digits.size()) - 1;
    if (value.digits.size() <= kEndDigits) return {std::move(value.digits), first, open};
    value.digits.resize(kEndDigits);
    value.exponent = first - static_cast<int32_t>(kEndDigits) + 1;
    if (upper) {
        size_t k = kEndDigits;
        for (; k > 0 && value.digits[k - 1] == 9; --k) value.digits[k - 1] = 0;
        if (k == 0)
            value.digits.insert(value.digits.begin(), 1);
        else
            ++value.digits[k - 1];
    }
    value.trim();
    const auto moved = value.exponent + static_cast<int32_t>(value.digits.size()) - 1;
    return {std::move(value.digits), moved, false};
}

// The decimals that are read as a float above 0.
NumberSide readings(double magnitude) {
    const auto [mantissa, power] = parts_of(magnitude);
    const bool open = mantissa & 1;  // a middle is read as the neighbour whose mantissa is even
    const bool is_first = mantissa == uint64_t{1} << (kMantissaBits - 1) && power > kLeastPower;  // of its power
    const Decimal low = is_first ? decimal_of(4 * mantissa - 1, power - 2) : decimal_of(2 * mantissa - 1, power - 1);
    return {true, end_of(low, false, open), end_of(decimal_of(2 * mantissa + 1, power - 1), true, open)};
}

std::string integer_text(bool negative, const std::string& digits, int64_t zeros) {
    constexpr int64_t kPlainDigits = 40;
    std::string out = negative ? "-" : "";
    const auto length = static_cast<int64_t>(digits.size());
    out += digits;
    if (zeros + length <= kPlainDigits) return out + std::string(static_cast<size_t>(zeros), '0');
    return out + "e" + std::to_string(zeros);
}

std::string float_text(bool negative, double magnitude) {
    if (magnitude == 0) return "0";
    auto [mantissa, power] = parts_of(magnitude);
    for (; !(mantissa & 1); mantissa /= 2) ++power;
    if (power < 0) return (negative ? "-" : "") + std::to_string(mantissa) + "p" + std::to_string(power);
    Decimal value = decimal_of(mantissa, power);
    for (char& digit : value.digits) digit = static_cast<char>(digit + '0');
    return integer_text(negative, value.digits, value.exponent);
}

// The number after a mark of canonical text; 0 if there is none.
int32_t exponent_of(std::string_view canonical, size_t mark) {
    int32_t exponent = 0;
    if (mark < canonical.size())
        std::from_chars(canonical.data() + mark + 1, canonical.data() + canonical.size(), exponent);
    return exponent;
}

}  // namespace

std::string canonical_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    const size_t mark = std::min(text.find_first_of("eE"), text.size());
    const std::string_view mantissa = text.substr(negative, mark - negative);
    int64_t exponent = 0;
    if (mark < text.size()) {
        std::string_view written = text.substr(mark + 1);
        const bool minus = written.starts_with('-');
        if (minus || written.starts_with('+')) written.remove_prefix(1);
        constexpr int64_t kMost = 1'000'000;
        for (const char digit : written) exponent = std::min(exponent * 10 + (digit - '0'), kMost);
        if (minus) exponent = -exponent;
    }
    std::string digits;
    for (const char c : mantissa)
        if (c != '.' && (c != '0' || !digits.empty())) digits += c;
    const size_t point = mantissa.find('.');
    if (point != std::string_view::npos) exponent -= static_cast<int64_t>(mantissa.size() - point - 1);
    if (digits.empty()) return "0";
    if (point == std::string_view::npos && mark == text.size()) {
        const size_t last = digits.find_last_not_of('0') + 1;
        const auto zeros = static_cast<int64_t>(digits.size() - last);
        return integer_text(negative, digits.substr(0, last), zeros);
    }
    // Without a point, for that depends on the locale.
    return float_text(negative, std::strtod((digits + "e" + std::to_string(exponent)).c_str(), nullptr));
}

std::vector<NumberRule> spellings(std::string_view canonical) {
    NumberRule rule{.integer_digits = kMostDigits,
                    .fraction_digits = kMostDigits,
                    .forms = NumberRule::kWhole | NumberRule::kPoint | NumberRule::kExponent};
    if (canonical == "0") {
        rule.zero = true;
        for (NumberSide& side : rule.sides) {
            side.any = true;
            side.high = end_of(decimal_of(1, kLeastPower - 1), true, false);
        }
        return {rule};
    }
    const bool negative = canonical.starts_with('-');
    const std::string magnitude(canonical.substr(negative));
    NumberSide& side = rule.sides[negative];
    if (const size_t mark = magnitude.find('p'); mark != std::string::npos) {
        const double mantissa = std::strtod(magnitude.substr(0, mark).c_str(), nullptr);
        side = readings(std::ldexp(mantissa, exponent_of(magnitude, mark)));
        return {rule};
    }
    const double nearest = std::strtod(magnitude.c_str(), nullptr);
    const bool is_float = std::isfinite(nearest) && float_text(false, nearest) == magnitude;
    if (is_float && nearest < kDense) {
        side = readings(nearest);
        return {rule};
    }
    NumberRule whole = rule;
    whole.forms = NumberRule::kWhole;
    const size_t mark = std::min(magnitude.find('e'), magnitude.size());
    Decimal exact{magnitude.substr(0, mark), exponent_of(magnitude, mark)};
    for (char& digit : exact.digits) digit = static_cast<char>(digit - '0');
    exact.trim();
    const auto first = exact.exponent + static_cast<int32_t>(exact.digits.size()) - 1;
    whole.sides[negative] = {true, {exact.digits, first, false}, {exact.digits, first, false}};
    if (!is_float) return {whole};
    side = readings(nearest);
    rule.forms &= ~uint32_t{NumberRule::kWhole};
    return {whole, rule};
}

}  // namespace schemagen
