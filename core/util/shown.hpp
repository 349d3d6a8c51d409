// Parts of sentences.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "util/bytes.hpp"

namespace schemagen {

// "a, b or c".
std::string listed(const std::vector<std::string>& parts);
// Bytes in words: quoted characters, hexadecimal numbers for others; a set as "'a' or 'b'", empty where it has many.
std::string shown_byte(uint8_t byte);
std::string shown_bytes(const ByteSet& bytes);

// What is listed in full has at most so many parts.
constexpr size_t kMostShown = 4;

}  // namespace schemagen
