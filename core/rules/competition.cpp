#include "rules/competition.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rules/beside.hpp"
#include "util/bits.hpp"
#include "util/utf8.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

constexpr size_t kMaxTested = 16;  // rivals of which patterns are each tested for longer texts
constexpr uint32_t kNone = UINT32_MAX;

// Kinds that have only one text, in order, so that those that begin with one are next to each other.
class Words {
public:
    Words(const std::vector<TerminalKind>& kinds, const RegexTrees& trees);
    bool has(uint32_t kind) const { return at_[kind] != kNone; }
    const std::u32string& text(uint32_t kind) const { return words_[at_[kind]].first; }
    // Those that begin with the text of one, itself among them.
    template <class Use>
    void each_longer(uint32_t kind, const Use& use) const {
        size_t at = at_[kind];
        const std::u32string& text = words_[at].first;
        while (at > 0 && words_[at - 1].first == text) --at;
        for (; at < words_.size() && words_[at].first.starts_with(text); ++at) use(words_[at].second);
    }
    // Those that the text of one begins with.
    template <class Use>
    void each_shorter(uint32_t kind, const Use& use) const {
        for (uint32_t at = shorter_[at_[kind]]; at != kNone; at = shorter_[at]) use(words_[at].second);
    }

private:
    std::vector<std::pair<std::u32string, uint32_t>> words_;
    std::vector<uint32_t> at_;       // [kind] of words_, or kNone
    std::vector<uint32_t> shorter_;  // [word] the next one before it that it begins with
};

Words::Words(const std::vector<TerminalKind>& kinds, const RegexTrees& trees) : at_(kinds.size(), kNone) {
    for (uint32_t kind = 0; kind < kinds.size(); ++kind)
        if (auto text = trees.only_text(kinds[kind].text)) words_.emplace_back(std::move(*text), kind);
    poll();
    std::ranges::sort(words_);
    uint32_t before = kNone;
    for (uint32_t at = 0; at < words_.size(); ++at) {
        const auto& [text, kind] = words_[at];
        at_[kind] = at;
        while (before != kNone && !text.starts_with(words_[before].first)) before = shorter_[before];
        shorter_.push_back(before);
        before = at;
    }
}

// Which kinds have texts that may begin alike; a pair that is not decided at once counts as alike.
class Alike {
public:
    Alike(const std::vector<TerminalKind>& kinds, const RegexTrees& trees);
    const Words& words() const { return words_; }
    const uint64_t* patterns() const { return sets_[0]; }  // kinds that are no words
    bool are(uint32_t kind, uint32_t other) {
        if (words_.has(kind) && words_.has(other))
            return words_.text(kind).starts_with(words_.text(other)) ||
                   words_.text(other).starts_with(words_.text(kind));
        return has_bit(to_first(first_of_[kind]), other);
    }
    // The patterns alike to a kind, and for a pattern the words; those alike to a word are told by `words`.
    void put(uint32_t kind, uint64_t* out) {
        const uint64_t* alike = to_first(first_of_[kind]);
        for (size_t w = 0; w < sets_.words(); ++w) out[w] = words_.has(kind) ? alike[w] & patterns()[w] : alike[w];
    }

private:
    static bool overlap(const Ranges& one, const Ranges& other);
    void add(uint32_t kind, std::optional<Ranges> first);
    const uint64_t* to_first(uint32_t first);

    Words words_;
    std::map<std::optional<Ranges>, uint32_t> numbers_;
    std::vector<const std::optional<Ranges>*> firsts_;  // different sets of characters; nullopt is not known
    std::vector<uint32_t> first_of_;                    // [kind] of firsts_
    std::vector<std::vector<uint32_t>> members_;        // [first] the kinds
    BitSets sets_;
    std::vector<uint32_t> to_;  // [first] of sets_: the kinds that may begin so; or kNone
};

