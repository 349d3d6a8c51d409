// The shortest items of an array that differ, by length and then in order, each value once.
//
// Items are strings, numbers and names, or plain objects: those of which all that they require are strings, numbers and
// names. Where objects may have further members, the list goes up to the bytes of the shortest one that has. Words are
// enumerated along the automaton of their language, those of one length at a time: lower bounds of the bytes to its end
// tell which ways lead to a word.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "json/program.hpp"

namespace schemagen {

struct JsonMachine;
class ShortestValues;

struct ItemList {
    std::vector<std::string> texts;
    std::unordered_map<std::string, uint32_t> places;  // by value: of its text
    std::vector<uint64_t> bytes;                       // [k]: of the first k
    std::vector<uint32_t> rank;                        // [k]: of text k, among all in order
    bool is_whole = false;                             // as many as the array asks for
};

class ItemLister {
public:
    explicit ItemLister(JsonMachine& machine);

    // As many items as an array asks for; fewer, and perhaps none, where it takes too long or other items may be as
    // short.
    ItemList list(const ArrayDisjunct& array);

private:
    // A fixed text, and words of a string or of numbers and names after it. An item is made of some, and an end.
    struct Part {
        std::string before = {};
        const StringDisjunct* string = nullptr;
        uint32_t content = 0, word = 0;  // where its words start, as states; 0: there are none
        uint32_t word_bytes = 0;         // of the shortest one of these
        bool idle = false;               // whether the first item may have numbers that others may not
        uint32_t least = 0;              // bytes from here to the end of the item
    };
    struct Form {
        std::vector<Part> parts;
        std::string end;
        uint32_t most = UINT32_MAX;  // bytes; longer items may have other forms
    };
    void fill(ItemList& out, const ArrayDisjunct& array);
    bool find_form(ValueId item);
    bool add_part(const std::string& before, ValueId id);
    bool add_object(const ObjectDisjunct& object);
    uint32_t least_from(size_t part) const;
    bool add_from(ItemList& out, size_t part, uint32_t left);
    bool add_words(ItemList& out, size_t part, size_t begin, uint32_t state, uint32_t left);
    bool end_words(ItemList& out, size_t part, size_t begin, uint32_t left);
    bool add(ItemList& out) const;

    JsonProgram& program_;
    ShortestValues& shortest_;
    Form form_;           // of the list that is made
    std::string text_;    // so far
    uint32_t most_ = 0;   // items
    uint64_t steps_ = 0;  // left
};

}  // namespace schemagen
