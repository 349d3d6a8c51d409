#include "rules/rule_set.hpp"

#include <algorithm>

#include "util/work.hpp"

namespace schemagen {

std::vector<ExpressionId> RuleSet::substituted(RuleExpressions::Known& known) {
    std::vector<ExpressionId> out = bodies;
    for (ExpressionId& body : out)
        if (!known.empty() && body != kAbsent) body = expressions.substituted(body, known);
    return out;
}

std::vector<std::vector<uint32_t>> calls_of(const RuleSet& set) {
    std::vector<std::vector<uint32_t>> out(set.bodies.size());
    for (size_t rule = 0; rule < out.size(); ++rule)
        if (set.bodies[rule] != RuleSet::kAbsent) out[rule] = called_in(set.expressions, set.bodies[rule]);
    return out;
}

std::vector<uint32_t> called_in(const RuleExpressions& expressions, ExpressionId body) {
    std::vector<uint32_t> out;
    expressions.each_leaf(body, [&](ExpressionId leaf) {
        if (expressions.kind(leaf) == RuleExpressions::Kind::kRule) out.push_back(expressions.value(leaf));
    });
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

void drop_uncalled(RuleSet& set, const std::vector<std::vector<uint32_t>>& calls) {
    std::vector<bool> is_called(set.bodies.size());
    std::vector<uint32_t> todo{set.start};
    is_called[set.start] = true;
    while (!todo.empty()) {
        poll();
        const uint32_t rule = todo.back();
        todo.pop_back();
        for (uint32_t callee : calls[rule])
            if (!is_called[callee]) is_called[callee] = true, todo.push_back(callee);
    }
    for (size_t rule = 0; rule < is_called.size(); ++rule)
        if (!is_called[rule]) set.bodies[rule] = RuleSet::kAbsent;
}

namespace {

// One search in depth, without recursion.
class Components {
public:
    explicit Components(const std::vector<std::vector<uint32_t>>& calls)
        : calls_(calls), index_(calls.size(), kNew), low_(calls.size()), is_open_(calls.size()) {}

    std::vector<std::vector<uint32_t>> find() {
        for (uint32_t root = 0; root < calls_.size(); ++root)
            if (index_[root] == kNew) search(root);
        return std::move(groups_);
    }

private:
    static constexpr uint32_t kNew = UINT32_MAX;
    struct Visit {
        uint32_t rule;
        size_t next = 0;  // of its calls
    };

    void enter(uint32_t rule) {
        index_[rule] = low_[rule] = count_++;
        open_.push_back(rule);
        is_open_[rule] = true;
        visits_.push_back({rule});
    }
    void search(uint32_t root) {
        enter(root);
        while (!visits_.empty()) {
            Visit& at = visits_.back();
            if (at.next == calls_[at.rule].size()) {
                leave();
                continue;
            }
            const uint32_t callee = calls_[at.rule][at.next++];
            if (index_[callee] == kNew)
                enter(callee);
            else if (is_open_[callee])
                low_[at.rule] = std::min(low_[at.rule], index_[callee]);
        }
    }
    void leave() {
        const uint32_t rule = visits_.back().rule;
        visits_.pop_back();
        if (!visits_.empty()) low_[visits_.back().rule] = std::min(low_[visits_.back().rule], low_[rule]);
        if (low_[rule] != index_[rule]) return;
        const auto begin = std::find(open_.rbegin(), open_.rend(), rule).base() - 1;
        groups_.emplace_back(begin, open_.end());
        for (uint32_t each : groups_.back()) is_open_[each] = false;
        open_.erase(begin, open_.end());
    }

    const std::vector<std::vector<uint32_t>>& calls_;
    std::vector<uint32_t> index_, low_, open_;
    std::vector<bool> is_open_;
    std::vector<Visit> visits_;
    std::vector<std::vector<uint32_t>> groups_;
    uint32_t count_ = 0;
};

// Whether some text of an expression is made of symbols and of the rules that are known to derive one.
bool is_productive(const RuleExpressions& expressions, ExpressionId id, const std::vector<bool>& known) {
    using ExpressionKind = RuleExpressions::Kind;
    const auto is_part_productive = [&](ExpressionId part) { return is_productive(expressions, part, known); };
    switch (expressions.kind(id)) {
        case ExpressionKind::kRule: return known[expressions.value(id)];
        case ExpressionKind::kSequence: return std::ranges::all_of(expressions.parts(id), is_part_productive);
        case ExpressionKind::kAlternatives: return std::ranges::any_of(expressions.parts(id), is_part_productive);
        case ExpressionKind::kRepeat: return !expressions.low(id) || is_part_productive(expressions.parts(id)[0]);
        case ExpressionKind::kBound: return is_part_productive(expressions.parts(id)[0]);
        default: return true;
    }
}

}  // namespace

std::vector<bool> productive(const RuleSet& set, const std::vector<std::vector<uint32_t>>& calls) {
    std::vector<std::vector<uint32_t>> callers(calls.size());
    std::vector<uint32_t> todo;
    for (uint32_t rule = 0; rule < calls.size(); ++rule) {
        for (uint32_t callee : calls[rule]) callers[callee].push_back(rule);
        if (set.bodies[rule] != RuleSet::kAbsent) todo.push_back(rule);
    }
    std::vector<bool> found(calls.size());
    while (!todo.empty()) {
        poll();
        const uint32_t rule = todo.back();
        todo.pop_back();
        if (found[rule] || !is_productive(set.expressions, set.bodies[rule], found)) continue;
        found[rule] = true;
        todo.insert(todo.end(), callers[rule].begin(), callers[rule].end());
    }
    return found;
}

std::vector<std::vector<uint32_t>> components_of(const std::vector<std::vector<uint32_t>>& calls) {
    return Components(calls).find();
}

}  // namespace schemagen
