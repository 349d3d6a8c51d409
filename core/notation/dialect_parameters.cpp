#include "notation/dialect_parameters.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "notation/python_repr.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

using Name = DialectFunction::Name;

constexpr uint32_t kBits = 64;

// The arguments of a function: the number of a bit, a value, a range of bits, conditions.
enum class Arguments : uint8_t { kNone, kBit, kValue, kRange, kRangeAndValue, kCondition, kTwoConditions };

struct Signature {
    std::string_view name;
    Name function;
    Arguments arguments;
};

constexpr Signature kValues[] = {
    {"set_bit", Name::kSetBit, Arguments::kBit},   {"clear_bit", Name::kClearBit, Arguments::kBit},
    {"bit_and", Name::kBitAnd, Arguments::kValue}, {"bit_or", Name::kBitOr, Arguments::kValue},
    {"incr", Name::kIncrement, Arguments::kRange}, {"decr", Name::kDecrement, Arguments::kRange},
};

constexpr Signature kConditions[] = {
    {"true", Name::kTrue, Arguments::kNone},
    {"bit_clear", Name::kBitClear, Arguments::kBit},
    {"bit_set", Name::kBitSet, Arguments::kBit},
    {"is_ones", Name::kIsOnes, Arguments::kRange},
    {"is_zeros", Name::kIsZeros, Arguments::kRange},
    {"and", Name::kAnd, Arguments::kTwoConditions},
    {"or", Name::kOr, Arguments::kTwoConditions},
    {"not", Name::kNot, Arguments::kCondition},
    {"eq", Name::kEq, Arguments::kRangeAndValue},
    {"ne", Name::kNe, Arguments::kRangeAndValue},
    {"lt", Name::kLt, Arguments::kRangeAndValue},
    {"le", Name::kLe, Arguments::kRangeAndValue},
    {"gt", Name::kGt, Arguments::kRangeAndValue},
    {"ge", Name::kGe, Arguments::kRangeAndValue},
    {"bit_count_eq", Name::kCountEq, Arguments::kRangeAndValue},
    {"bit_count_ne", Name::kCountNe, Arguments::kRangeAndValue},
    {"bit_count_lt", Name::kCountLt, Arguments::kRangeAndValue},
    {"bit_count_le", Name::kCountLe, Arguments::kRangeAndValue},
    {"bit_count_gt", Name::kCountGt, Arguments::kRangeAndValue},
    {"bit_count_ge", Name::kCountGe, Arguments::kRangeAndValue},
};

uint64_t ones(uint32_t count) { return count ? ~uint64_t{0} >> (kBits - count) : 0; }

class FunctionReader {
public:
    explicit FunctionReader(DialectScanner& scanner) : scanner_(scanner) {}

    DialectFunction value() {
        scanner_.skip_spaces();
        DialectFunction found;
        found.place = scanner_.place();
        if (scanner_.sees_one_of("0123456789")) {
            found.name = Name::kNumber;
            found.value = integer();
            return found;
        }
        found.name = Name::kParameter;
        return scanner_.take("_") ? found : function(kValues, "a number, '_' or a function of the parameter", 0);
    }

    DialectFunction condition(uint32_t depth) { return function(kConditions, "a condition on the parameter", depth); }

private:
    DialectFunction function(std::span<const Signature> known, const char* wanted, uint32_t depth) {
        poll();
        scanner_.skip_spaces();
        DialectFunction found;
        found.place = scanner_.place();
        const std::string_view name = scanner_.function();
        if (name.empty()) scanner_.refuse_unexpected(wanted);
        const auto signature = std::ranges::find(known, name, &Signature::name);
        if (signature == known.end()) refuse_unknown(found.place, name, known);
        if (depth == DialectLimits::kNesting)
            stop(found.place,
                 "conditions are nested " + std::to_string(depth + 1) + " deep, limit " +
                     std::to_string(DialectLimits::kNesting),
                 "", "nest them less");
        found.name = signature->function;
        if (signature->arguments == Arguments::kNone && !scanner_.sees("(")) return found;
        expect("(");
        read_arguments(found, signature->arguments, depth);
        expect(")");
        return found;
    }

    [[noreturn]] static void refuse_unknown(NotationPlace place, std::string_view name,
                                            std::span<const Signature> known) {
        std::string names;
        for (const Signature& each : known) (names += names.empty() ? "" : ", ") += each.name;
        refuse(place, python_repr(name) + " is not a function", "", "use one of " + names);
    }

    void read_arguments(DialectFunction& found, Arguments arguments, uint32_t depth) {
        scanner_.skip_spaces();
        switch (arguments) {
            case Arguments::kNone: return;
            case Arguments::kBit: found.value = bit(); return;
            case Arguments::kValue: found.value = integer(); return;
            case Arguments::kRange: return read_range(found);
            case Arguments::kRangeAndValue:
                read_range(found);
                expect(",");
                scanner_.skip_spaces();
                found.value = integer();
                return;
            case Arguments::kCondition: found.conditions.push_back(condition(depth + 1)); return;
            case Arguments::kTwoConditions:
                found.conditions.push_back(condition(depth + 1));
                expect(",");
                found.conditions.push_back(condition(depth + 1));
                return;
        }
    }

