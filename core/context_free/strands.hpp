// Texts of a context-free grammar, read byte by byte. A `Strand` is one way to read the text: the state of the parser,
// the part of the lexeme so far, and the promise of the lexeme before it. A set of strands is a `StrandSet`, interned
// and known by its number.
//
// Invariants: every strand of a set can be finished; strands are sorted; no two differ in the parser's state alone if
// the parser can unite them; set 0 is the dead one and set 1 the start, where no byte was read yet.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "context_free/lexer.hpp"
#include "context_free/parser.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

struct Strand {
    ParserState parser;
    LexerState lexer;
    Promise promise;
    auto operator<=>(const Strand&) const = default;
};

using StrandSet = uint32_t;
constexpr StrandSet kNoStrands = 0, kStartStrands = 1;

// The strands of a set; other sets may be made while it is read.
class StrandsOfSet {
public:
    StrandsOfSet(const InternedLists& sets, StrandSet set) : sets_(sets), set_(set), size_(sets[set].size() / 3) {}
    class Iterator {
    public:
        Iterator(const StrandsOfSet& list, size_t at) : list_(list), at_(at) {}
        Strand operator*() const { return list_[at_]; }
        Iterator& operator++() { return ++at_, *this; }
        bool operator==(const Iterator& other) const { return at_ == other.at_; }

    private:
        const StrandsOfSet& list_;
        size_t at_;
    };
    Strand operator[](size_t k) const {
        const InternedLists::List flat = sets_[set_].subspan(3 * k, 3);
        return {flat[0], flat[1], flat[2]};
    }
    size_t size() const { return size_; }
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, size_}; }

private:
    const InternedLists& sets_;
    const StrandSet set_;
    const size_t size_;
};

class Strands {
public:
    Strands(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer, Allowance& allowance,
            bool is_lively);
    StrandsOfSet operator[](StrandSet set) const { return {strand_sets_, set}; }
    StrandSet set_of(const Strand& strand);
    StrandSet step(StrandSet set, uint8_t byte);
    // The same with strands that come from elsewhere.
    StrandSet step(StrandSet set, uint8_t byte, std::vector<Strand> others);
    bool accepting(StrandSet set);
    ByteSet next_bytes(StrandSet set);
    uint32_t min_bytes(StrandSet set);
    // A superset of the bytes after which that is less.
    ByteSet nearer_bytes(StrandSet set);
    // The state after a terminal, which may be an ignored one. kNoParse if it cannot follow.
    ParserState after(ParserState state, LexemeId lexeme) {
        const SymbolId terminal = grammar_.lexemes()[lexeme].terminal;
        return grammar_.is_ignored(terminal) ? state : parser_.shift(state, terminal);
    }
    // Whether the text can be finished, whatever the promise.
    bool can_finish(const Strand& strand);
    // Whether a strand without promises can always be finished (liveness.hpp).
    bool is_lively() const { return is_lively_; }
    // Whether there is a text at all.
    bool has_texts() { return accepting(kStartStrands) || can_finish((*this)[kStartStrands][0]); }
    size_t memory_bytes() const {
        return strand_sets_.memory_bytes() + finishing_.memory_bytes() + finished_.memory_bytes() +
               finished_reach_.memory_bytes() + steps_.memory_bytes() + accepting_.capacity();
    }

private:
    static constexpr size_t kMostTried = 20'000;
    enum class Ending : uint8_t { kUnasked, kNone, kAny };  // whether a strand of a set ends well
    void follow(const Strand& strand, uint8_t byte, std::vector<Strand>& out);
    bool ends_well(const Strand& strand);
    ByteSet nearer_bytes(const Strand& strand, uint32_t least);
    uint32_t number_of(const Strand& strand);
    std::optional<bool> known_to_finish(const Strand& strand);
    bool follow_nearest(std::vector<Strand>& path);
    bool find_end(const Strand& strand);
    bool keeps_soon(LexerState lexer, Promise promise);
    uint32_t min_bytes(const Strand& strand);
    uint32_t min_bytes_after(ParserState parser, LexemeId lexeme);
    void add_nearer(ParserState parser, uint32_t least, ByteSet& out);
    void unite(std::vector<Strand>& strands);
    StrandSet set_of(std::vector<Strand> strands);
    bool can_surely_finish(const Strand& strand);

    const ContextFreeGrammar& grammar_;
    Parser& parser_;
    LexemeSets& sets_;
    Lexer& lexer_;
    Allowance& allowance_;
    const bool is_lively_;
    InternedLists strand_sets_;      // [set]: strands, flat
    PairMap steps_;                  // (set, byte) -> set
    std::vector<Ending> accepting_;  // [set]
    InternedLists finishing_;        // strands asked for
    PairMap kept_soon_;              // (lexer, promise) -> whether
    PairMap finished_;               // (of those, 0) -> whether they can be finished
    PairMap finished_reach_;         // (of those, 0) -> the lowest entry of the stack that this took
};

}  // namespace schemagen
