#include "notation/lark_expansion.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "util/work.hpp"

namespace schemagen {

namespace {

using Kind = LarkNode::Kind;

// From this number of rounds on, a repetition is made of rules, each of at most so many symbols times those of another.
constexpr int32_t kWrittenOut = 50, kFactor = 5;

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {".", "DOT"},      {",", "COMMA"},      {":", "COLON"},     {";", "SEMICOLON"},  {"+", "PLUS"},
    {"-", "MINUS"},    {"*", "STAR"},       {"/", "SLASH"},     {"\\", "BACKSLASH"}, {"|", "VBAR"},
    {"?", "QMARK"},    {"!", "BANG"},       {"@", "AT"},        {"#", "HASH"},       {"$", "DOLLAR"},
    {"%", "PERCENT"},  {"^", "CIRCUMFLEX"}, {"&", "AMPERSAND"}, {"_", "UNDERSCORE"}, {"<", "LESSTHAN"},
    {">", "MORETHAN"}, {"=", "EQUAL"},      {"\"", "DBLQUOTE"}, {"'", "QUOTE"},      {"`", "BACKQUOTE"},
    {"~", "TILDE"},    {"(", "LPAR"},       {")", "RPAR"},      {"{", "LBRACE"},     {"}", "RBRACE"},
    {"[", "LSQB"},     {"]", "RSQB"},       {"\n", "NEWLINE"},  {"\r\n", "CRLF"},    {"\t", "TAB"},
    {" ", "SPACE"},
};

// The nodes of a tree in the order in which lark changes their children.
std::vector<LarkNode*> in_order(LarkNode* root) {
    std::vector<LarkNode*> found{root};
    for (size_t at = 0; at < found.size(); ++at) {
        const std::vector<LarkNode*>& children = found[at]->children;
        for (size_t n = children.size(); n-- > 0;)
            if (children[n]->is_tree()) found.push_back(children[n]);
    }
    std::ranges::reverse(found);
    return found;
}

// A count as factors (a, b), of each the product so far times a, plus b, where a + b is at most kFactor.
std::vector<std::pair<int32_t, int32_t>> small_factors(int32_t count) {
    if (count <= kFactor) return {{count, 0}};
    int32_t factor = kFactor;
    while (factor + count % factor > kFactor) --factor;
    std::vector<std::pair<int32_t, int32_t>> found = small_factors(count / factor);
    found.emplace_back(factor, count % factor);
    return found;
}

}  // namespace

// --- terminals -----------------------------------------------------------------------------------------------------

LarkTerminals::LarkTerminals(LarkReading& reading, LarkPatterns& patterns) : reading_(reading) {
    for (const auto& [name, definition] : reading.definitions) {
        if (!definition.is_term || !definition.tree) continue;
        const LarkNode* first = definition.tree->children[0];
        if (definition.tree->children.size() == 1 && first->kind == Kind::kSequence && first->children.empty())
            refuse(definition.place, "the terminal '" + reading.names[name] + "' is empty",
                   "lark has no empty terminals", "leave it out, or write [x] for an optional x");
        LarkPattern pattern = patterns.of_terminal(definition.tree);
        by_pattern_[pattern.key()] = name;
        names_.insert(name);
        list_.push_back({name, std::move(pattern), definition.priority, definition.place});
    }
}

uint32_t LarkTerminals::name_of(const LarkPattern& pattern, NotationPlace place) {
    const std::string key = pattern.key();
    if (const auto known = by_pattern_.find(key); known != by_pattern_.end()) return known->second;
    std::string spelling = indicative_name(pattern);
    if (spelling.empty() || names_.contains(reading_.names.number(spelling)))
        spelling = "__ANON_" + std::to_string(unnamed_++);
    const uint32_t name = reading_.names.number(spelling);
    names_.insert(name);
    by_pattern_.emplace(key, name);
    list_.push_back({name, pattern, 0, place});
    return name;
}

