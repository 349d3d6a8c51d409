// The reader of one text of the Lark dialect: of its directives (dialect_directives.cpp), the attributes of its rules
// (dialect_attributes.cpp), and its definitions and expressions (dialect_parser.cpp).
//
// Idea: recursive descent, one method for each part of the notation. Each begins at its part, and stops before
// blanks that only the next one can tell from line breaks.
//
// Invariant: `depth` counts the groups and grammars around a part. It bounds the recursion.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "notation/dialect_scanner.hpp"
#include "notation/dialect_tree.hpp"

namespace schemagen {

class DialectReader {
public:
    DialectReader(std::string_view source, uint32_t text, DialectTrees& trees, DialectHost& host)
        : scanner_(source, text, host), trees_(trees), host_(host) {}

    DialectGrammar* read();

private:
    struct Word {
        std::string_view text;
        uint32_t begin;
    };

    DialectGrammar* grammar(uint32_t depth);
    void check_end_of_line(uint32_t depth);
    void define(DialectGrammar& grammar, DialectDefinition definition);
    Word name(const std::string& wanted);  // after blanks

    // Directives.
    void directive(DialectGrammar& grammar, std::string_view name, uint32_t begin, uint32_t depth);
    void import(DialectGrammar& grammar);
    void add_import(DialectGrammar& grammar, const Word& imported, const Word& alias);
    void options(DialectGrammar& grammar, const std::string& name);
    DialectNode* inline_directive(std::string_view name, uint32_t begin, uint32_t depth);
    DialectNode* substring(uint32_t begin);
    DialectNode* embedded(uint32_t begin, uint32_t depth);

    // Definitions.
    DialectDefinition definition(uint32_t depth);
    void check_priority(std::string_view name);
    [[noreturn]] void refuse_template(uint32_t begin) const;

    // Attributes.
    DialectAttributes attributes(std::string_view rule, uint32_t depth);
    void attribute(DialectAttributes& given, std::string_view rule, const Word& key, bool has_value, uint32_t depth);
    void capture(DialectAttributes& given, const Word& key, uint32_t depth);
    void ending(DialectAttributes& given, const Word& key, uint32_t depth);
    void number(DialectAttributes& given, const Word& key);
    double temperature(std::string_view number) const;

    // Expressions.
    void skip(bool in_group);
    DialectNode* choice(uint32_t depth, bool in_group = false);
    DialectNode* conjunction(uint32_t depth, bool in_group);
    DialectNode* series(uint32_t depth, bool in_group);
    DialectNode* item(uint32_t depth, bool in_group);
    DialectNode* repeated(DialectNode* part);
    DialectNode* symbol(uint32_t depth);
    DialectNode* group(uint32_t begin, std::string_view closing, uint32_t depth);
    DialectNode* literal(uint32_t begin);
    DialectNode* range(uint32_t begin, DialectNode* low);
    DialectNode* pattern(uint32_t begin);
    DialectNode* repetition(DialectNode* part, uint64_t low, uint64_t high);

    DialectNode* node(DialectNode::Kind kind);                  // without a place
    DialectNode* node(DialectNode::Kind kind, uint32_t begin);  // that begins there
    DialectNode* node(DialectNode::Kind kind, uint32_t begin, std::string_view text);

    DialectScanner scanner_;
    DialectTrees& trees_;
    DialectHost& host_;
};

}  // namespace schemagen
