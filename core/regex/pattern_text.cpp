#include "regex/pattern_text.hpp"

#include <algorithm>
#include <string_view>

#include "util/work.hpp"

namespace schemagen {

namespace {

class Writer {
public:
    Writer(const RegexTrees& trees, size_t most) : trees_(trees), most_(most) {}

    // Returns false if a part is none that it writes.
    bool write(TreeId tree) {
        if (out.size() > most_) return true;
        poll();
        switch (trees_.kind(tree)) {
            case RegexTrees::Kind::kChars: return write_class(trees_.ranges(tree));
            case RegexTrees::Kind::kConcat:
                return std::ranges::all_of(trees_.parts(tree), [&](TreeId part) { return write_grouped(part); });
            case RegexTrees::Kind::kAlternation: return write_alternation(tree);
            case RegexTrees::Kind::kRepeat: return write_repeat(tree);
            default: return false;
        }
    }

    std::string out;

private:
    bool write_in_group(TreeId tree) {
        out += "(?:";
        const bool is_written = write(tree);
        out += ')';
        return is_written;
    }
    bool write_grouped(TreeId tree) {
        return trees_.kind(tree) == RegexTrees::Kind::kAlternation ? write_in_group(tree) : write(tree);
    }
    // An empty one becomes `?`.
    bool write_alternation(TreeId tree) {
        const RegexTrees::Parts parts = trees_.parts(tree);
        const bool is_optional = std::ranges::find(parts, RegexTrees::kEpsilon) != parts.end();
        if (is_optional) out += "(?:";
        bool is_first = true;
        for (TreeId part : parts) {
            if (part == RegexTrees::kEpsilon) continue;
            if (!std::exchange(is_first, false)) out += '|';
            if (!write(part)) return false;
        }
        if (is_optional) out += ")?";
        return true;
    }
    bool write_repeat(TreeId tree) {
        const TreeId inner = trees_.parts(tree)[0];
        if (!(trees_.kind(inner) == RegexTrees::Kind::kChars ? write(inner) : write_in_group(inner))) return false;
        const uint64_t low = trees_.low(tree), high = trees_.high(tree);
        const bool is_endless = high == RegexTrees::kEndless;
        if (low == 0 && high == 1)
            out += '?';
        else if (low <= 1 && is_endless)
            out += low ? '+' : '*';
        else if (low == high)
            out += "{" + std::to_string(low) + "}";
        else
            out += "{" + std::to_string(low) + "," + (is_endless ? "" : std::to_string(high)) + "}";
        return true;
    }
    bool write_class(const Ranges& ranges) {
        constexpr size_t kFew = 2;
        if (ranges.empty()) return out += R"([^\s\S])", true;
        if (ranges == Ranges{{0, kMaxCodePoint}}) return out += R"([\s\S])", true;
        if (ranges.size() == 1 && ranges[0].first == ranges[0].second) return write_character(ranges[0].first);
        Ranges rest;
        uint32_t next = 0;
        for (auto [low, high] : ranges) {
            if (low > next) rest.emplace_back(next, low - 1);
            next = high + 1;
        }
        const bool is_negated = ranges.back().second == kMaxCodePoint && rest.size() <= std::max(ranges.size(), kFew);
        out += is_negated ? "[^" : "[";
        for (auto [low, high] : is_negated ? rest : ranges) {
            if (!write_character(low)) return false;
            if (high > low + 1) out += '-';
            if (high > low && !write_character(high)) return false;
        }
        out += ']';
        return true;
    }
    bool write_character(uint32_t point) {
        static constexpr std::string_view kEscaped = "\\^$.|?*+()[]{}-&~", kDigits = "0123456789abcdef";
        if (point > 0x7F) return false;
        const auto character = static_cast<char>(point);
        if (const size_t at = std::string_view("\t\n\r").find(character); at != std::string_view::npos)
            out += {'\\', "tnr"[at]};
        else if (kEscaped.find(character) != std::string_view::npos)
            out += {'\\', character};
        else if (point >= 0x20 && point < 0x7F)
            out += character;
        else
            out += {'\\', 'x', kDigits[point >> 4], kDigits[point & 15]};
        return true;
    }

    const RegexTrees& trees_;
    const size_t most_;
};

}  // namespace

std::optional<std::string> pattern_text(const RegexTrees& trees, TreeId tree, size_t most) {
    Writer writer(trees, most);
    if (!writer.write(tree)) return std::nullopt;
    return std::move(writer.out);
}

}  // namespace schemagen
