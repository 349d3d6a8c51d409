#include "context_free/indenting_parser.hpp"

#include <algorithm>

namespace schemagen {

namespace {
bool is_in(const std::vector<SymbolId>& symbols, SymbolId symbol) {
    return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}
}  // namespace

IndentingParser::IndentingParser(const ContextFreeGrammar& grammar, const Indentation& indentation, LexemeSets& sets,
                                 Allowance& allowance, std::unique_ptr<Parser> inner)
    : grammar_(grammar), indentation_(indentation), sets_(sets), allowance_(allowance), inner_(std::move(inner)) {
    measured_ = inner_->reach();
    states_.push_back({kNoParse, 0});
    start_ = intern(inner_->start(), {0, 0});
}

ParserState IndentingParser::intern(ParserState inner, const std::vector<uint32_t>& context) {
    if (!inner) return kNoParse;
    const uint32_t id = contexts_.intern(context);
    if (const uint32_t known = index_.find(inner, id); known != PairMap::kNone) return known;
    allowance_.add_state();
    const auto state = static_cast<ParserState>(states_.size());
    states_.push_back({inner, id});
    index_.insert(inner, id, state);
    return state;
}

ParserState IndentingParser::break_line(ParserState state, uint32_t width) {
    std::vector<uint32_t> context(contexts_[states_[state].context].begin(), contexts_[states_[state].context].end());
    if (context[0] || width == Indentation::kAnyWidth)
        return context[0] && width == Indentation::kAnyWidth ? state : kNoParse;
    ParserState inner = inner_->shift(states_[state].inner, indentation_.newline);
    if (inner && width > context.back()) {
        context.push_back(width);
        return intern(inner_->shift(inner, indentation_.indent), context);
    }
    for (; inner && width < context.back(); context.pop_back()) inner = inner_->shift(inner, indentation_.dedent);
    return width == context.back() ? intern(inner, context) : kNoParse;
}

ParserState IndentingParser::read(ParserState state, SymbolId terminal) {
    const auto& newlines = indentation_.newlines;
    const auto at = std::lower_bound(newlines.begin(), newlines.end(), terminal,
                                     [](const auto& pair, SymbolId wanted) { return pair.first < wanted; });
    if (at != newlines.end() && at->first == terminal) return break_line(state, at->second);
    std::vector<uint32_t> context(contexts_[states_[state].context].begin(), contexts_[states_[state].context].end());
    if (is_in(indentation_.opening, terminal)) ++context[0];
    if (is_in(indentation_.closing, terminal) && context[0]-- == 0) return kNoParse;
    return intern(inner_->shift(states_[state].inner, terminal), context);
}

// Of parsers whose configurations are stacks, the lowest entry that a task looks at.
template <class Task>
uint32_t IndentingParser::measured(const Task& task) {
    if (reach()) return reach()->measure(task);
    task();
    return UINT32_MAX;
}

ParserState IndentingParser::shift(ParserState state, SymbolId terminal) {
    if (const uint32_t known = shifts_.find(state, terminal); known != PairMap::kNone) {
        if (reach()) reach()->look(shifted_[known].reach);
        return shifted_[known].next;
    }
    ParserState next = kNoParse;
    const uint32_t lowest = measured([&] { next = read(state, terminal); });
    shifts_.insert(state, terminal, static_cast<uint32_t>(shifted_.size()));
    shifted_.push_back({next, lowest});
    return next;
}

LexemeSets::SetId IndentingParser::viable(ParserState state) {
    if (states_[state].viable == kUnknown) {
        const uint32_t lowest = measured([&] { find_viable(state); });
        states_[state].viable_reach = lowest;
    } else if (reach()) {
        reach()->look(states_[state].viable_reach);
    }
    return states_[state].viable;
}

// The line breaks that may follow. There is one for each width, and few ways to go on: no states are made of them here.
std::vector<SymbolId> IndentingParser::line_breaks(ParserState state) {
    const auto context = contexts_[states_[state].context];
    const bool within_brackets = context[0] != 0;
    ParserState inner = within_brackets ? kNoParse : inner_->shift(states_[state].inner, indentation_.newline);
    const bool indents = inner && inner_->shift(inner, indentation_.indent);
    std::vector<uint32_t> open;  // widths of the block, and of those that can be gone back to
    for (size_t at = context.size() - 1; inner; inner = --at ? inner_->shift(inner, indentation_.dedent) : kNoParse)
        open.push_back(context[at]);
    std::vector<SymbolId> out;
    for (auto [terminal, width] : indentation_.newlines) {
        const bool may_follow = width == Indentation::kAnyWidth ? within_brackets
                                : width > context.back()        ? indents
                                                                : std::ranges::find(open, width) != open.end();
        if (may_follow) out.push_back(terminal);
    }
    return out;
}

void IndentingParser::find_viable(ParserState state) {
    const auto own = sets_[inner_->viable(states_[state].inner)];
    std::vector<LexemeId> lexemes(own.begin(), own.end());
    for (SymbolId terminal : line_breaks(state))
        for (LexemeId lexeme : grammar_.lexemes_of(terminal)) lexemes.push_back(lexeme);
    const LexemeSets::SetId viable = sets_.intern(std::move(lexemes));
    states_[state].viable = viable;
}

std::span<const Distance> IndentingParser::distances(ParserState state) {
    if (const auto known = distances_.find(state); known != distances_.end()) return known->second;
    const auto own = inner_->distances(states_[state].inner);
    std::vector<Distance> all(own.begin(), own.end());
    for (SymbolId terminal : line_breaks(state)) all.push_back({terminal, min_bytes(shift(state, terminal))});
    std::sort(all.begin(), all.end());
    return distances_[state] = std::move(all);
}

// The end of the text closes all blocks.
bool IndentingParser::accepting(ParserState state) {
    const auto context = contexts_[states_[state].context];
    ParserState inner = states_[state].inner;
    for (size_t open = context.size(); inner && open > 2; --open) inner = inner_->shift(inner, indentation_.dedent);
    return inner && inner_->accepting(inner);
}

ParserState IndentingParser::united(ParserState one, ParserState other) {
    if (states_[one].context != states_[other].context) return kNoParse;
    const ParserState inner = inner_->united(states_[one].inner, states_[other].inner);
    const auto context = contexts_[states_[one].context];
    return intern(inner, {context.begin(), context.end()});
}

size_t IndentingParser::memory_bytes() const {
    return inner_->memory_bytes() + contexts_.memory_bytes() + states_.capacity() * sizeof(State) +
           index_.memory_bytes() + shifts_.memory_bytes() + shifted_.capacity() * sizeof(Shift);
}

}  // namespace schemagen
