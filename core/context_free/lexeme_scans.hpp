// The effects of the tokens of a vocabulary within one lexeme: which stay in it, and which leave it with which tail.
//
// A token that stays is allowed, wherever the parser is. One that leaves is cut at the end of the lexeme, and its rest
// belongs to a class of tails (tail_classes.hpp). Tokens are read along the trie of the vocabulary. Results below its
// first bytes are cached by the state of the lexer there, so that lexemes that differ in a few texts, as names without
// the reserved words do, share all but the paths of these.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "context_free/tail_tree.hpp"
#include "util/heap.hpp"

namespace schemagen {

struct LexemeScan {
    const TokenSet* inner;
    TailTree::NodeId leaving;             // with these tails
    bool ends = false;                    // whether it may end before the token
    const TokenSet* beginning = nullptr;  // then: the tokens that keep its promise, or null for all
};

class LexemeScans {
public:
    LexemeScans(Lexer& lexer, const LexemeSets& lexemes, TailClasses& classes, const VocabularyTables& tables,
                TokenSets& sets)
        : lexer_(lexer), classes_(classes), tables_(tables), sets_(sets), tails_(classes, lexemes, sets) {}
    const LexemeScan& of(const Lexer::Component& component);
    TailTree& tails() { return tails_; }
    void clear();
    size_t memory_bytes() const {
        return bytes_ + scans_.size() * heap_node(sizeof(*scans_.begin())) + all_.capacity() * sizeof(uint32_t) +
               tails_.memory_bytes();
    }

private:
    using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;  // of the trie's tokens, in order
    // The subtree of the trie under one first byte.
    struct Branch {
        Ranges inner;  // most are whole subtrees
        TailClasses::Tails leaving;
    };
    LexemeScan scan(LexerState alone);
    const Branch& branch(LexerState state, uint32_t node);
    Branch walk(LexerState state, uint32_t node);
    TokenSet::Words words_of(const Ranges& ranges);
    TailTree::NodeId grouped(const TailClasses::Tails& leaving);
    const TokenSet* tokens_of(const Ranges& ranges);
    void end_before(LexerState alone, const TokenSet::Words& inner, LexemeScan& scan, TailClasses::Tails& leaving);

    Lexer& lexer_;
    TailClasses& classes_;
    const VocabularyTables& tables_;
    TokenSets& sets_;
    TailTree tails_;
    std::unordered_map<LexerState, LexemeScan> scans_;
    PairMap branch_index_;  // (state, node) -> branch
    std::deque<Branch> branches_;
    TokenSet::Words all_;  // the tokens that have a text, when they were asked for
    static constexpr uint32_t kNoGroup = UINT32_MAX;
    std::vector<uint32_t> group_of_;  // [class], while one scan is grouped
    size_t bytes_ = 0;
};

}  // namespace schemagen
