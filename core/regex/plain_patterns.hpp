// Plain patterns: regular expressions of the kind that most grammars and schemas have, read at once.
//
// Plain is the syntax in which Python's `re` (str), Rust's `regex` crate and ECMA-262 (flag u) agree, up to the meaning
// of the dot: characters, classes of characters and of ASCII ranges, groups, branches, and repetitions with small
// counts. Where a pattern has anything else, such as \d, a lazy quantifier, a flag or an anchor, the reader gives up,
// and schemagen/regex/parse.py or rust.py reads the pattern.
//
// Invariants: the readers in Python accept each pattern that is read here, and the tree is the expression that they
// give, part by part. So it makes no difference which reader had a pattern, but for the time that it took.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "regex/trees.hpp"

namespace schemagen {

enum class PatternDialect : uint8_t { kPython, kRust, kEcma };

struct PlainPattern {
    TreeId tree;
    // In Python's dialect: whether a branch that may be empty comes before another one, as `re` keeps the branches. A
    // tree does not tell: it has all single characters of an alternation as one part. See `_prefers_nothing` in
    // schemagen/context_free/lark/python_re.py.
    bool prefers_nothing;
};

// The texts of a pattern as a whole; nothing if it is not plain.
std::optional<PlainPattern> plain_pattern(RegexTrees& trees, std::string_view utf8, PatternDialect dialect);
// The texts in which it matches somewhere. It may begin with `^`, and but for Python end with `$`.
std::optional<TreeId> plain_search(RegexTrees& trees, std::string_view utf8, PatternDialect dialect);

}  // namespace schemagen
