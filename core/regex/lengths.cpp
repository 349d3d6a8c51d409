// The lengths of the words of a language, and the shortest way to finish one.
#include <algorithm>

#include "regex/kernel.hpp"

namespace schemagen {

namespace {

uint32_t clamp(uint64_t chars) { return static_cast<uint32_t>(std::min<uint64_t>(chars, kUnbounded)); }

}  // namespace

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

// The least and the largest number of an alternative or conjunct.
std::pair<uint32_t, uint32_t> Kernel::kid_lengths(const Node& node, const std::vector<uint32_t>& lengths) const {
    uint32_t least = kUnbounded / 4, most = 0;
    for (uint32_t k = node.kids; k < node.kids + node.kid_count; ++k) {
        least = std::min(least, lengths[kid_pool_[k]]);
        most = std::max(most, lengths[kid_pool_[k]]);
    }
    return {least, most};
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
        case Kind::kSubstring: return table_of(node).shortest(node.b);
        case Kind::kConcat: return sum(uint64_t{shortest_at_most_[node.a]} + shortest_at_most_[node.b]);
        case Kind::kRepeat: return sum(uint64_t{shortest_at_most_[node.a]} * node.b);
        case Kind::kOr: return kid_lengths(node, shortest_at_most_).first;
        default: return sum(kFar);
    }
}

// Whether one of the characters is written in JSON as the one byte that it is.
bool Kernel::has_plain_ascii(const Node& chars) const {
    return std::any_of(ranges_[chars.c].begin(), ranges_[chars.c].end(), [](const auto& r) {
        for (uint32_t c = r.first; c <= std::min(r.second, 0x7Eu); ++c)
            if (c >= 0x20 && c != '"' && c != '\\') return true;
        return false;
    });
}

uint32_t Kernel::shortest_of_chars(const Node& node) const {
    switch (node.phase) {
        case Phase::kStartJson:
        case Phase::kStartCanonical: return has_plain_ascii(node) ? 1 : 2;
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
}

uint32_t Kernel::shortest_of(const Node& node) const {
    constexpr uint64_t kFar = kUnbounded / 4;
    if (node.nullable) return 0;
    switch (node.kind) {
        case Kind::kEmpty: return kFar;
        case Kind::kChars: return shortest_of_chars(node);
        case Kind::kConcat:
            return static_cast<uint32_t>(std::min<uint64_t>(kFar, uint64_t{shortest_[node.a]} + shortest_[node.b]));
        case Kind::kRepeat:
            return static_cast<uint32_t>(std::min<uint64_t>(kFar, uint64_t{shortest_[node.a]} * node.b));
        case Kind::kOr: return kid_lengths(node, shortest_).first;
        case Kind::kAnd: return std::max(1u, kid_lengths(node, shortest_).second);
        case Kind::kSubstring: return table_of(node).shortest(node.b);
        case Kind::kNumber: return numbers_.shortest(numbers_[node.a]);
        default: return 1;
    }
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
    switch (node.kind) {
        case Kind::kEmpty: return kNothing;
        case Kind::kEpsilon: return {0, 0, 0, true};
        case Kind::kBytes:
        case Kind::kChars: return {1, 1, 1, node.kind == Kind::kChars};
        case Kind::kSubstring:  // a word may end after every character
            return {node.nullable ? 0u : 1u, 1, table_of(node).longest(node.b), true};
        case Kind::kNumber: {
            const NumberState& state = numbers_[node.a];
            const uint32_t most = numbers_.most_to_finish(state);
            return {most, most, numbers_.longest(state), false};
        }
        case Kind::kNot: return kUnknown;
        default: break;
    }
    if (auto known = finish_.find(id); known != finish_.end()) return known->second;
    before_write();
    Finish out = kNothing;
    if (node.kind == Kind::kConcat)
        out = finish_concat(id);
    else if (node.kind == Kind::kRepeat)
        out = finish_repeat(node);
    else if (node.kind == Kind::kOr)
        out = finish_alternation(node);
    else if (!is_empty(id))
        out = finish_conjunction(node);
    return finish_[id] = out;
}

Kernel::Finish Kernel::finish_concat(NodeId id) {
    constexpr size_t kMilestone = 64;
    std::vector<NodeId> chain;  // a literal is one long one
    NodeId last = id;
    for (; nodes_[last].kind == Kind::kConcat && !finish_.contains(last); last = nodes_[last].b) chain.push_back(last);
    Finish out = finish(last);
    for (size_t k = chain.size(); k-- > 0;) {
        const Finish head = finish(nodes_[chain[k]].a);
        out = {clamp(uint64_t{head.shortest} + out.shortest),
               std::max(out.most, clamp(uint64_t{head.most} + out.shortest)),
               clamp(uint64_t{head.longest} + out.longest), head.exact && out.exact};
        if (k % kMilestone == 0)
            finish_[chain[k]] = out;  // a reader of the chain asks at each step: not from end to end
    }
    return out;
}

Kernel::Finish Kernel::finish_repeat(const Node& node) {
    const Finish inner = finish(node.a);
    const uint64_t again = uint64_t{inner.shortest} * (node.b ? node.b - 1 : 0);
    const bool endless = inner.longest && (node.c == kUnbounded || inner.longest == kUnbounded);
    return {clamp(uint64_t{inner.shortest} * node.b), clamp(inner.most + again),
            endless ? kUnbounded : clamp(uint64_t{inner.longest} * node.c), inner.exact};
}

Kernel::Finish Kernel::finish_alternation(const Node& node) {
    Finish out{kUnbounded, 0, 0, true};
    for (NodeId kid : kids_of(node)) {
        const Finish part = finish(kid);
        out = {std::min(out.shortest, part.shortest), std::max(out.most, part.most),
               std::max(out.longest, part.longest), out.exact && part.exact};
    }
    return out;
}

// Of several languages the shortest one bounds every word. One language alone can be combined with `at_least` of any
// characters: a prefix goes on to that length, and from there to a word of the one. If the shortest word of the one is
// at least that long, it is the shortest of both.
Kernel::Finish Kernel::finish_conjunction(const Node& node) {
    size_t others = 0;
    uint64_t at_least = 0;
    Finish one{0, 0, kUnbounded, false}, out{kUnbounded, 0, kUnbounded, true};
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
    return out;
}

}  // namespace schemagen
