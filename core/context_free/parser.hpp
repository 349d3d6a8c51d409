// The parser of the terminals of a context-free grammar: configurations of a pushdown automaton, as numbers.
//
// A configuration is a value: equal numbers, equal futures. So texts may be forked and rolled back for nothing, and
// results about a configuration are cached by its number.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "context_free/grammar.hpp"
#include "util/interned_lists.hpp"

namespace schemagen {

using ParserState = uint32_t;
constexpr ParserState kNoParse = 0;

// Sets of lexemes, each kept once; set 0 is empty.
class LexemeSets {
public:
    using SetId = uint32_t;

    explicit LexemeSets(size_t lexemes) : words_(lexemes / 64 + 1), bits_(words_, 0) {}
    SetId intern(std::vector<LexemeId> lexemes);  // in any order, some of them more than once
    std::span<const LexemeId> operator[](SetId set) const { return lists_[set]; }
    bool has(SetId set, LexemeId lexeme) const { return bits_[set * words_ + lexeme / 64] >> (lexeme % 64) & 1; }
    bool meet(SetId one, SetId other) const {
        for (size_t w = 0; w < words_; ++w)
            if (bits_[one * words_ + w] & bits_[other * words_ + w]) return true;
        return false;
    }
    size_t memory_bytes() const { return bits_.capacity() * sizeof(uint64_t) + lists_.memory_bytes(); }

private:
    size_t words_;
    std::vector<uint64_t> bits_;  // [set][lexeme / 64]
    InternedLists lists_;
};

// How far down a computation looked into a stack.
class StackReach {
public:
    void look(uint32_t height) { lowest_ = std::min(lowest_, height); }
    // The lowest entry that a task looks at, or UINT32_MAX if it looks at none.
    template <class Task>
    uint32_t measure(const Task& task) {
        const uint32_t before = std::exchange(lowest_, UINT32_MAX);
        task();
        const uint32_t own = lowest_;
        look(before);
        return own;
    }

private:
    uint32_t lowest_ = UINT32_MAX;
};

// A terminal, and a bound of the bytes to the nearest end after it.
struct Distance {
    SymbolId terminal;
    uint32_t bytes;
    auto operator<=>(const Distance&) const = default;
};
// Sorted by terminal, the nearest of each.
std::vector<Distance> nearest(std::vector<Distance> all);
// Of one of them; ContextFreeGrammar::kFar if it is not there.
uint32_t bytes_after(std::span<const Distance> nearest, SymbolId terminal);

class LrParser;
class RestBounds;

// Which stack a configuration is where these are stacks, and what else.
struct StackOf {
    ParserState stack;
    uint32_t context;
};

class Parser {
public:
    virtual ~Parser() = default;
    virtual ParserState start() = 0;
    // The state after a terminal that is not ignored. kNoParse if it cannot follow.
    virtual ParserState shift(ParserState state, SymbolId terminal) = 0;
    // The lexemes of the terminals that may follow, and of those that are ignored.
    virtual LexemeSets::SetId viable(ParserState state) = 0;
    // Whether the text may end.
    virtual bool accepting(ParserState state) = 0;
    // The state whose futures are those of either. kNoParse if there is none.
    virtual ParserState united(ParserState one, ParserState other) = 0;
    // A lower bound of the bytes to the nearest end.
    virtual uint32_t min_bytes(ParserState state) = 0;
    // For each viable terminal, sorted: a lower bound of the bytes to the end after it, found without shifting. Valid
    // until the next call.
    virtual std::span<const Distance> distances(ParserState state) = 0;
    // The same from above, of a parser to which bounds of the grammar were given; kFar, and no terminal, if unknown.
    virtual void take(const RestBounds&) {}
    virtual uint32_t most_bytes(ParserState) { return ContextFreeGrammar::kFar; }
    virtual std::span<const Distance> most_distances(ParserState) { return {}; }
    // Rules being read, innermost first, for messages; finished ones may be left out. With a terminal that may follow,
    // only the rules that go on with it.
    virtual std::vector<SymbolId> open_rules(ParserState state, SymbolId terminal) = 0;
    virtual size_t memory_bytes() const = 0;
    // Where configurations are stacks: these, which of them a configuration is, and how far down the functions above
    // have looked. Else null.
    virtual const LrParser* stacks() const { return nullptr; }
    virtual StackOf stack_of(ParserState state) const { return {state, 0}; }
    StackReach* reach() { return measured_; }

protected:
    StackReach* measured_ = nullptr;
};

}  // namespace schemagen
