// Sets of tokens, each kept once: the parts of masks.
//
// The masks of a grammar are much alike: they differ in some operators, or in the first letters of a keyword. So a mask
// is cut into pieces, and equal pieces are one, too; of a few hundred masks over a large vocabulary a third is left.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

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

// A set of tokens: few of them as a list, more as a bitmask, equal ones once.
struct TokenSet {
    using Words = std::vector<uint32_t>;
    struct Mask {
        std::shared_ptr<const MaskPieces> pieces;
        std::vector<uint32_t> ids;
    };
    std::shared_ptr<const Mask> mask;  // null if listed
    std::vector<uint32_t> list;
    uint32_t count = 0;
    void add_to(uint32_t* words, size_t size) const;
    void copy_to(uint32_t* words, size_t size) const;
};

class TokenSets {
public:
    TokenSet kept(const TokenSet::Words& words);
    TokenSet kept(std::vector<uint32_t> tokens, size_t words);
    TokenSet united(const std::vector<const TokenSet*>& sets, size_t words);
    // A set from before `clear`.
    TokenSet kept_again(const TokenSet& before, size_t words);
    void clear();
    size_t memory_bytes() const { return bytes_ + pieces_->memory_bytes(); }

private:
    std::vector<uint32_t> cut(const TokenSet::Words& words);

    std::shared_ptr<MaskPieces> pieces_ = std::make_shared<MaskPieces>();
    std::unordered_map<uint64_t, std::vector<std::weak_ptr<const TokenSet::Mask>>> masks_;  // by hash
    size_t bytes_ = 0;
};

// Unions of sets, each kept once and where it is. Most masks are put together from the same few parts as another one
// was: such a union is known by its parts, without a look at the tokens.
class TokenUnions {
public:
    using Parts = std::vector<const TokenSet*>;  // kept by the caller, where they are

    TokenUnions(TokenSets& sets, size_t words) : sets_(sets), words_(words) {}
    // `within`: the wanted part of the union, kept by the caller; null for all of it.
    const TokenSet* of(Parts parts, const TokenSet::Words* within = nullptr);
    const TokenSet* keep(const TokenSet::Words& words) { return &made_.emplace_back(sets_.kept(words)); }
    // A set from before the sets were cleared.
    const TokenSet* keep_again(const TokenSet& before) { return &made_.emplace_back(sets_.kept_again(before, words_)); }
    void clear();
    size_t memory_bytes() const { return keys_.memory_bytes() + known_.size() * sizeof(uintptr_t); }

private:
    const TokenSet* make(const Parts& parts, const TokenSet::Words* within);
    static constexpr size_t kMostKnown = 24;    // parts by which a union is known
    static constexpr size_t kMostSorted = 128;  // parts, some of them possibly equal

    TokenSets& sets_;
    const size_t words_;
    InternedLists keys_;                           // the wanted tokens and the parts, as pairs of numbers
    std::vector<const TokenSet*> known_{nullptr};  // [key]
    std::deque<TokenSet> made_;
};

}  // namespace schemagen
