// What an open object or array still requires, in each of its slots.
//
// Where keys may come in any order, the sum of the members that are missing is kept beside the state of an object, and
// changed by one member where the state was changed by one.
#pragma once
#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class ShortestValues;

class RequiredParts {
public:
    static constexpr uint32_t kNoSlot = UINT32_MAX;
    static constexpr uint32_t kMostTried = 16;  // keys that need not come, where the shortest one is looked for

    explicit RequiredParts(JsonMachine& machine);

    Required required(const FrameState* state, uint32_t slot) const;
    void remember_required(const FrameState* state) const;
    void take(const FrameState* state, uint32_t key) const;
    uint32_t slots(const FrameState* state) const;
    uint32_t only_slot(const FrameState* state) const;
    bool is_missing(const FrameState* state, uint32_t slot, uint32_t property) const;
    bool is_offered(const FrameState* state, uint32_t slot, uint32_t key) const;
    const ExtraKeys* any_keys(const FrameState* state, uint32_t slot) const;
    uint32_t next_required(const Configuration& config) const;

private:
    Required missing(const FrameState* state, uint32_t slot) const;

    JsonProgram& program_;
    Positions& positions_;
    ShortestValues& shortest_;
};

}  // namespace schemagen
