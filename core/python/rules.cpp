#include "python/rules.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "regex/pattern_text.hpp"
#include "rules/simplify.hpp"
#include "util/utf8.hpp"

namespace schemagen {

using namespace nb::literals;
using ExpressionKind = RuleExpressions::Kind;

namespace {

// The classes of schemagen/context_free/syntax.py.
struct SyntaxClasses {
    nb::object rule, terminal, text, sequence, alternatives, repeat, bound, lexeme;

    SyntaxClasses() {
        const nb::module_ module = nb::module_::import_("schemagen.context_free.syntax");
        rule = module.attr("Rule");
        terminal = module.attr("Terminal");
        text = module.attr("Text");
        sequence = module.attr("Sequence");
        alternatives = module.attr("Alternatives");
        repeat = module.attr("Repeat");
        bound = module.attr("TokenBound");
        lexeme = module.attr("Lexeme");
    }
    static const SyntaxClasses& get() {
        static const SyntaxClasses* const classes = new SyntaxClasses();  // as long as the interpreter
        return *classes;
    }
    static bool is_made_by(nb::handle object, const nb::object& type) {
        return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == type.ptr();
    }
};

constexpr size_t kShown = 40;  // characters

std::string cut(const std::u32string& text) {
    return to_utf8(text.size() <= kShown ? text : text.substr(0, kShown) + U"...");
}

// A character as JSON has it in strings, quotes and backslashes as they are.
std::u32string without_controls(char32_t character) {
    static constexpr std::string_view kControls = "\b\f\n\r\t", kLetters = "bfnrt";
    static constexpr std::u32string_view kDigits = U"0123456789abcdef";
    if (character >= 0x20) return {character};
    const size_t at = kControls.find(static_cast<char>(character));
    if (at != std::string_view::npos) return {U'\\', static_cast<char32_t>(kLetters[at])};
    return {U'\\', U'u', U'0', U'0', kDigits[character >> 4], kDigits[character & 15]};
}

// A text as JSON, cut.
std::string shown(const RegexTrees::Text& text) {
    RegexTrees::Text out = U"\"";
    for (char32_t character : text) {
        if (character == U'"' || character == U'\\') out += U'\\';
        out += without_controls(character);
        if (out.size() > kShown) break;
    }
    return cut(out + U'"');
}

}  // namespace

Rules::Rules() = default;

Rules::Rules(nb::handle grammar) : Rules() {
    const auto rules = nb::cast<nb::dict>(grammar.attr("rules"));
    read_as(nb::cast<nb::dict>(grammar.attr("terminals")), grammar.attr("ignored"));
    show_as(nb::cast<nb::dict>(grammar.attr("written")));
    for (auto [name, _] : rules) rule_of(nb::cast<std::string>(name));
    uint32_t rule = 0;
    for (auto [_, body] : rules) {
        const ExpressionId made = import(body);  // which may add rules
        set_.bodies[rule++] = made;
    }
    set_.start = rule_of(nb::cast<std::string>(grammar.attr("start")));
}

Rules::Rules(const std::string& start, const Symbols& symbols, const PlainRules& rules) {
    std::vector<ExpressionId> leaves;
    leaves.reserve(symbols.size());
    for (const auto& [name, is_terminal] : symbols)
        leaves.push_back(is_terminal ? set_.expressions.terminal(terminal_of(name))
                                     : set_.expressions.rule(rule_of(name)));
    std::vector<std::vector<ExpressionId>> ways(set_.names.size());
    std::vector<ExpressionId> parts;
    for (const auto& [origin, body] : rules) {
        parts.clear();
        for (uint32_t symbol : body) parts.push_back(leaves.at(symbol));
        ways[set_.expressions.value(leaves.at(origin))].push_back(set_.expressions.sequence(parts));
    }
    for (size_t rule = 0; rule < ways.size(); ++rule)
        if (!ways[rule].empty()) set_.bodies[rule] = set_.expressions.alternatives(ways[rule]);
    set_.start = rule_of(start);
}

void Rules::replace(const nb::dict& terminals) {
    RuleExpressions::Known known;
    for (auto [name, expression] : terminals) {
        const ExpressionId leaf = set_.expressions.terminal(terminal_of(nb::cast<std::string>(name)));
        set_.expressions.put(known, leaf, import(expression));
    }
    set_.bodies = set_.substituted(known);
}

void Rules::read_as(const nb::dict& terminals, nb::handle ignored) {
    for (auto [name, ways] : terminals) {
        std::vector<LexemeTrees>& own = set_.terminals[terminal_of(nb::cast<std::string>(name))].ways;
        own.clear();
        for (nb::handle way : ways) own.push_back(import_way(way));
    }
    for (nb::handle name : ignored) set_.terminals[terminal_of(nb::cast<std::string>(name))].ignored = true;
}

// One without a body derives nothing.
uint32_t Rules::rule_of(const std::string& name) {
    const auto [at, is_new] = rules_by_name_.emplace(name, static_cast<uint32_t>(set_.names.size()));
    if (is_new) set_.add_rule(name, RuleSet::kAbsent);
    return at->second;
}

uint32_t Rules::terminal_of(const std::string& name) {
    const auto [at, is_new] = terminals_by_name_.emplace(name, static_cast<uint32_t>(set_.terminals.size()));
    if (is_new) set_.terminals.push_back({name, {}, false});
    return at->second;
}

LexemeTrees Rules::import_way(nb::handle lexeme) {
    return {set_.trees.nonempty(trees_.tree_of(lexeme.attr("text"), set_.trees)),
            set_.trees.nonempty(trees_.tree_of(lexeme.attr("longer"), set_.trees)),
            nb::cast<bool>(lexeme.attr("marked"))};
}

uint32_t Rules::other_of(nb::handle object) {
    if (others_by_object_.contains(object)) return nb::cast<uint32_t>(others_by_object_[object]);
    const auto number = static_cast<uint32_t>(others_.size());
    others_.push_back(nb::borrow(object));
    others_by_object_[object] = number;
    return number;
}

ExpressionId Rules::import(nb::handle expression) {
    const SyntaxClasses& classes = SyntaxClasses::get();
    const auto is = [&](const nb::object& type) { return SyntaxClasses::is_made_by(expression, type); };
    RuleExpressions& expressions = set_.expressions;
    if (is(classes.terminal)) return expressions.terminal(terminal_of(nb::cast<std::string>(expression.attr("name"))));
    if (is(classes.rule)) return expressions.rule(rule_of(nb::cast<std::string>(expression.attr("name"))));
    if (is(classes.text)) return expressions.text(trees_.tree_of(expression.attr("regex"), set_.trees));
    const bool is_sequence = is(classes.sequence);
    if (is_sequence || is(classes.alternatives)) {
        std::vector<ExpressionId> parts;
        for (nb::handle part : expression.attr("parts")) parts.push_back(import(part));
        return is_sequence ? expressions.sequence(parts) : expressions.alternatives(parts);
    }
    if (is(classes.repeat))
        return expressions.repeat(import(expression.attr("inner")), TreeImport::count_of(expression.attr("low")),
                                  TreeImport::count_of(expression.attr("high")));
    if (is(classes.bound)) {
        const ExpressionId inner = import(expression.attr("inner"));
        return expressions.bounded(inner, set_.add_bound(TreeImport::count_of(expression.attr("most")),
                                                         nb::cast<std::string>(expression.attr("name"))));
    }
    return expressions.other(other_of(expression));
}

void Rules::read_as_text(const std::string& terminal, const std::string& text) {
    const TreeId tree = set_.trees.literal(from_utf8(text));
    set_.terminals[terminal_of(terminal)].ways = {{tree, RegexTrees::kEmpty, false}};
}

void Rules::read_as_longest(const std::string& terminal, TreeId texts) {
    const TreeId some = set_.trees.nonempty(texts);
    set_.terminals[terminal_of(terminal)].ways = {{some, some, false}};
}

void Rules::read_alike(const std::string& terminal, const std::string& other) {
    const std::vector<LexemeTrees> ways = set_.terminals[terminal_of(other)].ways;
    set_.terminals[terminal_of(terminal)].ways = ways;
}

void Rules::show_as(const std::string& terminal, const std::string& pattern) {
    std::u32string shown = U"/";
    for (char32_t character : from_utf8(pattern)) shown += without_controls(character);
    set_.terminals[terminal_of(terminal)].shown = cut(shown + U'/');
}

void Rules::show_as(const nb::dict& written) {
    for (auto [name, pattern] : written) show_as(nb::cast<std::string>(name), nb::cast<std::string>(pattern));
}

bool Rules::is_read(const std::string& terminal) const {
    const auto at = terminals_by_name_.find(terminal);
    return at != terminals_by_name_.end() && !set_.terminals[at->second].ways.empty();
}

// ---- as the objects of Python -------------------------------------------------------------------------------------

bool Rules::is_plain() const { return others_.empty() && set_.bounds.empty(); }

nb::dict Rules::bodies() {
    nb::dict out;
    for (size_t rule = 0; rule < set_.bodies.size(); ++rule)
        if (set_.bodies[rule] != RuleSet::kAbsent) out[nb::cast(set_.names[rule])] = exported(set_.bodies[rule]);
    return out;
}

nb::dict Rules::terminals() {
    nb::dict out;
    for (const RuleSet::Terminal& terminal : set_.terminals) {
        nb::list ways;
        for (const LexemeTrees& way : terminal.ways)
            ways.append(SyntaxClasses::get().lexeme(trees_.ast_of(way.text, set_.trees),
                                                    trees_.ast_of(way.longer, set_.trees), way.marked));
        out[nb::cast(terminal.name)] = nb::tuple(ways);
    }
    return out;
}

// Equal expressions are one object, so that they are found at once in dictionaries.
nb::object Rules::exported(ExpressionId id) {
    if (const auto known = exported_.find(id); known != exported_.end()) return known->second;
    const SyntaxClasses& classes = SyntaxClasses::get();
    const uint32_t value = set_.expressions.value(id);
    nb::object made;
    switch (set_.expressions.kind(id)) {
        case ExpressionKind::kRule: made = classes.rule(set_.names[value]); break;
        case ExpressionKind::kTerminal: made = classes.terminal(set_.terminals[value].name); break;
        case ExpressionKind::kText: made = classes.text(trees_.ast_of(value, set_.trees)); break;
        case ExpressionKind::kOther: made = others_[value]; break;
        default: made = made_of_parts(id);
    }
    return exported_[id] = made;
}

nb::object Rules::made_of_parts(ExpressionId id) {
    const SyntaxClasses& classes = SyntaxClasses::get();
    const std::vector<ExpressionId> own(set_.expressions.parts(id).begin(), set_.expressions.parts(id).end());
    const auto count = [](uint64_t rounds) {
        return rounds == RuleExpressions::kEndless ? nb::object(nb::none()) : nb::object(nb::int_(rounds));
    };
    switch (set_.expressions.kind(id)) {
        case ExpressionKind::kRepeat:
            return classes.repeat(exported(own[0]), count(set_.expressions.low(id)), count(set_.expressions.high(id)));
        case ExpressionKind::kBound: {
            const RuleSet::TokenBound& bound = set_.bounds[set_.expressions.value(id)];
            return classes.bound(exported(own[0]), bound.most, bound.name);
        }
        default: {
            nb::list parts;
            for (ExpressionId part : own) parts.append(exported(part));
            const bool is_sequence = set_.expressions.kind(id) == ExpressionKind::kSequence;
            return (is_sequence ? classes.sequence : classes.alternatives)(nb::tuple(parts));
        }
    }
}

void Rules::use(const std::shared_ptr<SharedAutomata>& automata) {
    if (automata_ && automata_ != automata) set_.trees.forget_nodes();
    automata_ = automata;
}

void Rules::simplify() { schemagen::simplify(set_); }

nb::object Rules::text() {
    const ExpressionId body = set_.bodies[set_.start];
    if (set_.expressions.kind(body) != ExpressionKind::kText) return nb::none();
    return trees_.ast_of(set_.expressions.value(body), set_.trees);
}

nb::list Rules::others() const {
    std::vector<bool> met(others_.size());
    nb::list out;
    for (ExpressionId body : set_.bodies) {
        if (body == RuleSet::kAbsent) continue;
        set_.expressions.each_leaf(body, [&](ExpressionId leaf) {
            const uint32_t number = set_.expressions.value(leaf);
            if (set_.expressions.kind(leaf) != ExpressionKind::kOther || met[number]) return;
            met[number] = true;
            out.append(nb::make_tuple(number, others_[number]));
        });
    }
    return out;
}

void Rules::make_optional(const std::vector<uint32_t>& others) {
    RuleExpressions& expressions = set_.expressions;
    RuleExpressions::Known known;
    for (uint32_t number : others) {
        const ExpressionId leaf = expressions.other(number);
        expressions.put(known, leaf, expressions.alternatives(std::array{leaf, RuleExpressions::kEmptyText}));
    }
    set_.bodies = set_.substituted(known);
}

// ---- in numbers ---------------------------------------------------------------------------------------------------

void Rules::number(const std::vector<std::string>& more) {
    std::vector<uint32_t> terminals;
    terminals.reserve(more.size());
    for (const std::string& name : more) terminals.push_back(terminal_of(name));
    numbered_ = std::make_unique<NumberedRules>(set_, terminals);
}

const NumberedRules& Rules::numbered() const {
    if (!numbered_) throw std::logic_error("rules that are not numbered");
    return *numbered_;
}

namespace {
std::optional<uint32_t> known(uint32_t number) {
    return number == NumberedRules::kNone ? std::nullopt : std::optional(number);
}
}  // namespace

std::optional<uint32_t> Rules::number_of_terminal(const std::string& name) const {
    const auto at = terminals_by_name_.find(name);
    return at == terminals_by_name_.end() ? std::nullopt : known(numbered().terminal(at->second));
}

std::optional<uint32_t> Rules::number_of_rule(const std::string& name) const {
    const auto at = rules_by_name_.find(name);
    return at == rules_by_name_.end() ? std::nullopt : known(numbered().rule(at->second));
}

nb::list Rules::numbered_others() const {
    nb::list out;
    for (uint32_t symbol = 0; symbol < terminal_count(); ++symbol) {
        const NumberedRules::Symbol& each = numbered().terminals()[symbol];
        if (each.kind == ExpressionKind::kOther) out.append(nb::make_tuple(others_[each.value], symbol));
    }
    return out;
}

uint32_t Rules::add_way(const std::string& terminal, nb::handle lexeme) {
    const uint32_t number = terminals_by_name_.at(terminal);
    added_ways_.emplace_back(numbered().terminal(number), import_way(lexeme));
    set_.terminals[number].ways.push_back(added_ways_.back().second);
    return static_cast<uint32_t>(added_ways_.size() - 1);
}

std::vector<std::pair<uint32_t, LexemeTrees>> Rules::ways() const {
    return added_ways_.empty() ? numbered().ways() : added_ways_;
}

namespace {
// Of a rule that lark makes of a repetition, `__list_star_0`, the name of the one that it stands in.
std::string shown_name(const std::string& name) {
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    for (const std::string_view sign : {"_star_", "_plus_"})
        if (name.starts_with("__") && digits < name.size() &&
            std::string_view(name).substr(0, digits).ends_with(sign) && digits > 2 + sign.size())
            return name.substr(2, digits - 2 - sign.size());
    return name;
}
}  // namespace

std::vector<std::pair<std::string, std::vector<int32_t>>> Rules::named_rules() const {
    std::vector<std::pair<std::string, std::vector<int32_t>>> out;
    const Lists<int32_t>& bodies = numbered().bodies();
    out.reserve(bodies.size());
    for (size_t k = 0; k < bodies.size(); ++k)
        out.emplace_back(shown_name(set_.names[numbered().rules()[k]]),
                         std::vector(bodies[k].begin(), bodies[k].end()));
    return out;
}

// ---- names in messages --------------------------------------------------------------------------------------------

std::vector<std::pair<std::string, bool>> Rules::named_terminals() {
    std::vector<std::pair<std::string, bool>> out;
    for (const NumberedRules::Symbol& symbol : numbered().terminals())
        out.emplace_back(name_of(symbol),
                         symbol.kind == ExpressionKind::kTerminal && set_.terminals[symbol.value].ignored);
    return out;
}

namespace {
const nb::object& names_module() {
    static const auto* const module = new nb::object(nb::module_::import_("schemagen.context_free.names"));
    return *module;
}
}  // namespace

std::string Rules::name_of(const NumberedRules::Symbol& symbol) {
    if (symbol.kind == ExpressionKind::kText) return name_of_language(symbol.value);
    if (symbol.kind == ExpressionKind::kTerminal) return name_of_terminal(symbol.value);
    return nb::cast<std::string>(names_module().attr("symbol_name")(others_[symbol.value], nb::dict()));
}

// Its text if it has only one, else its name if its author knows it.
std::string Rules::name_of_terminal(uint32_t number) {
    const RuleSet::Terminal& terminal = set_.terminals[number];
    std::vector<TreeId> languages;
    for (const LexemeTrees& way : terminal.ways)
        if (!way.marked && std::ranges::find(languages, way.text) == languages.end()) languages.push_back(way.text);
    const bool is_named = !terminal.name.starts_with("__ANON_") && !terminal.name.starts_with("__IGNORE_");
    if (languages.size() != 1) return terminal.name;
    const bool is_text = set_.trees.only_text(languages[0]).has_value();
    if (is_named && !is_text) return terminal.name;
    if (!is_text && !terminal.shown.empty()) return terminal.shown;
    return name_of_language(languages[0]);
}

std::string Rules::name_of_language(TreeId tree) {
    if (const auto text = set_.trees.only_text(tree)) return shown(*text);
    if (const auto pattern = pattern_text(set_.trees, tree, kShown)) return cut(from_utf8("/" + *pattern + "/"));
    return nb::cast<std::string>(names_module().attr("language_name")(trees_.ast_of(tree, set_.trees)));
}

void bind_rules(nb::module_& module) {
    nb::class_<Rules>(module, "Rules")
        .def(nb::init<nb::handle>(), "grammar"_a)
        .def(nb::init<const std::string&, const Rules::Symbols&, const Rules::PlainRules&>(), "start"_a, "symbols"_a,
             "rules"_a)
        .def("replace", &Rules::replace, "terminals"_a)
        .def("read_as", &Rules::read_as, "terminals"_a, "ignored"_a)
        .def("show_as", nb::overload_cast<const nb::dict&>(&Rules::show_as), "written"_a)
        .def("read_alike", &Rules::read_alike, "terminal"_a, "other"_a)
        .def("is_read", &Rules::is_read, "terminal"_a)
        .def_prop_ro("is_plain", &Rules::is_plain)
        .def_prop_ro("start", &Rules::name_of_start)
        .def("bodies", &Rules::bodies)
        .def("terminals", &Rules::terminals)
        .def("simplify", &Rules::simplify)
        .def("text", &Rules::text)
        .def_prop_ro("derives_nothing", &Rules::derives_nothing)
        .def("others", &Rules::others)
        .def("make_optional", &Rules::make_optional, "others"_a)
        .def("number", &Rules::number, "more"_a = std::vector<std::string>())
        .def("number_of_terminal", &Rules::number_of_terminal, "name"_a)
        .def("number_of_rule", &Rules::number_of_rule, "name"_a)
        .def("numbered_others", &Rules::numbered_others)
        .def_prop_ro("terminal_count", &Rules::terminal_count)
        .def("add_way", &Rules::add_way, "terminal"_a, "lexeme"_a);
}

}  // namespace schemagen
