#include "notation/lark_patterns.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>
#include <vector>

#include "util/work.hpp"

namespace schemagen {

namespace {

using Kind = LarkNode::Kind;

void put_utf8(std::string& out, uint32_t point) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (point < 0x80) return put(point);
    if (point < 0x800) {
        put(0xC0 | point >> 6);
    } else {
        if (point < 0x10000) {
            put(0xE0 | point >> 12);
        } else {
            put(0xF0 | point >> 18);
            put(0x80 | (point >> 12 & 63));
        }
        put(0x80 | (point >> 6 & 63));
    }
    put(0x80 | (point & 63));
}

// A literal or pattern without its quotes, with the escapes that lark replaces: it has Python read the text as one of
// its strings, all other backslashes doubled.
class Unescaping {
public:
    Unescaping(std::string_view text, bool is_pattern, NotationPlace place)
        : text_(text), is_pattern_(is_pattern), place_(place) {}

    std::string run() {
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c == '\\')
                escape();
            else if (c == '\r')  // Python reads any line break as one
                line_break();
            else if (c == '\0')
                refuse(place_, "a literal with a NUL character", "Python's strings are written without it",
                       "write \\x00");
            else
                out_ += c;
        }
        return std::move(out_);
    }

private:
    void line_break() {
        if (at_ < text_.size() && text_[at_] == '\n') ++at_;
        out_ += '\n';
    }

    void escape() {
        if (at_ == text_.size())
            refuse(place_, "a literal ends with a single backslash", "it escapes the sign that ends the literal",
                   "write \\\\ for a backslash");
        switch (text_[at_]) {
            case 'n': return replace('\n');
            case 't': return replace('\t');
            case 'r': return replace('\r');
            case 'f': return replace('\f');
            case '"': return replace('"');
            case 'x': return code_point(2);
            case 'u': return code_point(4);
            case 'U': return code_point(8);
            case '\\': return backslashes();
            default: out_ += '\\';
        }
    }

    void replace(char meant) {
        out_ += meant;
        ++at_;
    }

    // Two, which stay two; before a quote lark takes the second one for an escape of it.
    void backslashes() {
        ++at_;
        out_ += at_ < text_.size() && text_[at_] == '"' ? "\\" : "\\\\";
    }

    void code_point(size_t digits) {
        const std::string_view hex = text_.substr(at_ + 1, digits);
        uint32_t point = 0;
        const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), point, 16);
        const bool is_whole = error == std::errc() && end == hex.data() + digits;
        const bool is_surrogate = point >= 0xD800 && point < 0xE000;  // which only patterns may name, as no character
        if (!is_whole || point > 0x10FFFF || (is_surrogate && !is_pattern_))
            refuse(place_, "\\" + std::string(text_.substr(at_, digits + 1)) + " is no character",
                   "an escape has " + std::to_string(digits) + " hexadecimal digits, of a character of Unicode",
                   "write the character itself");
        if (is_surrogate)
            (out_ += '\\') += text_.substr(at_, digits + 1);
        else
            put_utf8(out_, point);
        at_ += digits + 1;
    }

    std::string_view text_;
    bool is_pattern_;
    NotationPlace place_;
    size_t at_ = 0;
    std::string out_;
};

std::string_view inside(std::string_view quoted) { return quoted.substr(1, quoted.size() - 2); }

std::string with_single_backslashes(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size(); ++at) {
        out += text[at];
        if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '\\') ++at;
    }
    return out;
}

// As re.escape does it.
std::string escaped(std::string_view text) {
    static constexpr std::string_view kSpecial = "()[]{}?*+-|^$\\.&~# \t\n\r\v\f";
    std::string out;
    for (char c : text) {
        if (kSpecial.find(c) != kSpecial.npos) out += '\\';
        out += c;
    }
    return out;
}

LarkPattern range_of(const LarkNode& node) {
    const std::string_view first = inside(node.source), last = inside(node.last);
    for (const std::string_view end : {first, last})
        if (character_count(Unescaping(end, false, node.place).run()) != 1)
            refuse(node.place, "a range from or to more or less than one character", "a range is of characters",
                   "write it like \"a\"..\"z\"");
    return {false, "[" + std::string(first) + "-" + std::string(last) + "]", ""};
}

}  // namespace

