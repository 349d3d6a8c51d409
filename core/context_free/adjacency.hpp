// Which lexemes may stand next to each other.
//
// Where a lexeme takes the longest match, or is chosen among several, its end says something about the text behind it
// (lexer.hpp). A lexeme can be left for another one if, however far it is read, there is an end behind which the other
// one may begin. Most pairs are told by the bytes that they are made of, the others by a walk through the states of the
// first. false: not seen to be so.
#pragma once
#include <memory>
#include <vector>

#include "context_free/lexer.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

// A terminal that no lexeme reads (guests.hpp), and the bytes that its texts begin with.
struct ForeignTerminal {
    SymbolId terminal;
    ByteSet first;
};

class Adjacency {
public:
    Adjacency(const ContextFreeGrammar& grammar, Kernel& kernel, Lexer& lexer)
        : grammar_(grammar), kernel_(kernel), lexer_(lexer), known_(grammar.lexemes().size()) {}
    bool may_follow(LexemeId lexeme, LexemeId next);
    // The same for what begins with some bytes, and makes no lexeme.
    bool may_be_before(LexemeId lexeme, const ByteSet& first);
    // Whether the text may end behind it.
    bool may_be_last(LexemeId lexeme);

private:
    // All states of a lexeme, and from which ones each is reached.
    struct Walk {
        std::vector<LexerState> states;
        std::vector<std::vector<uint32_t>> before;
    };
    struct Known {
        std::unique_ptr<ByteSet> first, longer;
        std::unique_ptr<Walk> walk;  // no states: too many
    };
    const ByteSet& first_bytes(LexemeId lexeme);
    const ByteSet& longer_bytes(LexemeId lexeme);
    const Walk& walk(LexemeId lexeme);
    bool is_kept(Promise promise, const ByteSet& first);
    template <class EndsWell>
    bool reaches(LexemeId lexeme, const EndsWell& ends_well);

    static constexpr size_t kMostStates = 2000;  // of one lexeme
    const ContextFreeGrammar& grammar_;
    Kernel& kernel_;
    Lexer& lexer_;
    std::vector<Known> known_;  // [lexeme]
    PairMap followed_;          // (lexeme, next) -> whether
    PairMap last_;              // (lexeme, 0) -> whether
};

}  // namespace schemagen
