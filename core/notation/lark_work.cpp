#include "notation/lark_work.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "util/work.hpp"

namespace schemagen {

void LarkWork::add(uint64_t steps, const std::string& what) {
    poll();
    steps_ += steps;
    if (steps_ > kSteps)
        stop({}, "lark would take long over the grammar: " + what,
             "it writes rules out, and goes over all of them again and again",
             "use fewer and shorter rules; the default parser, earley with a dynamic lexer, is compiled without lark");
}

void LarkWork::add_text(size_t tokens) { add(tokens * kToken, "its text has too many words and signs"); }

void LarkWork::add_terminal(size_t characters) { add(characters * kCharacter, "its literals and patterns are long"); }

void LarkWork::add_rules(const std::vector<LarkAlternative>& alternatives, bool makes_tables) {
    for (const LarkAlternative& each : alternatives) {
        const uint64_t symbols = each.symbols.size();
        add(symbols * kSymbol + symbols * symbols * symbols / kCube + kRound,
            "the rule '" + names_[each.origin] + "' has an alternative of " + with_commas(symbols) + " symbols");
    }
    add_rounds(alternatives, false, makes_tables);
    add_rounds(alternatives, true, makes_tables);
}

// Facts about the ends of rules go from one to the other: what begins one goes up to those that begin with it, what
// follows one goes down to those that end it.
void LarkWork::add_rounds(const std::vector<LarkAlternative>& alternatives, bool from_end, bool makes_tables) {
    std::unordered_map<uint32_t, size_t> numbers;
    for (const LarkAlternative& each : alternatives) numbers.emplace(each.origin, numbers.size());
    std::vector<std::pair<size_t, size_t>> passes;  // to the first from the second
    for (const LarkAlternative& each : alternatives) {
        if (each.symbols.empty()) continue;
        const uint32_t symbol = from_end ? each.symbols.back() : each.symbols.front();
        if (is_terminal(symbol)) continue;
        const size_t rule = numbers.at(each.origin), other = numbers.at(name_of(symbol));
        passes.push_back(from_end ? std::pair(other, rule) : std::pair(rule, other));
    }
    const size_t words = numbers.size() / 64 + 1;
    std::vector<std::vector<uint64_t>> known(numbers.size(), std::vector<uint64_t>(words));
    for (size_t rule = 0; rule < known.size(); ++rule) known[rule][rule / 64] |= uint64_t{1} << rule % 64;
    for (bool changed = true; changed;) {
        changed = false;
        add(alternatives.size() * kRound, "facts about one rule have a long way to the others");
        for (const auto& [to, from] : passes)
            for (size_t word = 0; word < words; ++word) {
                const uint64_t more = known[from][word] & ~known[to][word];
                known[to][word] |= more;
                changed |= more != 0;
            }
    }
    if (!makes_tables || from_end) return;
    size_t most = 0;
    for (const std::vector<uint64_t>& rules : known) {
        size_t count = 0;
        for (uint64_t word : rules) count += static_cast<size_t>(std::popcount(word));
        most = std::max(most, count);
    }
    add(uint64_t{most} * most, "up to " + with_commas(most) + " rules begin where one does");
}

}  // namespace schemagen
