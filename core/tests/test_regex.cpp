// Derivatives and the lazy automaton against texts written out, and the shortest numbers against all of them.
#include <string>

#include "regex/lazy_dfa.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

bool matches(Kernel& kernel, NodeId node, std::string_view text) {
    for (char c : text) node = kernel.derivative(node, static_cast<uint8_t>(c));
    return kernel.nullable(node);
}

NodeId letters(Kernel& kernel, uint32_t low, uint32_t high) { return kernel.chars(Encoding::kUtf8, {{low, high}}); }

}  // namespace

TEST(equal_terms_are_equal_nodes) {
    Kernel kernel;
    const NodeId a = kernel.literals({"a"}), b = kernel.literals({"b"});
    CHECK(kernel.alternation({a, b}) == kernel.alternation({b, a, a}));
    CHECK(kernel.concat(kEpsilon, a) == a);
    CHECK(kernel.concat(a, kEmpty) == kEmpty);
    CHECK(kernel.complement(kernel.complement(a)) == a);
}

TEST(a_character_is_one_step_however_many_bytes_it_has) {
    Kernel kernel;
    const NodeId greek = kernel.repeat(letters(kernel, 0x3B1, 0x3C9), 2, 2);
    CHECK(matches(kernel, greek, "αβ"));
    CHECK(!matches(kernel, greek, "α"));
    CHECK(!matches(kernel, greek, "αz"));
    const NodeId other = kernel.conjunction({greek, kernel.complement(kernel.literals({"αβ"}))});
    CHECK(!matches(kernel, other, "αβ"));
    CHECK(matches(kernel, other, "βα"));
    CHECK(kernel.is_empty(kernel.conjunction({other, kernel.literals({"αβ"})})));
}

TEST(a_product_of_languages_tells_them_apart) {
    Kernel kernel;
    LazyDfa dfa(kernel);
    const uint32_t start =
        dfa.intern({kernel.literals({"ab"}), kernel.repeat(letters(kernel, 'a', 'b'), 0, kUnbounded)}, false);
    uint32_t state = dfa.next(start, 'a');
    CHECK(dfa.state(state).alive.count() == 2 && dfa.state(state).accepts.count() == 1);
    CHECK(dfa.bytes_to_accept(state, 0) == 1 && dfa.bytes_to_accept(state, 1) == 0);
    state = dfa.next(state, 'a');
    CHECK(dfa.state(state).alive.count() == 1);
    CHECK(dfa.next(state, 'c') == 0);
}

// Multiples of 7 from 100 to 999, as whole numbers.
TEST(the_shortest_number_is_found_by_arithmetic) {
    Numbers numbers;
    NumberRule rule;
    rule.sides[0] = {true, {"\x01", 2, false}, {"\x09\x09\x09", 2, false}};
    rule.divisor = 7;
    rule.integer_digits = 10;
    const NumberState start{.rule = numbers.rule(rule)};
    CHECK(numbers.shortest(start) == 3);
    for (int value = 100; value < 1000; ++value) {
        NumberState state = start;
        bool read = true;
        for (char digit : std::to_string(value)) {
            const auto next = numbers.step(state, static_cast<uint8_t>(digit));
            read = next.has_value();
            if (!read) break;
            state = *next;
        }
        CHECK((read && numbers.accepts(state)) == (value % 7 == 0));
    }
    rule.integer_digits = 3;  // 10 and one more digit: 105; 100 is at its end
    const NumberState ten = *numbers.step(*numbers.step({.rule = numbers.rule(rule)}, '1'), '0');
    CHECK(numbers.live(ten) && numbers.shortest(ten) == 1);
    CHECK(!numbers.live(*numbers.step(ten, '0')));
}

}  // namespace schemagen
