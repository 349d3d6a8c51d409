// Sets of tokens, each kept once: what masks are put together from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace schemagen {

// A set of tokens: few of them as a list, more as a bitmask, equal ones once.
struct TokenSet {
    using Words = std::vector<uint32_t>;
    std::shared_ptr<const Words> mask;  // null: listed
    std::vector<uint32_t> list;
    uint32_t count = 0;
    void add_to(uint32_t* words, size_t size) const;
};

class TokenSets {
public:
    TokenSet kept(const TokenSet::Words& words);
    TokenSet kept(std::vector<uint32_t> tokens, size_t words);
    TokenSet united(const std::vector<const TokenSet*>& sets, size_t words);
    void clear();
    size_t memory_bytes() const { return bytes_; }

private:
    std::unordered_map<uint64_t, std::vector<std::weak_ptr<const TokenSet::Words>>> masks_;  // by hash
    size_t bytes_ = 0;
};

}  // namespace schemagen
