// Parts of an alternative or a conjunction that can be merged into one, so that there are fewer different derivatives.
#include "regex/merging.hpp"

#include <algorithm>

namespace schemagen {

// Two alternatives that are one: sets of characters at the same point of their spelling, or counted repetitions whose
// intervals touch.
bool Nodes::Merger::merge_pair(NodeId left, NodeId right, NodeId& merged) {
    const Node l = owner_.nodes_[left], r = owner_.nodes_[right];
    if (l.kind != r.kind) return false;
    if (l.kind == Kind::kChars && l.phase == r.phase && l.a == r.a && l.b == r.b) {
        merged = owner_.chars_node(l.phase, unite(owner_.ranges_[l.c], owner_.ranges_[r.c]), l.a, l.b);
        return true;
    }
    if (l.kind == Kind::kBytes) {
        auto set = owner_.byte_sets_[l.a];
        for (int k = 0; k < 4; ++k) set[k] |= owner_.byte_sets_[r.a][k];
        merged = owner_.byte_set(set);
        return true;
    }
    if (l.kind == Kind::kRepeat && l.a == r.a) {
        const Node& low = l.b <= r.b ? l : r;
        const Node& high = l.b <= r.b ? r : l;
        if (low.c != kUnbounded && high.b > low.c && high.b - low.c > 1) return false;
        merged = owner_.repeat(l.a, low.b, std::max(low.c, high.c));
        return true;
    }
    return false;
}

// Merge alternatives a.x | b.x into (a|b).x where a and b merge, and a.r{i}.x | a.r{j}.x into a.r{i,j}.x where the
// intervals touch. So the sets of derivatives stay small: where one text may have read r several numbers of times,
// these numbers are kept as one interval, as in a counting set (Turoňová et al. 2020).
void Nodes::Merger::merge_heads(std::vector<NodeId>& parts) {
    constexpr size_t kMost = 64;
    if (parts.size() > kMost) return;
    while (merge_two(parts)) {}
}

// Two sequences that are one but for the counts of the repetition that they begin with.
bool Nodes::Merger::merge_counts(NodeId left, NodeId right, NodeId& merged) {
    const auto [head, tail] = split(left);
    const auto [other, other_tail] = split(right);
    if (tail != other_tail || owner_.nodes_[head].kind != Kind::kRepeat || !merge_pair(head, other, merged))
        return false;
    merged = owner_.concat(merged, tail);
    return true;
}

std::pair<NodeId, NodeId> Nodes::Merger::split(NodeId part) const {
    const Node& node = owner_.nodes_[part];
    return node.kind == Kind::kConcat ? std::pair{node.a, node.b} : std::pair{part, kEpsilon};
}

// Merges the first two alternatives that can be. Returns false if there are none.
bool Nodes::Merger::merge_two(std::vector<NodeId>& parts) {
    for (size_t i = 0; i < parts.size(); ++i) {
        auto [head, tail] = split(parts[i]);
        for (size_t j = i + 1; j < parts.size(); ++j) {
            auto [other, other_tail] = split(parts[j]);
            NodeId merged;
            if (tail == other_tail && merge_pair(head, other, merged))
                parts[i] = owner_.concat(merged, tail);
            else if (head == other && merge_counts(tail, other_tail, merged))
                parts[i] = owner_.concat(head, merged);
            else
                continue;
            parts.erase(parts.begin() + static_cast<ptrdiff_t>(j));
            return true;
        }
    }
    return false;
}

// Sets of characters at the same point of their spelling intersect at once: the first two such parts become one.
bool Nodes::Merger::intersect_pair(std::vector<NodeId>& parts) {
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const Node l = owner_.nodes_[parts[i]];
        if (l.kind != Kind::kChars) continue;
        for (size_t j = i + 1; j < parts.size(); ++j) {
            const Node r = owner_.nodes_[parts[j]];
            if (r.kind != Kind::kChars || r.phase != l.phase || r.a != l.a || r.b != l.b) continue;
            parts[i] = owner_.chars_node(l.phase, intersect(owner_.ranges_[l.c], owner_.ranges_[r.c]), l.a, l.b);
            parts.erase(parts.begin() + static_cast<ptrdiff_t>(j));
            return true;
        }
    }
    return false;
}

}  // namespace schemagen
