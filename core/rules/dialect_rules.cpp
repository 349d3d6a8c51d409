#include "rules/dialect_rules.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "notation/dialect_parameters.hpp"
#include "notation/python_repr.hpp"
#include "rules/dialect_places.hpp"
#include "rules/dialect_resolution.hpp"
#include "rules/dialect_scope.hpp"
#include "rules/dialect_shapes.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

using NodeKind = DialectNode::Kind;
using ExpressionKind = RuleExpressions::Kind;
using Parameter = std::optional<uint64_t>;
using Label = std::string;

constexpr size_t kMaxRules = 50'000;     // one with a parameter counted for each of its values
constexpr size_t kMaxAlternatives = 50;  // of a choice that does not become a rule of its own
constexpr const char* kWhole = "the text";

// The name of a terminal in messages.
Label label_of(const DialectNode& node) {
    constexpr size_t kShown = 40;
    switch (node.kind) {
        case NodeKind::kName: return node.text;
        case NodeKind::kLiteral: return Label(first_characters(python_repr(node.text), kShown));
        case NodeKind::kPattern: return "/" + Label(first_characters(node.text, kShown)) + "/";
        default: return "a terminal";
    }
}

std::string in_hexadecimal(uint64_t value) {
    std::string digits;
    do digits.insert(digits.begin(), "0123456789abcdef"[value & 15]);
    while (value >>= 4);
    return "0x" + digits;
}

[[noreturn]] void refuse_bound(const std::string& name, uint64_t most, NotationPlace place, const std::string& what,
                               const std::string& why) {
    refuse_unsupported(place,
                       "the rule " + python_repr(name) + " with max_chars=" + std::to_string(most) + ", which " + what,
                       why, "bound a rule of terminals, and of rules that call themselves at their end or not at all");
}

[[noreturn]] void refuse_bound(const DialectDefinition& definition, const std::string& what, const std::string& why) {
    const DialectAttributes& given = definition.attributes;
    refuse_bound(definition.name, *given.max_chars, given.max_chars_place, what, why);
}

}  // namespace

void BoundedRule::refuse(const std::string& why) const {
    refuse_bound(name, most, place, "is not a regular expression", why);
}

// Rules that are made of definitions, those that are reached from the start.
class DialectReading::Reader {
public:
    Reader(RuleSet& set, DialectHost& parser_host, DialectRulesHost& host)
        : set_(set),
          expressions_(set.expressions),
          trees_(set.trees),
          parser_host_(parser_host),
          host_(host),
          places_(set) {}

    void read(std::string text, const DialectOptions& options);
    void write_out_bounded(const BoundedRule& rule, TreeId texts);
    void resolve(Kernel& kernel);

    std::deque<std::string> texts;
    std::vector<std::string> names;
    std::vector<BoundedRule> bounded;
    std::vector<DialectLabels> labels;
    const DialectPlaces& places() const { return places_; }

private:
    // A rule that was called.
    struct Call {
        DialectScope* scope;
        const DialectDefinition* definition;
        Parameter parameter;
        uint32_t rule;
    };
    // A rule with labels, and where it is from.
    struct Labelled {
        DialectScope* scope;
        const DialectDefinition* definition;
        uint32_t rule;
    };

    DialectGrammar* parse(std::string text, std::string name);
    ExpressionId start_of(const DialectGrammar& grammar, const std::string& start);
    void dispatch(DialectScope& scope, const DialectNode& body);

    // Rules.
    void write_out();
    void write_out(const Call& call);
    void put(uint32_t rule, ExpressionId body);
    uint32_t rule_of(std::string name);
    ExpressionId call(DialectScope& scope, const std::string& name, NotationPlace place,
                      const DialectFunction* argument, Parameter parameter);
    void check_parameter(NotationPlace place, Parameter parameter);
    ExpressionId definition(DialectScope& scope, const DialectDefinition& definition, Parameter parameter,
                            bool counts_tokens = true);
    ExpressionId bounded_in_tokens(DialectScope& scope, const DialectDefinition& definition, Parameter parameter);
    ExpressionId up_to_token(DialectScope& scope, const DialectDefinition& definition);

