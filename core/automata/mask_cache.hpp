// The masks that an engine remembers, within a bound in bytes.
//
// A full cache makes room by second chance (Corbató 1968): its entries wait in a line, and each is marked when it is
// asked for. The first of the line is dropped, unless it has a mark: then it loses the mark and goes to the end. So a
// cache that is too small for a long text keeps the masks that come again and again, and drops those of single places.
// Masks that share their pieces cannot be freed one by one. Their engine calls `sweep` when it has no room left, which
// is a turn of the whole line, and makes the pieces of the remaining ones anew.
//
// To ask changes only a mark, so any number of threads may ask at once; to add takes the cache for oneself.
//
// The bound is for each engine. Rejected: one bound for the process. The caches of two engines are guarded by different
// locks, and the thread that makes room for one would have to wait for all who read the other.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "util/heap.hpp"

namespace schemagen {

// Of one engine. Tests make it small.
inline std::atomic<size_t> most_mask_bytes{64u << 20};

template <class Key, class Value, class Hash = std::hash<Key>>
class MaskCache {
public:
    // The value of a key, or null. It stays where it is until something is added.
    const Value* find(const Key& key) const {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return nullptr;
        const Entry& entry = found->second;
        if (!entry.asked_for.load(std::memory_order_relaxed)) entry.asked_for.store(true, std::memory_order_relaxed);
        return &entry.value;
    }
    // The value of a key, made if there is none, with so many bytes more than before. Other entries make room for it.
    Value& add(const Key& key, size_t bytes) {
        const auto [found, is_new] = entries_.try_emplace(key);
        if (is_new) {
            push(&*found);
            bytes += heap_node(sizeof(Node));
        }
        found->second.bytes += bytes;
        bytes_ += bytes;
        make_room(&*found);
        return found->second.value;
    }
    // The value of a key has grown, if it is still here.
    void grow(const Key& key, size_t bytes) {
        if (entries_.contains(key)) add(key, bytes);
    }
    // Drop the entries that nothing asked for since they were added, or since the last sweep.
    void sweep() {
        for (size_t left = entries_.size(); left > 0; --left) give_chance(pop());
    }
    template <class Visit>
    void each(const Visit& visit) {
        for (auto& [key, entry] : entries_) visit(entry.value);
    }
    void clear() {
        entries_.clear();
        first_ = last_ = nullptr;
        bytes_ = 0;
    }
    size_t bytes() const { return bytes_; }

private:
    struct Entry;
    using Node = std::pair<const Key, Entry>;
    struct Entry {
        Value value{};
        Node* next = nullptr;  // in the line
        size_t bytes = 0;
        mutable std::atomic<bool> asked_for{false};
    };
    void push(Node* node) {
        node->second.next = nullptr;
        (last_ ? last_->second.next : first_) = node;
        last_ = node;
    }
    Node* pop() {
        Node* node = first_;
        first_ = node->second.next;
        if (!first_) last_ = nullptr;
        return node;
    }
    void give_chance(Node* node) {
        if (node->second.asked_for.exchange(false, std::memory_order_relaxed)) return push(node);
        bytes_ -= node->second.bytes;
        entries_.erase(entries_.find(node->first));
    }
    void make_room(Node* kept) {
        const size_t most = most_mask_bytes.load(std::memory_order_relaxed);
        while (bytes_ > most && entries_.size() > 1) {
            Node* node = pop();
            if (node == kept)
                push(node);
            else
                give_chance(node);
        }
    }

    std::unordered_map<Key, Entry, Hash> entries_;
    Node *first_ = nullptr, *last_ = nullptr;  // of the line
    size_t bytes_ = 0;
};

}  // namespace schemagen
