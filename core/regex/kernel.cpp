#include "regex/kernel.hpp"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "util/hash.hpp"

namespace schemagen {

size_t Kernel::memory_bytes() const {
    constexpr size_t kOfMap = 48;  // an entry
    return Nodes::memory_bytes() + (shortest_.capacity() + shortest_at_most_.capacity()) * sizeof(uint32_t) +
           (open_.size() + finish_.size()) * kOfMap;
}

// A node is made after those it is made of, so one pass in the order of ids finds all of them.
uint32_t Kernel::shortest(NodeId id) {
    if (shortest_.size() <= id) before_write();
    while (shortest_.size() <= id) {
        poll();
        shortest_.push_back(shortest_of(nodes_[shortest_.size()]));
    }
    return shortest_[id];
}

uint32_t Kernel::shortest_at_most(NodeId id) {
    if (shortest_at_most_.size() <= id) before_write();
    while (shortest_at_most_.size() <= id)
        shortest_at_most_.push_back(shortest_at_most_of(nodes_[shortest_at_most_.size()]));
    return shortest_at_most_[id];
}

uint32_t Kernel::shortest_at_most_of(const Node& node) const {
    constexpr uint64_t kFar = kUnbounded / 4, kCharacter = 12;  // bytes of any character, in its longest spelling
    if (node.nullable) return 0;
    auto ascii = [](const auto& range) { return range.first < 0x80; };
    auto sum = [=](uint64_t bytes) { return static_cast<uint32_t>(std::min(bytes, kFar)); };
    switch (node.kind) {
        case Kind::kBytes: return 1;
        case Kind::kChars:
            if (node.phase == Phase::kTail) return node.a;
            return node.phase == Phase::kStartUtf8 && std::any_of(ranges_[node.c].begin(), ranges_[node.c].end(), ascii)
                       ? 1
                       : kCharacter;
        case Kind::kConcat: return sum(uint64_t{shortest_at_most_[node.a]} + shortest_at_most_[node.b]);
        case Kind::kRepeat: return sum(uint64_t{shortest_at_most_[node.a]} * node.b);
        case Kind::kOr: {
            uint64_t best = kFar;
            for (uint32_t k = node.kids; k < node.kids + node.kid_count; ++k)
                best = std::min<uint64_t>(best, shortest_at_most_[kid_pool_[k]]);
            return sum(best);
        }
        default: return sum(kFar);
    }
}

uint32_t Kernel::shortest_of(const Node& node) const {
    constexpr uint64_t kFar = kUnbounded / 4;
    if (node.nullable) return 0;
    auto plain = [this](const Node& chars) {
        return std::any_of(ranges_[chars.c].begin(), ranges_[chars.c].end(), [](const auto& r) {
            for (uint32_t c = r.first; c <= std::min(r.second, 0x7Eu); ++c)
                if (c >= 0x20 && c != '"' && c != '\\') return true;
            return false;
        });
    };
    switch (node.kind) {
        case Kind::kEmpty: return kFar;
        case Kind::kChars:
            switch (node.phase) {
                case Phase::kStartJson:
                case Phase::kStartCanonical: return plain(node) ? 1 : 2;
                case Phase::kTail:
                case Phase::kHexAbsolute:
                case Phase::kHex:
                case Phase::kHexLower: return node.a;
                case Phase::kLowBackslash: return 6;
                case Phase::kLowU: return 5;
                case Phase::kLowD: return 4;
                case Phase::kLowNibble: return 3;
                default: return 1;
            }
        case Kind::kConcat:
            return static_cast<uint32_t>(std::min<uint64_t>(kFar, uint64_t{shortest_[node.a]} + shortest_[node.b]));
        case Kind::kRepeat:
            return static_cast<uint32_t>(std::min<uint64_t>(kFar, uint64_t{shortest_[node.a]} * node.b));
        case Kind::kOr:
        case Kind::kAnd: {
            uint64_t best = node.kind == Kind::kOr ? kFar : 1;
            for (uint32_t k = node.kids; k < node.kids + node.kid_count; ++k)
                best = node.kind == Kind::kOr ? std::min<uint64_t>(best, shortest_[kid_pool_[k]])
                                              : std::max<uint64_t>(best, shortest_[kid_pool_[k]]);
            return static_cast<uint32_t>(best);
        }
        case Kind::kNumber: return numbers_.shortest(numbers_[node.a]);
        default: return 1;
    }
}

// What is known of its parts may tell it, as where one alternative of many has & or ~ in it: -1 if it does not.
int8_t Kernel::emptiness_by_parts(const Node& node) const {
    if (node.nullable) return 0;
    auto of = [this](NodeId part) { return nodes_[part].emptiness; };
    if (node.kind == Kind::kConcat)
        return of(node.a) == 1 || of(node.b) == 1 ? 1 : of(node.a) == 0 && of(node.b) == 0 ? 0 : -1;
    if (node.kind == Kind::kRepeat) return of(node.a);
    if (node.kind != Kind::kOr && node.kind != Kind::kAnd) return -1;
    // One part with words is enough for the one kind, one without words for the other.
    const int8_t enough = node.kind == Kind::kOr ? 0 : 1;
    bool all_else = node.kind == Kind::kOr;
    for (NodeId kid : kids_of(node)) {
        if (of(kid) == enough) return enough;
        all_else &= of(kid) == 1;
    }
    return all_else ? 1 : -1;
}

// Whether one language of several asks for more characters than another one has room for: a pattern beside a length. It
// spares the search below every path that was led astray, which is nearly all of it.
bool Kernel::lengths_clash(NodeId id) {
    if (nodes_[id].kind != Kind::kAnd) return false;
    uint32_t least = 0, most = kUnbounded;
    for (NodeId kid : kids_of(nodes_[id])) {
        if (nodes_[kid].boolean) continue;  // would have to be searched itself
        const Finish part = finish(kid);
        if (part.exact) least = std::max(least, part.shortest);
        most = std::min(most, part.longest);
    }
    return least > most;
}

bool Kernel::is_empty(NodeId id) {
    if (nodes_[id].emptiness >= 0) return nodes_[id].emptiness == 1;
    before_write();
    if (int8_t told = emptiness_by_parts(nodes_[id]); told >= 0) return (nodes_[id].emptiness = told) == 1;
    if (lengths_clash(id)) return (nodes_[id].emptiness = 1) == 1;
    // Depth-first search for a nullable derivative, one derivative at a time, letters and digits first: bounds are
    // reached along one path. If the search ends without finding one, every node seen is empty.
    struct Open {
        NodeId node;
        uint16_t at;  // index into kOrder of the next byte to try
    };
    static const std::array<uint8_t, 256> kOrder = [] {
        std::array<uint8_t, 256> order{};
        size_t k = 0;
        auto likely = [](unsigned byte) { return byte >= '0' && byte <= 'z' && byte != '\\'; };
        for (unsigned byte = 'z' + 1; byte-- > '0';)
            if (likely(byte)) order[k++] = static_cast<uint8_t>(byte);
        for (unsigned byte = 0; byte < 256; ++byte)
            if (!likely(byte)) order[k++] = static_cast<uint8_t>(byte);
        return order;
    }();
    std::vector<Open> path{{id, 0}};
    std::unordered_set<NodeId> seen{id};
    // Where that goes astray (a search that reads a thousand characters too many first), a search in breadth helps:
    // after a while it has its turn, and then goes on beside the other, at about the same cost, since its steps are
    // larger.
    constexpr uint64_t kLate = 64, kTurn = 64, kStride = 16;
    std::vector<NodeId> queue{id};
    std::unordered_set<NodeId> queued{id};
    size_t front = 0;
    const uint64_t limit = budget_ ? budget_->max_nodes / Budget::kNodesPerState : UINT64_MAX;
    for (uint64_t looked = 0; !path.empty() && front < queue.size(); ++looked) {
        poll();
        Open& open = path.back();
        const NodeId node = open.node;
        if (nodes_[node].nullable || nodes_[node].emptiness == 0) {
            for (const Open& step : path) nodes_[step.node].emptiness = 0;
            return false;
        }
        // One byte of each interval, and where an interval is cut by the order above, one of each part.
        auto first = [](const ByteCuts& cut, uint8_t byte) {
            return byte == 0 || byte == '0' || byte == '\\' + 1 || byte == '\\' || byte == 'z' + 1 ||
                   (cut[byte >> 6] >> (byte & 63) & 1);
        };
        NodeId target = kEmpty;
        const ByteCuts& cut = cuts(node);
        for (; open.at < 256 && target == kEmpty; ++open.at) {
            if (!first(cut, kOrder[open.at])) continue;
            NodeId next = derivative(node, kOrder[open.at]);
            if (next == kEmpty || nodes_[next].emptiness == 1 || !seen.insert(next).second) continue;
            if (lengths_clash(next))
                nodes_[next].emptiness = 1;
            else
                target = next;
        }
        if (target != kEmpty)
            path.push_back({target, 0});
        else
            path.pop_back();
        if (looked >= kLate && (looked < kLate + kTurn || looked % kStride == 0)) {
            const NodeId at = queue[front++];
            if (nodes_[at].nullable || nodes_[at].emptiness == 0) {
                nodes_[id].emptiness = 0;
                return false;
            }
            const ByteCuts& around = cuts(at);
            for (uint8_t byte : kOrder) {
                if (!first(around, byte)) continue;
                NodeId next = derivative(at, byte);
                if (next != kEmpty && nodes_[next].emptiness != 1 && queued.insert(next).second && !lengths_clash(next))
                    queue.push_back(next);
            }
        }
        if (seen.size() > limit)
            throw LimitExceeded("max_states", static_cast<double>(seen.size()), static_cast<double>(limit));
    }
    for (NodeId node : path.empty() ? seen : queued) nodes_[node].emptiness = 1;
    return true;
}

NodeId Kernel::repeated_any(NodeId id) const {
    const Node& node = nodes_[id];
    if (node.kind == Kind::kRepeat)
        for (NodeId any : any_)
            if (nodes_[any].a == node.a) return any;
    return kEmpty;
}

NodeId Kernel::unbounded_any(NodeId id) const { return nodes_[id].c == kUnbounded ? repeated_any(id) : kEmpty; }

// `absorbing` asks for more: whatever is written, something can be added behind which everything is allowed. Of such
// languages any number can be in force, one after the other gets what it waits for; of the others one besides.
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

uint32_t Kernel::most_to_finish(NodeId node) { return finish(node).most; }

std::optional<uint32_t> Kernel::least_chars(NodeId node) {
    const Finish found = finish(node);
    return found.exact ? std::optional(found.shortest) : std::nullopt;
}

// By the shape of a node; all the numbers may be too large.
Kernel::Finish Kernel::finish(NodeId id) {
    constexpr Finish kNothing{kUnbounded, 0, 0, true}, kUnknown{kUnbounded, kUnbounded, kUnbounded, false};
    const Node node = nodes_[id];
    if (node.kind == Kind::kEmpty) return kNothing;
    if (node.kind == Kind::kEpsilon) return {0, 0, 0, true};
    if (node.kind == Kind::kBytes || node.kind == Kind::kChars) return {1, 1, 1, node.kind == Kind::kChars};
    if (node.kind == Kind::kNot || node.kind == Kind::kNumber) return kUnknown;
    if (auto known = finish_.find(id); known != finish_.end()) return known->second;
    before_write();
    auto clamp = [](uint64_t chars) { return static_cast<uint32_t>(std::min<uint64_t>(chars, kUnbounded)); };
    Finish out = kNothing;
    if (node.kind == Kind::kConcat) {
        constexpr size_t kMilestone = 64;
        std::vector<NodeId> chain;  // a literal is one long one
        NodeId last = id;
        for (; nodes_[last].kind == Kind::kConcat && !finish_.contains(last); last = nodes_[last].b)
            chain.push_back(last);
        out = finish(last);
        for (size_t k = chain.size(); k-- > 0;) {
            const Finish head = finish(nodes_[chain[k]].a);
            out = {clamp(uint64_t{head.shortest} + out.shortest),
                   std::max(out.most, clamp(uint64_t{head.most} + out.shortest)),
                   clamp(uint64_t{head.longest} + out.longest), head.exact && out.exact};
            if (k % kMilestone == 0)
                finish_[chain[k]] = out;  // whoever reads the chain asks at each step: not from end to end
        }
    } else if (node.kind == Kind::kRepeat) {
        const Finish inner = finish(node.a);
        const uint64_t again = uint64_t{inner.shortest} * (node.b ? node.b - 1 : 0);
        const bool endless = inner.longest && (node.c == kUnbounded || inner.longest == kUnbounded);
        out = {clamp(uint64_t{inner.shortest} * node.b), clamp(inner.most + again),
               endless ? kUnbounded : clamp(uint64_t{inner.longest} * node.c), inner.exact};
    } else if (node.kind == Kind::kOr) {
        for (NodeId kid : kids_of(node)) {
            const Finish part = finish(kid);
            out = {std::min(out.shortest, part.shortest), std::max(out.most, part.most),
                   std::max(out.longest, part.longest), out.exact && part.exact};
        }
    } else if (!is_empty(id)) {
        // Of several languages the shortest one bounds every word. Beside one alone, `at_least` of any characters is
        // what can be asked for in addition: a prefix goes on to so many, and from there to a word of the one. Where
        // the shortest word of the one has as many as are asked for, it is that of both.
        size_t others = 0;
        uint64_t at_least = 0;
        Finish one{0, 0, kUnbounded, false};
        out.longest = kUnbounded;
        for (NodeId kid : kids_of(node)) {
            const Finish part = finish(kid);
            out.longest = std::min(out.longest, part.longest);
            if (repeated_any(kid) != kEmpty) {
                at_least = std::max<uint64_t>(at_least, nodes_[kid].b);
            } else {
                ++others;
                one = part;
            }
        }
        out.most = others > 1 ? out.longest : std::min(out.longest, clamp(at_least + one.most));
        out.exact = others == 1 && one.exact && at_least <= one.shortest && one.shortest <= out.longest;
        out.shortest = out.exact ? one.shortest : out.most;
    }
    return finish_[id] = out;
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
