#include "context_free/grammar.hpp"

#include <algorithm>

#include "context_free/marked_texts.hpp"
#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

SymbolId ContextFreeGrammar::add_terminal(std::string name, bool ignored) {
    names_.push_back(std::move(name));
    ignored_.push_back(ignored);
    own_min_bytes_.push_back(0);
    lexemes_of_.emplace_back();
    return terminal_count_++;
}

LexemeId ContextFreeGrammar::add_lexeme(const Lexeme& lexeme) {
    const auto id = static_cast<LexemeId>(lexemes_.size());
    lexemes_.push_back(lexeme);
    lexemes_of_[lexeme.terminal].push_back(id);
    return id;
}

SymbolId ContextFreeGrammar::add_rule(std::string name, const RuleItems& items) {
    const auto rule = static_cast<SymbolId>(names_.size());
    const auto base = static_cast<ItemId>(rule_of_.size());
    names_.push_back(std::move(name));
    first_items_.push_back(base);
    rule_of_.resize(base + items.size(), rule);
    accepting_.insert(accepting_.end(), items.accepting.begin(), items.accepting.end());
    for (size_t item = 0; item < items.size(); ++item) {
        for (const auto& [symbol, to] : items.edges[item]) edges_.push({symbol, base + to});
        edges_.end();
    }
    return rule;
}

void ContextFreeGrammar::finish(SymbolId start, Kernel& kernel) {
    start_ = start;
    find_nullable();
    close_items();
    measure(kernel);
    find_follow();
}

// A rule may be empty if an accepting item can be reached from its first one by rules that may be empty.
void ContextFreeGrammar::find_nullable() {
    nullable_.assign(first_items_.size(), false);
    std::vector<bool> reached(item_count(), false);
    for (ItemId first : first_items_) reached[first] = true;
    for (bool changed = true; changed;) {
        changed = false;
        poll();
        for (ItemId item = 0; item < item_count(); ++item) {
            if (!reached[item]) continue;
            if (accepting_[item] && !nullable(rule_of_[item]))
                nullable_[rule_of_[item] - terminal_count_] = changed = true;
            for (const Edge& edge : edges_[item])
                if (nullable(edge.symbol) && !reached[edge.target]) reached[edge.target] = changed = true;
        }
    }
}

// Calls of rules that may be empty have neighbours beyond them, as optional symbols have (items.hpp).
void ContextFreeGrammar::close_items() {
    closures_.reserve(item_count(), item_count());
    ends_.resize(item_count());
    std::vector<ItemId> met_from(item_count(), UINT32_MAX);  // [item] the last one whose closure has it
    std::vector<ItemId> closure;
    size_t neighbours = 0;  // in the rule
    for (ItemId item = 0; item < item_count(); ++item) {
        poll();
        if (item && rule_of_[item] != rule_of_[item - 1]) neighbours = 0;
        closure.assign(1, item);
        met_from[item] = item;
        for (size_t k = 0; k < closure.size(); ++k) {
            ends_[item] = ends_[item] || accepting_[closure[k]];
            for (const Edge& edge : edges_[closure[k]])
                if (nullable(edge.symbol) && std::exchange(met_from[edge.target], item) != item)
                    closure.push_back(edge.target);
        }
        neighbours += closure.size() - 1;
        if (neighbours > kMostNeighbours) throw TooManyNeighbours();
        std::sort(closure.begin(), closure.end());
        closures_.add(closure);
    }
}

void ContextFreeGrammar::measure(Kernel& kernel) {
    std::vector<uint32_t> of_terminal(terminal_count_, kFar);
    for (const Lexeme& lexeme : lexemes_) {
        const uint32_t own =
            lexeme.marked ? shortest_before_mark(kernel, lexeme.text) : std::min(kernel.shortest(lexeme.text), kFar);
        of_terminal[lexeme.terminal] = std::min(of_terminal[lexeme.terminal], own);
    }
    for (SymbolId terminal = 0; terminal < terminal_count_; ++terminal)
        if (lexemes_of_[terminal].empty()) of_terminal[terminal] = own_min_bytes_[terminal];
    min_bytes_.assign(item_count(), kFar);
    for (bool changed = true; changed;) {
        changed = false;
        poll();
        for (auto item = static_cast<ItemId>(item_count()); item-- > 0;) {
            uint32_t best = accepting_[item] ? 0 : min_bytes_[item];
            for (const Edge& edge : edges_[item]) {
                const uint32_t symbol =
                    is_rule(edge.symbol) ? min_bytes_[first_item(edge.symbol)] : of_terminal[edge.symbol];
                best = std::min(best, std::min(symbol + min_bytes_[edge.target], kFar));
            }
            changed = changed || best < min_bytes_[item];
            min_bytes_[item] = best;
        }
    }
}

