#include "json/frames.hpp"

#include <algorithm>

namespace schemagen {

std::string text_since(const KeyByte* last, const KeyByte* start) {
    std::string out;
    for (const KeyByte* at = last; at != start && at; at = at->previous) out.push_back(static_cast<char>(at->byte));
    std::reverse(out.begin(), out.end());
    return out;
}

std::string_view store(const std::string& text, Arena& arena) {
    char* to = static_cast<char*>(arena.allocate(text.size() + 1));
    std::copy_n(text.data(), text.size(), to);
    return {to, text.size()};
}

bool was_used(const Configuration& config) {
    for (const UsedKey* used = config.frame->used; used; used = used->previous)
        if (used->hash == config.hash && used->text == text_since(config.key, nullptr)) return true;
    return false;
}

void open_key(Configuration& config) {
    config.mode = kKey;
    config.gap = 0;
    config.count = 0;
    config.node = 0;
    config.hash = kNoBytes;
    config.key = nullptr;
    config.state = config.frame->state->extra_entry;
}

}  // namespace schemagen
