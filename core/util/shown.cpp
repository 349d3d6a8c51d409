#include "util/shown.hpp"

namespace schemagen {

std::string listed(const std::vector<std::string>& parts) {
    std::string out;
    for (size_t k = 0; k < parts.size(); ++k) out += (k == 0 ? "" : k + 1 == parts.size() ? " or " : ", ") + parts[k];
    return out;
}

std::string shown_byte(uint8_t byte) {
    if (byte >= 0x20 && byte < 0x7F) return byte == '\'' ? "\"'\"" : std::string("'") + static_cast<char>(byte) + "'";
    static const char kDigits[] = "0123456789ABCDEF";
    return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

std::string shown_bytes(const ByteSet& bytes) {
    std::vector<std::string> parts;
    if (bytes.size() > kMostShown) return "";
    for (unsigned byte = 0; byte < 256; ++byte)
        if (bytes.has(static_cast<uint8_t>(byte))) parts.push_back(shown_byte(static_cast<uint8_t>(byte)));
    return listed(parts);
}

}  // namespace schemagen
