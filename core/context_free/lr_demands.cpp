#include "context_free/lr_demands.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "util/work.hpp"

namespace schemagen {

LrDemands::LrDemands(const ContextFreeGrammar& grammar, const LrTables& tables, const Indentation* indentation,
                     Adjacency& adjacency)
    : grammar_(grammar), tables_(tables), indentation_(indentation), outcomes_(tables.actions.size()) {
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
    // Where a block begins or ends is not told by the states alone.
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

// Those that a state may go on with.
std::vector<LrDemands::Lookahead> LrDemands::lookaheads(uint32_t state) const {
    std::vector<Lookahead> out;
    if (state == tables_.end) out.push_back(kEnd);
    for (const LrTables::Action& action : tables_.actions[state])
        if (action.symbol <= grammar_.terminal_count())
            out.insert(out.end(), of_terminal_[action.symbol].begin(), of_terminal_[action.symbol].end());
    return out;
}

// ---- how the parser goes on -----------------------------------------------------------------------------------------

LrDemands::Outcome LrDemands::goes_on(uint32_t state, SymbolId rule, Lookahead lookahead) {
    const uint64_t key = uint64_t{rule} << 32 | lookahead;
    if (const auto at = outcomes_[state].find(key); at != outcomes_[state].end()) return at->second;
    // Rules that are empty are read one above the other; without an end only where the parser has none either.
    if (depth_ > tables_.actions.size()) return {};
    ++depth_;
    const Outcome out = find_outcome(state, rule, lookahead);
    --depth_;
    bytes_ += sizeof(key) + sizeof(out) + 2 * sizeof(void*);
    return outcomes_[state].emplace(key, out).first->second;
}

LrDemands::Outcome LrDemands::find_outcome(uint32_t state, SymbolId rule, Lookahead lookahead) {
    const auto [terminal, kind] = lookaheads_[lookahead];
    uint32_t top = goto_of(state, rule);
    for (size_t steps = 0; top != kNone && steps <= tables_.actions.size(); ++steps) {
        if (lookahead == kEnd && top == tables_.end) return {How::kEnds, 0};
        const LrTables::Action* next = tables_.action(top, terminal);
        if (!next) return {};
        if (!next->reduces) return {How::kAsNode, lifted(lifted(reading(next->target, kind), top), state)};
        const LrTables::Production& production = tables_.productions[next->target];
        Item item{production.rule, production.length};
        if (!item.pops) {
            const Outcome inner = goes_on(top, production.rule, lookahead);
            if (inner.how == How::kAsNode) return {How::kAsNode, lifted(inner.id, state)};
            if (inner.how != How::kDemands) return inner;
            item = items_[top][inner.id];
        }
        if (item.pops > 1) return {How::kDemands, item_of(state, {item.rule, item.pops - 1})};
        top = goto_of(state, item.rule);
    }
    return {};
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

void LrDemands::set_bit(uint32_t node, uint32_t item, Lookahead lookahead) {
    uint64_t& word = nodes_[node].set[item * words_ + lookahead / 64];
    const uint64_t bit = uint64_t{1} << (lookahead % 64);
    if (word & bit) return;
    word |= bit;
    queue(node);
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

void LrDemands::apply(uint32_t node, const Outcome& outcome, Lookahead lookahead) {
    switch (outcome.how) {
        case How::kFails: return;
        case How::kEnds: return set_ends(node);
        case How::kDemands: return set_bit(node, outcome.id, lookahead);
        case How::kAsNode: {
            if (united_.find(outcome.id, node) == PairMap::kNone) {
                united_.insert(outcome.id, node, 1);
                nodes_[outcome.id].into.push_back(node);
            }
            return unite(outcome.id, node);
        }
    }
}

// Where the node's state is on top and a lookahead was found.
void LrDemands::look_ahead(uint32_t node, Lookahead lookahead) {
    const uint32_t state = nodes_[node].state;
    const auto [terminal, kind] = lookaheads_[lookahead];
    if (lookahead == kEnd && state == tables_.end) return set_ends(node);
    const LrTables::Action* next = tables_.action(state, terminal);
    if (!next) return;
    if (!next->reduces) return apply(node, {How::kAsNode, lifted(reading(next->target, kind), state)}, lookahead);
    const LrTables::Production& production = tables_.productions[next->target];
    if (production.length)
        set_bit(node, item_of(state, {production.rule, production.length}), lookahead);
    else
        apply(node, goes_on(state, production.rule, lookahead), lookahead);
}

// What the lexer may find next.
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
            apply(node, {How::kAsNode, reading(state, kinds_[lexeme])}, kEnd);
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
            if (width == Indentation::kAnyWidth) apply(node, {How::kAsNode, reading(state, kinds_[lexeme])}, kEnd);
        }
}

// From the state above to this one below it.
void LrDemands::take_over(uint32_t node) {
    const uint32_t source = nodes_[node].source, state = nodes_[node].state;
    const std::vector<Item>& above = items_[nodes_[source].state];
    if (nodes_[source].set.back()) set_ends(node);
    for (uint32_t k = 0; k < above.size(); ++k) {
        const uint32_t down = above[k].pops > 1 ? item_of(state, {above[k].rule, above[k].pops - 1}) : kNone;
        for (size_t w = 0; w < words_; ++w) {
            const uint64_t given = nodes_[source].set[k * words_ + w];
            for (uint64_t rest = given & ~nodes_[node].done[k * words_ + w]; rest; rest &= rest - 1) {
                const auto lookahead = static_cast<Lookahead>(w * 64 + static_cast<size_t>(std::countr_zero(rest)));
                if (down != kNone)
                    set_bit(node, down, lookahead);
                else
                    apply(node, goes_on(state, above[k].rule, lookahead), lookahead);
            }
            nodes_[node].done[k * words_ + w] |= given;
        }
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

const LrDemands::Set& LrDemands::behind(uint32_t state, Kind last) {
    const uint32_t node = reading(state, last);
    solve();
    return nodes_[node].set;
}

}  // namespace schemagen
