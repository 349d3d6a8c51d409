// The texts of marked lexemes (grammar.hpp): a lexeme, the mark, and every text that may follow it.
#pragma once
#include <cstdint>

#include "regex/kernel.hpp"

namespace schemagen {

constexpr uint8_t kPlaneOfMark = 0xF4;  // the first byte of the mark, and of the characters of its plane

// The texts that may follow the lexeme, if it ends here.
NodeId after_mark(Kernel& kernel, NodeId text);
// A lower bound of the bytes of the shortest lexeme: exact, if few of its states are that near.
uint32_t shortest_before_mark(Kernel& kernel, NodeId text);

}  // namespace schemagen
