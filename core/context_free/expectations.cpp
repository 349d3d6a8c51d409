#include "context_free/expectations.hpp"

#include <algorithm>

#include "util/shown.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

constexpr size_t kMostNames = 12, kMostRules = 4, kMostText = 24;

// "a, b or c", of many the first ones.
std::string some(std::vector<std::string> names) {
    if (names.size() > kMostNames) {
        const size_t more = names.size() - (kMostNames - 1);
        names.resize(kMostNames - 1);
        names.push_back(std::to_string(more) + " more");
    }
    return listed(names);
}

}  // namespace

std::string Expectations::so_far_of(std::string_view read) {
    return read.empty() ? "" : " (so far " + shown_end(read, kMostText) + ")";
}

void Expectations::note(Names& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// The width of the line after a line break. Null if the terminal is not a line break, or is ignored between brackets.
const uint32_t* Expectations::width_of(SymbolId terminal) const {
    if (!indentation_) return nullptr;
    for (const auto& [newline, width] : indentation_->newlines)
        if (newline == terminal && width != Indentation::kAnyWidth) return &width;
    return nullptr;
}

// ---- the text so far ----------------------------------------------------------------------------------------------

std::vector<LexemeGap> Expectations::gaps(StrandSet set) {
    if (set == kStartStrands) return {{parser_.start(), kNoPromise}};
    std::vector<LexemeGap> out;
    for (const Strand& strand : strands_[set]) {
        const std::vector<Lexer::End> ends = lexer_.ends(strand.lexer);
        for (const Lexer::End& end : ends)
            if (const ParserState after = strands_.after(strand.parser, end.lexeme))
                out.push_back({after, lexer_.both(strand.promise, end.promise)});
    }
    return out;
}

// Of runs that are read on alike the one that began first is kept.
void Expectations::read(const std::vector<LexemeGap>& gaps, uint8_t byte) {
    poll();
    for (const LexemeGap& gap : gaps) {
        const LexerState lexer = lexer_.start(parser_.viable(gap.at));
        const bool is_known = std::any_of(runs_.begin(), runs_.end(),
                                          [&](const Run& run) { return run.at == gap.at && run.lexer == lexer; });
        if (!is_known) runs_.push_back({gap.at, lexer, length_});
    }
    std::vector<Run> next;
    for (Run run : runs_) {
        run.lexer = lexer_.next(run.lexer, byte);
        const bool is_known = std::any_of(
            next.begin(), next.end(), [&](const Run& each) { return each.at == run.at && each.lexer == run.lexer; });
        if (run.lexer && !is_known) next.push_back(run);
    }
    runs_ = std::move(next);
    ++length_;
}

// Where the lexeme of a strand began, or `end` if unknown. A strand may be several that the parser has united.
size_t Expectations::begin_of(const Strand& strand, size_t end) {
    size_t begin = end;
    for (const Run& run : runs_)
        if (run.lexer == strand.lexer && parser_.united(run.at, strand.parser) == strand.parser)
            begin = std::min(begin, run.begin);
    for (const Run& run : runs_)
        if (begin == end && run.lexer == strand.lexer && run.at == strand.parser) begin = run.begin;
    return begin;
}

// ---- the expectations ---------------------------------------------------------------------------------------------

void Expectations::note_rules(ParserState state, SymbolId terminal) {
    for (SymbolId rule : parser_.open_rules(state, terminal)) note(rules_, grammar_.name(rule));
}

// Whether any text can follow a line break. Where a block has to begin, only a line further right leads on.
bool Expectations::leads_on(ParserState state, LexemeId lexeme) {
    const ParserState after = strands_.after(state, lexeme);
    return after && (!sets_[parser_.viable(after)].empty() || parser_.accepting(after));
}

void Expectations::expect_more(const Strand& strand, std::string_view text) {
    const std::string so_far = so_far_of(text.substr(begin_of(strand, text.size())));
    const std::vector<Lexer::Component> components = lexer_.components(strand.lexer);
    for (const Lexer::Component& each : components) {
        const SymbolId terminal = grammar_.lexemes()[each.lexeme].terminal;
        if (lexer_.next_bytes(lexer_.alone(each)).size() == 0) continue;
        note_rules(strand.parser, terminal);
        if (const uint32_t* width = width_of(terminal); width && leads_on(strand.parser, each.lexeme)) {
            widths_.push_back(*width);
            line_so_far_ = so_far;
        } else if (!width) {
            note(begun_, "more of " + grammar_.name(terminal) + so_far);
        }
    }
}

void Expectations::expect(StrandSet set, std::string_view text) {
    if (set != kStartStrands)
        for (const Strand& strand : strands_[set]) expect_more(strand, text);
}

void Expectations::expect(const std::vector<LexemeGap>& gaps, uint8_t byte) {
    for (const LexemeGap& gap : gaps) {
        const LexemeSets::SetId viable = parser_.viable(gap.at);
        const std::vector<LexemeId> lexemes(sets_[viable].begin(), sets_[viable].end());
        for (LexemeId lexeme : lexemes) {
            const SymbolId terminal = grammar_.lexemes()[lexeme].terminal;
            if (const uint32_t* width = width_of(terminal); width && leads_on(gap.at, lexeme))
                widths_.push_back(*width);
            else if (!width)
                note(grammar_.is_ignored(terminal) ? ignored_ : next_, grammar_.name(terminal));
        }
        note_rules(gap.at);
        const LexerState begun = lexer_.next(lexer_.start(viable), byte);
        const bool is_kept = lexer_.keep(gap.promise, byte) != kBroken;
        const std::vector<Lexer::Component> components = lexer_.components(begun);
        for (const Lexer::Component& each : components)
            note(is_kept ? stuck_ : not_ended_, grammar_.name(grammar_.lexemes()[each.lexeme].terminal));
    }
}

// ---- the sentence -------------------------------------------------------------------------------------------------

// Consecutive widths up to the greatest one have no upper limit: anything wider is refused as too much.
std::string Expectations::lines() const {
    std::vector<uint32_t> widths(widths_);
    std::sort(widths.begin(), widths.end());
    widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
    uint32_t greatest = 0;
    for (const auto& [_, width] : indentation_->newlines)
        if (width != Indentation::kAnyWidth) greatest = std::max(greatest, width);
    size_t last = widths.size() - 1;
    while (last > 0 && widths.back() == greatest && widths[last - 1] + 1 == widths[last]) --last;
    const bool is_open = widths.back() == greatest && last + 1 < widths.size();
    std::vector<std::string> parts;
    parts.reserve(widths.size());
    for (size_t k = 0; k < (is_open ? last : widths.size()); ++k) parts.push_back(std::to_string(widths[k]));
    if (is_open) parts.push_back("at least " + std::to_string(widths[last]));
    return "a line that is indented by " + listed(parts) + line_so_far_;
}

std::string Expectations::rules() const {
    if (rules_.empty()) return "";
    std::string out = " in the rule " + rules_.front();
    for (size_t k = 1; k < std::min(rules_.size(), kMostRules); ++k) out += (k == 1 ? " within " : ", ") + rules_[k];
    return rules_.size() > kMostRules ? out + ", ..." : out;
}

std::string Expectations::sentence(uint8_t byte, bool may_end) {
    for (Names* names : {&begun_, &next_, &embedded_, &ignored_}) std::sort(names->begin(), names->end());
    std::vector<std::string> expected(begun_);
    for (const Names* names : {&next_, &embedded_}) expected.insert(expected.end(), names->begin(), names->end());
    if (!widths_.empty()) expected.push_back(lines());
    if (expected.empty() && may_end && ignored_.empty()) return "the text is complete and can only end";
    std::string out = expected.empty() ? may_end ? "the end of the text is expected" : "nothing can be read"
                                       : some(std::move(expected)) + " is expected" + rules();
    if (may_end && !is_empty()) out += ", or the end of the text";
    if (!ignored_.empty()) out += "; " + some(ignored_) + " may stand here, too";
    if (!not_ended_.empty())
        out += "; " + shown_byte(byte) + " would begin " + some(not_ended_) +
               ", but the lexer does not end the lexeme before it here";
    if (!stuck_.empty())
        out += "; " + shown_byte(byte) + " would begin " + some(stuck_) + ", and no text could be finished from there";
    return out;
}

}  // namespace schemagen
