#include "rules/numbering.hpp"

#include <algorithm>
#include <stdexcept>

#include "util/work.hpp"

namespace schemagen {

using ExpressionKind = RuleExpressions::Kind;

NumberedRules::NumberedRules(RuleSet& set, const std::vector<uint32_t>& more)
    : set_(set), rules_(set.bodies.size(), kNone) {
    for (ExpressionId body : set.bodies)
        if (body != RuleSet::kAbsent) note_terminals(body);
    for (uint32_t terminal = 0; terminal < set.terminals.size(); ++terminal)
        if (set.terminals[terminal].ignored) number(ExpressionKind::kTerminal, terminal);
    for (uint32_t terminal : more) number(ExpressionKind::kTerminal, terminal);
    auto next = static_cast<uint32_t>(terminals_.size());
    for (size_t rule = 0; rule < rules_.size(); ++rule)
        if (set.bodies[rule] != RuleSet::kAbsent) rules_[rule] = next++;
    for (uint32_t rule = 0; rule < rules_.size(); ++rule) {
        if (rules_[rule] == kNone) continue;
        poll();
        written_.push_back(rule);
        write(set.bodies[rule]);
        bodies_.end();
    }
}

uint32_t NumberedRules::find(ExpressionKind kind, uint32_t value) const {
    return numbers_.find(static_cast<uint32_t>(kind), value);
}

void NumberedRules::number(ExpressionKind kind, uint32_t value) {
    if (find(kind, value) != kNone) return;
    numbers_.insert(static_cast<uint32_t>(kind), value, static_cast<uint32_t>(terminals_.size()));
    terminals_.push_back({kind, value});
}

void NumberedRules::note_terminals(ExpressionId body) {
    set_.expressions.each_leaf(body, [&](ExpressionId leaf) {
        const ExpressionKind kind = set_.expressions.kind(leaf);
        if (kind == ExpressionKind::kRule) return;
        uint32_t value = set_.expressions.value(leaf);
        if (kind == ExpressionKind::kText) value = set_.trees.nonempty(value);
        if (kind != ExpressionKind::kText || value != RegexTrees::kEmpty) number(kind, value);
    });
}

void NumberedRules::write(ExpressionId id) {
    const RuleExpressions& expressions = set_.expressions;
    const ExpressionKind kind = expressions.kind(id);
    const auto count = [](uint64_t rounds) { return ~static_cast<int32_t>(std::min<uint64_t>(rounds, kEndless - 1)); };
    switch (kind) {
        case ExpressionKind::kRule: put(static_cast<int32_t>(rules_[expressions.value(id)])); return;
        case ExpressionKind::kText: write_text(expressions.value(id)); return;
        case ExpressionKind::kTerminal:
        case ExpressionKind::kOther: put(static_cast<int32_t>(find(kind, expressions.value(id)))); return;
        case ExpressionKind::kBound: throw std::logic_error("a bound of tokens is left in a rule");
        case ExpressionKind::kRepeat: {
            const bool is_endless = expressions.high(id) == RuleExpressions::kEndless;
            put(BodyOperator::kRepeat);
            put(count(expressions.low(id)));
            put(is_endless ? ~static_cast<int32_t>(kEndless) : count(expressions.high(id)));
            break;
        }
        default:
            put(kind == ExpressionKind::kSequence ? BodyOperator::kSequence : BodyOperator::kAlternatives);
            put(~static_cast<int32_t>(expressions.parts(id).size()));
    }
    for (ExpressionId part : expressions.parts(id)) write(part);
}

void NumberedRules::write_text(TreeId tree) {
    const auto empty = [&](BodyOperator op) { put(op), put(~0); };
    if (set_.trees.nullable(tree)) {
        put(BodyOperator::kAlternatives), put(~2);
        empty(BodyOperator::kSequence);
        tree = set_.trees.nonempty(tree);
    }
    if (tree == RegexTrees::kEmpty)
        empty(BodyOperator::kAlternatives);
    else
        put(static_cast<int32_t>(find(ExpressionKind::kText, tree)));
}

std::vector<std::pair<uint32_t, LexemeTrees>> NumberedRules::ways() const {
    std::vector<std::pair<uint32_t, LexemeTrees>> out;
    for (uint32_t symbol = 0; symbol < terminals_.size(); ++symbol) {
        const auto [kind, value] = terminals_[symbol];
        if (kind == ExpressionKind::kText) out.emplace_back(symbol, LexemeTrees{value, RegexTrees::kEmpty, false});
        if (kind == ExpressionKind::kTerminal)
            for (const LexemeTrees& way : set_.terminals[value].ways) out.emplace_back(symbol, way);
    }
    return out;
}

}  // namespace schemagen
