// Competing terminals: random small grammars against sets of items solved the plain way, and examples by hand.
#include <algorithm>
#include <climits>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "context_free/items.hpp"
#include "rules/competition.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

using Set = std::set<uint32_t>;

Set common(const Set& one, const Set& other) {
    Set out;
    for (uint32_t each : one)
        if (other.contains(each)) out.insert(each);
    return out;
}

// All texts over a and b up to a length.
std::vector<std::string> short_texts(size_t length) {
    std::vector<std::string> out{""};
    for (size_t at = 0; at < out.size(); ++at)
        if (out[at].size() < length) {
            const std::string text = out[at];
            out.push_back(text + "a");
            out.push_back(text + "b");
        }
    return out;
}

struct Texts {
    RegexTrees trees;
    Kernel kernel;

    TreeId word(std::u32string_view text) { return trees.literal(text); }
    TreeId some(TreeId inner) { return trees.repeat(inner, 1, RegexTrees::kEndless); }
    TreeId any(TreeId inner) { return trees.repeat(inner, 0, RegexTrees::kEndless); }
    TreeId both() { return trees.chars({{'a', 'b'}}); }
    TreeId row(const std::vector<TreeId>& parts) { return trees.concat(parts); }
    bool has(TreeId tree, std::string_view text) {
        NodeId node = trees.node(tree, kernel);
        for (char c : text) node = kernel.derivative(node, static_cast<uint8_t>(c));
        return kernel.nullable(node);
    }
    // Whether a tree has these texts among all those up to a length.
    bool are(TreeId tree, const std::set<std::string>& texts, size_t length = 4) {
        bool same = true;
        for (const std::string& text : short_texts(length)) same = same && has(tree, text) == texts.contains(text);
        return same;
    }
};

// The equations of competition.hpp, solved by going over all of them again and again.
class PlainSolver {
public:
    explicit PlainSolver(const CompetitionRules& rules) : rules_(rules) {
        for (size_t rule = 0; rule < rules.bodies.size(); ++rule) {
            const RuleItems items = items_of(rules.bodies[rule]);
            const auto first = static_cast<uint32_t>(rule_of_.size());
            starts_.push_back(first);
            for (uint32_t at = 0; at < items.size(); ++at) {
                if (items.accepting[at]) accepting_.insert(first + at);
                for (const auto& [symbol, to] : items.edges[at]) edges_.push_back({first + at, symbol, first + to});
                rule_of_.push_back(static_cast<uint32_t>(starts_.size() - 1));
            }
        }
        for (uint32_t item = 0; item < rule_of_.size(); ++item) everything_.insert(item);
        find_nullable();
        find_rows();
        add_followers();
        find_beside();
    }
    bool reaches_all() const {
        Set rules{rules_.start};
        for (size_t k = 0; k < starts_.size(); ++k)
            for (const Edge& edge : edges_)
                if (is_call(edge) && rules.contains(rule_of_[edge.at])) rules.insert(callee(edge));
        return rules.size() == starts_.size();
    }
    // The kinds that are beside a place wherever it is.
    Set kinds_at(uint32_t place) const {
        Set out;
        bool is_first = true;
        for (const Edge& edge : edges_) {
            if (edge.symbol != place) continue;
            Set here;
            for (const Edge& other : edges_)
                if (!is_call(other) && beside_[edge.at].contains(other.at))
                    here.insert(rules_.kinds[other.symbol].begin(), rules_.kinds[other.symbol].end());
            out = is_first ? here : common(out, here);
            is_first = false;
        }
        return out;
    }

private:
    struct Edge {
        uint32_t at, symbol, to;
    };
    bool is_call(const Edge& edge) const { return edge.symbol >= rules_.kinds.size(); }
    uint32_t callee(const Edge& edge) const { return edge.symbol - static_cast<uint32_t>(rules_.kinds.size()); }
    static void until_stable(auto& values, const std::function<void()>& step) {
        for (auto before = values;; before = values) {
            step();
            if (values == before) return;
        }
    }

