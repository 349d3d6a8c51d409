#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "notation/dialect_reader.hpp"
#include "notation/python_repr.hpp"
#include "util/work.hpp"

namespace schemagen {

using Kind = DialectNode::Kind;

void DialectReader::directive(DialectGrammar& grammar, std::string_view name, uint32_t begin, uint32_t depth) {
    if (name == "%ignore") {
        grammar.ignored.push_back(choice(depth));
    } else if (name == "%import") {
        import(grammar);
    } else if (name == "%llguidance" || name == "%grammar_options") {
        options(grammar, std::string(name));
    } else if (name == "%declare" || name == "%override" || name == "%extend") {
        refuse_unsupported(scanner_.place(begin), "the directive " + std::string(name),
                           "it is about terminals of another lexer, or definitions of another file",
                           "write the definition itself");
    } else {
        refuse(scanner_.place(begin), "the directive " + std::string(name) + " is not known", "",
               "use one of %ignore, %import, %llguidance, %grammar_options");
    }
}

// Read `common.NAME`, `common.NAME -> OTHER` or `common (NAME, ...)`.
void DialectReader::import(DialectGrammar& grammar) {
    const Word library = name("the name of a library");
    if (library.text != "common")
        refuse_unsupported(scanner_.place(library.begin), "an import from " + python_repr(library.text),
                           "a grammar is one text: no files are read",
                           "write the definition here, or import it from common");
    const std::string wanted = "the name of a terminal";
    scanner_.skip_blanks();
    if (scanner_.take(".")) {
        const Word imported = name(wanted);
        scanner_.skip_blanks();
        return add_import(grammar, imported, scanner_.take("->") ? name(wanted) : imported);
    }
    scanner_.expect("(", "write %import common.NAME or %import common (NAME, NAME)");
    while (true) {
        poll();
        scanner_.skip_lines();
        const Word imported = name(wanted);
        add_import(grammar, imported, imported);
        scanner_.skip_lines();
        if (scanner_.take(")")) return;
        scanner_.expect(",");
    }
}

void DialectReader::add_import(DialectGrammar& grammar, const Word& imported, const Word& alias) {
    const auto& library = host_.common();
    const auto found = std::ranges::find(library, imported.text, &std::pair<std::string, std::string>::first);
    if (found == library.end()) {
        std::string names;
        for (const auto& [name, pattern] : library) (names += names.empty() ? "" : ", ") += name;
        refuse(scanner_.place(imported.begin), "the library common has no " + python_repr(imported.text), "",
               "use one of " + names);
    }
    if (!is_terminal_name(alias.text)) grammar.imported.emplace_back(alias.text);
    DialectDefinition made;
    made.name = alias.text;
    made.body = node(Kind::kPattern, imported.begin, found->second);
    made.place = scanner_.place(alias.begin);
    define(grammar, std::move(made));
}

void DialectReader::options(DialectGrammar& grammar, const std::string& name) {
    static constexpr std::array<std::string_view, 4> kNames = {"'allow_initial_skip'", "'ignore_once'", "'no_forcing'",
                                                               "'allow_invalid_utf8'"};
    const NotationPlace place = scanner_.place();
    const auto given = host_.options(scanner_.json());
    if (!given) refuse(place, name + " takes an object", "", "write " + name + " {\"no_forcing\": true}");
    for (const DialectHost::Option& option : *given) {
        if (!option.value || std::ranges::find(kNames, option.shown) == kNames.end())
            refuse(place, "the option " + option.shown + " is not known, or not with this value", "",
                   "the options are allow_initial_skip, ignore_once, no_forcing, allow_invalid_utf8");
        if (*option.value && option.shown == kNames[3])
            refuse_unsupported(place, "the option allow_invalid_utf8", "the grammar reads text, in UTF-8",
                               "leave it out");
        if (option.shown == kNames[0]) grammar.skips_first = *option.value;
        if (option.shown == kNames[1]) grammar.skips_once = *option.value;
    }
}

// --- within rules ----------------------------------------------------------------------------------------------------

// Read the rest of `%json {...}`, `%regex {...}` or `%lark {...}`.
DialectNode* DialectReader::inline_directive(std::string_view name, uint32_t begin, uint32_t depth) {
    if (name == "%json") {
        const uint32_t value = scanner_.json();
        DialectNode* made = node(Kind::kJson, begin);
        made->value = value;
        return made;
    }
    if (name == "%regex") return substring(begin);
    if (name == "%lark") return embedded(begin, depth);
    refuse(scanner_.place(begin), "the directive " + std::string(name) + " within a rule", "",
           "use %json, %regex or %lark there");
}

DialectNode* DialectReader::substring(uint32_t begin) {
    auto chunks = host_.substring(scanner_.json());
    if (!chunks)
        refuse(
            scanner_.place(begin), "%regex with something else than one kind of substring", "",
            R"(write {"substring_chunks": ["one", "two"]}, {"substring_words": "..."} or {"substring_chars": "..."})");
    DialectNode* made = node(Kind::kSubstring, begin);
    made->chunks = std::move(*chunks);
    return made;
}

DialectNode* DialectReader::embedded(uint32_t begin, uint32_t depth) {
    scanner_.check_depth(begin, depth);
    scanner_.expect("{");
    DialectGrammar* found = grammar(depth + 1);
    if (!scanner_.take("}"))
        refuse(scanner_.place(begin), "a grammar within the grammar is never closed", "", "write '}' at its end");
    DialectNode* made = node(Kind::kEmbedded, begin);
    made->grammar = found;
    return made;
}

}  // namespace schemagen
