// Masks of a context-free grammar: what a token does to the lexer is worked out once for each lexeme, what that means
// for the parser once for each class of tails.
//
// A token read within a lexeme either stays in it, or ends it and goes on with a tail, or what it begins is no part of
// the lexeme at all and the next one begins with the token. So the mask of a strand is
//
//     the tokens that stay                                       by what is left of the lexeme alone (lexeme_scans.hpp)
//   | those whose tail may follow behind the lexeme              by class of tails (tail_tree.hpp)
//   | the mask of the parser behind the lexeme, at the start     if the lexeme may end here, and as far as it promised
//
// and the mask of a place that of its strands. All of it is exact; where a strand has a promise left, or the grammar is
// not lively (liveness.hpp), both of which are rare, the vocabulary is read token by token.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "context_free/lexeme_scans.hpp"
#include "context_free/state_memo.hpp"
#include "masks/mask_engine.hpp"

namespace schemagen {

class LexemeMasks final : public MaskEngine {
public:
    LexemeMasks(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer, Strands& strands,
                const VocabularyTables& tables);
    uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) override;
    bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const override;
    size_t memory_bytes() const override {
        return bytes_ + plan_ids_.memory_bytes() + classes_.memory_bytes() + scans_.memory_bytes() +
               kept_.memory_bytes();
    }

private:
    using Words = TokenSet::Words;
    // Of a state of the lexer: what stays in any of its lexemes, and for each what else there is.
    struct LexerMask {
        TokenSet inner;
        std::vector<std::pair<LexemeId, std::shared_ptr<const LexemeScan>>> scans;
    };
    const LexerMask& lexer_mask(LexerState lexer);
    // Tokens that leave the lexemes of a strand, behind some of them: all of a node of their tree, or one group.
    struct Open {
        std::vector<LexemeId> path;
        TailTree::NodeId node;
        std::optional<TailTree::Group> group;
    };
    // The mask of a strand, for all stacks that begin alike: what does not depend on the rest of them, and what does.
    struct Plan {
        TokenSet decided;
        std::vector<Open> open;
    };
    // What may be open of a plan that is being made, nodes before those below them.
    struct Part {
        uint32_t lowest;  // how far down it looked at the stack (state_memo.hpp)
        uint32_t parent;  // part; kNoPart: none
        uint32_t same;    // the part with this node behind the same state; kNoPart: this one is the first
        LexemeId lexeme;  // behind that
        TailTree::NodeId node;
        std::optional<TailTree::Group> group;
        const TokenSet* taken;  // null: none
    };
    static constexpr uint32_t kNoPart = PairMap::kNone;
    void add_parts(ParserState before, const Part& at, std::vector<Part>& parts);
    uint32_t lowest_of(const std::vector<Part>& parts, uint32_t height) const;
    Plan plan_of(const std::vector<Part>& parts, uint32_t lowest, Words words);
    // States of the parser at nodes, the deepest first.
    using Meetings = std::map<std::pair<uint32_t, TailTree::NodeId>, std::vector<ParserState>, std::greater<>>;
    void add_tails(const std::vector<std::pair<ParserState, TailTree::NodeId>>& begin, Words& words);
    bool walk_tails(ParserState state, TailTree::NodeId node, Words& words);
    void meet(ParserState state, TailTree::NodeId node, Meetings& meetings);
    const TailTree::Step& add_step(ParserState state, TailTree::NodeId node, Words& words);
    void add_open(ParserState parser, const Open& open, Words& words);
    void add_strand(ParserState parser, LexerState lexer, Words& words);
    uint32_t make_plan(ParserState parser, LexerState lexer);
    void add_next(ParserState behind, const LexemeScan& scan, Words& words);
    void read_all(const Strand& strand, uint32_t* words);
    void make_room();

    static constexpr size_t kMostBytes = 64u << 20;
    static constexpr size_t kMostWalked = 4096;  // states and nodes, one by one
    static constexpr size_t kMostApart = 8;      // states at a node of tails
    static constexpr size_t kMostOpen = 128;     // parts of one plan
    const ContextFreeGrammar& grammar_;
    Parser& parser_;
    Lexer& lexer_;
    Strands& strands_;
    const VocabularyTables& tables_;
    TokenSets kept_;
    TailClasses classes_;
    LexemeScans scans_;
    std::unordered_map<LexerState, LexerMask> lexer_masks_;
    StateMemo plan_ids_;  // of a state of the lexer
    std::deque<Plan> plans_;
    PairMap seen_;  // (state, node), while one plan is made or walked -> part
    std::unordered_map<PlaceId, TokenSet> masks_;
    size_t bytes_ = 0;
};

}  // namespace schemagen