    // Expressions of the bodies.
    ExpressionId expression(DialectScope& scope, const DialectNode& node, Parameter parameter);
    ExpressionId choice(DialectScope& scope, const DialectNode& node, Parameter parameter);
    ExpressionId choice_of_words(DialectScope& scope, const DialectNode& node);
    std::pair<ExpressionId, size_t> words(const std::vector<std::pair<TreeId, const DialectNode*>>& languages);
    ExpressionId named(DialectScope& scope, ExpressionId body, size_t size);
    ExpressionId series(DialectScope& scope, const DialectNode& node, Parameter parameter);
    ExpressionId repeated(DialectScope& scope, const DialectNode& node, Parameter parameter);
    ExpressionId repeat(ExpressionId inner, uint64_t low, uint64_t high);
    ExpressionId leaf(DialectScope& scope, const DialectNode& node);
    ExpressionId other(const DialectNode& node);

    // Terminals.
    template <class MakeLabel>
    ExpressionId lexeme(TreeId tree, bool is_lazy, const MakeLabel& make_label);
    ExpressionId with_ignored(DialectScope& scope, ExpressionId read);
    ExpressionId ignored(DialectScope& scope);
    ExpressionId bounded_text(DialectScope& scope, const DialectDefinition& definition, bool is_known);
    ExpressionId bound(ExpressionId inner, const DialectDefinition& definition);
    TreeId at_most(TreeId tree, uint64_t most);
    TreeId within(TreeId tree, const Label& name, const Parameter& most, NotationPlace place);
    void note_written_out(ExpressionId body);
    [[noreturn]] static void refuse_labels(const DialectDefinition& definition);
    DialectLabels labels_of(const Labelled& rule);
    DialectLabels::Terminal marked_terminal(DialectScope& scope, const DialectDefinition& definition);

    size_t size_of(ExpressionId choice) const {
        return expressions_.kind(choice) == ExpressionKind::kAlternatives ? expressions_.parts(choice).size() : 1;
    }

    RuleSet& set_;
    RuleExpressions& expressions_;
    RegexTrees& trees_;
    DialectHost& parser_host_;
    DialectRulesHost& host_;
    DialectTrees syntax_;
    DialectPlaces places_;
    bool is_longest_ = true;
    std::string start_;
    NotationPlace start_place_;
    std::deque<DialectScope> scopes_;
    size_t started_ = 0;  // grammars, the one in the making among them
    size_t written_ = 0;  // rules with a body
    std::unordered_map<std::string, uint32_t> rules_;
    std::vector<Call> todo_;
    std::vector<Labelled> labelled_;
    std::unordered_set<uint32_t> written_out_;  // within rules with bounds
    std::unordered_map<std::string, ExpressionId> others_;
    std::map<std::pair<uint64_t, std::string>, uint32_t> bounds_;
};

// ---- grammars -----------------------------------------------------------------------------------------------------

void DialectReading::Reader::read(std::string text, const DialectOptions& options) {
    is_longest_ = options.longest;
    start_ = options.start;
    const DialectGrammar& grammar = *parse(std::move(text), "");
    set_.start = rule_of(kWhole);
    const ExpressionId start = start_of(grammar, start_);
    start_place_ = grammar.rules.find(start_)->place;
    put(set_.start, start);
    write_out();
}

DialectGrammar* DialectReading::Reader::parse(std::string text, std::string name) {
    const auto number = static_cast<uint32_t>(texts.size());
    texts.push_back(std::move(text));
    names.push_back(std::move(name));
    return read_dialect(texts.back(), number, syntax_, parser_host_);
}

