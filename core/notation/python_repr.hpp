// Texts as Python's `repr` shows them in errors.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace schemagen {

// In quotes, with escapes for characters that are not printable. Beyond ASCII these are the blanks, the signs without
// width, and those of private use; other characters that Unicode has not given a meaning are shown as they are.
std::string python_repr(std::string_view utf8);
// The beginning of a text, of at most so many characters.
std::string_view first_characters(std::string_view utf8, size_t most);

// The length in bytes of the character that begins with this byte of a text in UTF-8.
size_t utf8_length(char first);

}  // namespace schemagen
