// Places where values are expected, and the automata and tries of the values allowed there; made when a text first
// reaches them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "json/frames.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;

struct TrieNode {
    uint8_t byte;
    uint32_t depth;                 // of this byte, 0 for the root
    uint32_t first_child, sibling;  // 0: none
    uint32_t low, high;             // sorted keys below
    uint32_t key;                   // kNoKey unless a key ends here
};

// The objects that are allowed at one position. A disjunct with n states takes n places in the bit sets ("slots").
struct ObjectSet {
    std::vector<uint32_t> disjuncts;  // [slot]
    std::vector<uint32_t> state;      // [slot] state of its disjunct
    std::vector<uint16_t> owner;      // [slot] component of the position
    Bits initial;                     // slots alive at the start
    std::vector<std::string> keys;    // sorted, of all disjuncts
    std::vector<TrieNode> trie;
    std::vector<std::vector<const std::vector<Option>*>> options;  // [slot][key], null if the key is forbidden
    std::vector<std::vector<uint32_t>> place;               // [slot][key] -> declaration index, kNoKey: an extra key
    std::vector<std::vector<uint32_t>> key_at;              // [slot][declaration index] -> key
    std::vector<std::vector<uint64_t>> required;            // [slot] keys, as bits
    bool tracks_keys = false;                               // some class of extra keys is finite from some prefix on
    std::vector<std::pair<uint16_t, uint32_t>> components;  // of the extra-key automaton: (first slot, extras index)
    uint32_t extra_start = 0;
    uint32_t words = 0;
    std::vector<uint32_t> first_alternative;  // [slot] number of its first alternative; empty if no slot has groups
    uint32_t alternatives = 0;                // of all slots
    uint32_t alternative_words() const { return (alternatives + 63) / 64; }
    uint32_t most_count = 0;  // more members make no difference
};

struct ArraySet {
    std::vector<uint32_t> disjuncts;
    std::vector<uint32_t> state;
    std::vector<uint16_t> owner;
    Bits initial;
    uint32_t most_count = 0;  // more items make no difference
    bool unique = false;      // some disjunct asks for unique items
    uint32_t base(uint32_t slot) const { return slot - state[slot]; }
};

// A place where a value is expected: the values that the living disjuncts ask for.
struct Position {
    std::vector<ValueId> values;
    bool prepared = false;
    uint32_t string_start = 0;
    std::vector<StringDisjunct> strings;
    std::vector<uint16_t> string_owner;
    bool counted = false;
    uint32_t literal_start = 0;
    std::vector<uint16_t> literal_owner;
    std::unique_ptr<ObjectSet> objects;
    std::unique_ptr<ArraySet> arrays;
    const FrameState* object_state = nullptr;  // just opened; null until computed
    const FrameState* array_state = nullptr;
};

// The step after a key, or to an index: the position, and which slot each satisfied component leads to.
struct Move {
    ValueId value;
    uint32_t slot;
    uint32_t alternative = kNoAlternative;  // of a group, by its number in the frame (json/groups.hpp)
    bool operator==(const Move&) const = default;
};

struct Child {
    uint32_t position;
    std::vector<Move> moves;
    std::vector<uint16_t> component;  // [move]
};

class Positions {
public:
    explicit Positions(JsonMachine& machine);

    uint32_t child(std::vector<Move> moves);
    Position& prepared(uint32_t id);

    Position* operator[](uint32_t id) const { return positions_[id].get(); }
    size_t size() const { return positions_.size(); }

    std::vector<Child> children;

private:
    uint32_t position(std::vector<ValueId> values);
    void prepare_strings(Position& p);
    void prepare_literal(Position& p);
    void prepare_arrays(Position& p);
    void prepare_objects(Position& p);
    template <class Set>
    static void add_slots(Set& set, uint32_t disjunct, size_t states, size_t owner);
    void number_alternatives(ObjectSet& set);
    void list_keys(ObjectSet& set);
    void place_keys(ObjectSet& set, uint32_t slot);
    void start_extra_keys(ObjectSet& set);
    void build_trie(ObjectSet& set);

    JsonProgram& program_;
    std::vector<std::unique_ptr<Position>> positions_;
    HashIndex position_index_;
    HashIndex child_index_;
};

}  // namespace schemagen