// The call of the start rule.
ExpressionId DialectReading::Reader::start_of(const DialectGrammar& grammar, const std::string& start) {
    const bool is_first = started_ == 0;
    std::string prefix = is_first ? "" : std::to_string(started_) + ".";
    ++started_;
    const DialectDefinition* rule = grammar.rules.find(start);
    if (!rule) {
        std::vector<std::string> defined;
        for (const DialectDefinition& each : grammar.rules) defined.push_back(each.name);
        refuse(grammar.place, "the grammar has no rule " + python_repr(start) + " to start from", "",
               host_.fix_of_start(start, defined));
    }
    DialectScope& scope = scopes_.emplace_back(grammar, std::move(prefix), is_longest_, trees_, places_, host_);
    if (is_first && !is_longest_) dispatch(scope, *rule->body);
    const ExpressionId called = call(scope, start, rule->place, nullptr, std::nullopt);
    if (!grammar.skips_first) return called;
    const ExpressionId before = ignored(scope);
    return expressions_.sequence(std::array{before, called});
}

// Notes the terminals of free text with tools, which have no bounds: xgrammar ignores them there.
void DialectReading::Reader::dispatch(DialectScope& scope, const DialectNode& body) {
    const std::vector<DialectPlaces::KindId> kinds = dispatched_kinds(scope, body, trees_, places_);
    if (kinds.empty()) return;
    for (DialectPlaces::KindId each : kinds) places_.dispatch(each);
    std::vector<const DialectDefinition*> parts;
    const auto add_called = [&](const DialectNode& name) {
        if (const DialectDefinition* rule = scope.called(name)) parts.push_back(rule);
    };
    each_name(body, add_called);
    const size_t tools = parts.size();
    for (size_t k = 0; k < tools; ++k) each_name(*parts[k]->body, add_called);  // and those that they begin with
    for (const DialectDefinition* part : parts)
        if (part->attributes.max_chars)
            refuse_bound(*part, "is a part of free text with tools", "the first tool ends the text, at any length");
}

// ---- rules --------------------------------------------------------------------------------------------------------

void DialectReading::Reader::write_out() {
    while (!todo_.empty()) {
        poll();
        const Call call = todo_.back();
        todo_.pop_back();
        if (set_.bodies[call.rule] == RuleSet::kAbsent) write_out(call);
    }
}

void DialectReading::Reader::write_out(const Call& call) {
    const DialectDefinition& written = *call.definition;
    if (written_ == kMaxRules)
        stop(written.place, "more than " + with_commas(kMaxRules) + " rules",
             "a rule with a parameter is one for each value", "use fewer values");
    put(call.rule, definition(*call.scope, written, call.parameter));
    if (written.attributes.is_labelled()) labelled_.push_back({call.scope, call.definition, call.rule});
    if (written.attributes.max_chars && !makes_terminal(written))
        bounded.push_back({call.rule, *written.attributes.max_chars, written.name, written.attributes.max_chars_place});
}

void DialectReading::Reader::put(uint32_t rule, ExpressionId body) {
    set_.bodies[rule] = body;
    ++written_;
}

uint32_t DialectReading::Reader::rule_of(std::string name) {
    const auto [at, is_new] = rules_.try_emplace(std::move(name), static_cast<uint32_t>(set_.names.size()));
    if (is_new) set_.add_rule(at->first, RuleSet::kAbsent);
    return at->second;
}

ExpressionId DialectReading::Reader::call(DialectScope& scope, const std::string& name, NotationPlace place,
                                          const DialectFunction* argument, Parameter parameter) {
    const DialectDefinition& called = *scope.grammar().rules.find(name);
    if (called.has_parameter != (argument != nullptr))
        refuse(place,
               "the rule " + python_repr(name) + (called.has_parameter ? " needs a parameter" : " has no parameter"),
               "", called.has_parameter ? "write " + name + "::0" : "define it as " + name + "::_ : ...");
    std::string key = scope.prefix() + name;
    Parameter given;
    if (argument) {
        if (argument->name != DialectFunction::Name::kNumber) check_parameter(place, parameter);
        given = value_of(*argument, parameter.value_or(0));
        key += "::" + in_hexadecimal(*given);
    }
    const uint32_t rule = rule_of(std::move(key));
    if (set_.bodies[rule] == RuleSet::kAbsent) todo_.push_back({&scope, &called, given, rule});
    return expressions_.rule(rule);
}

