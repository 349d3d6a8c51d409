// The tables of one vocabulary: a byte trie in depth-first order, and what string bodies need.
//
// The trie is an array of nodes; `skip` is the index after the subtree, so a rejected byte jumps over everything below
// it (the flat walk of a recursive descent). Tokens made only of plain string characters (no quote, no backslash, no
// control character, whole code points) are all allowed inside a free JSON string as long as it has room: there is one
// bitmask of them per maximal length. The text after a quote or a closing bracket inside a token (a tail) is one of a
// few hundred texts; they have a trie of their own.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "util/bits.hpp"
#include "util/bytes.hpp"
#include "util/work.hpp"

namespace schemagen {

struct Trie {
    std::vector<uint8_t> byte;
    std::vector<uint32_t> skip;
    std::vector<uint32_t> first_token;  // offset into `tokens`; one more entry than nodes
    std::vector<uint32_t> tokens;
    // Children of node k (of the root: k = size()), in order of their bytes: [first_child[k], first_child[k + 1]).
    std::vector<uint32_t> first_child;
    std::vector<uint8_t> child_byte;
    std::vector<uint32_t> child;
    uint32_t max_depth = 0;
    size_t size() const { return byte.size(); }
    uint32_t root() const { return static_cast<uint32_t>(size()); }
    // Ids of the tokens that end at the node, and of all that lead to it.
    std::span<const uint32_t> tokens_at(uint32_t node) const {
        return {tokens.data() + first_token[node], tokens.data() + first_token[node + 1]};
    }
    std::span<const uint32_t> tokens_below(uint32_t node) const {
        return {tokens.data() + first_token[node], tokens.data() + first_token[skip[node]]};
    }
    bool has_children(uint32_t node) const { return first_child[node] != first_child[node + 1]; }
    uint32_t child_of(uint32_t node, uint8_t byte) const;  // kNone if there is none
    // The node that `text` leads to from the root; kNone if no token starts like this.
    uint32_t find(std::string_view text) const;
    size_t memory_bytes() const { return byte.size() * 20 + tokens.size() * 4; }
    static constexpr uint32_t kNone = UINT32_MAX;
};

// Depth-first below a node of a trie, with a value for each node on the path. `visit(value, byte, node, next)` reads a
// byte: it tells whether to go on below the node, and with which value.
template <class Value, class Visit>
void descend(const Trie& trie, uint32_t top, const Value& start, const Visit& visit) {
    struct Level {
        Value value;
        uint32_t at, end;
    };
    Work::look();  // once for all of it: known states take a millisecond at most, new ones poll
    std::vector<Level> levels{{start, trie.first_child[top], trie.first_child[top + 1]}};
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.at == level.end) {
            levels.pop_back();
            continue;
        }
        const uint32_t k = level.at++, node = trie.child[k];
        Value next;
        if (visit(level.value, trie.child_byte[k], node, next) && trie.has_children(node))
            levels.push_back({next, trie.first_child[node], trie.first_child[node + 1]});
    }
}

template <class Value, class Visit>
void descend(const Trie& trie, const Value& start, const Visit& visit) {
    descend(trie, trie.root(), start, visit);
}

inline bool begins_character(uint8_t byte) { return (byte & 0xC0) != 0x80; }

// A set of characters that patterns often allow. The tokens made of them alone are allowed without a look wherever an
// automaton reads that many of them, whichever they are; `through` and `below` tell a walk which subtrees it may leave
// out.
struct Slice {
    using Set = uint16_t;  // bit k: slice k
    static constexpr size_t kCount = 13;
    static constexpr size_t kRanks = 17;
    static constexpr uint8_t kMany = 255;                       // this number of characters or more
    using Spelling = std::vector<std::pair<uint8_t, uint8_t>>;  // ranges of the first byte, the second ...
    std::vector<std::pair<uint8_t, uint8_t>> ascii;             // ranges
    bool beyond_ascii;  // and every character beyond ASCII that is not white space in any dialect
    static const std::vector<Spelling>& beyond_ascii_spelled();
    static Set within(size_t slice);  // the slices that are parts of it
    // Widest first.
    static const std::array<Slice, kCount>& all();
};

// Of every node of a trie.
struct SliceTree {
    std::vector<Slice::Set> through;  // the slices that every token which leads to the node or through it is made of
    std::vector<Slice::Set> below;  // the same of the rest of these tokens after the node, where a character ends there
    std::vector<Slice::Set> whole;  // the same, if each of them ends with a whole character
    std::vector<uint8_t> chars;     // most characters that a token has after the node
    // [index of `Trie::child`]: of the tokens that lead to the child or through it, the slices that their bytes after
    // the parent are made of, where a character ends at the parent.
    std::vector<Slice::Set> edges;
};

class VocabularyTables final : ForkSafe {
public:
    static constexpr uint32_t kLengthRanks = 64;
    using Ending = std::pair<uint32_t, uint32_t>;  // (tail, token)

    // `has_marks`: some of the tokens are those that a grammar names, spelled as no text is (`is_mark`).
    VocabularyTables(const std::vector<std::string_view>& tokens, std::vector<uint32_t> eos, bool has_marks = false);
    VocabularyTables(const VocabularyTables&) = delete;  // `tail_index_` points into `bytes_`
    VocabularyTables& operator=(const VocabularyTables&) = delete;

