#include "rules/beside.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "context_free/items.hpp"
#include "util/interned_lists.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

constexpr size_t kMaxCells = 400'000'000;  // items, squared
constexpr uint32_t kNone = UINT32_MAX;

// Numbers that are still to be looked at, each once.
class Agenda {
public:
    explicit Agenda(size_t count) : waiting_(count) {}
    void add(uint32_t number) {
        if (!waiting_[number]) waiting_[number] = true, todo_.push_back(number);
    }
    bool empty() const { return todo_.empty(); }
    uint32_t next() {
        poll();
        const uint32_t number = todo_.front();
        todo_.pop_front();
        waiting_[number] = false;
        return number;
    }

private:
    std::deque<uint32_t> todo_;
    std::vector<bool> waiting_;
};

// The items of all rules, with numbers of their own.
struct ItemGraph {
    struct Edge {
        uint32_t at, symbol, to;
    };
    explicit ItemGraph(const CompetitionRules& rules);

    bool is_call(const Edge& edge) const { return edge.symbol >= places; }
    uint32_t callee(const Edge& edge) const { return edge.symbol - places; }
    std::span<const Edge> from(uint32_t item) const {
        return {edges.data() + first_edge[item], edges.data() + first_edge[item + 1]};
    }
    size_t size() const { return first_edge.size() - 1; }

    uint32_t places;
    std::vector<Edge> edges;                   // sorted by `at`
    std::vector<uint32_t> first_edge;          // [item], and the end
    std::vector<uint32_t> start;               // [rule] its first item
    std::vector<uint32_t> ends;                // [item] the rule that may end there, or kNone
    std::vector<std::vector<uint32_t>> calls;  // [rule] the edges
    std::vector<bool> nullable;                // [rule]

private:
    void find_nullable();
};

ItemGraph::ItemGraph(const CompetitionRules& rules) : places(static_cast<uint32_t>(rules.kinds.size())) {
    for (uint32_t rule = 0; rule < rules.bodies.size(); ++rule) {
        poll();
        const RuleItems items = items_of(rules.bodies[rule]);
        const auto first = static_cast<uint32_t>(ends.size());
        start.push_back(first);
        for (uint32_t at = 0; at < items.size(); ++at) {
            first_edge.push_back(static_cast<uint32_t>(edges.size()));
            ends.push_back(items.accepting[at] ? rule : kNone);
            for (const auto& [symbol, to] : items.edges[at]) edges.push_back({first + at, symbol, first + to});
        }
    }
    if (ends.size() * ends.size() > kMaxCells) throw TooManyItems{ends.size()};
    first_edge.push_back(static_cast<uint32_t>(edges.size()));
    calls.resize(rules.bodies.size());
    for (uint32_t k = 0; k < edges.size(); ++k)
        if (is_call(edges[k])) calls[callee(edges[k])].push_back(k);
    find_nullable();
}

// From the start of each rule along those that may be empty.
void ItemGraph::find_nullable() {
    nullable.resize(start.size());
    std::vector<bool> reached(size());
    std::vector<uint32_t> todo;
    auto reach = [&](uint32_t item) {
        if (!reached[item]) reached[item] = true, todo.push_back(item);
    };
    for (uint32_t item : start) reach(item);
    while (!todo.empty()) {
        poll();
        const uint32_t item = todo.back();
        todo.pop_back();
        for (const Edge& edge : from(item))
            if (is_call(edge) && nullable[callee(edge)]) reach(edge.to);
        const uint32_t rule = ends[item];
        if (rule == kNone || nullable[rule]) continue;
        nullable[rule] = true;
        for (uint32_t call : calls[rule])
            if (reached[edges[call].at]) reach(edges[call].to);
    }
}

// The items beside each item because of its own continuation: those that rules called there begin with, and those after
// rules that may be empty; at the end of a rule those that always follow it.
class Continuations {
public:
    Continuations(const ItemGraph& graph, uint32_t start_rule) : graph_(graph), rows_(graph.size(), graph.size()) {
        find_rows();
        add_followers(start_rule);
    }
    BitSets take() { return std::move(rows_); }

private:
    void find_rows();
    void add_followers(uint32_t start_rule);

    const ItemGraph& graph_;
    BitSets rows_;
};

void Continuations::find_rows() {
    std::vector<std::vector<uint32_t>> users(graph_.size());  // [item] those that have its items, too
    Agenda agenda(graph_.size());
    for (uint32_t item = 0; item < graph_.size(); ++item) rows_.add(item, item);
    for (const auto& edge : graph_.edges) {
        if (!graph_.is_call(edge)) continue;
        users[graph_.start[graph_.callee(edge)]].push_back(edge.at);
        if (graph_.nullable[graph_.callee(edge)]) users[edge.to].push_back(edge.at);
    }
    for (uint32_t item = static_cast<uint32_t>(graph_.size()); item-- > 0;)
        if (!users[item].empty()) agenda.add(item);
    while (!agenda.empty()) {
        const uint32_t used = agenda.next();
        for (uint32_t at : users[used])
            if (rows_.unite(at, rows_[used]) && !users[at].empty()) agenda.add(at);
    }
}

