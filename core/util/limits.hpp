// The exceptions for a limit of the caller that stops the work.
#pragma once
#include <cstdint>
#include <stdexcept>

namespace schemagen {

// The first four are fields of schemagen.Limits, the others are fixed.
enum class Limit : uint8_t {
    kSeconds,         // of one call
    kStates,          // of automata
    kNodes,           // of patterns: `Budget::kNodesPerState` for each state
    kReadings,        // of one text, side by side
    kAlternatives,    // in one place: the bit sets of the core
    kLiteralBytes,    // of an enumeration
    kSubstringBytes,  // of a text whose substrings are meant
    kCompletion,      // bytes of the end of a text that is searched for
};

// A limit stopped the work.
struct LimitExceeded : std::runtime_error {
    template <class Reached, class Most>
    LimitExceeded(Limit limit_, Reached reached_, Most most_, bool worn_ = false)
        : std::runtime_error("a limit was exceeded"),
          limit(limit_),
          reached(static_cast<double>(reached_)),
          most(static_cast<double>(most_)),
          worn(worn_) {}
    Limit limit;
    double reached, most;
    bool worn;           // perhaps earlier texts used it up: a grammar that starts anew may succeed
    bool alone = false;  // one text asked for all of it
};

}  // namespace schemagen
