// Deterministic automaton over vectors of nodes, built as it is walked. State 0 is dead. One component is the common
// case; several are a product whose components are distinguished by `accepts` and `alive`. A vector may end in a marker
// component (any string), which only shows whether a character has just ended.
//
// Bytes that no component of a state tells apart are one class; a row has one target per class. Few partitions of the
// bytes occur, so they are interned, and a state costs some dozen targets instead of 256.
//
// A component that is a substring of a long text, perhaps with something after it, has as many states as the text has
// bytes, or twice as many. They are not made: their numbers, from `kTracked` on, are a range for each pair of a table
// of substrings and the language after it (a `Track`), and their moves are looked up in the table. Where the text after
// the substring begins, a state is made as others are.
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
    // The state of one component of a marked state.
    uint32_t alone(uint32_t state, uint32_t k) {
        const State& from = states_[state];
        return from.count == 1 ? state : intern({component(state, k), component(state, from.count)}, true);
    }
    uint32_t next(uint32_t state, uint8_t byte) {
        if (is_tracked(state)) return next_on_track(state, byte);
        if (!rows_[state].classes) open_row(state);
        const Row& row = rows_[state];
        uint32_t target = row.targets[row.classes->of[byte]];
        return target != kUnknown ? target : compute(state, byte);
    }
    // The last byte of the interval that leads to the same state as a byte whose target was asked for.
    unsigned last_alike(uint32_t state, uint8_t byte) const {
        return is_tracked(state) ? byte : rows_[state].classes->last[byte];
    }
    // Calls `visit(target)` for each state that the bytes from low to high lead to, the dead one included, until it
    // returns false; the same state may come several times. Returns whether all were visited.
    template <class Visit>
    bool each_target(uint32_t state, uint8_t low, uint8_t high, const Visit& visit) {
        for (unsigned byte = low; byte <= high; byte = last_alike(state, static_cast<uint8_t>(byte)) + 1)
            if (!visit(next(state, static_cast<uint8_t>(byte)))) return false;
        return true;
    }
    // Fewest characters after which component k accepts, the one being read included (marked states); kUnbounded:
    // never.
    uint32_t chars_to_accept(uint32_t state, uint32_t k);
    // Lower bound of the bytes after which component k accepts.
    uint32_t bytes_to_accept(uint32_t state, uint32_t k);
    // A closer one, from the states that are near: of an intersection, whose own bound is the greatest of its parts'.
    uint32_t near_bytes_to_accept(uint32_t state, uint32_t k);
    ByteSet next_bytes(uint32_t state);  // that do not lead to the dead state
    const State& state(uint32_t id) const { return is_tracked(id) ? tracked_[accepting(id)] : states_[id]; }
    // Of a state, without a look at it.
    bool boundary(uint32_t id) const { return !is_tracked(id) && rows_[id].boundary; }
    bool accepting(uint32_t id) const {
        if (!is_tracked(id)) return rows_[id].accepting;
        const Track& track = track_of(id);
        return track.may_end && track.table->whole(id - track.base);
    }
    NodeId component(uint32_t id, uint32_t k) {
        return is_tracked(id) ? node_on_track(id) : components_[states_[id].first + k];
    }
    // Whether it is one of the states that are not made.
    static bool is_tracked(uint32_t id) { return id >= kTracked; }
    // A table of substrings and the language after them, with a range of states.
    struct Track {
        const SubstringTable* table;
        uint32_t table_id;
        NodeId rest;      // the language after the substring
        uint32_t base;    // the state at its start; those of the table follow
        bool may_end;     // `rest` may be empty
        ByteSet leaving;  // that `rest` begins with
    };
    // Of a state that is not made.
    const Track& track_of(uint32_t id) const {
        size_t k = tracks_.size() - 1;
        while (tracks_[k].base > id) --k;
        return tracks_[k];
    }
    size_t size() const { return states_.size(); }  // that were made
    size_t memory_bytes() const;                    // about

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    static constexpr uint32_t kTracked = 1u << 31;
    static constexpr size_t kMostTracks = 64;
    uint32_t state_on_track(NodeId node);
    const Track* track_for(const Nodes::SubstringPlace& place);
    uint32_t next_on_track(uint32_t id, uint8_t byte);
    uint32_t leave_track(const Track& track, uint32_t id, uint8_t byte, SubstringTable::State next);
    NodeId node_on_track(uint32_t id);
    struct Row {
        const Classes* classes = nullptr;  // null before the first step
        uint32_t* targets = nullptr;
        bool boundary = false, accepting = false;  // copies of the fields of the state
    };
    void open_row(uint32_t state);
    uint32_t* allocate(size_t targets);
    uint32_t compute(uint32_t state, uint8_t byte);
    Kernel& kernel_;
    std::deque<State> states_;
    std::vector<NodeId> components_;
    std::unordered_map<uint64_t, uint32_t> distances_;  // chars_to_accept by state and component
    std::unordered_map<uint64_t, uint32_t> near_;       // near_bytes_to_accept, likewise
    std::vector<Row> rows_;
    std::deque<Classes> classes_;
    std::deque<ByteCuts> cuts_;  // [k]: of classes_[k]
    HashIndex classes_index_;
    std::vector<std::unique_ptr<uint32_t[]>> pool_;
    uint32_t* pool_end_ = nullptr;  // of its last chunk
    size_t pool_left_ = 0, pool_size_ = 0;
    HashIndex index_;
    std::deque<Track> tracks_;                        // by their base
    std::array<State, 2> tracked_;                    // states that are not made: [whether they accept]
    std::unordered_map<uint64_t, uint32_t> leaving_;  // targets of states on tracks where `rest` may begin
};

}  // namespace schemagen
