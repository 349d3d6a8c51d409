#include "rules/simplify.hpp"

#include <algorithm>
#include <utility>

#include "util/work.hpp"

namespace schemagen {

namespace {

using ExpressionKind = RuleExpressions::Kind;

class Simplifier {
public:
    explicit Simplifier(RuleSet& set) : set_(set), expressions_(set.expressions) {}

    void run() {
        drop_unproductive();
        if (set_.bodies[set_.start] == RuleSet::kAbsent) {
            std::ranges::fill(set_.bodies, RuleSet::kAbsent);
            set_.bodies[set_.start] = RuleExpressions::kNothing;
            return;
        }
        write_out();
        drop_uncalled(set_, calls_);
    }

private:
    // The rules that derive no text, and the calls of them.
    void drop_unproductive() {
        calls_ = calls_of(set_);
        const std::vector<bool> alive = productive(set_, calls_);
        RuleExpressions::Known known;
        for (uint32_t rule = 0; rule < alive.size(); ++rule)
            if (!alive[rule]) {
                set_.bodies[rule] = RuleSet::kAbsent;
                expressions_.put(known, expressions_.rule(rule), RuleExpressions::kNothing);
            }
        if (known.empty()) return;
        set_.bodies = set_.substituted(known);
        calls_ = calls_of(set_);
    }
    void write_out() {
        std::vector<bool> is_written(set_.bodies.size());
        for (const std::vector<uint32_t>& group : components_of(calls_)) {
            for (uint32_t rule : group) {
                poll();
                if (std::ranges::any_of(calls_[rule], [&](uint32_t callee) { return is_written[callee]; })) write(rule);
            }
            const uint32_t rule = group[0];
            const ExpressionId body = set_.bodies[rule];
            if (group.size() > 1 || body == RuleSet::kAbsent || std::ranges::binary_search(calls_[rule], rule) ||
                !is_small(body))
                continue;
            expressions_.put(known_, expressions_.rule(rule), body);
            is_written[rule] = true;
        }
    }
    void write(uint32_t rule) {
        const uint64_t size = size_with(set_.bodies[rule]);
        if (size > room_) return;
        room_ -= size;
        set_.bodies[rule] = expressions_.substituted(set_.bodies[rule], known_);
        calls_[rule] = called_in(expressions_, set_.bodies[rule]);
    }
    // The operators of the texts that are written out in a body.
    uint64_t size_with(ExpressionId body) const {
        uint64_t size = 0;
        expressions_.each_leaf(body, [&](ExpressionId leaf) {
            if (expressions_.kind(leaf) != ExpressionKind::kRule || leaf >= known_.size()) return;
            const ExpressionId text = known_[leaf];
            if (text != RuleExpressions::kUnknown && expressions_.kind(text) == ExpressionKind::kText)
                size += set_.trees.size_of(expressions_.value(text)).operators;
        });
        return size;
    }
    // Whether a body is written out where its rule is called: texts, single symbols and nothing at all.
    bool is_small(ExpressionId body) const {
        if (body == RuleExpressions::kEmptyText || body == RuleExpressions::kNothing) return true;
        if (expressions_.kind(body) != ExpressionKind::kText) return expressions_.is_leaf(body);
        const RegexTrees::Size size = set_.trees.size_of(expressions_.value(body));
        return size.operators <= WritingLimits::kOperators && size.height <= WritingLimits::kHeight;
    }

    RuleSet& set_;
    RuleExpressions& expressions_;
    std::vector<std::vector<uint32_t>> calls_;  // [rule]
    RuleExpressions::Known known_;              // the bodies that are written out for calls
    uint64_t room_ = WritingLimits::kAll;
};

}  // namespace

void simplify(RuleSet& set) { Simplifier(set).run(); }

}  // namespace schemagen
