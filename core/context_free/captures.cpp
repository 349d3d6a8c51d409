#include "context_free/captures.hpp"

#include <algorithm>
#include <new>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

CaptureGrammar::CaptureGrammar(std::shared_ptr<SharedAutomata> shared, ContextFreeGrammar grammar,
                               std::vector<Mark> marks, std::vector<SymbolId> embedded, EmbeddedAutomaton* languages,
                               const Allowance& allowance)
    : shared_(std::move(shared)),
      allowance_(allowance),
      grammar_(std::move(grammar)),
      marks_(std::move(marks)),
      embedded_(std::move(embedded)),
      languages_(languages),
      sets_(grammar_.lexemes().size()),
      lexer_(grammar_, sets_, shared_->kernel, allowance_),
      parser_(grammar_, sets_, allowance_),
      ignores_(std::any_of(grammar_.lexemes().begin(), grammar_.lexemes().end(),
                           [&](const auto& lexeme) { return grammar_.is_ignored(lexeme.terminal); })) {}

std::unique_ptr<CaptureGrammar> CaptureGrammar::renewed(std::shared_ptr<SharedAutomata> shared,
                                                        EmbeddedAutomaton* languages) const {
    ContextFreeGrammar grammar = grammar_.moved_to(shared->kernel, shared_->kernel);
    return std::make_unique<CaptureGrammar>(std::move(shared), std::move(grammar), marks_, embedded_, languages,
                                            Allowance{allowance_.max_states, allowance_.max_alternatives});
}

// ---- events -------------------------------------------------------------------------------------------------------

// One object for equal lists: all events at a byte are made before the next byte is read.
const CaptureGrammar::Event* CaptureGrammar::event(const Mark& mark, const Event* before, size_t at, Arena& arena) {
    for (const Event* known : here_)
        if (known->label == mark.label && known->opens == mark.opens && known->at == at && known->before == before)
            return known;
    const uint32_t count = before ? before->count + 1 : 1;
    here_.push_back(new (arena.allocate(sizeof(Event))) Event{mark.label, mark.opens, at, before, count});
    return here_.back();
}

bool CaptureGrammar::is_better(const Event* one, const Event* other) {
    const Event *first = nullptr, *second = nullptr;  // after the common beginning
    auto count = [](const Event* list) { return list ? list->count : 0; };
    while (one != other) {
        const uint32_t a = count(one), b = count(other);
        if (a >= b) first = std::exchange(one, one->before);
        if (b >= a) second = std::exchange(other, other->before);
    }
    // Where one list goes on, the next event of the other one is still to come, at a later byte.
    if (!first || !second) return first ? first->opens : second && !second->opens;
    if (first->opens != second->opens) return first->opens;
    if (first->at != second->at) return first->opens == (first->at < second->at);
    return first->label < second->label;
}

CaptureGrammar::Events CaptureGrammar::listed(const Event* last, size_t skip) {
    Events out;
    for (; last && last->count > skip; last = last->before) out.push_back(*last);
    std::reverse(out.begin(), out.end());
    return out;
}

// ---- places between lexemes ---------------------------------------------------------------------------------------

// The marks that may come next; the ones to take first come last.
const std::vector<uint32_t>& CaptureGrammar::marks_at(ParserState state) {
    const auto [at, is_new] = marks_at_.try_emplace(state);
    if (is_new) {
        for (uint32_t k = marks_.size(); k-- > 0;)
            if (parser_.reads(state, marks_[k].terminal)) at->second.push_back(k);
        std::stable_partition(at->second.begin(), at->second.end(), [&](uint32_t k) { return !marks_[k].opens; });
    }
    return at->second;
}

// Whether a token may have a part of all open texts with a bound.
bool CaptureGrammar::has_room(const Bound* bound, size_t token) const {
    if (ignores_) return true;  // the token may be ignored; others are counted where the part ends
    while (bound && token - bound->token < bound->most) bound = bound->around;
    return !bound;
}

// Pass a mark at a place; false if the part that ends there has too many tokens.
bool CaptureGrammar::pass(const Mark& mark, const Position& position, Gap& gap, Arena& arena) {
    OpenParts& open = gap.open;
    gap.is_marked = true;
    if (mark.most && mark.opens) {
        open.bound = new (arena.allocate(sizeof(Bound))) Bound{*mark.most, position.at, position.token, open.bound};
    } else if (mark.most) {
        const Bound& ended = *std::exchange(open.bound, open.bound->around);
        return gap.end.at <= ended.at || gap.end.token - ended.token < ended.most;
    } else if (mark.temperature) {
        open.heat =
            mark.opens ? new (arena.allocate(sizeof(Heat))) Heat{*mark.temperature, open.heat} : open.heat->around;
    } else {
        const Event* last = gap.events;
        const size_t where = mark.opens ? position.at : std::max(gap.end.at, last ? last->at : 0);
        gap.events = event(mark, last, where, arena);
    }
    return true;
}

