// The terminals of a grammar of the Lark dialect as regular languages.
//
// A terminal is written out where it is used, so each is worked out after those that it is made of, and their sizes
// have limits. Invariant: the trees of terminals are at most WritingLimits::kHeight deep.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "notation/dialect_tree.hpp"
#include "rules/dialect_rules_host.hpp"

namespace schemagen {

class DialectTerminals {
public:
    // Of a grammar all of whose names are defined. `is_rust`: its patterns are those of Rust, and not of ECMA-262.
    DialectTerminals(const DialectGrammar& grammar, bool is_rust, RegexTrees& trees, DialectRulesHost& host);

    // Works out all terminals. Throws NotationError if one cannot be read, calls itself or is too large.
    void resolve();
    // The language of an expression over terminals. Throws NotationError if it has something that no terminal can have.
    TreeId language(const DialectNode& node);

private:
    // A terminal that is being worked out.
    struct Open {
        const DialectDefinition* definition;
        std::vector<const DialectDefinition*> missing;  // that it is made of
        size_t next = 0;
    };
    Open open(const DialectDefinition& definition);
    void close(const DialectDefinition& definition);
    TreeId called(const DialectNode& name);
    TreeId literal(const DialectNode& node);
    TreeId joined(const DialectNode& node);
    TreeId pattern(const DialectNode& node);
    TreeId substring(const DialectNode& node);

    const DialectGrammar& grammar_;
    const bool is_rust_;
    RegexTrees& trees_;
    DialectRulesHost& host_;
    std::unordered_set<std::string_view> imported_;
    std::unordered_map<const DialectDefinition*, TreeId> known_;
    std::unordered_set<const DialectDefinition*> open_;
    std::unordered_map<const DialectNode*, TreeId> asked_;  // patterns and the like
    uint64_t written_ = 0;                                  // operators of all terminals
};

}  // namespace schemagen
