// Canonical numbers, and their texts as rules, against numbers computed by hand; the automaton of a rule against
// arithmetic on decimals.
#include <algorithm>
#include <optional>
#include <random>
#include <string>

#include "json/number_values.hpp"
#include "regex/kernel.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

bool spells(std::string_view value, std::string_view text) {
    Kernel kernel;
    std::vector<NodeId> nodes;
    for (const NumberRule& rule : spellings(canonical_number(value))) nodes.push_back(kernel.number(rule));
    NodeId node = kernel.alternation(nodes);
    for (char c : text) node = kernel.derivative(node, static_cast<uint8_t>(c));
    return kernel.nullable(node);
}

}  // namespace

TEST(numbers_that_are_read_alike_have_one_canonical_text) {
    for (const auto& [one, other] :
         std::vector<std::pair<std::string, std::string>>{{"1", "1.0"},
                                                          {"1", "10e-1"},
                                                          {"-1.5", "-15E-1"},
                                                          {"0", "-0.0"},
                                                          {"0", "1e-400"},
                                                          {"0.1", "0.10000000000000000001"},
                                                          {"9007199254740992", "9007199254740993.0"},
                                                          {"99999999999999991611392", "1e23"},
                                                          {"100000", "1e+05"},
                                                          {"5e-324", "4e-324"}})
        CHECK(canonical_number(one) == canonical_number(other));
    for (const auto& [one, other] :
         std::vector<std::pair<std::string, std::string>>{{"1", "-1"},
                                                          {"0.1", "0.10000000000000002"},
                                                          {"9007199254740992", "9007199254740993"},
                                                          {"100000000000000000000000", "1e23"},
                                                          {"0", "5e-324"},
                                                          {"1", "10"}})
        CHECK(canonical_number(one) != canonical_number(other));
}

TEST(the_texts_of_a_number_are_those_that_are_read_as_it) {
    const std::vector<std::string> texts{"0",
                                         "-0",
                                         "-0.0",
                                         "0e5",
                                         "1e-400",
                                         "2.4e-324",
                                         "2.6e-324",
                                         "5e-324",
                                         "4e-324",
                                         "1",
                                         "1.0",
                                         "1.000000000000000000001",
                                         "1.0000000000000002",
                                         "0.1e1",
                                         "100e-2",
                                         "-1",
                                         "0.1",
                                         "0.10000000000000000001",
                                         "0.1000000000000000055511151231257827",
                                         "9007199254740991",
                                         "9007199254740992",
                                         "9007199254740993",
                                         "9007199254740992.0",
                                         "9007199254740993.0",
                                         "9007199254740994.0",
                                         "9007199254740995.0",
                                         "9007199254740996.0",
                                         "9.007199254740993e15",
                                         "1e23",
                                         "1E+23",
                                         "100000000000000000000000",
                                         "99999999999999991611392",
                                         "1.7976931348623157e308",
                                         "2.2250738585072014e-308",
                                         "2.225073858507201e-308",
                                         "0.5",
                                         "0.49999999999999994",
                                         "0.49999999999999999"};
    for (const std::string& value : texts)
        for (const std::string& text : texts)
            CHECK(spells(value, text) == (canonical_number(value) == canonical_number(text)));
}

