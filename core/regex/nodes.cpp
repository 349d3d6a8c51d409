#include "regex/nodes.hpp"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "util/hash.hpp"

namespace schemagen {

namespace {

// The members of `ranges` in [low, high], minus `base`.
Ranges clip(const Ranges& ranges, uint32_t low, uint32_t high, uint32_t base) {
    Ranges out;
    auto it =
        std::lower_bound(ranges.begin(), ranges.end(), low, [](const auto& r, uint32_t v) { return r.second < v; });
    for (; it != ranges.end() && it->first <= high; ++it)
        out.emplace_back(std::max(it->first, low) - base, std::min(it->second, high) - base);
    return out;
}

bool contains(const Ranges& ranges, uint32_t value) {
    auto it =
        std::lower_bound(ranges.begin(), ranges.end(), value, [](const auto& r, uint32_t v) { return r.second < v; });
    return it != ranges.end() && it->first <= value;
}

void make_set(std::vector<NodeId>& nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

Ranges normalise(Ranges ranges) {
    std::sort(ranges.begin(), ranges.end());
    Ranges out;
    for (auto [low, high] : ranges) {
        if (!out.empty() && (low <= out.back().second || low == out.back().second + 1))
            out.back().second = std::max(out.back().second, high);
        else
            out.emplace_back(low, high);
    }
    return out;
}

Ranges unite(const Ranges& left, const Ranges& right) {
    Ranges all(left);
    all.insert(all.end(), right.begin(), right.end());
    return normalise(std::move(all));
}

Ranges intersect(const Ranges& left, const Ranges& right) {
    Ranges out;
    size_t i = 0, j = 0;
    while (i < left.size() && j < right.size()) {
        uint32_t low = std::max(left[i].first, right[j].first), high = std::min(left[i].second, right[j].second);
        if (low <= high) out.emplace_back(low, high);
        (left[i].second < right[j].second ? i : j)++;
    }
    return out;
}

int hex_value(uint8_t byte, bool upper_too) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (upper_too && byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

int short_escape(uint8_t byte) {
    switch (byte) {
        case '"': return '"';
        case '\\': return '\\';
        case 'b': return 8;
        case 'f': return 12;
        case 'n': return 10;
        case 'r': return 13;
        case 't': return 9;
        default: return -1;
    }
}

const Ranges kScalarValues = {{0, 0xD7FF}, {0xE000, kMaxCodePoint}};
// Control characters that json.dumps writes as \u00xx: those without a short escape.
const Ranges kLongEscapes = {{0x00, 0x07}, {0x0B, 0x0B}, {0x0E, 0x1F}};
const Ranges kCanonicalEscapes = {{0x00, 0x1F}, {'"', '"'}, {'\\', '\\'}};

}  // namespace

Nodes::Nodes() {
    nodes_.push_back({.kind = Kind::kEmpty, .emptiness = 1});
    nodes_.push_back({.kind = Kind::kEpsilon, .nullable = true, .emptiness = 0});
    anything_ = intern({.kind = Kind::kNot, .nullable = true, .boolean = true, .emptiness = 0, .a = kEmpty});
    any_[0] = any_[1] = any_[2] = UINT32_MAX;
    for (int k = 0; k < 3; ++k) any_[k] = repeat(chars(static_cast<Encoding>(k), {{0, kMaxCodePoint}}), 0, kUnbounded);
}

NodeId Nodes::intern(Node node, const std::vector<NodeId>& kids) {
    poll();
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
    if (budget_) budget_->add_node();
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

RangesId Nodes::intern_ranges(Ranges ranges) {
    uint64_t hash = 7;
    for (auto [low, high] : ranges) hash = mix(mix(hash, low), high);
    uint32_t known = ranges_index_.find(hash, [&](uint32_t k) { return ranges_[k] == ranges; });
    if (known != HashIndex::kNone) return known;
    before_write();
    RangesId id = static_cast<RangesId>(ranges_.size());
    ranges_.push_back(std::move(ranges));
    ranges_index_.insert(hash, id);
    return id;
}

size_t Nodes::memory_bytes() const {
    constexpr size_t kOfRanges = 96;  // ranges of characters, which are short
    return nodes_.capacity() * sizeof(Node) + kid_pool_.capacity() * sizeof(NodeId) + index_.memory_bytes() +
           ranges_.size() * kOfRanges + ranges_index_.memory_bytes() + byte_sets_.capacity() * sizeof(byte_sets_[0]) +
           cuts_.size() * sizeof(ByteCuts) + rows_.size() * sizeof(CharsRow);
}

std::vector<NodeId> Nodes::kids_of(const Node& node) const {
    return {kid_pool_.begin() + node.kids, kid_pool_.begin() + node.kids + node.kid_count};
}

// ---- constructors -------------------------------------------------------------------------------------------------

NodeId Nodes::chars_node(Phase phase, Ranges ranges, uint32_t a, uint32_t b) {
    if (ranges.empty()) return kEmpty;
    RangesId id = intern_ranges(std::move(ranges));
    return intern({.kind = Kind::kChars, .phase = phase, .a = a, .b = b, .c = id});
}

NodeId Nodes::chars(Encoding encoding, Ranges ranges) {
    Phase phase = static_cast<Phase>(static_cast<uint8_t>(Phase::kStartUtf8) + static_cast<uint8_t>(encoding));
    return chars_node(phase,
                      intersect(normalise(std::move(ranges)), kScalarValues));  // a lone surrogate has no UTF-8 form
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
    bool nullable = nodes_[left].nullable && nodes_[right].nullable;
    bool boolean = nodes_[left].boolean || nodes_[right].boolean;
    return intern({.kind = Kind::kConcat, .nullable = nullable, .boolean = boolean, .a = left, .b = right});
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

// Two alternatives that are one: sets of characters at the same point of their spelling, or counted repetitions whose
// intervals touch.
bool Nodes::merge_pair(NodeId left, NodeId right, NodeId& merged) {
    const Node l = nodes_[left], r = nodes_[right];
    if (l.kind != r.kind) return false;
    if (l.kind == Kind::kChars && l.phase == r.phase && l.a == r.a && l.b == r.b) {
        merged = chars_node(l.phase, unite(ranges_[l.c], ranges_[r.c]), l.a, l.b);
        return true;
    }
    if (l.kind == Kind::kBytes) {
        auto set = byte_sets_[l.a];
        for (int k = 0; k < 4; ++k) set[k] |= byte_sets_[r.a][k];
        merged = byte_set(set);
        return true;
    }
    if (l.kind == Kind::kRepeat && l.a == r.a) {
        const Node& low = l.b <= r.b ? l : r;
        const Node& high = l.b <= r.b ? r : l;
        if (low.c != kUnbounded && high.b > low.c && high.b - low.c > 1) return false;
        merged = repeat(l.a, low.b, std::max(low.c, high.c));
        return true;
    }
    return false;
}

// Merge alternatives a.x | b.x into (a|b).x where a and b merge; keeps the sets of derivatives small.
void Nodes::merge_heads(std::vector<NodeId>& parts) {
    auto split = [this](NodeId part) {
        const Node& node = nodes_[part];
        return node.kind == Kind::kConcat ? std::pair{node.a, node.b} : std::pair{part, kEpsilon};
    };
    for (bool again = parts.size() <= 64; again;) {
        again = false;
        for (size_t i = 0; i < parts.size() && !again; ++i) {
            auto [head, tail] = split(parts[i]);
            for (size_t j = i + 1; j < parts.size(); ++j) {
                auto [other, other_tail] = split(parts[j]);
                NodeId merged;
                if (tail != other_tail || !merge_pair(head, other, merged)) continue;
                parts[i] = concat(merged, tail);
                parts.erase(parts.begin() + static_cast<ptrdiff_t>(j));
                again = true;
                break;
            }
        }
    }
}

NodeId Nodes::alternation(std::vector<NodeId> parts) {
    std::vector<NodeId> flat;
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
    if (flat.size() > 1) merge_heads(flat);
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

NodeId Nodes::conjunction(std::vector<NodeId> parts) {
    std::vector<NodeId> flat;
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
    // Sets of characters at the same point of their spelling intersect at once.
    for (size_t i = 0; i + 1 < flat.size(); ++i) {
        const Node l = nodes_[flat[i]];
        if (l.kind != Kind::kChars) continue;
        for (size_t j = i + 1; j < flat.size(); ++j) {
            const Node r = nodes_[flat[j]];
            if (r.kind != Kind::kChars || r.phase != l.phase || r.a != l.a || r.b != l.b) continue;
            std::vector<NodeId> rest(flat);
            rest[i] = chars_node(l.phase, intersect(ranges_[l.c], ranges_[r.c]), l.a, l.b);
            rest.erase(rest.begin() + static_cast<ptrdiff_t>(j));
            return conjunction(std::move(rest));
        }
    }
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
    if (longest > 4096) throw LimitExceeded("max_literal_bytes", longest, 4096);
    std::function<NodeId(size_t, size_t, size_t)> build = [&](size_t begin, size_t end, size_t depth) -> NodeId {
        // Long unshared tails are spelled without recursion.
        if (end - begin == 1) {
            NodeId tail = kEpsilon;
            for (size_t k = texts[begin].size(); k > depth; --k) {
                std::array<uint64_t, 4> set{};
                uint8_t byte = static_cast<uint8_t>(texts[begin][k - 1]);
                set[byte >> 6] |= 1ull << (byte & 63);
                tail = concat(byte_set(set), tail);
            }
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
            std::array<uint64_t, 4> set{};
            set[byte >> 6] |= 1ull << (byte & 63);
            parts.push_back(concat(byte_set(set), build(i, j, depth + 1)));
            i = j;
        }
        return alternation(std::move(parts));
    };
    return texts.empty() ? kEmpty : build(0, texts.size(), 0);
}

// ---- derivatives of characters ------------------------------------------------------------------------------------

NodeId Nodes::start_derivative(const Ranges& ranges, uint8_t byte, Phase phase) {
    bool json = phase != Phase::kStartUtf8;
    if (byte < 0x80) {
        if (json && byte == '\\') {
            if (phase == Phase::kStartCanonical)
                return chars_node(Phase::kEscapeCanonical, intersect(ranges, kCanonicalEscapes));
            return chars_node(Phase::kEscapeJson, ranges);
        }
        if (json && (byte < 0x20 || byte == '"')) return kEmpty;
        return contains(ranges, byte) ? kEpsilon : kEmpty;
    }
    // A lead byte fixes the leading bits; clipping to the range of its length rules out overlong forms.
    if (byte >= 0xC2 && byte <= 0xDF)
        return chars_node(Phase::kTail,
                          clip(ranges, (byte & 0x1Fu) << 6, ((byte & 0x1Fu) << 6) + 0x3F, (byte & 0x1Fu) << 6), 1);
    if (byte >= 0xE0 && byte <= 0xEF) {
        uint32_t base = (byte & 0x0Fu) << 12;
        return chars_node(Phase::kTail, clip(ranges, std::max(base, 0x800u), base + 0xFFF, base), 2);
    }
    if (byte >= 0xF0 && byte <= 0xF4) {
        uint32_t base = (byte & 0x07u) << 18;
        return chars_node(Phase::kTail, clip(ranges, std::max(base, 0x10000u), base + 0x3FFFF, base), 3);
    }
    return kEmpty;
}

NodeId Nodes::escape_derivative(const Ranges& ranges, uint8_t byte, bool canonical) {
    if (byte == 'u') {
        if (!canonical) return chars_node(Phase::kHexAbsolute, ranges, 4, 0);
        std::array<uint64_t, 4> zero{};
        zero['0' >> 6] |= 1ull << ('0' & 63);
        NodeId digits = chars_node(Phase::kHexLower, intersect(ranges, kLongEscapes), 2);
        return concat(byte_set(zero), concat(byte_set(zero), digits));
    }
    int value = !canonical && byte == '/' ? '/' : short_escape(byte);
    return value >= 0 && contains(ranges, static_cast<uint32_t>(value)) ? kEpsilon : kEmpty;
}

NodeId Nodes::hex_absolute_derivative(const Node& node, const Ranges& ranges, uint8_t byte) {
    int digit = hex_value(byte, true);
    if (digit < 0) return kEmpty;
    uint32_t read = node.b * 16 + static_cast<uint32_t>(digit), left = node.a - 1, shift = 4 * left;
    uint32_t low = read << shift, high = low + (1u << shift) - 1;
    bool surrogates = low <= 0xDFFF && high >= 0xD800;
    if (!surrogates) {
        Ranges rest = clip(ranges, low, high, low);
        if (left == 0) return rest.empty() ? kEmpty : kEpsilon;
        return chars_node(Phase::kHex, std::move(rest), left);
    }
    if (left > 0) {
        // Of what lies beyond the BMP, the pairs whose high surrogate starts like this are left.
        uint32_t first = std::max(low, 0xD800u), last = std::min(high, 0xDBFFu);
        Ranges rest = clip(ranges, low, high, 0), astral;
        if (first <= last)
            astral = clip(ranges, 0x10000 + (first - 0xD800) * 0x400, 0x10000 + (last - 0xD800) * 0x400 + 0x3FF, 0);
        return chars_node(Phase::kHexAbsolute, unite(rest, astral), left, read);
    }
    if (read > 0xDBFF) return kEmpty;  // a low surrogate cannot come first
    uint32_t base = 0x10000 + (read - 0xD800) * 0x400;
    return chars_node(Phase::kLowBackslash, clip(ranges, base, base + 0x3FF, base));
}

NodeId Nodes::chars_derivative(const Node& node, const Ranges& ranges, uint8_t byte) {
    switch (node.phase) {
        case Phase::kStartUtf8:
        case Phase::kStartJson:
        case Phase::kStartCanonical: return start_derivative(ranges, byte, node.phase);
        case Phase::kEscapeJson: return escape_derivative(ranges, byte, false);
        case Phase::kEscapeCanonical: return escape_derivative(ranges, byte, true);
        case Phase::kHexAbsolute: return hex_absolute_derivative(node, ranges, byte);
        case Phase::kTail: {
            if (byte < 0x80 || byte > 0xBF) return kEmpty;
            uint32_t shift = 6 * (node.a - 1), low = (byte & 0x3Fu) << shift;
            if (shift == 0) return contains(ranges, low) ? kEpsilon : kEmpty;
            return chars_node(Phase::kTail, clip(ranges, low, low + (1u << shift) - 1, low), node.a - 1);
        }
        case Phase::kHex:
        case Phase::kHexLower: {
            int digit = hex_value(byte, node.phase == Phase::kHex);
            if (digit < 0) return kEmpty;
            uint32_t shift = 4 * (node.a - 1), low = static_cast<uint32_t>(digit) << shift;
            if (shift == 0) return contains(ranges, low) ? kEpsilon : kEmpty;
            return chars_node(node.phase, clip(ranges, low, low + (1u << shift) - 1, low), node.a - 1);
        }
        case Phase::kLowBackslash: return byte == '\\' ? chars_node(Phase::kLowU, ranges) : kEmpty;
        case Phase::kLowU: return byte == 'u' ? chars_node(Phase::kLowD, ranges) : kEmpty;
        case Phase::kLowD: return byte == 'd' || byte == 'D' ? chars_node(Phase::kLowNibble, ranges) : kEmpty;
        case Phase::kLowNibble: {
            int digit = hex_value(byte, true);
            if (digit < 0xC) return kEmpty;
            uint32_t low = static_cast<uint32_t>(digit - 0xC) << 8;
            return chars_node(Phase::kHex, clip(ranges, low, low + 0xFF, low), 2);
        }
    }
    return kEmpty;
}

// ---- numbers ------------------------------------------------------------------------------------------------------

NodeId Nodes::number(const NumberRule& rule) {
    before_write();
    return number_node({.rule = numbers_.rule(rule)});
}

NodeId Nodes::without_exponents(NodeId id) {
    const Node node = nodes_[id];
    if (node.kind == Kind::kNumber) {
        before_write();
        return numbers_[node.a].phase < NumberPhase::kExponent ? number_node(numbers_.without_exponents(node.a)) : id;
    }
    if (node.kind != Kind::kOr && node.kind != Kind::kAnd) return id;
    std::vector<NodeId> parts = kids_of(node);
    for (NodeId& part : parts) part = without_exponents(part);
    return node.kind == Kind::kOr ? alternation(std::move(parts)) : conjunction(std::move(parts));
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

const CharsRow& Nodes::chars_row(NodeId id) {
    if (nodes_[id].row != kNotKnown) return rows_[nodes_[id].row];
    before_write();
    const Node node = nodes_[id];
    const Ranges& ranges = ranges_[node.c];  // a deque: stays put while the rows below intern more
    CharsRow row;
    row.fill(kEmpty);
    auto fill = [&](unsigned low, unsigned high) {
        for (unsigned byte = low; byte <= high; ++byte)
            row[byte] = chars_derivative(node, ranges, static_cast<uint8_t>(byte));
    };
    switch (node.phase) {  // the bytes that can go on at all
        case Phase::kStartUtf8:
        case Phase::kStartJson:
        case Phase::kStartCanonical:
            if (node.phase != Phase::kStartUtf8) fill('\\', '\\');
            for (auto [low, high] : ranges)
                if (low < 0x80) fill(low, std::min(high, 0x7Fu));
            if (ranges.back().second >= 0x80) fill(0xC2, 0xF4);
            break;
        case Phase::kTail: fill(0x80, 0xBF); break;
        default: fill('"', 'u'); break;
    }
    nodes_[id].row = static_cast<uint32_t>(rows_.size());
    return rows_.emplace_back(row);
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
        case Kind::kConcat: {
            NodeId first = concat(derivative(node.a, byte), node.b);
            if (!nodes_[node.a].nullable) return first;
            return alternation({first, derivative(node.b, byte)});
        }
        case Kind::kRepeat: {
            NodeId first = derivative(node.a, byte);
            if (first == kEmpty) return kEmpty;
            return concat(first,
                          repeat(node.a, node.b ? node.b - 1 : 0, node.c == kUnbounded ? kUnbounded : node.c - 1));
        }
        case Kind::kNot: return complement(derivative(node.a, byte));
        case Kind::kOr:
        case Kind::kAnd: {
            std::vector<NodeId> parts = kids_of(node);
            for (NodeId& part : parts) part = derivative(part, byte);
            return node.kind == Kind::kOr ? alternation(std::move(parts)) : conjunction(std::move(parts));
        }
    }
    return kEmpty;
}

// Bytes between two cuts have the same derivative (Owens et al. §4.2, over-approximated by intervals).
ByteCuts Nodes::compute_cuts(NodeId id) {
    const Node node = nodes_[id];
    ByteCuts out{};
    auto join = [&](NodeId kid) {
        const ByteCuts& other = cuts(kid);
        for (int k = 0; k < 4; ++k) out[static_cast<size_t>(k)] |= other[static_cast<size_t>(k)];
    };
    switch (node.kind) {
        case Kind::kEmpty:
        case Kind::kEpsilon: break;
        case Kind::kBytes: {
            const auto set = byte_sets_[node.a];
            for (unsigned byte = 1; byte < 256; ++byte)
                if ((set[byte >> 6] >> (byte & 63) & 1) != (set[(byte - 1) >> 6] >> ((byte - 1) & 63) & 1))
                    out[byte >> 6] |= 1ull << (byte & 63);
            break;
        }
        case Kind::kChars: {
            const CharsRow& row = chars_row(id);
            for (unsigned byte = 1; byte < 256; ++byte)
                if (row[byte] != row[byte - 1]) out[byte >> 6] |= 1ull << (byte & 63);
            break;
        }
        case Kind::kNumber:
            for (unsigned byte = '+'; byte <= 'f'; ++byte)
                if (numbers_.differs(numbers_[node.a], static_cast<uint8_t>(byte)))
                    out[byte >> 6] |= 1ull << (byte & 63);
            break;
        case Kind::kConcat:
            join(node.a);
            if (nodes_[node.a].nullable) join(node.b);
            break;
        case Kind::kRepeat:
        case Kind::kNot: join(node.a); break;
        case Kind::kOr:
        case Kind::kAnd:
            for (NodeId kid : kids_of(node)) join(kid);
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
