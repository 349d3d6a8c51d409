#include "regex/kernel.hpp"

#include <algorithm>
#include <unordered_set>

namespace schemagen {

size_t Kernel::memory_bytes() const {
    constexpr size_t kOfMap = 48;  // an entry
    return Nodes::memory_bytes() + (shortest_.capacity() + shortest_at_most_.capacity()) * sizeof(uint32_t) +
           (open_.size() + finish_.size()) * kOfMap;
}

NodeId Kernel::repeated_any(NodeId id) const {
    const Node& node = nodes_[id];
    if (node.kind == Kind::kRepeat)
        for (NodeId any : any_)
            if (nodes_[any].a == node.a) return any;
    return kEmpty;
}

NodeId Kernel::unbounded_any(NodeId id) const { return nodes_[id].c == kUnbounded ? repeated_any(id) : kEmpty; }

// `absorbing` asks for more: after any text, something can be added so that everything is allowed from there on. Any
// number of such languages can be in force, since each in turn gets the text it waits for; of the others only one more.
NodeId Kernel::never_ending(NodeId id, bool absorbing) {
    if (NodeId any = unbounded_any(id); any != kEmpty) return any;
    const Node node = nodes_[id];
    if (node.kind == Kind::kConcat) {
        NodeId last = node.b;
        while (nodes_[last].kind == Kind::kConcat) last = nodes_[last].b;
        return (!absorbing || unbounded_any(last) != kEmpty) && !is_empty(node.b) ? unbounded_any(node.a) : kEmpty;
    }
    if (node.kind == Kind::kOr)
        for (NodeId kid : kids_of(node))
            if (NodeId found = never_ending(kid, absorbing); found != kEmpty) return found;
    if (node.kind != Kind::kAnd) return kEmpty;
    NodeId found = kEmpty;
    for (NodeId kid : kids_of(node)) {
        found = never_ending(kid, true);
        if (found == kEmpty && !absorbing) {
            found = never_ending(kid, false);
            absorbing = true;
        }
        if (found == kEmpty) return kEmpty;
    }
    return found;
}

bool Kernel::is_open(NodeId node) {
    if (is_any_string(node)) return true;
    auto known = open_.find(node);
    if (known == open_.end()) before_write(), known = open_.emplace(node, find_open(node)).first;
    return known->second;
}

// A prefix that can always go on is one of infinitely many words, as long as there are finitely many derivatives.
bool Kernel::find_open(NodeId start) {
    constexpr size_t kMost = 256;
    if (is_empty(start)) return false;
    std::vector<NodeId> order{start};
    std::unordered_set<NodeId> seen{start};
    for (size_t at = 0; at < order.size(); ++at) {
        const ByteCuts cut = cuts(order[at]);
        bool goes_on = false;
        for (unsigned byte = 0; byte < 256; ++byte) {
            if (byte && !(cut[byte >> 6] >> (byte & 63) & 1)) continue;
            NodeId target = derivative(order[at], static_cast<uint8_t>(byte));
            if (target == kEmpty || is_empty(target)) continue;
            goes_on = true;
            if (seen.insert(target).second) order.push_back(target);
        }
        if (!goes_on || order.size() > kMost) return false;
    }
    return true;
}

// Words by length: how many ways lead to each derivative, dead ones left out.
uint64_t Kernel::count_words(NodeId start, uint64_t limit) {
    uint64_t words = 0;
    std::unordered_map<NodeId, uint64_t> ways;
    if (!is_empty(start)) ways[start] = 1;
    while (!ways.empty() && words < limit) {
        std::unordered_map<NodeId, uint64_t> longer;
        for (auto [node, count] : ways) {
            poll();
            if (nodes_[node].nullable) words += count;
            const ByteCuts cut = cuts(node);
            for (unsigned byte = 0; byte < 256;) {
                unsigned next = byte + 1;
                while (next < 256 && !(cut[next >> 6] >> (next & 63) & 1)) ++next;
                NodeId target = derivative(node, static_cast<uint8_t>(byte));
                if (target != kEmpty && !is_empty(target)) {
                    uint64_t& sum = longer[target];
                    sum = std::min(limit, sum + std::min(limit, count * (next - byte)));
                }
                byte = next;
            }
        }
        ways = std::move(longer);
    }
    return std::min(words, limit);
}

}  // namespace schemagen
