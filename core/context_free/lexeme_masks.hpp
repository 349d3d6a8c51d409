// Masks of a context-free grammar: what a token does to the lexer is worked out once for each lexeme, what that means
// for the parser once for each class of tails.
//
// A token read within a lexeme either stays in it, or ends it and goes on with a tail, or what it begins is no part of
// the lexeme at all and the next one begins with the token. So the mask of a strand is
//
//     the tokens that stay                                       a row, by what is left of the lexeme alone (`Scan`)
//   | those whose tail may follow behind the lexeme              a few tokens by class of tails (tail_classes.hpp)
//   | the mask of the parser behind the lexeme, at the start     if the lexeme may end here, and as far as it promised
//
// and the mask of a place that of its strands. All of it is exact; where a strand has a promise left, which is rare,
// the vocabulary is read token by token.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "context_free/tail_classes.hpp"
#include "masks/mask_engine.hpp"

namespace schemagen {

class LexemeMasks final : public MaskEngine {
public:
    LexemeMasks(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer, Strands& strands,
                const VocabularyTables& tables);
    uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) override;
    bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const override;
    size_t memory_bytes() const override { return bytes_ + classes_.memory_bytes(); }

private:
    using Words = std::vector<uint32_t>;
    // A set of tokens: few of them as a list, more as a bitmask, equal ones once.
    struct Tokens {
        std::shared_ptr<const Words> mask;  // null: listed
        std::vector<uint32_t> list;
        uint32_t count = 0;
        void add_to(uint32_t* words, size_t size) const;
    };
    struct Group {
        TailClass tail;
        std::vector<uint32_t> tokens;
    };
    // What tokens do within a lexeme of which some was read.
    struct Scan {
        Tokens inner;
        std::vector<Group> leaving;              // by the class of their tail
        bool ends = false;                       // whether it may end before the token
        std::shared_ptr<const Words> beginning;  // then: the tokens that keep its promise; null: all
    };
    // The same of all lexemes that a state of the lexer reads.
    struct LexerMask {
        Tokens inner;
        std::vector<std::pair<LexemeId, std::shared_ptr<const Scan>>> scans;
    };
    const Scan& scan(const Lexer::Component& component);
    std::shared_ptr<Scan> walk(LexerState alone);
    void leave(const Trie& trie, uint32_t node, const std::vector<std::pair<size_t, Promise>>& cuts,
               std::vector<std::pair<TailClass, uint32_t>>& leaving);
    void end_before(LexerState alone, Scan& scan, std::vector<std::pair<TailClass, uint32_t>>& leaving);
    const LexerMask& lexer_mask(LexerState lexer);
    const Tokens& strand_mask(const Strand& strand, Arena& arena);
    void read_all(const Strand& strand, uint32_t* words);
    Tokens kept(const Words& words);
    void make_room();

    static constexpr size_t kMostBytes = 64u << 20;
    const ContextFreeGrammar& grammar_;
    Parser& parser_;
    LexemeSets& sets_;
    Lexer& lexer_;
    Strands& strands_;
    const VocabularyTables& tables_;
    TailClasses classes_;
    std::unordered_map<LexerState, std::shared_ptr<const Scan>> scans_;
    std::unordered_map<LexerState, LexerMask> lexer_masks_;
    std::unordered_map<uint64_t, Tokens> strand_masks_;  // by parser and lexer
    std::unordered_map<PlaceId, Tokens> masks_;
    std::unordered_map<uint64_t, std::vector<std::weak_ptr<const Words>>> pool_;  // by hash
    size_t bytes_ = 0;
};

}  // namespace schemagen
