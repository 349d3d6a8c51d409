// The terminals in the rest of a token, computed once for all tokens and all states of the parser.
//
// The rest of a token after the end of a lexeme (a tail) is cut into lexemes in some ways; the last lexeme may stay
// unfinished. Tails that are cut into the same lexemes are of one class, and whether a tail may follow depends on its
// class and on the parser alone: a class is a node of a small graph, whose edges are lexemes. These are the subterminal
// trees of DOMINO (Beurer-Kellner et al. 2024, section 3.3) with equal subtrees made one, so that a parser walks each
// of them once, however many tokens share it; and they hold every way to cut a tail, so that nothing is lost.
//
// Most tails end in the lexeme that they begin, and the state of the lexer there gives their class: those are not
// looked up one by one, but found by a walk over the subtree of a node of the vocabulary's trie.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "context_free/lexer_loops.hpp"
#include "context_free/state_memo.hpp"
#include "context_free/strands.hpp"
#include "util/hash_index.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

using TailClass = uint32_t;
constexpr TailClass kNoClass = 0;  // what nothing can be cut into

// The end of a lexeme within a token: its place, its promise, and the rest of that promise.
struct Cut {
    LexemeId lexeme;
    uint32_t length;  // bytes of the token up to it
    Promise promise, left;
};

class TailClasses {
public:
    // Tokens whose tails are of one class: a range of the trie's, in its order.
    struct TailRange {
        TailClass tail;
        uint32_t begin, end;
    };
    using Tails = std::vector<TailRange>;
    static void add(Tails& tails, const TailRange& range);

    TailClasses(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer, Strands& strands,
                const VocabularyTables& tables);
    // Of a tail that is not empty, which has to keep a promise. The text is kept by the caller.
    TailClass of(std::string_view tail, Promise promise);
    // Adds those of the tokens that lead to a node or through it, after a cut; `depth`: bytes to the node.
    void add_below(uint32_t node, uint32_t depth, const Cut& cut, Tails& tails);
    // Whether such a tail may follow a state of the parser.
    bool may_follow(ParserState state, TailClass tail);
    // Of a class: whether it has a promise; if not, the lexemes that may be unfinished at its end, and pairs of a
    // lexeme and the class after it.
    bool promises(TailClass tail) const { return classes_[tail][1] != kNoPromise; }
    LexemeSets::SetId begun(TailClass tail) const { return classes_[tail][0]; }
    InternedLists::List cuts(TailClass tail) const { return classes_[tail].subspan(2); }
    // The most lexemes that end in it: more than in the class after any of its cuts.
    uint32_t depth(TailClass tail) const { return depths_[tail]; }
    LexerLoops& loops() { return loops_; }
    // Drops everything that can be computed again.
    void forget() {
        answers_.clear();
        below_.clear();
        below_bytes_ = 0;
    }
    size_t memory_bytes() const;

    // Adds those of the cuts [begin, end) on top that a byte keeps; `length`: bytes of the token before it.
    using CutStack = std::vector<Cut>;
    static void keep(Lexer& lexer, CutStack& cuts, size_t begin, size_t end, size_t length, uint8_t byte);

private:
    LexerState start();  // of any lexeme
    // In `classes_`: the lexemes that may be unfinished at its end (a set, or a state of the lexer where something is
    // promised), the promise, then pairs of a lexeme and the class after it.
    TailClass cut(std::string_view tail, Promise promise);
    TailClass interned(LexerState state, Promise promise, std::vector<std::pair<LexemeId, TailClass>> cuts);
    TailClass ending_in(LexerState state);
    LexemeSets::SetId lexemes_of(LexerState state);
    bool may_end_in(ParserState state, LexemeSets::SetId viable, TailClass tail);
    bool goes_on(ParserState state, TailClass tail);
    class Walk;

    Parser& parser_;
    LexemeSets& sets_;
    Lexer& lexer_;
    LexerLoops loops_;
    Strands& strands_;
    const VocabularyTables& tables_;
    const uint32_t lexemes_;
    LexerState start_ = kNoLexeme;  // see start()
    InternedLists classes_;
    std::vector<uint32_t> depths_{0};                            // [class]
    std::vector<TailClass> ending_in_;                           // [state of the lexer], kUnknown if not asked for
    std::unordered_map<LexerState, TailClass> ending_in_track_;  // by the start of the track
    struct Known {
        std::string_view text;
        Promise promise;  // that it has to keep
        TailClass tail;
    };
    std::vector<Known> known_;  // tails that were asked for
    HashIndex known_index_;
    std::vector<uint32_t> key_;             // of a class that is interned; a scratch
    std::vector<LexemeSets::SetId> begun_;  // [state of the lexer]: its lexemes, kUnknown if not asked for
    // [what stays promised at the node, node]: of the tokens below it, if a lexeme ends right before it.
    std::unordered_map<uint64_t, Tails> below_;
    size_t below_bytes_ = 0;
    StateMemo answers_;  // of a class: whether it may follow a cut
};

}  // namespace schemagen
