// Questions about the languages that nodes denote (nodes.hpp): whether one has a word, how long its words are, whether
// it goes on for ever. Answers are remembered by node.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "regex/nodes.hpp"

namespace schemagen {

class Kernel final : public Nodes {
public:
    bool is_empty(NodeId node);                         // exact; searches derivatives where & or ~ occur
    uint64_t count_words(NodeId node, uint64_t limit);  // how many words, counting no further than `limit`
    // Lower bound of the length of a word; exact except for & and ~ and some escapes.
    uint32_t shortest(NodeId node);
    // An upper bound of the same; a quarter of kUnbounded if unknown.
    uint32_t shortest_at_most(NodeId node);
    // Whether every prefix of a word is one of infinitely many words. false where that takes too long to find out.
    bool is_open(NodeId node);
    // The any-string that the node never dies before: whatever is written, some word still begins like it, as in a
    // search. kEmpty if that is not seen.
    NodeId never_ending(NodeId node, bool absorbing = false);
    // No prefix of a word needs more characters than this to become a word; kUnbounded if unknown.
    uint32_t most_to_finish(NodeId node);
    // Characters of the shortest word; the rest of a character that was begun counts as one. Empty if the shape of the
    // node does not tell: with & or ~, with bytes that need not be characters.
    std::optional<uint32_t> least_chars(NodeId node);
    // A superset of the bytes that its words are made of.
    ByteSet used_bytes(NodeId node) const;
    // Whether each character of a shortest way to a word is one byte, except one that was begun. False if unknown.
    bool ends_plainly(NodeId node) const;
    // Approximate, with the caches of this class. NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
    size_t memory_bytes() const;

private:
    NodeId repeated_any(NodeId node) const;   // the any-string that repeats the same character as the node, or kEmpty
    NodeId unbounded_any(NodeId node) const;  // the same, if the node sets no end to it
    struct Finish {
        uint32_t shortest, most,
            longest;  // characters of the shortest word, the longest completion, and the longest word
        bool exact;   // `shortest` is
    };
    class WordSearch;
    Finish finish(NodeId node);
    Finish finish_concat(NodeId node);
    Finish finish_repeat(const Node& node);
    Finish finish_alternation(const Node& node);
    Finish finish_conjunction(const Node& node);
    bool lengths_clash(NodeId node);
    NodeId choice_in(NodeId node) const;
    bool is_empty_in_parts(NodeId node);
    bool is_empty_sequence(NodeId id);
    bool has_sequence_with_word(NodeId id);
    bool takes_known_word(NodeId id);
    void remember_word(std::string word);
    bool find_open(NodeId node);
    bool has_plain_ascii(const Node& chars) const;
    ByteSet used_by_chars(const Node& node) const;
    uint32_t shortest_of(const Node& node) const;
    uint32_t shortest_of_chars(const Node& node) const;
    std::pair<uint32_t, uint32_t> kid_lengths(const Node& node, const std::vector<uint32_t>& lengths) const;
    uint32_t shortest_at_most_of(const Node& node) const;
    int8_t emptiness_by_parts(const Node& node) const;

    std::vector<std::string> words_;  // that searches found, the latest first; a few
    std::unordered_map<NodeId, bool> open_;
    std::vector<uint32_t> shortest_, shortest_at_most_;  // [node], as far as asked for
    std::unordered_map<NodeId, Finish> finish_;
};

}  // namespace schemagen
