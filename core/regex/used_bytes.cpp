// Which bytes the words of a language are made of.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "regex/kernel.hpp"

namespace schemagen {

namespace {

ByteSet between(unsigned first, unsigned last) {
    ByteSet out;
    for (unsigned byte = first; byte <= last; ++byte) out.add(static_cast<uint8_t>(byte));
    return out;
}

}  // namespace

ByteSet Kernel::used_by_chars(const Node& node) const {
    if (node.phase == Phase::kTail) return between(0x80, 0xBF);
    ByteSet out;
    if (node.phase == Phase::kStartCanonical) {
        for (const auto& [first, last] : ranges_[node.c]) {
            for (uint32_t c = first; c <= last; ++c) {
                if (c < 0x20 || c > 0x7E || c == '"' || c == '\\') return between(0, 0xFF);
                out.add(static_cast<uint8_t>(c));
            }
        }
        return out;
    }
    if (node.phase != Phase::kStartUtf8) return between(0, 0xFF);
    for (const auto& [first, last] : ranges_[node.c]) {
        if (first < 0x80) out.add(between(first, std::min(last, 0x7Fu)));
        if (last >= 0x80) out.add(between(0x80, 0xFF));
    }
    return out;
}

bool Kernel::ends_plainly(NodeId root) const {
    std::vector<NodeId> order{root};
    std::unordered_set<NodeId> seen{root};
    for (size_t at = 0; at < order.size(); ++at) {
        poll();
        const Node& node = nodes_[order[at]];
        switch (node.kind) {
            case Kind::kSubstring:
            case Kind::kNumber:
            case Kind::kNot: return false;
            case Kind::kChars:
                if (node.phase > Phase::kStartCanonical || !has_plain_ascii(node)) return false;
                break;
            case Kind::kAnd:  // two languages may have no such character in common
                if (std::ranges::count_if(parts_of(order[at]),
                                          [&](NodeId part) { return repeated_any(part) == kEmpty; }) > 1)
                    return false;
                break;
            default: break;
        }
        if (node.kind != Kind::kChars && node.kind != Kind::kBytes)
            for (NodeId part : parts_of(order[at]))
                if (seen.insert(part).second) order.push_back(part);
    }
    return true;
}

// Nodes are made after those that they are made of: in the order of ids, all that a node needs is there.
ByteSet Kernel::used_bytes(NodeId root) const {
    std::vector<NodeId> order{root};
    std::unordered_map<NodeId, ByteSet> used{{root, {}}};
    for (size_t at = 0; at < order.size(); ++at) {
        const Node& node = nodes_[order[at]];
        if (node.kind == Kind::kNot) continue;
        for (NodeId part : parts_of(order[at]))
            if (used.try_emplace(part).second) order.push_back(part);
    }
    std::sort(order.begin(), order.end());
    for (NodeId id : order) {
        poll();
        const Node& node = nodes_[id];
        ByteSet& out = used[id];
        switch (node.kind) {
            case Kind::kEmpty:
            case Kind::kEpsilon: break;
            case Kind::kBytes: out.words = byte_sets_[node.a]; break;
            case Kind::kChars: out = used_by_chars(node); break;
            case Kind::kSubstring: out = table_of(node).used_bytes(); break;
            case Kind::kNumber:
            case Kind::kNot: out = between(0, 0xFF); break;
            case Kind::kConcat:
            case Kind::kRepeat:
            case Kind::kOr:
                for (NodeId part : parts_of(id)) out.add(used[part]);
                break;
            case Kind::kAnd:
                out = between(0, 0xFF);
                for (NodeId part : parts_of(id))
                    for (size_t w = 0; w < out.words.size(); ++w) out.words[w] &= used[part].words[w];
        }
    }
    return used[root];
}

}  // namespace schemagen