namespace {

// The value of a text as a multiple of 10^-kScale, computed digit by digit; empty for a text that is no number.
struct Decimal {
    static constexpr int kScale = 14;
    __int128 value = 0;
    size_t integer_digits = 0, fraction_digits = 0, exact_digits = 0;
    bool has_point = false, has_exponent = false;
};

__int128 power_of_ten(int exponent) {
    __int128 out = 1;
    for (; exponent > 0; --exponent) out *= 10;
    return out;
}

std::optional<Decimal> decimal(std::string_view text) {
    Decimal out;
    size_t at = 0;
    const auto digits = [&] {
        const size_t begin = at;
        while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
        return text.substr(begin, at - begin);
    };
    const auto take = [&](std::string_view bytes) {
        const bool is = at < text.size() && bytes.find(text[at]) != std::string_view::npos;
        at += is;
        return is;
    };
    const bool negative = take("-");
    std::string all(digits());
    if (all.empty() || (all.size() > 1 && all[0] == '0')) return std::nullopt;
    out.integer_digits = all.size();
    out.has_point = take(".");
    if (out.has_point) {
        const std::string_view fraction = digits();
        if (fraction.empty()) return std::nullopt;
        out.fraction_digits = fraction.size();
        all += fraction;
    }
    int exponent = 0;
    out.has_exponent = take("eE");
    if (out.has_exponent) {
        const bool below = take("+-") && text[at - 1] == '-';
        const std::string_view shown = digits();
        if (shown.empty()) return std::nullopt;
        exponent = std::stoi(std::string(shown)) * (below ? -1 : 1);
    }
    if (at != text.size()) return std::nullopt;
    const size_t first = std::min(all.find_first_not_of('0'), all.size()), last = all.find_last_not_of('0') + 1;
    out.exact_digits = first < last ? last - first : 0;
    for (char digit : all) out.value = out.value * 10 + (digit - '0');
    if (negative) out.value = -out.value;
    out.value *= power_of_ten(Decimal::kScale + exponent - static_cast<int>(out.fraction_digits));
    return out;
}

__int128 value_of(const NumberEnd& end) {
    __int128 out = 0;
    for (char digit : end.digits) out = out * 10 + digit;
    return out * power_of_ten(Decimal::kScale + end.exponent + 1 - static_cast<int>(end.digits.size()));
}

bool is_inside(const NumberRule& rule, const Decimal& number) {
    if (number.value == 0) return rule.zero;
    const NumberSide& side = rule.sides[number.value < 0];
    const __int128 size = number.value < 0 ? -number.value : number.value;
    if (!side.any) return false;
    if (side.low.there() && (size < value_of(side.low) || (side.low.open && size == value_of(side.low)))) return false;
    if (side.high.there() && (size > value_of(side.high) || (side.high.open && size == value_of(side.high))))
        return false;
    return !rule.divisor ||
           size % (static_cast<__int128>(rule.divisor) * power_of_ten(Decimal::kScale + rule.power)) == 0;
}

bool is_allowed(const NumberRule& rule, std::string_view text) {
    const std::optional<Decimal> number = decimal(text);
    if (!number || !is_inside(rule, *number)) return false;
    const uint32_t form = number->has_exponent ? NumberRule::kExponent
                          : number->has_point  ? NumberRule::kPoint
                                               : NumberRule::kWhole;
    if (!(rule.forms & form) || number->integer_digits > std::max(rule.integer_digits, 1u) ||
        number->fraction_digits > rule.fraction_digits)
        return false;
    return form == NumberRule::kWhole || !rule.exact_digits || number->exact_digits <= rule.exact_digits;
}

class NumberRules {
public:
    explicit NumberRules(unsigned seed) : random_(seed) {}
    uint32_t drawn(uint32_t end) { return random_() % end; }
    NumberRule rule() {
        NumberRule out;
        out.forms = 1 + drawn(7);
        for (NumberSide& side : out.sides) {
            side.any = drawn(4) != 0;
            if (drawn(2)) side.low = end();
            if (drawn(2) || (out.forms & NumberRule::kExponent)) side.high = end();
        }
        out.zero = drawn(2);
        if (drawn(2)) {
            do out.divisor = 1 + drawn(200);
            while (out.divisor % 10 == 0);
            out.power = static_cast<int32_t>(drawn(4)) - 3;
        }
        out.integer_digits = 1 + drawn(5);
        out.fraction_digits = drawn(4);
        if (drawn(4) == 0) out.exact_digits = 1 + drawn(5);
        return out;
    }
    // A number, or nearly one.
    std::string text() {
        std::string out = drawn(3) ? "" : "-";
        for (uint32_t count = 1 + drawn(4); count > 0; --count) out += digit();
        if (drawn(2)) {
            out += '.';
            for (uint32_t count = drawn(4); count > 0; --count) out += digit();
        }
        if (drawn(3) == 0) out += std::string(drawn(2) ? "e" : "E-") + (drawn(4) ? "" : "0") + digit_up_to(6);
        return out;
    }

