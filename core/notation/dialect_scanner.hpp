// A position in a text of the Lark dialect, and its words and signs.
//
// Idea: the methods that read something return the text they read, empty where it does not begin here; then the
// position stays. They take as much as they can. Only line breaks and ASCII have a meaning, so the text is read byte by
// byte.
//
// Invariant: `at` is at the start of a character, or at the end.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "notation/dialect_host.hpp"
#include "notation/dialect_tree.hpp"

namespace schemagen {

class DialectScanner {
public:
    DialectScanner(std::string_view source, uint32_t text, DialectHost& host)
        : source_(source), text_(text), host_(host) {}

    uint32_t at = 0;

    bool at_end() const { return at == source_.size(); }
    std::string_view rest() const { return source_.substr(at); }
    bool sees(std::string_view expected) const { return rest().starts_with(expected); }
    bool sees_one_of(std::string_view characters) const {
        return !at_end() && characters.find(source_[at]) != characters.npos;
    }
    bool sees_blank() const;
    bool take(std::string_view expected) {
        const bool is_there = sees(expected);
        if (is_there) at += static_cast<uint32_t>(expected.size());
        return is_there;
    }

    void skip_blanks();  // and comments, up to the end of the line
    void skip_lines();   // blanks, comments and line breaks
    void skip_spaces();  // and tabs

    std::string_view name();  // of a rule, a terminal, an attribute, ...
    bool sees_name() const { return name_length() > 0; }
    std::string_view function();   // the name of one
    std::string_view directive();  // %name
    std::string_view reference();  // @name
    std::string_view token();      // <name>
    std::string_view priority();   // .1
    std::string_view digits() { return taken(digits_length(at)); }
    std::string_view count();        // digits that nothing of a number or word follows
    std::string_view number();       // with a sign, a fraction and an exponent
    std::string_view bit_integer();  // as long as it may be
    bool take_if();                  // %if
    struct Pattern {
        std::string_view text, flags;
    };
    std::optional<Pattern> pattern();  // from its slash
    struct Counts {
        std::string_view least, most;
    };
    std::optional<Counts> tilde_counts();  // ~m or ~m..n
    std::optional<Counts> brace_counts();  // {m}, {m,}, {,n} or {m,n}; {} and {,} as well, with neither
    // The rest of a literal after the quote at `begin`.
    std::string quoted(uint32_t begin);
    // A JSON value: its number.
    uint32_t json();

    // The counts of a repetition; no digits in `most` are no bound.
    std::pair<uint64_t, uint64_t> bounds(Counts counts, uint32_t begin) const;
    uint64_t count_of(std::string_view digits, uint32_t begin) const;
    void check_depth(uint32_t begin, uint32_t depth) const;

    NotationPlace place(uint32_t offset) const { return {text_, offset}; }
    NotationPlace place() const { return place(at); }
    std::string where(uint32_t offset) const;  // line and column
    [[noreturn]] void refuse_unexpected(const std::string& wanted, std::string fix = "") const;
    // Read blanks and a sign that has to be there.
    void expect(std::string_view sign, std::string fix = "");

private:
    std::string_view taken(size_t length) {
        at += static_cast<uint32_t>(length);
        return source_.substr(at - length, length);
    }
    char byte(size_t offset) const { return offset < source_.size() ? source_[offset] : '\0'; }
    size_t skipped_lines(size_t from) const;  // the offset after blanks, comments and line breaks
    size_t skipped_space(size_t from) const;  // the offset after blanks and line breaks
    size_t name_length() const;
    size_t digits_length(size_t from) const;
    size_t length_after_sign(bool (*belongs)(char)) const;  // with the sign before, 0 for that alone
    bool is_word_at(size_t offset) const;
    void append_escape(std::string& read);
    bool append_pair(std::string& read);
    uint32_t escaped_code_point(uint32_t begin, size_t length);
    uint32_t characters_before(uint32_t offset);
    uint32_t offset_of(uint32_t characters);

    std::string_view source_;
    uint32_t text_;
    DialectHost& host_;
    uint32_t known_offset_ = 0, known_characters_ = 0;  // of the same place
};

}  // namespace schemagen
