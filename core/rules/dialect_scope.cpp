#include "rules/dialect_scope.hpp"

#include <algorithm>

#include "notation/python_repr.hpp"
#include "rules/dialect_shapes.hpp"
#include "util/work.hpp"

namespace schemagen {

using NodeKind = DialectNode::Kind;

DialectScope::DialectScope(const DialectGrammar& grammar, std::string prefix, bool is_rust, RegexTrees& trees,
                           DialectPlaces& places, DialectRulesHost& host)
    : grammar_(grammar),
      prefix_(std::move(prefix)),
      trees_(trees),
      host_(host),
      terminals_(grammar, is_rust, trees, host) {
    for (const DialectDefinition& each : grammar.rules) check(each, is_rust);
    for (const DialectDefinition& each : grammar.terminals) check(each, is_rust);
    terminals_.resolve();
    for (const DialectNode* node : grammar.ignored) check_names(*node);
    for (const DialectNode* node : grammar.ignored) {
        const TreeId text = trees.nonempty(language(*node));
        if (text == RegexTrees::kEmpty) continue;
        const auto kind = places.kind(text, false, [] { return "%ignore"; });
        if (std::ranges::find(ignored_, kind) == ignored_.end()) ignored_.push_back(kind);
    }
}

void DialectScope::check(const DialectDefinition& definition, bool is_rust) const {
    check_names(*definition.body);
    const DialectAttributes& given = definition.attributes;
    if (is_rust && given.max_chars)
        refuse(given.max_chars_place, "the attribute 'max_chars' is not known in the dialect of llguidance", "",
               "read the grammar with dialect=\"xgrammar\", or bound the repetitions");
    if (!given.ending) return;
    check_names(*given.ending);
    if (!is_rust && is_empty_literal(*given.ending))
        refuse(given.ending->place, "stop=\"\"", "the empty text ends nothing", "write the text that ends the rule");
}

void DialectScope::check_names(const DialectNode& node) const {
    each_name(node, [this](const DialectNode& name) {
        poll();
        const bool is_term = name.is_terminal_name();
        const DialectDefinitions& known = is_term ? grammar_.terminals : grammar_.rules;
        if (known.find(name.text)) return;
        std::vector<std::string> defined;
        for (const DialectDefinition& each : known) defined.push_back(each.name);
        refuse(name.place,
               std::string(is_term ? "the terminal " : "the rule ") + python_repr(name.text) + " is not defined", "",
               host_.fix_of_missing(name.text, is_term, defined));
    });
}

std::pair<TreeId, bool> DialectScope::terminal_of(const DialectDefinition& definition) {
    const DialectNode* ending = definition.attributes.ending;
    const TreeId end = ending ? language(*ending) : RegexTrees::kEpsilon;
    const TreeId both[] = {language(*definition.body), end};
    return {trees_.concat(both), definition.attributes.lazy || end != RegexTrees::kEpsilon};
}

const DialectDefinition* DialectScope::called(const DialectNode& node) const {
    return node.kind == NodeKind::kName ? grammar_.rules.find(node.text) : nullptr;
}

// ---- free text with tools -----------------------------------------------------------------------------------------

namespace {

// The lazy terminal that a tool begins with, if that is any text up to a literal.
std::optional<DialectPlaces::KindId> head_of(DialectScope& scope, const DialectNode& tool, RegexTrees& trees,
                                             DialectPlaces& places) {
    const DialectDefinition* rule = scope.called(tool);
    const DialectNode* body = rule ? rule->body : &tool;
    const bool is_series = body->kind == NodeKind::kSeries && !body->parts.empty();
    const DialectDefinition* head = scope.called(is_series ? *body->parts[0] : *body);
    if (!head || !head->attributes.is_shortest() || !is_regular(*head->body)) return std::nullopt;
    const auto [tree, is_lazy] = scope.terminal_of(*head);
    if (!is_lazy || trees.kind(tree) != RegexTrees::Kind::kConcat) return std::nullopt;
    const std::vector<TreeId> parts(trees.parts(tree).begin(), trees.parts(tree).end());
    if (parts.empty() || parts[0] != RegexTrees::kAnyString) return std::nullopt;
    if (!trees.only_text(trees.concat(RegexTrees::Parts(parts).subspan(1)))) return std::nullopt;
    return places.kind(tree, true);
}

// Whether an expression, or the rule that it calls, takes every text.
bool is_any_text(DialectScope& scope, const DialectNode& node) {
    const DialectNode* body = &node;
    if (is_rule_name(node)) {
        const DialectDefinition& rule = *scope.called(node);
        if (rule.attributes.is_shortest() || rule.has_parameter) return false;
        body = rule.body;
    }
    return is_regular(*body) && scope.language(*body) == RegexTrees::kAnyString;
}

}  // namespace

std::vector<DialectPlaces::KindId> dispatched_kinds(DialectScope& scope, const DialectNode& body, RegexTrees& trees,
                                                    DialectPlaces& places) {
    if (body.kind != NodeKind::kSeries || body.function || body.parts.size() != 2) return {};
    const DialectNode &loop = *body.parts[0], &rest = *body.parts[1];
    if (loop.kind != NodeKind::kRepetition || loop.low || loop.high != DialectNode::kEndless) return {};
    const DialectNode* inner = loop.parts[0];
    const bool is_choice = inner->kind == NodeKind::kChoice;
    std::vector<DialectPlaces::KindId> found{places.kind(RegexTrees::kAnyString)};
    bool are_all = true;
    for (const DialectNode* tool : is_choice ? inner->parts : std::vector<DialectNode*>{loop.parts[0]}) {
        poll();
        const auto head = head_of(scope, *tool, trees, places);
        are_all = are_all && head;
        if (head) found.push_back(*head);
    }
    if (!is_any_text(scope, rest) || !are_all) return {};
    return found;
}

}  // namespace schemagen
