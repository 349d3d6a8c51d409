// Nodes of one kernel in another one.
//
// A node is made after those it is made of, so making the reachable ones in the order of their numbers meets no node
// before its parts. The constructors are the usual ones: the copies denote the same languages, though they may be
// merged otherwise, since alternatives are sorted by number.
#include <algorithm>
#include <unordered_set>

#include "regex/nodes.hpp"

namespace schemagen {

std::vector<NodeId> Nodes::parts_of(NodeId id) const {
    const Node& node = nodes_[id];
    switch (node.kind) {
        case Kind::kConcat: return {node.a, node.b};
        case Kind::kRepeat:
        case Kind::kNot: return {node.a};
        case Kind::kOr:
        case Kind::kAnd: return kids_of(node);
        default: return {};
    }
}

NodeId Nodes::adopted(const Nodes& from, NodeId id, const std::unordered_map<NodeId, NodeId>& own) {
    const Node& node = from.nodes_[id];
    std::vector<NodeId> parts = from.parts_of(id);
    for (NodeId& part : parts) part = own.at(part);
    switch (node.kind) {
        case Kind::kEmpty: return kEmpty;
        case Kind::kEpsilon: return kEpsilon;
        case Kind::kBytes: return byte_set(from.byte_sets_[node.a]);
        case Kind::kChars: return chars_node(node.phase, from.ranges_[node.c], node.a, node.b);
        case Kind::kNumber: return number_node(numbers_.adopted(from.numbers_, node.a));
        case Kind::kSubstring: return substring_node(known_table(from.substrings_[node.a]), node.b);
        case Kind::kConcat: return concat(parts[0], parts[1]);
        case Kind::kRepeat: return repeat(parts[0], node.b, node.c);
        case Kind::kNot: return complement(parts[0]);
        case Kind::kOr: return alternation(parts);
        case Kind::kAnd: return conjunction(parts);
    }
    return kEmpty;
}

std::vector<NodeId> Nodes::adopt(const Nodes& from, const std::vector<NodeId>& roots) {
    std::vector<NodeId> order;
    std::unordered_set<NodeId> seen;
    auto reach = [&](const std::vector<NodeId>& nodes) {
        for (NodeId node : nodes)
            if (seen.insert(node).second) order.push_back(node);
    };
    reach(roots);
    for (size_t at = 0; at < order.size(); ++at) {
        poll();
        reach(from.parts_of(order[at]));
    }
    std::sort(order.begin(), order.end());
    std::unordered_map<NodeId, NodeId> own;
    for (NodeId node : order) {
        const NodeId made = own[node] = adopted(from, node, own);
        if (nodes_[made].emptiness < 0) nodes_[made].emptiness = from.nodes_[node].emptiness;
    }
    std::vector<NodeId> out;
    out.reserve(roots.size());
    for (NodeId root : roots) out.push_back(own.at(root));
    return out;
}

}  // namespace schemagen
