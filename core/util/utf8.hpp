// Code points in UTF-8.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace schemagen {

inline void append_utf8(std::string& out, char32_t character) {
    const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (character < 0x80) return put(character);
    if (character < 0x800) {
        put(0xC0 | character >> 6);
    } else if (character < 0x10000) {
        put(0xE0 | character >> 12);
        put(0x80 | (character >> 6 & 0x3F));
    } else {
        put(0xF0 | character >> 18);
        put(0x80 | (character >> 12 & 0x3F));
        put(0x80 | (character >> 6 & 0x3F));
    }
    put(0x80 | (character & 0x3F));
}

// A text as it can be shown: halves of surrogate pairs, which have no UTF-8, become U+FFFD.
inline std::string to_utf8(std::u32string_view text) {
    std::string out;
    out.reserve(text.size());
    for (char32_t character : text) append_utf8(out, character >= 0xD800 && character <= 0xDFFF ? 0xFFFD : character);
    return out;
}

// The code points of a text that is UTF-8.
inline std::u32string from_utf8(std::string_view text) {
    std::u32string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const auto lead = static_cast<uint8_t>(text[at++]);
        const int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;  // bytes after the first
        char32_t character = more ? lead & (0x3F >> more) : lead;
        for (int k = 0; k < more && at < text.size(); ++k) character = character << 6 | (text[at++] & 0x3F);
        out.push_back(character);
    }
    return out;
}

}  // namespace schemagen
