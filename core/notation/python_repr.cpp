#include "notation/python_repr.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace schemagen {

namespace {

bool is_printable(uint32_t point) {
    static constexpr std::pair<uint32_t, uint32_t> kHidden[] = {
        {0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},       {0x600, 0x605},      {0x61C, 0x61C},
        {0x6DD, 0x6DD},   {0x70F, 0x70F},   {0x1680, 0x1680},   {0x180E, 0x180E},    {0x2000, 0x200F},
        {0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000},   {0xD800, 0xF8FF},    {0xFEFF, 0xFEFF},
        {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE00FF}, {0xE01F0, 0x10FFFF},
    };
    return std::ranges::none_of(kHidden, [&](auto range) { return point >= range.first && point <= range.second; });
}

// The character that a text begins with.
uint32_t first_code_point(std::string_view utf8) {
    const size_t length = std::min(utf8_length(utf8[0]), utf8.size());
    uint32_t point = static_cast<uint8_t>(utf8[0]);
    if (length > 1) point &= 0x7Fu >> length;
    for (size_t at = 1; at < length; ++at) point = point << 6 | (static_cast<uint8_t>(utf8[at]) & 0x3F);
    return point;
}

void append_escape(std::string& shown, uint32_t point) {
    char escape[12];
    const char* form = point <= 0xFF ? "\\x%02x" : point <= 0xFFFF ? "\\u%04x" : "\\U%08x";
    std::snprintf(escape, sizeof escape, form, static_cast<unsigned>(point));
    shown += escape;
}

}  // namespace

size_t utf8_length(char first) {
    const auto byte = static_cast<uint8_t>(first);
    return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

std::string_view first_characters(std::string_view utf8, size_t most) {
    size_t end = 0;
    while (most-- && end < utf8.size()) end += utf8_length(utf8[end]);
    return utf8.substr(0, end);
}

std::string python_repr(std::string_view utf8) {
    const bool is_double = utf8.find('\'') != utf8.npos && utf8.find('"') == utf8.npos;
    const char quote = is_double ? '"' : '\'';
    std::string shown(1, quote);
    while (!utf8.empty()) {
        const std::string_view character = first_characters(utf8, 1);
        utf8.remove_prefix(character.size());
        const char c = character[0];
        const size_t named = std::string_view("\t\n\r").find(c);
        if (c == quote || c == '\\')
            (shown += '\\') += c;
        else if (named != std::string_view::npos)
            (shown += '\\') += "tnr"[named];
        else if (is_printable(first_code_point(character)))
            shown += character;
        else
            append_escape(shown, first_code_point(character));
    }
    return shown + quote;
}

}  // namespace schemagen
