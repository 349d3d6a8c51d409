// Which lexemes may be neighbours.
//
// Where a lexeme takes the longest match, or is chosen among several, its end restricts the text after it (lexer.hpp).
// A lexeme can *always* be left for another one if, however far it is read, there is an end after which the other may
// begin, and *never* if it has no such end. The bytes of the two decide most pairs, a walk through the states of the
// first one decides the others; an undecided pair counts as *sometimes*.
//
// Only the set of bytes that the second lexeme begins with matters: its `beginning`. There are few of them, and one
// walk answers for 64 at once, a bit for each.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "context_free/lexeme_graph.hpp"
#include "context_free/lexer.hpp"

namespace schemagen {

// A terminal that no lexeme reads (embedded.hpp), and the bytes that its texts begin with.
struct EmbeddedTerminal {
    SymbolId terminal;
    ByteSet first;
};

class Adjacency {
public:
    // `before`: of the same grammar over another kernel, whose answers hold here as well; or null.
    Adjacency(const ContextFreeGrammar& grammar, Kernel& kernel, Lexer& lexer, const Adjacency* before);
    enum class When : uint8_t { kNever, kSometimes, kAlways };
    // When a lexeme can be left for another one.
    When followed(LexemeId lexeme, LexemeId next);
    bool always_followed(LexemeId lexeme, LexemeId next) { return followed(lexeme, next) == When::kAlways; }
    // The same for what begins with some bytes, and makes no lexeme.
    When before(LexemeId lexeme, const ByteSet& first);
    // Whether no end of it says anything: so all may follow always.
    bool is_free(LexemeId lexeme);
    // When the text may end after it.
    When last(LexemeId lexeme);
    // The bytes of the shortest way from within a lexeme to an end after which all may follow that always may; at most,
    // for any text that has begun. kFar if the lexeme has too many states to tell.
    uint32_t bytes_to_end(const Lexer::Component& component);
    uint32_t bytes_to_end(LexemeId lexeme);
    // Lexemes that begin with the same bytes share a number, and may follow the same lexemes.
    uint32_t beginning(LexemeId lexeme);
    // Lexemes with the same number are followed by the same lexemes, and may be last alike.
    uint32_t ending(LexemeId lexeme);
    size_t memory_bytes() const;

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    // Of 64 beginnings: those for which something is so always, and those for which it ever is.
    struct Answer {
        uint64_t always = 0, ever = 0;
        When of(size_t bit) const {
            if (always >> bit & 1) return When::kAlways;
            return ever >> bit & 1 ? When::kSometimes : When::kNever;
        }
    };
    struct Known {
        uint32_t beginning = kUnknown, ending = kUnknown;
        std::optional<bool> free;
        std::optional<When> last;
        std::unique_ptr<std::unordered_map<LexemeGraph::State, uint32_t>> bytes_to_end;
        std::unique_ptr<std::vector<LexemeGraph::State>> states;
        size_t told = 0;               // beginnings that `followed` covers
        std::vector<Answer> followed;  // [beginning / 64]
    };
    // The bytes after which a promise is kept for good, and those that do not break it.
    struct Keeping {
        ByteSet free, unbroken;
        std::vector<std::pair<size_t, Answer>> of;  // [beginning / 64]: of 64 beginnings
    };
    uint32_t number_of(const ByteSet& first);
    When after(LexemeId lexeme, uint32_t beginning);
    Answer find(LexemeId lexeme, size_t word);
    uint64_t beyond(LexemeId lexeme, size_t word);
    const std::vector<LexemeGraph::State>& states_of(LexemeId lexeme);
    Answer kept(Promise promise, size_t word);
    Keeping keeping(Promise promise);
    template <class Ends>
    Answer over_states(LexemeId lexeme, const Ends& ends);
    template <class Ends>
    void raise_bytes(LexemeId lexeme, uint64_t asked, const Ends& ends);
    const std::unordered_map<LexemeGraph::State, uint32_t>& bytes_of(LexemeId lexeme);

    const ContextFreeGrammar& grammar_;
    Kernel& kernel_;
    Lexer& lexer_;
    LexemeGraph graph_;
    std::vector<Known> known_;         // [lexeme]
    std::vector<ByteSet> beginnings_;  // [beginning]
    std::map<std::array<uint64_t, 4>, uint32_t> numbers_;
    std::map<std::vector<uint64_t>, uint32_t> endings_;
    std::unordered_map<Promise, Keeping> keeping_;
    std::unordered_map<NodeId, ByteSet> used_;  // by the longer texts
    std::vector<uint64_t> ends_well_;           // [state], within `over_states`
};

}  // namespace schemagen
