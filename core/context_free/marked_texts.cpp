#include "context_free/marked_texts.hpp"

#include <unordered_set>
#include <vector>

#include "util/work.hpp"

namespace schemagen {

NodeId after_mark(Kernel& kernel, NodeId text) {
    for (unsigned byte : {0xF4u, 0x8Fu, 0xBFu, 0xBFu}) text = kernel.derivative(text, static_cast<uint8_t>(byte));
    return text;
}

// Breadth first.
uint32_t shortest_before_mark(Kernel& kernel, NodeId text) {
    constexpr size_t kMostNodes = 500;
    std::vector<NodeId> here{text}, next;
    std::unordered_set<NodeId> seen{text};
    for (uint32_t bytes = 0;; ++bytes, here.swap(next)) {
        next.clear();
        for (NodeId node : here) {
            poll();
            if (!kernel.is_empty(after_mark(kernel, node))) return bytes;
            if (seen.size() > kMostNodes) continue;
            const ByteCuts cuts = kernel.cuts(node);
            for (unsigned byte = 0; byte < 256; ++byte) {
                if ((byte && !(cuts[byte / 64] >> (byte % 64) & 1)) || byte == kPlaneOfMark) continue;
                const NodeId after = kernel.derivative(node, static_cast<uint8_t>(byte));
                if (!kernel.is_empty(after) && seen.insert(after).second) next.push_back(after);
            }
        }
        if (next.empty() || seen.size() > kMostNodes) return bytes + 1;
    }
}

}  // namespace schemagen
