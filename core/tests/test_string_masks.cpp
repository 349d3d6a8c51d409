// The tokens that go on in a string or number, by classes, against reading each of them.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "automata/string_masks.hpp"
#include "tests/check.hpp"
#include "util/bits.hpp"

namespace schemagen {

namespace {

using Place = std::pair<uint32_t, uint32_t>;          // state, characters
using Classes = std::map<Place, std::set<uint32_t>>;  // tokens

// Random texts of characters of one, two and three bytes, some of them cut off.
std::vector<std::string> random_texts(size_t count) {
    static const std::vector<std::string> kParts = {"a", "b", "c",  " ",  "7",  "0", "-",
                                                    ".", "é", "あ", "\"", "\\", ",", "n"};
    std::mt19937 random(3);
    std::set<std::string> out;
    while (out.size() < count) {
        std::string text;
        const size_t parts = random() % 4 ? kParts.size() : 4;
        for (size_t left = 1 + random() % (random() % 8 ? 6 : 24); left > 0; --left) text += kParts[random() % parts];
        if (random() % 16 == 0) text.resize(text.size() - 1);
        if (!text.empty()) out.insert(text);
    }
    return {out.begin(), out.end()};
}

void add(Classes& out, const std::vector<StringClass>& inner, const VocabularyTables& tables) {
    for (const StringClass& one : inner) {
        std::set<uint32_t>& tokens = out[{one.state, one.chars}];
        CHECK(tokens.empty() && (one.words.empty() || one.tokens.empty()));
        for (const uint32_t token : one.tokens) CHECK(tokens.insert(token).second);
        for (uint32_t token = 0; !one.words.empty() && token < tables.size(); ++token)
            if (has_bit(one.words.data(), token)) tokens.insert(token);
        if (tokens.empty()) out.erase({one.state, one.chars});
    }
}

// A tail before each token that closes the string.
using Closings = std::map<Place, std::set<std::pair<uint32_t, uint32_t>>>;

void add(Closings& out, const std::vector<StringClosing>& closing, const VocabularyTables& tables) {
    for (const StringClosing& one : closing)
        for (uint32_t tail = 0; tail < tables.tail_count(); ++tail)
            for (const uint32_t token : one.of(tail)) CHECK((out[{one.state, one.chars}].insert({tail, token}).second));
}

struct Expected {
    Classes inner;
    Closings closing;
};

Expected read_each(LazyDfa& dfa, uint32_t from, bool counting, uint32_t top, size_t depth,
                   const VocabularyTables& tables) {
    Expected out;
    const auto read = [&](uint32_t token) {
        const std::string_view text = tables.token(token);
        Place at{from, 0};
        for (size_t k = depth; k < text.size(); ++k) {
            const uint32_t next = dfa.next(at.first, static_cast<uint8_t>(text[k]));
            if (!next) {
                if (text[k] != '"' || !dfa.accepting(at.first)) return;
                const uint32_t tail = tables.tail_of(token, k + 1);
                if (tail != VocabularyTables::kNoTail) out.closing[at].insert({tail, token});
                return;
            }
            at = {next, at.second + (counting && dfa.boundary(next))};
        }
        out.inner[at].insert(token);
    };
    const Trie& trie = tables.all();
    if (top == trie.root())
        for (const uint32_t token : trie.tokens) read(token);
    else
        for (const uint32_t token : trie.tokens_below(top).subspan(trie.tokens_at(top).size())) read(token);
    return out;
}

}  // namespace

TEST(tokens_in_a_string_are_classed_as_if_each_was_read) {
    const std::vector<std::string> texts = random_texts(6000);
    const VocabularyTables tables(std::vector<std::string_view>(texts.begin(), texts.end()), {});
    Kernel kernel;
    LazyDfa dfa(kernel);
    StringMasks masks(dfa);
    const NodeId any = kernel.any_string(Encoding::kJson), letters = kernel.chars(Encoding::kJson, {{'a', 'c'}});
    const std::vector<NodeId> languages = {
        any,
        kernel.repeat(letters, 0, kUnbounded),
        kernel.repeat(kernel.chars(Encoding::kJson, {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}), 0, kUnbounded),
        kernel.repeat(letters, 2, 9),
        kernel.concat(any, kernel.concat(kernel.literals({"ab"}), any)),
        kernel.conjunction({any, kernel.complement(kernel.literals({"a", "ab", "7"}))}),
        kernel.repeat(kernel.chars(Encoding::kJson, {{' ', ' '}, {'a', 'b'}, {0xE9, 0x3042}}), 1, kUnbounded),
    };
    size_t tokens = 0, bitmasks = 0;
    for (const NodeId language : languages) {
        for (const bool counting : {false, true}) {
            const std::vector<NodeId> counted = {language, any};  // the last one tells where characters end
            const uint32_t start = dfa.intern(counting ? counted : std::vector{language}, counting);
            for (const std::string prefix : {"", "a", "\""}) {
                const uint32_t top = tables.all().find(prefix);
                const auto rest = masks.rest(start, counting, top, prefix.size(), tables);
                Expected found;
                add(found.inner, rest->inner, tables);
                add(found.closing, rest->closing, tables);
                const Expected expected = read_each(dfa, start, counting, top, prefix.size(), tables);
                CHECK(found.inner == expected.inner);
                CHECK(found.closing == expected.closing);
                for (const auto& [place, all] : expected.inner) tokens += all.size();
                bitmasks +=
                    std::ranges::count_if(rest->inner, [](const StringClass& one) { return !one.words.empty(); });
            }
        }
    }
    CHECK(tokens > 10'000 && bitmasks > 10);
}

TEST(tokens_in_a_number_are_classed_as_if_each_was_read) {
    const std::vector<std::string> texts = random_texts(6000);
    const VocabularyTables tables(std::vector<std::string_view>(texts.begin(), texts.end()), {});
    Kernel kernel;
    LazyDfa dfa(kernel);
    StringMasks masks(dfa);
    const NodeId digits = kernel.repeat(kernel.chars(Encoding::kUtf8, {{'0', '9'}}), 1, kUnbounded);
    const NodeId point = kernel.concat(kernel.literals({"."}), digits);
    size_t tokens = 0, ends = 0;
    for (const NodeId language :
         {digits, kernel.concat(digits, kernel.repeat(point, 0, 1)), kernel.literals({"7", "70"})}) {
        const uint32_t start = dfa.intern({language}, false), root = tables.all().root();
        const auto rest = masks.literal(start, root, tables);
        Classes found;
        add(found, rest->inner, tables);
        const Classes expected = read_each(dfa, start, false, root, 0, tables).inner;
        CHECK(found == expected);
        for (const auto& [place, all] : expected) tokens += all.size();
        for (const LiteralEnd& end : rest->ends) ends += dfa.accepting(end.state);
        CHECK(std::ranges::all_of(rest->ends, [&](const LiteralEnd& end) { return dfa.accepting(end.state); }));
    }
    CHECK(tokens > 10 && ends > 5);
}

}  // namespace schemagen
