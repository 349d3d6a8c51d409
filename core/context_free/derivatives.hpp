// Derivatives that were asked for before.
//
// Many lexemes of a lexer have most of their texts in common, so the same node is derived by the same byte for each of
// them. Bytes between two cuts of a node (regex/nodes.hpp) have the same derivative: it is kept by the first of them.
#pragma once
#include <cstdint>

#include "regex/kernel.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class Derivatives {
public:
    explicit Derivatives(Kernel& kernel) : kernel_(kernel) {}
    NodeId of(NodeId node, uint8_t byte) {
        const uint32_t first = first_alike(kernel_.cuts(node), byte);
        if (const uint32_t known = known_.find(node, first); known != PairMap::kNone) return known;
        const NodeId out = kernel_.derivative(node, byte);
        if (known_.size() >= kMost) known_.clear();
        known_.insert(node, first, out);
        return out;
    }
    size_t memory_bytes() const { return known_.memory_bytes(); }

private:
    static constexpr size_t kMost = size_t{1} << 20;  // 24 MB of slots at most, then all is forgotten
    Kernel& kernel_;
    PairMap known_;  // (node, first of the bytes) -> derivative
};

}  // namespace schemagen
