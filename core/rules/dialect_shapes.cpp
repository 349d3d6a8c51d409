#include "rules/dialect_shapes.hpp"

#include <algorithm>

namespace schemagen {

namespace {
using NodeKind = DialectNode::Kind;
}

bool is_regular(const DialectNode& node) {
    switch (node.kind) {
        case NodeKind::kName: return node.is_terminal_name();
        case NodeKind::kSeries:
        case NodeKind::kChoice:
        case NodeKind::kConjunction:
        case NodeKind::kNegation:
        case NodeKind::kRepetition:
            if (node.kind == NodeKind::kSeries && node.function) return false;
            return std::ranges::all_of(node.parts, [](const DialectNode* part) { return is_regular(*part); });
        case NodeKind::kJson:
        case NodeKind::kEmbedded:
        case NodeKind::kReference:
        case NodeKind::kToken: return false;
        default: return true;
    }
}

bool makes_terminal(const DialectDefinition& definition) {
    const DialectAttributes& given = definition.attributes;
    return given.is_shortest() || (given.temperature && is_regular(*definition.body));
}

bool is_one_terminal(const DialectDefinition& definition) {
    const DialectNode& body = *definition.body;
    const auto is_single = [](const DialectNode* part) {
        return is_regular(*part) && part->kind != NodeKind::kSeries && part->kind != NodeKind::kRepetition;
    };
    if (body.kind == NodeKind::kChoice ? std::ranges::all_of(body.parts, is_single) : is_single(&body)) return true;
    return makes_terminal(definition) || (definition.attributes.max_tokens && is_regular(body));
}

bool ends_with_token(const DialectNode& node) {
    return node.kind == NodeKind::kSeries && !node.function && !node.parts.empty() &&
           node.parts.back()->kind == NodeKind::kToken;
}

bool has_loop(const DialectNode& node) {
    switch (node.kind) {
        case NodeKind::kEmbedded:
        case NodeKind::kReference: return true;
        case NodeKind::kRepetition:
            if (node.high == DialectNode::kEndless) return true;
            [[fallthrough]];
        case NodeKind::kSeries:
        case NodeKind::kChoice:
            return std::ranges::any_of(node.parts, [](const DialectNode* part) { return has_loop(*part); });
        default: return false;
    }
}

bool is_empty_literal(const DialectNode& node) { return node.kind == NodeKind::kLiteral && node.text.empty(); }

bool is_rule_name(const DialectNode& node) { return node.kind == NodeKind::kName && !node.is_terminal_name(); }

}  // namespace schemagen
