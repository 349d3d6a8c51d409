// The exceptions for a limit of the caller that stops the work.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace schemagen {

// A limit stopped the work. `knob` is the field of schemagen.Limits, or a description of a fixed limit of the core.
struct LimitExceeded : std::runtime_error {
    template <class Reached, class Limit>
    LimitExceeded(std::string knob_, Reached reached_, Limit limit_, bool worn_ = false)
        : std::runtime_error(knob_),
          knob(std::move(knob_)),
          reached(static_cast<double>(reached_)),
          limit(static_cast<double>(limit_)),
          worn(worn_) {}
    std::string knob;
    double reached, limit;
    bool worn;           // perhaps earlier texts used it up: a grammar that starts anew may succeed
    bool alone = false;  // one text asked for all of it
    bool nodes = false;  // the limit is on derivatives, `Budget::kNodesPerState` for each state
};

}  // namespace schemagen
