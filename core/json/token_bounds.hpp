// Upper bounds of the tokens that an open text needs, and of those that it needs after one more token.
//
// A bound is a sum: of the value or key that is being read, and of the containers around it, whose sums are kept beside
// each frame. It knows none where the shortest text is not clear (json/shortest_values.hpp).
#pragma once
#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class DistinctItems;
class FrameStates;
class Gaps;
class Growth;
class MinBytes;
class RequiredParts;
class ShortestRest;
class ShortestValues;

class TokenBounds {
public:
    explicit TokenBounds(JsonMachine& machine);

    uint32_t most_tokens(const Configuration& config);
    uint32_t most_after_token(const Configuration& config) const;
    uint32_t most_growth(const Configuration& config) const;
    const Around& summed(const Frame* frame);
    void sum_around(const Around& around, const Frame* parent);
    bool has_sums(const Frame* frame) const;

private:
    uint32_t growth(const FrameState* state) const;
    uint32_t growth_inside(const Configuration& config) const;
    uint32_t most_tokens_around(const Configuration& config) const;
    uint32_t most_key(const Configuration& config);
    uint32_t most_member(const Configuration& config) const;
    uint32_t most_extra_member(const FrameState* state, uint32_t slot, uint32_t extra) const;
    uint32_t most_word(const Configuration& config) const;
    uint32_t most_value(const Configuration& config) const;
    uint32_t most_position(uint32_t id) const;
    uint32_t most_after(const Frame* frame) const;
    uint32_t most_rest(const Frame* frame, bool opened) const;
    uint32_t most_slot(const FrameState* state, uint32_t slot, bool opened) const;
    uint32_t most_any_slot(const Required& rest, bool opened) const;

    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    Gaps& gaps_;
    MinBytes& min_bytes_;
    ShortestValues& shortest_;
    Growth& growth_;
    RequiredParts& parts_;
    DistinctItems& distinct_;
    ShortestRest& rest_;
};

}  // namespace schemagen
