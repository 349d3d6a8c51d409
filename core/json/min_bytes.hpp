// The fewest bytes that a JSON text needs from here to its end: the guide of the search for the shortest one
// (completion.hpp).
//
// Bounds are sums: the rest of the value being read, then for each open container around it the keys and values that it
// still requires. A value's own bound is a least fixpoint over the schema (Knuth 1977, shortest derivations). Where
// several alternatives are alive the smallest of them counts, so a bound is never too high, and where there is one it
// mostly is exact. What the containers around require depends on which component of its position a value satisfies
// (`Around::leasts`): after `[[`, an array that has to contain a boolean still requires one.
#pragma once
#include <unordered_map>
#include <vector>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class DistinctItems;
class FrameStates;
class Gaps;
class Groups;
class RequiredParts;
class TokenBounds;
class UniqueItems;

// Bytes of some members or items without the commas between them, how many they are, and how many of these may be any:
// one of at least `first` bytes, as one key may be empty, and others of at least `other`.
struct Needed {
    uint64_t bytes = 0, count = 0, any = 0, first = 0, other = 0;
};

class MinBytes {
public:
    explicit MinBytes(JsonMachine& machine);

    uint32_t min_bytes_option(const std::vector<Option>& options, uint32_t depth) const;
    uint32_t min_bytes_option(const Options& options, uint32_t depth) const;
    Needed needed_members(const ObjectDisjunct& disjunct, const FrameState* state, uint32_t slot,
                          uint32_t alternative = kNoAlternative) const;
    Needed needed_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count, uint32_t depth) const;
    uint32_t closed(const Needed& inside) const;
    void settle_min_bytes();
    uint32_t min_bytes_after(const Frame* frame);
    uint32_t min_bytes(const Configuration& config);
    void sum_around(const Around& around, const Frame* parent);
    size_t memory_bytes() const;

    std::vector<uint32_t> of_value;  // [value] bytes of the shortest instance; empty until computed

private:
    uint64_t least_member(const ObjectDisjunct& disjunct, uint32_t key, uint32_t depth) const;
    static Needed without_any(Needed needed);
    Needed needed_of(const ObjectDisjunct& disjunct, const Group& group, const FrameState* state, uint32_t slot,
                     uint32_t taken, uint32_t alternative) const;
    uint64_t member_bytes(const Property& property, uint32_t value, uint32_t depth) const;
    uint32_t least_item(const Options& options, bool repeated, uint32_t depth) const;
    void settle_min_bytes_repeated();
    void settle_to_final();
    Needed needed(const FrameState* state, uint32_t slot, uint32_t alternative = kNoAlternative) const;
    Needed needed(const Frame* frame, uint32_t slot, uint32_t alternative = kNoAlternative) const;
    const std::vector<uint16_t>& owners(const FrameState* state) const;
    uint32_t closed_by(const Frame* frame, uint32_t slot) const;
    uint32_t min_bytes_slot(const Frame* frame, const Move& move) const;
    uint32_t min_bytes_satisfied(const Frame* frame, uint32_t component);
    uint32_t min_bytes_rest(const Frame* frame, bool opened);
    uint32_t min_bytes_position(uint32_t id, const Frame* frame);
    uint32_t min_bytes_unlike(uint32_t id, uint32_t component, const ValueList* others);
    uint32_t min_bytes_key(const Configuration& config);
    uint32_t min_bytes_extra(const Configuration& config) const;
    uint32_t min_bytes_declared(const Frame* frame, uint32_t slot, const TrieNode& node, const Needed& rest) const;
    uint32_t min_bytes_string(const Configuration& config);
    uint32_t min_bytes_literal(const Configuration& config);
    uint64_t min_bytes_first(const Configuration& config);
    uint64_t min_bytes_next_key(const Configuration& config);
    uint32_t min_bytes_value(ValueId value, uint32_t depth) const;
    uint64_t min_bytes_lines(const std::vector<Option>& options) const;
    uint64_t min_bytes_lines(const Options& options) const;
    uint64_t min_bytes_lines(const ObjectDisjunct& disjunct) const;
    uint64_t min_bytes_lines(const ArrayDisjunct& disjunct) const;
    void settle_min_bytes_lines();

    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    Gaps& gaps_;
    Groups& groups_;
    RequiredParts& parts_;
    DistinctItems& distinct_;
    TokenBounds& bounds_;
    UniqueItems& unique_;
    std::vector<std::vector<Needed>> to_final_;  // [array][state] the items to a final state; empty if it counts none
    std::vector<uint32_t>
        of_repeated_;  // [value] the same after an item of an array with unique items; empty if there are none
    std::vector<uint32_t> of_lines_;     // [value] line breaks of the instance with the fewest; empty if there are none
    std::vector<uint32_t> bytes_after_;  // [state]
    std::unordered_map<uint64_t, std::vector<uint32_t>> leasts_;  // by the hash of the containers around
};

}  // namespace schemagen
