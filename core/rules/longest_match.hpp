// Whether a matcher that tries alternatives in order finds the longest text of a regular expression.
//
// Three cases are seen at once, which most terminals of grammars are:
//
// - The pattern is deterministic: it never has to choose, and greedy repetitions give the longer matches first.
// - It is a repetition between fixed numbers of characters, as in '([^']|'')*'. If rounds are deterministic, and none
//   begins with another one, the text tells where each round ends. A match with more rounds is longer then, and tried
//   first.
// - It is a choice of texts, none of which begins with an earlier one.
//
// Source: the first is that of Brüggemann-Klein and Wood 1998 (one-unambiguous); tests compare all with `re`.
#pragma once
#include <optional>
#include <string_view>

#include "regex/trees.hpp"

namespace schemagen {

// Whether the next character alone tells which position of a tree it belongs to. False also for trees with more than
// 400 positions, repetitions written out, and for those with & or ~, or substrings, which have none.
bool is_deterministic(const RegexTrees& trees, TreeId id);
// The texts of a pattern of Python of which `re` takes the longest, wherever it is tried; nothing if that is not seen.
std::optional<TreeId> longest_match(RegexTrees& trees, std::string_view pattern);

}  // namespace schemagen
