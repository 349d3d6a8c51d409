#include "regex/plain_patterns.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "util/utf8.hpp"

namespace schemagen {

namespace {

constexpr size_t kMostBytes = 2'000;
// Groups inside one another: with three operators each they stay below MAX_HEIGHT of schemagen/regex/parse.py.
constexpr size_t kMostOpen = 49;
constexpr uint64_t kMostRounds = 100;
// For Rust: of a pattern with its repetitions written out, in bytes of an automaton, roughly. The crate refuses those
// that take it more than 10 MB, which is at three times this size or later.
constexpr uint64_t kMostSize = 100'000;
constexpr uint64_t kSizeOfOperator = 4, kSizeOfSet = 20, kSizeOfMember = 10;
constexpr uint64_t kMostOperators = 100'000;  // of a translated tree; the translation in Python has its limit above it
constexpr char32_t kEnd = 0xFFFFFFFF;

bool is_ascii_letter_or_digit(char32_t c) {
    return (c >= U'0' && c <= U'9') || (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z');
}

std::optional<uint32_t> hex_digit(char32_t c) {
    if (c >= U'0' && c <= U'9') return c - U'0';
    if (c >= U'A' && c <= U'F') return c - U'A' + 10;
    if (c >= U'a' && c <= U'f') return c - U'a' + 10;
    return std::nullopt;
}

Ranges inverted(const Ranges& ranges) {
    Ranges gaps;
    uint32_t start = 0;
    for (auto [low, high] : ranges) {
        if (start < low) gaps.emplace_back(start, low - 1);
        start = high + 1;
    }
    if (start <= kMaxCodePoint) gaps.emplace_back(start, kMaxCodePoint);
    return gaps;
}

// ---- the branches of Python -----------------------------------------------------------------------------------------

// The branches of a pattern as `re` keeps them: it takes characters that all branches begin with out of them, makes
// branches of one character each a set, and dissolves groups that capture nothing.
class PythonBranches {
public:
    // A character or a set as `re` has it: sets are equal if they are written in the same way.
    using Members = std::vector<uint64_t>;
    static constexpr uint64_t kNot = UINT64_MAX, kDot = UINT64_MAX - 1;  // first members of sets that are not united
    static uint64_t member(char32_t low, char32_t high) { return uint64_t{low + 1} << 32 | high; }

    PythonBranches() { open(); }
    bool prefers_nothing() const { return prefers_nothing_; }
    void open() { open_.emplace_back(1); }
    void next() { open_.back().emplace_back(); }
    // The innermost group is complete, and is the next to be placed.
    void close() {
        last_ = closed(std::move(open_.back()));
        open_.pop_back();
    }
    void character(Members members) { last_ = {{std::move(members), false}}; }
    // Adds the group or character read last to the current branch: as one thing, which may be empty or not, or part by
    // part.
    void place(bool is_one, bool nullable) {
        Branch& branch = open_.back().back();
        if (is_one)
            branch.push_back({{}, nullable});
        else
            std::move(last_.begin(), last_.end(), std::back_inserter(branch));
    }

private:
    struct Element {
        Members members;  // none: it equals no other one
        bool nullable;
    };
    using Branch = std::vector<Element>;

    static bool is_nullable(const Branch& branch) {
        return std::ranges::all_of(branch, [](const Element& each) { return each.nullable; });
    }
    static Branch common_beginning(std::vector<Branch>& branches) {
        const auto is_common = [&](size_t at) {
            return std::ranges::all_of(branches, [&](const Branch& branch) {
                return at < branch.size() && !branch[at].members.empty() &&
                       branch[at].members == branches[0][at].members;
            });
        };
        size_t length = 0;
        while (is_common(length)) ++length;
        const auto count = static_cast<std::ptrdiff_t>(length);
        Branch out(branches[0].begin(), branches[0].begin() + count);
        for (Branch& branch : branches) branch.erase(branch.begin(), branch.begin() + count);
        return out;
    }
    // Of branches with a character each; no members if they are others.
    static Members united(const std::vector<Branch>& branches) {
        Members out;
        for (const Branch& branch : branches) {
            if (branch.size() != 1 || branch[0].members.empty() || branch[0].members[0] >= kDot) return {};
            for (uint64_t member : branch[0].members)
                if (std::ranges::find(out, member) == out.end()) out.push_back(member);
        }
        return out;
    }
    Branch closed(std::vector<Branch> branches) {
        if (branches.size() == 1) return std::move(branches[0]);
        Branch out = common_beginning(branches);
        Members set = united(branches);
        const bool is_empty_in = std::ranges::any_of(branches, is_nullable);
        if (set.empty())
            prefers_nothing_ =
                prefers_nothing_ || std::any_of(branches.begin(), std::prev(branches.end()), is_nullable);
        out.push_back({std::move(set), is_empty_in});
        return out;
    }

    std::vector<std::vector<Branch>> open_;  // [open group]
    Branch last_;
    bool prefers_nothing_ = false;
};

// ---- reading --------------------------------------------------------------------------------------------------------

class Reader {
public:
    Reader(RegexTrees& trees, std::u32string_view text, PatternDialect dialect, bool keeps_branches)
        : trees_(trees), text_(text), dialect_(dialect) {
        if (keeps_branches) python_.emplace();
        groups_.push_back({});
    }
    // Nothing where the text is not plain.
    std::optional<TreeId> tree() {
        while (at_ < text_.size())
            if (!step()) return std::nullopt;
        if (groups_.size() > 1) return std::nullopt;
        has_branches_ = !branches_.empty();
        const Item item = innermost();
        if (dialect_ == PatternDialect::kRust && item.size > kMostSize) return std::nullopt;
        return item.tree;
    }
    bool has_branches() const { return has_branches_; }  // outside of all groups
    bool prefers_nothing() const { return python_ && python_->prefers_nothing(); }

private:
    struct Item {
        TreeId tree;
        uint64_t size;
        bool counts = false;  // whether a repetition with counts is inside
    };
    struct Group {
        size_t first_item = 0, first_branch = 0;  // of those that are kept for all groups
        uint64_t size = kSizeOfOperator;
        bool counts = false, captures = false;
    };
    struct Rounds {
        uint64_t low = 1, high = 1;
        bool is_given = false, is_counted = false;
    };

    char32_t peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : kEnd; }
    bool skip(char32_t character) {
        if (peek() != character) return false;
        ++at_;
        return true;
    }

    // Reads an atom with its quantifier, a bracket or a bar; says whether it is plain.
    bool step() {
        const char32_t character = peek();
        switch (character) {
            case U'|': return next_branch();
            case U'(': return open();
            case U')': return close();
            case U'[': return character_class();
            case U'.': return dot();
            case U'\\': {
                const auto escaped = escape(false);
                return escaped && literal(*escaped);
            }
            case U'^':
            case U'$':
            case U'*':
            case U'+':
            case U'?':
            case U'{':
            case U'}':
            case U']': return false;
            default: ++at_; return literal(character);
        }
    }

    // ---- groups ----
    bool open() {
        ++at_;
        const bool captures = !skip(U'?');
        if ((!captures && !skip(U':')) || groups_.size() > kMostOpen) return false;
        groups_.push_back({.first_item = items_.size(), .first_branch = branches_.size(), .captures = captures});
        if (python_) python_->open();
        return true;
    }
    bool next_branch() {
        ++at_;
        end_branch();
        groups_.back().size += kSizeOfOperator;
        if (python_) python_->next();
        return true;
    }
    void end_branch() {
        const Group& group = groups_.back();
        branches_.push_back(trees_.concat(RegexTrees::Parts(items_).subspan(group.first_item)));
        items_.resize(group.first_item);
    }
    bool close() {
        if (groups_.size() == 1) return false;
        ++at_;
        const bool captures = groups_.back().captures;
        const Item item = innermost();
        groups_.pop_back();
        return add(item, captures);
    }
    // The innermost group as a whole.
    Item innermost() {
        end_branch();
        const Group& group = groups_.back();
        const TreeId tree = trees_.alternation(RegexTrees::Parts(branches_).subspan(group.first_branch));
        branches_.resize(group.first_branch);
        if (python_) python_->close();
        return {tree, group.size, group.counts};
    }

    // ---- atoms ----
    // Adds an item as often as the quantifier after it says. For Python: whether it stays one thing without any.
    bool add(const Item& item, bool is_one) {
        const auto rounds = quantifier();
        if (!rounds || (rounds->is_counted && item.counts)) return false;
        Group& group = groups_.back();
        group.counts = group.counts || item.counts || rounds->is_counted;
        const uint64_t copies = rounds->high == RegexTrees::kEndless ? rounds->low + 1 : rounds->high;
        const uint64_t size = item.size + (rounds->is_given ? kSizeOfOperator : 0);
        group.size += rounds->is_counted ? size * std::max<uint64_t>(copies, 1) : size;
        const TreeId tree = rounds->is_given ? trees_.repeat(item.tree, rounds->low, rounds->high) : item.tree;
        items_.push_back(tree);
        if (python_) python_->place(is_one || rounds->is_given, trees_.nullable(tree));
        return true;
    }
    bool literal(char32_t character) {
        TreeId once = RegexTrees::kEmpty;
        TreeId& tree = character < known_.size() ? known_[character] : once;  // most are there more than once
        if (tree == RegexTrees::kEmpty) tree = trees_.chars({{character, character}});
        if (python_) python_->character({PythonBranches::Members{character}});
        return add({tree, character < 0x80 ? 1 : kSizeOfSet}, false);
    }
    bool dot() {
        ++at_;
        const Ranges ends = dialect_ == PatternDialect::kEcma ? Ranges{{0x0A, 0x0A}, {0x0D, 0x0D}, {0x2028, 0x2029}}
                                                              : Ranges{{0x0A, 0x0A}};
        if (python_) python_->character({PythonBranches::kDot});
        return add({trees_.chars(inverted(ends)), kSizeOfSet + kSizeOfMember}, false);
    }
    // The rounds of the quantifier at the place, or one; nothing if it is not plain, or another one follows.
    std::optional<Rounds> quantifier() {
        Rounds out{.is_given = true};
        switch (peek()) {
            case U'*': out.low = 0, out.high = RegexTrees::kEndless; break;
            case U'+': out.high = RegexTrees::kEndless; break;
            case U'?': out.low = 0; break;
            case U'{': {
                const auto counted = counts();
                if (!counted) return std::nullopt;
                out = *counted;
                break;
            }
            default: return Rounds{};
        }
        ++at_;
        const char32_t next = peek();
        if (next == U'*' || next == U'+' || next == U'?' || next == U'{') return std::nullopt;
        return out;
    }
    // Reads {m}, {m,} or {m,n} up to its last bracket.
    std::optional<Rounds> counts() {
        ++at_;
        const auto low = number();
        if (!low) return std::nullopt;
        Rounds out{.low = *low, .high = *low, .is_given = true, .is_counted = true};
        if (skip(U',')) {
            out.high = RegexTrees::kEndless;
            if (peek() != U'}') {
                const auto high = number();
                if (!high || *high < *low) return std::nullopt;
                out.high = *high;
            }
        }
        return peek() == U'}' ? std::optional(out) : std::nullopt;
    }
    std::optional<uint64_t> number() {
        const size_t begin = at_;
        uint64_t value = 0;
        while (peek() >= U'0' && peek() <= U'9' && at_ - begin < 3) value = value * 10 + (text_[at_++] - U'0');
        return at_ == begin || value > kMostRounds ? std::nullopt : std::optional(value);
    }

    // ---- characters ----
    std::optional<char32_t> escape(bool in_class) {
        const char32_t character = peek(1);
        at_ += 2;
        switch (character) {
            case U'n': return U'\n';
            case U't': return U'\t';
            case U'r': return U'\r';
            case U'f': return U'\f';
            case U'v': return U'\v';
            case U'x': return hexadecimal();
            case U'-':
                if (in_class) return character;
                break;
            default: break;
        }
        constexpr std::u32string_view kEverywhere = U"\\^$.*+?()[]{}|/";
        if (kEverywhere.find(character) != std::u32string_view::npos) return character;
        const bool is_sign = character > 0x20 && character < 0x7F && !is_ascii_letter_or_digit(character);
        if (!is_sign || dialect_ == PatternDialect::kEcma || character == U'<' || character == U'>')
            return std::nullopt;
        return character;
    }
    std::optional<char32_t> hexadecimal() {
        const auto high = hex_digit(peek()), low = hex_digit(peek(1));
        if (!high || !low || *high > 7) return std::nullopt;
        at_ += 2;
        return *high << 4 | *low;
    }
    bool character_class() {
        ++at_;
        const bool negated = skip(U'^');
        Ranges ranges;
        PythonBranches::Members members;
        if (skip(U'-')) {
            if (peek() == U'-') return false;
            ranges.emplace_back(U'-', U'-');
            members.push_back(U'-');
        }
        while (!skip(U']'))
            if (!class_member(ranges, members)) return false;
        if (ranges.empty()) return false;
        const uint64_t size = kSizeOfSet + kSizeOfMember * ranges.size();
        if (python_) python_->character(as_python_has(members, negated));
        Ranges sorted = normalise(std::move(ranges));
        return add({trees_.chars(negated ? inverted(sorted) : std::move(sorted)), size}, false);
    }
    bool class_member(Ranges& ranges, PythonBranches::Members& members) {
        const auto low = class_character();
        if (!low) return false;
        if (peek() != U'-' || peek(1) == U']') {
            ranges.emplace_back(*low, *low);
            if (python_) members.push_back(*low);
            return true;
        }
        ++at_;
        if (peek() == U'-') return false;
        const auto high = class_character();
        if (!high || *high >= 0x80 || *low > *high) return false;
        ranges.emplace_back(*low, *high);
        if (python_) members.push_back(PythonBranches::member(*low, *high));
        return true;
    }
    // A character of a class; a hyphen only at the end.
    std::optional<char32_t> class_character() {
        const char32_t character = peek();
        if (character == U'\\') return escape(true);
        const bool is_doubled = peek(1) == character && (character == U'&' || character == U'~' || character == U'|');
        if (character == kEnd || character == U'[' || is_doubled || (character == U'-' && peek(1) != U']'))
            return std::nullopt;
        ++at_;
        return character;
    }
    static PythonBranches::Members as_python_has(const PythonBranches::Members& members, bool negated) {
        PythonBranches::Members out;
        if (negated) out.push_back(PythonBranches::kNot);
        for (uint64_t member : members)
            if (std::ranges::find(out, member) == out.end()) out.push_back(member);
        return out;
    }

    RegexTrees& trees_;
    const std::u32string_view text_;
    const PatternDialect dialect_;
    size_t at_ = 0;
    bool has_branches_ = false;
    std::vector<Group> groups_;  // the open ones
    std::vector<TreeId> items_;  // of the current branch of each open group
    std::vector<TreeId> branches_;
    std::array<TreeId, 0x80> known_{};  // [character], kEmpty if it was not there yet
    std::optional<PythonBranches> python_;
};

// The code points of a pattern; nothing if it is not plain for a reason that is seen at once.
std::optional<std::u32string> code_points(std::string_view utf8, PatternDialect dialect) {
    if (utf8.size() > kMostBytes) return std::nullopt;
    std::u32string text = from_utf8(utf8);
    // Sets of Rust's crate take the surrogates with U+E000: `with_surrogates` in schemagen/regex/rust_sets.py.
    const char32_t most = dialect == PatternDialect::kRust ? 0xE000 : 0xDFFF;
    if (std::ranges::any_of(text, [&](char32_t each) { return each >= 0xD800 && each <= most; })) return std::nullopt;
    return text;
}

// ---- searches -------------------------------------------------------------------------------------------------------

std::vector<TreeId> parts_of(const RegexTrees& trees, TreeId id) {
    if (trees.kind(id) != RegexTrees::Kind::kConcat) return {id};
    return {trees.parts(id).begin(), trees.parts(id).end()};
}

// The part beside anything: a repetition need not go on after the fewest rounds.
void shorten(RegexTrees& trees, TreeId& last) {
    if (trees.kind(last) != RegexTrees::Kind::kRepeat) return;
    const uint64_t low = trees.low(last);
    last = trees.repeat(trees.parts(last)[0], low, low);
}

// `absorb_right` of schemagen/regex/edges.py: a tree and anything after it.
TreeId before_anything(RegexTrees& trees, TreeId id) {
    if (trees.nullable(id)) return RegexTrees::kAnyString;
    std::vector<TreeId> parts = parts_of(trees, id);
    while (trees.nullable(parts.back())) parts.pop_back();
    shorten(trees, parts.back());
    parts.push_back(RegexTrees::kAnyString);
    return trees.concat(parts);
}

// `absorb_left` there: anything, and a tree after it.
TreeId after_anything(RegexTrees& trees, TreeId id) {
    if (trees.nullable(id)) return RegexTrees::kAnyString;
    std::vector<TreeId> parts = parts_of(trees, id);
    const auto first = std::ranges::find_if_not(parts, [&](TreeId part) { return trees.nullable(part); });
    parts.erase(parts.begin(), first);
    shorten(trees, parts.front());
    parts.insert(parts.begin(), RegexTrees::kAnyString);
    return trees.concat(parts);
}

// The texts of a tree but the empty one, as `restrict_last` there writes those that end with some character; nothing
// where it needs a conjunction.
std::optional<TreeId> with_last_character(RegexTrees& trees, TreeId id) {
    constexpr size_t kMostSplits = 4;
    if (!trees.nullable(id)) return id;
    const std::vector<TreeId> parts(trees.parts(id).begin(), trees.parts(id).end());
    if (trees.kind(id) == RegexTrees::Kind::kConcat) {
        if (parts.size() > kMostSplits) return std::nullopt;
        TreeId out = RegexTrees::kEmpty;
        for (size_t k = parts.size(); k-- > 0;) {
            const auto last = with_last_character(trees, parts[k]);
            if (!last) return std::nullopt;
            const TreeId here[] = {parts[k], out};
            const TreeId ways[] = {trees.concat(here), *last};
            out = trees.alternation(ways);
        }
        return out;
    }
    if (trees.kind(id) == RegexTrees::Kind::kAlternation) {
        std::vector<TreeId> ways;
        for (TreeId part : parts) {
            const auto way = with_last_character(trees, part);
            if (!way) return std::nullopt;
            ways.push_back(*way);
        }
        return trees.alternation(ways);
    }
    const uint64_t low = trees.low(id), high = trees.high(id);
    if (!trees.nullable(parts[0])) return trees.repeat(parts[0], std::max<uint64_t>(low, 1), high);
    const auto last = with_last_character(trees, parts[0]);
    if (!last) return std::nullopt;
    const TreeId rounds[] = {trees.repeat(parts[0], 0, high == RegexTrees::kEndless ? high : high - 1), *last};
    return trees.concat(rounds);
}

// A tree before the end of the text, as schemagen/regex/assertions.py puts it there.
std::optional<TreeId> at_end(RegexTrees& trees, TreeId id) {
    if (!trees.nullable(id) || id == RegexTrees::kEpsilon) return id;
    const auto some = with_last_character(trees, id);
    if (!some || trees.size_of(*some).operators > kMostOperators) return std::nullopt;
    if (trees.kind(*some) == RegexTrees::Kind::kRepeat && trees.low(*some) == 1) {
        const TreeId inner = trees.parts(*some)[0];
        return trees.repeat(inner, 0, trees.high(*some));
    }
    return trees.optional(*some);
}

// Whether a text ends with `$`, and it is not escaped.
bool ends_with_anchor(std::u32string_view text) {
    if (!text.ends_with(U'$')) return false;
    text.remove_suffix(1);
    const size_t last = text.find_last_not_of(U'\\');
    return (text.size() - (last == std::u32string_view::npos ? 0 : last + 1)) % 2 == 0;
}

}  // namespace

std::optional<PlainPattern> plain_pattern(RegexTrees& trees, std::string_view utf8, PatternDialect dialect) {
    const auto text = code_points(utf8, dialect);
    if (!text) return std::nullopt;
    const bool keeps_branches = dialect == PatternDialect::kPython && text->find(U'|') != std::u32string::npos;
    Reader reader(trees, *text, dialect, keeps_branches);
    const auto tree = reader.tree();
    if (!tree) return std::nullopt;
    return PlainPattern{*tree, reader.prefers_nothing()};
}

std::optional<TreeId> plain_search(RegexTrees& trees, std::string_view utf8, PatternDialect dialect) {
    const auto given = code_points(utf8, dialect);
    if (!given) return std::nullopt;
    std::u32string_view text = *given;
    const bool begins = text.starts_with(U'^');
    if (begins) text.remove_prefix(1);
    const bool ends = dialect != PatternDialect::kPython && ends_with_anchor(text);
    if (ends) text.remove_suffix(1);
    Reader reader(trees, text, dialect, false);
    const auto tree = reader.tree();
    if (!tree || ((begins || ends) && reader.has_branches())) return std::nullopt;
    if (!ends) {
        const TreeId found = before_anything(trees, *tree);
        return begins ? found : after_anything(trees, found);
    }
    if (begins) return at_end(trees, *tree);
    const TreeId parts[] = {RegexTrees::kAnyString, *tree};
    return at_end(trees, trees.concat(parts));
}

}  // namespace schemagen
