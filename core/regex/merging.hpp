// Which parts of an alternative or a conjunction become one (nodes.cpp).
#pragma once
#include "regex/nodes.hpp"

namespace schemagen {

class Nodes::Merger {
public:
    explicit Merger(Nodes& nodes) : owner_(nodes) {}
    void merge_heads(std::vector<NodeId>& parts);
    bool intersect_pair(std::vector<NodeId>& parts);

private:
    bool merge_two(std::vector<NodeId>& parts);
    bool merge_pair(NodeId left, NodeId right, NodeId& merged);
    bool merge_counts(NodeId left, NodeId right, NodeId& merged);
    std::pair<NodeId, NodeId> split(NodeId part) const;

    Nodes& owner_;
};

}  // namespace schemagen
