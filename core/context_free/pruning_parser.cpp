#include "context_free/pruning_parser.hpp"

#include <algorithm>

namespace schemagen {

namespace {
bool ever(Adjacency::When when) { return when != Adjacency::When::kNever; }
}  // namespace

// Without those that nothing can ever stand behind, neither at once nor behind others that are ignored.
std::vector<LexemeId> PruningParser::pruned(LexemeSets::SetId set, bool may_end, const ByteSet& foreign) {
    std::vector<LexemeId> kept, open;
    for (LexemeId lexeme : sets_[set])
        (grammar_.is_ignored(grammar_.lexemes()[lexeme].terminal) ? open : kept).push_back(lexeme);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = open.size(); k-- > 0;) {
            const bool goes_on = (may_end && ever(adjacency_.last(open[k]))) ||
                                 (foreign.size() && ever(adjacency_.before(open[k], foreign))) ||
                                 std::any_of(kept.begin(), kept.end(),
                                             [&](LexemeId next) { return ever(adjacency_.followed(open[k], next)); });
            if (!goes_on) continue;
            kept.push_back(open[k]);
            open.erase(open.begin() + static_cast<ptrdiff_t>(k));
            changed = true;
        }
    }
    return kept;
}

LexemeSets::SetId PruningParser::without_dead_ends(ParserState state, LexemeSets::SetId set) {
    ByteSet foreign;
    for (const ForeignTerminal& each : foreign_)
        if (inner_->shift(state, each.terminal)) foreign.add(each.first);
    if (foreign.size()) return sets_.intern(pruned(set, inner_->accepting(state), foreign));
    uint32_t out = pruned_.find(set, 0);
    if (out == PairMap::kNone) pruned_.insert(set, 0, out = sets_.intern(pruned(set, false, foreign)));
    if (out == set || !inner_->accepting(state)) return out;
    out = pruned_.find(set, 1);
    if (out == PairMap::kNone) pruned_.insert(set, 1, out = sets_.intern(pruned(set, true, foreign)));
    return out;
}

LexemeSets::SetId PruningParser::viable(ParserState state) {
    if (viable_.size() <= state) viable_.resize(state + 1);
    StackReach* reach = this->reach();
    if (viable_[state].set == kUnknown) {
        LexemeSets::SetId set = kUnknown;
        auto find = [&] { set = without_dead_ends(state, inner_->viable(state)); };
        uint32_t lowest = UINT32_MAX;
        if (reach)
            lowest = reach->measure(find);
        else
            find();
        viable_[state] = {set, lowest};
    } else if (reach) {
        reach->look(viable_[state].reach);
    }
    return viable_[state].set;
}

}  // namespace schemagen
