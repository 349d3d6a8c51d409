// Masks of a context-free grammar: the effect of a token on the lexer is computed once for each lexeme, the effect on
// the parser once for each class of tails.
//
// A token read within a lexeme stays in it, or ends it and goes on with a tail, or ends it before its first byte, so
// that the next lexeme begins with the token. So the mask of a strand is
//
//     the tokens that stay                                       by the rest of the lexeme alone (lexeme_scans.hpp)
//   | those whose tail may follow the lexeme                     by class of tails (tail_tree.hpp)
//   | the mask of the parser after the lexeme, at the start      if the lexeme may end here, and as far as it promised
//
// and the mask of a set of strands is the union of theirs. All of it is exact; where a strand has a promise left, or
// the grammar is not lively (liveness.hpp), both of which are rare, the vocabulary is read token by token.
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

#include "automata/mask_cache.hpp"
#include "context_free/lexeme_scans.hpp"
#include "context_free/rest_bounds.hpp"
#include "context_free/state_memo.hpp"
#include "masks/mask_engine.hpp"
#include "util/heap.hpp"

namespace schemagen {

class LexemeMasks final : public MaskEngine {
public:
    // `find_bounds`: of the rest of texts, for masks within budgets; null if they are not to be had.
    LexemeMasks(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer, Strands& strands,
                const VocabularyTables& tables, std::function<const RestBounds*()> find_bounds);
    uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) override;
    bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const override;
    bool stays(const Configuration& config, Slice::Set slices) override;
    uint32_t most_bytes(const Configuration& config) override;
    uint32_t most_left(const Configuration& config, Arena& arena) override;
    bool add_near(const Configuration& config, uint32_t bytes, uint32_t* words) override;
    size_t memory_bytes() const override {
        return heap_block(sizeof(*this)) + kDeques * kEmptyDeque + bytes_ + masks_.bytes() + plan_ids_.memory_bytes() +
               after_ids_.memory_bytes() + classes_.memory_bytes() + scans_.memory_bytes() + kept_.memory_bytes() +
               most_from_.capacity() * sizeof(uint32_t);
    }

private:
    static constexpr uint32_t kFar = Automaton::kFar, kUnknown = UINT32_MAX;
    using Words = TokenSet::Words;
    using Parts = TokenSets::Parts;
    // Of a state of the lexer: what stays in any of its lexemes, and for each what else there is.
    struct LexerMask {
        const TokenSet* inner;
        std::vector<std::pair<LexemeId, LexemeScan>> scans;
    };
    const LexerMask& lexer_mask(LexerState lexer);
    // The tokens of a strand, or of a node of tails, for all stacks that begin alike: those that are decided by the few
    // entries on top, and those that each stack has to be asked about.
    struct Plan {
        const TokenSet* decided;
        std::vector<std::pair<LexemeId, TailTree::NodeId>> open;  // the tokens of a node after a lexeme
        std::vector<TailTree::Group> asked;
        uint32_t most_left = kFar;  // after any of its tokens: see MaskEngine
        bool is_decided() const { return open.empty() && asked.empty(); }
    };
    class PlanMaker;
    void make_bounds();
    uint32_t most_after_end(ParserState state, SymbolId terminal);
    uint32_t most_after(ParserState state, SymbolId terminal);
    uint32_t most_from(ParserState state);
    void add_near(ParserState parser, LexerState lexer, uint32_t bytes, uint32_t* words);
    void add_near_tails(ParserState state, TailTree::NodeId node, uint32_t bytes, uint32_t* words);
    const TailTree::Step& step(ParserState state, TailTree::NodeId node);
    const TokenSet* leaf_after(ParserState state, TailTree::NodeId node);
    uint32_t plan_after(ParserState state, TailTree::NodeId node);
    void add_after(ParserState state, TailTree::NodeId node, Parts& parts);
    void add_plan(ParserState state, const Plan& plan, Parts& parts);
    // States of the parser at nodes, the deepest first.
    using Meetings = std::map<std::pair<uint32_t, TailTree::NodeId>, std::vector<ParserState>, std::greater<>>;
    void add_tails(const std::vector<std::pair<ParserState, TailTree::NodeId>>& begin, Parts& parts);
    bool walk_tails(ParserState state, TailTree::NodeId node, Parts& parts);
    void meet(ParserState state, TailTree::NodeId node, Meetings& meetings);
    const TailTree::Step& add_step(ParserState state, TailTree::NodeId node, Parts& parts);
    void add_strand(ParserState parser, LexerState lexer, Parts& parts);
    template <class Add>
    void each_leaving(const LexerMask& mask, const Add& add);
    uint32_t make_plan(ParserState parser, LexerState lexer);
    uint32_t make_whole_plan(ParserState parser, LexerState lexer);
    void add_next(ParserState after, const LexemeScan& scan, Parts& parts);
    void read_all(const Strand& strand, uint32_t* words);
    void make_room();
    TokenSets forget_parts();
    static constexpr size_t kDeques = 5;         // here and in its parts
    static constexpr size_t kMostWalked = 4096;  // states and nodes, one by one
    static constexpr size_t kMostApart = 8;      // states at a node of tails
    static constexpr uint32_t kNoTokens = 0;     // the plan without tokens
    static constexpr uint32_t kTop = 3;          // entries of a stack that may decide a part of a plan
    const ContextFreeGrammar& grammar_;
    Parser& parser_;
    const LexemeSets& sets_;
    Lexer& lexer_;
    Strands& strands_;
    const VocabularyTables& tables_;
    TokenSets kept_;
    TailClasses classes_;
    LexemeScans scans_;
    std::unordered_map<LexerState, LexerMask> lexer_masks_;
    StateMemo plan_ids_;   // of a state of the lexer
    StateMemo after_ids_;  // of a node
    std::deque<Plan> plans_;
    PairMap seen_;  // (state, node), while tails are walked or a plan is followed
    struct Mask {
        const TokenSet* tokens;
        uint32_t most_left;
    };
    MaskCache<StrandSet, Mask> masks_;
    std::function<const RestBounds*()> find_bounds_;
    const RestBounds* bounds_ = nullptr;
    std::vector<uint32_t> most_from_;  // [state of the parser], if it was asked for
    uint32_t most_left_ = 0;           // after the tokens that are being collected
    size_t bytes_ = 0;
};

}  // namespace schemagen
