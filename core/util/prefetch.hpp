#pragma once

namespace schemagen {

// Ask for memory that will be read soon.
inline void prefetch([[maybe_unused]] const void* at) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(at);
#endif
}

}  // namespace schemagen
