// Sets of tokens, each kept once: the parts of masks.
//
// The masks of a grammar are much alike: they differ in some operators, or in the first letters of a keyword. So a mask
// is cut into pieces, and equal pieces are one, too; of a few hundred masks over a large vocabulary a third is left.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "util/hash_index.hpp"
#include "util/interned_lists.hpp"

namespace schemagen {

// Pieces of masks by number, equal ones once. Number 0 has no bit.
class MaskPieces {
public:
    static constexpr size_t kWords = 32;  // two lines of the cache

    MaskPieces() : slots_(64, 0) { pages_.push_back(std::make_unique<uint32_t[]>(kPage * kWords)); }
    // `words`: kWords of them.
    uint32_t intern(const uint32_t* words);
    const uint32_t* operator[](uint32_t id) const { return pages_[id / kPage].get() + id % kPage * kWords; }
    size_t memory_bytes() const {
        return pages_.size() * kPage * kWords * sizeof(uint32_t) + slots_.capacity() * sizeof(uint32_t);
    }

private:
    static constexpr size_t kPage = 64;  // pieces that are allocated at once
    size_t slot_of(const uint32_t* words) const;
    void grow();

    std::vector<std::unique_ptr<uint32_t[]>> pages_;
    uint32_t next_ = 1;
    std::vector<uint32_t> slots_;  // by hash; 0: free
};

// A set of tokens: few of them as a list, more as a bitmask. Equal ones of one `TokenSets` are one, with one number.
struct TokenSet {
    using Words = std::vector<uint32_t>;
    const MaskPieces* pieces = nullptr;  // of a bitmask; null of a list
    std::vector<uint32_t> parts;         // pieces by number, or tokens in order
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
    const TokenSet* none() const { return &sets_.front(); }
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
    const TokenSet* interned(TokenSet set);
    const TokenSet* part_of_union(const Parts& parts, const TokenSet* within);
    std::vector<uint32_t> cut(const TokenSet::Words& words);

    size_t words_;
    std::unique_ptr<MaskPieces> pieces_ = std::make_unique<MaskPieces>();
    std::deque<TokenSet> sets_;  // [number]; the first is empty
    HashIndex index_;
    InternedLists unions_;                         // numbers: of `within`, then of the parts
    std::vector<const TokenSet*> known_{nullptr};  // [union]
    size_t bytes_ = 0;                             // of their parts
};

}  // namespace schemagen
