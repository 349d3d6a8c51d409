#include "notation/dialect_parser.hpp"

#include <string>
#include <utility>

#include "notation/dialect_parameters.hpp"
#include "notation/dialect_reader.hpp"
#include "notation/python_repr.hpp"
#include "util/work.hpp"

namespace schemagen {

using Kind = DialectNode::Kind;

DialectGrammar* read_dialect(std::string_view source, uint32_t text, DialectTrees& trees, DialectHost& host) {
    return DialectReader(source, text, trees, host).read();
}

DialectGrammar* DialectReader::read() {
    DialectGrammar* found = grammar(0);
    if (!scanner_.at_end()) scanner_.refuse_unexpected("a rule, a terminal or a directive");
    return found;
}

// --- definitions -----------------------------------------------------------------------------------------------------

// Read definitions up to the end of the text, or a '}'.
DialectGrammar* DialectReader::grammar(uint32_t depth) {
    DialectGrammar& found = trees_.grammars.emplace_back();
    found.place = scanner_.place();
    while (true) {
        poll();
        scanner_.skip_lines();
        if (scanner_.at_end() || (depth && scanner_.sees("}"))) return &found;
        const uint32_t begin = scanner_.at;
        const std::string_view name = scanner_.directive();
        if (name.empty())
            define(found, definition(depth));
        else
            directive(found, name, begin, depth);
        check_end_of_line(depth);
    }
}

void DialectReader::check_end_of_line(uint32_t depth) {
    scanner_.skip_blanks();
    const bool ends = scanner_.at_end() || scanner_.sees_one_of("\r\n") || (depth && scanner_.sees("}"));
    if (!ends) scanner_.refuse_unexpected("a symbol or the end of the line");
}

void DialectReader::define(DialectGrammar& grammar, DialectDefinition definition) {
    DialectDefinitions& known = is_terminal_name(definition.name) ? grammar.terminals : grammar.rules;
    if (const DialectDefinition* other = known.find(definition.name))
        refuse(definition.place, python_repr(definition.name) + " is defined twice",
               "the other one is at " + scanner_.where(other->place.at), "rename one");
    known.add(std::move(definition));
}

DialectReader::Word DialectReader::name(const std::string& wanted) {
    scanner_.skip_blanks();
    const uint32_t begin = scanner_.at;
    const std::string_view found = scanner_.name();
    if (found.empty()) scanner_.refuse_unexpected(wanted);
    return {found, begin};
}

DialectDefinition DialectReader::definition(uint32_t depth) {
    scanner_.take("!");
    scanner_.take("?");
    const Word found = name("a rule, a terminal or a directive");
    DialectDefinition made;
    made.name = found.text;
    made.place = scanner_.place(found.begin);
    if (scanner_.sees("{")) refuse_template(found.begin);
    made.has_parameter = scanner_.take("::");
    if (made.has_parameter) scanner_.expect("_", "write " + made.name + "::_ : ...");
    check_priority(found.text);
    scanner_.skip_blanks();
    if (scanner_.take("[")) made.attributes = attributes(found.text, depth);
    if (is_terminal_name(made.name) && (made.has_parameter || !made.attributes.are_none()))
        refuse(made.place, "the terminal " + python_repr(made.name) + " has a parameter or attributes", "",
               "write them at a rule");
    scanner_.expect(":", "write " + made.name + ": ...");
    made.body = choice(depth);
    return made;
}

void DialectReader::check_priority(std::string_view name) {
    const uint32_t begin = scanner_.at;
    if (!scanner_.priority().empty() && is_terminal_name(name))
        refuse_unsupported(scanner_.place(begin), "a priority of the terminal " + python_repr(name),
                           "terminals compete by length alone",
                           "leave it out, or take the texts of the other terminal away: NAME & ~OTHER");
}

void DialectReader::refuse_template(uint32_t begin) const {
    refuse_unsupported(scanner_.place(begin), "a template", "neither llguidance nor xgrammar has them",
                       "write out its expansion");
}

// --- expressions -----------------------------------------------------------------------------------------------------

DialectNode* DialectReader::node(Kind kind) {
    poll();
    DialectNode& made = trees_.nodes.emplace_back();
    made.kind = kind;
    return &made;
}

DialectNode* DialectReader::node(Kind kind, uint32_t begin) {
    DialectNode* made = node(kind);
    made->place = scanner_.place(begin);
    return made;
}

DialectNode* DialectReader::node(Kind kind, uint32_t begin, std::string_view text) {
    DialectNode* made = node(kind, begin);
    made->text = text;
    return made;
}

// Skip blanks, and line breaks in a group or before a '|'.
void DialectReader::skip(bool in_group) {
    if (in_group) return scanner_.skip_lines();
    scanner_.skip_blanks();
    if (!scanner_.sees_blank()) return;
    const uint32_t before = scanner_.at;
    scanner_.skip_lines();
    if (!scanner_.sees("|")) scanner_.at = before;
}

DialectNode* DialectReader::choice(uint32_t depth, bool in_group) {
    DialectNode* first = conjunction(depth, in_group);
    if (!scanner_.sees("|")) return first;
    DialectNode* made = node(Kind::kChoice);
    made->parts.push_back(first);
    while (scanner_.take("|")) {
        if (made->parts.size() == DialectLimits::kAlternatives)
            stop({}, "a rule of more than " + with_commas(DialectLimits::kAlternatives) + " alternatives",
                 "a grammar of strangers must not take long to read", "use rules for parts of them");
        made->parts.push_back(conjunction(depth, in_group));
    }
    return made;
}

DialectNode* DialectReader::conjunction(uint32_t depth, bool in_group) {
    const uint32_t begin = scanner_.at;
    DialectNode* first = series(depth, in_group);
    if (!scanner_.sees("&")) return first;
    DialectNode* made = node(Kind::kConjunction, begin);
    made->parts.push_back(first);
    while (scanner_.take("&")) made->parts.push_back(series(depth, in_group));
    return made;
}

// Read symbols up to the next operator, the end of the group or that of the line. One symbol is a series of its own
// only with a condition.
DialectNode* DialectReader::series(uint32_t depth, bool in_group) {
    DialectNode *first = nullptr, *made = nullptr;
    const auto make = [&] {
        made = node(Kind::kSeries);
        if (first) made->parts.push_back(first);
    };
    while (true) {
        skip(in_group);
        if (scanner_.take("->")) {
            name("an alias");
            skip(in_group);
        }
        if (scanner_.take_if()) {
            if (!made) make();
            made->function = read_condition(scanner_);
            skip(in_group);
            return made;
        }
        if (scanner_.at_end() || scanner_.sees_one_of("|&)]}\r\n")) {
            if (!made && !first) make();
            return made ? made : first;
        }
        DialectNode* part = item(depth, in_group);
        if (first && !made) make();
        if (made)
            made->parts.push_back(part);
        else
            first = part;
    }
}

DialectNode* DialectReader::item(uint32_t depth, bool in_group) {
    const uint32_t begin = scanner_.at;
    if (!scanner_.take("~")) return repeated(symbol(depth));
    skip(in_group);
    DialectNode* part = symbol(depth);
    DialectNode* made = node(Kind::kNegation, begin);
    made->parts.push_back(part);
    return repeated(made);
}

DialectNode* DialectReader::repeated(DialectNode* part) {
    scanner_.skip_blanks();
    const uint32_t begin = scanner_.at;
    if (scanner_.take("*")) return repetition(part, 0, DialectNode::kEndless);
    if (scanner_.take("+")) return repetition(part, 1, DialectNode::kEndless);
    if (scanner_.take("?")) return repetition(part, 0, 1);
    if (!scanner_.sees_one_of("~{")) return part;
    const auto counts = scanner_.sees("~") ? scanner_.tilde_counts() : scanner_.brace_counts();
    if (!counts || (counts->least.empty() && counts->most.empty())) {
        if (part->kind == Kind::kName) refuse_template(begin);
        refuse(scanner_.place(begin), "a repetition that cannot be read", "",
               "write {m}, {m,}, {,n}, {m,n}, ~m or ~m..n");
    }
    const auto [low, high] = scanner_.bounds(*counts, begin);
    return repetition(part, low, high);
}

DialectNode* DialectReader::repetition(DialectNode* part, uint64_t low, uint64_t high) {
    DialectNode* made = node(Kind::kRepetition);
    made->parts.push_back(part);
    made->low = low;
    made->high = high;
    return made;
}

// Read a group, a name, a literal, a pattern, a token or a directive that is one of them.
DialectNode* DialectReader::symbol(uint32_t depth) {
    const uint32_t begin = scanner_.at;
    if (const std::string_view name = scanner_.name(); !name.empty()) {
        DialectNode* made = node(Kind::kName, begin, name);
        if (scanner_.take("::")) made->function = read_value(scanner_);
        return made;
    }
    if (scanner_.take("(")) return group(begin, ")", depth);
    if (scanner_.take("[")) return repetition(group(begin, "]", depth), 0, 1);
    if (scanner_.take("\"")) return literal(begin);
    if (scanner_.sees("/")) return pattern(begin);
    if (const std::string_view token = scanner_.token(); !token.empty()) return node(Kind::kToken, begin, token);
    if (const std::string_view reference = scanner_.reference(); !reference.empty())
        return node(Kind::kReference, begin, reference.substr(1));
    if (const std::string_view name = scanner_.directive(); !name.empty()) return inline_directive(name, begin, depth);
    scanner_.refuse_unexpected("a symbol");
}

DialectNode* DialectReader::group(uint32_t begin, std::string_view closing, uint32_t depth) {
    scanner_.check_depth(begin, depth);
    DialectNode* part = choice(depth + 1, true);
    if (!scanner_.take(closing))
        refuse(scanner_.place(begin), "a group is never closed", "", "write " + python_repr(closing) + " at its end");
    return part;
}

// An `i` that begins a name is not the flag of the literal.
DialectNode* DialectReader::literal(uint32_t begin) {
    DialectNode* made = node(Kind::kLiteral, begin);
    made->text = scanner_.quoted(begin);
    const uint32_t before = scanner_.at;
    if (scanner_.take("i") && !scanner_.sees_name()) {
        made->ignore_case = true;
        return made;
    }
    scanner_.at = before;
    scanner_.skip_blanks();
    if (scanner_.take("..")) return range(begin, made);
    scanner_.at = before;
    return made;
}

// Read the upper end; `low` is the literal of the lower one.
DialectNode* DialectReader::range(uint32_t begin, DialectNode* low) {
    scanner_.expect("\"", "write \"a\"..\"z\"");
    low->kind = Kind::kRange;
    low->flags = scanner_.quoted(scanner_.at - 1);
    const auto is_character = [](std::string_view text) {
        return !text.empty() && first_characters(text, 1).size() == text.size();
    };
    if (!is_character(low->text) || !is_character(low->flags) || low->flags < low->text) {
        const std::string high = python_repr(low->flags);
        refuse(scanner_.place(begin),
               "the range " + python_repr(low->text) + ".." + std::string(first_characters(high, 40)),
               "its ends are one character each, the lower one first");
    }
    return low;
}

DialectNode* DialectReader::pattern(uint32_t begin) {
    const auto found = scanner_.pattern();
    if (!found)
        refuse(scanner_.place(begin), "a pattern is never closed", "", "write '/' at its end; a slash in it is \\/");
    DialectNode* made = node(Kind::kPattern, begin, found->text);
    made->flags = found->flags;
    return made;
}

}  // namespace schemagen
