// The answers for the mask engine (automata/container_view.hpp): how to read a container without its surroundings,
// where strings end, and which keys were used.
#pragma once
#include <string>
#include <vector>

#include "automata/container_view.hpp"
#include "automata/string_view.hpp"
#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class FrameStates;
class Identities;
class Stepper;

class Containers final : public ContainerView, public StringView {
public:
    explicit Containers(JsonMachine& machine);

    Configuration detached(const Configuration& config, Arena& arena) override;
    bool after_close(const Configuration& inside, uint32_t how, Configuration& out, Arena& arena) override;
    uint32_t& tails_of(const Configuration& config) const override;
    bool leave(Configuration& config) const override;
    bool is_text_dependent(const Configuration& config) const override;
    StringBody string_body(const Configuration& config, uint32_t longest) override;
    StringBody free_of_text(const Configuration& config) override;
    bool go_on(Configuration& config, uint32_t state, uint32_t chars) override;
    uint32_t literal_state(const Configuration& config) const override;
    bool close_string(Configuration& config, uint32_t state, uint32_t chars, Arena& arena) override;
    Configuration as_declared_key(const Configuration& config) override;
    ByteSet declared_bytes(const Configuration& config) override;
    void declared_closings(const Configuration& config, const Trie& trie, std::vector<uint32_t>& nodes) override;
    bool has_used_keys(const Configuration& config) const override;
    std::vector<std::string> used_key_suffixes(const Configuration& config) override;
    void settle(Configuration& config, Arena& arena) override;

    LocalKey local_key(const Configuration& config, uint32_t longest) const override;

private:
    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    Identities& identities_;
    Stepper& stepper_;
};

}  // namespace schemagen
