#include "rules/dialect_terminals.hpp"

#include <algorithm>
#include <span>

#include "notation/python_repr.hpp"
#include "regex/plain_patterns.hpp"
#include "rules/dialect_shapes.hpp"
#include "rules/simplify.hpp"
#include "util/utf8.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

using NodeKind = DialectNode::Kind;
using Chunks = std::span<const std::u32string>;

const char* const kWhy = "a terminal is a regular expression";

// The runs of some chunks: those of either half, and those over the middle.
class Runs {
public:
    explicit Runs(RegexTrees& trees) : trees_(trees) {}

    TreeId all(Chunks chunks) {
        poll();
        if (chunks.size() <= 1) return trees_.optional(joined(chunks));
        const Chunks left = first_half(chunks), right = chunks.subspan(left.size());
        const TreeId over[] = {to_end(left), from_begin(right)};
        const TreeId ways[] = {all(left), all(right), trees_.concat(over)};
        return trees_.alternation(ways);
    }

private:
    static Chunks first_half(Chunks chunks) { return chunks.first(chunks.size() / 2); }
    TreeId joined(Chunks chunks) {
        std::u32string text;
        for (const std::u32string& chunk : chunks) text += chunk;
        return trees_.literal(text);
    }
    TreeId from_begin(Chunks chunks) {
        poll();
        if (chunks.size() <= 1) return trees_.optional(joined(chunks));
        const Chunks left = first_half(chunks), right = chunks.subspan(left.size());
        const TreeId longer[] = {joined(left), from_begin(right)};
        const TreeId ways[] = {from_begin(left), trees_.concat(longer)};
        return trees_.alternation(ways);
    }
    TreeId to_end(Chunks chunks) {
        poll();
        if (chunks.size() <= 1) return trees_.optional(joined(chunks));
        const Chunks left = first_half(chunks), right = chunks.subspan(left.size());
        const TreeId longer[] = {to_end(left), joined(right)};
        const TreeId ways[] = {to_end(right), trees_.concat(longer)};
        return trees_.alternation(ways);
    }
    RegexTrees& trees_;
};

std::string kind_in_words(NodeKind kind) {
    switch (kind) {
        case NodeKind::kJson: return "%json";
        case NodeKind::kEmbedded: return "%lark";
        case NodeKind::kReference: return "@name";
        default: return "a token";
    }
}

}  // namespace

DialectTerminals::DialectTerminals(const DialectGrammar& grammar, bool is_rust, RegexTrees& trees,
                                   DialectRulesHost& host)
    : grammar_(grammar),
      is_rust_(is_rust),
      trees_(trees),
      host_(host),
      imported_(grammar.imported.begin(), grammar.imported.end()) {}

void DialectTerminals::resolve() {
    for (const DialectDefinition& root : grammar_.terminals) {
        if (known_.contains(&root)) continue;
        std::vector<Open> stack{open(root)};
        while (!stack.empty()) {
            Open& last = stack.back();
            if (last.next == last.missing.size()) {
                close(*last.definition);
                stack.pop_back();
                continue;
            }
            const DialectDefinition& used = *last.missing[last.next++];
            if (!known_.contains(&used)) stack.push_back(open(used));
        }
    }
}

// Those above it on the way are open, too.
DialectTerminals::Open DialectTerminals::open(const DialectDefinition& definition) {
    Open made{&definition, {}};
    open_.insert(&definition);
    each_name(*definition.body, [&](const DialectNode& name) {
        poll();
        const DialectDefinition* used = grammar_.terminals.find(name.text);
        if (!used || known_.contains(used)) return;
        if (open_.contains(used))
            refuse(name.place, "the terminal " + python_repr(name.text) + " calls itself", kWhy,
                   "make it a rule, with a small letter");
        made.missing.push_back(used);
    });
    return made;
}