void DialectReading::Reader::check_parameter(NotationPlace place, Parameter parameter) {
    if (!parameter)
        refuse(place, "a function of a parameter in a rule without one", "", "write a number, or name::_ at the rule");
}

ExpressionId DialectReading::Reader::definition(DialectScope& scope, const DialectDefinition& definition,
                                                Parameter parameter, bool counts_tokens) {
    const DialectAttributes& given = definition.attributes;
    if (given.max_tokens && counts_tokens) return bounded_in_tokens(scope, definition, parameter);
    if (!is_longest_ && given.lazy && !given.ending && ends_with_token(*definition.body))
        return up_to_token(scope, definition);
    if (!makes_terminal(definition)) return expression(scope, *definition.body, parameter);
    const auto [tree, is_lazy] = scope.terminal_of(definition);
    const TreeId texts = within(tree, definition.name, given.max_chars, given.max_chars_place);
    return with_ignored(scope, lexeme(texts, is_lazy, [&] { return definition.name; }));
}

// A terminal ends at any match there, or at its first one if it is lazy.
ExpressionId DialectReading::Reader::bounded_in_tokens(DialectScope& scope, const DialectDefinition& counted,
                                                       Parameter parameter) {
    if (is_regular(*counted.body)) return with_ignored(scope, bounded_text(scope, counted, false));
    if (is_longest_)
        refuse_unsupported(
            counted.place,
            "max_tokens=" + std::to_string(*counted.attributes.max_tokens) + " of the rule " +
                python_repr(counted.name),
            "llguidance bounds rules that are one terminal, and this one calls rules or embeds a grammar",
            "bound the rules that it calls");
    return bound(definition(scope, counted, parameter, false), counted);
}

// A lazy rule of xgrammar that ends with a token: the first one ends it, since no text holds a token.
ExpressionId DialectReading::Reader::up_to_token(DialectScope& scope, const DialectDefinition& definition) {
    if (definition.attributes.max_chars)
        refuse_bound(definition, "ends with a token", "a token of the vocabulary is not text");
    const std::vector<DialectNode*>& parts = definition.body->parts;
    std::vector<TreeId> before;
    for (size_t k = 0; k + 1 < parts.size(); ++k) before.push_back(scope.language(*parts[k]));
    const TreeId tree = trees_.concat(before);
    const ExpressionId end = host_.token(parts.back()->text, false, parts.back()->place);
    const ExpressionId read = lexeme(tree, false, [&] { return definition.name; });
    return with_ignored(scope, expressions_.sequence(std::array{read, end}));
}

// ---- expressions --------------------------------------------------------------------------------------------------

ExpressionId DialectReading::Reader::expression(DialectScope& scope, const DialectNode& node, Parameter parameter) {
    poll();
    switch (node.kind) {
        case NodeKind::kSeries: return series(scope, node, parameter);
        case NodeKind::kChoice: return choice(scope, node, parameter);
        case NodeKind::kRepetition: return repeated(scope, node, parameter);
        case NodeKind::kName:
            if (!node.is_terminal_name())
                return call(scope, node.text, node.place, node.function ? &*node.function : nullptr, parameter);
            [[fallthrough]];
        default: return leaf(scope, node);
    }
}

// After terminals alone the ignored text is written once, which keeps long lists of keywords small.
ExpressionId DialectReading::Reader::choice(DialectScope& scope, const DialectNode& node, Parameter parameter) {
    const auto is_word = [](const DialectNode* part) {
        return part->kind == NodeKind::kLiteral || (part->kind == NodeKind::kName && part->is_terminal_name());
    };
    if (std::ranges::all_of(node.parts, is_word)) return choice_of_words(scope, node);
    std::vector<ExpressionId> parts;
    parts.reserve(node.parts.size());
    for (const DialectNode* part : node.parts) parts.push_back(expression(scope, *part, parameter));
    const ExpressionId body = expressions_.alternatives(parts);
    return named(scope, body, size_of(body));
}

