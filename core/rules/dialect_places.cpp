#include "rules/dialect_places.hpp"

#include "util/work.hpp"

namespace schemagen {

DialectPlaces::KindId DialectPlaces::kind(TreeId tree, bool lazy) {
    const TreeId text = set_.trees.nonempty(tree);
    if (const KindId known = kind_ids_.find(text, lazy); known != PairMap::kNone) return known;
    const auto id = static_cast<KindId>(kinds_.size());
    kinds_.push_back({text, lazy, false, ""});
    kind_ids_.insert(text, lazy, id);
    return id;
}

ExpressionId DialectPlaces::add(std::span<const KindId> kinds) {
    if (kinds.empty()) return RuleExpressions::kNothing;
    const auto place = static_cast<uint32_t>(places_.size());
    places_.add(kinds);
    set_.terminals.push_back({"place " + std::to_string(place), {}, false});
    return set_.expressions.terminal(place);
}

std::vector<TreeId> DialectPlaces::languages() const {
    std::vector<TreeId> out;
    std::vector<TreeId> ways;
    for (size_t place = 0; place < places_.size(); ++place) {
        poll();
        ways.clear();
        for (KindId each : places_[place])
            ways.push_back(kinds_[each].lazy ? set_.trees.shortest(kinds_[each].text) : kinds_[each].text);
        out.push_back(set_.trees.alternation(ways));
    }
    return out;
}

}  // namespace schemagen
