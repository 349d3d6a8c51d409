#include "rules/dialect_resolution.hpp"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "notation/mistakes.hpp"
#include "rules/competition.hpp"
#include "rules/numbering.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

using ExpressionKind = RuleExpressions::Kind;

// The bodies without the bounds of their tokens. The inside of a bound has a lower number.
std::vector<ExpressionId> unbounded(RuleSet& set) {
    if (set.bounds.empty()) return set.bodies;
    RuleExpressions& expressions = set.expressions;
    RuleExpressions::Known known;
    const auto count = static_cast<ExpressionId>(expressions.size());
    for (ExpressionId id = 0; id < count; ++id) {
        if (expressions.kind(id) != ExpressionKind::kBound) continue;
        const ExpressionId inner = expressions.substituted(expressions.parts(id)[0], known);
        expressions.put(known, id, inner);
    }
    return set.substituted(known);
}

// How the kinds at each place are read: the rules as items over places.
class PlaceReadings {
public:
    PlaceReadings(RuleSet& set, const DialectPlaces& places) : set_(set), places_(places) {}

    // [place], one for each kind that is read there.
    Lists<TerminalUse> find(bool longest, Kernel& kernel);
    DialectPlaces::KindId kind(const TerminalUse& use) const { return order_[use.kind]; }

private:
    NumberedRules numbered();
    void number_kinds();
    CompetitionRules rules_of(const NumberedRules& numbered);
    Lists<TerminalUse> read(const CompetitionRules& rules, bool longest, Kernel& kernel);

    RuleSet& set_;
    const DialectPlaces& places_;
    std::vector<TerminalKind> kinds_;
    std::vector<DialectPlaces::KindId> order_;  // [kind in numbers of its own] as places have it
    std::vector<uint32_t> numbers_;             // the other way round
};

Lists<TerminalUse> PlaceReadings::find(bool longest, Kernel& kernel) {
    number_kinds();
    const NumberedRules all = numbered();
    const Lists<TerminalUse> found = read(rules_of(all), longest, kernel);
    Lists<TerminalUse> out;
    out.reserve(places_.size(), found.all().size());
    for (uint32_t place = 0; place < places_.size(); ++place) out.add(found[all.terminal(place)]);
    return out;
}

NumberedRules PlaceReadings::numbered() {
    std::vector<uint32_t> all(places_.size());
    for (uint32_t place = 0; place < all.size(); ++place) all[place] = place;
    struct Bodies {  // the set has others meanwhile
        RuleSet& set;
        std::vector<ExpressionId> own;
        ~Bodies() { set.bodies.swap(own); }
    } bodies{set_, unbounded(set_)};
    set_.bodies.swap(bodies.own);
    return {set_, all};
}

// In the order of the places.
void PlaceReadings::number_kinds() {
    numbers_.assign(places_.kind_count(), UINT32_MAX);
    for (size_t place = 0; place < places_.size(); ++place)
        for (DialectPlaces::KindId each : places_.kinds_at(place)) {
            if (numbers_[each] != UINT32_MAX) continue;
            numbers_[each] = static_cast<uint32_t>(kinds_.size());
            kinds_.push_back({places_[each].text, places_[each].lazy, places_[each].dispatched});
            order_.push_back(each);
        }
}

// All but places are read by themselves: a kind without texts competes with none.
CompetitionRules PlaceReadings::rules_of(const NumberedRules& numbered) {
    CompetitionRules out;
    for (const NumberedRules::Symbol& symbol : numbered.terminals()) {
        if (symbol.kind == ExpressionKind::kTerminal) {
            for (DialectPlaces::KindId each : places_.kinds_at(symbol.value)) out.kinds.push(numbers_[each]);
        } else {
            out.kinds.push(static_cast<uint32_t>(kinds_.size()));
            kinds_.push_back({RegexTrees::kEmpty, false, false});
        }
        out.kinds.end();
    }
    out.bodies = numbered.bodies();
    out.start = numbered.rule(set_.start) - static_cast<uint32_t>(numbered.terminals().size());
    return out;
}

Lists<TerminalUse> PlaceReadings::read(const CompetitionRules& rules, bool longest, Kernel& kernel) {
    try {
        return competing(kinds_, rules, longest, set_.trees, kernel);
    } catch (const TooManyItems& error) {
        constexpr uint64_t kLimit = 20'000;
        stop({}, "a grammar of " + with_commas(error.items) + " items, limit " + with_commas(kLimit),
             "the competing terminals are computed for each of them",
             "use terminals for parts of the grammar that are regular");
    }
}

// The symbols of rules for the kinds of terminals, and the terminals that are made for them.
class KindSymbols {
public:
    explicit KindSymbols(RuleExpressions& expressions) : expressions_(expressions) {}

    ExpressionId of(const TerminalUse& use, const std::string& label) {
        const auto known = known_.find(use);
        return known != known_.end() ? known->second : known_.emplace(use, made(use, label)).first->second;
    }
    std::vector<RuleSet::Terminal> take_terminals() { return std::move(terminals_); }

private:
    // A text if it may end anywhere, or a new terminal.
    ExpressionId made(const TerminalUse& use, const std::string& label) {
        poll();
        if (use.text == RegexTrees::kEmpty) return RuleExpressions::kNothing;
        if (use.longer == RegexTrees::kEmpty) return expressions_.text(use.text);
        terminals_.push_back({new_name(label), {{use.text, use.longer, false}}, false});
        return expressions_.terminal(static_cast<uint32_t>(terminals_.size() - 1));
    }
    std::string new_name(const std::string& label) {
        size_t& count = numbers_[label];
        while (true) {
            const std::string name = count ? label + " (" + std::to_string(count + 1) + ")" : label;
            ++count;
            if (names_.insert(name).second) return name;
        }
    }

    RuleExpressions& expressions_;
    std::map<TerminalUse, ExpressionId> known_;
    std::vector<RuleSet::Terminal> terminals_;
    std::unordered_map<std::string, size_t> numbers_;  // by label: terminals that have it
    std::unordered_set<std::string> names_;
};

}  // namespace

void resolve_places(RuleSet& set, const DialectPlaces& places, bool longest, Kernel& kernel) {
    drop_uncalled(set, calls_of(set));
    PlaceReadings readings(set, places);
    const Lists<TerminalUse> found = readings.find(longest, kernel);
    RuleExpressions& expressions = set.expressions;
    KindSymbols symbols(expressions);
    std::vector<ExpressionId> instead, ways;  // [place]; of one
    for (uint32_t place = 0; place < places.size(); ++place) {
        poll();
        ways.clear();
        for (const TerminalUse& use : found[place]) ways.push_back(symbols.of(use, places[readings.kind(use)].label));
        instead.push_back(ways.size() == 1 ? ways[0] : expressions.alternatives(ways));
    }
    RuleExpressions::Known known;
    for (uint32_t place = 0; place < places.size(); ++place)
        expressions.put(known, expressions.terminal(place), instead[place]);
    set.bodies = set.substituted(known);
    set.terminals = symbols.take_terminals();
}

}  // namespace schemagen
