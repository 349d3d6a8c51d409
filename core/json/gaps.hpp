// Whitespace between the parts of a text.
//
// Three policies are a look at one byte and are read where they are met (json/stepper.hpp): kFlexible, kCompact and
// kSpaced. The other two are here. With kAny `Configuration::gap` counts the characters of the gap, and nothing else
// matters. With kFixed each gap has one text, which the place and the depth decide, and `Configuration::count` is the
// number of its bytes read. After a value a comma or a closing bracket may come, each with a text of its own before it:
// `Configuration::gap` tells which of them is left once they differ.
//
// The depth is a register of the frames (FrameState::depth), so caches by state are also by depth.
#pragma once
#include <string>
#include <string_view>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class FrameStates;

struct Gap {
    std::string_view text;
    bool line = false;
    uint32_t depth = 0;
};
class Gaps {
public:
    explicit Gaps(JsonMachine& machine);

    uint32_t depth_inside(const FrameState* state) const;
    bool step_gap(Configuration& config, uint8_t byte) const;
    bool gap_is_read(const Configuration& config, uint8_t byte) const {
        return program_.options.whitespace != Whitespace::kFixed || fixed_gap_is_read(config, byte);
    }
    ByteSet gap_bytes(const Configuration& config) const;
    uint32_t comma_bytes() const;
    uint32_t colon_bytes() const;
    uint64_t line_bytes(uint32_t depth) const;
    uint64_t closing_bytes(const FrameState* state) const;
    uint64_t gap_bytes_left(const Configuration& config) const;
    std::string layout_refusal(const Configuration& config, uint8_t byte, std::string_view text) const;
    bool gap(Configuration& config, uint8_t byte, bool line_breaks) const;

private:
    Gap gap_of(const Configuration& config) const;
    Gap gap_before_close(const FrameState* state) const;
    uint64_t size_of(const Gap& gap) const;
    uint8_t byte_of(const Gap& gap, uint64_t at) const;
    bool step_gap_after_value(Configuration& config, uint8_t byte) const;
    bool fixed_gap_is_read(const Configuration& config, uint8_t byte) const;

    JsonProgram& program_;
    FrameStates& states_;
};

}  // namespace schemagen