// A place, and those after any marks that may follow there: of the ways to one state of the parser those that are
// better than all before them. `visit(gap)`.
template <class Visit>
void CaptureGrammar::each_marked(const Gap& gap, const Position& position, Arena& arena, const Visit& visit) {
    constexpr size_t kNone = SIZE_MAX;
    struct Marked {
        Gap gap;
        size_t before;  // number of the place before the last mark
        size_t opened;  // parts on the way
    };
    std::vector<Marked> places{{gap, kNone, 0}};
    std::vector<size_t> todo{0};  // their numbers
    std::unordered_map<ParserState, const Event*> reached{{gap.parser, gap.events}};
    auto has_passed = [&](size_t number, ParserState state) {
        while (number != kNone && places[number].gap.parser != state) number = places[number].before;
        return number != kNone;
    };
    while (!todo.empty()) {
        poll();
        const size_t number = todo.back();
        todo.pop_back();
        const Marked at = places[number];
        visit(at.gap);
        // Any number of parts may end together, as those of a rule that calls itself last.
        allowance_.check_alternatives(std::max(todo.size(), at.opened));
        for (uint32_t k : marks_at(at.gap.parser)) {
            const Mark& mark = marks_[k];
            const ParserState after = parser_.shift(at.gap.parser, mark.terminal);
            if (!after) continue;
            Marked next{at.gap, number, at.opened + mark.opens};
            next.gap.parser = after;
            if (!pass(mark, position, next.gap, arena)) continue;
            const auto [known, is_new] = reached.try_emplace(after, next.gap.events);
            if (!is_new && (has_passed(number, after) || !is_better(next.gap.events, known->second))) continue;
            known->second = next.gap.events;
            todo.push_back(places.size());
            places.push_back(next);
        }
    }
}

// The places after a thread, if its lexeme or embedded text may end here. `visit(gap)`.
template <class Visit>
void CaptureGrammar::each_gap(const Thread& thread, const Position& position, Arena& arena, const Visit& visit) {
    auto marked = [&](ParserState parser, Promise promise, End end) {
        each_marked({parser, promise, thread.events, thread.open, end, false}, position, arena, visit);
    };
    if (thread.inner) {
        if (languages_->has_ended(*thread.inner)) marked(thread.inner->after, thread.inner->promise, position.end());
        return;
    }
    if (!thread.lexer) return marked(thread.parser, thread.promise, thread.end);
    const std::vector<Lexer::End> ends = lexer_.ends(thread.lexer);
    for (const Lexer::End& end : ends) {
        const SymbolId terminal = grammar_.lexemes()[end.lexeme].terminal;
        const Promise promise = lexer_.both(thread.promise, end.promise);
        if (promise == kBroken) continue;
        const bool ignored = grammar_.is_ignored(terminal);
        const ParserState after = ignored ? thread.parser : parser_.shift(thread.parser, terminal);
        if (after) marked(after, promise, ignored ? thread.end : position.end());
    }
}

// Where the lexer begins: after marks no ignored lexeme comes first, or the marks would have several places.
LexerState CaptureGrammar::start_of(const Gap& gap) {
    const LexemeSets::SetId set = parser_.viable(gap.parser);
    if (!gap.is_marked) return lexer_.start(set);
    std::vector<LexemeId> kept;
    for (LexemeId lexeme : sets_[set])
        if (!grammar_.is_ignored(grammar_.lexemes()[lexeme].terminal)) kept.push_back(lexeme);
    return kept.size() == sets_[set].size() ? lexer_.start(set) : lexer_.start(sets_.intern(std::move(kept)));
}

// Whether something may be read there, or the text may end.
bool CaptureGrammar::can_go_on(const Gap& gap, size_t token) {
    if (parser_.accepting(gap.parser) && lexer_.may_end(gap.promise)) return true;
    if (!has_room(gap.open.bound, token)) return false;
    if (const LexerState begun = start_of(gap); begun && lexer_.next_bytes(begun).size() > 0) return true;
    return std::any_of(embedded_.begin(), embedded_.end(),
                       [&](SymbolId terminal) { return parser_.reads(gap.parser, terminal); });
}

// ---- reading ------------------------------------------------------------------------------------------------------

void CaptureGrammar::add(const Thread& thread, Threads& to) {
    auto counts_alike = [](const Bound* one, const Bound* other) {
        for (; one != other; one = one->around, other = other->around)
            if (!one || !other || one->token != other->token) return false;
        return true;
    };
    for (Thread& known : to) {
        if (known.parser != thread.parser || known.lexer != thread.lexer || known.promise != thread.promise ||
            known.inner.has_value() != thread.inner.has_value() ||
            (known.inner &&
             !(languages_->is_same(*known.inner, *thread.inner) && known.inner->tokens == thread.inner->tokens)) ||
            !counts_alike(known.open.bound, thread.open.bound))
            continue;
        if (is_better(thread.events, known.events)) known = thread;
        return;
    }
    to.push_back(thread);
}

