// The needs of an open text: an upper bound of tokens, and the shortest way to its end, written without a search.
#pragma once
#include <optional>
#include <string>

#include "automata/completion_guide.hpp"
#include "json/frames.hpp"
#include "json/min_bytes.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"
#include "json/shortest_tokens.hpp"
#include "json/shortest_values.hpp"

namespace schemagen {

struct JsonMachine;
class Containers;
class FrameStates;
class Gaps;
class Growth;
class MinBytes;
class ShortestTokens;
class ShortestValues;
class UniqueItems;

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
    uint32_t most_after_token(const Configuration& config) const;
    uint32_t most_growth(const Configuration& config) const;
    uint32_t most_tokens(const Configuration& config);
    uint32_t next_required(const Configuration& config) const;
    bool write_shortest(const Configuration& config, std::string& out);
    std::optional<uint32_t> fewest_tokens(const Configuration& config);
    static constexpr uint32_t kNoSlot = UINT32_MAX;

private:
    static constexpr uint32_t kMostTried = 16;  // keys that need not come
    static constexpr ValueId kNoValue = UINT32_MAX;
    static constexpr Tail kNoTail{UINT32_MAX, 0};
    // What of a slot is being read, or comes first in the shortest text.
    struct Begun {
        uint32_t slot = kNoSlot;
        uint32_t property = kNoKey;  // a required one
        uint32_t items = 0;          // not counted yet
    };
    // The beginning of the shortest text: the rest of a word or key, or the next member or item.
    struct Front {
        std::string text = {};
        ValueId value = kNoValue;  // a container after the text
        Begun begun = {};          // of the container that is open
    };
    uint32_t position_of_next(const Configuration& config) const;
    std::optional<std::string> unlike(const Configuration& config) const;
    std::string unlike_scalar(const Position& p, const ValueList& others) const;
    uint32_t most_value(const Configuration& config) const;
    uint32_t most_after(const Frame* frame) const;
    uint32_t most_tokens_around(const Configuration& config) const;
    uint32_t growth(const FrameState* state) const;
    uint32_t growth_inside(const Configuration& config) const;
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
    bool is_missing(const FrameState* state, uint32_t slot, uint32_t property) const;
    bool write_rest(const FrameState* state, const Begun& begun, std::string& out) const;
    Tail tail(const FrameState* state, const Begun& begun, Tail after) const;
    Tail tail_after(const Frame* frame) const;
    bool find_front(const Configuration& config, Front& out);
    bool add_first(const FrameState* state, Front& out) const;
    bool add_property(const FrameState* state, uint32_t property, Front& out) const;
    bool add_value(ValueId id, Front& out) const;

    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    UniqueItems& unique_;
    Containers& containers_;
    Gaps& gaps_;
    MinBytes& min_bytes_;
    ShortestValues& shortest_;
    ShortestTokens& tokens_;
    Growth& growth_;
};

}  // namespace schemagen
