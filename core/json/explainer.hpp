// Why a byte cannot follow, in words: the answer of `Matcher.explain` for a token that the mask forbids.
//
// The frame that refuses tells the missing or full part; the text tells its place, because frames forget everything
// that no mask depends on, names of keys included. This runs only for a call of `explain`, and all of it ends in a
// text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class FrameMoves;
class FrameStates;
class Gaps;
class Stepper;

class Explainer {
public:
    explicit Explainer(JsonMachine& machine);

    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena);

private:
    std::string types_at(uint32_t position);
    std::string expected_value(uint32_t position, uint8_t byte, const std::string& pointer);
    std::string expected_item(const Configuration& config, const std::string& pointer);
    std::string expected_string(const Configuration& config, uint8_t byte, const std::string& pointer);
    std::string expected_literal(const Configuration& config, uint8_t byte, std::string_view text,
                                 const std::string& pointer, std::string_view scalar, Arena& arena);
    std::string keys_for(const Configuration& config, std::string_view prefix);
    std::string expected_key(const Configuration& config, uint8_t byte, const std::string& pointer,
                             std::string_view scalar);
    std::string open_end(const Configuration& config, const std::string& pointer);
    std::vector<std::string> missing_keys(const FrameState* state) const;
    std::string expected_after(const Configuration& config, uint8_t byte, const std::string& pointer);

    JsonProgram& program_;
    Positions& positions_;
    FrameMoves& moves_;
    FrameStates& states_;
    Gaps& gaps_;
    Stepper& stepper_;
};

}  // namespace schemagen
