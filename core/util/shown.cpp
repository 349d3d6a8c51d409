#include "util/shown.hpp"

#include <algorithm>

namespace schemagen {

namespace {
bool is_continuation(char each) { return (static_cast<uint8_t>(each) & 0xC0) == 0x80; }  // of a character in UTF-8
}  // namespace

std::string listed(const std::vector<std::string>& parts) {
    std::string out;
    for (size_t k = 0; k < parts.size(); ++k) out += (k == 0 ? "" : k + 1 == parts.size() ? " or " : ", ") + parts[k];
    return out;
}

std::string shown_byte(uint8_t byte) {
    if (byte >= 0x20 && byte < 0x7F) return byte == '\'' ? "\"'\"" : std::string("'") + static_cast<char>(byte) + "'";
    static const char kDigits[] = "0123456789ABCDEF";
    return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

std::string shown_bytes(const ByteSet& bytes) {
    std::vector<std::string> parts;
    if (bytes.size() > kMostShown) return "";
    for (unsigned byte = 0; byte < 256; ++byte)
        if (bytes.has(static_cast<uint8_t>(byte))) parts.push_back(shown_byte(static_cast<uint8_t>(byte)));
    return listed(parts);
}

std::string shown_end(std::string_view text, size_t most) {
    static const char kDigits[] = "0123456789ABCDEF";
    size_t begin = text.size() - std::min(text.size(), most);
    while (begin > 0 && is_continuation(text[begin])) --begin;
    std::string out = begin ? "\"..." : "\"";
    for (char each : text.substr(begin)) {
        const auto byte = static_cast<uint8_t>(each);
        if (each == '\n' || each == '\t' || each == '\r')
            out += each == '\n' ? "\\n" : each == '\t' ? "\\t" : "\\r";
        else if (each == '"' || each == '\\')
            out += std::string("\\") + each;
        else if (byte < 0x20 || byte == 0x7F)
            out += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
        else
            out += each;
    }
    return out + "\"";
}

std::string line_and_column(std::string_view text) {
    size_t line = 1, column = 1;
    for (char each : text) {
        if (each == '\n') {
            ++line;
            column = 1;
        } else if (!is_continuation(each) && !is_mark(static_cast<uint8_t>(each))) {
            ++column;
        }
    }
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace schemagen