// The greatest solution: the items that follow a rule wherever it is called, or follow the rule that ends with it.
void Continuations::add_followers(uint32_t start_rule) {
    const size_t count = graph_.start.size();
    BitSets follow(count, graph_.size());
    const BitSets none(1, graph_.size());
    follow.fill();
    follow.intersect(start_rule, none[0]);
    std::vector<std::vector<uint32_t>> last(count);  // [rule] the calls after which it may end
    Agenda agenda(count);
    for (uint32_t k = 0; k < graph_.edges.size(); ++k) {
        const auto& edge = graph_.edges[k];
        if (!graph_.is_call(edge)) continue;
        if (graph_.ends[edge.to] == kNone)
            follow.intersect(graph_.callee(edge), rows_[edge.to]);
        else
            last[graph_.ends[edge.to]].push_back(k);
    }
    for (uint32_t rule = 0; rule < count; ++rule) agenda.add(rule);
    while (!agenda.empty()) {
        const uint32_t rule = agenda.next();
        for (uint32_t k : last[rule]) {
            const auto& edge = graph_.edges[k];
            if (follow.intersect(graph_.callee(edge), rows_[edge.to], follow[rule])) agenda.add(graph_.callee(edge));
        }
    }
    for (uint32_t item = 0; item < graph_.size(); ++item)
        if (graph_.ends[item] != kNone) rows_.unite(item, follow[graph_.ends[item]]);
}

// Where symbols lead from sets of items. Places of one kind lead on alike, and so do kinds that only occur together.
class Moves {
public:
    using Class = uint32_t;

    Moves(const ItemGraph& graph, const CompetitionRules& rules, size_t kind_count, const BitSets& rows);
    InternedLists::List classes(uint32_t symbol) const { return classes_[classes_of_[symbol]]; }
    // The items after a class from any of a set. Valid until the next call.
    const uint64_t* after(Class symbols, const uint64_t* items);

private:
    const BitSets& rows_;
    InternedLists pairs_;  // [class] each item where it is read, and one that it leads to
    InternedLists classes_;
    std::vector<uint32_t> classes_of_;  // [symbol] of classes_
    InternedLists targets_;
    BitSets unions_;  // [list of targets] what their rows have
    std::vector<uint32_t> scratch_;
};

Moves::Moves(const ItemGraph& graph, const CompetitionRules& rules, size_t kind_count, const BitSets& rows)
    : rows_(rows), unions_(1, graph.size()) {
    std::vector<uint32_t> keys;  // kinds, then rules
    auto put_keys = [&](uint32_t symbol) {
        if (symbol < graph.places)
            keys.assign(rules.kinds[symbol].begin(), rules.kinds[symbol].end());
        else
            keys.assign(1, static_cast<uint32_t>(kind_count) + symbol - graph.places);
    };
    std::vector<std::vector<uint32_t>> pairs(kind_count + graph.start.size());
    for (const auto& edge : graph.edges) {
        poll();
        put_keys(edge.symbol);
        for (uint32_t key : keys) pairs[key].insert(pairs[key].end(), {edge.at, edge.to});
    }
    std::vector<Class> leading;
    leading.reserve(pairs.size());
    for (const auto& each : pairs) leading.push_back(pairs_.intern(each));
    for (uint32_t symbol = 0; symbol < graph.places + graph.start.size(); ++symbol) {
        poll();
        put_keys(symbol);
        for (uint32_t& key : keys) key = leading[key];
        std::ranges::sort(keys);
        keys.erase(std::ranges::unique(keys).begin(), keys.end());
        classes_of_.push_back(classes_.intern(keys));
    }
}

const uint64_t* Moves::after(Class symbols, const uint64_t* items) {
    const InternedLists::List pairs = pairs_[symbols];
    if (pairs.size() == 2 && has_bit(items, pairs[0])) return rows_[pairs[1]];
    scratch_.clear();
    for (size_t k = 0; k < pairs.size(); k += 2)
        if (has_bit(items, pairs[k])) scratch_.push_back(pairs[k + 1]);
    const auto known = static_cast<uint32_t>(targets_.size());
    const uint32_t list = targets_.intern(scratch_);
    if (list == known) {  // most ask for the same again and again
        unions_.append();
        for (uint32_t to : scratch_) unions_.unite(list, rows_[to]);
    }
    return unions_[list];
}

// The items that are always beside each item: from all of them down to the greatest solution. An item is passed on when
// something is known of it; until then it has all of them, which would tell the others nothing.
class Beside {
public:
    Beside(const ItemGraph& graph, const CompetitionRules& rules, size_t kind_count);
    const BitSets& solved();

private:
    // To its own row and the union of some others.
    template <class... Sets>
    void narrow(uint32_t item, const Sets*... others);
    void pass_on(uint32_t item);
    void pass_end(uint32_t item, uint32_t rule);
    void pass_move(const ItemGraph::Edge& edge);

