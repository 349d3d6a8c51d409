// Canonical numbers, and their texts as rules, against numbers computed by hand.
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

}  // namespace schemagen
