// Grammars in lark's notation, read as lark reads them: terminals with their patterns, and rules as lists of symbols.
//
// Idea: text -> tokens -> statements, with those of imported texts (lark_definitions) -> rules without templates,
// repetitions and optional parts (lark_expansion) -> alternatives (lark_alternatives), of which the used ones stay.
// Names and order are lark's own: names are found in errors, and the order of terminals decides what lark's lexers try
// first.
//
// Invariants: of the result every rule that is named has alternatives, and every terminal is defined, ignored or only
// declared; no terminal matches the empty text. Time and memory are bounded by NotationLimits.
//
// Source: the loader of lark 1.2 and 1.3; tests/property/test_lark_reader.py compares the two item by item.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "notation/lark_alternatives.hpp"

namespace schemagen {

struct LarkOptions {
    std::string start = "start";
    bool keeps_all = false;                   // trees leave out no terminal
    std::vector<std::string> kept_terminals;  // whether rules use them or not
    // Whether lark itself is to read the text afterwards, perhaps to make LALR tables: then the work that it has is
    // bounded, too.
    enum class Lark : uint8_t { kNotAtAll, kReads, kMakesTables } lark = Lark::kNotAtAll;
};

struct LarkGrammar {
    struct Terminal {
        std::string name, pattern;
        bool is_literal;
        int32_t priority;
        std::optional<std::string> text;  // of a literal without flags
    };
    std::vector<Terminal> terminals;
    std::vector<std::pair<std::string, bool>> symbols;              // names, and which are terminals
    std::vector<std::pair<uint32_t, std::vector<uint32_t>>> rules;  // a symbol, and symbols
    std::vector<std::string> ignored, declared;
};

LarkGrammar read_lark(LarkReading& reading, std::string text, const LarkOptions& options);

}  // namespace schemagen