    void find_nullable() {
        Set reached(starts_.begin(), starts_.end());
        until_stable(reached, [&] {
            for (uint32_t item : accepting_)
                if (reached.contains(item)) nullable_.insert(rule_of_[item]);
            for (const Edge& edge : edges_)
                if (is_call(edge) && nullable_.contains(callee(edge)) && reached.contains(edge.at))
                    reached.insert(edge.to);
        });
    }
    void find_rows() {
        for (uint32_t item : everything_) rows_.push_back({item});
        until_stable(rows_, [&] {
            for (const Edge& edge : edges_) {
                if (!is_call(edge)) continue;
                rows_[edge.at].insert(rows_[starts_[callee(edge)]].begin(), rows_[starts_[callee(edge)]].end());
                if (nullable_.contains(callee(edge)))
                    rows_[edge.at].insert(rows_[edge.to].begin(), rows_[edge.to].end());
            }
        });
    }
    void add_followers() {
        std::vector<Set> follow(starts_.size(), everything_);
        follow[rules_.start].clear();
        until_stable(follow, [&] {
            for (const Edge& edge : edges_) {
                if (!is_call(edge)) continue;
                Set after = rows_[edge.to];
                if (accepting_.contains(edge.to))
                    after.insert(follow[rule_of_[edge.at]].begin(), follow[rule_of_[edge.at]].end());
                follow[callee(edge)] = common(follow[callee(edge)], after);
            }
        });
        for (uint32_t item : accepting_)
            rows_[item].insert(follow[rule_of_[item]].begin(), follow[rule_of_[item]].end());
    }
    Set moved(const Set& items, const std::function<bool(const Edge&)>& reads) const {
        Set out;
        for (const Edge& edge : edges_)
            if (items.contains(edge.at) && reads(edge)) out.insert(rows_[edge.to].begin(), rows_[edge.to].end());
        return out;
    }
    void narrow(uint32_t item, Set to) {
        to.insert(rows_[item].begin(), rows_[item].end());
        beside_[item] = common(beside_[item], to);
    }
    void find_beside() {
        beside_.assign(rule_of_.size(), everything_);
        narrow(starts_[rules_.start], {});
        until_stable(beside_, [&] {
            for (const Edge& edge : edges_) is_call(edge) ? pass_call(edge) : pass_kinds(edge);
        });
    }
    void pass_kinds(const Edge& edge) {
        for (uint32_t kind : rules_.kinds[edge.symbol])
            narrow(edge.to, moved(beside_[edge.at], [&](const Edge& other) {
                       if (is_call(other)) return false;
                       const auto& kinds = rules_.kinds[other.symbol];
                       return std::ranges::find(kinds, kind) != kinds.end();
                   }));
    }
    void pass_call(const Edge& edge) {
        const uint32_t rule = callee(edge);
        Set after = moved(beside_[edge.at], [&](const Edge& other) { return other.symbol == edge.symbol; });
        Set at_end = everything_;
        bool ends = false;
        for (uint32_t item : accepting_) {
            const bool is_reached = std::ranges::any_of(edges_, [&](const Edge& each) { return each.to == item; });
            if (rule_of_[item] != rule || (item == starts_[rule] && !is_reached)) continue;
            at_end = common(at_end, beside_[item]);
            ends = true;
        }
        if (ends) after.insert(at_end.begin(), at_end.end());
        narrow(edge.to, after);
        narrow(starts_[rule], beside_[edge.at]);
        if (nullable_.contains(rule)) narrow(edge.to, beside_[edge.at]);
    }

    const CompetitionRules& rules_;
    std::vector<Edge> edges_;
    std::vector<uint32_t> starts_, rule_of_;
    Set accepting_, nullable_, everything_;
    std::vector<Set> rows_, beside_;
};

