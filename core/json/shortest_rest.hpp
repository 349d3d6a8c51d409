// The shortest way to the end of an open text, and its tokens, without a search.
#pragma once
#include <optional>
#include <string>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"
#include "json/required_parts.hpp"

namespace schemagen {

struct JsonMachine;
class Containers;
class DistinctItems;
class FrameStates;
class MinBytes;
class ShortestTokens;
class ShortestValues;
class UniqueItems;

class ShortestRest {
public:
    explicit ShortestRest(JsonMachine& machine);

    bool write_shortest(const Configuration& config, std::string& out);
    std::optional<uint32_t> fewest_tokens(const Configuration& config);
    uint32_t most_differing(const Configuration& from, const Configuration& next);
    uint32_t position_of_next(const Configuration& config) const;
    std::optional<std::string> unlike(const Configuration& config) const;
    bool rest_of_word(const Configuration& config, uint32_t language, std::string& out) const;

private:
    static constexpr ValueId kNoValue = UINT32_MAX;
    static constexpr Tail kNoTail{UINT32_MAX, 0};
    // What of a slot is being read, or comes first in the shortest text.
    struct Begun {
        uint32_t slot = RequiredParts::kNoSlot;
        uint32_t property = kNoKey;  // a required one
        uint32_t items = 0;          // not counted yet
    };
    // The beginning of the shortest text: the rest of a word or key, or the next member or item.
    struct Front {
        std::string text = {};
        ValueId value = kNoValue;  // a container after the text
        std::string item = {};     // of an array of unique items: the one that is being read or comes next
        Begun begun = {};          // of the container that is open
    };
    std::string unlike_scalar(const Position& p, const ValueList& others) const;
    bool find_front(const Configuration& config, Front& out);
    bool add_first(const Frame* frame, Front& out) const;
    bool add_property(const FrameState* state, uint32_t property, Front& out) const;
    bool add_value(ValueId id, Front& out) const;
    bool write_rest(const Frame* frame, const Begun& begun, const std::string& item, std::string& out) const;
    bool write_member(const Configuration& config, uint32_t slot, std::string& out) const;
    bool write_extra_member(const Configuration& config, uint32_t slot, std::string& out) const;
    bool write_declared_member(const Configuration& config, uint32_t slot, std::string& out) const;
    Tail tail(const Frame* frame, const Begun& begun, const std::string& item, Tail after) const;
    Tail tail_after(const Frame* frame) const;

    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    UniqueItems& unique_;
    Containers& containers_;
    MinBytes& min_bytes_;
    ShortestValues& shortest_;
    ShortestTokens& tokens_;
    RequiredParts& parts_;
    DistinctItems& distinct_;
};

}  // namespace schemagen
