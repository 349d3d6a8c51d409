#include "context_free/lr_demands.hpp"

#include <algorithm>
#include <map>

#include "util/bits.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

// Puts those of both sets into `out`, except the end of the text if so asked. Returns false if there are none.
bool intersect(const std::vector<uint64_t>& one, const std::vector<uint64_t>& other, std::vector<uint64_t>& out,
               bool without_end) {
    uint64_t any = 0;
    for (size_t w = 0; w < out.size(); ++w) out[w] = one[w] & other[w];
    if (without_end) out[0] &= ~uint64_t{1};
    for (uint64_t word : out) any |= word;
    return any != 0;
}

}  // namespace

LrDemands::LrDemands(const ContextFreeGrammar& grammar, const LrTables& tables, const Indentation* indentation,
                     Adjacency& adjacency)
    : grammar_(grammar),
      tables_(tables),
      indentation_(indentation),
      steps_(tables.actions.size()),
      outcomes_(tables.actions.size()) {
    find_kinds(adjacency);
    find_lookaheads();
    find_items();
}

// ---- what there is --------------------------------------------------------------------------------------------------

void LrDemands::find_kinds(Adjacency& adjacency) {
    const auto count = static_cast<LexemeId>(grammar_.lexemes().size());
    may_follow_.assign(1, std::vector<bool>(count + 1, true));
    std::map<std::vector<bool>, Kind> known;
    auto ever = [&](Adjacency::When when) {
        is_exact_ = is_exact_ && when != Adjacency::When::kSometimes;
        return when != Adjacency::When::kNever;
    };
    for (LexemeId lexeme = 0; lexeme < count; ++lexeme) {
        poll();
        std::vector<bool> followed;
        followed.reserve(count + 1);
        for (LexemeId next = 0; next < count; ++next) followed.push_back(ever(adjacency.followed(lexeme, next)));
        followed.push_back(ever(adjacency.last(lexeme)));
        const auto [at, is_new] = known.try_emplace(followed, static_cast<Kind>(may_follow_.size()));
        if (is_new) may_follow_.push_back(followed);
        kinds_.push_back(at->second);
    }
    // The states alone do not tell where a block begins or ends.
    if (indentation_) is_exact_ = false;
}

void LrDemands::find_lookaheads() {
    const uint32_t terminals = grammar_.terminal_count();
    of_terminal_.resize(terminals + 1);
    auto add = [&](SymbolId terminal, Kind kind) {
        const std::pair<SymbolId, Kind> lookahead{terminal, kind};
        for (Lookahead known : of_terminal_[terminal])
            if (lookaheads_[known] == lookahead) return;
        of_terminal_[terminal].push_back(static_cast<Lookahead>(lookaheads_.size()));
        lookaheads_.push_back(lookahead);
    };
    add(terminals, kNothingRead);
    for (LexemeId lexeme = 0; lexeme < kinds_.size(); ++lexeme)
        add(grammar_.lexemes()[lexeme].terminal, kinds_[lexeme]);
    for (Kind kind = 0; indentation_ && kind < kind_count(); ++kind)
        for (SymbolId terminal : {indentation_->newline, indentation_->indent, indentation_->dedent})
            add(terminal, kind);
    words_ = lookaheads_.size() / 64 + 1;
}

void LrDemands::find_items() {
    const std::vector<std::vector<uint32_t>> before = tables_.predecessors();
    const auto states = static_cast<uint32_t>(tables_.actions.size());
    gotos_.resize(states);
    items_.resize(states);
    std::vector<std::pair<uint32_t, Item>> todo;
    auto add = [&](uint32_t state, const Item& item) {
        auto& own = items_[state];
        const auto at = std::lower_bound(own.begin(), own.end(), item);
        if (at != own.end() && *at == item) return;
        own.insert(at, item);
        todo.emplace_back(state, item);
    };
    for (uint32_t state = 0; state < states; ++state)
        for (const LrTables::Action& action : tables_.actions[state]) {
            if (action.symbol > grammar_.terminal_count()) gotos_[state].emplace_back(action.symbol - 1, action.target);
            if (!action.reduces) continue;
            const LrTables::Production& production = tables_.productions[action.target];
            if (production.length) add(state, {production.rule, production.length});
        }
    while (!todo.empty()) {
        poll();
        const auto [state, item] = todo.back();
        todo.pop_back();
        if (item.pops == 1) continue;
        for (uint32_t each : before[state]) add(each, {item.rule, item.pops - 1});
    }
}

