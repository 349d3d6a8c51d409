#include <algorithm>
#include <string>
#include <vector>

#include "notation/lark_reader.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

// Knows one text, and takes every pattern for one of its own length.
class OneText final : public LarkHost {
public:
    std::string text(const std::vector<std::string>& path, bool, uint32_t) override {
        if (path != std::vector<std::string>{"words"}) refuse({}, "no such text");
        return "WORD: LETTER+\nLETTER: \"a\"..\"z\"\nlist: WORD [list]\nother: WORD\n";
    }
    std::pair<Width, std::string> width(const std::string& pattern) override {
        return {{pattern.size(), pattern.size()}, pattern == "(" ? "not closed" : ""};
    }
    std::string name_of(const std::string&) override { return ""; }
    std::string fix_of_missing(const std::string&, bool, const std::vector<std::string>&) override {
        return "define it";
    }
};

struct Found {
    LarkGrammar grammar;
    std::string mistake;
    NotationPlace place;
};

Found read(const std::string& text, LarkOptions::Lark lark = LarkOptions::Lark::kNotAtAll) {
    OneText host;
    LarkReading reading{host};
    try {
        return {read_lark(reading, text, {"start", false, {}, lark}), "", {}};
    } catch (const NotationError& error) {
        return {{}, error.what(), error.place};
    }
}

// The alternatives as text: "start=a B".
std::vector<std::string> rules(const Found& found) {
    std::vector<std::string> shown;
    for (const auto& [origin, symbols] : found.grammar.rules) {
        std::string& line = shown.emplace_back(found.grammar.symbols[origin].first + "=");
        for (uint32_t symbol : symbols) line += found.grammar.symbols[symbol].first + " ";
    }
    return shown;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST(optional_parts_and_repetitions_are_written_out) {
    CHECK(rules(read("start: A? [\"b\"] \"c\"~1..2\nA: \"a\"")) ==
          (Lines{"start=A B C ", "start=A B C C ", "start=A C ", "start=A C C ", "start=B C ", "start=B C C ",
                 "start=C ", "start=C C "}));
    CHECK(rules(read("start: (A | \"b\")* A+\nA: \"a\"")) ==
          (Lines{"start=__start_star_0 __start_plus_1 ", "start=__start_plus_1 ", "__start_star_0=A ",
                 "__start_star_0=B ", "__start_star_0=__start_star_0 A ", "__start_star_0=__start_star_0 B ",
                 "__start_plus_1=A ", "__start_plus_1=__start_plus_1 A "}));
}

TEST(imported_names_get_a_prefix) {
    const Found found = read("%import words.list\nstart: list");
    CHECK(rules(found) == (Lines{"list=words__WORD list ", "list=words__WORD ", "start=list "}));
    CHECK(found.grammar.terminals.size() == 1 && found.grammar.terminals[0].pattern == "(?:[a-z])+");
    CHECK(read("start: x\n%import nothing.x").mistake == "no such text");
}

TEST(templates_are_filled_in) {
    CHECK(rules(read("start: pair{\"a\", B}\npair{x, y}: x y\nB: \"b\"")) ==
          (Lines{"start=pair{A,B} ", "pair{A,B}=A B "}));
    CHECK(read("start: t{\"a\"}\nt{x}: t{t{x}}").mistake.find("again and again") != std::string::npos);
}

TEST(mistakes_have_their_place) {
    const std::string text = "start: \"\u00e9\" b";
    const Found found = read(text);
    CHECK(found.mistake == "the rule 'b' is not defined");
    const LineAndColumn place = line_and_column(text, found.place.at);
    CHECK(place.line == 1 && place.column == 12);
    CHECK(read("start: /(/").mistake.find("not closed") != std::string::npos);
    CHECK(with_commas(1234567) == "1,234,567" && with_commas(123) == "123");
}

TEST(grammars_stop_growing) {
    for (const std::string part : {"[A] ", "(A|B)~0..40 ", "(((A)~49)~49)~49 "}) {
        std::string text = "A: \"a\"\nB: \"b\"\nstart: ";
        for (int n = 0; n < 30; ++n) text += part;
        CHECK(!read(text).mistake.empty());
    }
    CHECK(read("start: " + std::string(200, '(')).mistake.find("nested") != std::string::npos);
    const std::string many = "start: A~400\nA: \"a\"";
    CHECK(read(many, LarkOptions::Lark::kMakesTables).mistake.empty());
    std::string longest = "A: \"a\"\nstart:";
    for (int n = 0; n < 400; ++n) longest += " A";
    CHECK(read(longest).mistake.empty());
    CHECK(read(longest, LarkOptions::Lark::kReads).mistake.find("400 symbols") != std::string::npos);
}

}  // namespace schemagen
