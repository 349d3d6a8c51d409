// Places of terminals replaced by terminals, as they match beside the others that are expected there.
#pragma once
#include "regex/kernel.hpp"
#include "rules/dialect_places.hpp"

namespace schemagen {

// Drops the rules that the start does not call. A terminal that may end anywhere becomes a text, a place of several
// kinds their alternatives. Throws NotationError if there are too many terminals and items, and as `items_of` does.
void resolve_places(RuleSet& set, const DialectPlaces& places, bool longest, Kernel& kernel);

}  // namespace schemagen