    // An end of a rule, written out: where it is open, texts nearby do not show it.
    std::string end_of(const NumberRule& rule) {
        const bool negative = drawn(2);
        const NumberEnd& end = drawn(2) ? rule.sides[negative].low : rule.sides[negative].high;
        if (!end.there()) return text();
        std::string digits;
        for (char digit : end.digits) digits += static_cast<char>('0' + digit);
        const auto whole = static_cast<size_t>(std::max(end.exponent + 1, 0));
        if (end.exponent < 0)
            digits = "0." + std::string(static_cast<size_t>(-end.exponent - 1), '0') + digits;
        else if (digits.size() <= whole)
            digits.resize(whole, '0');
        else
            digits.insert(whole, ".");
        return (negative ? "-" : "") + digits;
    }

private:
    char digit() { return static_cast<char>('0' + (drawn(3) ? drawn(10) : 0)); }
    char digit_up_to(uint32_t most) { return static_cast<char>('0' + drawn(most + 1)); }
    NumberEnd end() {
        NumberEnd out;
        out.digits = {static_cast<char>(1 + drawn(9))};
        if (drawn(2)) out.digits += {static_cast<char>(drawn(10)), static_cast<char>(1 + drawn(9))};
        out.exponent = static_cast<int32_t>(drawn(8)) - 3;
        out.open = drawn(2);
        return out;
    }

    std::mt19937 random_;
};

}  // namespace

TEST(numbers_accept_the_texts_of_the_values_inside) {
    size_t accepted = 0;
    NumberRules random(5);
    for (int round = 0; round < 1500; ++round) {
        const NumberRule rule = random.rule();
        Numbers numbers;
        const uint32_t id = numbers.rule(rule);
        for (int count = 0; count < 40; ++count) {
            const std::string text = random.drawn(4) ? random.text() : random.end_of(rule);
            std::vector<NumberState> states{{.rule = id}};
            for (char byte : text) {
                const auto next = numbers.step(states.back(), static_cast<uint8_t>(byte));
                if (!next) break;
                states.push_back(*next);
            }
            const bool read = states.size() == text.size() + 1, accepts = read && numbers.accepts(states.back());
            CHECK(accepts == is_allowed(rule, text));
            accepted += accepts;
            for (size_t at = 0; accepts && at < states.size(); ++at) {
                CHECK(numbers.live(states[at]));
                CHECK(numbers.shortest(states[at]) <= text.size() - at);
                CHECK(numbers.shortest(states[at]) <= numbers.most_to_finish(states[at]));
                CHECK(numbers.longest(states[at]) >= text.size());
            }
        }
    }
    CHECK(accepted > 2000);
}

// A walk that takes only bytes after which the state is live comes to an end, and that is a number inside.
TEST(live_numbers_can_be_finished) {
    NumberRules random(6);
    size_t ended = 0;
    for (int round = 0; round < 1500; ++round) {
        NumberRule rule = random.rule();
        rule.forms &= ~uint32_t{NumberRule::kExponent};
        if (!rule.forms) continue;
        Numbers numbers;
        NumberState state{.rule = numbers.rule(rule)};
        if (!numbers.live(state)) continue;
        std::string text;
        while (!numbers.accepts(state) || random.drawn(3)) {
            std::vector<std::pair<char, NumberState>> open;
            for (char byte : std::string_view("-.0123456789"))
                if (const auto next = numbers.step(state, static_cast<uint8_t>(byte)); next && numbers.live(*next))
                    open.emplace_back(byte, *next);
            if (open.empty()) break;
            const auto& [byte, next] = open[random.drawn(static_cast<uint32_t>(open.size()))];
            text += byte;
            state = next;
            CHECK(numbers.shortest(state) <= numbers.most_to_finish(state));
        }
        CHECK(numbers.accepts(state) && is_allowed(rule, text));
        ++ended;
    }
    CHECK(ended > 500);
}

}  // namespace schemagen
