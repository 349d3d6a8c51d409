#include "notation/blanks.hpp"

#include <array>
#include <cstdint>

namespace schemagen {

size_t blank_length(std::string_view rest) {
    if (rest.empty()) return 0;
    const auto first = static_cast<uint8_t>(rest[0]);
    if (first == ' ' || (first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x1F)) return 1;
    if (first == 0xC2 && rest.size() > 1 && (rest[1] == '\x85' || rest[1] == '\xA0')) return 2;
    if (first < 0xE1 || first > 0xE3 || rest.size() < 3) return 0;
    static constexpr std::array<std::string_view, 17> kWide = {
        "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
        "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000",
    };
    for (std::string_view wide : kWide)
        if (rest.starts_with(wide)) return 3;
    return 0;
}

}  // namespace schemagen
