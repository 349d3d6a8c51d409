// The notation of Lark grammars as llguidance and xgrammar write it.
//
// A definition ends with its line, except within brackets and where the next line begins with '|'.
//
// Invariant: groups and grammars inside one another are at most DialectLimits::kNesting deep, attributes included, so
// that what reads the trees may recurse.
#pragma once
#include <cstdint>
#include <string_view>

#include "notation/dialect_host.hpp"
#include "notation/dialect_tree.hpp"

namespace schemagen {

// Reads text number `text` of those that the grammar is made of; it is UTF-8. Throws NotationError.
DialectGrammar* read_dialect(std::string_view source, uint32_t text, DialectTrees& trees, DialectHost& host);

}  // namespace schemagen
