#include "notation/dialect_scanner.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "notation/blanks.hpp"
#include "notation/python_repr.hpp"
#include "util/utf8.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

constexpr size_t kShown = 40;  // characters of a text in an error

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
bool is_word_or_dash(char c) { return is_word(c) || c == '-'; }
bool is_of_directive(char c) { return is_lower(c) || c == '_'; }

// The number of hexadecimal digits, which are at most eight.
uint32_t hexadecimal(std::string_view digits) {
    uint32_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
}

}  // namespace

bool DialectScanner::sees_blank() const { return blank_length(rest()) > 0; }

// --- blanks ----------------------------------------------------------------------------------------------------------

void DialectScanner::skip_blanks() {
    for (;; poll()) {
        const char c = byte(at);
        if (c == ' ' || c == '\t' || c == '\f')
            ++at;
        else if (c == '#' || (c == '/' && byte(at + 1) == '/'))
            at = static_cast<uint32_t>(std::min(source_.find_first_of("\r\n", at), source_.size()));
        else if (c != '\\' || !(take("\\\n") || take("\\\r\n")))
            return;
    }
}

void DialectScanner::skip_lines() { at = static_cast<uint32_t>(skipped_lines(at)); }

size_t DialectScanner::skipped_lines(size_t from) const {
    for (;; poll()) {
        from = skipped_space(from);
        const char c = byte(from);
        if (c != '#' && (c != '/' || byte(from + 1) != '/')) return from;
        from = std::min(source_.find_first_of("\r\n", from), source_.size());
    }
}

size_t DialectScanner::skipped_space(size_t from) const {
    while (const size_t length = blank_length(source_.substr(from))) {
        poll();
        from += length;
    }
    return from;
}

void DialectScanner::skip_spaces() {
    at = static_cast<uint32_t>(std::min(source_.find_first_not_of(" \t", at), source_.size()));
}

// --- words -----------------------------------------------------------------------------------------------------------

// A name may have dashes within, but not at its end: `a->b` is the name `a`.
size_t DialectScanner::name_length() const {
    size_t end = at;
    while (byte(end) == '_') ++end;
    if (!is_letter(byte(end))) return 0;
    while (is_word_or_dash(byte(end))) ++end;
    while (byte(end - 1) == '-') --end;
    return end - at;
}

std::string_view DialectScanner::name() { return taken(name_length()); }

std::string_view DialectScanner::function() {
    size_t end = at;
    while (is_lower(byte(end))) ++end;
    while (end > at && byte(end) == '_' && is_lower(byte(end + 1))) {
        ++end;
        while (is_lower(byte(end))) ++end;
    }
    return taken(end - at);
}

size_t DialectScanner::length_after_sign(bool (*belongs)(char)) const {
    size_t end = at + 1;
    while (belongs(byte(end))) ++end;
    return end == at + 1 ? 0 : end - at;
}

std::string_view DialectScanner::directive() {
    return byte(at) == '%' ? taken(length_after_sign(is_of_directive)) : std::string_view();
}

std::string_view DialectScanner::reference() {
    return byte(at) == '@' ? taken(length_after_sign(is_word_or_dash)) : std::string_view();
}

std::string_view DialectScanner::token() {
    if (byte(at) != '<') return {};
    size_t end = at + 1;
    while (end < source_.size() && source_[end] != '<' && source_[end] != '>' && !blank_length(source_.substr(end)))
        end += utf8_length(source_[end]);
    return byte(end) == '>' && end > at + 1 ? taken(end + 1 - at) : std::string_view();
}

std::string_view DialectScanner::priority() {
    if (byte(at) != '.') return {};
    const size_t sign = byte(at + 1) == '+' || byte(at + 1) == '-' ? 1 : 0;
    const size_t digits = digits_length(at + 1 + sign);
    return taken(digits ? 1 + sign + digits : 0);
}

bool DialectScanner::take_if() {
    if (!sees("%if") || is_word_at(at + 3)) return false;
    at += 3;
    return true;
}

bool DialectScanner::is_word_at(size_t offset) const {
    if (offset >= source_.size()) return false;
    if (static_cast<uint8_t>(source_[offset]) < 0x80) return is_word(source_[offset]);
    return host_.is_word(std::string(first_characters(source_.substr(offset), 1)));
}

// --- numbers ---------------------------------------------------------------------------------------------------------

size_t DialectScanner::digits_length(size_t from) const {
    size_t end = from;
    while (is_digit(byte(end))) ++end;
    return end - from;
}

std::string_view DialectScanner::count() {
    const size_t length = digits_length(at);
    const bool goes_on = byte(at + length) == '.' || is_word_at(at + length);
    return taken(goes_on ? 0 : length);
}

