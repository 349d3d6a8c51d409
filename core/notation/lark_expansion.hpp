// Rules in lark's notation without abbreviations: templates filled in, literals as terminals with names, and
// repetitions and optional parts as choices and rules of their own.
//
// Idea: the rules are changed in place, in the order in which lark goes over their nodes: from the bottom up, levels
// from right to left. That order numbers the terminals and rules that have no name. Equal parts that are repeated share
// one rule, so each part has a number that equal ones have, too.
//
// Invariants: of the expanded rules every node is a kChoice, kSequence, kAlias, kSymbol or kEmpty. A node may have
// several parents.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "notation/lark_definitions.hpp"
#include "notation/lark_patterns.hpp"
#include "util/interned_lists.hpp"

namespace schemagen {

struct LarkTerminal {
    uint32_t name;
    LarkPattern pattern;
    int32_t priority = 0;
    NotationPlace place;
};

// The terminals of a grammar. A literal or pattern in a rule is a terminal that is defined so, or gets a name.
class LarkTerminals {
public:
    LarkTerminals(LarkReading& reading, LarkPatterns& patterns);
    uint32_t name_of(const LarkPattern& pattern, NotationPlace place);
    std::vector<LarkTerminal>& list() { return list_; }

private:
    std::string indicative_name(const LarkPattern& pattern) const;

    LarkReading& reading_;
    std::vector<LarkTerminal> list_;
    std::unordered_set<uint32_t> names_;
    std::unordered_map<std::string, uint32_t> by_pattern_;
    size_t unnamed_ = 0;
};

struct LarkRule {
    uint32_t name;
    LarkNode* tree;
    bool keeps_all;
    NotationPlace place;
};

class LarkExpansion {
public:
    LarkExpansion(LarkReading& reading, LarkTerminals& terminals);
    std::vector<LarkRule> run();

private:
    struct Rule {
        LarkRule rule;
        std::vector<uint32_t> parameters;
    };
    using Kind = LarkNode::Kind;

    void expand(const LarkRule& rule);
    LarkNode* terminal(const LarkNode& value);

    LarkNode* filled(const LarkNode& use);
    void fill_in(const LarkNode& use, uint32_t name);
    LarkNode* copy(const LarkNode& node, const std::unordered_map<uint32_t, LarkNode*>& arguments);

    LarkNode* written_out(LarkNode* node);
    LarkNode* maybe(LarkNode* node);
    LarkNode* again(const char* kind, LarkNode* part);
    LarkNode* repeated(const LarkNode& node);
    LarkNode* times(LarkNode* part, int32_t low, int32_t high);
    LarkNode* many_times(LarkNode* part, int32_t low, int32_t high);
    LarkNode* product(int32_t factor, int32_t more, LarkNode* inner, LarkNode* part);
    LarkNode* up_to_product(int32_t factor, int32_t more, LarkNode* inner, LarkNode* up_to_inner, LarkNode* part);
    LarkNode* rule_of_own(const std::string& kind, uint32_t key);
    void count(uint64_t symbols);

    LarkNode* sequence(std::vector<LarkNode*> parts) { return trees_.make(Kind::kSequence, place_, std::move(parts)); }
    LarkNode* choice(std::vector<LarkNode*> parts) { return trees_.make(Kind::kChoice, place_, std::move(parts)); }
    uint32_t number_of(const LarkNode* node);
    uint64_t kept_symbols(const LarkNode* node);

    LarkReading& reading_;
    LarkTrees& trees_;
    LarkTerminals& terminals_;
    std::vector<Rule> rules_;  // templates filled in are added at the end
    std::unordered_map<uint32_t, size_t> by_name_;
    std::unordered_set<uint32_t> filled_in_;
    std::vector<LarkRule> added_;
    InternedLists parts_;
    std::unordered_map<const LarkNode*, uint32_t> numbers_;  // of nodes
    std::unordered_map<const LarkNode*, uint64_t> kept_;
    std::unordered_map<uint32_t, LarkNode*> own_rules_;  // by number
    uint64_t written_ = 0;                               // symbols
    uint32_t current_ = 0;                               // the name of the rule that is expanded
    bool keeps_all_ = false;
    NotationPlace place_;
};

}  // namespace schemagen
