// uniqueItems: items are compared as values, and a value that would repeat is kept out of reach.
//
// Inside an array with unique items the text of every value is kept, and each finished item is remembered in canonical
// form. The next item carries them as values it must not become. On the way down into an item this list is narrowed to
// the remembered values that agree with the text so far; where nothing but closing brackets could follow the value
// being read, it must differ from the matching part of each of them, which is taken out of its language. So a repeated
// item is avoided at its last free choice. Where that choice has few values and all of them are used, it is a dead end:
// the choices before it do not look ahead (docs/concepts/exact-masks.md).
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class FrameStates;

class UniqueItems {
public:
    explicit UniqueItems(JsonMachine& machine);

    void set_forbidden(Frame* frame, std::string_view key, Arena& arena);
    bool note_value(Frame* frame, const Configuration& config, const KeyByte* start, uint8_t last, Bits& alive,
                    Arena& arena);
    bool is_forbidden(const Frame* frame) const;
    // The start of a string, and of a number or literal name, at a position, without the values it must not become;
    // null: there are none.
    uint32_t string_start(const Position& p, const ValueList* forbidden);
    uint32_t literal_start(const Position& p, const ValueList* forbidden);
    size_t memory_bytes() const;

private:
    uint32_t string_start_without(const Position& p, const ValueList& forbidden);
    uint32_t literal_start_without(const Position& p, const ValueList& forbidden);
    ValueList* list(const std::vector<std::string_view>& values, Arena& arena) const;
    bool all_unique(const Frame* frame, const Bits& slots) const;
    bool must_close(const Frame* frame, Arena& arena);
    NodeId spelled(std::vector<std::u32string> texts);
    NodeId spelled_literal(std::string_view value);

    JsonProgram& program_;
    Positions& positions_;
    FrameStates& states_;
    std::unordered_map<std::string, NodeId> literals_;  // all texts of some numbers and names
};

}  // namespace schemagen
