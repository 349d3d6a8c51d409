// Grammars in the Lark dialect of llguidance and xgrammar as they are written: dialect_parser.hpp makes these trees,
// rules/dialect_rules.hpp gives them a meaning.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "notation/mistakes.hpp"

namespace schemagen {

struct DialectLimits {
    static constexpr uint32_t kNesting = 60;           // groups and grammars inside one another, and conditions
    static constexpr size_t kAlternatives = 50'000;    // in one place
    static constexpr uint64_t kCount = 2'147'483'647;  // of a repetition
};

struct DialectGrammar;

// A function of the parameter of a rule, or a condition on it (dialect_parameters.hpp).
struct DialectFunction {
    enum class Name : uint8_t {
        kNumber,
        kParameter,
        kSetBit,
        kClearBit,
        kBitAnd,
        kBitOr,
        kIncrement,
        kDecrement,
        kTrue,
        kBitClear,
        kBitSet,
        kIsOnes,
        kIsZeros,
        kAnd,
        kOr,
        kNot,
        kEq,
        kNe,
        kLt,
        kLe,
        kGt,
        kGe,
        kCountEq,
        kCountNe,
        kCountLt,
        kCountLe,
        kCountGt,
        kCountGe,
    };
    Name name = Name::kTrue;
    uint64_t value = 0;                       // a number, or that of a bit
    uint32_t first_bit = 0, end_bit = 64;     // of a range of bits
    std::vector<DialectFunction> conditions;  // of kAnd, kOr and kNot
    NotationPlace place;
};

struct DialectNode {
    enum class Kind : uint8_t {
        kLiteral,      // `text`
        kRange,        // one character, from that of `text` to that of `flags`
        kPattern,      // `text` between slashes, with `flags`
        kName,         // the rule or terminal `text`; `function` gives its parameter
        kJson,         // `value`
        kSubstring,    // any run of `chunks`
        kEmbedded,     // `grammar`
        kReference,    // the grammar `text` that is given beside this one
        kToken,        // `text`, brackets included
        kSeries,       // its parts one after the other, if the condition `function` holds
        kChoice,       // any of its parts
        kConjunction,  // the texts that all its parts have
        kNegation,     // every text but those of its part
        kRepetition,   // its part, `low` to `high` times
    };
    static constexpr uint64_t kEndless = UINT64_MAX;

    Kind kind = Kind::kSeries;
    bool ignore_case = false;  // of kLiteral
    NotationPlace place;
    std::string text, flags;  // in UTF-8
    uint64_t low = 0, high = 0;
    uint32_t value = 0;  // of kJson: the number that the host gave it
    std::vector<DialectNode*> parts;
    std::vector<std::string> chunks;
    DialectGrammar* grammar = nullptr;
    std::optional<DialectFunction> function;

    bool is_terminal_name() const;  // of kName
};

// The attributes in brackets after the name of a rule.
struct DialectAttributes {
    bool lazy = false;                  // its first match ends it
    DialectNode* ending = nullptr;      // stop= or suffix=
    std::optional<uint64_t> max_chars;  // the most characters of its texts
    NotationPlace max_chars_place;
    std::optional<uint64_t> max_tokens;
    std::optional<double> temperature;
    std::string capture, stop_capture;  // names; empty without
    NotationPlace stop_capture_place;

    bool are_none() const { return !is_shortest() && !max_chars && !max_tokens && !is_labelled(); }
    bool has_labels() const { return !capture.empty() || temperature.has_value(); }
    bool is_labelled() const { return has_labels() || !stop_capture.empty(); }
    bool is_shortest() const { return lazy || ending; }  // read as one terminal that is not just its body
};

struct DialectDefinition {
    std::string name;  // without ? and !
    DialectNode* body = nullptr;
    NotationPlace place;
    DialectAttributes attributes;
    bool has_parameter = false;
};

// Definitions by name, in the order of the text.
class DialectDefinitions {
public:
    const DialectDefinition* find(std::string_view name) const {
        const auto at = places_.find(name);
        return at == places_.end() ? nullptr : &list_[at->second];
    }
    void add(DialectDefinition definition) {
        list_.push_back(std::move(definition));
        places_.emplace(list_.back().name, list_.size() - 1);
    }
    auto begin() const { return list_.begin(); }
    auto end() const { return list_.end(); }
    size_t size() const { return list_.size(); }

private:
    std::deque<DialectDefinition> list_;
    std::unordered_map<std::string_view, size_t> places_;
};

// A whole text, or a part of it in %lark {...}.
struct DialectGrammar {
    NotationPlace place;
    DialectDefinitions rules, terminals;
    std::vector<std::string> imported;  // terminals of the library under names of rules, which are in `rules`
    std::vector<DialectNode*> ignored;
    bool skips_first = false;  // ignored text is allowed before the first terminal
    bool skips_once = false;   // it is read once between two terminals, and not any number of times
};

// All that was read, which stays where it is.
struct DialectTrees {
    std::deque<DialectNode> nodes;
    std::deque<DialectGrammar> grammars;
};

bool is_terminal_name(std::string_view name);  // its first letter is a capital

}  // namespace schemagen
