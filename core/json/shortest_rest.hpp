// The needs of an open text: an upper bound of tokens, and the shortest way to its end, written without a search.
#pragma once
#include <string>

#include "automata/completion_guide.hpp"
#include "json/frames.hpp"
#include "json/min_bytes.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"
#include "json/shortest_values.hpp"

namespace schemagen {

struct JsonMachine;
class FrameStates;
class Gaps;
class MinBytes;
class ShortestValues;

class ShortestRest {
public:
    explicit ShortestRest(JsonMachine& machine);

    Required required(const FrameState* state, uint32_t slot) const;
    void remember_required(const FrameState* state) const;
    void take(const FrameState* state, uint32_t key) const;
    uint32_t only_slot(const FrameState* state) const;
    const Around& summed(const Frame* frame);
    void sum_around(const Around& around, const Frame* parent);
    bool has_sums(const Frame* frame) const;
    uint32_t most_tokens_around(const Configuration& config) const;
    uint32_t most_tokens(const Configuration& config);
    uint32_t next_required(const Configuration& config) const;
    static bool has_many_orders(const Configuration& config) {
        constexpr uint32_t kMany = 5;  // required keys that are left
        return config.frame && config.frame->state->has_required && config.frame->state->required.count >= kMany;
    }
    bool write_shortest(const Configuration& config, std::string& out);
    static constexpr uint32_t kNoSlot = UINT32_MAX;

private:
    static constexpr uint32_t kMostTried = 16;  // keys that need not come
    uint32_t most_after(const Frame* frame) const;
    uint32_t most_slot(const Required& rest, bool opened) const;
    uint32_t most_any_slot(const Required& rest, bool opened) const;
    uint32_t slots(const FrameState* state) const;
    uint32_t most_rest(const Frame* frame, bool opened) const;
    uint32_t most_position(uint32_t id) const;
    uint32_t most_key(const Configuration& config);
    uint32_t most_member(const Configuration& config) const;
    uint32_t most_extra_member(const FrameState* state, uint32_t slot, uint32_t extra) const;
    const ExtraKeys* any_keys(const FrameState* state, uint32_t slot) const;
    bool is_offered(const FrameState* state, uint32_t slot, uint32_t key) const;
    bool write_member(const Configuration& config, uint32_t slot, std::string& out) const;
    bool write_declared_member(const Configuration& config, uint32_t slot, std::string& out) const;
    bool write_extra_member(const Configuration& config, uint32_t slot, std::string& out) const;
    uint32_t most_word(const Configuration& config) const;
    bool rest_of_word(const Configuration& config, uint32_t language, std::string& out) const;
    bool write_rest(const FrameState* state, uint32_t slot, bool first, uint32_t skip, std::string& out) const;

    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    Gaps& gaps_;
    MinBytes& min_bytes_;
    ShortestValues& shortest_;
};

}  // namespace schemagen
