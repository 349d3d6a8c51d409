// How few tokens spell a text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class Spelling {
public:
    static constexpr uint32_t kFar = UINT32_MAX / 4;  // and above: no tokens do
    explicit Spelling(const VocabularyTables& tables);
    // That are tokens, and those of marks: what reads the first byte of one has to read all of it, and that is a token.
    const ByteSet& bytes() const { return bytes_; }
    // Whether every byte of JSON is a token. Bytes that begin no character do not matter.
    bool spells_all() const { return spells_all_; }
    // [k]: the fewest tokens that spell the text from byte k on.
    std::vector<uint32_t> fewest_tokens(std::string_view text) const;
    // Of the whole text.
    uint32_t fewest(std::string_view text) const { return fewest_tokens(text)[0]; }
    // The same where every text can be spelled; kFar elsewhere.
    uint32_t count(const std::string& text) const { return spells_all_ ? fewest(text) : kFar; }

private:
    const VocabularyTables& tables_;
    ByteSet bytes_;
    bool spells_all_ = true;
};

}  // namespace schemagen
