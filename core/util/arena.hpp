// Memory that is given back all at once, or down to a mark.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace schemagen {

// Bump allocation with marks; addresses stay valid, memory is returned when the arena dies.
class Arena {
public:
    struct Mark {
        size_t chunk, used;
    };
    void* allocate(size_t bytes) {
        bytes = (bytes + 15) & ~size_t{15};
        while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size) {
            ++chunk_;
            used_ = 0;
        }
        if (chunk_ == chunks_.size()) {
            size_t size = std::max(bytes, std::min(kFirst << std::min<size_t>(chunks_.size(), 16), kMost));
            chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
            used_ = 0;
        }
        void* out = chunks_[chunk_].data.get() + used_;
        used_ += bytes;
        return out;
    }
    Mark mark() const { return {chunk_, used_}; }
    void release(Mark mark) {
        chunk_ = mark.chunk;
        used_ = mark.used;
    }

private:
    static constexpr size_t kFirst = 2048, kMost = 65536;
    struct Chunk {
        std::unique_ptr<std::byte[]> data;
        size_t size;
    };
    std::vector<Chunk> chunks_;
    size_t chunk_ = 0, used_ = 0;
};

}  // namespace schemagen