uint32_t LrDemands::goto_of(uint32_t state, SymbolId rule) const {
    const LrTables::Action* jump = tables_.action(state, rule + 1);
    return jump ? jump->target : kNone;
}

uint32_t LrDemands::item_of(uint32_t state, const Item& item) const {
    const auto& own = items_[state];
    return static_cast<uint32_t>(std::lower_bound(own.begin(), own.end(), item) - own.begin());
}

// ---- how the parser goes on -----------------------------------------------------------------------------------------

const LrDemands::Steps& LrDemands::steps(uint32_t state) {
    Steps& out = steps_[state];
    if (!out.all.empty()) return out;
    out.shifts.resize(words_);
    out.all.resize(words_);
    for (const LrTables::Action& action : tables_.actions[state]) {
        if (action.symbol > grammar_.terminal_count() || of_terminal_[action.symbol].empty()) continue;
        auto same = std::find_if(out.reductions.begin(), out.reductions.end(),
                                 [&](const auto& each) { return each.first == action.target; });
        if (action.reduces && same == out.reductions.end())
            same = out.reductions.insert(same, {action.target, Lookaheads(words_)});
        for (Lookahead each : of_terminal_[action.symbol]) {
            set_bit(out.all.data(), each);
            set_bit(action.reduces ? same->second.data() : out.shifts.data(), each);
        }
    }
    if (state == tables_.end) set_bit(out.all.data(), kEnd);
    bytes_ += (out.reductions.size() + 2) * words_ * sizeof(uint64_t);
    return out;
}

LrDemands::Outcomes* LrDemands::outcomes_of(uint32_t state, SymbolId rule) {
    const auto& gotos = gotos_[state];
    const auto at = std::lower_bound(gotos.begin(), gotos.end(), std::pair(rule, uint32_t{0}));
    if (at == gotos.end() || at->first != rule) return nullptr;
    if (outcomes_[state].empty()) {
        outcomes_[state].resize(gotos.size());
        bytes_ += gotos.size() * sizeof(Outcomes);
    }
    Outcomes& out = outcomes_[state][static_cast<size_t>(at - gotos.begin())];
    if (out.asked.empty()) {
        out.asked.resize(words_);
        bytes_ += words_ * sizeof(uint64_t);
    }
    return &out;
}

// A rule of one symbol is taken for the one above it, and so on: one step for all lookaheads that are left. If a rule
// comes again while it is followed, the parser never ends.
const LrDemands::Outcomes& LrDemands::outcomes(uint32_t state, SymbolId rule, const uint64_t* lookaheads) {
    static const Outcomes kNowhere;
    Outcomes* out = outcomes_of(state, rule);
    if (!out) return kNowhere;
    Frontier now(1), next;
    Lookaheads& asked = now[0].second;
    now[0].first = rule;
    asked.resize(words_);
    uint64_t any = 0;
    for (size_t w = 0; w < words_; ++w) any |= asked[w] = lookaheads[w] & ~out->asked[w];
    if (!any) return *out;
    for (size_t w = 0; w < words_; ++w) out->asked[w] |= asked[w];
    for (size_t steps = 0; !now.empty() && steps <= tables_.actions.size(); ++steps, now.swap(next), next.clear())
        for (const auto& [read, with] : now)
            if (const uint32_t top = goto_of(state, read); top != kNone) follow(state, top, with, *out, next);
    return *out;
}

// Where `top` stands on the state; adds what else was read to `next`.
void LrDemands::follow(uint32_t state, uint32_t top, const Lookaheads& lookaheads, Outcomes& out, Frontier& next) {
    const Steps& steps = this->steps(top);
    const bool at_end = top == tables_.end && has_bit(lookaheads.data(), kEnd);
    out.ends = out.ends || at_end;
    Lookaheads some(words_);
    for (const auto& [target, all] : steps.reductions) {
        if (!intersect(lookaheads, all, some, at_end)) continue;
        const LrTables::Production& production = tables_.productions[target];
        if (production.length) {
            pop(state, {production.rule, production.length}, some, out, next);
            continue;
        }
        const Outcomes& inner = outcomes(top, production.rule, some.data());
        out.ends = out.ends || (inner.ends && has_bit(some.data(), kEnd));
        for (size_t k = 0; k < inner.nodes.size(); ++k)
            if (const auto [each, node] = inner.nodes[k]; has_bit(some.data(), each))
                add_node(out, each, lifted(node, state));
        Lookaheads demanding(words_);
        for (size_t k = 0; k < inner.demands.size(); ++k)
            if (intersect(some, inner.demands[k].second, demanding, false))
                pop(state, items_[top][inner.demands[k].first], demanding, out, next);
    }
    if (!intersect(lookaheads, steps.shifts, some, at_end)) return;
    for_each_bit(some.data(), some.size(), [&](Lookahead each) {
        const auto [terminal, kind] = lookaheads_[each];
        const uint32_t read = reading(tables_.action(top, terminal)->target, kind);
        add_node(out, each, lifted(lifted(read, top), state));
    });
}

