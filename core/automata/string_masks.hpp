// Masks inside strings, where they are largest and where the same states recur.
//
// From a state of the string automaton every token does one of three things: it dies, it stays inside the string, or it
// closes the string after some prefix and goes on with a tail (`",` `"}` `":` ...). The first two depend on the state
// alone; the third on the state at the quote and on the text allowed after it. So the vocabulary is walked once per
// state and the result cached as a bitmask of inner tokens and a list of exits; the allowed tails are found by one walk
// over the few hundred distinct tails of the vocabulary (engine study of this project, "context vectors"; the idea is
// that of terminal labels in Koo et al. 2024, made exact).
//
// A walk over a vocabulary of 128,000 tokens from a state that allows nearly all of them takes a millisecond, and a
// schema makes many such states: for each place in an unanchored pattern, for each character of a counted one. Three
// ways around it, all exact:
//   - Where any string may follow, as in an unanchored pattern, nothing is refused until the string ends: the mask is
//     that of the free string.
//   - Where most letters lead to one and the same state and stay there (a hub), only the paths on which both differ are
//     walked, two automata side by side, down to where they agree again.
//   - Where any n characters of a kind can be read, the tokens made of at most n of them are allowed without a look: a
//     precomputed slice. The walk skips the tokens of the slice, and subtrees made of such characters. The number n is
//     found by a search through the states that these characters lead to, for the nearest one that refuses a character;
//     often there is none. (llguidance slices by regexes that must contain one another; here any state is tried against
//     any slice.)
//
// Numbers and literal names have no closing mark, but they are alike in every place, too: the tokens that go on within
// one are cached by its state and the node of the trie at which it was met, with the nodes at which it may end.
//
// The automaton is shared by all grammars of the process, and so are these masks.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/mask_cache.hpp"
#include "automata/token_lister.hpp"
#include "regex/kernel.hpp"
#include "regex/lazy_dfa.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

struct StringExit {
    uint32_t state;                                    // at the closing quote
    uint32_t chars;                                    // code points read before it
    std::vector<std::pair<uint32_t, uint32_t>> tails;  // (tail, token)
};

// A token that stays inside, where the room that is left decides.
struct CountedToken {
    uint32_t token;
    uint32_t chars;  // its code points, and the fewest that the string needs to end after it
};

// The tokens that stay inside.
struct StringInner {
    std::shared_ptr<const std::vector<uint32_t>> words;  // bitmask
    uint32_t allowed = 0;
    std::vector<CountedToken> counted;  // if asked for: those that are not plain, or that the string cannot end after
};

using StringExits = std::vector<StringExit>;

// Where a token may end a number or literal name and go on.
struct LiteralEnd {
    uint32_t node;   // of the trie
    uint32_t state;  // it may end here
    uint32_t read;   // bytes since the node that was asked for
};

// The tokens that go on in a string, number or literal name below a node of the trie, by where they end.
struct StringClass {
    uint32_t state, chars;         // after the token, and code points read since the node, if they are counted
    std::vector<uint32_t> tokens;  // either these,
    std::vector<uint32_t> words;   // or a bitmask of them
};

// The continuations within a number or literal name, below a node of the trie.
struct LiteralRest {
    std::vector<StringClass> inner;
    std::vector<LiteralEnd> ends;
};

// The tokens that close a string, by their tails.
struct StringClosing {
    uint32_t state, chars;                // at the closing quote, and code points read before it
    std::vector<uint32_t> tokens, first;  // those of a tail are tokens[first[tail]] up to tokens[first[tail + 1]]
    std::span<const uint32_t> of(uint32_t tail) const {
        return {tokens.data() + first[tail], tokens.data() + first[tail + 1]};
    }
};

struct StringRest {
    std::vector<StringClass> inner;
    std::vector<StringClosing> closing;
};