ExpressionId DialectReading::Reader::choice_of_words(DialectScope& scope, const DialectNode& node) {
    std::vector<std::pair<TreeId, const DialectNode*>> languages;
    for (const DialectNode* part : node.parts)
        if (!is_empty_literal(*part)) languages.emplace_back(scope.language(*part), part);
    const auto [read, size] = words(languages);
    const ExpressionId body = with_ignored(scope, named(scope, read, size));
    if (languages.size() == node.parts.size()) return expressions_.alternatives(std::array{body});
    return expressions_.alternatives(std::array{RuleExpressions::kEmptyText, body});
}

// A choice of terminals, and the number of its parts: one place if no terminal is optional.
std::pair<ExpressionId, size_t> DialectReading::Reader::words(
    const std::vector<std::pair<TreeId, const DialectNode*>>& languages) {
    const auto label = [](const DialectNode* node) { return [node] { return label_of(*node); }; };
    if (std::ranges::any_of(languages, [this](const auto& each) { return trees_.nullable(each.first); })) {
        std::vector<ExpressionId> parts;
        parts.reserve(languages.size());
        for (const auto& [tree, node] : languages) parts.push_back(lexeme(tree, false, label(node)));
        const ExpressionId read = expressions_.alternatives(parts);
        return {read, size_of(read)};
    }
    std::vector<DialectPlaces::KindId> kinds;
    for (const auto& [tree, node] : languages)
        if (tree != RegexTrees::kEmpty) kinds.push_back(places_.kind(tree, false, label(node)));
    return {places_.add(kinds), kinds.size()};
}

// A choice as a rule if it is long: in a loop each part of it would be a neighbour of each.
ExpressionId DialectReading::Reader::named(DialectScope& scope, ExpressionId body, size_t size) {
    if (size <= kMaxAlternatives) return body;
    const uint32_t rule = rule_of(scope.prefix() + "choice " + std::to_string(written_));
    put(rule, body);
    return expressions_.rule(rule);
}

ExpressionId DialectReading::Reader::series(DialectScope& scope, const DialectNode& node, Parameter parameter) {
    if (node.function) {
        if (needs_parameter(*node.function)) check_parameter(node.function->place, parameter);
        if (!holds(*node.function, parameter.value_or(0))) return RuleExpressions::kNothing;
    }
    std::vector<ExpressionId> parts;
    parts.reserve(node.parts.size());
    for (const DialectNode* part : node.parts) parts.push_back(expression(scope, *part, parameter));
    return expressions_.sequence(parts);
}

// The first round of a loop is apart: other terminals are expected beside it.
ExpressionId DialectReading::Reader::repeated(DialectScope& scope, const DialectNode& node, Parameter parameter) {
    const ExpressionId first = expression(scope, *node.parts[0], parameter);
    if (node.high != DialectNode::kEndless || has_loop(*node.parts[0])) return repeat(first, node.low, node.high);
    const ExpressionId next = expression(scope, *node.parts[0], parameter);
    const ExpressionId rest = repeat(next, node.low ? node.low - 1 : 0, RuleExpressions::kEndless);
    return repeat(expressions_.sequence(std::array{first, rest}), std::min<uint64_t>(node.low, 1), 1);
}

ExpressionId DialectReading::Reader::repeat(ExpressionId inner, uint64_t low, uint64_t high) {
    const bool is_other = expressions_.kind(inner) == ExpressionKind::kOther;
    if (is_other && high && !(low == 1 && high == 1)) return host_.repeated(inner, low, high);
    return expressions_.repeat(inner, low, high);
}

// Of a node that calls no rules of its grammar.
ExpressionId DialectReading::Reader::leaf(DialectScope& scope, const DialectNode& node) {
    switch (node.kind) {
        case NodeKind::kJson: return with_ignored(scope, host_.json(node.value, node.place));
        case NodeKind::kEmbedded: return with_ignored(scope, start_of(*node.grammar, "start"));
        case NodeKind::kReference: return with_ignored(scope, other(node));
        case NodeKind::kToken: return with_ignored(scope, host_.token(node.text, true, node.place));
        default: break;
    }
    if (is_empty_literal(node)) return RuleExpressions::kEmptyText;
    return with_ignored(scope, lexeme(scope.language(node), false, [&] { return label_of(node); }));
}

