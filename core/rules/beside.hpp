// Which terminals are always expected beside another, in every text.
//
// They are found from the rules:
//
// - beside an item, those that the rules called there begin with, and those that follow if these rules may be empty;
// - at the start of a rule, those beside it in every place where it is called;
// - after a symbol, the items that the same symbol leads to from those beside it; and after a rule, those that the rule
//   could go on with instead, or be followed by.
//
// These are equations over sets of items, whose greatest solution holds for every text. Where the items beside another
// depend on the text before, only those that are always there are in it.
//
// Source: of this project; the items are those of Earley 1970, the solution is that of Knaster and Tarski.
#pragma once
#include <cstddef>

#include "rules/competition.hpp"
#include "util/bit_sets.hpp"

namespace schemagen {

// For each place the kinds that are always beside the terminal there, itself among them. Throws TooManyItems.
BitSets kinds_beside(const CompetitionRules& rules, size_t kind_count);

}  // namespace schemagen
