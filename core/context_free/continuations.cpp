#include "context_free/continuations.hpp"

#include <algorithm>

#include "context_free/frame_parser.hpp"
#include "util/work.hpp"

namespace schemagen {

Continuations::Id Continuations::of(FrameId frame, SymbolId rule) {
    if (const uint32_t known = ids_.find(frame, rule); known != PairMap::kNone) return known;
    poll();
    const ContextFreeGrammar& grammar = parser_.grammar_;
    const auto& inner = parser_.kinds_[parser_.frames_[frame].kind].inner;
    const auto returns = parser_.return_lists_[parser_.frames_[frame].returns];
    std::vector<std::pair<ItemId, FrameId>> all;
    std::vector<SymbolId> completed{rule};
    auto add = [&](ItemId item, FrameId at) {
        for (ItemId each : grammar.closure(item)) {
            if (!grammar.edges(each).empty()) all.emplace_back(each, at);
            // A rule that is completed at a frame further down is among the returns.
            if (at == frame && grammar.accepting(each) &&
                std::ranges::find(completed, grammar.rule_of(each)) == completed.end())
                completed.push_back(grammar.rule_of(each));
        }
    };
    for (size_t k = 0; k < completed.size(); ++k) {
        const SymbolId done = completed[k];
        auto at = std::ranges::lower_bound(inner, done, {}, &std::pair<SymbolId, ItemId>::first);
        for (; at != inner.end() && at->first == done; ++at) add(at->second, frame);
        for (size_t r = 0; r + 2 < returns.size(); r += 3) {
            if (returns[r] != done) continue;
            if (returns[r + 1] == FrameParser::kRoot)
                all.emplace_back(kEnd, FrameParser::kRoot);
            else
                add(returns[r + 2], returns[r + 1]);
        }
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::vector<uint32_t> flat;
    flat.reserve(2 * all.size());
    for (auto [item, at] : all) flat.insert(flat.end(), {item, at});
    const Id id = lists_.intern(flat);
    ids_.insert(frame, rule, id);
    return id;
}

bool Continuations::within(Id one, Id other) {
    assumed_.clear();
    const bool found = search(one, other);
    // All that a search which succeeds has assumed follows from the rest of it.
    for (auto [part, whole] : assumed_) within_.insert(part, whole, true);
    return found;
}

// Whether one is within the other if all pairs are that are looked for already.
bool Continuations::search(Id one, Id other) {
    if (one == other) return true;
    if (const uint32_t known = within_.find(one, other); known != PairMap::kNone) return known != 0;
    if (std::ranges::find(assumed_, std::pair(one, other)) != assumed_.end()) return true;
    poll();
    const size_t mark = assumed_.size();
    bool found = mark < kMostAssumed && has_items(one, other);
    if (found) assumed_.emplace_back(one, other);
    for (size_t k = 0; found && k < lists_[one].size(); k += 2)
        found = covers(other, lists_[one][k], lists_[one][k + 1]);
    if (found) return true;
    assumed_.resize(mark);
    within_.insert(one, other, false);
    return false;
}

bool Continuations::has_items(Id one, Id other) const {
    const auto part = lists_[one], whole = lists_[other];
    size_t at = 0;
    for (size_t k = 0; k < part.size(); k += 2) {
        while (at < whole.size() && whole[at] < part[k]) at += 2;
        if (at == whole.size() || whole[at] != part[k]) return false;
    }
    return true;
}

bool Continuations::covers(Id other, ItemId item, FrameId frame) {
    std::vector<FrameId> frames;
    const auto whole = lists_[other];
    for (size_t k = 0; k < whole.size(); k += 2)
        if (whole[k] == item) frames.push_back(whole[k + 1]);
    if (std::ranges::find(frames, frame) != frames.end()) return true;
    const SymbolId rule = parser_.grammar_.rule_of(item);
    return std::ranges::any_of(frames, [&](FrameId each) { return search(of(frame, rule), of(each, rule)); });
}

}  // namespace schemagen
