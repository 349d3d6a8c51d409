#include "context_free/lr_parser.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "util/work.hpp"

namespace schemagen {

LrParser::LrParser(const ContextFreeGrammar& grammar, const LrTables& tables, LexemeSets& sets, Allowance& allowance,
                   std::unique_ptr<LrLiveness> liveness)
    : grammar_(grammar),
      tables_(tables),
      sets_(sets),
      allowance_(allowance),
      liveness_(std::move(liveness)),
      frames_(grammar, sets, allowance) {
    measured_ = &reach_;
    stacks_.push_back({});
    start_ = push(kNoParse, tables_.start, grammar_.start());
}

ParserState LrParser::push(ParserState below, uint32_t top, SymbolId symbol) {
    if (const uint32_t known = index_.find(below, top); known != PairMap::kNone) {
        reach_.look(stacks_[known].reach);
        return known;
    }
    allowance_.add_state();
    uint32_t entry = top, reach = UINT32_MAX;
    if (liveness_)
        reach = reach_.measure([&] { entry = liveness_->context(top, this->below(below, liveness_->depth(top))); });
    const auto id = static_cast<ParserState>(stacks_.size());
    stacks_.push_back({top, below, symbol, stacks_[below].height + 1, entry, reach});
    index_.insert(below, top, id);
    return id;
}

// The top `count` entries of a stack.
LrParser::Contexts LrParser::below(ParserState state, size_t count) {
    Contexts out;
    out.reserve(count);
    for (; state && out.size() < count; state = stacks_[state].below) {
        reach_.look(stacks_[state].height);
        out.push_back(stacks_[state].entry);
    }
    return out;
}

// Applies a reduction to the reading. Returns false if the table has no goto after it.
bool LrParser::reduce(Reading& reading, uint32_t production) {
    const auto [rule, length] = tables_.productions[production];
    const size_t own = std::min<size_t>(reading.pushed.size(), length);
    reading.pushed.resize(reading.pushed.size() - own);
    for (size_t k = own; k < length; ++k) reading.under = stacks_[reading.under].below;
    if (own < length) reading.steps = 0;
    // The column of the rule in the table of gotos: terminals come first, the end of the text among them.
    const LrTables::Action* jump = tables_.action(top(reading), rule + 1);
    if (!jump) return false;
    reading.pushed.emplace_back(jump->target, rule);
    return !is_endless(reading);
}

// Whether the reductions of empty and single rules come back to themselves: with more entries than states one state has
// led to itself, and equal entries lead to the same reductions (found as in Brent 1980).
bool LrParser::is_endless(Reading& reading) const {
    if (reading.pushed.size() > tables_.actions.size()) return true;
    if (reading.steps++ && reading.pushed == reading.earlier) return true;
    if (std::has_single_bit(reading.steps)) reading.earlier = reading.pushed;
    return false;
}

uint32_t LrParser::top(const Reading& reading) {
    if (!reading.pushed.empty()) return reading.pushed.back().first;
    reach_.look(stacks_[reading.under].height);
    return stacks_[reading.under].top;
}

// Reduces as long as the table says so, then shifts; at the end of the text until the end state is on top. Only the
// final stack is made.
ParserState LrParser::read(ParserState state, SymbolId terminal) {
    Reading& reading = begin(state);
    while (true) {
        poll();
        const uint32_t top = this->top(reading);
        if (terminal == grammar_.terminal_count() && top == tables_.end) return pushed(reading);
        const LrTables::Action* next = tables_.action(top, terminal);
        if (!next) return kNoParse;
        if (next->reduces) {
            if (!reduce(reading, next->target)) return kNoParse;
            continue;
        }
        // `find_viable` does not look at terminals without a lexeme.
        const bool unseen = liveness_ && grammar_.lexemes_of(terminal).empty();
        if (unseen) {
            Contexts contexts = begin_contexts(reading);
            if (!can_finish(reading, next->target, LrLiveness::kAnyKind, contexts)) return kNoParse;
        }
        return push(pushed(reading), next->target, terminal);
    }
}

ParserState LrParser::pushed(const Reading& reading) {
    ParserState state = reading.under;
    for (auto [top, rule] : reading.pushed) state = push(state, top, rule);
    return state;
}

ParserState LrParser::shift(ParserState state, SymbolId terminal) {
    if (const uint32_t known = shifts_.find(state, terminal); known != PairMap::kNone) {
        reach_.look(shifted_[known].reach);
        return shifted_[known].next;
    }
    ParserState next = kNoParse;
    const uint32_t lowest = reach_.measure([&] { next = read(state, terminal); });
    shifts_.insert(state, terminal, static_cast<uint32_t>(shifted_.size()));
    shifted_.push_back({next, lowest});
    return next;
}

bool LrParser::accepting(ParserState state) { return shift(state, grammar_.terminal_count()) != kNoParse; }

// The contexts of the entries pushed while a stack was read on, the nearest first, and of as many entries below as they
// depend on.
LrParser::Contexts LrParser::begin_contexts(const Reading& reading) {
    size_t wanted = 0;
    for (size_t k = 0; k < reading.pushed.size(); ++k)
        wanted = std::max<size_t>(wanted, std::max<size_t>(liveness_->depth(reading.pushed[k].first), k) - k);
    Contexts out = below(reading.under, wanted);
    for (const auto& [pushed, rule] : reading.pushed) out.insert(out.begin(), liveness_->context(pushed, out));
    return out;
}

// Adds the contexts further down, up to `count`.
void LrParser::add_contexts(const Reading& reading, size_t count, Contexts& contexts) {
    if (contexts.size() >= count) return;
    const Contexts own = below(reading.under, count - reading.pushed.size());
    contexts.resize(reading.pushed.size());
    contexts.insert(contexts.end(), own.begin(), own.end());
}

// Whether a text can be finished with a state on top of the stack of a reading.
bool LrParser::can_finish(const Reading& reading, uint32_t top, LrLiveness::Kind last, Contexts& contexts) {
    add_contexts(reading, liveness_->depth(top), contexts);
    return liveness_->can_finish(top, last, contexts);
}

LexemeSets::SetId LrParser::viable(ParserState state) {
    if (stacks_[state].viable != kUnknown) {
        reach_.look(stacks_[state].viable_reach);
        return stacks_[state].viable;
    }
    TopMemo::Answer found = viable_.find(*this, 0, 0, state);
    if (found.value == TopMemo::kNone) {
        found.lowest = reach_.measure([&] { found.value = find_viable(state); });
        viable_.insert(*this, 0, 0, state, found);
    } else {
        reach_.look(found.lowest);
    }
    stacks_[state].viable_reach = found.lowest;
    return stacks_[state].viable = found.value;
}

LrParser::Reading& LrParser::begin(ParserState state) { return reading_ = {state, {}}; }

// Terminals that ask for the same reductions are read on together, and no stack is made: most of them are not used.
LexemeSets::SetId LrParser::find_viable(ParserState state) {
    const Reading begun{state, {}};
    std::vector<std::pair<SymbolId, LexemeId>> wanted;
    std::vector<LexemeId> found;
    const Reading under{stacks_[state].below, {}};
    Contexts contexts;
    for (LexemeId lexeme : tables_.lexemes[top(begun)]) {
        const SymbolId terminal = grammar_.lexemes()[lexeme].terminal;
        if (!grammar_.is_ignored(terminal))
            wanted.emplace_back(terminal, lexeme);
        else if (!liveness_ || can_finish(under, stacks_[state].top, liveness_->kind_of(lexeme), contexts))
            found.push_back(lexeme);
    }
    std::sort(wanted.begin(), wanted.end());
    std::vector<std::pair<Reading, Wanted>> todo{{begun, std::move(wanted)}};
    while (!todo.empty()) {  // no recursion: a right-recursive rule ends with as many reductions as it has parts
        const auto [reading, rest] = std::move(todo.back());
        todo.pop_back();
        add_viable(reading, rest, found, todo);
    }
    return sets_.intern(std::move(found));
}

// The terminals that are shifted at once, and to `todo` the others, by the reduction that they ask for.
void LrParser::add_viable(const Reading& reading, const Wanted& wanted, std::vector<LexemeId>& found,
                          std::vector<std::pair<Reading, Wanted>>& todo) {
    poll();
    const uint32_t top = this->top(reading);
    const auto& row = tables_.actions[top];
    std::vector<std::pair<uint32_t, Wanted>> reduced;  // by production
    std::optional<Contexts> contexts;
    auto at = row.begin();
    for (const auto& [terminal, lexeme] : wanted) {
        while (at != row.end() && at->symbol < terminal) ++at;
        if (at == row.end()) break;
        if (at->symbol != terminal) continue;
        if (!at->reduces) {
            if (liveness_ && !contexts) contexts = begin_contexts(reading);
            if (!liveness_ || can_finish(reading, at->target, liveness_->kind_of(lexeme), *contexts))
                found.push_back(lexeme);
            continue;
        }
        auto same = std::find_if(reduced.begin(), reduced.end(), [&](const auto& r) { return r.first == at->target; });
        if (same == reduced.end()) same = reduced.insert(reduced.end(), {at->target, {}});
        same->second.emplace_back(terminal, lexeme);
    }
    for (auto& [production, rest] : reduced) {
        Reading next = reading;
        if (reduce(next, production)) todo.emplace_back(std::move(next), std::move(rest));
    }
}

// The state of Earley's parser after the symbols on the stack: whatever the tables lose, no text is shorter than there.
ParserState LrParser::derived(ParserState state) {
    std::vector<ParserState> todo;
    for (ParserState at = state; at != start_ && !stacks_[at].derived; at = stacks_[at].below) todo.push_back(at);
    for (; !todo.empty(); todo.pop_back()) {
        const ParserState below = stacks_[todo.back()].below;
        const ParserState from = below == start_ ? frames_.start() : stacks_[below].derived;
        stacks_[todo.back()].derived = frames_.shift(from, stacks_[todo.back()].symbol);
    }
    return state == start_ ? frames_.start() : stacks_[state].derived;
}

uint32_t LrParser::min_bytes(ParserState state) { return frames_.min_bytes(derived(state)); }

std::vector<SymbolId> LrParser::open_rules(ParserState state, SymbolId terminal) {
    return frames_.open_rules(derived(state), terminal);
}

size_t LrParser::memory_bytes() const {
    return stacks_.capacity() * sizeof(Stack) + index_.memory_bytes() + shifts_.memory_bytes() +
           shifted_.capacity() * sizeof(Shift) + viable_.memory_bytes() + frames_.memory_bytes() +
           (liveness_ ? liveness_->memory_bytes() : 0);
}

}  // namespace schemagen
