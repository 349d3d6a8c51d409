// Sets of tokens, each kept once: the parts of masks.
//
// The masks of a grammar are much alike: they differ in some operators, or in the first letters of a keyword. A set of
// few tokens is a list. Most other masks are kept as the tokens in which they differ from another mask; those that
// differ from all others in many tokens are kept whole.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "util/ascending_list.hpp"
#include "util/hash_index.hpp"
#include "util/interned_lists.hpp"

namespace schemagen {

// Equal ones of one `TokenSets` are one, with one number.
struct TokenSet {
    using Words = std::vector<uint32_t>;
    const TokenSet* base = nullptr;           // of a bitmask, one that is whole: itself or another one; null of a list
    std::unique_ptr<const Words> whole = {};  // of a whole bitmask
    AscendingList tokens = {};                // of a list; of another bitmask: those that either it or `base` has
    uint32_t count = 0, number = 0;
    void add_to(uint32_t* words, size_t size) const;
    void copy_to(uint32_t* words, size_t size) const;
};

// Owns its sets, which stay where they are.
class TokenSets {
public:
    using Parts = std::vector<const TokenSet*>;

    // `words`: of a bitmask.
    explicit TokenSets(size_t words) : words_(words), sets_(1) {}
    TokenSets(TokenSets&&) noexcept = default;
    TokenSets& operator=(TokenSets&&) noexcept = default;
    const TokenSet* none() const { return &sets_.front(); }
    const TokenSet* numbered(uint32_t number) const { return &sets_[number]; }
    const TokenSet* of_mask(const TokenSet::Words& words);
    const TokenSet* of_list(std::vector<uint32_t> tokens);
    // Of other sets, also of those of another owner.
    const TokenSet* same_as(const TokenSet& set);
    const TokenSet* united(const Parts& parts);
    // The same, or the part of it that is in another set. Most masks are put together from the same few parts as
    // another one was: such a union is known by its parts, without a look at the tokens.
    const TokenSet* known_union(Parts parts, const TokenSet* within = nullptr);
    size_t memory_bytes() const;

private:
    static constexpr size_t kMostKnown = 24;    // parts by which a union is known
    static constexpr size_t kMostSorted = 128;  // parts, some of them possibly equal
    static constexpr size_t kMostBases = 64;    // that a bitmask is compared with
    const TokenSet* add(uint64_t hash, TokenSet set);
    const TokenSet* part_of_union(const Parts& parts, const TokenSet* within);
    const TokenSet* nearest(const TokenSet::Words& words) const;

    size_t words_;
    std::deque<TokenSet> sets_;           // [number]; the first is empty
    std::vector<const TokenSet*> bases_;  // those that are whole, the last ones
    HashIndex index_;
    InternedLists unions_;                         // numbers: of `within`, then of the parts
    std::vector<const TokenSet*> known_{nullptr};  // [union]
    size_t bytes_ = 0;                             // of their contents
};

}  // namespace schemagen
