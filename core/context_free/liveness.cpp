#include "context_free/liveness.hpp"

#include <algorithm>
#include <bit>

#include "util/work.hpp"

namespace schemagen {

using Classes = NeighbourClasses::Set;

// The class of a terminal; none is read of those that are pruned.
uint32_t Liveness::read_as(SymbolId terminal) const {
    return std::ranges::binary_search(pruned_, terminal) ? NeighbourClasses::kNotRead : classes_.of(terminal);
}

// The classes after an edge, from the classes last read before it; empty after a terminal that is pruned.
Classes Liveness::over(const ContextFreeGrammar::Edge& edge, Classes lasts, const NeighbourClasses::Follow& followed,
                       const Ends& ends) const {
    Classes out = 0;
    if (grammar_.is_rule(edge.symbol)) {
        for (; lasts; lasts &= lasts - 1) out |= at(ends, grammar_.first_item(edge.symbol), lowest(lasts));
        return out;
    }
    const uint32_t own = read_as(edge.symbol);
    if (own == NeighbourClasses::kNoText) return lasts;
    if (own == NeighbourClasses::kNotRead) return 0;
    for (; lasts; lasts &= lasts - 1) out |= followed[lowest(lasts)] & Classes{1} << own;
    return out;
}

// How the rule of an item may end that goes on over an edge: [class read last] of the row of that item.
void Liveness::add_ends(const ContextFreeGrammar::Edge& edge, const NeighbourClasses::Follow& preceding, Ends& ends,
                        Classes* row) const {
    const size_t count = classes_.count();
    const Classes* after = &ends[edge.target * count];
    if (grammar_.is_rule(edge.symbol)) {
        const Classes* called = &ends[grammar_.first_item(edge.symbol) * count];
        for (size_t last = 0; last < count; ++last)
            for (Classes middle = called[last]; middle; middle &= middle - 1) row[last] |= after[lowest(middle)];
        return;
    }
    const uint32_t own = read_as(edge.symbol);
    if (own == NeighbourClasses::kNotRead) return;
    if (own == NeighbourClasses::kNoText)
        for (size_t last = 0; last < count; ++last) row[last] |= after[last];
    else if (after[own])
        for (Classes lasts = preceding[own]; lasts; lasts &= lasts - 1) row[lowest(lasts)] |= after[own];
}

// How the rule of each item may end, where these may be neighbours; `ends` are some ways, or none.
Liveness::Ends Liveness::find_ends(const NeighbourClasses::Follow& followed, Ends ends) const {
    const size_t count = classes_.count();
    NeighbourClasses::Follow preceding(count);  // [class]: those that it may follow
    for (size_t last = 0; last < count; ++last)
        for (size_t next = 0; next < count; ++next) preceding[next] |= (followed[last] >> next & 1) << last;
    ends.resize(grammar_.item_count() * count);
    for (ItemId item = 0; item < grammar_.item_count(); ++item)
        for (size_t last = 0; grammar_.accepting(item) && last < count; ++last)
            ends[item * count + last] |= Classes{1} << last;
    std::vector<Classes> before(count);
    for (bool changed = true; changed;) {
        changed = false;
        for (auto item = static_cast<ItemId>(grammar_.item_count()); item-- > 0;) {
            poll();
            Classes* row = &ends[item * count];
            std::copy_n(row, count, before.begin());
            for (const auto& edge : grammar_.edges(item)) add_ends(edge, preceding, ends, row);
            changed = changed || !std::equal(before.begin(), before.end(), row);
        }
    }
    return ends;
}

// The classes last read at each item, and the rules that are called with another item after them.
void Liveness::find_entered() {
    const Ends ever_ends = classes_.ever() == classes_.always() ? ends_ : find_ends(classes_.ever(), ends_);
    entered_.assign(grammar_.item_count(), 0);
    std::vector<ItemId> todo;
    auto enter = [&](ItemId item, Classes lasts) {
        if (!(lasts & ~entered_[item])) return;
        entered_[item] |= lasts;
        todo.push_back(item);
    };
    enter(grammar_.first_item(grammar_.start()), 1);
    while (!todo.empty()) {
        poll();
        const ItemId item = todo.back();
        todo.pop_back();
        for (const auto& edge : grammar_.edges(item)) {
            if (grammar_.is_rule(edge.symbol)) enter(grammar_.first_item(edge.symbol), entered_[item]);
            enter(edge.target, over(edge, entered_[item], classes_.ever(), ever_ends));
        }
    }
    for (ItemId item = 0; item < grammar_.item_count(); ++item)
        for (const auto& edge : grammar_.edges(item))
            if (entered_[item] && grammar_.is_rule(edge.symbol)) returns_[edge.symbol].push_back(edge.target);
}

// That a rule ends with one of some classes, whatever it is called by: true if that was known.
bool Liveness::is_known(const Ending& ending) {
    std::vector<Classes>& known = known_[ending.rule];
    if (std::any_of(known.begin(), known.end(), [&](Classes each) { return !(each & ~ending.classes); })) return true;
    std::erase_if(known, [&](Classes each) { return !(ending.classes & ~each); });
    known.push_back(ending.classes);
    return false;
}

// Whether after each terminal its rule can end, after that the rule that called it, and so on. A rule may end with any
// of several classes, and one that leads on is enough.
bool Liveness::all_end() {
    std::vector<Ending> todo{{grammar_.start(), at(ends_, grammar_.first_item(grammar_.start()), 0)}};
    for (ItemId item = 0; item < grammar_.item_count(); ++item)
        for (const auto& edge : grammar_.edges(item))
            if (!grammar_.is_rule(edge.symbol))
                for (Classes lasts = over(edge, entered_[item], classes_.ever(), {}); lasts; lasts &= lasts - 1)
                    todo.push_back({grammar_.rule_of(edge.target), at(ends_, edge.target, lowest(lasts))});
    for (size_t count = 0; !todo.empty(); ++count) {
        poll();
        const Ending ending = todo.back();
        todo.pop_back();
        stuck_rule_ = ending.rule;
        const bool is_whole = ending.rule == grammar_.start();
        if (!(is_whole ? ending.classes & classes_.last() : ending.classes) || count > kMostEndings) return false;
        if (is_known(ending)) continue;
        for (ItemId after : returns_[ending.rule]) {
            Classes classes = 0;
            for (Classes lasts = ending.classes; lasts; lasts &= lasts - 1) classes |= at(ends_, after, lowest(lasts));
            todo.push_back({grammar_.rule_of(after), classes});
        }
    }
    return true;
}

// The terminals after which a rule may have no end. False if there are none, or the parser cannot tell the next
// terminal.
bool Liveness::find_pruned() {
    std::vector<SymbolId> stuck;
    for (ItemId item = 0; item < grammar_.item_count(); ++item)
        for (const auto& edge : grammar_.edges(item))
            if (!grammar_.is_rule(edge.symbol))
                for (Classes lasts = over(edge, entered_[item], classes_.ever(), {}); lasts; lasts &= lasts - 1)
                    if (!at(ends_, edge.target, lowest(lasts))) stuck.push_back(edge.symbol);
    std::ranges::sort(stuck);
    stuck.erase(std::ranges::unique(stuck).begin(), stuck.end());
    if (stuck.empty() || !classes_.may_be_pruned(stuck)) return false;
    pruned_ = std::move(stuck);
    return true;
}

bool Liveness::is_lively() {
    if (!classes_.find()) return false;
    ends_ = find_ends(classes_.always(), {});
    find_entered();
    if (all_end()) return true;
    if (!find_pruned()) return false;
    known_.clear();
    ends_ = find_ends(classes_.always(), {});
    if (all_end()) return true;
    pruned_.clear();
    return false;
}

}  // namespace schemagen