    const ItemGraph& graph_;
    const uint32_t start_rule_;
    BitSets rows_;
    Moves moves_;
    BitSets beside_;             // [item]
    BitSets at_end_;             // [rule] beside each item where it ends
    const BitSets nothing_;      // one, which is empty
    std::vector<bool> known_;    // [item]
    std::vector<bool> may_end_;  // [item] where a rule ends that may have begun
    std::vector<bool> is_end_known_;
    Agenda agenda_;
};

Beside::Beside(const ItemGraph& graph, const CompetitionRules& rules, size_t kind_count)
    : graph_(graph),
      start_rule_(rules.start),
      rows_(Continuations(graph, rules.start).take()),
      moves_(graph, rules, kind_count, rows_),
      beside_(graph.size(), graph.size()),
      at_end_(graph.start.size(), graph.size()),
      nothing_(1, graph.size()),
      known_(graph.size()),
      may_end_(graph.size()),
      is_end_known_(graph.start.size(), true),
      agenda_(graph.size()) {
    beside_.fill();
    for (uint32_t item = 0; item < graph.size(); ++item) may_end_[item] = graph.ends[item] != kNone;
    for (uint32_t item : graph.start) may_end_[item] = false;
    for (const auto& edge : graph.edges) may_end_[edge.to] = graph.ends[edge.to] != kNone;
    for (uint32_t item = 0; item < graph.size(); ++item)
        if (may_end_[item]) at_end_.fill(graph.ends[item]), is_end_known_[graph.ends[item]] = false;
}

template <class... Sets>
void Beside::narrow(uint32_t item, const Sets*... others) {
    if (!beside_.intersect(item, others..., rows_[item]) && known_[item]) return;
    known_[item] = true;
    agenda_.add(item);
}

const BitSets& Beside::solved() {
    narrow(graph_.start[start_rule_], nothing_[0]);
    while (!agenda_.empty()) pass_on(agenda_.next());
    // Those that nothing was found for, as after rules without an end.
    is_end_known_.assign(is_end_known_.size(), true);
    for (uint32_t item = 0; item < graph_.size(); ++item)
        if (!known_[item]) known_[item] = true, agenda_.add(item);
    while (!agenda_.empty()) pass_on(agenda_.next());
    return beside_;
}

void Beside::pass_on(uint32_t item) {
    for (const auto& edge : graph_.from(item)) {
        pass_move(edge);
        if (!graph_.is_call(edge)) continue;
        const uint32_t rule = graph_.callee(edge);
        narrow(graph_.start[rule], beside_[item]);
        if (graph_.nullable[rule]) narrow(edge.to, beside_[item]);
    }
    if (may_end_[item]) pass_end(item, graph_.ends[item]);
}

void Beside::pass_end(uint32_t item, uint32_t rule) {
    if (!at_end_.intersect(rule, beside_[item]) && is_end_known_[rule]) return;
    is_end_known_[rule] = true;
    for (uint32_t call : graph_.calls[rule])
        if (known_[graph_.edges[call].at]) pass_move(graph_.edges[call]);
}

void Beside::pass_move(const ItemGraph::Edge& edge) {
    const bool is_call = graph_.is_call(edge);
    if (is_call && !is_end_known_[graph_.callee(edge)]) return;
    const uint64_t* within = is_call ? at_end_[graph_.callee(edge)] : nothing_[0];
    for (Moves::Class each : moves_.classes(edge.symbol)) narrow(edge.to, moves_.after(each, beside_[edge.at]), within);
}

}  // namespace

BitSets kinds_beside(const CompetitionRules& rules, size_t kind_count) {
    const ItemGraph graph(rules);
    Beside solver(graph, rules, kind_count);
    const BitSets& beside = solver.solved();
    BitSets own(graph.size(), kind_count), found(rules.kinds.size(), kind_count), here(1, kind_count);
    std::vector<bool> is_found(rules.kinds.size());
    for (const auto& edge : graph.edges) {
        if (graph.is_call(edge)) continue;
        poll();
        for (uint32_t kind : rules.kinds[edge.symbol]) own.add(edge.at, kind);
    }
    uint32_t last = kNone;
    for (const auto& edge : graph.edges) {
        if (graph.is_call(edge)) continue;
        if (edge.at != last) {
            poll();
            std::fill_n(here[0], here.words(), 0);
            beside.each(edge.at, [&](uint32_t item) { here.unite(0, own[item]); });
            last = edge.at;
        }
        if (is_found[edge.symbol])
            found.intersect(edge.symbol, here[0]);
        else
            found.unite(edge.symbol, here[0]);
        is_found[edge.symbol] = true;
    }
    return found;
}

}  // namespace schemagen