    uint64_t bit() {
        const NotationPlace place = scanner_.place();
        const uint64_t value = integer();
        if (value >= kBits)
            refuse(place, "bit " + std::to_string(value), "parameters have 64 bits", "count them from 0");
        return value;
    }

    uint64_t integer() {
        const NotationPlace place = scanner_.place();
        const std::string_view found = scanner_.bit_integer();
        if (found.empty()) scanner_.refuse_unexpected("a number");
        const bool is_hexadecimal = found.starts_with("0x");
        const std::string_view digits = found.substr(is_hexadecimal ? 2 : 0);
        uint64_t value = 0;
        const auto read =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hexadecimal ? 16 : 10);
        if (read.ec != std::errc())
            refuse(place, std::string(found) + " is too large", "parameters have 64 bits", "use a smaller one");
        return value;
    }

    // Read [x:y], or _ for all bits.
    void read_range(DialectFunction& found) {
        const uint32_t begin = scanner_.at;
        if (scanner_.take("_")) return;
        uint32_t ends[2] = {};
        const auto is_end = [&](uint32_t& end) {
            scanner_.skip_spaces();
            const std::string_view digits = scanner_.digits();
            std::from_chars(digits.data(), digits.data() + digits.size(), end);
            scanner_.skip_spaces();
            return !digits.empty() && digits.size() <= 2;
        };
        const std::string_view source = scanner_.rest();
        if (!(scanner_.take("[") && is_end(ends[0]) && scanner_.take(":") && is_end(ends[1]) && scanner_.take("]"))) {
            scanner_.at = begin;
            scanner_.refuse_unexpected("'_' or a range of bits", "write [x:y]");
        }
        if (ends[0] >= ends[1] || ends[1] > kBits)
            refuse(scanner_.place(begin), "the bits " + std::string(source.substr(0, scanner_.at - begin)), "",
                   "write [x:y] with x < y <= 64");
        found.first_bit = ends[0];
        found.end_bit = ends[1];
    }

    void expect(std::string_view sign) {
        scanner_.skip_spaces();
        if (!scanner_.take(sign)) scanner_.refuse_unexpected(python_repr(sign));
    }

    DialectScanner& scanner_;
};

}  // namespace

DialectFunction read_value(DialectScanner& scanner) { return FunctionReader(scanner).value(); }

DialectFunction read_condition(DialectScanner& scanner) { return FunctionReader(scanner).condition(0); }

uint64_t value_of(const DialectFunction& function, uint64_t parameter) {
    const uint64_t all = ones(function.end_bit - function.first_bit);
    const uint64_t bits = parameter >> function.first_bit & all, step = uint64_t{1} << function.first_bit;
    switch (function.name) {
        case Name::kNumber: return function.value;
        case Name::kSetBit: return parameter | uint64_t{1} << function.value;
        case Name::kClearBit: return parameter & ~(uint64_t{1} << function.value);
        case Name::kBitAnd: return parameter & function.value;
        case Name::kBitOr: return parameter | function.value;
        case Name::kIncrement: return bits == all ? parameter : parameter + step;
        case Name::kDecrement: return bits ? parameter - step : parameter;
        default: return parameter;
    }
}

bool needs_parameter(const DialectFunction& condition) {
    switch (condition.name) {
        case Name::kTrue:
        case Name::kAnd:
        case Name::kOr:
        case Name::kNot: return std::ranges::any_of(condition.conditions, needs_parameter);
        default: return true;
    }
}

bool holds(const DialectFunction& condition, uint64_t parameter) {
    const auto each_holds = [&](const DialectFunction& each) { return holds(each, parameter); };
    const uint64_t all = ones(condition.end_bit - condition.first_bit);
    const uint64_t bits = parameter >> condition.first_bit & all, value = condition.value;
    const auto count = static_cast<uint64_t>(std::popcount(bits));
    switch (condition.name) {
        case Name::kBitClear: return !(parameter >> value & 1);
        case Name::kBitSet: return parameter >> value & 1;
        case Name::kIsOnes: return bits == all;
        case Name::kIsZeros: return bits == 0;
        case Name::kAnd: return std::ranges::all_of(condition.conditions, each_holds);
        case Name::kOr: return std::ranges::any_of(condition.conditions, each_holds);
        case Name::kNot: return !holds(condition.conditions[0], parameter);
        case Name::kEq: return bits == value;
        case Name::kNe: return bits != value;
        case Name::kLt: return bits < value;
        case Name::kLe: return bits <= value;
        case Name::kGt: return bits > value;
        case Name::kGe: return bits >= value;
        case Name::kCountEq: return count == value;
        case Name::kCountNe: return count != value;
        case Name::kCountLt: return count < value;
        case Name::kCountLe: return count <= value;
        case Name::kCountGt: return count > value;
        case Name::kCountGe: return count >= value;
        default: return true;
    }
}

}  // namespace schemagen