Alike::Alike(const std::vector<TerminalKind>& kinds, const RegexTrees& trees)
    : words_(kinds, trees), first_of_(kinds.size()), sets_(1, kinds.size()) {
    for (uint32_t kind = 0; kind < kinds.size(); ++kind) {
        poll();
        if (words_.has(kind)) {
            add(kind, Ranges{{words_.text(kind)[0], words_.text(kind)[0]}});
        } else {
            sets_.add(0, kind);
            add(kind, trees.first_characters(kinds[kind].text));
        }
    }
    to_.resize(firsts_.size(), kNone);
}

void Alike::add(uint32_t kind, std::optional<Ranges> first) {
    const auto [known, is_new] = numbers_.try_emplace(std::move(first), static_cast<uint32_t>(firsts_.size()));
    if (is_new) firsts_.push_back(&known->first), members_.emplace_back();
    first_of_[kind] = known->second;
    members_[known->second].push_back(kind);
}

bool Alike::overlap(const Ranges& one, const Ranges& other) {
    for (auto left = one.begin(), right = other.begin(); left != one.end() && right != other.end();) {
        if (left->second < right->first)
            ++left;
        else if (right->second < left->first)
            ++right;
        else
            return true;
    }
    return false;
}

const uint64_t* Alike::to_first(uint32_t first) {
    if (to_[first] == kNone) {
        poll();
        const size_t set = sets_.append();
        const auto& own = *firsts_[first];
        for (size_t each = 0; each < firsts_.size(); ++each) {
            const auto& other = *firsts_[each];
            if (own && (own->empty() || (other && !overlap(*own, *other)))) continue;
            for (uint32_t kind : members_[each]) sets_.add(set, kind);
        }
        to_[first] = static_cast<uint32_t>(set);
    }
    return sets_[to_[first]];
}

// Questions about the texts of kinds, with an allowance of their own; if it does not suffice, the answer is that it may
// be so.
class Questions {
public:
    Questions(const std::vector<TerminalKind>& kinds, const Words& words, RegexTrees& trees, Kernel& kernel)
        : kinds_(kinds), words_(words), trees_(trees), kernel_(kernel) {}
    bool may_have_text(TreeId tree);
    // Whether some text of `kind` begins with a text of `begin`, and if `longer`, goes on after it.
    bool may_begin(uint32_t kind, uint32_t begin, bool longer);
    // Whether a word is shown to be a text of a pattern.
    bool has(uint32_t pattern, uint32_t word) { return walk(word, pattern).inside; }

private:
    class Allowance;
    struct Walk {
        bool inside = false;  // the word is a text of the pattern
        bool before = false;  // so is a prefix of it, not all of it
        bool after = false;   // the pattern has texts that begin with the word and are longer
    };
    const Walk& walk(uint32_t word, uint32_t pattern);
    Walk walked(std::string_view word, NodeId node);
    bool has_more(NodeId node);
    bool may_begin_by_search(uint32_t kind, uint32_t begin, bool longer);
    NodeId node(TreeId tree);
    // What `ask` answers, or `otherwise` where that would take too long.
    template <class Answer, class Ask>
    Answer unless_long(Answer otherwise, const Ask& ask);

    const std::vector<TerminalKind>& kinds_;
    const Words& words_;
    RegexTrees& trees_;
    Kernel& kernel_;
    std::unordered_map<uint64_t, Walk> walks_;     // by word and pattern
    std::unordered_map<uint64_t, bool> found_[2];  // by beginning and kind; [longer]
    std::unordered_map<NodeId, bool> has_more_;
};

// What one question may cost, as is_empty of schemagen/regex/language.py has it.
class Questions::Allowance {
public:
    explicit Allowance(Kernel& kernel) : kernel_(kernel) {
        constexpr uint64_t kStates = 10'000, kPerCharacter = 8;  // bytes, and intervals of characters
        budget_.max_nodes = kStates * kPerCharacter * Budget::kNodesPerState;
        outer_ = kernel.charge(&budget_);
    }
    ~Allowance() { kernel_.charge(outer_); }
    Allowance(const Allowance&) = delete;
    Allowance& operator=(const Allowance&) = delete;

private:
    Kernel& kernel_;
    Budget budget_;
    Budget* outer_;
};

