#include <random>
#include <string>

#include "tests/check.hpp"
#include "vocabulary/seams.hpp"
#include "vocabulary/spelling.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

TEST(the_trie_of_a_vocabulary_finds_every_token) {
    const std::vector<std::string_view> tokens = {"a", "ab", "abc", "\",\"", "\xC3\xA9", "b", ""};
    const VocabularyTables tables(tokens, {6});
    const Trie& trie = tables.all();
    for (uint32_t id = 0; id < 6; ++id) {
        const uint32_t node = trie.find(tokens[id]);
        CHECK(node != Trie::kNone);
        CHECK(trie.tokens_at(node).size() == 1 && trie.tokens_at(node)[0] == id);
    }
    CHECK(trie.find("abx") == Trie::kNone);
    CHECK(trie.tokens_below(trie.find("a")).size() == 3);
    CHECK(tables.longest_token() == 3);
    CHECK(tables.eos() == std::vector<uint32_t>{6});
}

TEST(what_follows_the_quote_of_a_token_is_a_tail) {
    const VocabularyTables tables({"x\",", "\"", "y"}, {});
    CHECK(tables.tail_of(0, 2) != VocabularyTables::kNoTail);
    CHECK(tables.tail_text(tables.tail_of(0, 2)) == ",");
    CHECK(tables.tail_of(1, 1) == 0);  // the empty one
}

// Random tokens across the borders of random parts.
TEST(parts_take_as_many_tokens_as_their_text) {
    std::mt19937 random(1);
    const auto text_of = [&](const std::string& alphabet, size_t most) {
        std::string out;
        for (size_t left = random() % (most + 1); left > 0; --left) out += alphabet[random() % alphabet.size()];
        return out;
    };
    size_t shorter = 0;
    for (int vocabulary = 0; vocabulary < 40; ++vocabulary) {
        std::vector<std::string> texts;
        for (char byte : std::string("a0,]}[{")) texts.emplace_back(1, byte);
        for (int k = 0; k < 30; ++k) texts.push_back(text_of(k % 2 ? "a0," : "a0,]}[{", 7) + 'a');
        const VocabularyTables tables(std::vector<std::string_view>(texts.begin(), texts.end()), {});
        const Spelling spelling(tables);
        Seams seams(tables);
        for (int k = 0; k < 50; ++k) {
            std::string text;
            Tail tail;
            uint32_t apart = 0;
            for (size_t parts = random() % 6; parts > 0; --parts) {
                const std::string part = ",]}[{"[random() % 5] + text_of("a0", 3);
                text.insert(0, part);
                tail = seams.before(seams.part(part), tail);
                apart += spelling.fewest(part);
                CHECK(tail.tokens == spelling.fewest(text));
            }
            shorter += tail.tokens < apart;
            const std::string front = text_of("a0", 4);
            CHECK(seams.fewest(front, tail) == spelling.fewest(front + text));
        }
    }
    CHECK(shorter > 100);
}

}  // namespace schemagen
