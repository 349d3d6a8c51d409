// One grammar of the Lark dialect: the whole text, or one within it.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rules/dialect_places.hpp"
#include "rules/dialect_terminals.hpp"

namespace schemagen {

class DialectScope {
public:
    // Throws NotationError if a name is not defined, or a terminal cannot be read. `prefix` makes the names of its
    // rules unique. `is_rust`: in the dialect of llguidance.
    DialectScope(const DialectGrammar& grammar, std::string prefix, bool is_rust, RegexTrees& trees,
                 DialectPlaces& places, DialectRulesHost& host);

    const DialectGrammar& grammar() const { return grammar_; }
    const std::string& prefix() const { return prefix_; }
    const std::vector<DialectPlaces::KindId>& ignored() const { return ignored_; }
    TreeId language(const DialectNode& node) { return terminals_.language(node); }
    // The language of a rule that is read as one terminal, and whether its first match ends it.
    std::pair<TreeId, bool> terminal_of(const DialectDefinition& definition);
    // The rule that an expression calls, if that is all it is.
    const DialectDefinition* called(const DialectNode& node) const;
    uint64_t most_ignored() const { return grammar_.skips_once ? 1 : RegexTrees::kEndless; }  // between two terminals

private:
    void check(const DialectDefinition& definition, bool is_rust) const;
    void check_names(const DialectNode& node) const;

    const DialectGrammar& grammar_;
    std::string prefix_;
    RegexTrees& trees_;
    DialectRulesHost& host_;
    DialectTerminals terminals_;
    std::vector<DialectPlaces::KindId> ignored_;
};

// The terminals of free text with tools in it: of `start: (a | b)* rest`, as xgrammar dispatches them.
//
// `rest` is any text, and each of the others a rule that begins with a lazy one: any text up to a literal. So no `rest`
// holds one of these literals, and of several the first that comes counts. None are found in another body.
std::vector<DialectPlaces::KindId> dispatched_kinds(DialectScope& scope, const DialectNode& body, RegexTrees& trees,
                                                    DialectPlaces& places);

}  // namespace schemagen
