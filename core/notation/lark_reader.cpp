#include "notation/lark_reader.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "notation/lark_work.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

class LarkReader {
public:
    LarkReader(LarkReading& reading, const LarkOptions& options)
        : reading_(reading), options_(options), patterns_(reading.host), alternatives_(reading) {}

    LarkGrammar read(std::string text) {
        read_definitions(reading_, std::move(text));
        if (options_.keeps_all)
            for (auto& [name, definition] : reading_.definitions) definition.keeps_all = true;
        LarkTerminals terminals(reading_, patterns_);
        for (const LarkRule& rule : LarkExpansion(reading_, terminals).run()) {
            places_.emplace(rule.name, rule.place);
            alternatives_.add(rule);
        }
        const uint32_t start = reading_.names.number(options_.start);
        if (!places_.contains(start)) refuse_start(start);
        remove_unused(start);
        check_symbols(terminals);
        keep_used(terminals);
        if (options_.lark != LarkOptions::Lark::kNotAtAll) check_work(terminals);
        return result(terminals);
    }

private:
    [[noreturn]] void refuse_start(uint32_t start) const {
        std::string names;
        for (const auto& [name, definition] : reading_.definitions)
            if (!definition.is_term && names.size() < 60) names += (names.empty() ? "" : ", ") + reading_.names[name];
        refuse({}, "the rule '" + reading_.names[start] + "' is not defined", "the texts of this rule are meant",
               names.empty() ? "define it" : "define it, or give start=: " + names);
    }

    // Leave out the rules that no other rule names, until each is named.
    void remove_unused(uint32_t start) {
        std::vector<LarkAlternative>& list = alternatives_.list();
        std::unordered_map<uint32_t, std::vector<const LarkAlternative*>> by_rule;
        std::unordered_map<uint32_t, size_t> uses;
        ++uses[start];
        for_each_use(list, [&](uint32_t name) { ++uses[name]; });
        for (const LarkAlternative& each : list) by_rule[each.origin].push_back(&each);
        std::vector<uint32_t> unused;
        for (const auto& [name, own] : by_rule)
            if (!uses[name]) unused.push_back(name);
        while (!unused.empty()) {
            poll();
            const uint32_t rule = unused.back();
            unused.pop_back();
            for (const LarkAlternative* each : by_rule[rule])
                for (uint32_t symbol : each->symbols)
                    if (!is_terminal(symbol) && name_of(symbol) != rule && !--uses[name_of(symbol)])
                        unused.push_back(name_of(symbol));
        }
        std::erase_if(list, [&](const LarkAlternative& each) { return !uses[each.origin]; });
    }

    template <class Visit>
    static void for_each_use(const std::vector<LarkAlternative>& list, const Visit& visit) {
        for (const LarkAlternative& each : list)
            for (uint32_t symbol : each.symbols)
                if (!is_terminal(symbol) && name_of(symbol) != each.origin) visit(name_of(symbol));
    }

    void check_symbols(LarkTerminals& terminals) {
        std::unordered_set<uint32_t> known;
        for (const auto& [name, place] : places_) known.insert(symbol_of(name, false));
        for (const LarkTerminal& each : terminals.list()) known.insert(symbol_of(each.name, true));
        for (const auto& [name, definition] : reading_.definitions)
            if (definition.is_term && !definition.tree) known.insert(symbol_of(name, true));
        for (const LarkAlternative& each : alternatives_.list())
            for (uint32_t symbol : each.symbols) {
                used_.insert(symbol);
                if (!known.contains(symbol)) refuse_kind(symbol, each.origin);
            }
    }

    // Of a name that is defined, as something else.
    [[noreturn]] void refuse_kind(uint32_t symbol, uint32_t rule) {
        const LarkDefinition* definition = reading_.definitions.find(name_of(symbol));
        const bool is_template = definition && !definition->parameters.empty();
        const std::string name = "'" + reading_.names[name_of(symbol)] + "'";
        if (is_template)
            refuse(places_.at(rule), "the template " + name + " stands in a rule like a rule",
                   "its parameters have no values", "write " + reading_.names[name_of(symbol)] + "{...}");
        refuse(places_.at(rule), "the name " + name + " stands for a rule and for a terminal",
               "it was imported under a name of the other kind",
               "import terminals as capital letters, and rules as small ones");
    }

    void keep_used(LarkTerminals& terminals) {
        for (const auto& [name, place] : reading_.ignored) used_.insert(symbol_of(name, true));
        for (const std::string& name : options_.kept_terminals)
            used_.insert(symbol_of(reading_.names.number(name), true));
        std::erase_if(terminals.list(),
                      [&](const LarkTerminal& each) { return !used_.contains(symbol_of(each.name, true)); });
        for (const LarkTerminal& each : terminals.list())
            if (!patterns_.width(each.pattern, each.place).least)
                refuse(each.place, "the terminal '" + reading_.names[each.name] + "' matches the empty text",
                       "lark has no zero-width terminals",
                       "let it match one character or more, and write [X] or X? in the rules");
    }

    void check_work(LarkTerminals& terminals) {
        LarkWork work(reading_.names);
        work.add_text(reading_.tokens);
        for (const LarkTerminal& each : terminals.list()) work.add_terminal(each.pattern.value.size());
        work.add_rules(alternatives_.list(), options_.lark == LarkOptions::Lark::kMakesTables);
    }

    LarkGrammar result(LarkTerminals& terminals) {
        LarkGrammar out;
        std::unordered_map<uint32_t, uint32_t> numbers;
        const auto number = [&](uint32_t symbol) {
            const auto [at, is_new] = numbers.emplace(symbol, static_cast<uint32_t>(out.symbols.size()));
            if (is_new) out.symbols.emplace_back(reading_.names[name_of(symbol)], is_terminal(symbol));
            return at->second;
        };
        for (const LarkAlternative& each : alternatives_.list()) {
            auto& [origin, symbols] = out.rules.emplace_back();
            origin = number(symbol_of(each.origin, false));
            for (uint32_t symbol : each.symbols) symbols.push_back(number(symbol));
        }
        for (const LarkTerminal& each : terminals.list())
            out.terminals.push_back({reading_.names[each.name], each.pattern.regexp(), each.pattern.is_literal,
                                     each.priority, each.pattern.text()});
        for (const auto& [name, place] : reading_.ignored) out.ignored.push_back(reading_.names[name]);
        for (const auto& [name, definition] : reading_.definitions)
            if (definition.is_term && !definition.tree) out.declared.push_back(reading_.names[name]);
        return out;
    }

    LarkReading& reading_;
    const LarkOptions& options_;
    LarkPatterns patterns_;
    LarkAlternatives alternatives_;
    std::unordered_map<uint32_t, NotationPlace> places_;  // of rules, by name
    std::unordered_set<uint32_t> used_;                   // symbols
};

}  // namespace

LarkGrammar read_lark(LarkReading& reading, std::string text, const LarkOptions& options) {
    return LarkReader(reading, options).read(std::move(text));
}

}  // namespace schemagen
