// Which rules of a grammar of the Lark dialect are terminals, and of which parts they are made, as they are written.
#pragma once
#include "notation/dialect_tree.hpp"

namespace schemagen {

// Whether an expression has nothing that no terminal can have.
bool is_regular(const DialectNode& node);
// Whether a rule is read as one terminal.
bool makes_terminal(const DialectDefinition& definition);
// Whether a rule has no ignored text between its terminals.
bool is_one_terminal(const DialectDefinition& definition);
// Whether an expression is a series whose last part is a token.
bool ends_with_token(const DialectNode& node);
// Whether an expression has a repetition without an end; an embedded grammar may have one.
bool has_loop(const DialectNode& node);
bool is_empty_literal(const DialectNode& node);
bool is_rule_name(const DialectNode& node);

// Calls `visit(node)` for the names in an expression, in order, but not for those of grammars within it.
template <class Visit>
void each_name(const DialectNode& node, const Visit& visit) {
    if (node.kind == DialectNode::Kind::kName) visit(node);
    for (const DialectNode* part : node.parts) each_name(*part, visit);
}

}  // namespace schemagen