// The texts of a grammar that is given by its name; it may refer to itself.
ExpressionId DialectReading::Reader::other(const DialectNode& node) {
    if (const auto known = others_.find(node.text); known != others_.end()) return known->second;
    DialectRulesHost::Other found = host_.other(node.text, node.place);
    if (found.kind == DialectRulesHost::Other::Kind::kMissing)
        refuse(node.place, "the grammar @" + node.text + " is not defined", "", found.fix);
    if (found.kind == DialectRulesHost::Other::Kind::kText)
        found.expression = start_of(*parse(std::move(found.text), node.text), "start");
    return others_[node.text] = found.expression;
}

// ---- terminals ----------------------------------------------------------------------------------------------------

// A terminal, which may be empty, without ignored text.
template <class MakeLabel>
ExpressionId DialectReading::Reader::lexeme(TreeId tree, bool is_lazy, const MakeLabel& make_label) {
    const bool is_optional = trees_.nullable(tree);
    if (trees_.nonempty(tree) == RegexTrees::kEmpty || (is_lazy && is_optional))
        return is_optional ? RuleExpressions::kEmptyText : RuleExpressions::kNothing;
    const ExpressionId read = places_.add(std::array{places_.kind(tree, is_lazy, make_label)});
    return is_optional ? expressions_.alternatives(std::array{RuleExpressions::kEmptyText, read}) : read;
}

ExpressionId DialectReading::Reader::with_ignored(DialectScope& scope, ExpressionId read) {
    return expressions_.sequence(std::array{read, ignored(scope)});
}

ExpressionId DialectReading::Reader::ignored(DialectScope& scope) {
    return expressions_.repeat(places_.add(scope.ignored()), 0, scope.most_ignored());
}

// The texts of at most some tokens, or of any number, of a rule that is one terminal. `is_known`: that it has some.
ExpressionId DialectReading::Reader::bounded_text(DialectScope& scope, const DialectDefinition& definition,
                                                  bool is_known) {
    const DialectAttributes& given = definition.attributes;
    auto [tree, is_lazy] = scope.terminal_of(definition);
    if (!is_known)
        tree = within(tree, definition.name, given.max_chars, given.max_chars_place);
    else if (given.max_chars)
        tree = at_most(tree, *given.max_chars);
    return bound(expressions_.text(is_lazy ? trees_.shortest(tree) : tree), definition);
}

ExpressionId DialectReading::Reader::bound(ExpressionId inner, const DialectDefinition& definition) {
    if (!definition.attributes.max_tokens) return inner;
    const uint64_t most = *definition.attributes.max_tokens;
    const auto [at, is_new] = bounds_.try_emplace({most, definition.name}, 0);
    if (is_new) at->second = set_.add_bound(most, definition.name);
    return expressions_.bounded(inner, at->second);
}

TreeId DialectReading::Reader::at_most(TreeId tree, uint64_t most) {
    const TreeId both[] = {tree, trees_.repeat(RegexTrees::kAnyChar, 0, most)};
    return trees_.conjunction(both);
}

// The texts of a bounded rule, of which there has to be one.
TreeId DialectReading::Reader::within(TreeId tree, const Label& name, const Parameter& most, NotationPlace place) {
    if (!most) return tree;
    const TreeId texts = at_most(tree, *most);
    if (host_.is_empty(texts))
        refuse_unsatisfiable(
            place, "the rule " + python_repr(name) + " has no text of at most " + std::to_string(*most) + " characters",
            "max_chars= is a bound that no text exceeds", "raise it, or write shorter alternatives");
    return texts;
}

void DialectReading::Reader::write_out_bounded(const BoundedRule& rule, TreeId texts) {
    const TreeId tree = within(texts, rule.name, rule.most, rule.place);
    note_written_out(set_.bodies[rule.rule]);
    set_.bodies[rule.rule] = lexeme(tree, false, [&] { return rule.name; });
}

