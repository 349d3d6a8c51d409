// Regular expressions as their authors might write them, for messages.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "regex/trees.hpp"

namespace schemagen {

// A pattern in the syntax that most dialects share, or its beginning, of more than `most` bytes. Nothing with & or ~,
// of substrings of a text, or beyond ASCII: schemagen/regex/printing.py writes these, and the same as this for all
// others.
std::optional<std::string> pattern_text(const RegexTrees& trees, TreeId tree, size_t most);

}  // namespace schemagen
