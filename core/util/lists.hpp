// Lists one after another in one array: many short ones cost two allocations, not one each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "util/heap.hpp"

namespace schemagen {

template <class T>
class Lists {
public:
    Lists() = default;
    Lists(std::initializer_list<std::vector<T>> lists) {
        for (const std::vector<T>& each : lists) add(each);
    }
    size_t size() const { return ends_.size(); }
    // Valid until the next list is added.
    std::span<const T> operator[](size_t list) const& {
        const uint32_t begin = list ? ends_[list - 1] : 0;
        return {all_.data() + begin, ends_[list] - begin};
    }
    std::span<const T> operator[](size_t list) const&& = delete;
    void add(std::span<const T> list) {
        all_.insert(all_.end(), list.begin(), list.end());
        end();
    }
    // Item by item: those since the last end are a list at the next one.
    void push(const T& item) { all_.push_back(item); }
    void end() { ends_.push_back(static_cast<uint32_t>(all_.size())); }
    void reserve(size_t lists, size_t items) {
        ends_.reserve(lists);
        all_.reserve(items);
    }
    // All items, list by list.
    std::span<const T> all() const { return all_; }
    size_t memory_bytes() const { return heap_bytes(all_) + heap_bytes(ends_); }

private:
    std::vector<T> all_;
    std::vector<uint32_t> ends_;  // [list] of its items
};

}  // namespace schemagen