// Takes entries off the stack above the state, and the last of them is on it.
void LrDemands::pop(uint32_t state, const Item& item, const Lookaheads& lookaheads, Outcomes& out, Frontier& next) {
    if (item.pops > 1) return add_demand(out, item_of(state, {item.rule, item.pops - 1}), lookaheads);
    auto at = std::find_if(next.begin(), next.end(), [&](const auto& each) { return each.first == item.rule; });
    if (at == next.end()) at = next.insert(at, {item.rule, Lookaheads(words_)});
    for (size_t w = 0; w < words_; ++w) at->second[w] |= lookaheads[w];
}

void LrDemands::add_node(Outcomes& out, Lookahead lookahead, uint32_t node) {
    out.nodes.emplace_back(lookahead, node);
    bytes_ += sizeof(out.nodes[0]);
}

void LrDemands::add_demand(Outcomes& out, uint32_t item, const Lookaheads& lookaheads) {
    auto at =
        std::find_if(out.demands.begin(), out.demands.end(), [&](const auto& each) { return each.first == item; });
    if (at == out.demands.end()) {
        at = out.demands.insert(at, {item, Lookaheads(words_)});
        bytes_ += sizeof(*at) + words_ * sizeof(uint64_t);
    }
    for (size_t w = 0; w < words_; ++w) at->second[w] |= lookaheads[w];
}

// ---- the fixpoint ---------------------------------------------------------------------------------------------------

uint32_t LrDemands::new_node(uint32_t state, Kind last, uint32_t source) {
    const auto id = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({state, last, source, Set(items_[state].size() * words_ + 1), {}, {}, {}});
    bytes_ += sizeof(Node) + nodes_.back().set.size() * sizeof(uint64_t) * (source == kNone ? 1 : 2);
    queue(id);
    return id;
}

void LrDemands::queue(uint32_t node) {
    if (nodes_[node].queued) return;
    nodes_[node].queued = true;
    todo_.push_back(node);
}

uint32_t LrDemands::reading(uint32_t state, Kind last) {
    if (const uint32_t known = reading_.find(state, last); known != PairMap::kNone) return known;
    const uint32_t node = new_node(state, last, kNone);
    reading_.insert(state, last, node);
    return node;
}

uint32_t LrDemands::lifted(uint32_t source, uint32_t state) {
    if (const uint32_t known = lifted_.find(source, state); known != PairMap::kNone) return known;
    const uint32_t node = new_node(state, kNothingRead, source);
    nodes_[node].done.resize(nodes_[source].set.size());
    nodes_[source].lifted.push_back(node);
    lifted_.insert(source, state, node);
    return node;
}

void LrDemands::set_bits(uint32_t node, uint32_t item, const uint64_t* lookaheads) {
    uint64_t* own = &nodes_[node].set[item * words_];
    uint64_t added = 0;
    for (size_t w = 0; w < words_; ++w) {
        added |= lookaheads[w] & ~own[w];
        own[w] |= lookaheads[w];
    }
    if (added) queue(node);
}

void LrDemands::set_ends(uint32_t node) {
    if (std::exchange(nodes_[node].set.back(), 1)) return;
    queue(node);
}

void LrDemands::unite(uint32_t from, uint32_t into) {
    const Set& given = nodes_[from].set;
    Set& own = nodes_[into].set;
    bool changed = false;
    for (size_t k = 0; k < own.size(); ++k) {
        changed = changed || (given[k] & ~own[k]);
        own[k] |= given[k];
    }
    if (changed) queue(into);
}

void LrDemands::depend(uint32_t node, uint32_t on) {
    nodes_[on].into.push_back(node);
    bytes_ += sizeof(node);
    unite(on, node);
}

