// The number that a JSON text means, and all texts that mean the same number.
//
// Idea: readers take a text without a point and without an exponent as an integer, and any other text as the nearest
// float64. So equal numbers are equal integers, or equal floats, or an integer and the float that equals it. The texts
// that are read as one float are those between the middles of it and its two neighbours, an interval of decimals,
// which is what a NumberRule describes.
//
// Invariants: two texts have the same canonical text if and only if readers call their numbers equal. `spellings` has
// every text that means the number. Of other texts it has only those that differ from a middle by less than one part in
// 10^23: the ends have few digits and are moved outwards.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "regex/numbers.hpp"

namespace schemagen {

// Of a JSON number: the digits of an integer, or of another float an odd number and a power of two, as in -3p-1 for
// -1.5.
std::string canonical_number(std::string_view text);

// Of a canonical number; a text of it is a text of one of the rules.
std::vector<NumberRule> spellings(std::string_view canonical);

}  // namespace schemagen
