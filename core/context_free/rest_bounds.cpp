#include "context_free/rest_bounds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <limits>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

using When = Adjacency::When;

RestBounds::RestBounds(const ContextFreeGrammar& grammar, const Liveness& liveness, Adjacency& adjacency)
    : grammar_(grammar),
      adjacency_(adjacency),
      ignored_(liveness.classes().count()),
      last_(liveness.classes().last()),
      tables_(grammar.item_count()) {
    for (SymbolId terminal = 0; terminal < grammar_.terminal_count(); ++terminal)
        class_of_.push_back(liveness.classes().of(terminal));
    measure_ignored();
    measure_terminals();
    find_touching();
    make_tables(liveness);
    for (bool changed = true; changed;) {
        changed = false;
        for (auto item = static_cast<ItemId>(grammar_.item_count()); item-- > 0;) {
            poll();
            for (Classes lasts = tables_[item].lasts; lasts; lasts &= lasts - 1) {
                for (const auto& edge : grammar_.edges(item))
                    changed = lower_over(item, edge, lowest(lasts), liveness) || changed;
                if (separable_ >> lowest(lasts) & 1)
                    changed = lower_by(item, lowest(lasts), between_, item, ignored_) || changed;
            }
        }
    }
}

// After some ignored lexemes others have to come before everything may follow: a line break after a comment.
void RestBounds::measure_ignored() {
    std::vector<LexemeId> ignored, others;
    for (LexemeId lexeme = 0; lexeme < grammar_.lexemes().size(); ++lexeme)
        (grammar_.is_ignored(grammar_.lexemes()[lexeme].terminal) ? ignored : others).push_back(lexeme);
    const auto is_open = [&](LexemeId each) {
        return adjacency_.last(each) == When::kAlways && std::all_of(others.begin(), others.end(), [&](LexemeId next) {
                   return adjacency_.always_followed(each, next);
               });
    };
    std::copy_if(ignored.begin(), ignored.end(), std::back_inserter(open_), is_open);
    leaving_.assign(grammar_.lexemes().size(), 0);
    for (LexemeId each : ignored) {
        leaving_[each] = std::find(open_.begin(), open_.end(), each) == open_.end() ? kFar : 0;
        for (LexemeId next : open_)
            if (leaving_[each] && adjacency_.always_followed(each, next))
                leaving_[each] = std::min(leaving_[each], adjacency_.bytes_to_end(next) + 1);
    }
    for (LexemeId each : open_) between_ = std::max(between_, std::min(adjacency_.bytes_to_end(each) + 1, kFar));
}

void RestBounds::measure_terminals() {
    begun_.assign(grammar_.terminal_count(), kFar);
    for (SymbolId terminal = 0; terminal < grammar_.terminal_count(); ++terminal) {
        const auto lexemes = grammar_.lexemes_of(terminal);
        if (!lexemes.empty()) begun_[terminal] = 0;
        for (LexemeId lexeme : lexemes)
            begun_[terminal] =
                std::max(begun_[terminal], std::min(adjacency_.bytes_to_end(lexeme) + leaving_[lexeme], kFar));
    }
}

uint32_t RestBounds::of_begun(const Lexer::Component& component) const {
    return std::min(adjacency_.bytes_to_end(component) + leaving_[component.lexeme], kFar);
}

// Which terminals may always touch, and after which ignored text always may come.
void RestBounds::find_touching() {
    const auto all_before = [&](SymbolId last, const auto& nexts) {
        return std::ranges::all_of(grammar_.lexemes_of(last), [&](LexemeId one) {
            return std::ranges::any_of(nexts, [&](LexemeId next) { return adjacency_.always_followed(one, next); });
        });
    };
    touching_.assign(grammar_.terminal_count(), ~Classes{0});
    separable_ = open_.empty() ? 0 : (Classes{1} << ignored_) - 1;
    for (SymbolId last = 0; last < grammar_.terminal_count(); ++last) {
        poll();
        if (class_of_[last] >= ignored_) continue;
        const Classes own = Classes{1} << class_of_[last];
        if (!all_before(last, open_)) separable_ &= ~own;
        for (SymbolId next = 0; next < grammar_.terminal_count(); ++next)
            if (!all_before(last, grammar_.lexemes_of(next))) touching_[next] &= ~own;
    }
}

