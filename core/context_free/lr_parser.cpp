#include "context_free/lr_parser.hpp"

#include <algorithm>

#include "util/work.hpp"

namespace schemagen {

LrParser::LrParser(const ContextFreeGrammar& grammar, const LrTables& tables, LexemeSets& sets, Allowance& allowance)
    : grammar_(grammar), tables_(tables), sets_(sets), allowance_(allowance), frames_(grammar, sets, allowance) {
    measured_ = &reach_;
    stacks_.push_back({});
    start_ = push(kNoParse, tables_.start, grammar_.start());
}

ParserState LrParser::push(ParserState below, uint32_t top, SymbolId symbol) {
    if (const uint32_t known = index_.find(below, top); known != PairMap::kNone) return known;
    allowance_.add_state();
    const auto id = static_cast<ParserState>(stacks_.size());
    stacks_.push_back({top, below, symbol, stacks_[below].height + 1});
    index_.insert(below, top, id);
    return id;
}

const LrTables::Action* LrParser::action(uint32_t top, SymbolId symbol) const {
    const auto& actions = tables_.actions[top];
    const auto at = std::lower_bound(actions.begin(), actions.end(), symbol,
                                     [](const LrTables::Action& a, SymbolId wanted) { return a.symbol < wanted; });
    return at == actions.end() || at->symbol != symbol ? nullptr : &*at;
}

// Reduces as long as the table says so, then shifts; at the end of the text until the end state is on top.
ParserState LrParser::read(ParserState state, SymbolId terminal) {
    const bool is_end = terminal == grammar_.terminal_count();
    while (true) {
        poll();
        reach_.look(stacks_[state].height);
        if (is_end && stacks_[state].top == tables_.end) return state;
        const LrTables::Action* next = action(stacks_[state].top, terminal);
        if (!next) return kNoParse;
        if (!next->reduces) return push(state, next->target, terminal);
        const LrTables::Production& production = tables_.productions[next->target];
        for (uint32_t k = 0; k < production.length; ++k) state = stacks_[state].below;
        reach_.look(stacks_[state].height);
        // What stands for the rule in the table of gotos: terminals come first, the end of the text among them.
        const LrTables::Action* jump = action(stacks_[state].top, production.rule + 1);
        if (!jump) return kNoParse;
        state = push(state, jump->target, production.rule);
    }
}

ParserState LrParser::shift(ParserState state, SymbolId terminal) {
    if (const uint32_t known = shifts_.find(state, terminal); known != PairMap::kNone) {
        reach_.look(shift_reach_.find(state, terminal));
        return known;
    }
    ParserState next = kNoParse;
    const uint32_t lowest = reach_.measure([&] { next = read(state, terminal); });
    shifts_.insert(state, terminal, next);
    shift_reach_.insert(state, terminal, lowest);
    return next;
}

bool LrParser::accepting(ParserState state) { return shift(state, grammar_.terminal_count()) != kNoParse; }

// Whether `read` would come to a state, and no stack is made for it: most of them nobody goes on with.
bool LrParser::can_shift(ParserState state, SymbolId terminal) {
    pushed_.clear();
    while (true) {
        poll();
        if (pushed_.empty()) reach_.look(stacks_[state].height);
        const LrTables::Action* next = action(pushed_.empty() ? stacks_[state].top : pushed_.back(), terminal);
        if (!next || !next->reduces) return next != nullptr;
        const LrTables::Production& production = tables_.productions[next->target];
        const size_t own = std::min<size_t>(pushed_.size(), production.length);
        pushed_.resize(pushed_.size() - own);
        for (size_t k = own; k < production.length; ++k) state = stacks_[state].below;
        if (pushed_.empty()) reach_.look(stacks_[state].height);
        const LrTables::Action* jump =
            action(pushed_.empty() ? stacks_[state].top : pushed_.back(), production.rule + 1);
        if (!jump) return false;
        pushed_.push_back(jump->target);
    }
}

LexemeSets::SetId LrParser::viable(ParserState state) {
    if (stacks_[state].viable != kUnknown) {
        reach_.look(stacks_[state].viable_reach);
        return stacks_[state].viable;
    }
    const uint32_t lowest = reach_.measure([&] { find_viable(state); });
    stacks_[state].viable_reach = lowest;
    return stacks_[state].viable;
}

void LrParser::find_viable(ParserState state) {
    reach_.look(stacks_[state].height);
    std::vector<LexemeId> lexemes;
    for (LexemeId lexeme : tables_.lexemes[stacks_[state].top]) {
        const SymbolId terminal = grammar_.lexemes()[lexeme].terminal;
        if (grammar_.is_ignored(terminal) || can_shift(state, terminal)) lexemes.push_back(lexeme);
    }
    stacks_[state].viable = sets_.intern(std::move(lexemes));
}

// Where Earley's parser is behind the symbols on the stack: whatever the tables lose, no text is shorter than there.
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
    return stacks_.capacity() * sizeof(Stack) + index_.memory_bytes() + shifts_.memory_bytes() + frames_.memory_bytes();
}

}  // namespace schemagen
