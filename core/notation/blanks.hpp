// The characters that Python's `\s` matches in text: those of `str.isspace`.
#pragma once
#include <cstddef>
#include <string_view>

namespace schemagen {

// The length in bytes of the blank that a text in UTF-8 begins with, 0 if it begins with none.
size_t blank_length(std::string_view rest);

}  // namespace schemagen
