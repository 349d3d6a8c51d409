// How many bytes suffice to finish a text that a parser of frames has read, at most: the rests of the rules that are
// open (rest_bounds.hpp), by the class of terminals that is read last before each of them goes on.
#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include "context_free/continuations.hpp"
#include "context_free/rest_bounds.hpp"

namespace schemagen {

class FrameParser;

class FrameRests {
public:
    FrameRests(const FrameParser& parser, const RestBounds& bounds) : parser_(parser), bounds_(bounds) {}
    // From a state after ignored text.
    uint32_t bytes(ParserState state);
    // For each terminal that a state reads, sorted: after it. Valid until the next call.
    std::span<const Distance> distances(ParserState state);
    size_t memory_bytes() const;

private:
    using Bytes = std::span<const uint32_t>;  // by the class that was read last
    const std::vector<uint32_t>& after(FrameId frame);
    Bytes after(FrameId frame, SymbolId rule);
    size_t index(FrameId frame, SymbolId rule) const;
    std::vector<uint32_t> find_after(FrameId frame);

    const FrameParser& parser_;
    const RestBounds& bounds_;
    std::vector<std::vector<uint32_t>> after_;  // [frame]: by rule of its kind and class; empty if not asked for
    std::unordered_map<ParserState, std::vector<Distance>> distances_;
};

}  // namespace schemagen
