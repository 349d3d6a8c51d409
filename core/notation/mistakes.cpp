#include "notation/mistakes.hpp"

#include <algorithm>

namespace schemagen {

LineAndColumn line_and_column(std::string_view text, size_t at) {
    const std::string_view before = text.substr(0, at);
    const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const auto is_first_byte = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
    return {1 + static_cast<size_t>(std::ranges::count(before, '\n')),
            1 + static_cast<size_t>(std::ranges::count_if(before.substr(line_begin), is_first_byte))};
}

std::string with_commas(uint64_t count) {
    std::string digits = std::to_string(count);
    for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits;
}

}  // namespace schemagen
