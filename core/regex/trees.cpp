#include "regex/trees.hpp"

#include <iterator>

#include "util/hash.hpp"
#include "util/utf8.hpp"

namespace schemagen {

namespace {

constexpr uint64_t kMostOperators = uint64_t{1} << 62;
constexpr uint64_t kMostCounted = kUnbounded;  // rounds that a kernel does not count any more

bool is_half_pair(char32_t character) { return character >= 0xD800 && character <= 0xDFFF; }

// Trees in the order in which they were first added.
class Distinct {
public:
    void add(TreeId id) {
        if (is_new(id)) ids_.push_back(id);
    }
    std::vector<TreeId> take() { return std::move(ids_); }

private:
    static constexpr size_t kFew = 16;
    bool is_new(TreeId id) {
        if (ids_.size() < kFew) return std::find(ids_.begin(), ids_.end(), id) == ids_.end();
        if (seen_.empty()) seen_.insert(ids_.begin(), ids_.end());
        return seen_.insert(id).second;
    }
    std::vector<TreeId> ids_;
    std::unordered_set<TreeId> seen_;
};

// Of the substrings of a text that can be written in UTF-8: none of them has half of a surrogate pair.
RegexTrees::Tables tables_of(const RegexTrees::Text& text) {
    RegexTrees::Tables tables;
    std::string piece;
    for (size_t k = 0; k <= text.size(); ++k) {
        poll();
        if (k < text.size() && !is_half_pair(text[k])) {
            append_utf8(piece, text[k]);
        } else if (!piece.empty()) {
            tables.push_back(SubstringTable::of(piece));
            piece.clear();
        }
    }
    return tables;
}

}  // namespace

RegexTrees::RegexTrees() {
    chars({});
    concat({});
    chars({{0, kMaxCodePoint}});
    repeat(kAnyChar, 0, kEndless);
    repeat(kAnyChar, 1, kEndless);
}

TreeId RegexTrees::intern(const Tree& tree) {
    poll();
    const uint64_t hash = mix(mix(mix(static_cast<uint64_t>(tree.kind), tree.list), tree.low), tree.high);
    const uint32_t known = index_.find(hash, [&](uint32_t id) {
        const Tree& other = trees_[id];
        return other.kind == tree.kind && other.list == tree.list && other.low == tree.low && other.high == tree.high;
    });
    if (known != HashIndex::kNone) return known;
    const auto id = static_cast<TreeId>(trees_.size());
    trees_.push_back(tree);
    index_.insert(hash, id);
    return id;
}

RegexTrees::Tree RegexTrees::with_parts(Kind kind, bool nullable, Parts parts) {
    Tree tree{.kind = kind, .nullable = nullable};
    for (TreeId part : parts) {
        poll();
        tree.operators = std::min(tree.operators + trees_[part].operators, kMostOperators);
        tree.height = std::max(tree.height, trees_[part].height + 1);
    }
    tree.list = lists_.intern(parts);
    return tree;
}

// ---- constructors -------------------------------------------------------------------------------------------------

TreeId RegexTrees::chars(Ranges ranges) {
    ranges = normalise(std::move(ranges));
    RangesId set = sets_.find(ranges);
    if (set == HashIndex::kNone) set = sets_.add(std::move(ranges));
    return intern({.kind = Kind::kChars, .nullable = false, .list = set});
}

TreeId RegexTrees::literal(std::u32string_view text) {
    std::vector<TreeId> parts;
    parts.reserve(text.size());
    for (char32_t character : text) parts.push_back(chars({{character, character}}));
    return concat(parts);
}

TreeId RegexTrees::substring(std::u32string_view text) {
    if (text.empty()) return kEmpty;
    if (text.size() == 1) return chars({{text[0], text[0]}});
    auto known = text_ids_.find(text);
    if (known == text_ids_.end()) {
        const auto id = static_cast<uint32_t>(texts_.size());
        known = text_ids_.emplace(texts_.emplace_back(text), id).first;
    }
    return intern({.kind = Kind::kSubstring, .nullable = false, .list = known->second});
}

TreeId RegexTrees::concat(Parts parts) {
    std::vector<TreeId> flat;
    flat.reserve(parts.size());
    bool is_nullable = true;
    for (TreeId part : parts) {
        poll();
        if (part == kEmpty) return kEmpty;
        is_nullable = is_nullable && nullable(part);
        if (kind(part) == Kind::kConcat) {
            const Parts inner = this->parts(part);
            flat.insert(flat.end(), inner.begin(), inner.end());
        } else {
            flat.push_back(part);
        }
    }
    return flat.size() == 1 ? flat[0] : intern(with_parts(Kind::kConcat, is_nullable, flat));
}

TreeId RegexTrees::alternation(Parts parts) {
    Ranges characters;
    Distinct others;
    for (TreeId part : parts)
        for (TreeId piece : kind(part) == Kind::kAlternation ? this->parts(part) : Parts(&part, 1)) {
            poll();
            if (kind(piece) == Kind::kChars)
                characters.insert(characters.end(), ranges(piece).begin(), ranges(piece).end());
            else
                others.add(piece);
        }
    std::vector<TreeId> pieces = others.take();
    if (!characters.empty()) pieces.insert(pieces.begin(), chars(std::move(characters)));
    if (pieces.empty()) return kEmpty;
    if (pieces.size() == 1) return pieces[0];
    const bool is_nullable = std::any_of(pieces.begin(), pieces.end(), [this](TreeId id) { return nullable(id); });
    return intern(with_parts(Kind::kAlternation, is_nullable, pieces));
}

TreeId RegexTrees::conjunction(Parts parts) {
    Distinct flat;
    for (TreeId part : parts)
        for (TreeId piece : kind(part) == Kind::kConjunction ? this->parts(part) : Parts(&part, 1)) {
            poll();
            if (piece == kEmpty) return kEmpty;
            if (piece != kAnyString) flat.add(piece);
        }
    const std::vector<TreeId> pieces = flat.take();
    if (pieces.empty()) return kAnyString;
    if (pieces.size() == 1) return pieces[0];
    const bool is_nullable = std::all_of(pieces.begin(), pieces.end(), [this](TreeId id) { return nullable(id); });
    return intern(with_parts(Kind::kConjunction, is_nullable, pieces));
}

TreeId RegexTrees::complement(TreeId inner) {
    if (kind(inner) == Kind::kComplement) return parts(inner)[0];
    if (inner == kEmpty) return kAnyString;
    if (inner == kAnyString) return kEmpty;
    return intern(with_parts(Kind::kComplement, !nullable(inner), Parts(&inner, 1)));
}

TreeId RegexTrees::repeat(TreeId inner, uint64_t low, uint64_t high) {
    if (high == 0 || inner == kEpsilon) return kEpsilon;
    if (inner == kEmpty) return low == 0 ? kEpsilon : kEmpty;
    if (low == 1 && high == 1) return inner;
    Tree tree = with_parts(Kind::kRepeat, low == 0 || nullable(inner), Parts(&inner, 1));
    tree.low = low;
    tree.high = high;
    return intern(tree);
}

// ---- languages ----------------------------------------------------------------------------------------------------

TreeId RegexTrees::nonempty(TreeId id) {
    const auto is_known = [this](TreeId each) {
        return !nullable(each) || is_intersected(each) || nonempty_.contains(each);
    };
    for (TreeId each : missing(id, is_known)) nonempty_.emplace(each, nonempty_from_parts(each));
    return known_nonempty(id);
}

// Where no parts need be looked at, or the answer was found.
TreeId RegexTrees::known_nonempty(TreeId id) {
    if (!nullable(id)) return id;
    if (!is_intersected(id)) return nonempty_.at(id);
    const TreeId both[] = {id, kSomeText};
    return conjunction(both);
}

// Of a tree that is nullable, and not intersected.
TreeId RegexTrees::nonempty_from_parts(TreeId id) {
    const std::vector<TreeId> own(parts(id).begin(), parts(id).end());
    if (kind(id) == Kind::kRepeat) {
        const uint64_t least = low(id) ? low(id) - 1 : 0, most = high(id) == kEndless ? kEndless : high(id) - 1;
        const TreeId round = known_nonempty(own[0]);
        const TreeId both[] = {round, repeat(own[0], least, most)};
        return concat(both);
    }
    std::vector<TreeId> ways;
    for (size_t k = 0; k < own.size(); ++k) {
        ways.push_back(known_nonempty(own[k]));
        if (kind(id) == Kind::kAlternation) continue;
        std::vector<TreeId> rest(own.begin() + static_cast<std::ptrdiff_t>(k), own.end());
        rest[0] = ways.back();  // the first part that is not empty
        ways.back() = concat(rest);
    }
    return alternation(ways);
}

TreeId RegexTrees::shortest(TreeId id) {
    const TreeId longer[] = {id, kSomeText};
    const TreeId both[] = {id, complement(concat(longer))};
    return conjunction(both);
}

std::optional<RegexTrees::Text> RegexTrees::only_text(TreeId id) const {
    Text out;
    for (TreeId part : kind(id) == Kind::kConcat ? parts(id) : Parts(&id, 1)) {
        if (kind(part) != Kind::kChars) return std::nullopt;
        const Ranges& one = ranges(part);
        if (one.size() != 1 || one[0].first != one[0].second) return std::nullopt;
        out.push_back(one[0].first);
    }
    if (out.empty()) return std::nullopt;
    return out;
}

std::optional<Ranges> RegexTrees::first_characters(TreeId id) const {
    Ranges found;
    std::vector<TreeId> open{id};
    std::unordered_set<TreeId> seen{id};
    while (!open.empty()) {
        const TreeId at = open.back();
        open.pop_back();
        if (kind(at) == Kind::kConjunction || kind(at) == Kind::kComplement) return std::nullopt;
        if (kind(at) == Kind::kChars) found.insert(found.end(), ranges(at).begin(), ranges(at).end());
        if (kind(at) == Kind::kSubstring)
            for (char32_t character : text(at)) found.emplace_back(character, character);
        for (TreeId part : parts(at)) {
            poll();
            if (seen.insert(part).second) open.push_back(part);
            if (kind(at) == Kind::kConcat && !nullable(part)) break;
        }
    }
    return normalise(std::move(found));
}

// ---- nodes --------------------------------------------------------------------------------------------------------

void RegexTrees::make_tables() {
    for (size_t text = tables_.size(); text < texts_.size(); ++text) tables_.push_back(tables_of(texts_[text]));
}

NodeId RegexTrees::substrings(uint32_t text, Nodes& kernel) {
    make_tables();
    std::vector<NodeId> nodes;
    for (const auto& table : tables_[text]) nodes.push_back(kernel.substring(table));
    return kernel.alternation(nodes);
}

NodeId RegexTrees::node(TreeId id, Nodes& kernel) {
    const auto is_known = [this](TreeId each) { return nodes_.contains(each); };
    for (TreeId each : missing(id, is_known)) nodes_.emplace(each, node_from_parts(each, kernel));
    return nodes_.at(id);
}

NodeId RegexTrees::node_from_parts(TreeId id, Nodes& kernel) {
    constexpr size_t kMany = 10'000;  // to sort the nodes of so many parts takes some milliseconds, without a poll
    std::vector<NodeId> own;
    own.reserve(parts(id).size());
    for (TreeId part : parts(id)) own.push_back(nodes_.at(part));
    switch (kind(id)) {
        case Kind::kChars: return kernel.chars(Encoding::kUtf8, ranges(id));
        case Kind::kSubstring: return substrings(trees_[id].list, kernel);
        case Kind::kConcat: {
            NodeId out = schemagen::kEpsilon;
            for (size_t k = own.size(); k-- > 0;) out = kernel.concat(own[k], out);
            return out;
        }
        case Kind::kAlternation:
            if (own.size() > kMany) Work::release();
            return kernel.alternation(own);
        case Kind::kConjunction: return kernel.conjunction(own);
        case Kind::kComplement:
            return kernel.conjunction({kernel.any_string(Encoding::kUtf8), kernel.complement(own[0])});
        case Kind::kRepeat: {
            if (low(id) >= kMostCounted) throw CountTooLarge{low(id)};
            const uint64_t most = std::min(high(id), kMostCounted);
            return kernel.repeat(own[0], static_cast<uint32_t>(low(id)), static_cast<uint32_t>(most));
        }
    }
    return schemagen::kEmpty;
}

}  // namespace schemagen
