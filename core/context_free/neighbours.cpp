#include "context_free/neighbours.hpp"

#include <algorithm>
#include <map>

#include "util/work.hpp"

namespace schemagen {

using When = Adjacency::When;

NeighbourClasses::NeighbourClasses(const ContextFreeGrammar& grammar, const Indentation* indentation,
                                   const std::vector<EmbeddedTerminal>& embedded, const LrTables* tables,
                                   Adjacency& adjacency)
    : grammar_(grammar), indentation_(indentation), embedded_(embedded), adjacency_(adjacency) {
    for (SymbolId terminal = 0; terminal < grammar_.terminal_count(); ++terminal)
        lexemes_.push_back(find_lexemes(terminal));
    if (tables) {
        find_ways(*tables);
        return;
    }
    std::vector<LexemeId> ignored;
    for (LexemeId lexeme = 0; lexeme < grammar_.lexemes().size(); ++lexeme)
        if (grammar_.is_ignored(grammar_.lexemes()[lexeme].terminal)) ignored.push_back(lexeme);
    between_of(std::move(ignored));
}

uint32_t NeighbourClasses::between_of(std::vector<LexemeId> ignored) {
    const auto known = std::find(between_.begin(), between_.end(), ignored);
    const auto at = static_cast<uint32_t>(known - between_.begin());
    if (known == between_.end()) {
        between_.push_back(std::move(ignored));
        followed_.emplace_back();
    }
    return at;
}

// The lexer of each state may read and ignore in its own ways.
void NeighbourClasses::find_ways(const LrTables& tables) {
    ways_.resize(grammar_.terminal_count());
    for (size_t state = 0; state < tables.actions.size(); ++state) {
        poll();
        std::map<SymbolId, std::vector<LexemeId>> here;
        std::vector<LexemeId> ignored;
        for (LexemeId lexeme : tables.lexemes[state]) {
            const SymbolId terminal = grammar_.lexemes()[lexeme].terminal;
            here[terminal].push_back(lexeme);
            if (grammar_.is_ignored(terminal)) ignored.push_back(lexeme);
        }
        const uint32_t between = between_of(std::move(ignored));
        for (const LrTables::Action& action : tables.actions[state])
            if (action.symbol < grammar_.terminal_count() && !grammar_.lexemes_of(action.symbol).empty())
                ways_[action.symbol].insert({between, here[action.symbol]});
    }
    for (const auto& ways : ways_)
        for (const Way& way : ways) is_read_everywhere_ = is_read_everywhere_ && !way.lexemes.empty();
}

const EmbeddedTerminal* NeighbourClasses::embedded(SymbolId terminal) const {
    for (const EmbeddedTerminal& each : embedded_)
        if (each.terminal == terminal) return &each;
    return nullptr;
}

std::vector<LexemeId> NeighbourClasses::find_lexemes(SymbolId terminal) const {
    std::vector<LexemeId> out(grammar_.lexemes_of(terminal).begin(), grammar_.lexemes_of(terminal).end());
    if (!indentation_ || terminal != indentation_->newline) return out;
    for (const auto& [newline, width] : indentation_->newlines)
        out.insert(out.end(), grammar_.lexemes_of(newline).begin(), grammar_.lexemes_of(newline).end());
    return out;
}

// When the lexemes of `before` may follow a lexeme, whether or not something ignored comes between them.
template <class Before>
When NeighbourClasses::after(LexemeId lexeme, uint32_t between, const Before& before) {
    When best = before(lexeme);
    bool leaves = false, arrives = false;  // through ignored lexemes, one or more
    for (size_t k = 0; k < between_[between].size() && best != When::kAlways; ++k) {
        const LexemeId ignored = between_[between][k];
        const When first = adjacency_.followed(lexeme, ignored), second = before(ignored);
        leaves = leaves || first != When::kNever;
        arrives = arrives || second != When::kNever;
        best = std::max(best, std::min(first, second));
    }
    return best == When::kNever && leaves && arrives ? When::kSometimes : best;
}

When NeighbourClasses::followed(LexemeId lexeme, uint32_t between, LexemeId next) {
    const uint32_t beginning = adjacency_.beginning(next);
    if (const uint32_t known = followed_[between].find(lexeme, beginning); known != PairMap::kNone)
        return static_cast<When>(known);
    const When when = after(lexeme, between, [&](LexemeId last) { return adjacency_.followed(last, next); });
    followed_[between].insert(lexeme, beginning, static_cast<uint32_t>(when));
    return when;
}

// The same for one of several next ones.
When NeighbourClasses::followed_by_one(LexemeId lexeme, uint32_t between, const std::vector<LexemeId>& next) {
    When best = When::kNever;
    for (LexemeId each : next)
        if (best != When::kAlways) best = std::max(best, followed(lexeme, between, each));
    return best;
}

// When some way to read a terminal may follow a lexeme, wherever the parser is.
When NeighbourClasses::follows_lexeme(LexemeId lexeme, SymbolId next) {
    When least = When::kAlways, most = When::kNever;
    auto note = [&](When when) {
        least = std::min(least, when);
        most = std::max(most, when);
    };
    const EmbeddedTerminal* language = embedded(next);
    if (!language && !ways_.empty() && !ways_[next].empty())
        for (const Way& way : ways_[next]) note(followed_by_one(lexeme, way.between, way.lexemes));
    else
        for (uint32_t between = 0; between < between_.size(); ++between)
            note(language
                     ? after(lexeme, between, [&](LexemeId last) { return adjacency_.before(last, language->first); })
                     : followed_by_one(lexeme, between, lexemes_[next]));
    return least == most ? least : When::kSometimes;
}

// The same after a terminal, whichever of its lexemes is read.
When NeighbourClasses::follows(const std::vector<LexemeId>& lexemes, SymbolId next) {
    When least = When::kAlways, most = When::kNever;
    for (LexemeId lexeme : lexemes) {
        const When when = follows_lexeme(lexeme, next);
        least = std::min(least, when);
        most = std::max(most, when);
    }
    return lexemes.empty() || least == most ? least : When::kSometimes;
}

// Whether its ends do not restrict the text after it: every terminal may follow, and the end of the text.
bool NeighbourClasses::is_free(SymbolId terminal) {
    const std::vector<LexemeId>& lexemes = lexemes_[terminal];
    return is_read_everywhere_ &&
           std::all_of(lexemes.begin(), lexemes.end(), [&](LexemeId each) { return adjacency_.is_free(each); });
}

// One of those that are followed by the same.
std::vector<LexemeId> NeighbourClasses::told_apart(const std::vector<LexemeId>& lexemes) {
    std::vector<LexemeId> out;
    std::set<uint32_t> endings;
    for (LexemeId each : lexemes)
        if (!embedded_.empty() || endings.insert(adjacency_.ending(each)).second) out.push_back(each);
    return out;
}

// Of lexemes that begin alike a way needs one, and ways with the same are one.
void NeighbourClasses::unite_ways() {
    std::map<uint32_t, LexemeId> of_beginning;
    for (std::set<Way>& ways : ways_) {
        std::set<Way> united;
        for (const Way& way : ways) {
            std::set<LexemeId> lexemes;
            for (LexemeId each : way.lexemes)
                lexemes.insert(of_beginning.try_emplace(adjacency_.beginning(each), each).first->second);
            united.insert({way.between, {lexemes.begin(), lexemes.end()}});
        }
        ways.swap(united);
    }
}

// The neighbours of each terminal: terminals with different ones are in different classes.
std::vector<NeighbourClasses::Neighbours> NeighbourClasses::find_neighbours(const std::vector<SymbolId>& read) {
    std::vector<Neighbours> out(read.size());
    for (Neighbours& each : out) each.before.reserve(read.size());
    if (!std::all_of(read.begin(), read.end(), [&](SymbolId each) { return is_free(each); })) unite_ways();
    for (size_t at = 0; at < read.size(); ++at) {
        poll();
        if (is_free(read[at])) continue;
        out[at].after.reserve(read.size() + 1);
        const std::vector<LexemeId> lexemes = told_apart(lexemes_[read[at]]);
        for (size_t next = 0; next < read.size(); ++next) {
            const When when = follows(lexemes, read[next]);
            out[at].after.push_back(when);
            out[next].before.push_back(when);
        }
        const bool may_end = std::all_of(lexemes.begin(), lexemes.end(),
                                         [&](LexemeId lexeme) { return adjacency_.last(lexeme) == When::kAlways; });
        out[at].after.push_back(may_end ? When::kAlways : When::kNever);
    }
    return out;
}

// Returns false if there are too many.
bool NeighbourClasses::find() {
    if (!knows_what_follows_ignored()) return false;
    const uint32_t terminals = grammar_.terminal_count();
    std::vector<SymbolId> read;
    for (SymbolId terminal = 0; terminal < terminals; ++terminal)
        if (!grammar_.is_ignored(terminal) && (embedded(terminal) || !lexemes_[terminal].empty()))
            read.push_back(terminal);
    class_of_.assign(terminals, kNotRead);
    if (indentation_) class_of_[indentation_->indent] = class_of_[indentation_->dedent] = kNoText;
    const std::vector<Neighbours> neighbours = find_neighbours(read);
    std::map<Neighbours, uint32_t> classes;
    for (size_t at = 0; at < read.size(); ++at) {
        const auto next = static_cast<uint32_t>(classes.size() + 1);
        class_of_[read[at]] = classes.try_emplace(neighbours[at], next).first->second;
    }
    count_ = static_cast<unsigned>(classes.size() + 1);
    if (count_ > kMost) return false;
    find_follow(read, classes);
    return true;
}

void NeighbourClasses::find_follow(const std::vector<SymbolId>& read, const std::map<Neighbours, uint32_t>& classes) {
    always_.assign(count_, 0);
    ever_.assign(count_, 0);
    always_[0] = ever_[0] = ~Set{0};
    last_ = 1;
    for (const auto& [each, own] : classes) {
        const Row& row = each.after;
        if (row.empty() || row.back() == When::kAlways) last_ |= Set{1} << own;
        for (size_t next = 0; next < read.size(); ++next) {
            const Set bit = Set{1} << class_of_[read[next]];
            if (row.empty() || row[next] == When::kAlways) always_[own] |= bit;
            if (row.empty() || row[next] != When::kNever) ever_[own] |= bit;
        }
    }
}

// Whether all else follows a lexeme always or never.
bool NeighbourClasses::knows_what_follows(LexemeId lexeme) {
    auto is_clear = [](When when) { return when != When::kSometimes; };
    bool clear = is_clear(adjacency_.last(lexeme));
    for (LexemeId next = 0; clear && next < grammar_.lexemes().size(); ++next)
        clear = is_clear(adjacency_.followed(lexeme, next));
    for (const EmbeddedTerminal& next : embedded_) clear = clear && is_clear(adjacency_.before(lexeme, next.first));
    return clear;
}

// An ignored lexeme is read where something may follow it (pruning_parser.hpp): there this must hold always.
bool NeighbourClasses::knows_what_follows_ignored() {
    for (SymbolId ignored = 0; ignored < grammar_.terminal_count(); ++ignored)
        if (grammar_.is_ignored(ignored))
            for (LexemeId lexeme : grammar_.lexemes_of(ignored))
                if (!knows_what_follows(lexeme)) return false;
    return true;
}

bool NeighbourClasses::may_be_pruned(const std::vector<SymbolId>& terminals) {
    if (!ways_.empty() || indentation_) return false;  // where lexers differ, or line breaks mean more
    auto is_apart = [&](LexemeId lexeme, LexemeId next) {
        const SymbolId terminal = grammar_.lexemes()[next].terminal;
        return !(grammar_.is_ignored(terminal) || std::ranges::binary_search(terminals, terminal)) ||
               adjacency_.followed(lexeme, next) == When::kNever;
    };
    for (SymbolId terminal : terminals) {
        if (embedded(terminal)) return false;
        for (LexemeId lexeme : grammar_.lexemes_of(terminal)) {
            bool may = knows_what_follows(lexeme);
            for (LexemeId next = 0; may && next < grammar_.lexemes().size(); ++next) may = is_apart(lexeme, next);
            if (!may) return false;
        }
    }
    return true;
}

}  // namespace schemagen
