// The tables of one vocabulary: a byte trie in depth-first order, and what string bodies need.
//
// The trie is an array of nodes; `skip` is the index after the subtree, so a rejected byte jumps over everything below
// it (the flat walk of a recursive descent). Tokens made only of plain string characters (no quote, no backslash, no
// control character, whole code points) are all allowed inside a free JSON string as long as it has room: there is one
// bitmask of them per maximal length. What follows a quote inside a token (a tail) is one of a few hundred texts; they
// have a trie of their own.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace schemagen {

struct Trie {
    std::vector<uint8_t> byte;
    std::vector<uint16_t> depth;         // of the node's byte, 0 for the first of a token
    std::vector<uint32_t> skip;
    std::vector<uint32_t> first_token;   // offset into `tokens`; one more entry than nodes
    std::vector<uint32_t> tokens;
    uint32_t max_depth = 0;
    size_t size() const { return byte.size(); }
    size_t memory_bytes() const { return byte.size() * 11 + tokens.size() * 4; }
};

class VocabularyTables {
public:
    static constexpr uint32_t kLengthRanks = 64;

    VocabularyTables(std::vector<std::string_view> tokens, std::vector<uint32_t> eos);
    VocabularyTables(const VocabularyTables&) = delete;  // `tail_index_` points into `bytes_`
    VocabularyTables& operator=(const VocabularyTables&) = delete;

    uint32_t size() const { return static_cast<uint32_t>(offsets_.size() - 1); }
    uint32_t words() const { return (size() + 31) / 32; }
    std::string_view token(uint32_t id) const { return {bytes_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]}; }
    const std::vector<uint32_t>& eos() const { return eos_; }
    const Trie& all() const { return all_; }

    // Plain tokens, by code points. Longer ones than `kLengthRanks` do not count as plain.
    bool is_plain(uint32_t id) const { return plain_.back()[id >> 5] >> (id & 31) & 1; }
    const uint32_t* plain_up_to(uint32_t chars) const { return plain_[chars < longest_plain_ ? chars : longest_plain_].data(); }
    uint32_t longest_token() const { return all_.max_depth; }

    // Tails: ids 0 to tail_count() - 1; the "tokens" of their trie are these ids.
    const Trie& tails() const { return tails_; }
    size_t tail_count() const { return tail_texts_.size(); }
    uint32_t tail_of(std::string_view tail) const { return tail_index_.at(tail); }
    std::string_view tail_text(uint32_t tail) const { return tail_texts_[tail]; }

    size_t memory_bytes() const;

private:
    void rank_plain(const std::vector<uint32_t>& sorted);
    void collect_tails(const std::vector<uint32_t>& sorted);

    std::vector<char> bytes_;
    std::vector<uint32_t> offsets_;
    std::vector<uint32_t> eos_;
    Trie all_, tails_;
    std::vector<std::vector<uint32_t>> plain_;  // [k]: bitmask of plain tokens of at most k code points; the last: all
    uint32_t longest_plain_ = 0;
    std::vector<std::string_view> tail_texts_;
    std::unordered_map<std::string_view, uint32_t> tail_index_;
};

}  // namespace schemagen
