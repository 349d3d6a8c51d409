// Which lexemes may stand next to each other.
//
// Where a lexeme takes the longest match, or is chosen among several, its end says something about the text behind it
// (lexer.hpp). A lexeme can always be left for another one if, however far it is read, there is an end behind which the
// other one may begin, and never if it has no such end. Most pairs are told by the bytes that they are made of, the
// others by a walk through the states of the first; what is not told is said to be so sometimes.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
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
    // `before`: of the same grammar over another kernel, whose answers hold here as well; or null.
    Adjacency(const ContextFreeGrammar& grammar, Kernel& kernel, Lexer& lexer, const Adjacency* before)
        : grammar_(grammar), kernel_(kernel), lexer_(lexer), known_(grammar.lexemes().size()) {
        if (!before) return;
        beginnings_ = before->beginnings_;
        followed_ = before->followed_;
        last_ = before->last_;
        for (size_t lexeme = 0; lexeme < known_.size(); ++lexeme) {
            known_[lexeme].beginning = before->known_[lexeme].beginning;
            known_[lexeme].free = before->known_[lexeme].free;
        }
    }
    enum class When : uint8_t { kNever, kSometimes, kAlways };
    // When a lexeme can be left for another one.
    When followed(LexemeId lexeme, LexemeId next);
    // The same for what begins with some bytes, and makes no lexeme.
    When before(LexemeId lexeme, const ByteSet& first);
    // Whether no end of it says anything: so all may follow always.
    bool is_free(LexemeId lexeme);
    // When the text may end behind it.
    When last(LexemeId lexeme);
    // Lexemes that begin with the same bytes have the same number, and stand behind the same ones.
    uint32_t beginning(LexemeId lexeme);

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    // All states of a lexeme, and from which ones each is reached.
    struct Walk {
        std::vector<LexerState> states;
        std::vector<std::vector<uint32_t>> before;
    };
    struct Known {
        std::unique_ptr<ByteSet> first, longer;
        uint32_t beginning = kUnknown;
        std::unique_ptr<Walk> walk;  // no states: too many
        std::optional<bool> free;
    };
    const ByteSet& first_bytes(LexemeId lexeme);
    const ByteSet& longer_bytes(LexemeId lexeme);
    const Walk& walk(LexemeId lexeme);
    When kept(Promise promise, const ByteSet& first);
    template <class Ends>
    When over_states(LexemeId lexeme, const Ends& ends);

    static constexpr size_t kMostStates = 2000;  // of one lexeme
    const ContextFreeGrammar& grammar_;
    Kernel& kernel_;
    Lexer& lexer_;
    std::vector<Known> known_;  // [lexeme]
    std::map<std::array<uint64_t, 4>, uint32_t> beginnings_;
    PairMap followed_;  // (lexeme, beginning of the next) -> when
    PairMap last_;      // (lexeme, 0) -> when
};

}  // namespace schemagen
