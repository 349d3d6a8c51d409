// Earley's parser as a pushdown automaton that is made deterministic as it is walked.
//
// An Earley set (Earley 1970) is a list of items with the position where each began. Here the items that began at one
// position are a `vector`, and the position is a `frame`: which rules were called there, and where each call returns to
// (a rule, the frame that called it, the item after it): return addresses, as in the pushdown automata of Koo et al.
// 2024, section 3.1. Frames are values: calls with equal returns are one frame wherever they are made, so ambiguity
// never multiplies them, and a state is a list of (frame, vector). It reads every context-free grammar: recursion on
// any side, rules that may be empty, ambiguous ones.
//
// A call in the last place of a rule returns to where that rule returns to (Leo 1991), so right recursion needs no more
// frames than left recursion. Only which texts are read counts, not how often: a new frame after which the same may
// follow as after one that it returns to is that frame, and of an item in several frames only those are followed after
// which more may follow than after the others (continuations.hpp). Worst case, as Earley's: a state of n frames after n
// terminals.
//
// Invariants: returns lead to frames of lower levels; vectors are closed under rules that may be empty and under
// completion; every item in a vector can be completed, for the grammar has no unproductive rules.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "context_free/allowance.hpp"
#include "context_free/continuations.hpp"
#include "context_free/frame_rests.hpp"
#include "context_free/parser.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class FrameParser final : public Parser {
public:
    FrameParser(const ContextFreeGrammar& grammar, LexemeSets& sets, Allowance& allowance);
    ParserState start() override { return start_; }
    ParserState shift(ParserState state, SymbolId terminal) override;
    LexemeSets::SetId viable(ParserState state) override;
    // Whether a terminal may come next.
    bool reads(ParserState state, SymbolId terminal) const;
    bool accepting(ParserState state) override { return states_[state][0] != 0; }
    ParserState united(ParserState one, ParserState other) override;
    uint32_t min_bytes(ParserState state) override;
    std::span<const Distance> distances(ParserState state) override;
    std::vector<SymbolId> open_rules(ParserState state, SymbolId terminal) override;
    void take(const RestBounds& bounds) override { rests_ = std::make_unique<FrameRests>(*this, bounds); }
    uint32_t most_bytes(ParserState state) override { return rests_ ? rests_->bytes(state) : ContextFreeGrammar::kFar; }
    std::span<const Distance> most_distances(ParserState state) override {
        return rests_ ? rests_->distances(state) : std::span<const Distance>{};
    }
    size_t memory_bytes() const override;

private:
    friend class Continuations;
    friend class FrameRests;
    using VectorId = uint32_t;
    using Items = std::vector<ItemId>;
    static constexpr FrameId kRoot = 0;  // returns out of the grammar
    // Ordinary texts stay below this. From there on frames are compared, which takes time.
    static constexpr uint32_t kDeep = 16;  // level of a frame
    static constexpr size_t kMany = 8;     // frames of a state, returns of a frame
    static constexpr uint32_t kUnknown = UINT32_MAX;

    // Rules called at one place, with those that they begin with.
    struct Kind {
        std::vector<SymbolId> rules;  // sorted
        VectorId initial;
        std::vector<std::pair<SymbolId, ItemId>>
            inner;          // sorted: a rule called where the frame begins, the item after it
        Items after_inner;  // sorted: what such calls may return to
    };
    struct Return {
        SymbolId rule;
        FrameId parent;
        ItemId item;
        auto operator<=>(const Return&) const = default;
    };
    struct Frame {
        uint32_t kind, level, returns;        // the last: of return_lists_
        uint32_t min_bytes_after = kUnknown;  // where those of its rules begin, when it was asked for
        FrameId same = kUnknown;              // the frame that it is, when it was asked for
    };
    // A frame that is being read, while a state is made.
    struct Active {
        FrameId frame;
        Items items;
    };
    // Properties of a vector, computed once.
    struct VectorView {
        bool known = false;
        LexemeSets::SetId viable = 0;
        std::vector<std::pair<SymbolId, ItemId>> calls;  // sorted
    };

    class Step;  // one shift in progress
    uint32_t kind_of(const std::vector<SymbolId>& called);
    FrameId frame_of(std::vector<Return> returns);
    std::vector<Return> returns_of(FrameId frame) const;
    FrameId same_as(FrameId frame);
    bool is_same(FrameId frame, FrameId other);
    void keep_widest(std::vector<Active>& active);
    void keep_widest(std::vector<Return>& returns);
    void keep_widest(std::vector<FrameId>& frames, SymbolId rule);
    VectorId vector_of(Items items);
    const VectorView& view(VectorId vector);
    ParserState intern_state(const std::vector<std::pair<FrameId, VectorId>>& active, bool accepting);
    uint32_t find_min_bytes_after(FrameId frame);
    uint32_t min_bytes_after(FrameId frame, SymbolId rule);

    const ContextFreeGrammar& grammar_;
    LexemeSets& sets_;
    Allowance& allowance_;
    std::vector<LexemeId> ignored_;
    InternedLists kind_keys_;                // [kind + 1]
    std::vector<Kind> kinds_;                // [kind]
    InternedLists return_lists_;             // triples
    PairMap frame_index_;                    // (kind, returns) -> frame
    std::vector<Frame> frames_;              // [frame]; 0 is the root
    std::vector<uint32_t> min_bytes_after_;  // of the rules of a frame, one frame after the other
    InternedLists vectors_;                  // [vector]
    std::vector<VectorView> views_;          // [vector], as far as asked for
    InternedLists states_;                   // [state]: accepting, then frame and vector by falling level
    PairMap shifts_;                         // (state, terminal) -> state
    PairMap unions_;
    std::vector<LexemeSets::SetId> viable_;  // [state], kUnknown until computed
    std::vector<uint32_t> min_bytes_;        // [state], likewise
    std::unordered_map<ParserState, std::vector<Distance>> distances_;
    Continuations continuations_{*this};
    std::unique_ptr<FrameRests> rests_;  // if there are bounds
    std::vector<bool> met_;              // [item], of one state; none is left set
    ParserState start_ = kNoParse;
};

}  // namespace schemagen
