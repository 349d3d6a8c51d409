// The conditions on an LR parser's stack, below its top, under which a text can be finished.
//
// Where a generator has resolved a conflict, or where a lexer takes a text for another terminal, tables lead into dead
// ends. An LR parser is a pushdown system: the configurations from which it can come to an end are a regular set of
// stacks, found by saturation (Bouajjani, Esparza & Maler 1997). Here the automaton of that set is made of `demands`:
// (rule, pops, lookahead) says that a text can be finished if, once `pops` entries are taken off the stack, the parser
// goes on well from the goto of the rule there with the lookahead. Only items of a state can demand something, so
// there are few: for each kernel item of a state a set of lookaheads.
//
// A lookahead is a terminal and the kind of the lexeme that it is read as, which decides the terminals allowed after
// it.
//
// Least fixpoint, and lazy: only requested demands are computed, with all that they depend on. A neighbour that is
// sometimes allowed (adjacency.hpp) counts as possible, so demands are met by every stack that can be finished, and by
// others only where `is_exact` says no.
#pragma once
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "context_free/adjacency.hpp"
#include "context_free/indenting_parser.hpp"
#include "context_free/lr_tables.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class LrDemands {
public:
    using Kind = uint32_t;
    using Lookahead = uint32_t;
    static constexpr Kind kNothingRead = 0;
    static constexpr Lookahead kEnd = 0;  // of the text
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Item {
        SymbolId rule;
        uint32_t pops;
        auto operator<=>(const Item&) const = default;
    };
    using Lookaheads = std::vector<uint64_t>;  // `words()` words
    // For each item of a state the lookaheads, and then whether the text can be finished anyhow.
    using Set = std::vector<uint64_t>;
    // The effect of a rule that was read above a state, on a stack with this state on top, by lookahead.
    struct Outcomes {
        Lookaheads asked;   // those for which this is known; with others, and those of none below, there is no way on
        bool ends = false;  // with the end of the text
        std::vector<std::pair<uint32_t, Lookaheads>> demands;  // by items of the state
        std::vector<std::pair<Lookahead, uint32_t>> nodes;     // whose demands these are
    };

    // `indentation`: null if line breaks have no meaning.
    LrDemands(const ContextFreeGrammar& grammar, const LrTables& tables, const Indentation* indentation,
              Adjacency& adjacency);
    bool is_exact() const { return is_exact_; }
    size_t words() const { return words_; }
    Kind kind_of(LexemeId lexeme) const { return kinds_[lexeme]; }
    Kind kind_count() const { return static_cast<Kind>(may_follow_.size()); }
    const std::vector<Item>& items(uint32_t state) const { return items_[state]; }
    // (rule, state) sorted by rule.
    const std::vector<std::pair<SymbolId, uint32_t>>& gotos(uint32_t state) const { return gotos_[state]; }
    const Lookaheads& lookaheads(uint32_t state) { return steps(state).all; }
    // The demands of a state on top, if a lexeme of a kind was read last. Valid until the next call.
    const Set& after(uint32_t state, Kind last);
    // Of a goto of the state, for some lookaheads at least. Of a node `set` has the demands once `solve` was called.
    const Outcomes& outcomes(uint32_t state, SymbolId rule, const uint64_t* lookaheads);
    void solve();
    const Set& set(uint32_t node) const { return nodes_[node].set; }
    size_t memory_bytes() const { return bytes_ + reading_.memory_bytes() + lifted_.memory_bytes(); }

private:
    struct Node {
        uint32_t state;
        Kind last;                           // of one that reads on
        uint32_t source;                     // of one that is lifted: a node of the state above; else kNone
        Set set, done;                       // `done`: the part taken over from the source
        std::vector<uint32_t> lifted, into;  // nodes that depend on it
        bool opened = false, queued = false;
    };
    // The actions of a state on lookaheads.
    struct Steps {
        std::vector<std::pair<uint32_t, Lookaheads>> reductions;  // by production
        Lookaheads shifts, all;
    };
    using Frontier = std::vector<std::pair<SymbolId, Lookaheads>>;  // rules that were read with lookaheads
    void find_kinds(Adjacency& adjacency);
    void find_lookaheads();
    void find_items();
    uint32_t goto_of(uint32_t state, SymbolId rule) const;
    uint32_t item_of(uint32_t state, const Item& item) const;
    const Steps& steps(uint32_t state);
    Outcomes* outcomes_of(uint32_t state, SymbolId rule);
    void add_node(Outcomes& out, Lookahead lookahead, uint32_t node);
    void add_demand(Outcomes& out, uint32_t item, const Lookaheads& lookaheads);
    void follow(uint32_t state, uint32_t top, const Lookaheads& lookaheads, Outcomes& out, Frontier& next);
    void pop(uint32_t state, const Item& item, const Lookaheads& lookaheads, Outcomes& out, Frontier& next);
    uint32_t reading(uint32_t state, Kind last);
    uint32_t lifted(uint32_t source, uint32_t state);
    uint32_t new_node(uint32_t state, Kind last, uint32_t source);
    void open(uint32_t node);
    void look_ahead(uint32_t node, Lookahead lookahead);
    void take_over(uint32_t node);
    void apply(uint32_t node, const Outcomes& outcomes, const uint64_t* lookaheads);
    void depend(uint32_t node, uint32_t on);
    void unite(uint32_t from, uint32_t into);
    void set_bits(uint32_t node, uint32_t item, const uint64_t* lookaheads);
    void set_ends(uint32_t node);
    void queue(uint32_t node);

    const ContextFreeGrammar& grammar_;
    const LrTables& tables_;
    const Indentation* indentation_;
    bool is_exact_ = true;
    size_t words_ = 1;
    std::vector<Kind> kinds_;                    // [lexeme]
    std::vector<std::vector<bool>> may_follow_;  // [kind][lexeme], and last whether the text may end
    std::vector<std::pair<SymbolId, Kind>> lookaheads_;
    std::vector<std::vector<Lookahead>> of_terminal_;                // [terminal]
    std::vector<std::vector<std::pair<SymbolId, uint32_t>>> gotos_;  // [state]
    std::vector<std::vector<Item>> items_;                           // [state], sorted
    std::deque<Node> nodes_;
    std::vector<uint32_t> todo_;
    PairMap reading_, lifted_;                     // (state, kind) and (node, state) -> node
    std::vector<Steps> steps_;                     // [state], when it was asked for
    std::vector<std::vector<Outcomes>> outcomes_;  // [state][goto], the same
    Lookaheads one_;                               // within `look_ahead`
    size_t bytes_ = 0;
};

}  // namespace schemagen
