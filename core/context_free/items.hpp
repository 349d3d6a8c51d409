// Rules as automata over symbols, whose states are the dotted items of a parser (Earley 1970).
//
// The body of a rule becomes its position automaton (Glushkov 1961): a state for each symbol in it, no empty moves.
// Items with the same future are made one, so that alternatives that end alike are followed once: from the last item to
// the first, as most edges lead to later ones, and again where something that an item leads to became one with another.
//
// Invariants: item 0 is the start; every item is reached from it, and every one comes to an end; items are numbered in
// the order of the positions that they come from.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "util/lists.hpp"

namespace schemagen {

// A body as numbers, each expression before its parts: a symbol, or an operator with its numbers, which are written as
// their complements.
enum class BodyOperator : int32_t {
    kSequence = -1,      // number of parts
    kAlternatives = -2,  // number of parts
    kRepeat = -3,        // fewest rounds, most rounds or kEndless; then one part
};
constexpr uint32_t kEndless = INT32_MAX;
using Body = std::span<const int32_t>;

struct RuleItems {
    using Edge = std::pair<uint32_t, uint32_t>;  // symbol, and the item that it leads to
    Lists<Edge> edges;                           // [item], sorted
    std::vector<bool> accepting;                 // [item]
    size_t size() const { return accepting.size(); }
};

struct TooManyPositions : std::runtime_error {
    TooManyPositions() : std::runtime_error("a rule with too many symbols") {}
};
struct TooManyNeighbours : std::runtime_error {
    TooManyNeighbours() : std::runtime_error("a rule in which too many symbols may be neighbours") {}
};

constexpr size_t kMostPositions = 50'000;  // repetitions written out
// Of pairs of neighbours: each of n optional symbols in a row has all those after it as neighbours.
constexpr size_t kMostNeighbours = 1'000'000;

// Throws TooManyPositions, TooManyNeighbours, and std::invalid_argument for numbers that are no body.
RuleItems items_of(Body body);
// The same with an item for each position, in the order of the positions.
RuleItems positions_of(Body body, size_t most = kMostPositions);

}  // namespace schemagen
