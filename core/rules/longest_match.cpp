#include "rules/longest_match.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "context_free/items.hpp"
#include "regex/plain_patterns.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

constexpr uint64_t kMostCharacters = 400;
// Of a tree that is written out as a body; more of them have hardly so few characters.
constexpr uint64_t kMostOperators = 100'000, kMostHeight = 1'000;

// A tree as the body of a rule: its sets of characters are the symbols, each by the id of its tree.
class BodyWriter {
public:
    explicit BodyWriter(const RegexTrees& trees) : trees_(trees) {}
    // Whether the tree can be written.
    bool write(TreeId id) {
        poll();
        switch (trees_.kind(id)) {
            case RegexTrees::Kind::kChars:
                if (id == RegexTrees::kEmpty)
                    put(BodyOperator::kAlternatives, 0);
                else
                    body_.push_back(static_cast<int32_t>(id));
                return true;
            case RegexTrees::Kind::kConcat: put(BodyOperator::kSequence, trees_.parts(id).size()); break;
            case RegexTrees::Kind::kAlternation: put(BodyOperator::kAlternatives, trees_.parts(id).size()); break;
            case RegexTrees::Kind::kRepeat: put_rounds(trees_.low(id), trees_.high(id)); break;
            default: return false;
        }
        return std::ranges::all_of(trees_.parts(id), [this](TreeId part) { return write(part); });
    }
    Body body() const { return body_; }

private:
    void put(BodyOperator code, uint64_t number) {
        body_.push_back(static_cast<int32_t>(code));
        body_.push_back(~static_cast<int32_t>(number));
    }
    void put_rounds(uint64_t low, uint64_t high) {
        const uint64_t fewest = std::min(low, kMostCharacters);
        put(BodyOperator::kRepeat, fewest);
        const uint64_t most = fewest + std::min(high - std::min(low, high), kMostCharacters);
        body_.push_back(~static_cast<int32_t>(high == RegexTrees::kEndless ? kEndless : most));
    }

    const RegexTrees& trees_;
    std::vector<int32_t> body_;
};

// Whether no character is in two of the sets that the edges of an item have.
bool are_disjoint(const RegexTrees& trees, std::span<const RuleItems::Edge> edges) {
    if (edges.size() < 2) return true;
    Ranges all;
    for (const auto& [set, to] : edges) all.insert(all.end(), trees.ranges(set).begin(), trees.ranges(set).end());
    std::sort(all.begin(), all.end());
    return std::ranges::adjacent_find(
               all, [](const auto& left, const auto& right) { return left.second >= right.first; }) == all.end();
}

// The position automaton of a tree; nothing if there are too many positions, or none.
std::optional<RuleItems> positions(const RegexTrees& trees, TreeId id) {
    const RegexTrees::Size size = trees.size_of(id);
    if (size.operators > kMostOperators || size.height > kMostHeight) return std::nullopt;
    BodyWriter writer(trees);
    if (!writer.write(id)) return std::nullopt;
    try {
        return positions_of(writer.body(), kMostCharacters);
    } catch (const TooManyPositions&) {
        return std::nullopt;
    } catch (const TooManyNeighbours&) {
        return std::nullopt;
    }
}

bool is_deterministic(const RegexTrees& trees, const RuleItems& items) {
    for (size_t item = 0; item < items.size(); ++item)
        if (!are_disjoint(trees, items.edges[item])) return false;
    return true;
}

// Whether the texts of a tree are told one after the other: it is deterministic, and none begins with another one.
bool are_told_apart(const RegexTrees& trees, TreeId id) {
    const std::optional<RuleItems> items = positions(trees, id);
    if (!items || !is_deterministic(trees, *items)) return false;
    for (size_t item = 0; item < items->size(); ++item)
        if (items->accepting[item] && !items->edges[item].empty()) return false;
    return true;
}

// Whether it is a repetition between characters, of which there are always as many.
bool has_clear_rounds(const RegexTrees& trees, TreeId id) {
    if (trees.kind(id) != RegexTrees::Kind::kConcat) return false;
    std::optional<TreeId> repeated;
    for (TreeId part : trees.parts(id)) {
        if (trees.kind(part) == RegexTrees::Kind::kChars) continue;
        if (repeated || trees.kind(part) != RegexTrees::Kind::kRepeat) return false;
        repeated = trees.parts(part)[0];
    }
    return repeated && are_told_apart(trees, *repeated);
}

// The branches of a pattern whose only signs are bars; a group around all of it is left out.
std::vector<std::string_view> branches_of(std::string_view pattern) {
    if (pattern.starts_with("(?:") && pattern.ends_with(')')) pattern = pattern.substr(3, pattern.size() - 4);
    std::vector<std::string_view> out;
    size_t begin = 0;
    for (size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] == '\\') {
            ++at;
        } else if (pattern[at] == '|') {
            out.push_back(pattern.substr(begin, at - begin));
            begin = at + 1;
        } else if (std::string_view("()[]").find(pattern[at]) != std::string_view::npos) {
            return {};
        }
    }
    out.push_back(pattern.substr(begin));
    return out;
}

// A choice of texts, none of which begins with an earlier one.
std::optional<TreeId> ordered_texts(RegexTrees& trees, std::string_view pattern) {
    std::unordered_set<std::u32string> earlier;
    std::vector<TreeId> texts;
    for (std::string_view branch : branches_of(pattern)) {
        poll();
        const auto plain = plain_pattern(trees, branch, PatternDialect::kPython);
        const auto text = plain ? trees.only_text(plain->tree) : std::nullopt;
        if (!text) return std::nullopt;
        for (size_t length = 1; length < text->size(); ++length)
            if (earlier.contains(text->substr(0, length))) return std::nullopt;
        earlier.insert(*text);
        texts.push_back(plain->tree);
    }
    return texts.empty() ? std::nullopt : std::optional(trees.alternation(texts));
}

}  // namespace

bool is_deterministic(const RegexTrees& trees, TreeId id) {
    const std::optional<RuleItems> items = positions(trees, id);
    return items && is_deterministic(trees, *items);
}

std::optional<TreeId> longest_match(RegexTrees& trees, std::string_view pattern) {
    const auto plain = plain_pattern(trees, pattern, PatternDialect::kPython);
    if (!plain) return std::nullopt;
    const bool is_clear = is_deterministic(trees, plain->tree) || has_clear_rounds(trees, plain->tree);
    if (is_clear && !plain->prefers_nothing) return plain->tree;
    return ordered_texts(trees, pattern);
}

}  // namespace schemagen
