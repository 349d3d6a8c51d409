// Characters that a state of the lexer reads without a change.
//
// Most of a vocabulary is words, and most states of a lexeme that has begun take any of their letters: a name, a
// string, a comment. A subtree of the trie that is made of such characters alone ends where it began, and need not be
// walked. Characters are grouped in slices (vocabulary.hpp), which tell the characters below each node.
#pragma once
#include <vector>

#include "context_free/lexer.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class LexerLoops {
public:
    explicit LexerLoops(Lexer& lexer) : lexer_(lexer) {}
    // The slices whose characters all lead from a state back to it.
    Slice::Set of(LexerState state) { return known(state, state_loops_, false); }
    // Those of them whose characters, in addition, cannot follow a lexeme that ends there: they leave no cut.
    Slice::Set without_cuts(LexerState state) { return known(state, uncut_loops_, true); }
    size_t memory_bytes() const { return (state_loops_.capacity() + uncut_loops_.capacity()) * sizeof(Slice::Set); }

private:
    static constexpr Slice::Set kIsKnown = 1u << 15;
    static_assert(Slice::kCount <= 15);
    Slice::Set known(LexerState state, std::vector<Slice::Set>& sets, bool uncut);
    Slice::Set find(LexerState state, bool uncut);
    bool is_loop(LexerState state, const Slice& slice, bool uncut);
    bool returns(LexerState state, const Slice::Spelling& spelling, bool uncut);
    bool is_cut(LexerState state, uint8_t byte);

    Lexer& lexer_;
    std::vector<Slice::Set> state_loops_, uncut_loops_;  // [state]
};

}  // namespace schemagen
