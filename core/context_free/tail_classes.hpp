// What the rest of a token is as terminals, once for all tokens and all states of the parser.
//
// The rest of a token behind the end of a lexeme (a tail) is cut into lexemes in some ways, the last of which may stay
// unfinished. Tails that are cut into the same lexemes are of one class, and whether a tail may follow depends on its
// class and on the parser alone: a class is a node of a small graph, whose edges are lexemes. These are the subterminal
// trees of DOMINO (Beurer-Kellner et al. 2024, section 3.4) with equal subtrees made one, so that a parser walks each
// of them once, however many tokens share it; and they hold every way to cut a tail, so that nothing is lost.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "context_free/strands.hpp"

namespace schemagen {

using TailClass = uint32_t;
constexpr TailClass kNoClass = 0;  // what nothing can be cut into

class TailClasses {
public:
    TailClasses(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer, Strands& strands);
    // Of a tail that is not empty, which has to keep a promise. The text is kept by the caller.
    TailClass of(std::string_view tail, Promise promise);
    // Whether such a tail may follow a state of the parser.
    bool may_follow(ParserState state, TailClass tail);
    void forget_answers() { answers_.clear(); }
    size_t memory_bytes() const;

private:
    // In `classes_`: the lexemes of which a part is read in the end (a set, or a state of the lexer where something is
    // promised), the promise, then pairs of a lexeme and the class of what is behind it.
    TailClass cut(std::string_view tail, Promise promise);

    Parser& parser_;
    LexemeSets& sets_;
    Lexer& lexer_;
    Strands& strands_;
    LexerState start_;  // of any lexeme
    InternedLists classes_;
    std::vector<std::unordered_map<std::string_view, TailClass>> known_;  // [promise]
    PairMap answers_;                                                     // (state, class) -> whether
};

}  // namespace schemagen