std::string_view DialectScanner::number() {
    const auto sign_length = [this](size_t from) -> size_t { return byte(from) == '+' || byte(from) == '-' ? 1 : 0; };
    size_t end = at + sign_length(at);
    const size_t whole = digits_length(end);
    if (!whole) return {};
    end += whole;
    if (byte(end) == '.') end += 1 + digits_length(end + 1);
    if (byte(end) == 'e' || byte(end) == 'E') {
        const size_t begin = end + 1 + sign_length(end + 1);
        if (digits_length(begin)) end = begin + digits_length(begin);
    }
    return taken(end - at);
}

std::string_view DialectScanner::bit_integer() {
    if (sees("0x") && is_hexadecimal(byte(at + 2))) {
        size_t end = at + 2;
        while (end < at + 2 + 17 && is_hexadecimal(byte(end))) ++end;
        return taken(end - at);
    }
    return taken(std::min<size_t>(digits_length(at), 21));
}

std::optional<DialectScanner::Counts> DialectScanner::tilde_counts() {
    const auto skipped = [this](size_t from) {
        return std::min(source_.find_first_not_of(" \t", from), source_.size());
    };
    if (byte(at) != '~') return {};
    const size_t begin = skipped(at + 1), length = digits_length(begin);
    if (!length) return {};
    Counts found{source_.substr(begin, length), source_.substr(begin, length)};
    at = static_cast<uint32_t>(begin + length);
    const size_t dots = skipped(at);
    if (!source_.substr(dots).starts_with("..")) return found;
    const size_t second = skipped(dots + 2), second_length = digits_length(second);
    if (!second_length) return found;
    found.most = source_.substr(second, second_length);
    at = static_cast<uint32_t>(second + second_length);
    return found;
}

std::optional<DialectScanner::Counts> DialectScanner::brace_counts() {
    if (byte(at) != '{') return {};
    size_t end = skipped_space(at + 1);
    const auto digits = [&] {
        const std::string_view found = source_.substr(end, digits_length(end));
        end = skipped_space(end + found.size());
        return found;
    };
    Counts found;
    found.least = found.most = digits();
    if (byte(end) == ',') {
        end = skipped_space(end + 1);
        found.most = digits();
        if (found.least.empty() && !found.most.empty()) found.least = "0";
    }
    if (byte(end) != '}') return {};
    at = static_cast<uint32_t>(end + 1);
    return found;
}

uint64_t DialectScanner::count_of(std::string_view digits, uint32_t begin) const {
    const size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
    digits.remove_prefix(zeros);
    uint64_t value = 0;
    if (digits.size() <= 10) std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.size() > 10 || value > DialectLimits::kCount)
        stop(place(begin),
             "a repetition counts to " + std::string(digits.substr(0, 20)) + ", limit " +
                 std::to_string(DialectLimits::kCount),
             "", "lower the bound");
    return value;
}

std::pair<uint64_t, uint64_t> DialectScanner::bounds(Counts counts, uint32_t begin) const {
    const uint64_t low = count_of(counts.least, begin);
    const uint64_t high = counts.most.empty() ? DialectNode::kEndless : count_of(counts.most, begin);
    if (high < low) {
        const std::string least = std::to_string(low), most = std::to_string(high);
        refuse(place(begin), "a repetition of at least " + least + " and at most " + most, "",
               "write {" + most + "," + least + "}");
    }
    return {low, high};
}

// --- literals and patterns -------------------------------------------------------------------------------------------

// A pattern that goes over lines has the flag x.
std::optional<DialectScanner::Pattern> DialectScanner::pattern() {
    size_t end = at + 1;
    bool has_lines = false;
    for (; end < source_.size() && source_[end] != '/'; ++end) {
        poll();
        if (source_[end] == '\\')
            ++end;
        else
            has_lines |= source_[end] == '\n';
    }
    if (byte(at) != '/' || end >= source_.size() || end == at + 1) return {};
    size_t flags_end = end + 1;
    while (is_lower(byte(flags_end))) ++flags_end;
    const Pattern found{source_.substr(at + 1, end - at - 1), source_.substr(end + 1, flags_end - end - 1)};
    if (has_lines && found.flags.find('x') == found.flags.npos) return {};
    at = static_cast<uint32_t>(flags_end);
    return found;
}

std::string DialectScanner::quoted(uint32_t begin) {
    std::string read;
    while (!take("\"")) {
        poll();
        const size_t end = std::min(source_.find_first_of("\"\\\r\n", at), source_.size());
        read += taken(end - at);
        if (at_end() || sees_one_of("\r\n"))
            refuse(place(begin), "a literal is never closed", "", "write \" at its end; a line break in it is \\n");
        if (sees("\\")) append_escape(read);
    }
    return read;
}

