#include "context_free/rest_bounds.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

using When = Adjacency::When;

namespace {
unsigned lowest(RestBounds::Classes classes) { return static_cast<unsigned>(std::countr_zero(classes)); }
}  // namespace

RestBounds::RestBounds(const ContextFreeGrammar& grammar, const Liveness& liveness, Adjacency& adjacency)
    : grammar_(grammar),
      class_count_(liveness.classes().count()),
      last_(liveness.classes().last()),
      tables_(grammar.item_count()) {
    for (SymbolId terminal = 0; terminal < grammar_.terminal_count(); ++terminal)
        class_of_.push_back(liveness.classes().of(terminal));
    measure_terminals(adjacency);
    measure_ignored(adjacency);
    find_touching(liveness.classes(), adjacency);
    make_tables(liveness);
    for (bool changed = true; changed;) {
        changed = false;
        for (auto item = static_cast<ItemId>(grammar_.item_count()); item-- > 0;) {
            poll();
            for (Classes lasts = tables_[item].lasts; lasts; lasts &= lasts - 1)
                for (const auto& edge : grammar_.edges(item))
                    changed = lower_over(item, edge, lowest(lasts), liveness) || changed;
        }
    }
}

void RestBounds::measure_terminals(Adjacency& adjacency) {
    begun_.assign(grammar_.terminal_count(), kFar);
    for (SymbolId terminal = 0; terminal < grammar_.terminal_count(); ++terminal) {
        const auto lexemes = grammar_.lexemes_of(terminal);
        if (lexemes.empty()) continue;
        begun_[terminal] = 0;
        for (LexemeId lexeme : lexemes) begun_[terminal] = std::max(begun_[terminal], adjacency.bytes_to_end(lexeme));
        if (grammar_.is_ignored(terminal)) between_ = std::max(between_, std::min(begun_[terminal] + 1, kFar));
    }
}

// After some ignored lexemes others have to come before everything may follow: a line break after a comment.
void RestBounds::measure_ignored(Adjacency& adjacency) {
    std::vector<LexemeId> ignored, others, open;
    for (LexemeId lexeme = 0; lexeme < grammar_.lexemes().size(); ++lexeme)
        (grammar_.is_ignored(grammar_.lexemes()[lexeme].terminal) ? ignored : others).push_back(lexeme);
    const auto always = [&](LexemeId one, LexemeId next) { return adjacency.followed(one, next) == When::kAlways; };
    const auto is_left = [&](LexemeId each) {
        return adjacency.last(each) == When::kAlways &&
               std::all_of(others.begin(), others.end(), [&](LexemeId next) { return always(each, next); });
    };
    std::copy_if(ignored.begin(), ignored.end(), std::back_inserter(open), is_left);
    for (LexemeId each : ignored) {
        uint32_t after = std::find(open.begin(), open.end(), each) == open.end() ? kFar : 0;
        for (LexemeId next : open)
            if (after && always(each, next)) after = std::min(after, adjacency.bytes_to_end(next) + 1);
        uint32_t& begun = begun_[grammar_.lexemes()[each].terminal];
        begun = std::min(std::max(begun, adjacency.bytes_to_end(each) + after), kFar);
    }
}

void RestBounds::find_touching(const NeighbourClasses& classes, Adjacency& adjacency) {
    const auto touches = [&](SymbolId last, SymbolId next) {
        const auto lasts = grammar_.lexemes_of(last), nexts = grammar_.lexemes_of(next);
        return std::all_of(lasts.begin(), lasts.end(), [&](LexemeId one) {
            return std::any_of(nexts.begin(), nexts.end(),
                               [&](LexemeId other) { return adjacency.followed(one, other) == When::kAlways; });
        });
    };
    touching_.assign(grammar_.terminal_count(), ~Classes{0});
    for (SymbolId next = 0; next < grammar_.terminal_count(); ++next) {
        poll();
        for (SymbolId last = 0; last < grammar_.terminal_count(); ++last)
            if (const uint32_t own = classes.of(last); own < classes.count() && !touches(last, next))
                touching_[next] &= ~(Classes{1} << own);
    }
}

void RestBounds::make_tables(const Liveness& liveness) {
    size_t size = 0;
    for (ItemId item = 0; item < grammar_.item_count(); ++item) {
        Table& table = tables_[item];
        table.lasts = liveness.entered(item);
        table.begin = static_cast<uint32_t>(size);
        for (Classes lasts = table.lasts; lasts; lasts &= lasts - 1) table.ends |= liveness.ends(item, lowest(lasts));
        size += static_cast<size_t>(std::popcount(table.lasts)) * static_cast<size_t>(std::popcount(table.ends));
    }
    bytes_.assign(size, kFar);
    for (ItemId item = 0; item < grammar_.item_count(); ++item)
        for (Classes lasts = grammar_.accepting(item) ? tables_[item].lasts : 0; lasts; lasts &= lasts - 1)
            lower(item, lowest(lasts), lowest(lasts), 0);
}

// True if that is less than the known bytes.
bool RestBounds::lower(ItemId item, unsigned last, unsigned end, uint32_t bytes) {
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
        if (own >= class_count_ || std::ranges::binary_search(liveness.pruned(), edge.symbol)) return false;
        if (!(liveness.classes().always()[last] >> own & 1)) return false;
        const uint32_t between = touching_[edge.symbol] >> last & 1 ? 0 : between_;
        return lower_by(item, last, std::min(begun_[edge.symbol] + 1 + between, kFar), edge.target, own);
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
    if (last >= class_count_ || !(table.lasts >> last & 1)) return best;
    size_t k = row_at(table, last);
    for (Classes ends = table.ends; ends; ends &= ends - 1, ++k) best = std::min(best, bytes_[k] + after[lowest(ends)]);
    return best;
}

void RestBounds::end(std::span<uint32_t> after) const {
    for (Classes lasts = last_ & ((Classes{1} << class_count_) - 1); lasts; lasts &= lasts - 1)
        after[lowest(lasts)] = 0;
}

size_t RestBounds::memory_bytes() const {
    return heap_bytes(class_of_) + heap_bytes(begun_) + heap_bytes(touching_) + heap_bytes(tables_) +
           heap_bytes(bytes_);
}

}  // namespace schemagen
