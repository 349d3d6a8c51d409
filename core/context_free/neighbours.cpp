#include "context_free/neighbours.hpp"

#include <algorithm>
#include <map>

#include "util/work.hpp"

namespace schemagen {

using When = Adjacency::When;

const ForeignTerminal* NeighbourClasses::foreign(SymbolId terminal) const {
    for (const ForeignTerminal& each : foreign_)
        if (each.terminal == terminal) return &each;
    return nullptr;
}

std::vector<LexemeId> NeighbourClasses::lexemes_of(SymbolId terminal) const {
    std::vector<LexemeId> out(grammar_.lexemes_of(terminal).begin(), grammar_.lexemes_of(terminal).end());
    if (!indentation_ || terminal != indentation_->newline) return out;
    for (const auto& [newline, width] : indentation_->newlines)
        out.insert(out.end(), grammar_.lexemes_of(newline).begin(), grammar_.lexemes_of(newline).end());
    return out;
}

// When what `before` tells of may stand behind a lexeme, with something ignored between them or not.
template <class Before>
When NeighbourClasses::behind(LexemeId lexeme, const Before& before) {
    When best = before(lexeme);
    bool leaves = false, arrives = false;  // through what is ignored, of which there may be several
    for (SymbolId ignored = 0; ignored < grammar_.terminal_count() && best != When::kAlways; ++ignored) {
        if (!grammar_.is_ignored(ignored)) continue;
        for (LexemeId between : grammar_.lexemes_of(ignored)) {
            const When first = adjacency_.followed(lexeme, between), second = before(between);
            leaves = leaves || first != When::kNever;
            arrives = arrives || second != When::kNever;
            best = std::max(best, std::min(first, second));
        }
    }
    return best == When::kNever && leaves && arrives ? When::kSometimes : best;
}

// When some way to read the one may stand behind the other, whichever way that is read.
When NeighbourClasses::follows(SymbolId terminal, SymbolId next) {
    const std::vector<LexemeId> lexemes = lexemes_of(terminal), after = lexemes_of(next);
    const ForeignTerminal* guest = foreign(next);
    When least = When::kAlways, most = lexemes.empty() ? When::kAlways : When::kNever;
    for (LexemeId lexeme : lexemes) {
        When best = When::kNever;
        if (guest) best = behind(lexeme, [&](LexemeId last) { return adjacency_.before(last, guest->first); });
        for (LexemeId each : after)
            if (best != When::kAlways)
                best = std::max(best, behind(lexeme, [&](LexemeId last) { return adjacency_.followed(last, each); }));
        least = std::min(least, best);
        most = std::max(most, best);
    }
    return least == When::kAlways ? least : most == When::kNever ? most : When::kSometimes;
}

// false: there are too many.
bool NeighbourClasses::find() {
    if (!knows_what_follows_ignored()) return false;
    const uint32_t terminals = grammar_.terminal_count();
    std::vector<SymbolId> read;
    for (SymbolId terminal = 0; terminal < terminals; ++terminal)
        if (!grammar_.is_ignored(terminal) && (foreign(terminal) || !lexemes_of(terminal).empty()))
            read.push_back(terminal);
    using Row = std::vector<When>;
    std::map<SymbolId, std::pair<Row, Row>> neighbours;
    for (SymbolId terminal : read) {
        poll();
        for (SymbolId next : read) {
            const When when = follows(terminal, next);
            neighbours[terminal].first.push_back(when);
            neighbours[next].second.push_back(when);
        }
    }
    class_of_.assign(terminals, kNotRead);
    if (indentation_) class_of_[indentation_->indent] = class_of_[indentation_->dedent] = kNoText;
    std::map<std::pair<Row, Row>, uint32_t> classes;
    for (SymbolId terminal : read) {
        const std::vector<LexemeId> lexemes = lexemes_of(terminal);
        const bool may_end = std::all_of(lexemes.begin(), lexemes.end(),
                                         [&](LexemeId lexeme) { return adjacency_.last(lexeme) == When::kAlways; });
        neighbours[terminal].first.push_back(may_end ? When::kAlways : When::kNever);
        const auto next = static_cast<uint32_t>(classes.size() + 1);
        class_of_[terminal] = classes.try_emplace(neighbours[terminal], next).first->second;
    }
    count_ = static_cast<unsigned>(classes.size() + 1);
    if (count_ > kMost) return false;
    always_.assign(count_, 0);
    ever_.assign(count_, 0);
    always_[0] = ever_[0] = ~Set{0};
    last_ = 1;
    for (SymbolId terminal : read) {
        const Row& row = neighbours[terminal].first;
        const uint32_t own = class_of_[terminal];
        if (row.back() == When::kAlways) last_ |= Set{1} << own;
        for (size_t k = 0; k < read.size(); ++k) {
            const Set bit = Set{1} << class_of_[read[k]];
            if (row[k] == When::kAlways) always_[own] |= bit;
            if (row[k] != When::kNever) ever_[own] |= bit;
        }
    }
    return true;
}

// What is ignored is read where something may follow it (pruning_parser.hpp): there it must then be so always.
bool NeighbourClasses::knows_what_follows_ignored() {
    auto is_clear = [](When when) { return when != When::kSometimes; };
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

}  // namespace schemagen
