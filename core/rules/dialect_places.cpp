#include "rules/dialect_places.hpp"

#include "util/work.hpp"

namespace schemagen {

DialectPlaces::KindId DialectPlaces::kind(TreeId tree, bool lazy) {
    const TreeId text = set_.trees.nonempty(tree);
    const auto [at, is_new] = kind_ids_.try_emplace(uint64_t{text} << 1 | lazy, static_cast<KindId>(kinds_.size()));
    if (is_new) kinds_.push_back({text, lazy, false, ""});
    return at->second;
}

ExpressionId DialectPlaces::add(std::span<const KindId> kinds) {
    if (kinds.empty()) return RuleExpressions::kNothing;
    const auto place = static_cast<uint32_t>(places_.size());
    places_.emplace_back(kinds.begin(), kinds.end());
    set_.terminals.push_back({"place " + std::to_string(place), {}, false});
    return set_.expressions.terminal(place);
}

std::vector<TreeId> DialectPlaces::languages() const {
    std::vector<TreeId> out;
    for (const std::vector<KindId>& kinds : places_) {
        poll();
        std::vector<TreeId> ways;
        ways.reserve(kinds.size());
        for (KindId each : kinds)
            ways.push_back(kinds_[each].lazy ? set_.trees.shortest(kinds_[each].text) : kinds_[each].text);
        out.push_back(set_.trees.alternation(ways));
    }
    return out;
}

}  // namespace schemagen
