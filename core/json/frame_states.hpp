// The states of frames, interned, and the transitions between them; the frames that carry them.
#pragma once
#include <unordered_map>
#include <vector>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class FrameMoves;
class Groups;
class MinBytes;
class RequiredParts;
class TokenBounds;
class UniqueItems;

class FrameStates {
public:
    explicit FrameStates(JsonMachine& machine);

    uint32_t position_of(const FrameState* frame) const;
    FrameState* draft(const FrameState* from, Arena& arena) const;
    const FrameState* intern(FrameState* state);
    uint32_t bits_id(const Bits& bits);
    const FrameState* opened_object(uint32_t at, uint32_t depth, Arena& arena);
    const FrameState* opened_array(uint32_t at, uint32_t depth, Arena& arena);
    const FrameState* with_item(const FrameState* from, Arena& arena);
    const FrameState* with_key(const FrameState* from, uint32_t key, const Bits& classes, Arena& arena);
    Bits survivors(const FrameState* from, const Bits& satisfied) const;
    const FrameState* with_value(const FrameState* from, const Bits& alive, const Bits& satisfied, uint32_t extra_start,
                                 Arena& arena);
    const FrameState* with_first_component(const FrameState* from, Arena& arena);
    Frame* copy(const Frame* from, const FrameState* state, Arena& arena) const;
    Around around(const Frame* parent);
    Frame* open(const Configuration& config, const FrameState* state, Arena& arena);
    void surround(ValueId root);
    uint32_t settled_extra_keys(const Frame* frame);
    static uint64_t used_keys(const Frame* frame);
    bool has_enough_members(const FrameState* state, uint64_t count) const;
    bool may_close(const Frame* frame) const;

    std::vector<Bits> bit_sets{Bits()};  // [number]
    size_t state_bytes = 0;
    Arena state_arena;
    const Frame* root_frame = nullptr;
    const Frame* exit_frame = nullptr;  // around the container that a mask is made for

private:
    void forget_what_is_over(FrameState* state) const;

    JsonProgram& program_;
    Positions& positions_;
    FrameMoves& moves_;
    Groups& groups_;
    MinBytes& min_bytes_;
    RequiredParts& parts_;
    TokenBounds& bounds_;
    UniqueItems& unique_;
    HashIndex state_index_;
    std::vector<const FrameState*> interned_;                    // [id - 1]
    std::unordered_map<uint64_t, const FrameState*> key_moves_;  // (state, key or class of keys)
    std::unordered_map<Bits, uint32_t> bits_index_;
};

}  // namespace schemagen
