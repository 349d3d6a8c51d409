// Every substring of a text, as its suffix automaton (Blumer, Blumer, Haussler, Ehrenfeucht, Chen & Seiferas 1985).
//
// A state stands for the substrings that end at the same places of the text. A text of n bytes has at most 2n - 1 of
// them, with at most 3n - 4 edges, made byte by byte in a time that is linear in n: a new state for the text so far,
// edges to it from the states of its suffixes that were never followed by the byte, and where such a state was, but
// also stands for longer substrings, a copy of its target for the shorter ones.
//
// The text is UTF-8, and a substring is one of whole characters. It begins with one: no edge of the start reads a byte
// that goes on with a character. So the substring tells where its characters end, and all places where those of one
// state end are alike: one of them, which is kept, says whether a character ends there.
//
// Invariants: state 0 is the start, where nothing was read; no edge leads to it. From every state a substring can be
// finished. Nothing changes once it is made, so any number of threads may read it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/bytes.hpp"

namespace schemagen {

class SubstringTable {
public:
    using State = uint32_t;
    static constexpr State kStart = 0;
    // Bytes of a text, which needs some 60 bytes for each while it is compiled, and some 25 from then on.
    static constexpr size_t kMostBytes = 8u << 20;

    // Of a text in UTF-8. Takes about 0.4 us a byte, and polls. Throws LimitExceeded for more than kMostBytes.
    static std::shared_ptr<const SubstringTable> of(std::string_view text);

    // The state behind a byte; kStart: no substring goes on like that.
    State next(State state, uint8_t byte) const {
        const uint8_t *begin = bytes_.data() + first_[state], *end = bytes_.data() + first_[state + 1];
        constexpr ptrdiff_t kFew = 8;  // edges that are looked through one by one
        const uint8_t* at = begin;
        if (end - begin > kFew) at = lower_bound(begin, end, byte);
        while (at != end && *at < byte) ++at;
        return at != end && *at == byte ? targets_[static_cast<size_t>(at - bytes_.data())] : kStart;
    }
    // Whether a substring may end here: something was read, and whole characters.
    bool whole(State state) const { return (whole_[state >> 6] >> (state & 63) & 1) != 0; }
    ByteSet next_bytes(State state) const;
    // Bytes until a substring may end, and that may come at most.
    uint32_t shortest(State state) const;
    uint32_t longest(State state) const { return static_cast<uint32_t>(text_.size()) - end_[state]; }
    const ByteSet& used_bytes() const { return used_; }
    uint32_t size() const { return static_cast<uint32_t>(first_.size() - 1); }
    size_t memory_bytes() const;

private:
    class Construction;
    class GrowingEdges;
    SubstringTable() = default;
    static const uint8_t* lower_bound(const uint8_t* begin, const uint8_t* end, uint8_t byte);
    bool ends_character(size_t at) const;

    std::string text_;
    std::vector<uint32_t> first_;  // [state]: its first edge; the edges of a state are sorted by byte
    std::vector<uint8_t> bytes_;   // [edge]
    std::vector<State> targets_;   // [edge]
    std::vector<uint32_t> end_;    // [state]: the first place in the text where its substrings end
    std::vector<uint64_t> whole_;  // bit [state]
    ByteSet used_;
    uint32_t least_ = 0;  // bytes of the shortest character
};

}  // namespace schemagen
