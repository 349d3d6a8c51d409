// Rules made smaller before they are compiled: those that derive nothing are dropped, regular ones become one text.
//
// A rule that does not call itself, however far around, has a regular language if all that it calls has: its body is
// written out where it is called. That makes grammars that are read character by character (GBNF, EBNF) fast: the
// parser sees whole numbers and strings, not digits. A grammar without recursion becomes one text, unless that would be
// large or deep: a rule may always stay one. Only texts that no lexer delimits are joined: where a lexer takes the
// longest match, two terminals cannot become one.
//
// The same is done in Python for the reference engine and for reports (schemagen/context_free/simplify.py).
#pragma once
#include "rules/rule_set.hpp"

namespace schemagen {

struct WritingLimits {
    static constexpr uint64_t kOperators = 20'000;  // of a rule that is written out where it is called
    static constexpr uint64_t kHeight = 100;        // of them inside one another
    static constexpr uint64_t kAll = 500'000;       // that all rules together get; beyond it rules stay rules
};

// Afterwards all rules derive some text, are called, and are not fixed texts. The start rule stays, with the body
// kNothing if it derives no text at all.
void simplify(RuleSet& set);

}  // namespace schemagen