template <class Answer, class Ask>
Answer Questions::unless_long(Answer otherwise, const Ask& ask) {
    poll();
    try {
        return ask();
    } catch (const LimitExceeded& error) {
        if (error.limit != Limit::kStates && error.limit != Limit::kNodes) throw;
        return otherwise;
    } catch (const RegexTrees::CountTooLarge&) {
        return otherwise;
    }
}

// Nodes of the texts themselves are not what the allowance is for.
NodeId Questions::node(TreeId tree) {
    struct Free {
        Kernel& kernel;
        Budget* outer;
        ~Free() { kernel.charge(outer); }
    };
    const Free free{kernel_, kernel_.charge(nullptr)};
    return trees_.node(tree, kernel_);
}

bool Questions::may_have_text(TreeId tree) {
    return unless_long(true, [&] {
        const NodeId all = node(tree);
        const Allowance allowance(kernel_);
        return !kernel_.is_empty(all);
    });
}

bool Questions::may_begin(uint32_t kind, uint32_t begin, bool longer) {
    if (words_.has(begin) && words_.has(kind)) {
        const std::u32string &text = words_.text(kind), &start = words_.text(begin);
        return text.starts_with(start) && (!longer || text.size() > start.size());
    }
    if (words_.has(begin)) {
        const Walk& found = walk(begin, kind);
        return found.after || (!longer && found.inside);
    }
    if (words_.has(kind)) {
        const Walk& found = walk(kind, begin);
        return found.before || (!longer && found.inside);
    }
    return may_begin_by_search(kind, begin, longer);
}

bool Questions::may_begin_by_search(uint32_t kind, uint32_t begin, bool longer) {
    const auto [known, is_new] = found_[longer].try_emplace(uint64_t{begin} << 32 | kind, true);
    if (is_new)
        known->second = unless_long(true, [&] {
            const NodeId start = node(kinds_[begin].text), whole = node(kinds_[kind].text);
            const NodeId rest = node(longer ? RegexTrees::kSomeText : RegexTrees::kAnyString);
            const Allowance allowance(kernel_);
            return !kernel_.is_empty(kernel_.conjunction({kernel_.concat(start, rest), whole}));
        });
    return known->second;
}

const Questions::Walk& Questions::walk(uint32_t word, uint32_t pattern) {
    const auto [known, is_new] = walks_.try_emplace(uint64_t{word} << 32 | pattern, Walk{false, true, true});
    if (is_new)
        known->second = unless_long(known->second, [&] {
            const NodeId all = node(kinds_[pattern].text);
            const Allowance allowance(kernel_);
            std::string bytes;
            for (char32_t character : words_.text(word)) append_utf8(bytes, character);
            return walked(bytes, all);
        });
    return known->second;
}

Questions::Walk Questions::walked(std::string_view word, NodeId node) {
    Walk out;
    for (size_t at = 0; at < word.size() && node != kEmpty; ++at) {
        poll();
        out.before = out.before || kernel_.nullable(node);
        node = kernel_.derivative(node, static_cast<uint8_t>(word[at]));
    }
    out.inside = kernel_.nullable(node);
    out.after = has_more(node);
    return out;
}

// Whether it has a text that is not empty.
bool Questions::has_more(NodeId node) {
    if (node == kEmpty || node == kEpsilon) return false;
    if (!kernel_.nullable(node)) return !kernel_.is_empty(node);
    if (const auto known = has_more_.find(node); known != has_more_.end()) return known->second;
    const ByteCuts cuts = kernel_.cuts(node);
    bool found = false;
    for (unsigned byte = 0; byte < 256 && !found; ++byte)
        if (byte == 0 || cuts[byte >> 6] >> (byte & 63) & 1)
            found = !kernel_.is_empty(kernel_.derivative(node, static_cast<uint8_t>(byte)));
    return has_more_[node] = found;
}

