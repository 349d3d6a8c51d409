#include "regex/nodes.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_set>

#include "regex/merging.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"

namespace schemagen {

namespace {

void make_set(std::vector<NodeId>& nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

// The bytes that differ from the one before them.
template <class Differs>
ByteCuts cuts_where(unsigned first, unsigned last, const Differs& differs) {
    ByteCuts out{};
    for (unsigned byte = first; byte <= last; ++byte)
        if (differs(byte)) out[byte >> 6] |= 1ull << (byte & 63);
    return out;
}

const Ranges kScalarValues = {{0, 0xD7FF}, {0xE000, kMaxCodePoint}};

}  // namespace

Nodes::Nodes() {
    nodes_.push_back({.kind = Kind::kEmpty, .emptiness = 1});
    nodes_.push_back({.kind = Kind::kEpsilon, .nullable = true, .emptiness = 0});
    anything_ = intern({.kind = Kind::kNot, .nullable = true, .boolean = true, .emptiness = 0, .a = kEmpty});
    std::fill(std::begin(any_), std::end(any_), UINT32_MAX);
    for (int k = 0; k < 4; ++k) any_[k] = repeat(chars(static_cast<Encoding>(k), {{0, kMaxCodePoint}}), 0, kUnbounded);
}

NodeId Nodes::intern(Node node, const std::vector<NodeId>& kids) {
    for (size_t parts = 0; parts <= kids.size(); parts += 64) poll();
    uint64_t hash = mix(static_cast<uint64_t>(node.kind) * 31 + static_cast<uint64_t>(node.phase), node.a);
    hash = mix(mix(hash, node.b), node.c);
    for (NodeId kid : kids) hash = mix(hash, kid);
    uint32_t known = index_.find(hash, [&](uint32_t k) {
        const Node& other = nodes_[k];
        return other.kind == node.kind && other.phase == node.phase && other.a == node.a && other.b == node.b &&
               other.c == node.c && other.kid_count == kids.size() &&
               std::equal(kids.begin(), kids.end(), kid_pool_.begin() + other.kids);
    });
    if (known != HashIndex::kNone) return known;
    before_write();
    if (budget_) budget_->add_node(kids.size());
    constexpr size_t kMany = 1 << 16;  // moving them all takes some milliseconds
    const bool is_full =
        index_.is_full() || nodes_.size() == nodes_.capacity() || kid_pool_.size() + kids.size() > kid_pool_.capacity();
    if (is_full && nodes_.size() >= kMany) Work::release();
    node.kids = static_cast<uint32_t>(kid_pool_.size());
    node.kid_count = static_cast<uint32_t>(kids.size());
    kid_pool_.insert(kid_pool_.end(), kids.begin(), kids.end());
    NodeId id = static_cast<NodeId>(nodes_.size());
    if (!node.boolean) node.emptiness = 0;
    nodes_.push_back(node);
    index_.insert(hash, id);
    return id;
}

size_t Nodes::memory_bytes() const {
    return nodes_.capacity() * sizeof(Node) + kid_pool_.capacity() * sizeof(NodeId) + index_.memory_bytes() +
           ranges_.memory_bytes() + byte_sets_.capacity() * sizeof(byte_sets_[0]) + cuts_.size() * sizeof(ByteCuts) +
           rows_.size() * sizeof(CharsRow) + substring_bytes() +
           wide_derivatives_.size() * heap_node(sizeof(*wide_derivatives_.begin()));
}

std::vector<NodeId> Nodes::kids_of(const Node& node) const {
    return {kid_pool_.begin() + node.kids, kid_pool_.begin() + node.kids + node.kid_count};
}

// ---- constructors -------------------------------------------------------------------------------------------------

NodeId Nodes::chars_node(Phase phase, Ranges ranges, uint32_t a, uint32_t b) {
    if (ranges.empty()) return kEmpty;
    RangesId id = ranges_.find(ranges);
    if (id == HashIndex::kNone) before_write(), id = ranges_.add(std::move(ranges));
    return intern({.kind = Kind::kChars, .phase = phase, .a = a, .b = b, .c = id});
}

NodeId Nodes::chars(Encoding encoding, Ranges ranges) {
    ranges = normalise(std::move(ranges));
    if (encoding == Encoding::kText) return chars_node(Phase::kStartUtf8, std::move(ranges));
    Phase phase = static_cast<Phase>(static_cast<uint8_t>(Phase::kStartUtf8) + static_cast<uint8_t>(encoding));
    return chars_node(phase, intersect(ranges, kScalarValues));  // a lone surrogate has no UTF-8 form
}

NodeId Nodes::any_string(Encoding encoding) { return any_[static_cast<uint8_t>(encoding)]; }

NodeId Nodes::byte_set(const std::array<uint64_t, 4>& set) {
    if (!(set[0] | set[1] | set[2] | set[3])) return kEmpty;
    auto it = std::find(byte_sets_.begin(), byte_sets_.end(), set);
    uint32_t id = static_cast<uint32_t>(it - byte_sets_.begin());
    if (it == byte_sets_.end()) before_write(), byte_sets_.push_back(set);
    return intern({.kind = Kind::kBytes, .a = id});
}

NodeId Nodes::concat(NodeId left, NodeId right) {
    if (left == kEmpty || right == kEmpty) return kEmpty;
    if (left == kEpsilon) return right;
    if (right == kEpsilon) return left;
    if (nodes_[left].kind == Kind::kConcat) {
        NodeId first = nodes_[left].a, second = nodes_[left].b;
        return concat(first, concat(second, right));
    }
    if (left == right && is_any_string(left)) return left;
    if (const NodeId joined = joined_counts(left, right)) return joined;
    bool nullable = nodes_[left].nullable && nodes_[right].nullable;
    bool boolean = nodes_[left].boolean || nodes_[right].boolean;
    return intern({.kind = Kind::kConcat, .nullable = nullable, .boolean = boolean, .a = left, .b = right});
}

// r{i,j}.r{k,l}.x as r{i+k,j+l}.x; kEmpty if it is not of this form.
NodeId Nodes::joined_counts(NodeId left, NodeId right) {
    const bool alone = nodes_[right].kind != Kind::kConcat;
    const Node one = nodes_[left], other = nodes_[alone ? right : nodes_[right].a];
    if (one.kind != Kind::kRepeat || other.kind != Kind::kRepeat || one.a != other.a) return kEmpty;
    const auto sum = [](uint32_t a, uint32_t b) { return a == kUnbounded || b == kUnbounded ? kUnbounded : a + b; };
    constexpr uint32_t kMost = kUnbounded / 4;
    if (std::max({one.b, other.b, one.c == kUnbounded ? 0 : one.c, other.c == kUnbounded ? 0 : other.c}) > kMost)
        return kEmpty;
    return concat(repeat(one.a, one.b + other.b, sum(one.c, other.c)), alone ? kEpsilon : nodes_[right].b);
}

NodeId Nodes::repeat(NodeId inner, uint32_t low, uint32_t high) {
    if (high == 0 || inner == kEpsilon) return kEpsilon;
    if (inner == kEmpty) return low == 0 ? kEpsilon : kEmpty;
    if (low == 1 && high == 1) return inner;
    if (nodes_[inner].nullable) low = 0;
    if (nodes_[inner].kind == Kind::kRepeat && low <= 1 && high == kUnbounded && nodes_[inner].b <= 1 &&
        nodes_[inner].c == kUnbounded) {
        NodeId core = nodes_[inner].a;  // (r*)* and its like
        return repeat(core, low == 0 || nodes_[inner].b == 0 ? 0 : 1, kUnbounded);
    }
    bool nullable = low == 0, boolean = nodes_[inner].boolean;
    return intern({.kind = Kind::kRepeat, .nullable = nullable, .boolean = boolean, .a = inner, .b = low, .c = high});
}

NodeId Nodes::complement(NodeId inner) {
    if (nodes_[inner].kind == Kind::kNot) return nodes_[inner].a;
    bool nullable = !nodes_[inner].nullable;
    return intern({.kind = Kind::kNot, .nullable = nullable, .boolean = true, .a = inner});
}

NodeId Nodes::alternation(const std::vector<NodeId>& parts) {
    std::vector<NodeId> flat;
    flat.reserve(parts.size());
    for (NodeId part : parts) {
        if (part == kEmpty) continue;
        if (part == anything_ || is_any_string(part))
            return part;  // all alternatives are in one encoding, hence inside it
        if (nodes_[part].kind == Kind::kOr) {
            auto kids = kids_of(nodes_[part]);
            flat.insert(flat.end(), kids.begin(), kids.end());
        } else {
            flat.push_back(part);
        }
    }
    make_set(flat);
    if (flat.size() > 1) Merger(*this).merge_heads(flat);
    make_set(flat);
    bool nullable = false, boolean = false;
    for (NodeId part : flat) {
        nullable |= part != kEpsilon && nodes_[part].nullable;
        boolean |= nodes_[part].boolean;
    }
    if (nullable) flat.erase(std::remove(flat.begin(), flat.end(), kEpsilon), flat.end());
    if (flat.empty()) return kEmpty;
    if (flat.size() == 1) return flat[0];
    nullable |= flat[0] == kEpsilon;
    return intern({.kind = Kind::kOr, .nullable = nullable, .boolean = boolean}, flat);
}

NodeId Nodes::conjunction(const std::vector<NodeId>& parts) {
    std::vector<NodeId> flat;
    flat.reserve(parts.size());
    for (NodeId part : parts) {
        if (part == kEmpty) return kEmpty;
        if (part == anything_) continue;
        if (nodes_[part].kind == Kind::kAnd) {
            auto kids = kids_of(nodes_[part]);
            flat.insert(flat.end(), kids.begin(), kids.end());
        } else {
            flat.push_back(part);
        }
    }
    make_set(flat);
    // Any string is neutral beside a language of the same encoding, but bounds a complement.
    bool positive = std::any_of(flat.begin(), flat.end(),
                                [this](NodeId p) { return nodes_[p].kind != Kind::kNot && !is_any_string(p); });
    if (positive)
        flat.erase(std::remove_if(flat.begin(), flat.end(), [this](NodeId p) { return is_any_string(p); }), flat.end());
    bool nullable = true;
    for (size_t i = 0; i < flat.size(); ++i) {
        const Node node = nodes_[flat[i]];
        nullable = nullable && node.nullable;
        if (node.kind == Kind::kNot &&
            ((positive && is_any_string(node.a)) || std::binary_search(flat.begin(), flat.end(), node.a)))
            return kEmpty;
    }
    if (std::binary_search(flat.begin(), flat.end(), kEpsilon)) return nullable ? kEpsilon : kEmpty;
    if (Merger(*this).intersect_pair(flat)) return conjunction(flat);
    if (flat.empty()) return anything_;
    if (flat.size() == 1) return flat[0];
    return intern({.kind = Kind::kAnd, .nullable = nullable, .boolean = true}, flat);
}

// A prefix tree, written as nested alternatives; hash-consing shares equal suffixes, so it is close to a minimal DAWG.
NodeId Nodes::literals(std::vector<std::string> texts) {
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    size_t longest = 0;
    for (const auto& text : texts) longest = std::max(longest, text.size());
    if (longest > 4096) throw LimitExceeded(Limit::kLiteralBytes, longest, 4096);
    std::function<NodeId(size_t, size_t, size_t)> build = [&](size_t begin, size_t end, size_t depth) -> NodeId {
        // Long unshared tails are spelled without recursion.
        if (end - begin == 1) {
            NodeId tail = kEpsilon;
            for (size_t k = texts[begin].size(); k > depth; --k)
                tail = concat(byte_set(one_byte(static_cast<uint8_t>(texts[begin][k - 1]))), tail);
            return tail;
        }
        std::vector<NodeId> parts;
        size_t i = begin;
        if (i < end && texts[i].size() == depth) {
            parts.push_back(kEpsilon);
            ++i;
        }
        while (i < end) {
            uint8_t byte = static_cast<uint8_t>(texts[i][depth]);
            size_t j = i;
            while (j < end && static_cast<uint8_t>(texts[j][depth]) == byte) ++j;
            parts.push_back(concat(byte_set(one_byte(byte)), build(i, j, depth + 1)));
            i = j;
        }
        return alternation(parts);
    };
    return texts.empty() ? kEmpty : build(0, texts.size(), 0);
}

// ---- numbers ------------------------------------------------------------------------------------------------------

NodeId Nodes::number(const NumberRule& rule) {
    before_write();
    return number_node({.rule = numbers_.rule(rule)});
}

NodeId Nodes::without_idle_exponents(NodeId id) {
    const Node node = nodes_[id];
    if (node.kind == Kind::kNumber) {
        before_write();
        return numbers_[node.a].phase < NumberPhase::kExponent ? number_node(numbers_.without_idle_exponents(node.a))
                                                               : id;
    }
    if (node.kind != Kind::kOr && node.kind != Kind::kAnd) return id;
    std::vector<NodeId> parts = kids_of(node);
    for (NodeId& part : parts) part = without_idle_exponents(part);
    return node.kind == Kind::kOr ? alternation(parts) : conjunction(parts);
}

// States that nothing completes are the empty language, so that a node is live.
NodeId Nodes::number_node(const NumberState& state) {
    uint32_t id = numbers_.find(state);
    if (id == Numbers::kNone) {
        if (!numbers_.live(state)) return kEmpty;
        before_write();
        id = numbers_.intern(state);
    }
    return intern({.kind = Kind::kNumber, .nullable = numbers_.accepts(state), .a = id});
}

// ---- substrings ---------------------------------------------------------------------------------------------------

NodeId Nodes::substring(std::shared_ptr<const SubstringTable> table) {
    return table->empty() ? kEmpty : substring_node(known_table(std::move(table)), SubstringTable::kStart);
}

uint32_t Nodes::known_table(std::shared_ptr<const SubstringTable> table) {
    const auto it = std::find(substrings_.begin(), substrings_.end(), table);
    const auto id = static_cast<uint32_t>(it - substrings_.begin());
    if (it == substrings_.end()) before_write(), substrings_.push_back(std::move(table));
    return id;
}

NodeId Nodes::substring_node(uint32_t table, SubstringTable::State state) {
    return intern({.kind = Kind::kSubstring, .nullable = substrings_[table]->whole(state), .a = table, .b = state});
}

std::optional<Nodes::SubstringPlace> Nodes::substring_place(NodeId id) const {
    const bool alone = nodes_[id].kind != Kind::kConcat;
    const Node& head = nodes_[alone ? id : nodes_[id].a];
    if (head.kind != Kind::kSubstring) return std::nullopt;
    return SubstringPlace{head.a, head.b, alone ? kEpsilon : nodes_[id].b};
}

NodeId Nodes::at_substring(const SubstringPlace& place) {
    return concat(substring_node(place.table, place.state), place.rest);
}

size_t Nodes::substring_bytes() const {
    size_t bytes = 0;
    for (const auto& table : substrings_) bytes += table->memory_bytes();
    return bytes;
}

// Whether the node begins with characters none of which goes on like this, as in most unions of many words.
bool Nodes::is_other_character(NodeId id, uint8_t byte) {
    const NodeId head = nodes_[id].kind == Kind::kConcat ? nodes_[id].a : id;
    return nodes_[head].kind == Kind::kChars && chars_row(head)[byte] == kEmpty;
}

NodeId Nodes::union_derivative(const Node& node, uint8_t byte) {
    std::vector<NodeId> parts;
    for (uint32_t k = 0; k < node.kid_count; ++k)
        if (const NodeId kid = kid_pool_[node.kids + k]; !is_other_character(kid, byte))
            if (const NodeId part = derivative(kid, byte)) parts.push_back(part);
    return parts.empty() ? kEmpty : alternation(parts);
}

// Remembered: a union of many parts that is repeated is asked again from each state that may begin it anew.
NodeId Nodes::wide_derivative(NodeId id, uint8_t byte) {
    const uint64_t key = uint64_t{id} << 8 | byte;
    if (const auto known = wide_derivatives_.find(key); known != wide_derivatives_.end()) return known->second;
    before_write();
    const Node node = nodes_[id];
    return wide_derivatives_[key] = union_derivative(node, byte);
}

NodeId Nodes::derivative(NodeId id, uint8_t byte) {
    const Node node = nodes_[id];
    switch (node.kind) {
        case Kind::kEmpty:
        case Kind::kEpsilon: return kEmpty;
        case Kind::kBytes: return byte_sets_[node.a][byte >> 6] >> (byte & 63) & 1 ? kEpsilon : kEmpty;
        case Kind::kChars: return chars_row(id)[byte];
        case Kind::kNumber: {
            const auto next = numbers_.step(numbers_[node.a], byte);
            return next ? number_node(*next) : kEmpty;
        }
        case Kind::kSubstring: {
            const SubstringTable::State next = table_of(node).next(node.b, byte);
            return next ? substring_node(node.a, next) : kEmpty;
        }
        case Kind::kConcat: {  // any number of parts in a row may be empty: without recursion over them
            if (!nodes_[node.a].nullable) {
                const NodeId first = derivative(node.a, byte);
                return first == kEmpty ? kEmpty : concat(first, node.b);
            }
            std::vector<NodeId> ways;
            NodeId at = id;
            for (bool is_passed = true; is_passed && nodes_[at].kind == Kind::kConcat;
                 at = is_passed ? nodes_[at].b : at) {
                const NodeId part = nodes_[at].a, rest = nodes_[at].b;
                if (const NodeId first = derivative(part, byte); first != kEmpty) ways.push_back(concat(first, rest));
                is_passed = nodes_[part].nullable;
            }
            if (nodes_[at].kind != Kind::kConcat) ways.push_back(derivative(at, byte));
            return ways.size() == 1 ? ways[0] : alternation(ways);
        }
        case Kind::kRepeat: {
            NodeId first = derivative(node.a, byte);
            if (first == kEmpty) return kEmpty;
            return concat(first,
                          repeat(node.a, node.b ? node.b - 1 : 0, node.c == kUnbounded ? kUnbounded : node.c - 1));
        }
        case Kind::kNot: return complement(derivative(node.a, byte));
        case Kind::kOr: return node.kid_count < kWide ? union_derivative(node, byte) : wide_derivative(id, byte);
        case Kind::kAnd: {
            std::vector<NodeId> parts = kids_of(node);
            for (NodeId& part : parts) part = derivative(part, byte);
            return conjunction(parts);
        }
    }
    return kEmpty;
}

// Bytes between two cuts have the same derivative (Owens et al. §4.2, over-approximated by intervals).
ByteCuts Nodes::compute_cuts(NodeId id) {
    const Node node = nodes_[id];
    ByteCuts out{};
    switch (node.kind) {
        case Kind::kEmpty:
        case Kind::kEpsilon: break;
        case Kind::kBytes: {
            const auto& set = byte_sets_[node.a];
            auto has = [&](unsigned byte) { return set[byte >> 6] >> (byte & 63) & 1; };
            return cuts_where(1, 255, [&](unsigned byte) { return has(byte) != has(byte - 1); });
        }
        case Kind::kChars: {
            const CharsRow& row = chars_row(id);
            return cuts_where(1, 255, [&](unsigned byte) { return row[byte] != row[byte - 1]; });
        }
        case Kind::kNumber:
            return cuts_where('+', 'f', [&](unsigned byte) {
                return numbers_.differs(numbers_[node.a], static_cast<uint8_t>(byte));
            });
        case Kind::kSubstring: {
            const ByteSet next = table_of(node).next_bytes(node.b);
            auto has = [&](unsigned byte) { return next.has(static_cast<uint8_t>(byte)); };
            return cuts_where(1, 255, [&](unsigned byte) { return has(byte) || has(byte - 1); });
        }
        case Kind::kConcat: {
            NodeId at = id;
            for (; nodes_[at].kind == Kind::kConcat; at = nodes_[at].b) {
                add_cuts(nodes_[at].a, out);
                if (!nodes_[nodes_[at].a].nullable) return out;
            }
            add_cuts(at, out);
            break;
        }
        case Kind::kRepeat:
        case Kind::kNot: add_cuts(node.a, out); break;
        case Kind::kOr:
        case Kind::kAnd:
            for (NodeId kid : kids_of(node)) add_cuts(kid, out);
    }
    return out;
}

uint32_t Nodes::cuts_id(NodeId id) {
    if (nodes_[id].cuts != kNotKnown) return nodes_[id].cuts;
    before_write();
    const ByteCuts made = compute_cuts(id);
    const uint64_t hash = mix(mix(mix(mix(1, made[0]), made[1]), made[2]), made[3]);
    uint32_t known = cuts_index_.find(hash, [&](uint32_t k) { return cuts_[k] == made; });
    if (known == HashIndex::kNone) {
        known = static_cast<uint32_t>(cuts_.size());
        cuts_.push_back(made);
        cuts_index_.insert(hash, known);
    }
    return nodes_[id].cuts = known;
}

}  // namespace schemagen