// The buffers of walks, kept between them; each thread has one.
struct Workspace {
    struct Level {
        Configuration config;
        uint32_t at, end;
        ByteSet bytes;
    };
    std::vector<Level> levels;
    std::vector<uint32_t> words;
    TokenList list;
    static Workspace& mine() {
        static thread_local Workspace workspace;
        return workspace;
    }
};

class StringMasks {
public:
    explicit StringMasks(LazyDfa& dfa) : dfa_(dfa) {}
    // Of a state; with `counting` also by code points, for strings with length bounds (marked states).
    std::shared_ptr<const StringInner> inner(uint32_t state, bool counting, const VocabularyTables& tables);
    std::shared_ptr<const StringExits> exits(uint32_t state, bool counting, const VocabularyTables& tables);
    // Of a state at a node of the trie, `depth` bytes deep; with `counting` also by code points.
    std::shared_ptr<const StringRest> rest(uint32_t state, bool counting, uint32_t node, size_t depth,
                                           const VocabularyTables& tables);
    std::shared_ptr<const std::vector<uint32_t>> shared(const std::vector<uint32_t>& words);
    std::shared_ptr<const LiteralRest> literal(uint32_t state, uint32_t node, const VocabularyTables& tables);
    static bool ends_literal(uint8_t byte) { return byte == ',' || byte == '}' || byte == ']' || is_space(byte); }

    // About.
    size_t memory_bytes() const { return cache_.bytes() + safe_.capacity() * sizeof(SafeRow) + pool_.size() * 48; }

private:
    struct Draft;
    struct Difference;
    uint32_t free_beside(uint32_t state);
    uint32_t hub_of(uint32_t state);
    void inner_by_difference(Draft& draft, uint32_t hub);
    void inner_by_walk(Draft& draft);
    // How many characters of a slice can be read, whichever they are; `ending`: the string may end after each of them.
    struct Safe {
        uint8_t chars;  // Slice::kMany: without end
        bool exact;     // otherwise `chars` is a lower bound
    };
    struct Start {
        size_t slice, chars;  // Slice::kCount if there is none
    };
    Start start_of(Draft& draft);
    bool settled(Draft& draft, uint32_t state, uint32_t node);
    size_t safe(Draft& draft, uint32_t state, size_t slice, size_t wanted);
    Safe known_safe(uint32_t state, size_t slice, bool ending) const;
    void note_safe(uint32_t state, size_t slice, bool ending, Safe safe);
    bool after_any(uint32_t state, const Slice& slice, bool ending, std::vector<uint32_t>& targets);
    uint32_t needed(uint32_t state);
    LiteralRest find_literal(uint32_t from, uint32_t top, const VocabularyTables& tables);
    struct RestDraft;
    Slice::Set loops(uint32_t state);
    StringRest rest_by_difference(uint32_t from, uint32_t hub, bool counting, uint32_t top, size_t depth,
                                  const VocabularyTables& tables);
    StringRest find_rest(uint32_t from, bool counting, uint32_t top, size_t depth, const VocabularyTables& tables);
    StringExits find_exits(uint32_t from, bool counting, const VocabularyTables& tables);
    enum class Kind : uint8_t { kInner, kExits, kLiteral, kRest, kCountedRest };
    struct Key {
        uint64_t vocabulary, place;
        Kind kind;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        size_t operator()(const Key& key) const;
    };
    template <class Made, class Make>
    std::shared_ptr<const Made> known(const Key& key, const Make& make);
    LazyDfa& dfa_;
    struct SafeRow {  // [2 * slice + ending]
        std::array<uint8_t, 2 * Slice::kCount> chars{};
        uint32_t exact = 0;
    };
    std::vector<SafeRow> safe_;                                                           // by state
    std::unordered_multimap<uint64_t, std::weak_ptr<const std::vector<uint32_t>>> pool_;  // of bitmasks, by content
    size_t full_pool_ = 1024;                                  // when to look for unused ones
    MaskCache<Key, std::shared_ptr<const void>, Hash> cache_;  // of the type that the kind tells
};

}  // namespace schemagen
