#include "context_free/lr_liveness.hpp"

#include <algorithm>

namespace schemagen {

LrLiveness::LrLiveness(const ContextFreeGrammar& grammar, const LrTables& tables, const Indentation* indentation,
                       Adjacency& adjacency)
    : demands_(grammar, tables, indentation, adjacency), depths_(tables.actions.size(), 0) {
    for (uint32_t state = 0; state < depths_.size(); ++state)
        for (const LrDemands::Item& item : demands_.items(state)) depths_[state] = std::max(depths_[state], item.pops);
}

// The lookaheads that are good in the state that an item goes back to, or null if there are none.
const uint64_t* LrLiveness::good(const LrDemands::Item& item, const std::vector<Context>& below) const {
    if (item.pops > below.size()) return nullptr;
    const Entry& entry = entry_[below[item.pops - 1]];
    const auto& gotos = demands_.gotos(entry.state);
    const auto at = std::lower_bound(gotos.begin(), gotos.end(), std::pair(item.rule, uint32_t{0}));
    if (at == gotos.end() || at->first != item.rule) return nullptr;
    return &entry.good[static_cast<size_t>(at - gotos.begin()) * demands_.words()];
}

bool LrLiveness::meets(uint32_t state, const LrDemands::Set& set, const std::vector<Context>& below) const {
    if (set.back()) return true;
    const auto& items = demands_.items(state);
    for (size_t k = 0; k < items.size(); ++k) {
        const uint64_t* good = this->good(items[k], below);
        for (size_t w = 0; good && w < demands_.words(); ++w)
            if (set[k * demands_.words() + w] & good[w]) return true;
    }
    return false;
}

// Those of a goto, of the lookaheads that its target goes on with.
void LrLiveness::add_good(uint32_t state, const std::pair<SymbolId, uint32_t>& jump, const std::vector<Context>& below,
                          uint64_t* out) {
    const LrDemands::Lookaheads& wanted = demands_.lookaheads(jump.second);
    const LrDemands::Outcomes& outcomes = demands_.outcomes(state, jump.first, wanted.data());
    if (outcomes.ends) out[0] |= wanted[0] & uint64_t{1} << LrDemands::kEnd;
    for (const auto& [item, lookaheads] : outcomes.demands) {
        const uint64_t* good = this->good(demands_.items(state)[item], below);
        for (size_t w = 0; good && w < demands_.words(); ++w) out[w] |= wanted[w] & lookaheads[w] & good[w];
    }
    for (const auto& [lookahead, node] : outcomes.nodes) {
        const uint64_t bit = wanted[lookahead / 64] & uint64_t{1} << (lookahead % 64);
        if (bit && meets(state, demands_.set(node), below)) out[lookahead / 64] |= bit;
    }
}

LrLiveness::Entry LrLiveness::entry_of(uint32_t state, const std::vector<Context>& below) {
    const auto& gotos = demands_.gotos(state);
    Entry out{state, std::vector<uint64_t>(gotos.size() * demands_.words(), 0)};
    for (const auto& [rule, target] : gotos) demands_.outcomes(state, rule, demands_.lookaheads(target).data());
    demands_.solve();
    for (size_t k = 0; k < gotos.size(); ++k) add_good(state, gotos[k], below, &out.good[k * demands_.words()]);
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
    if (last != kAnyKind) return meets(state, demands_.after(state, last), below);
    for (Kind kind = 0; kind < demands_.kind_count(); ++kind)
        if (meets(state, demands_.after(state, kind), below)) return true;
    return false;
}

}  // namespace schemagen
