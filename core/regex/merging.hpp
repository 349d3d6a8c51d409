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

    Nodes& owner_;
};

}  // namespace schemagen
