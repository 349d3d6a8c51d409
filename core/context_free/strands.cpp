#include "context_free/strands.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "util/limits.hpp"
#include "util/work.hpp"

namespace schemagen {

Strands::Strands(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer,
                 Allowance& allowance, bool is_lively)
    : grammar_(grammar), parser_(parser), sets_(sets), lexer_(lexer), allowance_(allowance), is_lively_(is_lively) {
    // Keeps the start apart from a set with the same rest of a lexeme that has begun.
    const ParserState start = parser_.start();
    strand_sets_.intern(std::vector<uint32_t>{start, lexer_.start(parser_.viable(start)), kNoPromise, 0});
}

// The strands after a byte, whether or not they can be finished.
void Strands::follow(const Strand& strand, uint8_t byte, std::vector<Strand>& out) {
    auto add = [&](ParserState parser, LexerState lexer, Promise promise) {
        if (lexer && promise != kBroken) out.push_back({parser, lexer, promise});
    };
    if (const LexerState lexer = lexer_.next(strand.lexer, byte))
        add(strand.parser, lexer, lexer_.keep(strand.promise, byte));
    for (size_t k = 0; k < lexer_.ends(strand.lexer).size(); ++k) {
        const Lexer::End end = lexer_.ends(strand.lexer)[k];
        if (!lexer_.may_follow(end.lexeme, byte)) continue;
        const Promise promise = lexer_.keep(lexer_.both(strand.promise, end.promise), byte);
        if (promise == kBroken) continue;
        if (const ParserState after = this->after(strand.parser, end.lexeme))
            add(after, lexer_.next(lexer_.start(parser_.viable(after)), byte), promise);
    }
}

// Of strands that differ in the parser's state alone one is made, where the parser can.
void Strands::unite(std::vector<Strand>& strands) {
    std::sort(strands.begin(), strands.end());
    strands.erase(std::unique(strands.begin(), strands.end()), strands.end());
    for (size_t k = 0; k < strands.size(); ++k)
        for (size_t other = strands.size(); other-- > k + 1;) {
            if (strands[other].lexer != strands[k].lexer || strands[other].promise != strands[k].promise) continue;
            const ParserState united = parser_.united(strands[k].parser, strands[other].parser);
            if (!united) continue;
            strands[k].parser = united;
            strands.erase(strands.begin() + static_cast<ptrdiff_t>(other));
        }
    std::sort(strands.begin(), strands.end());
}

StrandSet Strands::set_of(const Strand& strand) {
    return strand_sets_.intern(std::vector<uint32_t>{strand.parser, strand.lexer, strand.promise});
}

StrandSet Strands::set_of(std::vector<Strand> strands) {
    std::erase_if(strands, [&](const Strand& strand) { return !can_finish(strand); });
    if (strands.size() > 1) unite(strands);
    allowance_.check_alternatives(strands.size());
    std::vector<uint32_t> flat;
    for (const Strand& strand : strands) flat.insert(flat.end(), {strand.parser, strand.lexer, strand.promise});
    const size_t known = strand_sets_.size();
    const StrandSet set = strand_sets_.intern(flat);
    if (set == known) allowance_.add_state();
    return set;
}

StrandSet Strands::step(StrandSet set, uint8_t byte) {
    if (const uint32_t known = steps_.find(set, byte); known != PairMap::kNone) return known;
    std::vector<Strand> out;
    for (const Strand& strand : (*this)[set]) follow(strand, byte, out);
    const StrandSet next = set_of(std::move(out));
    steps_.insert(set, byte, next);
    return next;
}

StrandSet Strands::step(StrandSet set, uint8_t byte, std::vector<Strand> others) {
    if (others.empty()) return step(set, byte);
    for (const Strand& strand : (*this)[set]) follow(strand, byte, others);
    return set_of(std::move(others));
}

bool Strands::ends_well(const Strand& strand) {
    if (!lexer_.may_end(strand.promise)) return false;
    for (const Lexer::End& end : lexer_.ends(strand.lexer)) {
        const ParserState after = this->after(strand.parser, end.lexeme);
        if (after && lexer_.may_end(end.promise) && parser_.accepting(after)) return true;
    }
    return false;
}

bool Strands::accepting(StrandSet set) {
    if (set == kStartStrands) return parser_.accepting(parser_.start());
    if (accepting_.size() <= set) accepting_.resize(strand_sets_.size());
    if (accepting_[set] == Ending::kUnasked) {
        bool any = false;
        for (const Strand& strand : (*this)[set]) any = any || ends_well(strand);
        accepting_[set] = any ? Ending::kAny : Ending::kNone;
    }
    return accepting_[set] == Ending::kAny;
}

ByteSet Strands::next_bytes(StrandSet set) {
    ByteSet out;
    for (const Strand& strand : (*this)[set]) {
        out.add(lexer_.next_bytes(strand.lexer));
        for (size_t k = 0; k < lexer_.ends(strand.lexer).size(); ++k)
            if (const ParserState after = this->after(strand.parser, lexer_.ends(strand.lexer)[k].lexeme))
                out.add(lexer_.next_bytes(lexer_.start(parser_.viable(after))));
    }
    return out;
}

uint32_t Strands::min_bytes(StrandSet set) {
    if (accepting(set)) return 0;
    uint32_t best = ContextFreeGrammar::kFar;
    for (const Strand& strand : (*this)[set]) best = std::min(best, min_bytes(strand));
    return best;
}

uint32_t Strands::min_bytes(const Strand& strand) {
    uint32_t best = ContextFreeGrammar::kFar;
    for (const Lexer::Component& component : lexer_.components(strand.lexer))
        best = std::min(best, lexer_.min_bytes(component) + min_bytes_after(strand.parser, component.lexeme));
    return best;
}

uint32_t Strands::min_bytes_after(ParserState parser, LexemeId lexeme) {
    const SymbolId terminal = grammar_.lexemes()[lexeme].terminal;
    if (grammar_.is_ignored(terminal)) return parser_.min_bytes(parser);
    return bytes_after(parser_.distances(parser), terminal);
}

ByteSet Strands::nearer_bytes(StrandSet set) {
    ByteSet out;
    const uint32_t least = min_bytes(set);
    for (const Strand& strand : (*this)[set]) out.add(nearer_bytes(strand, least));
    return out;
}

ByteSet Strands::nearer_bytes(const Strand& strand, uint32_t least) {
    ByteSet out;
    for (const Lexer::Component& component : lexer_.components(strand.lexer))
        if (lexer_.min_bytes(component) + min_bytes_after(strand.parser, component.lexeme) <= least)
            out.add(lexer_.nearer_bytes(component));
    for (const Lexer::End& end : lexer_.ends(strand.lexer))
        if (min_bytes_after(strand.parser, end.lexeme) <= least)
            if (const ParserState after = this->after(strand.parser, end.lexeme)) add_nearer(after, least, out);
    return out;
}

// The first bytes of terminals that end the text within `least` bytes. Ignored terminals are on no shortest way.
void Strands::add_nearer(ParserState parser, uint32_t least, ByteSet& out) {
    for (const Distance& each : parser_.distances(parser))
        for (const LexemeId id : grammar_.lexemes_of(each.terminal)) {
            const Lexeme& lexeme = grammar_.lexemes()[id];
            const Lexer::Component whole{id, lexeme.text, lexeme.longer};
            if (lexer_.min_bytes(whole) + each.bytes <= least) out.add(lexer_.nearer_bytes(whole));
        }
}

// Whether a byte keeps every promise, and continues the lexeme or is ignored after it. Then a strand can be finished,
// wherever the parser is that reads all of its lexemes.
bool Strands::keeps_soon(LexerState lexer, Promise promise) {
    if (const uint32_t known = kept_soon_.find(lexer, promise); known != PairMap::kNone) return known != 0;
    std::vector<LexemeId> ignored;
    for (SymbolId terminal = 0; terminal < grammar_.terminal_count(); ++terminal)
        if (grammar_.is_ignored(terminal))
            for (LexemeId lexeme : grammar_.lexemes_of(terminal)) ignored.push_back(lexeme);
    const LexerState ignoring = lexer_.start(sets_.intern(std::move(ignored)));
    bool found = false;
    for (unsigned b = 0; b < 256 && !found; ++b) {
        const auto byte = static_cast<uint8_t>(b);
        found = lexer_.next(lexer, byte) && lexer_.keep(promise, byte) == kNoPromise;
        if (found || !lexer_.next(ignoring, byte)) continue;
        for (size_t k = 0; k < lexer_.ends(lexer).size() && !found; ++k)
            found = lexer_.keep(lexer_.both(promise, lexer_.ends(lexer)[k].promise), byte) == kNoPromise;
    }
    kept_soon_.insert(lexer, promise, found);
    return found;
}

bool Strands::can_surely_finish(const Strand& strand) {
    return is_lively_ && (!strand.promise || keeps_soon(strand.lexer, strand.promise));
}

bool Strands::can_finish(const Strand& strand) {
    if (can_surely_finish(strand)) return true;
    if (const std::optional<bool> known = known_to_finish(strand)) return *known;
    std::vector<Strand> path{strand};
    bool found = false;
    const auto find = [&] {
        found = follow_nearest(path);
        if (!found) path.resize(1), found = find_end(strand);
    };
    StackReach* reach = parser_.reach();
    const uint32_t lowest = reach ? reach->measure(find) : (find(), UINT32_MAX);
    for (const Strand& each : path) {
        const uint32_t id = number_of(each);
        if (finished_.find(id, 0) != PairMap::kNone) continue;
        finished_.insert(id, 0, found);
        if (reach) finished_reach_.insert(id, 0, lowest);
    }
    return found;
}

uint32_t Strands::number_of(const Strand& strand) {
    return finishing_.intern(std::array{strand.parser, strand.lexer, strand.promise});
}

std::optional<bool> Strands::known_to_finish(const Strand& strand) {
    const uint32_t id = number_of(strand);
    const uint32_t known = finished_.find(id, 0);
    if (known == PairMap::kNone) return std::nullopt;
    if (parser_.reach()) parser_.reach()->look(finished_reach_.find(id, 0));
    return known != 0;
}

// Goes on where the end seems closest, up to a strand that can be finished. Returns false if there is none. Promises up
// to the end of a text, such as that no comment follows, rarely get in the way. Every strand on the path can be
// finished too, so the next search ends where it meets this one.
bool Strands::follow_nearest(std::vector<Strand>& path) {
    for (uint32_t least = min_bytes(path.back());;) {
        if (ends_well(path.back())) return true;
        poll();
        std::vector<Strand> next;
        const ByteSet bytes = nearer_bytes(path.back(), least);
        for (unsigned byte = 0; byte < 256; ++byte)
            if (bytes.has(static_cast<uint8_t>(byte))) follow(path.back(), static_cast<uint8_t>(byte), next);
        const Strand* nearest = nullptr;
        for (const Strand& each : next) {
            if (can_surely_finish(each) || known_to_finish(each).value_or(false)) return true;
            if (const uint32_t bytes_left = min_bytes(each); bytes_left < least) nearest = &each, least = bytes_left;
        }
        if (!nearest) return false;
        path.push_back(*nearest);
    }
}

// Searches for a way to an end, or to a strand that always has one. The strand closest to an end goes first: the
// distance affects only the order of the search, not its result, so it need not look at the stack.
bool Strands::find_end(const Strand& strand) {
    std::set<std::pair<uint32_t, Strand>> todo{{0, strand}};
    std::set<Strand> seen{strand};
    bool found = false;
    while (!found && !todo.empty()) {
        const Strand at = todo.begin()->second;
        todo.erase(todo.begin());
        found = ends_well(at);
        for (unsigned byte = 0; byte < 256 && !found; ++byte) {
            poll();
            std::vector<Strand> next;
            follow(at, static_cast<uint8_t>(byte), next);
            for (const Strand& each : next) {
                found = found || (is_lively_ && !each.promise);
                if (seen.insert(each).second) todo.emplace(min_bytes(each), each);
            }
        }
        if (seen.size() > kMostTried)
            throw LimitExceeded(Limit::kAlternatives, static_cast<double>(seen.size()), kMostTried);
    }
    return found;
}

}  // namespace schemagen