void RestBounds::make_tables(const Liveness& liveness) {
    size_t size = 0;
    const Classes ignored = Classes{1} << ignored_;
    for (ItemId item = 0; item < grammar_.item_count(); ++item) {
        Table& table = tables_[item];
        table.ends = ignored;
        for (Classes lasts = liveness.entered(item); lasts; lasts &= lasts - 1)
            table.ends |= liveness.ends(item, lowest(lasts));
        table.lasts = liveness.entered(item) | ignored;
        table.begin = static_cast<uint32_t>(size);
        size += static_cast<size_t>(std::popcount(table.lasts)) * static_cast<size_t>(std::popcount(table.ends));
    }
    bytes_.assign(size, kFar);
    for (ItemId item = 0; item < grammar_.item_count(); ++item)
        for (Classes lasts = grammar_.accepting(item) ? tables_[item].lasts : 0; lasts; lasts &= lasts - 1)
            lower(item, lowest(lasts), lowest(lasts), 0);
}

// True if that is less than the known bytes.
bool RestBounds::lower(ItemId item, unsigned last, unsigned end, uint32_t bytes) {
    if (!(tables_[item].ends >> end & 1)) return false;
    uint32_t& known = row(item, last)[rank(tables_[item].ends, end)];
    const bool is_less = bytes < known;
    if (is_less) known = bytes;
    return is_less;
}

// With the ways of an item at which another class was read last, so many bytes later.
bool RestBounds::lower_by(ItemId item, unsigned last, uint32_t bytes, ItemId target, unsigned read) {
    const Table& to = tables_[target];
    if (bytes >= kFar || !(to.lasts >> read & 1)) return false;
    bool changed = false;
    size_t k = row_at(to, read);
    for (Classes ends = to.ends; ends; ends &= ends - 1, ++k)
        if (bytes_[k] < kFar) changed = lower(item, last, lowest(ends), bytes + bytes_[k]) || changed;
    return changed;
}

bool RestBounds::lower_over(ItemId item, const ContextFreeGrammar::Edge& edge, unsigned last,
                            const Liveness& liveness) {
    if (!grammar_.is_rule(edge.symbol)) {
        const unsigned own = class_of_[edge.symbol];
        if (own >= ignored_ || std::ranges::binary_search(liveness.pruned(), edge.symbol)) return false;
        if (last != ignored_ && !(touching_[edge.symbol] >> last & 1)) return false;
        return lower_by(item, last, begun_[edge.symbol] + 1, edge.target, own);
    }
    const ItemId first = grammar_.first_item(edge.symbol);
    const Table& called = tables_[first];
    if (!(called.lasts >> last & 1)) return false;
    bool changed = false;
    size_t k = row_at(called, last);
    for (Classes ends = called.ends; ends; ends &= ends - 1, ++k)
        changed = lower_by(item, last, bytes_[k], edge.target, lowest(ends)) || changed;
    return changed;
}

uint32_t RestBounds::through(ItemId item, unsigned last, std::span<const uint32_t> after) const {
    const Table& table = tables_[item];
    uint32_t best = kFar;
    if (last > ignored_ || !(table.lasts >> last & 1)) return best;
    size_t k = row_at(table, last);
    for (Classes ends = table.ends; ends; ends &= ends - 1, ++k) best = std::min(best, bytes_[k] + after[lowest(ends)]);
    return best;
}

bool RestBounds::lower_through(ItemId item, std::span<const uint32_t> after, std::span<uint32_t> known) const {
    const Table& table = tables_[item];
    std::array<uint32_t, std::numeric_limits<Classes>::digits> at_ends;
    size_t count = 0;
    for (Classes ends = table.ends; ends; ends &= ends - 1) at_ends[count++] = after[lowest(ends)];
    bool changed = false;
    const uint32_t* row = bytes_.data() + table.begin;
    for (Classes lasts = table.lasts; lasts; lasts &= lasts - 1, row += count) {
        uint32_t best = kFar;
        for (size_t k = 0; k < count; ++k) best = std::min(best, row[k] + at_ends[k]);
        uint32_t& own = known[lowest(lasts)];
        changed = changed || best < own;
        own = std::min(own, best);
    }
    return changed;
}

void RestBounds::end(std::span<uint32_t> after) const {
    for (unsigned last = 0; last < ignored_; ++last)
        if (last_ >> last & 1) after[last] = 0;
    after[ignored_] = 0;
}

size_t RestBounds::memory_bytes() const {
    return heap_bytes(class_of_) + heap_bytes(open_) + heap_bytes(leaving_) + heap_bytes(begun_) +
           heap_bytes(touching_) + heap_bytes(tables_) + heap_bytes(bytes_);
}

}  // namespace schemagen
