// The rules of a grammar as a notation gives them, before they are compiled.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rules/expressions.hpp"

namespace schemagen {

// One way to read a terminal; see `Lexeme` in schemagen/context_free/syntax.py.
struct LexemeTrees {
    TreeId text, longer;
    bool marked;
    auto operator<=>(const LexemeTrees&) const = default;
};

struct RuleSet {
    struct Terminal {
        std::string name;
        std::vector<LexemeTrees> ways;
        bool ignored = false;
        std::string shown = {};  // of one that its author has not named: how it is written
    };

    RuleSet() = default;
    RuleSet(const RuleSet&) = delete;
    RuleSet& operator=(const RuleSet&) = delete;
    // The body of a rule that is not there, since nothing calls it or it derives no text.
    static constexpr ExpressionId kAbsent = UINT32_MAX;
    uint32_t add_rule(std::string name, ExpressionId body) {
        names.push_back(std::move(name));
        bodies.push_back(body);
        return static_cast<uint32_t>(names.size() - 1);
    }

    // The bodies with other expressions in the place of some of their parts.
    std::vector<ExpressionId> substituted(RuleExpressions::Known& known);

    // Of the tokens of a text; `name` is that of its rule, for messages.
    struct TokenBound {
        uint64_t most;
        std::string name;
    };
    uint32_t add_bound(uint64_t most, std::string name) {
        bounds.push_back({most, std::move(name)});
        return static_cast<uint32_t>(bounds.size() - 1);
    }

    RegexTrees trees;
    RuleExpressions expressions{trees};
    std::vector<std::string> names;    // [rule]
    std::vector<ExpressionId> bodies;  // [rule]
    std::vector<Terminal> terminals;   // [terminal]
    std::vector<TokenBound> bounds;    // [bound]
    uint32_t start = 0;                // a rule
};

// The rules that are called in an expression; sorted.
std::vector<uint32_t> called_in(const RuleExpressions& expressions, ExpressionId body);
// Those in each body; of absent rules none.
std::vector<std::vector<uint32_t>> calls_of(const RuleSet& set);
// Leaves out the rules that the start does not call, however far around.
void drop_uncalled(RuleSet& set, const std::vector<std::vector<uint32_t>>& calls);
// The rules that call one another as groups, those they call before them (Tarjan 1972).
std::vector<std::vector<uint32_t>> components_of(const std::vector<std::vector<uint32_t>>& calls);
// The rules that derive some text: of symbols any has one.
std::vector<bool> productive(const RuleSet& set, const std::vector<std::vector<uint32_t>>& calls);

}  // namespace schemagen
