#include "tests/check.hpp"
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

}  // namespace schemagen
