// Which configurations are the same: for masks (local keys), for budgets and for token tables.
#pragma once
#include <vector>

#include "automata/container_view.hpp"
#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class FrameStates;
class Containers;

class Identities {
public:
    explicit Identities(JsonMachine& machine);

    bool text_matters(const Configuration& config) const;
    uint64_t used_up(const Configuration& config) const;
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key);
    Configuration keep(const Configuration& config, Arena& arena);
    Configuration least_constrained(const Configuration& config);
    bool near_least(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const;
    bool near_most(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const;
    LocalKey local_key(const Configuration& config, uint32_t longest) const;

private:
    uint32_t count_identity(const Configuration& config, bool exact) const;
    uint16_t gap_identity(const Configuration& config) const;
    uint64_t key_identity(const Configuration& config);
    uint32_t count_key(const Configuration& config, uint32_t longest) const;

    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    Containers& containers_;
};

}  // namespace schemagen