// The sets of the textbooks, with items for productions: the symbols that may begin after a symbol, and those that may
// follow the rule where the rest of it may be empty.
void ContextFreeGrammar::find_follow() {
    const std::vector<bool> empty = without_text();
    const BitSets first = first_sets(empty);
    std::vector<bool> ends(accepting_);  // but for symbols without text
    follow_ = BitSets(names_.size(), terminal_count_);
    for (SymbolId terminal = 0; terminal < terminal_count_; ++terminal)
        for (SymbolId symbol = 0; symbol < names_.size() && ignored_[terminal]; ++symbol) follow_.add(symbol, terminal);
    for (bool changed = true; changed;) {
        changed = false;
        for (ItemId item = 0; item < item_count(); ++item) {
            poll();
            for (const Edge& edge : edges_[item]) {
                changed = follow_.unite(edge.symbol, first[edge.target]) || changed;
                if (!ends[item] && ends[edge.target] && empty[edge.symbol]) ends[item] = changed = true;
                if (ends[edge.target]) changed = follow_.unite(edge.symbol, follow_[rule_of_[item]]) || changed;
            }
        }
    }
    // A terminal outside the rules is read elsewhere, as line breaks by width are.
    std::vector<bool> in_rules(names_.size(), false);
    for (const Edge& edge : edges_.all()) in_rules[edge.symbol] = true;
    for (SymbolId terminal = 0; terminal < terminal_count_; ++terminal) {
        if (in_rules[terminal]) continue;
        follow_.fill(terminal);
        for (SymbolId other = 0; other < terminal_count_ && !ignored_[terminal]; ++other) follow_.add(other, terminal);
    }
}

// Of each symbol, whether it derives the empty text, marks aside.
std::vector<bool> ContextFreeGrammar::without_text() const {
    std::vector<bool> empty(names_.size(), false), ends(accepting_);
    for (SymbolId mark : marks_) empty[mark] = true;
    for (bool changed = true; changed;) {
        changed = false;
        poll();
        for (auto item = static_cast<ItemId>(item_count()); item-- > 0;)
            for (const Edge& edge : edges_[item])
                if (!ends[item] && ends[edge.target] && empty[edge.symbol]) ends[item] = changed = true;
        for (auto rule = static_cast<SymbolId>(terminal_count_); rule < names_.size(); ++rule)
            if (!empty[rule] && ends[first_item(rule)]) empty[rule] = changed = true;
    }
    return empty;
}

BitSets ContextFreeGrammar::first_sets(const std::vector<bool>& empty) const {
    BitSets first(item_count(), terminal_count_);
    for (bool changed = true; changed;) {
        changed = false;
        for (auto item = static_cast<ItemId>(item_count()); item-- > 0;) {
            poll();
            for (const Edge& edge : edges_[item]) {
                if (is_rule(edge.symbol)) {
                    changed = first.unite(item, first[first_item(edge.symbol)]) || changed;
                } else if (!first.has(item, edge.symbol)) {
                    first.add(item, edge.symbol);
                    changed = true;
                }
                if (empty[edge.symbol]) changed = first.unite(item, first[edge.target]) || changed;
            }
        }
    }
    return first;
}

ContextFreeGrammar ContextFreeGrammar::moved_to(Kernel& kernel, const Kernel& from) const {
    std::vector<NodeId> nodes;
    for (const Lexeme& lexeme : lexemes_) nodes.insert(nodes.end(), {lexeme.text, lexeme.longer});
    nodes = kernel.adopt(from, nodes);
    ContextFreeGrammar out(*this);
    for (size_t k = 0; k < lexemes_.size(); ++k) {
        out.lexemes_[k].text = nodes[2 * k];
        out.lexemes_[k].longer = nodes[2 * k + 1];
    }
    return out;
}

size_t ContextFreeGrammar::memory_bytes() const {
    size_t bytes = heap_bytes(ignored_) + heap_bytes(own_min_bytes_) + heap_bytes(lexemes_) + heap_bytes(lexemes_of_) +
                   heap_bytes(first_items_) + heap_bytes(nullable_) + heap_bytes(rule_of_) + heap_bytes(accepting_) +
                   heap_bytes(ends_) + edges_.memory_bytes() + closures_.memory_bytes() + heap_bytes(min_bytes_) +
                   follow_.memory_bytes() + heap_bytes(names_);
    for (const std::string& name : names_) bytes += heap_bytes(name);
    return bytes;
}

}  // namespace schemagen
