// Rules in numbers, as the core compiles them: symbols, terminals first, and bodies over them (context_free/items.hpp).
//
// A terminal of the compiled grammar is a terminal of the rules, a text, or something that the caller has an automaton
// for. Terminals are numbered in the order in which the bodies name them. A symbol is never empty: of a text that may
// be empty the body has the other texts, or nothing.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "context_free/items.hpp"
#include "rules/rule_set.hpp"
#include "util/lists.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class NumberedRules {
public:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Symbol {
        RuleExpressions::Kind kind;  // kTerminal, kText or kOther
        uint32_t value;              // number of the terminal, tree, number of the other
    };

    // Of the rules that are there. `more`: terminals that have a number even if no body names them; ignored ones have.
    NumberedRules(RuleSet& set, const std::vector<uint32_t>& more);

    const std::vector<Symbol>& terminals() const { return terminals_; }  // [symbol]
    uint32_t terminal(uint32_t number) const { return find(RuleExpressions::Kind::kTerminal, number); }
    uint32_t rule(uint32_t number) const { return rules_[number]; }  // kNone if it is absent
    // The rules that are there, in the order of their symbols, and their bodies.
    const std::vector<uint32_t>& rules() const { return written_; }
    const Lists<int32_t>& bodies() const { return bodies_; }
    // The ways to read the terminals: symbol and way. Of texts their only one.
    std::vector<std::pair<uint32_t, LexemeTrees>> ways() const;

private:
    uint32_t find(RuleExpressions::Kind kind, uint32_t value) const;
    void number(RuleExpressions::Kind kind, uint32_t value);
    void note_terminals(ExpressionId body);
    void write(ExpressionId id);
    void put(int32_t number) { bodies_.push(number); }
    void put(BodyOperator op) { put(static_cast<int32_t>(op)); }
    void write_text(TreeId tree);

    RuleSet& set_;
    std::vector<Symbol> terminals_;
    PairMap numbers_;                // kind and value -> symbol
    std::vector<uint32_t> rules_;    // [rule]
    std::vector<uint32_t> written_;  // those that are there
    Lists<int32_t> bodies_;
};

}  // namespace schemagen
