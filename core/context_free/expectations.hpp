// The expected continuations at a place of a text, in words: the answer of `Matcher.explain` for context-free grammars.
//
// Lists the unfinished terminals with their text so far, the terminals that may begin, embedded grammars, the widths of
// lines, and the open rules, innermost first. A strand does not say where its lexeme began. So the text is read again,
// and every lexeme that could have begun is followed to the place of the strand.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "context_free/indenting_parser.hpp"
#include "context_free/strands.hpp"

namespace schemagen {

// Where a lexeme may begin, and the promises about the text there.
struct LexemeGap {
    ParserState at;
    Promise promise;
};

class Expectations {
public:
    // `indentation`: null if line breaks have no meaning.
    Expectations(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer, Strands& strands,
                 const Indentation* indentation)
        : grammar_(grammar),
          parser_(parser),
          sets_(sets),
          lexer_(lexer),
          strands_(strands),
          indentation_(indentation) {}

    // Where a lexeme may begin.
    std::vector<LexemeGap> gaps(StrandSet set);
    // Follows the text: once for each byte, in their order, with where a lexeme may begin in front of it.
    void read(const std::vector<LexemeGap>& gaps, uint8_t byte);
    // The expectations after the text: by the strands of a set, where a lexeme may begin, and as something else.
    void expect(StrandSet set, std::string_view text);
    void expect(const std::vector<LexemeGap>& gaps, uint8_t byte);
    void expect_more(SymbolId terminal, std::string_view so_far) {
        note(begun_, "more of " + grammar_.name(terminal) + so_far_of(so_far));
    }
    void expect_embedded(SymbolId terminal) { note(embedded_, grammar_.name(terminal)); }
    // The rules that are open where the parser is, or that go on with a terminal.
    void note_rules(ParserState state, SymbolId terminal = kNoTerminal);
    bool is_empty() const { return begun_.empty() && next_.empty() && embedded_.empty() && widths_.empty(); }
    // As the end of a sentence about `byte`.
    std::string sentence(uint8_t byte, bool may_end);

private:
    static constexpr SymbolId kNoTerminal = UINT32_MAX;
    // A lexeme that could have begun, and how far it is read.
    struct Run {
        ParserState at;
        LexerState lexer;
        size_t begin;
    };
    using Names = std::vector<std::string>;
    static std::string so_far_of(std::string_view read);
    static void note(Names& names, const std::string& name);
    const uint32_t* width_of(SymbolId terminal) const;
    bool leads_on(ParserState state, LexemeId lexeme);
    size_t begin_of(const Strand& strand, size_t end);
    void expect_more(const Strand& strand, std::string_view text);
    std::string lines() const;
    std::string rules() const;

    const ContextFreeGrammar& grammar_;
    Parser& parser_;
    LexemeSets& sets_;
    Lexer& lexer_;
    Strands& strands_;
    const Indentation* indentation_;
    std::vector<Run> runs_;
    size_t length_ = 0;  // of the text that was followed
    Names begun_, next_, embedded_, ignored_, rules_;
    Names not_ended_, stuck_;  // terminals that the byte would begin, if the one before it might end, or the text
    std::vector<uint32_t> widths_;
    std::string line_so_far_;
};

}  // namespace schemagen
