// The heap memory of containers: an allocator rounds up every request, and keeps its size beside it. Many small vectors
// take twice their contents.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace schemagen {

// Of one allocation, as glibc makes them: with a word for the size, in steps of 16 bytes, 32 at least.
constexpr size_t heap_block(size_t bytes) {
    if (bytes == 0) return 0;
    const size_t taken = (bytes + sizeof(size_t) + 15) / 16 * 16;
    return taken < 32 ? 32 : taken;
}

// One entry of a map or set with a node for each entry: the node adds a link, and the bucket one or two more.
constexpr size_t heap_node(size_t entry) { return heap_block(entry + 2 * sizeof(void*)) + sizeof(void*); }

// An empty deque: it begins with room for some items, and for the table of such rooms.
constexpr size_t kEmptyDeque = heap_block(512) + heap_block(8 * sizeof(void*));

template <class T>
size_t heap_bytes(const std::vector<T>& items) {
    return heap_block(items.capacity() * sizeof(T));
}
inline size_t heap_bytes(const std::vector<bool>& bits) { return heap_block(bits.capacity() / 8); }
// Short ones lie in the string itself.
inline size_t heap_bytes(const std::string& text) {
    return text.capacity() == std::string().capacity() ? 0 : heap_block(text.capacity() + 1);
}
template <class T>
size_t heap_bytes(const std::vector<std::vector<T>>& lists) {
    size_t bytes = heap_block(lists.capacity() * sizeof(lists[0]));
    for (const auto& list : lists) bytes += heap_bytes(list);
    return bytes;
}

}  // namespace schemagen
