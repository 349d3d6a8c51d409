#include "rules/expressions.hpp"

#include <algorithm>
#include <array>

#include "util/hash.hpp"
#include "util/work.hpp"

namespace schemagen {

RuleExpressions::RuleExpressions(RegexTrees& trees) : trees_(trees) {
    intern({Kind::kAlternatives});
    intern({Kind::kSequence});
}

ExpressionId RuleExpressions::intern(const Expression& each) {
    const uint64_t key[] = {static_cast<uint64_t>(each.kind), each.value, each.list, each.low, each.high};
    uint64_t hash = 7;
    for (uint64_t word : key) hash = mix(hash, word);
    const uint32_t known = index_.find(hash, [&](uint32_t id) { return expressions_[id] == each; });
    if (known != HashIndex::kNone) return known;
    const auto id = static_cast<ExpressionId>(expressions_.size());
    expressions_.push_back(each);
    index_.insert(hash, id);
    return id;
}

ExpressionId RuleExpressions::sequence(Parts parts) {
    std::vector<ExpressionId> flat;
    flat.reserve(parts.size());
    std::vector<TreeId> texts;
    const auto end_text = [&] {
        if (!texts.empty()) flat.push_back(text(trees_.concat(texts)));
        texts.clear();
    };
    const auto add = [&](ExpressionId piece) {
        if (kind(piece) == Kind::kText) {
            texts.push_back(value(piece));
            return;
        }
        end_text();
        flat.push_back(piece);
    };
    for (ExpressionId part : parts) {
        if (part == kNothing) return kNothing;
        if (kind(part) != Kind::kSequence) {
            add(part);
            continue;
        }
        const std::vector<ExpressionId> inner(this->parts(part).begin(), this->parts(part).end());
        for (ExpressionId piece : inner) add(piece);
    }
    end_text();
    return flat.size() == 1 ? flat[0] : intern({Kind::kSequence, 0, lists_.intern(flat)});
}

ExpressionId RuleExpressions::alternatives(Parts parts) {
    std::vector<TreeId> texts;
    std::vector<ExpressionId> others;
    others.reserve(parts.size());
    const auto add = [&](ExpressionId piece) {
        if (kind(piece) == Kind::kText)
            texts.push_back(value(piece));
        else
            others.push_back(piece);
    };
    for (ExpressionId part : parts) {
        if (kind(part) != Kind::kAlternatives) {
            add(part);
            continue;
        }
        for (ExpressionId piece : this->parts(part)) add(piece);
    }
    keep_first(others);
    if (!texts.empty() && std::erase(others, kEmptyText)) texts.push_back(RegexTrees::kEpsilon);
    if (!texts.empty()) others.insert(others.begin(), text(trees_.alternation(texts)));
    return others.size() == 1 ? others[0] : intern({Kind::kAlternatives, 0, lists_.intern(others)});
}

// Of equal ones the first stays.
void RuleExpressions::keep_first(std::vector<ExpressionId>& list) {
    constexpr size_t kFew = 16;
    if (list.size() <= kFew) {
        auto end = list.begin();
        for (ExpressionId each : list)
            if (std::find(list.begin(), end, each) == end) *end++ = each;
        list.erase(end, list.end());
        return;
    }
    std::vector<bool> met(expressions_.size());
    std::erase_if(list, [&](ExpressionId each) {
        const bool was_met = met[each];
        met[each] = true;
        return was_met;
    });
}

ExpressionId RuleExpressions::repeat(ExpressionId inner, uint64_t low, uint64_t high) {
    if (!high || inner == kEmptyText || (inner == kNothing && !low)) return kEmptyText;
    if (inner == kNothing) return kNothing;
    if (low == 1 && high == 1) return inner;
    if (kind(inner) == Kind::kText) return text(trees_.repeat(value(inner), low, high));
    return intern({Kind::kRepeat, 0, lists_.intern(std::array{inner}), low, high});
}

ExpressionId RuleExpressions::bounded(ExpressionId inner, uint32_t bound) {
    if (inner == kEmptyText || inner == kNothing) return inner;
    return intern({Kind::kBound, bound, lists_.intern(std::array{inner})});
}

ExpressionId RuleExpressions::substituted(ExpressionId id, Known& known) {
    if (known.size() <= id) known.resize(size(), kUnknown);
    if (known[id] != kUnknown) return known[id];
    if (is_leaf(id)) return known[id] = id;
    poll();
    std::vector<ExpressionId> own(parts(id).begin(), parts(id).end());
    bool is_same = true;
    for (ExpressionId& part : own) {
        const ExpressionId before = std::exchange(part, substituted(part, known));
        is_same = is_same && part == before;
    }
    return known[id] = is_same ? id : with_parts(id, own);
}

ExpressionId RuleExpressions::with_parts(ExpressionId id, Parts parts) {
    switch (kind(id)) {
        case Kind::kSequence: return sequence(parts);
        case Kind::kAlternatives: return alternatives(parts);
        case Kind::kRepeat: return repeat(parts[0], low(id), high(id));
        default: return bounded(parts[0], value(id));
    }
}

}  // namespace schemagen
