#include "notation/lark_scanner.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "notation/blanks.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class LarkScanner {
public:
    LarkScanner(std::string_view source, uint32_t text, size_t most) : source_(source), text_(text), most_(most) {}

    std::vector<LarkToken> tokens() {
        tokens_.reserve(source_.size() / 4);
        while (at_ < source_.size() && skip_or_take()) poll();
        if (at_ < source_.size()) {
            put(LarkSign::kBad, source_.size() - at_);
            return std::move(tokens_);
        }
        if (!ends_in_backslash_) put(LarkSign::kNewLine, 0);  // lark reads a line break after the text
        put(LarkSign::kEnd, 0);
        return std::move(tokens_);
    }

private:
    char next(size_t ahead = 1) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
    bool begins_rule(size_t ahead) const { return is_lower(next(ahead)) || next(ahead) == '_'; }

    void put(LarkSign sign, size_t length) {
        if (tokens_.size() == most_)
            stop({text_, static_cast<uint32_t>(at_)},
                 "a grammar of more than " + with_commas(NotationLimits::kTokens) + " words and signs",
                 "a grammar of strangers must not take the process down", "use repetitions, or split the grammar");
        tokens_.push_back({sign, static_cast<uint32_t>(at_), static_cast<uint32_t>(at_ + length)});
        at_ += length;
    }

    // Read one token, or blanks between tokens; false where neither begins.
    bool skip_or_take() { return skip_blanks() || take_sign() || take_word() || take_literal(); }

    bool skip_blanks() {
        const char c = source_[at_];
        size_t end = at_;
        while (const size_t length = blank_length(source_.substr(end))) end += length;
        if (end - at_ > NotationLimits::kBlanks)
            stop({text_, static_cast<uint32_t>(at_)}, with_commas(end - at_) + " blanks and blank lines in a row",
                 "the limit is " + with_commas(NotationLimits::kBlanks), "leave them out");
        const std::string_view behind = source_.substr(end);
        if (behind.starts_with("//") || behind.starts_with('#')) {
            at_ = std::min(source_.find('\n', end), source_.size());
            return true;
        }
        if (c == '\n' || (c == '\r' && (next() == '\n' || at_ + 1 == source_.size()))) {
            const bool is_alternative = behind.starts_with('|');
            put(is_alternative ? LarkSign::kBar : LarkSign::kNewLine, end - at_ + (is_alternative ? 1 : 0));
            return true;
        }
        if (c == ' ' || c == '\t') {
            at_ = std::min(source_.find_first_not_of(" \t", at_), source_.size());
            return true;
        }
        return c == '\\' && skip_line_break();
    }

    // A backslash at the end of a line joins it with the next.
    bool skip_line_break() {
        const size_t end = source_.find_first_not_of(' ', at_ + 1);
        if (end < source_.size() && source_[end] != '\n') return false;
        ends_in_backslash_ = end >= source_.size();
        at_ = ends_in_backslash_ ? source_.size() : end + 1;
        return true;
    }

    bool take_sign() {
        static constexpr std::pair<std::string_view, LarkSign> kSigns[] = {
            {"%ignore", LarkSign::kIgnore},
            {"%override", LarkSign::kOverride},
            {"%declare", LarkSign::kDeclare},
            {"%extend", LarkSign::kExtend},
            {"%import", LarkSign::kImport},
            {"..", LarkSign::kTwoDots},
            {"->", LarkSign::kArrow},
            {"(", LarkSign::kOpen},
            {")", LarkSign::kClose},
            {"[", LarkSign::kOpenSquare},
            {"]", LarkSign::kCloseSquare},
            {"{", LarkSign::kOpenBrace},
            {"}", LarkSign::kCloseBrace},
            {":", LarkSign::kColon},
            {",", LarkSign::kComma},
            {"|", LarkSign::kBar},
            {".", LarkSign::kDot},
            {"~", LarkSign::kTilde},
            {"*", LarkSign::kRepeat},
        };
        const char c = source_[at_];
        if (c == '?' || c == '!') return take_mark(c);
        for (const auto& [spelling, sign] : kSigns)
            if (c == spelling[0] && source_.substr(at_).starts_with(spelling)) {
                put(sign, spelling.size());
                return true;
            }
        return false;
    }

    // A '?' repeats the part before it, or modifies the rule after it, as a '!' does.
    bool take_mark(char c) {
        const char other = c == '?' ? '!' : '?';
        if (next() == other && begins_rule(2))
            put(LarkSign::kModifiers, 2);
        else if (begins_rule(1))
            put(LarkSign::kModifiers, 1);
        else if (c == '?')
            put(LarkSign::kRepeat, 1);
        else
            return false;
        return true;
    }

    bool take_word() {
        const char c = source_[at_];
        const auto take_while = [&](LarkSign sign, size_t from, auto&& belongs) {
            size_t end = at_ + from;
            while (end < source_.size() && belongs(source_[end])) ++end;
            put(sign, end - at_);
            return true;
        };
        if (is_digit(c) || ((c == '+' || c == '-') && is_digit(next())))
            return take_while(LarkSign::kNumber, 1, is_digit);
        if (c == '+') return take_while(LarkSign::kRepeat, 1, [](char) { return false; });
        const size_t from = c == '_' ? 1 : 0;
        if (is_lower(next(from)))
            return take_while(LarkSign::kRule, from, [](char d) { return is_lower(d) || is_digit(d) || d == '_'; });
        if (is_upper(next(from)))
            return take_while(LarkSign::kTerminal, from, [](char d) { return is_upper(d) || is_digit(d) || d == '_'; });
        return false;
    }

    bool take_literal() {
        const char quote = source_[at_];
        if (quote != '"' && quote != '/') return false;
        size_t end = at_ + 1;
        while (end < source_.size() && source_[end] != quote && (quote == '/' || source_[end] != '\n')) {
            const char escaped = source_[end] == '\\' && end + 1 < source_.size() ? source_[end + 1] : '\0';
            end += escaped == quote || escaped == '\\' ? 2 : 1;
        }
        if (end >= source_.size() || source_[end] != quote) return false;
        ++end;
        const std::string_view flags = quote == '"' ? "i" : "imslux";
        const size_t most_flags = quote == '"' ? 1 : source_.size();
        for (size_t n = 0; n < most_flags && end < source_.size() && flags.find(source_[end]) != flags.npos; ++n) ++end;
        put(quote == '"' ? LarkSign::kLiteral : LarkSign::kPattern, end - at_);
        return true;
    }

    std::string_view source_;
    uint32_t text_;
    size_t most_;
    size_t at_ = 0;
    bool ends_in_backslash_ = false;
    std::vector<LarkToken> tokens_;
};

}  // namespace

std::vector<LarkToken> lark_tokens(std::string_view source, uint32_t text, size_t most) {
    return LarkScanner(source, text, most).tokens();
}

}  // namespace schemagen