// Bodies with places of their own, and calls.
class RandomRules {
public:
    explicit RandomRules(unsigned seed) : random_(seed) {}
    CompetitionRules made(uint32_t kind_count) {
        CompetitionRules out;
        const uint32_t count = 2 + below(3);
        for (uint32_t rule = 0; rule < count; ++rule) {
            bodies_.emplace_back();
            add(out, kind_count, count, 3);
        }
        for (auto& body : bodies_) {
            for (int32_t& each : body)
                if (each >= kRules) each += static_cast<int32_t>(out.kinds.size()) - kRules;
            out.bodies.add(body);
        }
        return out;
    }

private:
    static constexpr int32_t kRules = 1000;  // their numbers until the places are counted
    uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
    void add(CompetitionRules& rules, uint32_t kind_count, uint32_t rule_count, uint32_t depth) {
        auto& body = bodies_.back();
        const uint32_t what = depth ? below(8) : below(2);
        if (what == 1) {
            body.push_back(kRules + static_cast<int32_t>(below(rule_count)));
        } else if (what == 2) {
            body.insert(body.end(), {-3, ~static_cast<int32_t>(below(2)), below(2) ? ~1 : ~INT32_MAX});
            add(rules, kind_count, rule_count, depth - 1);
        } else if (what > 2) {
            const uint32_t parts = below(4);
            body.insert(body.end(), {what < 6 ? -1 : -2, ~static_cast<int32_t>(parts)});
            for (uint32_t part = 0; part < parts; ++part) add(rules, kind_count, rule_count, depth - 1);
        } else {
            body.push_back(static_cast<int32_t>(rules.kinds.size()));
            Set kinds{below(kind_count)};
            if (!below(4)) kinds.insert(below(kind_count));
            rules.kinds.add(std::vector(kinds.begin(), kinds.end()));
        }
    }

    std::mt19937 random_;
    std::vector<std::vector<int32_t>> bodies_;
};

// The texts of the kinds beside a place that go on after one of them.
std::set<std::string> longer_texts(const std::vector<std::set<std::string>>& texts, Set beside, uint32_t kind) {
    beside.insert(kind);
    std::set<std::string> out;
    for (uint32_t other : beside)
        for (const std::string& text : texts[other]) {
            bool goes_on = false;
            for (size_t size = 1; size < text.size(); ++size)
                goes_on = goes_on || texts[kind].contains(text.substr(0, size));
            if (!goes_on) continue;
            out.insert(texts[other].begin(), texts[other].end());
            break;
        }
    return out;
}

// Rules with one place that may be any of some kinds.
CompetitionRules one_place(uint32_t kind_count) {
    CompetitionRules out{{std::vector{0}}, 0, {}};
    for (uint32_t kind = 0; kind < kind_count; ++kind) out.kinds.push(kind);
    out.kinds.end();
    return out;
}

}  // namespace

TEST(the_kinds_beside_each_place_are_those_of_a_plain_solver) {
    constexpr size_t kLength = 5;
    Texts made;
    std::vector<TerminalKind> kinds;
    const TreeId a = made.word(U"a"), b = made.word(U"b");
    for (TreeId text : {a, b, made.word(U"ab"), made.word(U"aba"), made.word(U"bb"), made.some(made.both()),
                        made.row({made.any(a), b}), made.some(made.word(U"ab")), made.row({b, made.both()})})
        kinds.push_back({text, false, false});
    std::vector<std::set<std::string>> texts(kinds.size());
    for (size_t kind = 0; kind < kinds.size(); ++kind)
        for (const std::string& text : short_texts(kLength))
            if (made.has(kinds[kind].text, text)) texts[kind].insert(text);
    size_t seen = 0, between = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
        const CompetitionRules rules = RandomRules(seed).made(static_cast<uint32_t>(kinds.size()));
        const PlainSolver solver(rules);
        if (!solver.reaches_all()) continue;
        const auto found = competing(kinds, rules, true, made.trees, made.kernel);
        CHECK(found.size() == rules.kinds.size());
        for (uint32_t place = 0; place < found.size(); ++place)
            for (size_t k = 0; k < found[place].size(); ++k) {
                const TerminalUse& use = found[place][k];
                const Set beside = solver.kinds_at(place);
                CHECK(use.kind == rules.kinds[place][k] && use.text == kinds[use.kind].text);
                CHECK(made.are(use.longer, longer_texts(texts, beside, use.kind), kLength));
                ++seen, between += beside.size() > 1 && beside.size() < kinds.size();
            }
    }
    CHECK(seen > 300 && between > 100);
}