// The escapes are those of JSON, and \xNN.
void DialectScanner::append_escape(std::string& read) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const uint32_t begin = at;
    if (append_pair(read)) return;
    const std::string_view letter = first_characters(rest().substr(1), 1);
    at += 1 + static_cast<uint32_t>(letter.size());
    if (letter == "x" || letter == "u") return append_utf8(read, escaped_code_point(begin, letter == "x" ? 2 : 4));
    const size_t known = letter.empty() ? kLetters.npos : kLetters.find(letter);
    if (known == kLetters.npos)
        refuse(place(begin), "the escape '\\" + std::string(letter) + "' is not known here", "",
               R"(use one of \" \\ \/ \b \f \n \r \t \x \u)");
    read += kMeanings[known];
}

// Two halves of a character side by side: \ud83d\ude00.
bool DialectScanner::append_pair(std::string& read) {
    const auto half = [this](size_t from) -> uint32_t {
        const std::string_view digits = source_.substr(std::min(from + 2, source_.size()), 4);
        const bool is_escape = byte(from) == '\\' && byte(from + 1) == 'u' && digits.size() == 4;
        return is_escape && std::ranges::all_of(digits, is_hexadecimal) ? hexadecimal(digits) : 0;
    };
    const uint32_t high = half(at), low = half(at + 6);
    if (high < 0xD800 || high >= 0xDC00 || low < 0xDC00 || low >= 0xE000) return false;
    append_utf8(read, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
    at += 12;
    return true;
}

uint32_t DialectScanner::escaped_code_point(uint32_t begin, size_t length) {
    const uint32_t first = at;
    while (at < first + length && is_hexadecimal(byte(at))) ++at;
    const std::string_view digits = source_.substr(first, at - first);
    if (digits.size() < length)
        refuse(place(begin), "the escape " + python_repr(source_.substr(begin, at - begin)) + " has too few digits", "",
               "write " + std::to_string(length) + " hexadecimal digits");
    const uint32_t point = hexadecimal(digits);
    if (point >= 0xD800 && point < 0xE000) {
        std::string shown(digits);
        std::ranges::transform(shown, shown.begin(),
                               [](char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; });
        refuse(place(begin), "U+" + shown + " is not a character", "half of a surrogate pair has no UTF-8",
               "write the code point itself");
    }
    return point;
}

// --- JSON values -----------------------------------------------------------------------------------------------------

uint32_t DialectScanner::json() {
    skip_lines();
    const DialectHost::Json found = host_.json(text_, characters_before(at));
    const uint32_t end = offset_of(found.end);
    if (!found.fact.empty()) {
        if (found.is_limit) stop(place(end), found.fact, "", found.fix);
        refuse(place(end), found.fact, "", found.fix);
    }
    at = end;
    return found.value;
}

// Values follow one another, so that both count on from the last place.
uint32_t DialectScanner::characters_before(uint32_t offset) {
    if (offset < known_offset_) known_offset_ = known_characters_ = 0;
    for (; known_offset_ < offset; ++known_characters_)
        known_offset_ += static_cast<uint32_t>(utf8_length(source_[known_offset_]));
    return known_characters_;
}

uint32_t DialectScanner::offset_of(uint32_t characters) {
    if (characters < known_characters_) known_offset_ = known_characters_ = 0;
    for (; known_characters_ < characters && known_offset_ < source_.size(); ++known_characters_)
        known_offset_ += static_cast<uint32_t>(utf8_length(source_[known_offset_]));
    return known_offset_;
}

// --- mistakes --------------------------------------------------------------------------------------------------------

void DialectScanner::check_depth(uint32_t begin, uint32_t depth) const {
    if (depth < DialectLimits::kNesting) return;
    stop(place(begin),
         "groups are nested " + std::to_string(depth + 1) + " deep, limit " + std::to_string(DialectLimits::kNesting),
         "", "give the inner ones names");
}

std::string DialectScanner::where(uint32_t offset) const {
    const LineAndColumn found = line_and_column(source_, offset);
    return "line " + std::to_string(found.line) + ", column " + std::to_string(found.column);
}

void DialectScanner::refuse_unexpected(const std::string& wanted, std::string fix) const {
    std::string_view shown = first_characters(rest(), kShown);
    shown = shown.substr(0, shown.find('\n'));
    const std::string found = at_end()        ? "the grammar ends"
                              : shown.empty() ? "the line ends"
                                              : python_repr(shown) + " stands";
    refuse(place(), found + " where " + wanted + " is expected", "", std::move(fix));
}

void DialectScanner::expect(std::string_view sign, std::string fix) {
    skip_blanks();
    if (!take(sign)) refuse_unexpected(python_repr(sign), std::move(fix));
}

}  // namespace schemagen
