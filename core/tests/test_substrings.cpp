// Substrings by their table and by the automata that are made of it, against texts that are searched.
#include <algorithm>
#include <string>

#include "automata/substring_walk.hpp"
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

// Tokens of each single byte, of all runs of up to five bytes of the text, of some of them with a byte more, and one
// token twice.
std::vector<std::string> vocabulary_of(std::string_view text) {
    std::vector<std::string> tokens;
    tokens.reserve(256);
    for (unsigned byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    for (size_t begin = 0; begin < text.size(); ++begin)
        for (size_t length = 2; length <= 5; ++length)
            for (const char* more : {"", "b", "!", "!b"})
                tokens.push_back(std::string(text.substr(begin, length)) + more);
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    tokens.push_back(tokens.back());
    return tokens;
}

uint32_t read(LazyDfa& dfa, uint32_t state, std::string_view bytes) {
    for (char c : bytes) state = dfa.next(state, static_cast<uint8_t>(c));
    return state;
}

// The tokens that a walk lists from a state, its branches followed byte by byte: [token]: how often.
std::vector<int> listed(LazyDfa& dfa, uint32_t state, const VocabularyTables& tables) {
    std::vector<int> times(tables.size());
    TokenList list;
    SubstringWalk::list(dfa, state, tables.all(), list);
    for (uint32_t token : list.tokens) ++times[token];
    for (const auto& [node, config] : list.branches)
        for (uint32_t token : tables.all().tokens_below(node)) {
            uint32_t depth = 1;
            while (tables.all().find(tables.token(token).substr(0, depth)) != node) ++depth;
            times[token] += read(dfa, config.state, tables.token(token).substr(depth)) != 0;
        }
    return times;
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

TEST(a_walk_lists_the_tokens_that_can_be_read) {
    const std::vector<std::string> tokens = vocabulary_of(kText);
    const VocabularyTables tables({tokens.begin(), tokens.end()}, {});
    for (const char* rest : {"", "!", "b", "ab!", "\xC3\xA9"}) {
        Kernel kernel;
        LazyDfa dfa(kernel);
        const NodeId inside = kernel.substring(SubstringTable::of(kText));
        const uint32_t start = dfa.intern({kernel.concat(inside, kernel.literals({rest}))}, false);
        each_word([&](const std::string& word) {
            const uint32_t state = read(dfa, start, word);
            if (!LazyDfa::is_tracked(state)) return;
            const std::vector<int> times = listed(dfa, state, tables);
            for (uint32_t token = 0; token < tables.size(); ++token)
                CHECK(times[token] == (read(dfa, state, tables.token(token)) != 0));
        });
    }
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