void DialectTerminals::close(const DialectDefinition& definition) {
    open_.erase(&definition);
    const TreeId tree = language(*definition.body);
    const auto [size, height] = trees_.size_of(tree);
    written_ += size;
    if (size > WritingLimits::kOperators || height > WritingLimits::kHeight || written_ > WritingLimits::kAll)
        stop(definition.place,
             "the terminal " + python_repr(definition.name) + " takes " + with_commas(size) + " operators, " +
                 std::to_string(height) + " deep, and all up to it " + with_commas(written_) + "; the limits are " +
                 with_commas(WritingLimits::kOperators) + ", " + std::to_string(WritingLimits::kHeight) + " and " +
                 with_commas(WritingLimits::kAll),
             "terminals are written out where they are used", "make it smaller, or a rule");
    known_.emplace(&definition, tree);
}

TreeId DialectTerminals::language(const DialectNode& node) {
    poll();
    const auto asked = [&](const auto& ask) {
        const auto known = asked_.find(&node);
        return known != asked_.end() ? known->second : asked_.emplace(&node, ask()).first->second;
    };
    switch (node.kind) {
        case NodeKind::kName: return called(node);
        case NodeKind::kLiteral:
            if (!node.ignore_case || node.text.empty()) return literal(node);
            return asked([&] { return host_.in_any_case(node.text); });
        case NodeKind::kPattern: return asked([&] { return pattern(node); });
        case NodeKind::kRange: return trees_.chars({{from_utf8(node.text)[0], from_utf8(node.flags)[0]}});
        case NodeKind::kSubstring: return asked([&] { return substring(node); });
        case NodeKind::kNegation: return trees_.complement(language(*node.parts[0]));
        case NodeKind::kRepetition: return trees_.repeat(language(*node.parts[0]), node.low, node.high);
        case NodeKind::kSeries:
        case NodeKind::kChoice:
        case NodeKind::kConjunction: return joined(node);
        default:
            refuse(node.place, kind_in_words(node.kind) + " in a terminal, or in a rule that is one", kWhy,
                   "use it in a rule without attributes");
    }
}

TreeId DialectTerminals::literal(const DialectNode& node) { return trees_.literal(from_utf8(node.text)); }

// The dot of xgrammar is not that of ECMA-262.
TreeId DialectTerminals::pattern(const DialectNode& node) {
    const bool is_plain = node.flags.empty() && (is_rust_ || node.text.find('.') == std::string::npos);
    if (is_plain)
        if (const auto plain =
                plain_pattern(trees_, node.text, is_rust_ ? PatternDialect::kRust : PatternDialect::kEcma))
            return plain->tree;
    return host_.pattern(node.text, node.flags, node.place);
}

TreeId DialectTerminals::substring(const DialectNode& node) {
    std::vector<std::u32string> chunks;
    chunks.reserve(node.chunks.size());
    for (const std::string& chunk : node.chunks) chunks.push_back(from_utf8(chunk));
    if (std::ranges::any_of(chunks, [](const auto& chunk) { return chunk.size() != 1; }))
        return Runs(trees_).all(chunks);
    std::u32string text;
    for (const std::u32string& chunk : chunks) text += chunk;
    return trees_.optional(trees_.substring(text));
}

TreeId DialectTerminals::joined(const DialectNode& node) {
    if (node.kind == NodeKind::kSeries && node.function)
        refuse(node.function->place, "a condition in a terminal, or in a rule that is one",
               "a terminal is a regular expression, whatever the parameter",
               "leave %if out, or make it a rule without attributes");
    std::vector<TreeId> parts;
    parts.reserve(node.parts.size());
    for (const DialectNode* part : node.parts) parts.push_back(language(*part));
    if (node.kind == NodeKind::kSeries) return trees_.concat(parts);
    return node.kind == NodeKind::kChoice ? trees_.alternation(parts) : trees_.conjunction(parts);
}

TreeId DialectTerminals::called(const DialectNode& name) {
    if (name.is_terminal_name()) return known_.at(grammar_.terminals.find(name.text));
    if (imported_.contains(name.text)) return language(*grammar_.rules.find(name.text)->body);
    refuse(name.place, "the rule " + python_repr(name.text) + " in a terminal, or in a rule that is one", kWhy,
           "use terminals only, whose names are in capitals");
}

}  // namespace schemagen