// Begin a lexeme or an embedded text with the byte. Those that begin the same one become one thread before they read
// it: afterwards its frames differ.
void CaptureGrammar::begin(const Gap& gap, Step& step) {
    const Promise promise = lexer_.keep(gap.promise, step.byte);
    if (promise == kBroken || !has_room(gap.open.bound, step.position.token)) return;
    if (const LexerState begun = lexer_.next(start_of(gap), step.byte))
        add({gap.parser, begun, promise, gap.events, gap.open, gap.end, std::nullopt}, step.out);
    for (uint32_t k = 0; k < embedded_.size(); ++k) {
        if (!languages_->may_begin(k, step.byte, step.position.is_within_token)) continue;
        const ParserState after = parser_.shift(gap.parser, embedded_[k]);
        if (!after) continue;
        const EmbeddedStrand strand{after, k, promise, 0, languages_->languages()[k].automaton->start()};
        add({gap.parser, kNoLexeme, promise, gap.events, gap.open, gap.end, strand}, step.entered);
    }
}

void CaptureGrammar::step(const Thread& thread, Step& step) {
    if (!has_room(thread.open.bound, step.position.token)) {
        // It can only end before the byte.
    } else if (thread.inner) {
        EmbeddedStrand next = *thread.inner;
        next.promise = lexer_.keep(next.promise, step.byte);
        if (next.promise != kBroken && languages_->read_inner(next, step.byte, step.arena))
            add({thread.parser, kNoLexeme, next.promise, thread.events, thread.open, thread.end, next}, step.out);
    } else if (const LexerState next = thread.lexer ? lexer_.next(thread.lexer, step.byte) : kNoLexeme) {
        const Promise promise = lexer_.keep(thread.promise, step.byte);
        if (promise != kBroken)
            add({thread.parser, next, promise, thread.events, thread.open, thread.end, std::nullopt}, step.out);
    }
    each_gap(thread, step.position, step.arena, [&](const Gap& gap) { begin(gap, step); });
}

CaptureGrammar::Threads CaptureGrammar::read(const Threads& threads, std::string_view bytes, uint32_t token,
                                             Place place, Arena& arena) {
    Threads now = threads;
    for (size_t k = 0; k < bytes.size(); ++k) {
        here_.clear();
        Step next{static_cast<uint8_t>(bytes[k]), {place.at + k, place.tokens, k > 0}, arena, {}, {}};
        for (const Thread& thread : now) {
            poll();
            step(thread, next);
            allowance_.check_alternatives(next.out.size() + next.entered.size());
        }
        for (Thread& thread : next.entered)
            if (languages_->read_inner(*thread.inner, next.byte, arena)) add(thread, next.out);
        now = std::move(next.out);
    }
    std::erase_if(now,
                  [&](Thread& thread) { return thread.inner && !languages_->end_token(*thread.inner, token, arena); });
    return now;
}

template <class Visit>
void CaptureGrammar::each_reading(const Threads& threads, Place place, Arena& arena, const Visit& visit) {
    here_.clear();
    for (const Thread& thread : threads) {
        const bool goes_on = thread.inner ? languages_->can_go_on(*thread.inner)
                                          : thread.lexer && lexer_.next_bytes(thread.lexer).size() > 0;
        if (goes_on && has_room(thread.open.bound, place.tokens)) visit(thread.events, thread.open.heat);
        each_gap(thread, {place.at, place.tokens, false}, arena, [&](const Gap& gap) {
            if (can_go_on(gap, place.tokens)) visit(gap.events, gap.open.heat);
        });
    }
}

std::optional<double> CaptureGrammar::temperature(const Threads& threads, Place place, Arena& arena) {
    std::optional<double> highest;
    each_reading(threads, place, arena, [&](const Event*, const Heat* heat) {
        if (heat) highest = std::max(highest.value_or(0), heat->temperature);
    });
    return highest;
}

std::vector<CaptureGrammar::Events> CaptureGrammar::readings(const Threads& threads, Place place, size_t skip,
                                                             Arena& arena) {
    std::vector<const Event*> found;
    each_reading(threads, place, arena, [&](const Event* events, const Heat*) {
        if (std::find(found.begin(), found.end(), events) == found.end()) found.push_back(events);
    });
    std::vector<Events> out;
    out.reserve(found.size());
    for (const Event* events : found) out.push_back(listed(events, skip));
    return out;
}

std::optional<CaptureGrammar::Events> CaptureGrammar::whole(const Threads& threads, Place place, size_t skip,
                                                            Arena& arena) {
    here_.clear();
    bool is_found = false;
    const Event* best = nullptr;
    for (const Thread& thread : threads)
        each_gap(thread, {place.at, place.tokens, false}, arena, [&](const Gap& gap) {
            if (!parser_.accepting(gap.parser) || !lexer_.may_end(gap.promise)) return;
            if (!is_found || is_better(gap.events, best)) best = gap.events;
            is_found = true;
        });
    if (!is_found) return std::nullopt;
    return listed(best, skip);
}

size_t CaptureGrammar::memory_bytes() const {
    size_t bytes = heap_block(sizeof(*this)) + grammar_.memory_bytes() + sets_.memory_bytes() + lexer_.memory_bytes() +
                   parser_.memory_bytes();
    for (const auto& [_, marks] : marks_at_) bytes += heap_node(sizeof(*marks_at_.begin())) + heap_bytes(marks);
    return bytes;
}

}  // namespace schemagen
