// Parts of sentences.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/bytes.hpp"

namespace schemagen {

// "a, b or c".
std::string listed(const std::vector<std::string>& parts);
// Bytes in words: quoted characters, hexadecimal numbers for others; a set as "'a' or 'b'", empty where it has many.
std::string shown_byte(uint8_t byte);
std::string shown_bytes(const ByteSet& bytes);
// A text in double quotes, of a long one its end; line breaks and other control characters are escaped.
std::string shown_end(std::string_view text, size_t most);
// "line 2, column 5": the position after a text, both from 1, in characters.
std::string line_and_column(std::string_view text);

// Lists of at most this many parts are shown in full.
constexpr size_t kMostShown = 4;

}  // namespace schemagen
