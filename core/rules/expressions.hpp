// The bodies of rules as values: expressions over rules, terminals and texts.
//
// An expression is what schemagen/context_free/syntax.py has as objects, made by the same constructors with the same
// identities: neighbouring texts of a sequence are one text, those among alternatives are one alternative. Expressions
// are interned, so equal expressions are equal ids.
//
// Source: the regular right parts of LaLonde 1977, with which repetitions and alternatives inside a rule need no new
// rules.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "regex/trees.hpp"
#include "util/interned_lists.hpp"

namespace schemagen {

using ExpressionId = uint32_t;

class RuleExpressions {
public:
    enum class Kind : uint8_t {
        kRule,      // `value` is its number
        kTerminal,  // `value` is its number
        kText,      // `value` is a tree: read character by character, without a lexer that looks for its end
        kOther,     // `value` is its number: a token, an embedded spec, a mark; of the caller's
        kSequence,
        kAlternatives,
        kRepeat,  // its one part, `low` to `high` times
        kBound,   // its one part, with a bound of tokens; `value` is its number
    };
    using Parts = std::span<const ExpressionId>;

    static constexpr ExpressionId kNothing = 0, kEmptyText = 1;  // no alternatives, and no parts
    static constexpr uint64_t kEndless = RegexTrees::kEndless;

    explicit RuleExpressions(RegexTrees& trees);

    ExpressionId rule(uint32_t number) { return leaf(Kind::kRule, number); }
    ExpressionId terminal(uint32_t number) { return leaf(Kind::kTerminal, number); }
    ExpressionId text(TreeId tree) { return leaf(Kind::kText, tree); }
    ExpressionId other(uint32_t number) { return leaf(Kind::kOther, number); }
    ExpressionId sequence(Parts parts);
    ExpressionId alternatives(Parts parts);
    ExpressionId repeat(ExpressionId inner, uint64_t low, uint64_t high);
    ExpressionId bounded(ExpressionId inner, uint32_t bound);

    Kind kind(ExpressionId id) const { return expressions_[id].kind; }
    uint32_t value(ExpressionId id) const { return expressions_[id].value; }
    Parts parts(ExpressionId id) const { return lists_[expressions_[id].list]; }
    uint64_t low(ExpressionId id) const { return expressions_[id].low; }
    uint64_t high(ExpressionId id) const { return expressions_[id].high; }
    bool is_leaf(ExpressionId id) const { return kind(id) <= Kind::kOther; }
    size_t size() const { return expressions_.size(); }
    RegexTrees& trees() { return trees_; }

    // The expression with others in the place of some of its parts, simplified where that allows it. `known` holds them
    // by the number of the part they stand for, kUnknown for the rest, and gets the answers: shared parts are visited
    // once.
    using Known = std::vector<ExpressionId>;  // [expression], as far as it reaches
    static constexpr ExpressionId kUnknown = UINT32_MAX;
    ExpressionId substituted(ExpressionId id, Known& known);
    // Lets another expression stand for one.
    void put(Known& known, ExpressionId id, ExpressionId other) const {
        if (known.size() <= id) known.resize(size(), kUnknown);
        known[id] = other;
    }
    // Calls `visit(leaf)` for each leaf in the order in which they are written, those in bounds as well.
    template <class Visit>
    void each_leaf(ExpressionId id, const Visit& visit) const;

private:
    struct Expression {
        Kind kind;
        uint32_t value = 0;  // of a leaf and of kBound
        uint32_t list = 0;   // of lists_
        uint64_t low = 0, high = 0;
        bool operator==(const Expression&) const = default;
    };
    ExpressionId leaf(Kind kind, uint32_t value) { return intern({kind, value}); }
    ExpressionId intern(const Expression& expression);
    void keep_first(std::vector<ExpressionId>& list);
    ExpressionId with_parts(ExpressionId id, Parts parts);

    RegexTrees& trees_;
    std::vector<Expression> expressions_;
    InternedLists lists_;
    HashIndex index_;
};

template <class Visit>
void RuleExpressions::each_leaf(ExpressionId id, const Visit& visit) const {
    std::vector<ExpressionId> todo{id};
    while (!todo.empty()) {
        const ExpressionId at = todo.back();
        todo.pop_back();
        if (is_leaf(at)) {
            visit(at);
            continue;
        }
        const Parts own = parts(at);
        todo.insert(todo.end(), own.rbegin(), own.rend());
    }
}

}  // namespace schemagen
