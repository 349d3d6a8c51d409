// Parameters of rules: 64 bits that a rule hands on, and conditions on them.
//
// `perm::_ : "" %if is_ones([0:2]) | "a" perm::set_bit(0) %if bit_clear(0)` is one rule for each value that is reached.
//
// Source: llguidance's page "Parametric grammars", whose functions these are.
#pragma once
#include <cstdint>

#include "notation/dialect_scanner.hpp"
#include "notation/dialect_tree.hpp"

namespace schemagen {

// Read a number, `_`, or a function that makes one parameter of another.
DialectFunction read_value(DialectScanner& scanner);
// Read a condition on the parameter.
DialectFunction read_condition(DialectScanner& scanner);

// The parameter that a function makes of another.
uint64_t value_of(const DialectFunction& function, uint64_t parameter);
// Whether a condition is about the parameter, and not made of `true` alone.
bool needs_parameter(const DialectFunction& condition);
// Whether a condition on the parameter holds.
bool holds(const DialectFunction& condition, uint64_t parameter);

}  // namespace schemagen