// A name that tells the literal; none for most.
std::string LarkTerminals::indicative_name(const LarkPattern& pattern) const {
    if (!pattern.is_literal) return "";
    const std::string& text = pattern.value;
    for (const auto& [literal, name] : kNames)
        if (literal == text) return std::string(name);
    std::string upper;
    for (const char c : text) {
        if (static_cast<uint8_t>(c) >= 0x80) return reading_.host.name_of(text);
        const bool is_lower = c >= 'a' && c <= 'z', is_digit = c >= '0' && c <= '9';
        if (!is_lower && !(c >= 'A' && c <= 'Z') && c != '_' && (!is_digit || upper.empty())) return "";
        upper += is_lower ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return upper;
}

// --- rules ---------------------------------------------------------------------------------------------------------

LarkExpansion::LarkExpansion(LarkReading& reading, LarkTerminals& terminals)
    : reading_(reading), trees_(reading.trees), terminals_(terminals) {}

std::vector<LarkRule> LarkExpansion::run() {
    for (const auto& [name, definition] : reading_.definitions) {
        if (definition.is_term) continue;
        if (!definition.tree)
            refuse(definition.place, "the rule '" + reading_.names[name] + "' is declared",
                   "only the texts of terminals can be left to the caller", "define it, or declare a terminal");
        by_name_[name] = rules_.size();
        rules_.push_back({{name, definition.tree, definition.keeps_all, definition.place}, definition.parameters});
    }
    std::vector<LarkRule> found;
    for (size_t at = 0; at < rules_.size(); ++at) {
        if (!rules_[at].parameters.empty()) continue;
        found.push_back(rules_[at].rule);
        expand(found.back());
    }
    found.insert(found.end(), added_.begin(), added_.end());
    return found;
}

void LarkExpansion::expand(const LarkRule& rule) {
    current_ = rule.name;
    keeps_all_ = rule.keeps_all;
    place_ = rule.place;
    const std::vector<LarkNode*> nodes = in_order(rule.tree);
    const auto for_each_child = [&](const auto& change) {
        for (LarkNode* node : nodes) {
            poll();
            for (LarkNode*& child : node->children) child = change(child);
        }
    };
    for_each_child([&](LarkNode* child) {
        const bool is_value =
            child->kind == Kind::kLiteral || child->kind == Kind::kPattern || child->kind == Kind::kRange;
        return is_value ? terminal(*child) : child;
    });
    for_each_child([&](LarkNode* child) { return child->kind == Kind::kTemplate ? filled(*child) : child; });
    for_each_child([&](LarkNode* child) { return written_out(child); });
}

LarkNode* LarkExpansion::terminal(const LarkNode& value) {
    const LarkPattern pattern = LarkPatterns::of_value(value);
    return trees_.symbol(terminals_.name_of(pattern, value.place), true, !keeps_all_ && pattern.is_literal,
                         value.place);
}

// --- templates

LarkNode* LarkExpansion::filled(const LarkNode& use) {
    std::string spelling = reading_.names[use.name];
    for (size_t n = 0; n < use.children.size(); ++n)
        spelling += (n ? "," : "{") + reading_.names[use.children[n]->name];
    spelling += '}';
    if (spelling.size() > NotationLimits::kName || filled_in_.size() == NotationLimits::kTemplates)
        stop(use.place, "the template '" + reading_.names[use.name] + "' is filled in again and again",
             spelling.size() > NotationLimits::kName ? "each time with longer names" : "each time with other names",
             "use rules in the place of templates");
    const uint32_t name = reading_.names.number(spelling);
    if (filled_in_.insert(name).second) fill_in(use, name);
    return trees_.symbol(name, false, false, use.place);
}

void LarkExpansion::fill_in(const LarkNode& use, uint32_t name) {
    const auto known = by_name_.find(use.name);
    const size_t count = known == by_name_.end() ? 0 : rules_[known->second].parameters.size();
    if (count != use.children.size())
        refuse(
            use.place,
            "'" + reading_.names[use.name] + "' is filled in with " + std::to_string(use.children.size()) + " values",
            count ? "it has " + std::to_string(count) + " parameters" : "it is no template",
            "give one for each parameter");
    const Rule pattern = rules_[known->second];
    std::unordered_map<uint32_t, LarkNode*> arguments;
    for (size_t n = 0; n < count; ++n) arguments[pattern.parameters[n]] = use.children[n];
    LarkNode* tree = copy(*pattern.rule.tree, arguments);
    by_name_[name] = rules_.size();
    rules_.push_back({{name, tree, pattern.rule.keeps_all, pattern.rule.place}, {}});
}

LarkNode* LarkExpansion::copy(const LarkNode& node, const std::unordered_map<uint32_t, LarkNode*>& arguments) {
    const auto argument = arguments.find(node.name);
    const bool is_filled = argument != arguments.end();
    if (is_filled && node.kind == Kind::kSymbol) return argument->second;
    LarkNode* made = trees_.make(node.kind, node.place);
    *made = node;
    if (is_filled && node.kind == Kind::kTemplate) made->name = argument->second->name;
    for (LarkNode*& child : made->children) child = copy(*child, arguments);
    return made;
}

// --- repetitions and optional parts

LarkNode* LarkExpansion::written_out(LarkNode* node) {
    if (node->kind == Kind::kMaybe) return maybe(node->children[0]);
    return node->kind == Kind::kRepeat ? repeated(*node) : node;
}

LarkNode* LarkExpansion::maybe(LarkNode* part) {
    const uint64_t nones = kept_symbols(part);
    count(nones);
    LarkNode* none = trees_.make(Kind::kEmpty, place_);
    return choice({part, sequence(std::vector<LarkNode*>(nones, none))});
}

LarkNode* LarkExpansion::repeated(const LarkNode& node) {
    LarkNode* part = node.children[0];
    switch (node.sign) {
        case '?': return choice({part, sequence({})});
        case '+': return again("plus", part);
        case '*': return choice({again("star", part), sequence({})});
        case '-':
            if (node.high < node.low || node.low < 0) refuse_bounds(node);
            break;
        default: break;
    }
    return times(part, node.low, node.high);
}

// A rule of one or more parts.
LarkNode* LarkExpansion::again(const char* kind, LarkNode* part) {
    const uint32_t key = number_of(part);
    if (const auto known = own_rules_.find(key); known != own_rules_.end()) return known->second;
    LarkNode* rule = rule_of_own(kind, key);
    added_.back().tree = choice({sequence({part}), sequence({rule, part})});
    return rule;
}

LarkNode* LarkExpansion::times(LarkNode* part, int32_t low, int32_t high) {
    if (high >= kWrittenOut) return many_times(part, low, high);
    LarkNode* found = choice({});
    for (int32_t rounds = low; rounds <= high; ++rounds) {
        const auto parts = static_cast<size_t>(std::max(rounds, 0));
        count(parts);
        found->children.push_back(sequence(std::vector<LarkNode*>(parts, part)));
    }
    return found;
}

void LarkExpansion::count(uint64_t symbols) {
    written_ += symbols;
    if (written_ <= NotationLimits::kSymbols) return;
    stop(place_, "the rule '" + reading_.names[current_] + "' repeats its parts too often",
         "all rules together are written out as more than " + with_commas(NotationLimits::kSymbols) + " symbols",
         "use smaller repetitions, or * and +");
}

// As the factors of the lower bound, and those of how many there may be more.
LarkNode* LarkExpansion::many_times(LarkNode* part, int32_t low, int32_t high) {
    LarkNode* least = part;
    for (const auto& [factor, more] : small_factors(low)) least = product(factor, more, least, part);
    if (low == high) return least;
    std::vector<std::pair<int32_t, int32_t>> factors = small_factors(high - low + 1);
    const auto [last, more_of_last] = factors.back();
    factors.pop_back();
    LarkNode *inner = part, *up_to_inner = sequence({});
    for (const auto& [factor, more] : factors) {
        up_to_inner = up_to_product(factor, more, inner, up_to_inner, part);
        inner = product(factor, more, inner, part);
    }
    return choice({sequence({least, up_to_product(last, more_of_last, inner, up_to_inner, part)})});
}

// A rule of `inner` a number of times, and some parts more.
LarkNode* LarkExpansion::product(int32_t factor, int32_t more, LarkNode* inner, LarkNode* part) {
    const auto a = static_cast<uint32_t>(factor), b = static_cast<uint32_t>(more);
    const uint32_t key = parts_.intern(std::array{UINT32_MAX, a, b, number_of(inner), number_of(part)});
    if (const auto known = own_rules_.find(key); known != own_rules_.end()) return known->second;
    LarkNode* rule = rule_of_own("repeat_a" + std::to_string(a) + "_b" + std::to_string(b), key);
    std::vector<LarkNode*> parts(a, inner);
    parts.insert(parts.end(), b, part);
    added_.back().tree = choice({sequence(std::move(parts))});
    return rule;
}

// A rule of fewer parts than that many: `inner` up to `factor` times, where `up_to_inner` has fewer parts than it.
LarkNode* LarkExpansion::up_to_product(int32_t factor, int32_t more, LarkNode* inner, LarkNode* up_to_inner,
                                       LarkNode* part) {
    const auto a = static_cast<uint32_t>(factor), b = static_cast<uint32_t>(more);
    const uint32_t key = parts_.intern(std::array{UINT32_MAX - 1, a, b, number_of(inner), number_of(part)});
    if (const auto known = own_rules_.find(key); known != own_rules_.end()) return known->second;
    LarkNode* rule = rule_of_own("repeat_a" + std::to_string(a) + "_b" + std::to_string(b) + "_opt", key);
    LarkNode* tree = choice({});
    for (uint32_t rounds = 0; rounds < a; ++rounds) {
        std::vector<LarkNode*> parts(rounds, inner);
        parts.push_back(up_to_inner);
        tree->children.push_back(sequence(std::move(parts)));
    }
    for (uint32_t rounds = 0; rounds < b; ++rounds) {
        std::vector<LarkNode*> parts(a, inner);
        parts.insert(parts.end(), rounds, part);
        tree->children.push_back(sequence(std::move(parts)));
    }
    added_.back().tree = tree;
    return rule;
}

LarkNode* LarkExpansion::rule_of_own(const std::string& kind, uint32_t key) {
    const std::string spelling = "__" + reading_.names[current_] + "_" + kind + "_" + std::to_string(added_.size());
    const uint32_t name = reading_.names.number(spelling);
    added_.push_back({name, nullptr, keeps_all_, place_});
    return own_rules_[key] = trees_.symbol(name, false, false, place_);
}

// --- parts

// Equal parts have equal numbers.
uint32_t LarkExpansion::number_of(const LarkNode* node) {
    if (const auto known = numbers_.find(node); known != numbers_.end()) return known->second;
    std::vector<uint32_t> list = {static_cast<uint32_t>(node->kind), node->name, node->is_term};
    for (const LarkNode* child : node->children) list.push_back(number_of(child));
    return numbers_[node] = parts_.intern(list);
}

// The most symbols of an alternative that a tree keeps.
uint64_t LarkExpansion::kept_symbols(const LarkNode* node) {
    if (node->kind == Kind::kEmpty) return 0;
    if (node->kind == Kind::kSymbol)
        return node->is_term ? keeps_all_ || !node->is_hidden : reading_.names[node->name][0] != '_';
    if (const auto known = kept_.find(node); known != kept_.end()) return known->second;
    uint64_t most = 0, sum = 0;
    for (const LarkNode* child : node->children) {
        const uint64_t own = kept_symbols(child);
        most = std::max(most, own);
        sum = std::min(sum + own, NotationLimits::kCounted);
    }
    return kept_[node] = node->kind == Kind::kSequence ? sum : most;
}

}  // namespace schemagen
