// The rules of one grammar on their way from Python, or from a native reader, to the compiled grammar.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/shared_automata.hpp"
#include "python/trees.hpp"
#include "rules/numbering.hpp"
#include "rules/rule_set.hpp"

namespace schemagen {

namespace nb = nanobind;

class Rules {
public:
    Rules();
    // The rules of a `ContextFreeGrammar` of Python.
    explicit Rules(nb::handle grammar);

    // Plain rules as a reader of lark gives them: names of symbols and which are terminals; rule and symbols.
    using Symbols = std::vector<std::pair<std::string, bool>>;
    using PlainRules = std::vector<std::pair<uint32_t, std::vector<uint32_t>>>;
    Rules(const std::string& start, const Symbols& symbols, const PlainRules& rules);

    // Expressions of Python in the place of terminals, by their names.
    void replace(const nb::dict& terminals);
    // How terminals are read, by name, and which are ignored.
    void read_as(const nb::dict& terminals, nb::handle ignored);
    void read_as_text(const std::string& terminal, const std::string& text);
    void read_as_longest(const std::string& terminal, TreeId texts);
    void read_alike(const std::string& terminal, const std::string& other);
    // How patterns are written, for messages about terminals without names.
    void show_as(const std::string& terminal, const std::string& pattern);
    void show_as(const nb::dict& written);
    bool is_read(const std::string& terminal) const;
    // Whether Python has an automaton for nothing in it, and no tokens are counted.
    bool is_plain() const;
    // As the objects that Python has: bodies by name, and the ways to read terminals by name.
    nb::dict bodies();
    nb::dict terminals();

    void simplify();
    // The language of the start rule if it is no more than a text, else None.
    nb::object text();
    bool derives_nothing() const { return set_.bodies[set_.start] == RuleExpressions::kNothing; }
    // What Python has an automaton for, in the order of the rules: number and object.
    nb::list others() const;
    // Puts a way around each of some others.
    void make_optional(const std::vector<uint32_t>& others);
    // Once, before the functions below. `more`: names of terminals that have a number in any case.
    void number(const std::vector<std::string>& more);
    std::optional<uint32_t> number_of_terminal(const std::string& name) const;
    std::optional<uint32_t> number_of_rule(const std::string& name) const;
    // Object and number of what Python has an automaton for.
    nb::list numbered_others() const;
    size_t terminal_count() const { return numbered().terminals().size(); }
    // One more way to read a terminal, of rows of a table: its number among the lexemes.
    uint32_t add_way(const std::string& terminal, nb::handle lexeme);

    // For the builder. A name as messages have it, and whether the terminal is ignored.
    std::vector<std::pair<std::string, bool>> named_terminals();
    std::vector<std::pair<uint32_t, LexemeTrees>> ways() const;
    std::vector<std::pair<std::string, std::vector<int32_t>>> named_rules() const;
    uint32_t start() const { return numbered().rule(set_.start); }
    const std::string& name_of_start() const { return set_.names[set_.start]; }
    RuleSet& set() { return set_; }
    // Between objects of Python and their numbers here.
    ExpressionId import(nb::handle expression);
    nb::object exported(ExpressionId id);
    TreeId tree_of(nb::handle regex) { return trees_.tree_of(regex, set_.trees); }
    nb::object ast_of(TreeId tree) { return trees_.ast_of(tree, set_.trees); }
    // To be called before nodes are made of trees: those of other automata are forgotten.
    void use(const std::shared_ptr<SharedAutomata>& automata);
    // To be called after numbers of terminals have changed their meaning.
    void forget_exported() { exported_.clear(); }

private:
    const NumberedRules& numbered() const;
    LexemeTrees import_way(nb::handle lexeme);
    uint32_t rule_of(const std::string& name);
    uint32_t terminal_of(const std::string& name);
    uint32_t other_of(nb::handle object);
    nb::object made_of_parts(ExpressionId id);
    std::string name_of(const NumberedRules::Symbol& symbol);
    std::string name_of_terminal(uint32_t terminal);
    std::string name_of_language(TreeId tree);

    RuleSet set_;
    TreeImport trees_;
    nb::dict others_by_object_;
    std::vector<nb::object> others_;  // [number]
    std::unordered_map<std::string, uint32_t> rules_by_name_, terminals_by_name_;
    std::unordered_map<ExpressionId, nb::object> exported_;
    std::shared_ptr<SharedAutomata> automata_;  // that the nodes of trees belong to
    std::unique_ptr<NumberedRules> numbered_;
    std::vector<std::pair<uint32_t, LexemeTrees>> added_ways_;
};

void bind_rules(nb::module_& module);

}  // namespace schemagen
