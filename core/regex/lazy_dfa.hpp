// Deterministic automaton over vectors of nodes, built as it is walked. State 0 is dead. One component is the common
// case; several are a product whose components are told apart by `accepts` and `alive`. A vector may end in a marker
// component (any string), which only shows whether a character has just ended.
//
// Bytes that no component of a state tells apart are one class; a row has one target per class. Few partitions of the
// bytes occur, so they are interned, and a state costs some dozen targets instead of 256.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "regex/kernel.hpp"
#include "util/slots.hpp"

namespace schemagen {

class LazyDfa {
public:
    struct State {
        uint32_t first = 0;     // offset of its components
        uint16_t count = 0;     // real components, without the marker
        bool marked = false;    // a marker component follows
        bool boundary = false;  // at the end of a character (only if marked)
        Bits accepts = {};      // bit i: component i may end here
        Bits alive = {};        // bit i: component i can still be completed
    };
    struct Classes {
        std::array<uint8_t, 256> of;    // [byte]
        std::array<uint8_t, 256> last;  // [byte]: the last one of its class, which is an interval
    };

    explicit LazyDfa(Kernel& kernel);
    Kernel& kernel() { return kernel_; }
    uint32_t intern(const std::vector<NodeId>& components, bool marked);
    uint32_t next(uint32_t state, uint8_t byte) {
        if (!rows_[state].classes) open_row(state);
        const Row& row = rows_[state];
        uint32_t target = row.targets[row.classes->of[byte]];
        return target != kUnknown ? target : compute(state, byte);
    }
    // Calls `visit(target)` for each state that the bytes from low to high lead to, the dead one included, until it
    // returns false; the same state may come several times. Returns whether all were visited.
    template <class Visit>
    bool each_target(uint32_t state, uint8_t low, uint8_t high, const Visit& visit) {
        for (unsigned byte = low; byte <= high; byte = rows_[state].classes->last[byte] + 1u)
            if (!visit(next(state, static_cast<uint8_t>(byte)))) return false;
        return true;
    }
    // Fewest characters after which component k accepts, the one being read included (marked states); kUnbounded:
    // never.
    uint32_t chars_to_accept(uint32_t state, uint32_t k);
    // Lower bound of the bytes after which component k accepts.
    uint32_t bytes_to_accept(uint32_t state, uint32_t k) { return kernel_.shortest(component(state, k)); }
    ByteSet next_bytes(uint32_t state);  // that do not lead to the dead state
    const State& state(uint32_t id) const { return states_[id]; }
    // Of a state, without a look at it.
    bool boundary(uint32_t id) const { return rows_[id].boundary; }
    bool accepting(uint32_t id) const { return rows_[id].accepting; }
    NodeId component(uint32_t id, uint32_t k) const { return components_[states_[id].first + k]; }
    size_t size() const { return states_.size(); }
    size_t memory_bytes() const;  // about

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    struct Row {
        const Classes* classes = nullptr;  // null: never stepped from
        uint32_t* targets = nullptr;
        bool boundary = false, accepting = false;  // copies of what the state has
    };
    void open_row(uint32_t state);
    uint32_t* allocate(size_t targets);
    uint32_t compute(uint32_t state, uint8_t byte);
    Kernel& kernel_;
    std::deque<State> states_;
    std::vector<NodeId> components_;
    std::unordered_map<uint64_t, uint32_t> distances_;  // chars_to_accept by state and component
    std::vector<Row> rows_;
    std::deque<Classes> classes_;
    std::deque<ByteCuts> cuts_;  // [k]: of classes_[k]
    HashIndex classes_index_;
    std::vector<std::unique_ptr<uint32_t[]>> pool_;
    uint32_t* pool_end_ = nullptr;  // of its last chunk
    size_t pool_left_ = 0, pool_size_ = 0;
    HashIndex index_;
};

}  // namespace schemagen
