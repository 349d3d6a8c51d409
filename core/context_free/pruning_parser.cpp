#include "context_free/pruning_parser.hpp"

#include <algorithm>

namespace schemagen {

namespace {
bool ever(Adjacency::When when) { return when != Adjacency::When::kNever; }
}  // namespace

// The set without the lexemes that nothing can ever follow, neither at once nor after others that are ignored.
std::vector<LexemeId> PruningParser::pruned(LexemeSets::SetId set, bool may_end, const ByteSet& embedded) {
    std::vector<LexemeId> kept, open;
    for (LexemeId lexeme : sets_[set])
        (grammar_.is_ignored(grammar_.lexemes()[lexeme].terminal) ? open : kept).push_back(lexeme);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = open.size(); k-- > 0;) {
            const bool goes_on = (may_end && ever(adjacency_.last(open[k]))) ||
                                 (embedded.size() && ever(adjacency_.before(open[k], embedded))) ||
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

bool PruningParser::is_pruned(LexemeId lexeme) const {
    return std::ranges::binary_search(terminals_, grammar_.lexemes()[lexeme].terminal);
}

// Whether anything can follow a lexeme of a pruned terminal.
bool PruningParser::goes_on(ParserState state, LexemeId lexeme) {
    const ParserState after = inner_->shift(state, grammar_.lexemes()[lexeme].terminal);
    if (inner_->accepting(after) && ever(adjacency_.last(lexeme))) return true;
    const auto viable = sets_[inner_->viable(after)];
    return std::any_of(viable.begin(), viable.end(),
                       [&](LexemeId next) { return !is_pruned(next) && ever(adjacency_.followed(lexeme, next)); }) ||
           std::any_of(embedded_.begin(), embedded_.end(), [&](const EmbeddedTerminal& next) {
               return ever(adjacency_.before(lexeme, next.first)) && inner_->shift(after, next.terminal);
           });
}

LexemeSets::SetId PruningParser::without_stuck(ParserState state, LexemeSets::SetId set) {
    const auto all = sets_[set];
    if (std::none_of(all.begin(), all.end(), [&](LexemeId lexeme) { return is_pruned(lexeme); })) return set;
    std::vector<LexemeId> kept(all.begin(), all.end());
    std::erase_if(kept, [&](LexemeId lexeme) { return is_pruned(lexeme) && !goes_on(state, lexeme); });
    return sets_.intern(std::move(kept));
}

LexemeSets::SetId PruningParser::without_dead_ends(ParserState state, LexemeSets::SetId set) {
    if (!terminals_.empty()) set = without_stuck(state, set);
    ByteSet embedded;
    for (const EmbeddedTerminal& each : embedded_)
        if (inner_->shift(state, each.terminal)) embedded.add(each.first);
    if (embedded.size()) return sets_.intern(pruned(set, inner_->accepting(state), embedded));
    uint32_t out = pruned_.find(set, 0);
    if (out == PairMap::kNone) pruned_.insert(set, 0, out = sets_.intern(pruned(set, false, embedded)));
    if (out == set || !inner_->accepting(state)) return out;
    out = pruned_.find(set, 1);
    if (out == PairMap::kNone) pruned_.insert(set, 1, out = sets_.intern(pruned(set, true, embedded)));
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
