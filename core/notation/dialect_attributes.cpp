#include <algorithm>
#include <array>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "notation/dialect_reader.hpp"
#include "notation/python_repr.hpp"
#include "util/work.hpp"

namespace schemagen {

using Kind = DialectNode::Kind;

namespace {

// The attributes that have a value; `capture` may be without.
constexpr std::array<std::string_view, 7> kWithValue = {"stop",        "suffix",    "stop_capture", "capture",
                                                        "temperature", "max_chars", "max_tokens"};

}  // namespace

// Read the rest of `[lazy, stop="...", ...]`. Groups in it are nested in those around the rule, too.
DialectAttributes DialectReader::attributes(std::string_view rule, uint32_t depth) {
    DialectAttributes given;
    std::vector<std::string_view> seen;
    scanner_.skip_blanks();
    while (!scanner_.take("]")) {
        poll();
        const Word key = name("an attribute");
        const bool is_lazy = key.text == "lazy";  // which both peers read twice
        if (!is_lazy && std::ranges::find(seen, key.text) != seen.end())
            refuse(scanner_.place(key.begin), "the attribute " + python_repr(key.text) + " is given twice", "",
                   "leave one out");
        if (!is_lazy) seen.push_back(key.text);
        scanner_.skip_blanks();
        const bool has_value = scanner_.take("=");
        scanner_.skip_blanks();
        attribute(given, rule, key, has_value, depth);
        scanner_.skip_blanks();
        if (!scanner_.take(",") && !scanner_.sees("]"))
            scanner_.refuse_unexpected("',' or ']'", "write " + std::string(rule) + "[lazy, suffix=\"...\"]: ...");
        scanner_.skip_blanks();
    }
    if (!given.stop_capture.empty() && !given.ending)
        refuse(given.stop_capture_place,
               "stop_capture= without stop= or suffix=", "it names the text that ends the rule",
               "add stop=\"...\", or leave it out");
    return given;
}

// Add one, whose value is next.
void DialectReader::attribute(DialectAttributes& given, std::string_view rule, const Word& key, bool has_value,
                              uint32_t depth) {
    if (!has_value && key.text == "lazy") {
        given.lazy = true;
    } else if (!has_value && key.text == "capture") {
        given.capture = rule;
    } else if (!has_value || std::ranges::find(kWithValue, key.text) == kWithValue.end()) {
        std::string known = "lazy, capture";
        for (std::string_view each : kWithValue) ((known += ", ") += each) += '=';
        refuse(scanner_.place(key.begin), "the attribute " + python_repr(key.text) + " is not known", "",
               "the attributes are " + known);
    } else if (key.text == "capture" || key.text == "stop_capture") {
        capture(given, key, depth);
    } else if (key.text == "stop" || key.text == "suffix") {
        ending(given, key, depth);
    } else {
        number(given, key);
    }
}

void DialectReader::capture(DialectAttributes& given, const Word& key, uint32_t depth) {
    const DialectNode* name = symbol(depth);
    const bool is_literal = name->kind == Kind::kLiteral;
    if (!is_literal || name->text.empty())
        refuse(scanner_.place(key.begin),
               "the value of " + python_repr(key.text) + " is " + (is_literal ? "empty" : "not a string"), "",
               "write " + std::string(key.text) + "=\"name\"");
    if (key.text == "capture") {
        given.capture = name->text;
    } else {
        given.stop_capture = name->text;
        given.stop_capture_place = scanner_.place(key.begin);
    }
}

void DialectReader::ending(DialectAttributes& given, const Word& key, uint32_t depth) {
    if (given.ending)
        refuse(scanner_.place(key.begin), "two of stop= and suffix=", "one of them ends it", "leave one out");
    const uint32_t begin = scanner_.at;
    given.ending = symbol(depth);
    if (key.text == "suffix" && given.ending->kind == Kind::kLiteral && given.ending->text.empty())
        refuse(scanner_.place(begin), "suffix=\"\"", "the empty text ends nothing", "leave it out");
}

void DialectReader::number(DialectAttributes& given, const Word& key) {
    const uint32_t begin = scanner_.at;
    const bool is_temperature = key.text == "temperature", is_chars = key.text == "max_chars";
    const std::string_view found = is_temperature ? scanner_.number() : scanner_.count();
    if (found.empty())
        scanner_.refuse_unexpected(is_temperature ? "a number"
                                   : is_chars     ? "a number of characters"
                                                  : "a number of tokens");
    if (is_chars) {
        given.max_chars = scanner_.count_of(found, key.begin);
        given.max_chars_place = scanner_.place(key.begin);
    } else if (!is_temperature) {
        given.max_tokens = scanner_.count_of(found, key.begin);
    } else {
        const double value = temperature(found);
        if (!(value >= 0 && value < std::numeric_limits<double>::infinity()))
            refuse(scanner_.place(begin), "temperature=" + std::string(found), "",
                   "write a finite number that is not negative");
        given.temperature = value;
    }
}

// A stream reads a number in the same way in every locale. One that is too large it reads as the largest, and fails.
double DialectReader::temperature(std::string_view number) const {
    std::istringstream stream{std::string(number)};
    stream.imbue(std::locale::classic());
    double value = 0;
    stream >> value;
    return stream.fail() && value > 1 ? std::numeric_limits<double>::infinity() : value;
}

}  // namespace schemagen
