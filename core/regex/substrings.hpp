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
// What is known of a state lies side by side, and the state is the place where: a walk to a new one is one look into
// memory that is far away.
//
// Invariants: state 0 is the start, where nothing was read; no edge leads to it. From every state a substring can be
// finished. Nothing changes once it is made, so any number of threads may read it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
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
    // Bytes of a text, which needs some 80 bytes for each while it is compiled, and some 28 from then on.
    static constexpr size_t kMostBytes = 8u << 20;

    // Of a text in UTF-8. Takes about 0.4 us a byte, and polls. Throws LimitExceeded for more than kMostBytes.
    static std::shared_ptr<const SubstringTable> of(std::string_view text);

    // The state behind a byte; kStart: no substring goes on like that.
    State next(State state, uint8_t byte) const {
        const uint32_t* at = words_.data() + state;
        const uint32_t edges = *at & kCount;
        const auto* bytes = reinterpret_cast<const uint8_t*>(at + kHead);
        const void* found = std::memchr(bytes, byte, edges);
        return found ? targets(at, edges)[static_cast<const uint8_t*>(found) - bytes] : kStart;
    }
    // Whether a substring may end here: something was read, and whole characters.
    bool whole(State state) const { return (words_[state] & kWhole) != 0; }
    ByteSet next_bytes(State state) const;
    // Bytes until a substring may end, and that may come at most.
    uint32_t shortest(State state) const;
    uint32_t longest(State state) const { return static_cast<uint32_t>(text_.size()) - words_[state + 1]; }
    const ByteSet& used_bytes() const { return used_; }
    bool empty() const { return text_.empty(); }
    uint32_t states() const { return states_; }                      // how many
    State end() const { return static_cast<State>(words_.size()); }  // all states are below
    size_t memory_bytes() const;

private:
    class Construction;
    class GrowingEdges;
    SubstringTable() = default;
    bool ends_character(size_t at) const;
    static const uint32_t* targets(const uint32_t* state, uint32_t edges) { return state + kHead + (edges + 3) / 4; }

    static constexpr uint32_t kCount = 0x1FF, kWhole = 1u << 31, kHead = 2;
    std::string text_;
    // [state]: how many edges, and whether a substring may end; the first place in the text where its substrings end;
    // the bytes of the edges, in fours; where they lead.
    std::vector<uint32_t> words_;
    uint32_t states_ = 0;
    ByteSet used_;
    uint32_t least_ = 0;  // bytes of the shortest character
};

}  // namespace schemagen