// How kinds are read beside others.
class Readings {
public:
    Readings(const std::vector<TerminalKind>& kinds, bool longest, RegexTrees& trees, Kernel& kernel);
    // Whether some terminal matters to another, in any place.
    bool compete();
    // How a kind is read beside those of a set.
    const TerminalUse& use(uint32_t number, const uint64_t* beside);

private:
    using Kinds = std::vector<uint32_t>;
    TerminalUse made(uint32_t number, const Kinds& beside);
    void put_rivals(uint32_t number);
    Kinds tested(uint32_t number, const Kinds& rivals);
    TreeId longer(const Kinds& rivals, const Kinds& lazy);
    bool is_spare(uint32_t word, const Kinds& patterns);
    TreeId before_first(uint32_t number, const Kinds& lazy);
    TreeId cut(uint32_t number, const Kinds& cuts);
    bool is_together(uint32_t number) const { return longest_ || kinds_[number].dispatched; }

    const std::vector<TerminalKind>& kinds_;
    const bool longest_;
    RegexTrees& trees_;
    Alike alike_;
    Questions questions_;
    BitSets lazy_, rivals_;  // one each: the lazy kinds, and a scratch
    Kinds asking_;
    InternedLists asked_;  // a kind, and those beside it that matter
    std::vector<TerminalUse> answers_;
    InternedLists cut_lists_;  // a kind, and those that may end it
    std::vector<TreeId> cuts_;
};

Readings::Readings(const std::vector<TerminalKind>& kinds, bool longest, RegexTrees& trees, Kernel& kernel)
    : kinds_(kinds),
      longest_(longest),
      trees_(trees),
      alike_(kinds, trees),
      questions_(kinds, alike_.words(), trees, kernel),
      lazy_(1, kinds.size()),
      rivals_(1, kinds.size()),
      answers_(1),
      cuts_(1) {
    for (uint32_t kind = 0; kind < kinds.size(); ++kind)
        if (kinds[kind].lazy) lazy_.add(0, kind);
}

bool Readings::compete() {
    auto matters = [&](uint32_t number) {
        poll();
        bool found = false;
        auto see = [&](uint32_t other) { found = found || (other != number && is_together(other)); };
        alike_.put(number, rivals_[0]);
        rivals_.each(0, see);
        if (!found && alike_.words().has(number)) {
            alike_.words().each_longer(number, see);
            alike_.words().each_shorter(number, see);
        }
        return found;
    };
    for (uint32_t number = 0; number < kinds_.size(); ++number)
        if (is_together(number) && matters(number)) return true;
    return false;
}

// The kinds that may begin like one, except words that are never longer.
void Readings::put_rivals(uint32_t number) {
    alike_.put(number, rivals_[0]);
    if (!alike_.words().has(number)) return;
    alike_.words().each_longer(number, [&](uint32_t other) { rivals_.add(0, other); });
    alike_.words().each_shorter(number, [&](uint32_t other) {
        if (kinds_[other].lazy) rivals_.add(0, other);
    });
}

const TerminalUse& Readings::use(uint32_t number, const uint64_t* beside) {
    poll();
    put_rivals(number);
    rivals_.unite(0, lazy_[0]);
    const bool is_own = rivals_.has(0, number);
    rivals_.intersect(0, beside);
    if (is_own) rivals_.add(0, number);
    asking_.assign(1, number);
    rivals_.each(0, [&](uint32_t other) { asking_.push_back(other); });
    const auto known = static_cast<uint32_t>(asked_.size());
    const uint32_t id = asked_.intern(asking_);
    if (id == known) answers_.push_back(made(number, {asking_.begin() + 1, asking_.end()}));
    return answers_[id];
}

