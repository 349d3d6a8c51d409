// Transitions: one byte at a time.
#pragma once

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class FrameMoves;
class FrameStates;
class Gaps;
class UniqueItems;

class Stepper {
public:
    explicit Stepper(JsonMachine& machine);

    Configuration start();
    bool step(Configuration& config, uint8_t byte, Arena& arena);
    Bits string_satisfied(const Configuration& config);
    // Whether the string that is being read can still be finished in the room that its lengths leave.
    bool string_fits(const Configuration& config) const;
    Bits literal_satisfied(const Configuration& config);
    bool close_key(Configuration& config, Arena& arena);
    bool close_value(Configuration& config, const Bits& satisfied, const KeyByte* start, uint8_t last, Arena& arena);
    bool accepting(const Configuration& config);
    ByteSet next_bytes(const Configuration& config);

private:
    bool advance(Configuration& config, uint8_t byte, Arena& arena);
    bool step_value(Configuration& config, uint8_t byte, Arena& arena);
    void expect_item(Configuration& config, Arena& arena);
    bool begin_value(Configuration& config, uint8_t byte, Arena& arena);
    bool string_fits(const Configuration& config, uint32_t k) const;
    bool step_string(Configuration& config, uint8_t byte, Arena& arena);
    bool step_literal(Configuration& config, uint8_t byte, Arena& arena);
    bool step_before_key(Configuration& config, uint8_t byte, Arena& arena);
    bool step_key(Configuration& config, uint8_t byte, Arena& arena);
    void use_extra_key(Frame* frame, const Configuration& config, Arena& arena);
    bool close_container(Configuration& config, uint8_t last, Arena& arena);
    bool step_after(Configuration& config, uint8_t byte, Arena& arena);

    JsonProgram& program_;
    Positions& positions_;
    FrameMoves& moves_;
    FrameStates& states_;
    Gaps& gaps_;
    UniqueItems& unique_;
};

}  // namespace schemagen
