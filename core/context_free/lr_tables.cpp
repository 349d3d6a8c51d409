#include "context_free/lr_tables.hpp"

#include <set>

#include "util/work.hpp"

namespace schemagen {

std::vector<std::vector<uint32_t>> LrTables::predecessors() const {
    std::vector<std::vector<uint32_t>> out(actions.size());
    for (uint32_t state = 0; state < actions.size(); ++state)
        for (const Action& action : actions[state])
            if (!action.reduces) out[action.target].push_back(state);
    return out;
}

// Whether the final states of a rule that began in a state reduce it on every lookahead that may follow it there.
bool LrTables::ends_well(const ContextFreeGrammar& grammar, uint32_t began, const Action& jump) const {
    struct Place {
        uint32_t state;
        ItemId item;
        uint32_t length;
        auto operator<=>(const Place&) const = default;
    };
    const SymbolId rule = jump.symbol - 1, end_of_text = grammar.terminal_count();
    auto reduces = [&](const Place& place, SymbolId symbol) {
        const Action* own = action(place.state, symbol);
        if (!own) return true;
        return own->reduces && productions[own->target].rule == rule && productions[own->target].length == place.length;
    };
    std::vector<Place> todo{{began, grammar.first_item(rule), 0}};
    std::set<Place> seen(todo.begin(), todo.end());
    while (!todo.empty()) {
        const Place place = todo.back();
        todo.pop_back();
        if (grammar.accepting(place.item)) {
            if (jump.target == end && !reduces(place, end_of_text)) return false;
            for (const Action& next : actions[jump.target])
                if (next.symbol <= end_of_text && !reduces(place, next.symbol)) return false;
        }
        for (const ContextFreeGrammar::Edge& edge : grammar.edges(place.item)) {
            const Action* next = action(place.state, edge.symbol + grammar.is_rule(edge.symbol));
            if (!next || next->reduces) return false;
            const Place after{next->target, edge.target, place.length + 1};
            if (seen.insert(after).second) todo.push_back(after);
        }
    }
    return true;
}

// Whether the lexer of each state looks for all lexemes of the terminals that are allowed or ignored there.
bool LrTables::read_alike(const ContextFreeGrammar& grammar) const {
    std::vector<bool> has(grammar.lexemes().size());
    const auto has_all = [&](SymbolId terminal) {
        return std::ranges::all_of(grammar.lexemes_of(terminal), [&](LexemeId each) { return has[each]; });
    };
    for (uint32_t state = 0; state < actions.size(); ++state) {
        has.assign(has.size(), false);
        for (LexemeId each : lexemes[state]) has[each] = true;
        for (const Action& each : actions[state])
            if (each.symbol < grammar.terminal_count() && !has_all(each.symbol)) return false;
        for (SymbolId terminal = 0; terminal < grammar.terminal_count(); ++terminal)
            if (grammar.is_ignored(terminal) && !has_all(terminal)) return false;
    }
    return true;
}

bool LrTables::lose_nothing(const ContextFreeGrammar& grammar) const {
    for (uint32_t state = 0; state < actions.size(); ++state) {
        poll();
        for (const Action& jump : actions[state])
            if (jump.symbol > grammar.terminal_count() && !ends_well(grammar, state, jump)) return false;
    }
    return true;
}

}  // namespace schemagen
