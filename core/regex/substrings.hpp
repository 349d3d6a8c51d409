// Every substring of a text, as its suffix automaton (Blumer, Blumer, Haussler, Ehrenfeucht, Chen & Seiferas 1985).
//
// A state stands for the substrings that end at the same places of the text. A text of n bytes has at most 2n - 1 of
// them, with at most 3n - 4 edges, made byte by byte in a time that is linear in n: a new state for the text so far,
// edges to it from the states of its suffixes that were never followed by the byte, and where such a state was, but
// also stands for longer substrings, a copy of its target for the shorter ones.
//
// The text is UTF-8, and substrings are made of whole characters: no edge of the start reads a continuation byte. So
// the substring determines where its characters end, and all places where the substrings of one state end are alike:
// one of them, which is kept, says whether a character ends there.
//
// The fields of a state lie side by side, and the state is their address: a walk to a new one is one look into
// memory that is far away. Most states are not there at all: substrings that end at one place alone go on as the text
// does, so their state is that place. (Of a link tree they are the leaves: n of 1.4 n states in a text of n bytes of
// English. A compact automaton, Blumer et al. 1987, leaves out other states with one edge, too.)
//
// Invariants: state 0 is the start, where nothing was read; no edge leads to it. From every state a substring can be
// finished. States below `words_.size()` are in `words_`; state `words_.size() + k` is that of the substrings that end
// after k bytes of the text and nowhere else. States never change once made, so any number of threads may read them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/bytes.hpp"
#include "util/prefetch.hpp"

namespace schemagen {

class SubstringTable {
public:
    using State = uint32_t;
    static constexpr State kStart = 0;
    // Bytes of a text, which needs some 60 bytes for each while it is compiled, and some 12 from then on.
    static constexpr size_t kMostBytes = 8u << 20;

    // Of a text in UTF-8. Takes about 0.4 us a byte, and polls. Throws LimitExceeded for more than kMostBytes.
    static std::shared_ptr<const SubstringTable> of(std::string_view text);

    // The state after a byte. kStart if no substring goes on like that.
    State next(State state, uint8_t byte) const {
        if (is_single(state))
            return state + 1 < end() && static_cast<uint8_t>(text_[end_of(state)]) == byte ? state + 1 : kStart;
        const Edges edges = edges_of(state);
        const void* found = std::memchr(edges.bytes, byte, edges.count);
        return found ? edges.targets[static_cast<const uint8_t*>(found) - edges.bytes] : kStart;
    }
    // Whether the substrings of a state end at one place: only the text after it may follow.
    bool is_single(State state) const { return state >= words_.size(); }
    // The text after the first place where the substrings of a state end.
    std::string_view rest_of(State state) const { return std::string_view(text_).substr(end_of(state)); }
    // Of a state that is not single; sorted by their bytes.
    struct Edges {
        const uint8_t* bytes;
        const State* targets;
        uint32_t count;
    };
    Edges edges_of(State state) const {
        const uint32_t* at = words_.data() + state;
        const uint32_t count = *at & kCount;
        return {reinterpret_cast<const uint8_t*>(at + kHead), at + kHead + (count + 3) / 4, count};
    }
    // Ask for the memory that the next look at a state reads.
    void prefetch(State state) const {
        if (is_single(state))
            schemagen::prefetch(text_.data() + end_of(state));
        else
            schemagen::prefetch(words_.data() + state);
    }
    // Whether a substring may end here: something was read, and whole characters.
    bool whole(State state) const {
        return is_single(state) ? ends_character(end_of(state)) : (words_[state] & kWhole) != 0;
    }
    ByteSet next_bytes(State state) const;
    // Bytes until a substring may end, and that may come at most.
    uint32_t shortest(State state) const;
    uint32_t longest(State state) const { return static_cast<uint32_t>(text_.size() - end_of(state)); }
    const ByteSet& used_bytes() const { return used_; }
    bool empty() const { return text_.empty(); }
    uint32_t states() const { return states_; }  // how many
    // All states are below.
    State end() const { return static_cast<State>(words_.size() + text_.size() + 1); }
    size_t memory_bytes() const;

private:
    class Construction;
    class GrowingEdges;
    SubstringTable() = default;
    bool ends_character(size_t at) const {
        return at == text_.size() || (static_cast<uint8_t>(text_[at]) & 0xC0) != 0x80;
    }
    size_t end_of(State state) const { return is_single(state) ? state - words_.size() : words_[state + 1]; }

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
