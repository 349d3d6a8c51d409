// Substrings by their table and by the automata that are made of it, against texts that are searched.
#include <string>

#include "regex/lazy_dfa.hpp"
#include "regex/substrings.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

constexpr std::string_view kText = "abaé€abaé😀ab€";

bool is_substring(std::string_view word) {
    auto begins = [](std::string_view text) { return text.empty() || (static_cast<uint8_t>(text[0]) & 0xC0) != 0x80; };
    for (size_t at = kText.find(word); !word.empty() && at != std::string_view::npos; at = kText.find(word, at + 1))
        if (begins(kText.substr(at)) && begins(kText.substr(at + word.size()))) return true;
    return false;
}

// Every run of bytes of the text, and the same with one byte changed.
template <class Visit>
void each_word(const Visit& visit) {
    for (size_t begin = 0; begin < kText.size(); ++begin)
        for (size_t length = 0; begin + length <= kText.size(); ++length) {
            std::string word(kText.substr(begin, length));
            visit(word);
            if (word.empty()) continue;
            for (const char other : {'a', 'b', '\xA9', '\xC3'}) {
                std::string changed = word;
                changed.back() = other;
                visit(changed);
            }
        }
}

}  // namespace

TEST(a_table_has_all_substrings_of_whole_characters) {
    const auto table = SubstringTable::of(kText);
    CHECK(table->states() <= 2 * kText.size());
    each_word([&](const std::string& word) {
        SubstringTable::State state = SubstringTable::kStart;
        bool read = true;
        for (char c : word) {
            state = table->next(state, static_cast<uint8_t>(c));
            read = state != SubstringTable::kStart;
            if (!read) break;
        }
        CHECK((read && table->whole(state)) == is_substring(word));
        if (!read || word.empty()) return;
        CHECK((table->shortest(state) == 0) == table->whole(state));
        CHECK(table->longest(state) == kText.size() - kText.find(word) - word.size());
    });
    CHECK(table->shortest(SubstringTable::kStart) == 1);
}

TEST(states_of_substrings_are_not_made) {
    Kernel kernel;
    LazyDfa dfa(kernel);
    const NodeId inside = kernel.substring(SubstringTable::of(kText));
    const uint32_t start = dfa.intern({kernel.concat(inside, kernel.literals({"ab!"}))}, false);
    const size_t nodes = kernel.size();
    uint32_t state = start;
    for (char c : std::string_view("é😀")) state = dfa.next(state, static_cast<uint8_t>(c));
    CHECK(LazyDfa::is_tracked(state) && !dfa.accepting(state));
    CHECK(kernel.size() == nodes && dfa.size() == 1);
    CHECK(dfa.bytes_to_accept(state, 0) == 3);
    for (char c : std::string_view("ab")) state = dfa.next(state, static_cast<uint8_t>(c));
    CHECK(dfa.bytes_to_accept(state, 0) == 1);
    CHECK(dfa.accepting(dfa.next(state, '!')));
    CHECK(dfa.next(dfa.next(state, '!'), 'a') == 0);
    for (char c : std::string_view("€ab!")) state = dfa.next(state, static_cast<uint8_t>(c));
    CHECK(dfa.accepting(state));
}

TEST(a_copy_of_a_substring_is_over_the_same_table) {
    Kernel kernel, other;
    const NodeId inside = kernel.substring(SubstringTable::of(kText));
    const NodeId copy = other.adopt(kernel, {kernel.derivative(inside, 'b')})[0];
    each_word([&](const std::string& word) {
        NodeId node = copy;
        for (char c : word) node = other.derivative(node, static_cast<uint8_t>(c));
        CHECK(other.nullable(node) == is_substring("b" + word));
    });
    CHECK(other.substring_bytes() == kernel.substring_bytes());
    CHECK(kernel.substring(SubstringTable::of("")) == kEmpty);
}

}  // namespace schemagen
