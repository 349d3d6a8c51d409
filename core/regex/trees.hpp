// Regular expressions over code points as values: what notations are read to, before the kernel gets them as nodes.
//
// A tree is what schemagen/regex/ast.py has as objects, made by the same constructors with the same identities. Trees
// are interned, so equal trees are equal ids; they live as long as the reading of one grammar.
//
// Invariants: sets of code points are sorted and do not touch; a part of a concatenation is no concatenation, and
// likewise for alternations and conjunctions; parts of a tree have lower ids.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "regex/nodes.hpp"
#include "regex/ranges.hpp"
#include "util/hash_index.hpp"
#include "util/interned_lists.hpp"
#include "util/work.hpp"

namespace schemagen {

using TreeId = uint32_t;

class RegexTrees {
public:
    enum class Kind : uint8_t { kChars, kConcat, kAlternation, kConjunction, kComplement, kRepeat, kSubstring };
    using Parts = std::span<const TreeId>;
    using Text = std::u32string;

    static constexpr TreeId kEmpty = 0, kEpsilon = 1, kAnyChar = 2, kAnyString = 3, kSomeText = 4;
    static constexpr uint64_t kEndless = UINT64_MAX;  // rounds of a repetition

    RegexTrees();
    RegexTrees(const RegexTrees&) = delete;
    RegexTrees& operator=(const RegexTrees&) = delete;

    // Parts that are given may be those of a tree here.
    TreeId chars(Ranges ranges);
    TreeId literal(std::u32string_view text);
    TreeId substring(std::u32string_view text);
    TreeId concat(Parts parts);
    TreeId alternation(Parts parts);  // `union` of ast.py
    TreeId conjunction(Parts parts);
    TreeId complement(TreeId inner);
    TreeId repeat(TreeId inner, uint64_t low, uint64_t high);
    TreeId optional(TreeId inner) { return repeat(inner, 0, 1); }

    Kind kind(TreeId id) const { return trees_[id].kind; }
    bool is_leaf(TreeId id) const { return kind(id) == Kind::kChars || kind(id) == Kind::kSubstring; }
    // Of kComplement and kRepeat: the inner one; of leaves: none. The next tree that is made invalidates them.
    Parts parts(TreeId id) const { return is_leaf(id) ? Parts() : lists_[trees_[id].list]; }
    const Ranges& ranges(TreeId id) const { return sets_[trees_[id].list]; }
    const Text& text(TreeId id) const { return texts_[trees_[id].list]; }  // of kSubstring
    uint64_t low(TreeId id) const { return trees_[id].low; }
    uint64_t high(TreeId id) const { return trees_[id].high; }
    size_t size() const { return trees_.size(); }
    // A tree and those inside it, each once and parts first, except the trees for which `is_known` holds and what only
    // they have inside. So the answers for trees can be found one after the other, however deep they are.
    template <class IsKnown>
    std::vector<TreeId> missing(TreeId id, const IsKnown& is_known) const;

    bool nullable(TreeId id) const { return trees_[id].nullable; }
    TreeId nonempty(TreeId id);  // its texts except the empty one
    TreeId shortest(TreeId id);  // its texts that begin with no other one
    struct Size {
        uint64_t operators, height;  // with which it is written, and of which one is inside another; operators saturate
    };
    Size size_of(TreeId id) const { return {trees_[id].operators, trees_[id].height}; }
    // Its text if it has only one, as far as its shape tells; not the empty one.
    std::optional<Text> only_text(TreeId id) const;
    // The characters that its texts begin with, as its shape tells; nothing if & or ~ comes before the first one.
    std::optional<Ranges> first_characters(TreeId id) const;

    // Its texts in UTF-8, as a node of a kernel; the answers are remembered, so that it is always to be the same
    // kernel. Throws LimitExceeded as the kernel does, and CountTooLarge.
    struct CountTooLarge {
        uint64_t count;
    };
    NodeId node(TreeId id, Nodes& kernel);
    // For another kernel.
    void forget_nodes() { nodes_.clear(); }
    // Makes what `node` needs for substrings of long texts, which takes a while: without the kernel, which others may
    // use.
    void make_tables();
    using Tables = std::vector<std::shared_ptr<const SubstringTable>>;

private:
    struct Tree {
        Kind kind;
        bool nullable;
        uint32_t list = 0;  // of lists_, sets_ or texts_
        uint32_t height = 1;
        uint64_t low = 0, high = 0;
        uint64_t operators = 1;
    };
    TreeId intern(const Tree& tree);
    Tree with_parts(Kind kind, bool nullable, Parts parts);
    // Whether the empty text is taken out by an intersection: of long concatenations each part has a way of its own.
    bool is_intersected(TreeId id) const {
        constexpr size_t kMostWays = 64;
        return kind(id) == Kind::kConjunction || kind(id) == Kind::kComplement ||
               (kind(id) == Kind::kConcat && parts(id).size() > kMostWays);
    }
    TreeId known_nonempty(TreeId id);
    TreeId nonempty_from_parts(TreeId id);
    NodeId node_from_parts(TreeId id, Nodes& kernel);
    NodeId substrings(uint32_t text, Nodes& kernel);

    std::vector<Tree> trees_;
    InternedLists lists_;
    RangesTable sets_;
    std::deque<Text> texts_;
    std::unordered_map<std::u32string_view, uint32_t> text_ids_;  // views of texts_
    std::vector<Tables> tables_;                                  // [text], as far as they were made
    HashIndex index_;
    std::unordered_map<TreeId, TreeId> nonempty_;
    std::unordered_map<TreeId, NodeId> nodes_;
};

template <class IsKnown>
std::vector<TreeId> RegexTrees::missing(TreeId id, const IsKnown& is_known) const {
    std::vector<TreeId> found;
    if (is_known(id)) return found;
    std::unordered_set<TreeId> seen{id};
    found.push_back(id);
    for (size_t k = 0; k < found.size(); ++k)
        for (TreeId part : parts(found[k])) {
            poll();
            if (!is_known(part) && seen.insert(part).second) found.push_back(part);
        }
    std::sort(found.begin(), found.end());  // parts have lower ids
    return found;
}

}  // namespace schemagen
