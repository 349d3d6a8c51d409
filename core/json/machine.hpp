// The parts of the JSON automaton. Each names in its header the other parts that it asks.
#pragma once
#include "json/containers.hpp"
#include "json/distinct_items.hpp"
#include "json/explainer.hpp"
#include "json/frame_moves.hpp"
#include "json/frame_states.hpp"
#include "json/gaps.hpp"
#include "json/groups.hpp"
#include "json/growth.hpp"
#include "json/identities.hpp"
#include "json/min_bytes.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"
#include "json/required_parts.hpp"
#include "json/shortest_rest.hpp"
#include "json/shortest_tokens.hpp"
#include "json/shortest_values.hpp"
#include "json/stepper.hpp"
#include "json/token_bounds.hpp"
#include "json/unique_items.hpp"

namespace schemagen {

struct JsonMachine {
    JsonMachine(std::shared_ptr<SharedAutomata> shared, JsonOptions options, uint64_t max_states)
        : program(std::move(shared), std::move(options), max_states) {}
    JsonMachine(const JsonMachine&) = delete;  // the parts refer to one another
    JsonMachine& operator=(const JsonMachine&) = delete;

    JsonProgram program;
    Positions positions{*this};
    Groups groups{*this};
    FrameMoves moves{*this};
    FrameStates states{*this};
    Gaps gaps{*this};
    MinBytes min_bytes{*this};
    Identities identities{*this};
    ShortestValues shortest{*this};
    ShortestTokens tokens{*this};
    DistinctItems distinct{*this};
    Growth growth{*this};
    RequiredParts parts{*this};
    ShortestRest rest{*this};
    TokenBounds bounds{*this};
    UniqueItems unique{*this};
    Stepper stepper{*this};
    Containers containers{*this};
    Explainer explainer{*this};
};

}  // namespace schemagen
