// How one character out of a set is spelled, byte by byte.
#include <algorithm>

#include "regex/nodes.hpp"

namespace schemagen {

namespace {

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

// Control characters that json.dumps writes as \u00xx: those without a short escape.
const Ranges kLongEscapes = {{0x00, 0x07}, {0x0B, 0x0B}, {0x0E, 0x1F}};
const Ranges kCanonicalEscapes = {{0x00, 0x1F}, {'"', '"'}, {'\\', '\\'}};

}  // namespace

class Nodes::Speller {
public:
    explicit Speller(Nodes& nodes) : owner_(nodes) {}
    NodeId derivative(const Node& node, const Ranges& ranges, uint8_t byte);

private:
    NodeId start(const Ranges& ranges, uint8_t byte, Phase phase);
    NodeId escape(const Ranges& ranges, uint8_t byte, bool canonical);
    NodeId hex_absolute(const Node& node, const Ranges& ranges, uint8_t byte);

    Nodes& owner_;
};

NodeId Nodes::Speller::start(const Ranges& ranges, uint8_t byte, Phase phase) {
    bool json = phase != Phase::kStartUtf8;
    if (byte < 0x80) {
        if (json && byte == '\\') {
            if (phase == Phase::kStartCanonical)
                return owner_.chars_node(Phase::kEscapeCanonical, intersect(ranges, kCanonicalEscapes));
            return owner_.chars_node(Phase::kEscapeJson, ranges);
        }
        if (json && (byte < 0x20 || byte == '"')) return kEmpty;
        return contains(ranges, byte) ? kEpsilon : kEmpty;
    }
    // A lead byte fixes the leading bits; clipping to the range of its length rules out overlong forms.
    if (byte >= 0xC2 && byte <= 0xDF)
        return owner_.chars_node(
            Phase::kTail, clip(ranges, (byte & 0x1Fu) << 6, ((byte & 0x1Fu) << 6) + 0x3F, (byte & 0x1Fu) << 6), 1);
    if (byte >= 0xE0 && byte <= 0xEF) {
        uint32_t base = (byte & 0x0Fu) << 12;
        return owner_.chars_node(Phase::kTail, clip(ranges, std::max(base, 0x800u), base + 0xFFF, base), 2);
    }
    if (byte >= 0xF0 && byte <= 0xF4) {
        uint32_t base = (byte & 0x07u) << 18;
        return owner_.chars_node(Phase::kTail, clip(ranges, std::max(base, 0x10000u), base + 0x3FFFF, base), 3);
    }
    return kEmpty;
}

NodeId Nodes::Speller::escape(const Ranges& ranges, uint8_t byte, bool canonical) {
    if (byte == 'u') {
        if (!canonical) return owner_.chars_node(Phase::kHexAbsolute, ranges, 4, 0);
        const NodeId zero = owner_.byte_set(one_byte('0'));
        NodeId digits = owner_.chars_node(Phase::kHexLower, intersect(ranges, kLongEscapes), 2);
        return owner_.concat(zero, owner_.concat(zero, digits));
    }
    int value = !canonical && byte == '/' ? '/' : short_escape(byte);
    return value >= 0 && contains(ranges, static_cast<uint32_t>(value)) ? kEpsilon : kEmpty;
}

NodeId Nodes::Speller::hex_absolute(const Node& node, const Ranges& ranges, uint8_t byte) {
    int digit = hex_value(byte, true);
    if (digit < 0) return kEmpty;
    uint32_t read = node.b * 16 + static_cast<uint32_t>(digit), left = node.a - 1, shift = 4 * left;
    uint32_t low = read << shift, high = low + (1u << shift) - 1;
    bool surrogates = low <= 0xDFFF && high >= 0xD800;
    if (!surrogates) {
        Ranges rest = clip(ranges, low, high, low);
        if (left == 0) return rest.empty() ? kEmpty : kEpsilon;
        return owner_.chars_node(Phase::kHex, std::move(rest), left);
    }
    if (left > 0) {
        // Of what lies beyond the BMP, the pairs whose high surrogate starts like this are left.
        uint32_t first = std::max(low, 0xD800u), last = std::min(high, 0xDBFFu);
        Ranges rest = clip(ranges, low, high, 0), astral;
        if (first <= last)
            astral = clip(ranges, 0x10000 + (first - 0xD800) * 0x400, 0x10000 + (last - 0xD800) * 0x400 + 0x3FF, 0);
        return owner_.chars_node(Phase::kHexAbsolute, unite(rest, astral), left, read);
    }
    if (read > 0xDBFF) return kEmpty;  // a low surrogate cannot come first
    uint32_t base = 0x10000 + (read - 0xD800) * 0x400;
    return owner_.chars_node(Phase::kLowBackslash, clip(ranges, base, base + 0x3FF, base));
}

NodeId Nodes::Speller::derivative(const Node& node, const Ranges& ranges, uint8_t byte) {
    switch (node.phase) {
        case Phase::kStartUtf8:
        case Phase::kStartJson:
        case Phase::kStartCanonical: return start(ranges, byte, node.phase);
        case Phase::kEscapeJson: return escape(ranges, byte, false);
        case Phase::kEscapeCanonical: return escape(ranges, byte, true);
        case Phase::kHexAbsolute: return hex_absolute(node, ranges, byte);
        case Phase::kTail: {
            if (byte < 0x80 || byte > 0xBF) return kEmpty;
            uint32_t shift = 6 * (node.a - 1), low = (byte & 0x3Fu) << shift;
            if (shift == 0) return contains(ranges, low) ? kEpsilon : kEmpty;
            return owner_.chars_node(Phase::kTail, clip(ranges, low, low + (1u << shift) - 1, low), node.a - 1);
        }
        case Phase::kHex:
        case Phase::kHexLower: {
            int digit = hex_value(byte, node.phase == Phase::kHex);
            if (digit < 0) return kEmpty;
            uint32_t shift = 4 * (node.a - 1), low = static_cast<uint32_t>(digit) << shift;
            if (shift == 0) return contains(ranges, low) ? kEpsilon : kEmpty;
            return owner_.chars_node(node.phase, clip(ranges, low, low + (1u << shift) - 1, low), node.a - 1);
        }
        case Phase::kLowBackslash: return byte == '\\' ? owner_.chars_node(Phase::kLowU, ranges) : kEmpty;
        case Phase::kLowU: return byte == 'u' ? owner_.chars_node(Phase::kLowD, ranges) : kEmpty;
        case Phase::kLowD: return byte == 'd' || byte == 'D' ? owner_.chars_node(Phase::kLowNibble, ranges) : kEmpty;
        case Phase::kLowNibble: {
            int digit = hex_value(byte, true);
            if (digit < 0xC) return kEmpty;
            uint32_t low = static_cast<uint32_t>(digit - 0xC) << 8;
            return owner_.chars_node(Phase::kHex, clip(ranges, low, low + 0xFF, low), 2);
        }
    }
    return kEmpty;
}

const CharsRow& Nodes::chars_row(NodeId id) {
    if (nodes_[id].row != kNotKnown) return rows_[nodes_[id].row];
    before_write();
    const Node node = nodes_[id];
    const Ranges& ranges = ranges_[node.c];  // a deque: stays put while the rows below intern more
    CharsRow row;
    row.fill(kEmpty);
    Speller speller(*this);
    auto fill = [&](unsigned low, unsigned high) {
        for (unsigned byte = low; byte <= high; ++byte)
            row[byte] = speller.derivative(node, ranges, static_cast<uint8_t>(byte));
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

}  // namespace schemagen