TEST(a_lazy_terminal_ends_all_beside_it) {
    Texts made;
    const TreeId many = made.some(made.both()), upto = made.row({made.any(made.both()), made.word(U"b")});
    const std::vector<TerminalKind> kinds{{many, false, false}, {upto, true, false}, {made.word(U"ba"), false, false}};
    const auto found = competing(kinds, one_place(3), true, made.trees, made.kernel);
    const auto uses = found[0];
    CHECK(made.are(uses[0].text, {"a", "aa", "aaa", "aaaa"}));
    CHECK(made.are(uses[0].longer, {"a", "aa", "aaa", "aaaa", "b", "ab", "aab", "aaab"}));
    CHECK(made.are(uses[1].text, {"b", "ab", "aab", "aaab"}) && uses[1].longer == RegexTrees::kEmpty);
    CHECK(uses[2].text == RegexTrees::kEmpty);  // b ends it
}

TEST(a_lazy_terminal_that_is_not_beside_another_leaves_it) {
    Texts made;
    const TreeId many = made.some(made.both());
    const std::vector<TerminalKind> kinds{{many, false, false}, {made.word(U"b"), true, false}};
    const CompetitionRules rules{{{-1, ~2, 0, 1}}, 0, {{0}, {1}}};  // one after the other
    const auto uses = competing(kinds, rules, true, made.trees, made.kernel);
    CHECK(uses[0][0] == (TerminalUse{0, many, many}));
    CHECK(uses[1][0] == (TerminalUse{1, kinds[1].text, RegexTrees::kEmpty}));
}

TEST(where_any_match_is_taken_only_dispatched_ones_end_others) {
    Texts made;
    const TreeId many = made.some(made.both()), b = made.word(U"b");
    const std::vector<TerminalKind> kinds{{many, false, true},
                                          {b, true, true},
                                          {many, false, false},
                                          {made.row({made.any(made.both()), b}), true, false}};
    const auto found = competing(kinds, one_place(4), false, made.trees, made.kernel);
    const auto uses = found[0];
    for (const std::string& text : short_texts(4)) CHECK(made.has(uses[0].text, text) == text.starts_with('a'));
    CHECK(uses[1].text == b);
    CHECK(uses[2].text == many);
    CHECK(made.are(uses[3].text, {"b", "ab", "aab", "aaab"}));  // it ends itself
    for (const TerminalUse& use : uses) CHECK(use.longer == RegexTrees::kEmpty);
}

TEST(a_word_that_a_rival_has_is_not_written_out) {
    Texts made;
    const TreeId many = made.some(made.both());
    std::vector<TerminalKind> kinds{{many, false, false}};
    for (const std::string& text : short_texts(5))
        if (text.size() == 5) kinds.push_back({made.word(std::u32string(text.begin(), text.end())), false, false});
    const auto count = static_cast<uint32_t>(kinds.size());
    const auto found = competing(kinds, one_place(count), true, made.trees, made.kernel);
    const auto uses = found[0];
    for (const TerminalUse& use : uses) CHECK(use.text == kinds[use.kind].text && use.longer == many);
}

TEST(too_many_items_are_refused_where_terminals_compete) {
    Texts made;
    const std::vector<TerminalKind> kinds{{made.word(U"b"), false, false}, {made.word(U"a"), false, false}};
    const CompetitionRules rules{{{-3, ~30'000, ~30'000, 0}}, 0, {{0, 1}}};
    CHECK(competing(kinds, rules, true, made.trees, made.kernel).all().size() == 2);
    size_t items = 0;
    try {
        competing({kinds[0], {made.some(made.both()), false, false}}, rules, true, made.trees, made.kernel);
    } catch (const TooManyItems& error) {
        items = error.items;
    }
    CHECK(items == 30'001);
}

}  // namespace schemagen