TerminalUse Readings::made(uint32_t number, const Kinds& beside) {
    Kinds lazy;
    std::ranges::copy_if(beside, std::back_inserter(lazy), [&](uint32_t each) { return kinds_[each].lazy; });
    const TreeId text = before_first(number, lazy);
    const bool is_word = alike_.words().has(number) && text == kinds_[number].text;
    if (!is_word && !questions_.may_have_text(text)) return {number, RegexTrees::kEmpty, RegexTrees::kEmpty};
    if (kinds_[number].lazy || !longest_) return {number, text, RegexTrees::kEmpty};
    Kinds rivals;
    put_rivals(number);
    std::ranges::copy_if(beside, std::back_inserter(rivals), [&](uint32_t each) { return rivals_.has(0, each); });
    return {number, text, longer(tested(number, rivals), lazy)};
}

// Those with texts that go on after one of a kind: one that has none only costs time. Patterns are searched if there
// are few rivals.
Readings::Kinds Readings::tested(uint32_t number, const Kinds& rivals) {
    Kinds out;
    const Words& words = alike_.words();
    for (uint32_t each : rivals) {
        const bool is_kept = rivals.size() > kMaxTested && !words.has(number) && !words.has(each);
        if (is_kept || questions_.may_begin(each, number, true)) out.push_back(each);
    }
    return out;
}

// The texts of some kinds, words left out that a pattern among them has.
TreeId Readings::longer(const Kinds& rivals, const Kinds& lazy) {
    std::vector<TreeId> parts;
    Kinds patterns;
    for (uint32_t each : rivals) {
        if (alike_.words().has(each)) continue;
        parts.push_back(before_first(each, lazy));
        if (parts.back() == kinds_[each].text) patterns.push_back(each);
    }
    for (uint32_t each : rivals)
        if (alike_.words().has(each) && !is_spare(each, patterns)) parts.push_back(before_first(each, lazy));
    return trees_.alternation(parts);
}

bool Readings::is_spare(uint32_t word, const Kinds& patterns) {
    return std::ranges::any_of(
        patterns, [&](uint32_t pattern) { return alike_.are(pattern, word) && questions_.has(pattern, word); });
}

// The texts of a kind during which no lazy one of those that may end it has a match that ends before.
TreeId Readings::before_first(uint32_t number, const Kinds& lazy) {
    Kinds list{number};
    for (uint32_t each : lazy)
        if ((each == number || (is_together(each) && is_together(number))) && alike_.are(number, each))
            list.push_back(each);
    if (list.size() == 1) return kinds_[number].text;
    const auto known = static_cast<uint32_t>(cut_lists_.size());
    const uint32_t id = cut_lists_.intern(list);
    if (id == known) cuts_.push_back(cut(number, {list.begin() + 1, list.end()}));
    return cuts_[id];
}

TreeId Readings::cut(uint32_t number, const Kinds& cuts) {
    const bool is_lazy = kinds_[number].lazy;
    std::vector<TreeId> parts{kinds_[number].text};
    for (uint32_t each : cuts) {
        if (!questions_.may_begin(number, each, is_lazy)) continue;
        const TreeId ended[] = {kinds_[each].text, is_lazy ? RegexTrees::kSomeText : RegexTrees::kAnyString};
        parts.push_back(trees_.complement(trees_.concat(ended)));
    }
    return parts.size() == 1 ? parts[0] : trees_.conjunction(parts);
}

}  // namespace

Lists<TerminalUse> competing(const std::vector<TerminalKind>& kinds, const CompetitionRules& rules, bool longest,
                             RegexTrees& trees, Kernel& kernel) {
    Readings readings(kinds, longest, trees, kernel);
    const BitSets beside =
        readings.compete() ? kinds_beside(rules, kinds.size()) : BitSets(rules.kinds.size(), kinds.size());
    Lists<TerminalUse> out;
    out.reserve(rules.kinds.size(), rules.kinds.all().size());
    for (size_t place = 0; place < rules.kinds.size(); ++place) {
        for (uint32_t kind : rules.kinds[place]) out.push(readings.use(kind, beside[place]));
        out.end();
    }
    return out;
}

}  // namespace schemagen
