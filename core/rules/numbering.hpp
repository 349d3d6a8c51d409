// Rules in numbers, as the core compiles them: symbols, terminals first, and bodies over them (context_free/items.hpp).
//
// A terminal of the compiled grammar is a terminal of the rules, a text, or something that the caller has an automaton
// for. Terminals are numbered in the order in which the bodies name them. A symbol is never empty: of a text that may
// be empty the body has the other texts, or nothing.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rules/rule_set.hpp"

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
    // Rule and body, in the order of their symbols.
    const std::vector<std::pair<uint32_t, std::vector<int32_t>>>& bodies() const { return bodies_; }
    // The ways to read the terminals: symbol and way. Of texts their only one.
    std::vector<std::pair<uint32_t, LexemeTrees>> ways() const;

private:
    uint32_t find(RuleExpressions::Kind kind, uint32_t value) const;
    uint32_t number_of(RuleExpressions::Kind kind, uint32_t value);
    void note_terminals(ExpressionId body);
    void write(ExpressionId id, std::vector<int32_t>& out);
    void write_text(TreeId tree, std::vector<int32_t>& out);

    RuleSet& set_;
    std::vector<Symbol> terminals_;
    std::unordered_map<uint64_t, uint32_t> numbers_;  // kind and value -> symbol
    std::vector<uint32_t> rules_;                     // [rule]
    std::vector<std::pair<uint32_t, std::vector<int32_t>>> bodies_;
};

}  // namespace schemagen