// The rules that are called in a body, however far around.
void DialectReading::Reader::note_written_out(ExpressionId body) {
    std::vector<ExpressionId> todo{body};
    while (!todo.empty()) {
        poll();
        const ExpressionId each = todo.back();
        todo.pop_back();
        for (uint32_t rule : called_in(expressions_, each))
            if (written_out_.insert(rule).second) todo.push_back(set_.bodies[rule]);
    }
}

void DialectReading::Reader::resolve(Kernel& kernel) {
    resolve_places(set_, places_, is_longest_, kernel);
    if (!productive(set_, calls_of(set_))[set_.start])
        refuse_unsatisfiable(start_place_, "no text can be derived from " + python_repr(start_),
                             "each of its alternatives needs a rule or terminal that has none either",
                             "give the rule an alternative that ends");
    for (const Labelled& each : labelled_) {
        if (set_.bodies[each.rule] != RuleSet::kAbsent)
            labels.push_back(labels_of(each));
        else if (written_out_.contains(each.rule))
            refuse_labels(*each.definition);
    }
}

void DialectReading::Reader::refuse_labels(const DialectDefinition& definition) {
    refuse_unsupported(definition.place,
                       "the rule " + python_repr(definition.name) + " with a label, within a rule with max_chars=",
                       "a rule with a bound is written out as one terminal, whose parts are not told apart",
                       "label the rule with the bound, or leave max_chars= out");
}

DialectLabels DialectReading::Reader::labels_of(const Labelled& rule) {
    const DialectAttributes& given = rule.definition->attributes;
    DialectLabels out{rule.rule, given.capture, given.stop_capture, given.temperature, std::nullopt};
    if (!given.has_labels() || is_one_terminal(*rule.definition))
        out.terminal = marked_terminal(*rule.scope, *rule.definition);
    return out;
}

// The captured text of a rule that is one terminal ends before its `stop=` or `suffix=`, and before ignored text.
DialectLabels::Terminal DialectReading::Reader::marked_terminal(DialectScope& scope,
                                                                const DialectDefinition& definition) {
    ExpressionId text = bounded_text(scope, definition, true);
    TreeId end = RegexTrees::kEpsilon;
    if (definition.attributes.ending) end = scope.language(*definition.attributes.ending);
    if (end != RegexTrees::kEpsilon) {
        const TreeId with_end[] = {RegexTrees::kAnyString, end, RegexTrees::kAnyString};
        const TreeId both[] = {scope.language(*definition.body), trees_.complement(trees_.concat(with_end))};
        text = expressions_.text(trees_.conjunction(both));
    }
    std::vector<TreeId> ignored;
    for (DialectPlaces::KindId each : scope.ignored()) ignored.push_back(places_[each].text);
    return {text, end, trees_.repeat(trees_.alternation(ignored), 0, scope.most_ignored())};
}

// ---- the reading --------------------------------------------------------------------------------------------------

DialectReading::DialectReading(RuleSet& set, DialectHost& parser_host, DialectRulesHost& host)
    : reader_(std::make_unique<Reader>(set, parser_host, host)) {}

DialectReading::~DialectReading() = default;

const std::deque<std::string>& DialectReading::texts() const { return reader_->texts; }
const std::vector<std::string>& DialectReading::names() const { return reader_->names; }
void DialectReading::read(std::string text, const DialectOptions& options) { reader_->read(std::move(text), options); }
const std::vector<BoundedRule>& DialectReading::bounded() const { return reader_->bounded; }
std::vector<TreeId> DialectReading::languages_of_places() const { return reader_->places().languages(); }
void DialectReading::write_out_bounded(const BoundedRule& rule, TreeId texts) {
    reader_->write_out_bounded(rule, texts);
}
void DialectReading::resolve(Kernel& kernel) { reader_->resolve(kernel); }
const std::vector<DialectLabels>& DialectReading::labels() const { return reader_->labels; }

}  // namespace schemagen
