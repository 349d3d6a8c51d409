// What the reader of rules of the Lark dialect asks its caller. Errors of the caller go through it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "notation/mistakes.hpp"
#include "rules/expressions.hpp"

namespace schemagen {

class DialectRulesHost {
public:
    // A grammar that is given beside this one, as `@name` asks for it.
    struct Other {
        enum class Kind : uint8_t { kMissing, kText, kExpression } kind = Kind::kMissing;
        std::string text;             // of kText: a grammar of the same dialect
        ExpressionId expression = 0;  // of kExpression; it has no terminals
        std::string fix;              // of kMissing
    };

    DialectRulesHost() = default;
    DialectRulesHost(const DialectRulesHost&) = delete;
    DialectRulesHost& operator=(const DialectRulesHost&) = delete;
    virtual ~DialectRulesHost() = default;

    // The texts of a pattern, whose first slash is at `place`.
    virtual TreeId pattern(const std::string& pattern, const std::string& flags, NotationPlace place) = 0;
    // A literal, which is not empty, in upper and lower case.
    virtual TreeId in_any_case(const std::string& text) = 0;
    // What the value with this number, which was read by `DialectHost::json` and stands after the `%json` at `place`,
    // is as a JSON Schema.
    virtual ExpressionId json(uint32_t value, NotationPlace place) = 0;
    // A token in angle brackets. `is_any`: all ways to write one; otherwise a single token, without texts.
    virtual ExpressionId token(const std::string& text, bool is_any, NotationPlace place) = 0;
    // Something of the caller's (RuleExpressions::Kind::kOther) as often as that, which is more than no time and not
    // once.
    virtual ExpressionId repeated(ExpressionId other, uint64_t low, uint64_t high) = 0;
    // Asked once for each name, where it first stands.
    virtual Other other(const std::string& name, NotationPlace place) = 0;
    // The way to define a name that is missing among those that are defined.
    virtual std::string fix_of_missing(const std::string& name, bool is_term,
                                       const std::vector<std::string>& defined) = 0;
    virtual std::string fix_of_start(const std::string& start, const std::vector<std::string>& rules) = 0;
    // Whether no text is in a language.
    virtual bool is_empty(TreeId tree) = 0;
};

}  // namespace schemagen
