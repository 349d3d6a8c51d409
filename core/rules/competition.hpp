// Terminals that compete for the longest match where the parser expects several of them at once.
//
// A lexer that knows the state of the parser runs these terminals side by side. A lazy one ends all of them at its
// first match; otherwise the longest match of any of them is taken, as each terminal that has it. So the matches of a
// terminal depend on the others that are expected beside it: on those that always are (beside.hpp). Where that depends
// on the text before, more texts are accepted than by such a lexer, never fewer.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "regex/kernel.hpp"
#include "regex/trees.hpp"
#include "util/lists.hpp"

namespace schemagen {

// A terminal, in any place.
struct TerminalKind {
    TreeId text;      // its texts; none is empty
    bool lazy;        // its first match ends it
    bool dispatched;  // where any match is taken: one of those among which a lazy one ends the others, too
};

// Rules as items over symbols: places of terminals, and rules.
struct CompetitionRules {
    // Bodies as `items_of` takes them (context_free/items.hpp). Symbols below `places` are places, those from there on
    // are rules: symbol `places + r` is rule r. All rules are reached from the start.
    Lists<int32_t> bodies;  // [rule]
    uint32_t start = 0;     // a rule
    Lists<uint32_t> kinds;  // [place]: the terminals that may be read there, one or more
};

// How a terminal is read at a place.
struct TerminalUse {
    uint32_t kind;
    TreeId text;    // kEmpty if it has no text there, since lazy ones end it before
    TreeId longer;  // the texts that it must not go on as: of the kinds whose longer match is taken instead, itself
                    // among them
    auto operator<=>(const TerminalUse&) const = default;
};

// For each place and each of its kinds how it is read. `longest`: the longest match is taken, and a lazy terminal ends
// all those beside it; otherwise any match is, and a lazy terminal ends itself alone, but for those that are
// dispatched. Throws TooManyItems, and what `items_of` throws.
struct TooManyItems {
    size_t items;
};
Lists<TerminalUse> competing(const std::vector<TerminalKind>& kinds, const CompetitionRules& rules, bool longest,
                             RegexTrees& trees, Kernel& kernel);

}  // namespace schemagen