// The outcomes of lookaheads that were not applied before.
void LrDemands::apply(uint32_t node, const Outcomes& outcomes, const uint64_t* lookaheads) {
    if (outcomes.ends && has_bit(lookaheads, kEnd)) set_ends(node);
    Lookaheads some(words_);
    for (const auto& [item, all] : outcomes.demands) {
        for (size_t w = 0; w < words_; ++w) some[w] = all[w] & lookaheads[w];
        set_bits(node, item, some.data());
    }
    for (const auto& [each, on] : outcomes.nodes)
        if (has_bit(lookaheads, each)) depend(node, on);
}

// Where the node's state is on top and a lookahead was found.
void LrDemands::look_ahead(uint32_t node, Lookahead lookahead) {
    const uint32_t state = nodes_[node].state;
    const auto [terminal, kind] = lookaheads_[lookahead];
    if (lookahead == kEnd && state == tables_.end) return set_ends(node);
    const LrTables::Action* next = tables_.action(state, terminal);
    if (!next) return;
    if (!next->reduces) return depend(node, lifted(reading(next->target, kind), state));
    one_.assign(words_, 0);
    set_bit(one_.data(), lookahead);
    const LrTables::Production& production = tables_.productions[next->target];
    if (production.length)
        set_bits(node, item_of(state, {production.rule, production.length}), one_.data());
    else
        apply(node, outcomes(state, production.rule, one_.data()), one_.data());
}

// The lookaheads that the lexer may find next.
void LrDemands::open(uint32_t node) {
    const uint32_t state = nodes_[node].state;
    const std::vector<bool>& follows = may_follow_[nodes_[node].last];
    auto find = [&](SymbolId terminal, Kind kind) {
        for (Lookahead each : of_terminal_[terminal])
            if (lookaheads_[each].second == kind) look_ahead(node, each);
    };
    for (LexemeId lexeme : tables_.lexemes[state]) {
        if (!follows[lexeme]) continue;
        const SymbolId terminal = grammar_.lexemes()[lexeme].terminal;
        if (grammar_.is_ignored(terminal))
            depend(node, reading(state, kinds_[lexeme]));
        else
            find(terminal, kinds_[lexeme]);
    }
    if (follows.back()) look_ahead(node, kEnd);
    if (!indentation_) return;
    for (Kind kind = 0; kind < kind_count(); ++kind)
        for (SymbolId terminal : {indentation_->indent, indentation_->dedent}) find(terminal, kind);
    for (const auto& [terminal, width] : indentation_->newlines)
        for (LexemeId lexeme : grammar_.lexemes_of(terminal)) {
            if (!follows[lexeme]) continue;
            find(indentation_->newline, kinds_[lexeme]);
            if (width == Indentation::kAnyWidth) depend(node, reading(state, kinds_[lexeme]));
        }
}

// From the state above to this one below it.
void LrDemands::take_over(uint32_t node) {
    const uint32_t source = nodes_[node].source, state = nodes_[node].state;
    const std::vector<Item>& above = items_[nodes_[source].state];
    if (nodes_[source].set.back()) set_ends(node);
    Lookaheads fresh(words_);
    for (uint32_t k = 0; k < above.size(); ++k) {
        uint64_t any = 0;
        for (size_t w = 0; w < words_; ++w) {
            uint64_t& done = nodes_[node].done[k * words_ + w];
            any |= fresh[w] = nodes_[source].set[k * words_ + w] & ~done;
            done |= fresh[w];
        }
        if (!any) continue;
        if (above[k].pops > 1)
            set_bits(node, item_of(state, {above[k].rule, above[k].pops - 1}), fresh.data());
        else
            apply(node, outcomes(state, above[k].rule, fresh.data()), fresh.data());
    }
}

void LrDemands::solve() {
    while (!todo_.empty()) {
        poll();
        const uint32_t node = todo_.back();
        todo_.pop_back();
        nodes_[node].queued = false;
        if (!std::exchange(nodes_[node].opened, true)) {
            if (nodes_[node].source == kNone)
                open(node);
            else
                take_over(node);
        }
        for (size_t k = 0; k < nodes_[node].lifted.size(); ++k) take_over(nodes_[node].lifted[k]);
        for (size_t k = 0; k < nodes_[node].into.size(); ++k) unite(node, nodes_[node].into[k]);
    }
}

const LrDemands::Set& LrDemands::after(uint32_t state, Kind last) {
    const uint32_t node = reading(state, last);
    solve();
    return nodes_[node].set;
}

}  // namespace schemagen
