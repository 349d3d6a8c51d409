// How much one automaton may remember of texts; what lies beyond it makes the constraint start anew (constraint.hpp).
#pragma once
#include <cstdint>

#include "util/limits.hpp"

namespace schemagen {

struct Allowance {
    uint64_t max_states;        // parser states, frames, lexer states and sets of strands
    uint32_t max_alternatives;  // of one text at once
    uint64_t states = 0;

    void add_state() {
        if (++states > max_states)
            throw LimitExceeded(Limit::kStates, static_cast<double>(states), static_cast<double>(max_states), true);
    }
    void check_alternatives(size_t reached) const {
        if (reached > max_alternatives)
            throw LimitExceeded(Limit::kReadings, static_cast<double>(reached), static_cast<double>(max_alternatives));
    }
};

}  // namespace schemagen
