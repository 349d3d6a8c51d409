// Groups of alternatives: an object that is one of several in each of many independent ways.
//
// `allOf` of a thousand `anyOf`s, each over keys of its own, is a product of 2^1000 disjuncts. As one disjunct with a
// thousand groups it is their sum: of each group the frame keeps the set of the alternatives that still hold, a member
// concerns the one group that has its key, and the object may end if each group has an alternative that asks for
// nothing more. That is the product of the subset constructions (json_automaton.hpp), taken apart because groups share
// no key; keys that no group has, and all that concerns the object as a whole, are asked by the disjunct itself.
//
// Keys have one order, that of the disjunct, whatever alternative holds: then which keys can follow depends on the next
// declared one and on each group by itself. An alternative that requires a key dies where a later key is taken.
//
// Invariant: in a frame each group of a living slot has a living alternative that can still be completed, except a
// group whose keys have all passed in declared order: it holds, and its alternatives are forgotten.
#pragma once
#include <vector>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;

class Groups {
public:
    explicit Groups(JsonMachine& machine);

    void open(FrameState* state) const;
    uint32_t furthest(const FrameState* state, uint32_t slot) const;
    bool offers(const FrameState* state, uint32_t slot, uint32_t place) const;
    void take_moves(const FrameState* state, uint32_t slot, uint32_t place, std::vector<Move>& moves) const;
    void narrow_by_key(const FrameState* from, FrameState* state, uint32_t slot, uint32_t place) const;
    static void narrow_by_value(FrameState* state, const Child& child, const Bits& satisfied);
    void forget_what_is_over(FrameState* state, uint32_t slot) const;
    bool is_over(const FrameState* state, uint32_t slot, const Group& group) const;
    bool is_missing(const FrameState* state, uint32_t slot, const Group& group, const Alternative& each,
                    size_t member) const;

    // Of the first alternative of a group, in the frame.
    uint32_t number_of(const FrameState* state, uint32_t slot, const Group& group) const {
        return positions_[state->position]->objects->first_alternative[slot] + group.first;
    }
    // Call `visit` with each alternative of a group that still holds and its number, until it returns false.
    template <class Visit>
    void each_alive(const FrameState* state, uint32_t slot, const Group& group, const Visit& visit) const {
        const uint32_t first = number_of(state, slot, group);
        for (uint32_t k = 0; k < group.alternatives.size(); ++k)
            if (bit(state->alternatives, first + k) && !visit(group.alternatives[k], first + k)) return;
    }

private:
    const ObjectDisjunct& disjunct(const FrameState* state, uint32_t slot) const;
    uint32_t first_missing(const FrameState* state, uint32_t slot, const Group& group, const Alternative& each) const;
    bool allows(const FrameState* state, uint32_t slot, const Group& group, const Alternative& each,
                uint32_t place) const;

    JsonProgram& program_;
    Positions& positions_;
};

}  // namespace schemagen
