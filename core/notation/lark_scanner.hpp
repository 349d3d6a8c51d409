// The words and signs of lark's notation.
//
// Idea: lark's lexer tries regular expressions in a fixed order; which of them matches is decided here by the first
// characters. A comment swallows the blanks and line breaks before it, so that it never ends a statement; a line break
// takes all blanks after it, and a '|' after these, so that alternatives may stand on lines of their own.
//
// Invariants: the last token is kEnd, or kBad at the first character that begins none; a kNewLine stands before kEnd.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "notation/mistakes.hpp"

namespace schemagen {

enum class LarkSign : uint8_t {
    kOpen,
    kClose,
    kOpenSquare,
    kCloseSquare,
    kOpenBrace,
    kCloseBrace,
    kColon,
    kComma,
    kBar,  // of a line on its own, too
    kDot,
    kTwoDots,
    kTilde,
    kRepeat,     // * + ?
    kModifiers,  // ! ? before the name of a rule
    kRule,
    kTerminal,
    kLiteral,
    kPattern,
    kNumber,
    kArrow,
    kIgnore,
    kOverride,
    kDeclare,
    kExtend,
    kImport,
    kNewLine,
    kEnd,
    kBad,
};

struct LarkToken {
    LarkSign sign;
    uint32_t begin, end;  // offsets in the text
};

// The tokens of a text, which is number `text` of those that are read. `most`: how many there may be.
std::vector<LarkToken> lark_tokens(std::string_view source, uint32_t text, size_t most);

}  // namespace schemagen
