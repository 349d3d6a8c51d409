#include "context_free/liveness.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "util/work.hpp"

namespace schemagen {

namespace {
bool always(Adjacency::When when) { return when == Adjacency::When::kAlways; }
}  // namespace

Liveness::Liveness(const ContextFreeGrammar& grammar, const Indentation* indentation,
                   const std::vector<ForeignTerminal>& foreign, const LrTables* tables, Adjacency& adjacency)
    : grammar_(grammar),
      indentation_(indentation),
      foreign_(foreign),
      adjacency_(adjacency),
      stuck_rule_(grammar.start()) {
    if (tables) find_ways(*tables);
}

// A lexer for each state may read a terminal in ways of its own.
void Liveness::find_ways(const LrTables& tables) {
    ways_.resize(grammar_.terminal_count());
    for (size_t state = 0; state < tables.actions.size(); ++state) {
        poll();
        std::map<SymbolId, std::vector<LexemeId>> here;
        for (LexemeId lexeme : tables.lexemes[state]) here[grammar_.lexemes()[lexeme].terminal].push_back(lexeme);
        for (const LrTables::Action& action : tables.actions[state])
            if (action.symbol < grammar_.terminal_count() && !grammar_.lexemes_of(action.symbol).empty())
                ways_[action.symbol].insert(here[action.symbol]);
    }
}

const ForeignTerminal* Liveness::foreign(SymbolId terminal) const {
    for (const ForeignTerminal& each : foreign_)
        if (each.terminal == terminal) return &each;
    return nullptr;
}

std::vector<LexemeId> Liveness::lexemes_of(SymbolId terminal) const {
    std::vector<LexemeId> out(grammar_.lexemes_of(terminal).begin(), grammar_.lexemes_of(terminal).end());
    if (!indentation_ || terminal != indentation_->newline) return out;
    for (const auto& [newline, width] : indentation_->newlines)
        out.insert(out.end(), grammar_.lexemes_of(newline).begin(), grammar_.lexemes_of(newline).end());
    return out;
}

bool Liveness::may_be_behind(LexemeId lexeme, LexemeId next) {
    const size_t count = grammar_.lexemes().size();
    if (behind_.empty()) behind_.assign(count * count, kUnasked);
    uint8_t& known = behind_[lexeme * count + next];
    if (known == kUnasked) known = finds_behind(lexeme, next);
    return known != 0;
}

bool Liveness::finds_behind(LexemeId lexeme, LexemeId next) {
    if (always(adjacency_.followed(lexeme, next))) return true;
    for (SymbolId ignored = 0; ignored < grammar_.terminal_count(); ++ignored)
        if (grammar_.is_ignored(ignored))
            for (LexemeId between : grammar_.lexemes_of(ignored))
                if (always(adjacency_.followed(lexeme, between)) && always(adjacency_.followed(between, next)))
                    return true;
    return false;
}

bool Liveness::may_be_before(LexemeId lexeme, const ForeignTerminal& next) {
    if (always(adjacency_.before(lexeme, next.first))) return true;
    for (SymbolId ignored = 0; ignored < grammar_.terminal_count(); ++ignored)
        if (grammar_.is_ignored(ignored))
            for (LexemeId between : grammar_.lexemes_of(ignored))
                if (always(adjacency_.followed(lexeme, between)) && always(adjacency_.before(between, next.first)))
                    return true;
    return false;
}

// Whichever way the one is read, some way to read the other may follow.
bool Liveness::may_follow(SymbolId terminal, SymbolId next) {
    if (const ForeignTerminal* guest = foreign(next)) {
        const std::vector<LexemeId> before = lexemes_of(terminal);
        return std::all_of(before.begin(), before.end(), [&](LexemeId each) { return may_be_before(each, *guest); });
    }
    const std::vector<LexemeId> before = lexemes_of(terminal);
    auto may_be = [&](const std::vector<LexemeId>& after) {
        return std::all_of(before.begin(), before.end(), [&](LexemeId lexeme) {
            return std::any_of(after.begin(), after.end(), [&](LexemeId each) { return may_be_behind(lexeme, each); });
        });
    };
    if (ways_.empty() || ways_[next].empty()) return may_be(lexemes_of(next));
    return std::all_of(ways_[next].begin(), ways_[next].end(), may_be);
}

// Whether its ends say nothing of what stands behind it, so that all may, and the end of the text.
bool Liveness::is_free(SymbolId terminal) {
    const std::vector<LexemeId> lexemes = lexemes_of(terminal);
    return ways_.empty() &&
           std::all_of(lexemes.begin(), lexemes.end(), [&](LexemeId each) { return adjacency_.is_free(each); });
}

// What tells terminals apart: what may follow them, nothing if they are free, and which of those that are not free they
// may follow.
std::vector<Liveness::Neighbours> Liveness::find_neighbours(const std::vector<SymbolId>& read) {
    std::vector<Neighbours> out(read.size());
    for (size_t at = 0; at < read.size(); ++at) {
        poll();
        if (is_free(read[at])) continue;
        const std::vector<LexemeId> lexemes = lexemes_of(read[at]);
        for (size_t next = 0; next < read.size(); ++next) {
            const bool may = may_follow(read[at], read[next]);
            out[at].behind.push_back(may);
            out[next].before.push_back(may);
        }
        out[at].behind.push_back(std::all_of(lexemes.begin(), lexemes.end(),
                                             [&](LexemeId lexeme) { return always(adjacency_.last(lexeme)); }));
    }
    return out;
}

// false: there are too many.
bool Liveness::find_classes() {
    const uint32_t count = grammar_.terminal_count();
    std::vector<SymbolId> read;
    for (SymbolId terminal = 0; terminal < count; ++terminal)
        if (!grammar_.is_ignored(terminal) && (foreign(terminal) || !lexemes_of(terminal).empty()))
            read.push_back(terminal);
    class_of_.assign(count, kNotRead);
    if (indentation_) class_of_[indentation_->indent] = class_of_[indentation_->dedent] = kNoText;
    const std::vector<Neighbours> neighbours = find_neighbours(read);
    std::map<Neighbours, uint32_t> classes;
    for (size_t at = 0; at < read.size(); ++at) {
        const auto next = static_cast<uint32_t>(classes.size() + 1);
        class_of_[read[at]] = classes.try_emplace(neighbours[at], next).first->second;
    }
    class_count_ = classes.size() + 1;
    if (class_count_ > kMostClasses) return false;
    followed_.assign(class_count_, 0);
    followed_[0] = ~Classes{0};
    last_ = 1;
    for (const auto& [each, own] : classes) {
        if (each.behind.empty() || each.behind.back()) last_ |= Classes{1} << own;
        for (size_t next = 0; next < read.size(); ++next)
            if (each.behind.empty() || each.behind[next]) followed_[own] |= Classes{1} << class_of_[read[next]];
    }
    return true;
}

// How the rule of an item may end that goes on over an edge.
Liveness::Classes Liveness::ends_over(const ContextFreeGrammar::Edge& edge, unsigned last) const {
    if (!grammar_.is_rule(edge.symbol)) {
        const uint32_t own = class_of_[edge.symbol];
        if (own == kNoText) return ends_of(edge.target, last);
        return own != kNotRead && followed_[last] >> own & 1 ? ends_of(edge.target, own) : 0;
    }
    Classes out = 0;
    for (Classes inner = ends_of(grammar_.first_item(edge.symbol), last); inner; inner &= inner - 1)
        out |= ends_of(edge.target, static_cast<unsigned>(std::countr_zero(inner)));
    return out;
}

void Liveness::find_ends() {
    ends_.assign(grammar_.item_count() * class_count_, 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (auto item = static_cast<ItemId>(grammar_.item_count()); item-- > 0;) {
            poll();
            for (unsigned last = 0; last < class_count_; ++last) {
                Classes out = ends_of(item, last) | (grammar_.accepting(item) ? Classes{1} << last : 0);
                for (const auto& edge : grammar_.edges(item)) out |= ends_over(edge, last);
                changed = changed || out != ends_of(item, last);
                ends_[item * class_count_ + last] = out;
            }
        }
    }
}

// Whether each item has an end behind what may have been read last there.
bool Liveness::all_end() {
    std::vector<Classes> entered(grammar_.item_count());
    std::vector<ItemId> todo;
    bool well = true;
    auto enter = [&](ItemId item, Classes lasts) {
        if (!(lasts & ~entered[item])) return;
        entered[item] |= lasts;
        todo.push_back(item);
    };
    auto go_on = [&](ItemId target, Classes lasts) {
        for (Classes rest = lasts; rest; rest &= rest - 1)
            if (!ends_of(target, static_cast<unsigned>(std::countr_zero(rest)))) {
                stuck_rule_ = grammar_.rule_of(target);
                well = false;
            }
        enter(target, lasts);
    };
    enter(grammar_.first_item(grammar_.start()), 1);
    while (well && !todo.empty()) {
        poll();
        const ItemId item = todo.back();
        todo.pop_back();
        for (const auto& edge : grammar_.edges(item)) {
            const bool is_rule = grammar_.is_rule(edge.symbol);
            if (is_rule) enter(grammar_.first_item(edge.symbol), entered[item]);
            Classes lasts = 0;
            for (Classes rest = entered[item]; rest; rest &= rest - 1) {
                const auto last = static_cast<unsigned>(std::countr_zero(rest));
                const uint32_t own = is_rule ? kNoText : class_of_[edge.symbol];
                if (is_rule)
                    lasts |= ends_of(grammar_.first_item(edge.symbol), last);
                else if (own == kNoText)
                    lasts |= Classes{1} << last;
                else if (own != kNotRead && followed_[last] >> own & 1)
                    lasts |= Classes{1} << own;
            }
            go_on(edge.target, lasts);
        }
    }
    const Classes ends = ends_of(grammar_.first_item(grammar_.start()), 0);
    return well && ends && !(ends & ~last_);
}

// What is ignored is read where something may follow it (pruning_parser.hpp): there it must then be so always.
bool Liveness::knows_what_follows_ignored() {
    auto is_clear = [](Adjacency::When when) { return when != Adjacency::When::kSometimes; };
    for (SymbolId ignored = 0; ignored < grammar_.terminal_count(); ++ignored) {
        if (!grammar_.is_ignored(ignored)) continue;
        for (LexemeId lexeme : grammar_.lexemes_of(ignored)) {
            bool clear = is_clear(adjacency_.last(lexeme));
            for (LexemeId next = 0; clear && next < grammar_.lexemes().size(); ++next)
                clear = is_clear(adjacency_.followed(lexeme, next));
            for (const ForeignTerminal& next : foreign_)
                clear = clear && is_clear(adjacency_.before(lexeme, next.first));
            if (!clear) return false;
        }
    }
    return true;
}

bool Liveness::is_lively() {
    if (!knows_what_follows_ignored() || !find_classes()) return false;
    find_ends();
    return all_end();
}

}  // namespace schemagen