    uint32_t size() const { return static_cast<uint32_t>(offsets_.size() - 1); }
    uint32_t words() const { return (size() + 31) / 32; }
    std::string_view token(uint32_t id) const {
        return {bytes_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]};
    }
    const std::vector<uint32_t>& eos() const { return eos_; }
    bool has_marks() const { return has_marks_; }
    bool is_eos(uint32_t id) const { return std::find(eos_.begin(), eos_.end(), id) != eos_.end(); }
    const Trie& all() const { return all_; }
    // The tokens that have one of some bytes. The last few answers are kept, as those of the next function.
    std::shared_ptr<const Trie> tokens_with(const ByteSet& bytes) const;
    // The tokens in which a byte of the first kind stands directly before one of the second kind.
    std::shared_ptr<const Trie> tokens_with(const ByteSet& before, const ByteSet& after) const;

    // Plain tokens, by code points. Longer ones than `kLengthRanks` do not count as plain.
    bool is_plain(uint32_t id) const { return has_bit(plain_.back().data(), id); }
    const uint32_t* plain_up_to(uint32_t chars) const {
        return plain_[chars < longest_plain_ ? chars : longest_plain_].data();
    }
    uint32_t longest_token() const { return all_.max_depth; }

    const SliceTree& slices() const { return slices_; }
    // Bitmask of the tokens made of at most `rank` characters of a slice; of any number with Slice::kRanks.
    const uint32_t* slice_up_to(size_t slice, size_t rank) const {
        return sliced_.data() + (slice * (Slice::kRanks + 1) + rank) * words();
    }
    // The most opening brackets of a token.
    uint32_t most_brackets() const { return most_brackets_; }
    // The tokens with a quote that may end a string or key: the text after it is a tail.
    const Trie& quoted() const { return quoted_; }
    // Those whose quote at that node of `quoted` ends it, with the tails.
    std::span<const Ending> endings(uint32_t node) const {
        return {endings_.data() + first_ending_[node], endings_.data() + first_ending_[node + 1]};
    }

    // Tails: ids 0 to tail_count() - 1, 0 is the empty one; the "tokens" of their trie are these ids. Only a text that
    // may follow a value or key is a tail: kNoTail if the rest of `token` after `length` bytes is not.
    static constexpr uint32_t kNoTail = UINT32_MAX;
    const Trie& tails() const { return tails_; }
    size_t tail_count() const { return tail_texts_.size(); }
    uint32_t tail_of(uint32_t token_id, size_t length) const { return lookup(token(token_id).substr(length)); }
    uint32_t rest_of(uint32_t tail, size_t length) const { return lookup(tail_texts_[tail].substr(length)); }
    std::string_view tail_text(uint32_t tail) const { return tail_texts_[tail]; }
    // Ends: the texts that tokens have from a border on, after something else. Their trie tells no ids.
    static constexpr bool is_border(char byte) {
        return byte == ',' || byte == '{' || byte == '}' || byte == '[' || byte == ']';
    }
    const Trie& ends() const { return ends_; }
    // Tokens and tails that may contain a whole key: two quotes.
    const std::vector<uint32_t>& tokens_with_key() const { return tokens_with_key_; }
    const std::vector<uint32_t>& tails_with_key() const { return tails_with_key_; }
    // Tokens that may contain the key of a member which they begin, and its colon. Hardly any vocabulary has some.
    const std::vector<uint32_t>& tokens_with_member() const { return tokens_with_member_; }
    // Unique in the process.
    uint64_t serial() const { return serial_; }

    size_t memory_bytes() const;

private:
    static constexpr size_t kMostKept = 64;
    using KeptKey = std::array<uint64_t, 8>;  // the words of both sets; of one set only, the first are zero
    std::shared_ptr<const Trie> tokens_that(const KeptKey& key, const std::function<bool(std::string_view)>& has) const;
    void after_fork() override { new (&kept_mutex_) std::mutex; }
    uint32_t lookup(std::string_view tail) const;
    std::vector<uint32_t> in_order() const;
    void cut_slices();
    void rank_plain(const std::vector<std::pair<uint32_t, uint8_t>>& plain);
    void collect_tails(const std::vector<uint32_t>& sorted);
    void list_endings();
    void collect_ends();

    std::vector<char> bytes_;
    std::vector<uint32_t> offsets_;
    std::vector<uint32_t> eos_;
    bool has_marks_;
    Trie all_, tails_, quoted_, ends_;
    SliceTree slices_;
    std::vector<uint32_t> sliced_;              // see slice_up_to
    std::vector<std::vector<uint32_t>> plain_;  // [k]: bitmask of plain tokens of at most k code points; the last: all
    uint32_t longest_plain_ = 0;
    std::vector<std::string_view> tail_texts_;
    std::unordered_map<std::string_view, uint32_t> tail_index_;
    std::vector<uint32_t> tokens_with_key_, tokens_with_member_, tails_with_key_;
    std::vector<Ending> endings_;
    std::vector<uint32_t> first_ending_;  // [node of quoted_]
    uint32_t most_brackets_ = 0;
    uint64_t serial_;
    mutable std::mutex kept_mutex_;  // held for some instructions
    mutable std::deque<std::pair<KeptKey, std::shared_ptr<const Trie>>> kept_;
};

}  // namespace schemagen
