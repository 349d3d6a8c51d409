#include "context_free/lr_liveness.hpp"

#include <algorithm>

namespace schemagen {

LrLiveness::LrLiveness(const ContextFreeGrammar& grammar, const LrTables& tables, const Indentation* indentation,
                       Adjacency& adjacency)
    : demands_(grammar, tables, indentation, adjacency), depths_(tables.actions.size(), 0) {
    for (uint32_t state = 0; state < depths_.size(); ++state)
        for (const LrDemands::Item& item : demands_.items(state)) depths_[state] = std::max(depths_[state], item.pops);
}

// Whether one of some lookaheads is good in the state that an item goes back to.
bool LrLiveness::meets(const LrDemands::Item& item, const uint64_t* lookaheads,
                       const std::vector<Context>& below) const {
    if (item.pops > below.size()) return false;
    const Entry& entry = entry_[below[item.pops - 1]];
    const auto& gotos = demands_.gotos(entry.state);
    const auto at = std::lower_bound(gotos.begin(), gotos.end(), std::pair(item.rule, uint32_t{0}));
    if (at == gotos.end() || at->first != item.rule) return false;
    const uint64_t* good = &entry.good[static_cast<size_t>(at - gotos.begin()) * demands_.words()];
    for (size_t w = 0; w < demands_.words(); ++w)
        if (lookaheads[w] & good[w]) return true;
    return false;
}

bool LrLiveness::meets(uint32_t state, const LrDemands::Set& set, const std::vector<Context>& below) const {
    if (set.back()) return true;
    const auto& items = demands_.items(state);
    for (size_t k = 0; k < items.size(); ++k)
        if (meets(items[k], &set[k * demands_.words()], below)) return true;
    return false;
}

bool LrLiveness::goes_well(uint32_t state, SymbolId rule, LrDemands::Lookahead lookahead,
                           const std::vector<Context>& below) {
    const LrDemands::Outcome outcome = demands_.goes_on(state, rule, lookahead);
    switch (outcome.how) {
        case LrDemands::How::kFails: return false;
        case LrDemands::How::kEnds: return true;
        case LrDemands::How::kAsNode: return meets(state, demands_.set(outcome.id), below);
        case LrDemands::How::kDemands: break;
    }
    std::vector<uint64_t> only(demands_.words(), 0);
    only[lookahead / 64] = uint64_t{1} << (lookahead % 64);
    return meets(demands_.items(state)[outcome.id], only.data(), below);
}

LrLiveness::Entry LrLiveness::entry_of(uint32_t state, const std::vector<Context>& below) {
    const auto& gotos = demands_.gotos(state);
    Entry out{state, std::vector<uint64_t>(gotos.size() * demands_.words(), 0)};
    for (const auto& [rule, target] : gotos)
        for (LrDemands::Lookahead each : demands_.lookaheads(target)) demands_.goes_on(state, rule, each);
    demands_.solve();
    for (size_t k = 0; k < gotos.size(); ++k)
        for (LrDemands::Lookahead each : demands_.lookaheads(gotos[k].second))
            if (goes_well(state, gotos[k].first, each, below))
                out.good[k * demands_.words() + each / 64] |= uint64_t{1} << (each % 64);
    return out;
}

LrLiveness::Context LrLiveness::context(uint32_t state, const std::vector<Context>& below) {
    std::vector<uint64_t> key{state};
    key.insert(key.end(), below.begin(), below.begin() + std::min<ptrdiff_t>(depth(state), std::ssize(below)));
    if (const uint32_t known = known_.find(key); known != KeyTable::kNone) return contexts_[known];
    Entry entry = entry_of(state, below);
    std::vector<uint64_t> content{state};
    content.insert(content.end(), entry.good.begin(), entry.good.end());
    uint32_t context = entries_.find(content);
    if (context == KeyTable::kNone) {
        context = entries_.add(content);
        bytes_ += 2 * content.size() * sizeof(uint64_t);
        entry_.push_back(std::move(entry));
    }
    known_.add(key);
    contexts_.push_back(context);
    return context;
}

bool LrLiveness::can_finish(uint32_t state, Kind last, const std::vector<Context>& below) {
    if (last != kAnyKind) return meets(state, demands_.behind(state, last), below);
    for (Kind kind = 0; kind < demands_.kind_count(); ++kind)
        if (meets(state, demands_.behind(state, kind), below)) return true;
    return false;
}

}  // namespace schemagen
