// How much one token may add to the tokens that the rest of a text needs: far from the end of a budget no token need be
// looked at.
//
// A token can only add to them where it begins an optional part, or one alternative where another is shorter, or stops
// inside a word. It may go on with the value that is being read, or begin the next member or item of one of the open
// containers, or of one that it opens itself, which is as deep as a token has brackets. Of a member that is not the
// next one it begins the key alone: hardly any vocabulary has tokens with a comma, a key and a colon.
//
// An item that must differ from others is counted with 64 tokens more, which is not proven to be enough.
#pragma once
#include <vector>

#include "json/program.hpp"
#include "util/heap.hpp"
#include "vocabulary/spelling.hpp"

namespace schemagen {

struct JsonMachine;
class ShortestValues;

class Growth {
public:
    explicit Growth(JsonMachine& machine);

    // Once the shortest values are settled.
    void settle(const VocabularyTables& tables);
    // In tokens; kFar if it is unknown.
    uint32_t of_value(ValueId id) const { return is_settled_ ? inside(id, true) : kFar; }  // that is being read
    uint32_t of_items(uint32_t disjunct) const { return is_settled_ ? arrays_[disjunct] : kFar; }
    uint32_t of_members(uint32_t disjunct) const { return is_settled_ ? objects_[disjunct] : kFar; }  // inside a key
    uint32_t of_keys(uint32_t disjunct) const { return is_settled_ ? keys_[disjunct] : kFar; }        // outside of one
    size_t memory_bytes() const {
        size_t bytes = 0;
        for (const auto* each : {&scalars_, &opened_, &containers_, &objects_, &keys_, &arrays_})
            bytes += heap_bytes(*each);
        return bytes;
    }

private:
    uint32_t peak(const ValueNode& value) const;
    uint32_t most_opened(const ValueNode& value) const;
    uint32_t inside(ValueId id, bool counted) const;
    uint32_t member(const std::vector<Option>& options, bool counted, uint32_t key, bool with_value) const;
    uint32_t members(uint32_t disjunct, bool with_values) const;
    uint32_t items(const ArrayDisjunct& disjunct) const;

    JsonProgram& program_;
    ShortestValues& shortest_;
    uint32_t begun_ = kFar;  // tokens of a character of a string that was begun
    std::vector<uint32_t> scalars_, opened_,
        containers_;                                 // [value]: within its words, by an opening bracket, inside it
    std::vector<uint32_t> objects_, keys_, arrays_;  // [disjunct]
    bool is_settled_ = false;
};

}  // namespace schemagen
