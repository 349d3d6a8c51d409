// Sets of alternatives that are followed side by side.
#pragma once
#include <bitset>
#include <cstddef>

namespace schemagen {

// Alternatives that are followed side by side: slots of a frame, components of a position.
constexpr size_t kMaxSlots = 1024;
using Bits = std::bitset<kMaxSlots>;

}  // namespace schemagen