size_t character_count(std::string_view text) {
    return static_cast<size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

std::string LarkPattern::regexp() const {
    std::string out = is_literal ? escaped(value) : value;
    for (char flag : flags) {
        out.insert(0, {'(', '?', flag, ':'});
        out += ')';
    }
    return out;
}

LarkPattern LarkPatterns::of_value(const LarkNode& node) {
    if (node.kind == Kind::kRange) return range_of(node);
    const size_t end = node.source.find_last_of("/\"") + 1;
    LarkPattern out;
    out.is_literal = node.kind == Kind::kLiteral;
    out.flags = node.source.substr(end);
    std::ranges::sort(out.flags);
    out.flags.erase(std::ranges::unique(out.flags).begin(), out.flags.end());
    if (!out.is_literal && node.source.find('\n') != node.source.npos && out.flags.find('x') == out.flags.npos)
        refuse(node.place, "a pattern over several lines",
               "only one with the flag x, which ignores blanks in it, may have line breaks", "write \\n, or /.../x");
    out.value = Unescaping(inside(node.source.substr(0, end)), !out.is_literal, node.place).run();
    if (out.value.empty())
        refuse(node.place, "an empty literal", "lark has no empty terminals",
               "leave it out, or write [x] for an optional x");
    if (out.is_literal) out.value = with_single_backslashes(out.value);
    return out;
}

std::string LarkPatterns::written(const LarkPattern& part, const LarkNode& node) {
    std::string regexp = part.regexp();
    written_ += regexp.size();
    if (written_ > NotationLimits::kPatternBytes)
        stop(node.place, "the patterns of the terminals are longer than " + with_commas(NotationLimits::kPatternBytes),
             "terminals are written out in those that are made of them", "use rules for parts of them");
    return regexp;
}

LarkPattern LarkPatterns::of_terminal(const LarkNode* tree) {
    if (const auto known = known_.find(tree); known != known_.end()) return known->second;
    return known_.emplace(tree, of(*tree)).first->second;
}

LarkHost::Width LarkPatterns::width(const LarkPattern& pattern, NotationPlace place) {
    if (pattern.is_literal) return {character_count(pattern.value), character_count(pattern.value)};
    const std::string regexp = pattern.regexp();
    const auto [width, error] = host_.width(regexp);
    if (!error.empty())
        refuse(place, "bad pattern " + (regexp.size() > 80 ? "" : "/" + regexp + "/") + ": " + error,
               "terminals are patterns of Python's re", "");
    return width;
}

LarkPattern LarkPatterns::of(const LarkNode& node) {
    poll();
    switch (node.kind) {
        case Kind::kChoice: return of_choice(node);
        case Kind::kSequence: return of_sequence(node);
        case Kind::kRepeat:
        case Kind::kMaybe: return of_repeat(node);
        case Kind::kReference: return of_terminal(node.children[0]);
        case Kind::kLiteral:
        case Kind::kPattern:
        case Kind::kRange: return of_value(node);
        case Kind::kAlias:
            refuse(node.place, "'->' in a terminal", "only the trees of rules have names", "leave it out");
        case Kind::kTemplate:
        case Kind::kSymbol:
        case Kind::kEmpty:
            refuse(node.place, "a template in a terminal", "only rules are made of templates", "leave it out");
    }
    return {};
}

LarkPattern LarkPatterns::of_choice(const LarkNode& node) {
    if (node.children.size() == 1) return of(*node.children[0]);
    struct Alternative {
        std::string regexp;
        LarkHost::Width width;
        size_t characters;
    };
    std::vector<Alternative> found;
    for (const LarkNode* child : node.children) {
        const LarkPattern each = of(*child);
        found.push_back({written(each, node), width(each, child->place), character_count(each.value)});
    }
    std::ranges::stable_sort(found, std::greater<>(), [](const Alternative& each) {
        return std::tuple(each.width.most, each.width.least, each.characters);
    });
    std::string value = "(?:";
    for (const Alternative& each : found) value += each.regexp + "|";
    value.back() = ')';
    return {false, std::move(value), ""};
}

LarkPattern LarkPatterns::of_sequence(const LarkNode& node) {
    if (node.children.empty()) return {true, "", ""};
    if (node.children.size() == 1) return of(*node.children[0]);
    std::string value;
    for (const LarkNode* child : node.children) value += written(of(*child), node);
    return {false, std::move(value), ""};
}

LarkPattern LarkPatterns::of_repeat(const LarkNode& node) {
    const LarkPattern inner = of(*node.children[0]);
    std::string count(1, node.kind == Kind::kMaybe ? '?' : node.sign);
    if (count == "~") count = "{" + std::to_string(node.low) + "}";
    if (count == "-") {
        if (node.high < node.low) refuse_bounds(node);
        count = "{" + std::to_string(node.low) + "," + std::to_string(node.high) + "}";
    }
    return {false, "(?:" + written(inner, node) + ")" + count, inner.flags};
}

void refuse_bounds(const LarkNode& node) {
    const std::string low = std::to_string(node.low), high = std::to_string(node.high);
    refuse(node.place, "a repetition of at least " + low + " and at most " + high, "",
           node.low < 0 ? "count from 0" : "write ~" + high + ".." + low);
}

}  // namespace schemagen
