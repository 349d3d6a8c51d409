#include "notation/lark_alternatives.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "util/interned_lists.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

using Kind = LarkNode::Kind;

constexpr uint32_t kNone = UINT32_MAX;  // no alias; a symbol for nothing, which tells alternatives apart

double capped(double count) { return std::min(count, static_cast<double>(NotationLimits::kCounted)); }

using Symbols = std::vector<uint32_t>;

// Continue each way by each of the next ones.
void append(std::vector<Symbols>& ways, const std::vector<Symbols>& next) {
    const auto join = [](Symbols& before, const Symbols& after) {
        before.insert(before.end(), after.begin(), after.end());
    };
    if (next.size() == 1) {
        for (Symbols& way : ways) join(way, next[0]);
        return;
    }
    std::vector<Symbols> longer;
    longer.reserve(ways.size() * next.size());
    for (const Symbols& before : ways)
        for (const Symbols& after : next) join(longer.emplace_back(before), after);
    ways = std::move(longer);
}

std::string shown(double count) {
    const auto whole = static_cast<uint64_t>(count);
    return with_commas(whole) + (whole == NotationLimits::kCounted ? " or more" : "");
}

}  // namespace

void LarkAlternatives::add(const LarkRule& rule) {
    check_size(rule);
    std::vector<Way> found;
    collect(rule.tree, rule, found);
    put(rule, found);
}

void LarkAlternatives::check_size(const LarkRule& rule) {
    const Size size = size_of(rule.tree);
    symbols_ += size.symbols + size.ways;
    if (symbols_ > static_cast<double>(NotationLimits::kSymbols))
        stop(rule.place,
             "the rule '" + reading_.names[rule.name] + "' is written out as " + shown(size.ways) +
                 " alternatives of " + shown(size.symbols) + " symbols",
             "the limit is " + with_commas(NotationLimits::kSymbols) + " for all rules",
             "use fewer optional parts in a row, smaller repetitions of choices, or rules for parts of long ones");
}

LarkAlternatives::Size LarkAlternatives::size_of(const LarkNode* node) {
    if (!node->is_tree()) return {1, 1};
    if (const auto known = sizes_.find(node); known != sizes_.end()) return known->second;
    const bool is_choice = node->kind == Kind::kChoice;
    Size size{is_choice ? 0.0 : 1.0, 0};
    for (const LarkNode* child : node->children) {
        poll();
        const Size own = size_of(child);
        size = is_choice
                   ? Size{capped(size.ways + own.ways), capped(size.symbols + own.symbols)}
                   : Size{capped(size.ways * own.ways), capped(size.symbols * own.ways + own.symbols * size.ways)};
    }
    return sizes_[node] = size;
}

// The ways of a node at the top of a rule, where they may have names.
void LarkAlternatives::collect(const LarkNode* node, const LarkRule& rule, std::vector<Way>& found) const {
    if (node->kind == Kind::kChoice) {
        for (const LarkNode* child : node->children) collect(child, rule, found);
        return;
    }
    const bool is_alias = node->kind == Kind::kAlias;
    const std::string& name = reading_.names[rule.name];
    if (is_alias && name[0] == '_')
        refuse(node->place, "'->' in the rule '" + name + "'",
               "its name begins with an underscore, so that trees never have it", "leave one of them out");
    for (Symbols& symbols : ways(is_alias ? node->children[0] : node))
        found.push_back({std::move(symbols), is_alias ? node->name : kNone});
}

std::vector<Symbols> LarkAlternatives::ways(const LarkNode* node) const {
    poll();
    if (node->kind == Kind::kSymbol) return {{symbol_of(node->name, node->is_term)}};
    if (node->kind == Kind::kEmpty) return {{kNone}};
    if (node->kind == Kind::kAlias)
        refuse(node->place, "'->' inside of parentheses", "it names an alternative of the whole rule",
               "make a rule of the part in the parentheses");
    std::vector<Symbols> found;
    if (node->kind == Kind::kChoice) {
        for (const LarkNode* child : node->children)
            for (Symbols& way : ways(child)) found.push_back(std::move(way));
        return found;
    }
    found.emplace_back();
    for (const LarkNode* child : node->children) append(found, ways(child));
    return found;
}

void LarkAlternatives::put(const LarkRule& rule, const std::vector<Way>& ways) {
    InternedLists all, written;
    for (const Way& way : ways) {
        Symbols key = way.symbols;
        key.push_back(way.alias);
        size_t known = all.size();
        if (all.intern(key) < known) continue;
        Symbols symbols = way.symbols;
        std::erase(symbols, kNone);
        key = symbols;
        key.push_back(kNone);
        known = written.size();
        if (written.intern(key) == known) {
            list_.push_back({rule.name, std::move(symbols)});
        } else if (!symbols.empty()) {
            refuse(rule.place, "two alternatives of the rule '" + reading_.names[rule.name] + "' are the same",
                   "different optional parts leave the same symbols, or both have names", "leave one of them out");
        }
    }
}

}  // namespace schemagen
