#include "rules/numbering.hpp"

#include <algorithm>
#include <stdexcept>

#include "context_free/items.hpp"
#include "util/work.hpp"

namespace schemagen {

using ExpressionKind = RuleExpressions::Kind;

NumberedRules::NumberedRules(RuleSet& set, const std::vector<uint32_t>& more)
    : set_(set), rules_(set.bodies.size(), kNone) {
    for (ExpressionId body : set.bodies)
        if (body != RuleSet::kAbsent) note_terminals(body);
    for (uint32_t terminal = 0; terminal < set.terminals.size(); ++terminal)
        if (set.terminals[terminal].ignored) number_of(ExpressionKind::kTerminal, terminal);
    for (uint32_t terminal : more) number_of(ExpressionKind::kTerminal, terminal);
    auto next = static_cast<uint32_t>(terminals_.size());
    for (size_t rule = 0; rule < rules_.size(); ++rule)
        if (set.bodies[rule] != RuleSet::kAbsent) rules_[rule] = next++;
    for (uint32_t rule = 0; rule < rules_.size(); ++rule) {
        if (rules_[rule] == kNone) continue;
        poll();
        bodies_.emplace_back(rule, std::vector<int32_t>());
        write(set.bodies[rule], bodies_.back().second);
    }
}

uint32_t NumberedRules::find(ExpressionKind kind, uint32_t value) const {
    const auto known = numbers_.find(uint64_t{value} << 8 | static_cast<uint8_t>(kind));
    return known == numbers_.end() ? kNone : known->second;
}

uint32_t NumberedRules::number_of(ExpressionKind kind, uint32_t value) {
    const auto [at, is_new] = numbers_.try_emplace(uint64_t{value} << 8 | static_cast<uint8_t>(kind),
                                                   static_cast<uint32_t>(terminals_.size()));
    if (is_new) terminals_.push_back({kind, value});
    return at->second;
}

void NumberedRules::note_terminals(ExpressionId body) {
    set_.expressions.each_leaf(body, [&](ExpressionId leaf) {
        const ExpressionKind kind = set_.expressions.kind(leaf);
        if (kind == ExpressionKind::kRule) return;
        uint32_t value = set_.expressions.value(leaf);
        if (kind == ExpressionKind::kText) value = set_.trees.nonempty(value);
        if (kind != ExpressionKind::kText || value != RegexTrees::kEmpty) number_of(kind, value);
    });
}

void NumberedRules::write(ExpressionId id, std::vector<int32_t>& out) {
    const RuleExpressions& expressions = set_.expressions;
    const ExpressionKind kind = expressions.kind(id);
    const auto count = [](uint64_t rounds) { return ~static_cast<int32_t>(std::min<uint64_t>(rounds, kEndless - 1)); };
    switch (kind) {
        case ExpressionKind::kRule: out.push_back(static_cast<int32_t>(rules_[expressions.value(id)])); return;
        case ExpressionKind::kText: write_text(expressions.value(id), out); return;
        case ExpressionKind::kTerminal:
        case ExpressionKind::kOther: out.push_back(static_cast<int32_t>(find(kind, expressions.value(id)))); return;
        case ExpressionKind::kBound: throw std::logic_error("a bound of tokens is left in a rule");
        case ExpressionKind::kRepeat: {
            const bool is_endless = expressions.high(id) == RuleExpressions::kEndless;
            out.push_back(static_cast<int32_t>(BodyOperator::kRepeat));
            out.push_back(count(expressions.low(id)));
            out.push_back(is_endless ? ~static_cast<int32_t>(kEndless) : count(expressions.high(id)));
            break;
        }
        default:
            out.push_back(static_cast<int32_t>(kind == ExpressionKind::kSequence ? BodyOperator::kSequence
                                                                                 : BodyOperator::kAlternatives));
            out.push_back(~static_cast<int32_t>(expressions.parts(id).size()));
    }
    for (ExpressionId part : expressions.parts(id)) write(part, out);
}

void NumberedRules::write_text(TreeId tree, std::vector<int32_t>& out) {
    const auto empty = [&](BodyOperator op) { out.insert(out.end(), {static_cast<int32_t>(op), ~0}); };
    if (set_.trees.nullable(tree)) {
        out.insert(out.end(), {static_cast<int32_t>(BodyOperator::kAlternatives), ~2});
        empty(BodyOperator::kSequence);
        tree = set_.trees.nonempty(tree);
    }
    if (tree == RegexTrees::kEmpty)
        empty(BodyOperator::kAlternatives);
    else
        out.push_back(static_cast<int32_t>(find(ExpressionKind::kText, tree)));
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
