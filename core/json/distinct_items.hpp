// The items that an array of unique strings, numbers or plain objects still requires: the shortest ones that differ.
//
// The shortest items are listed once for each array (json/item_lister.hpp). An array that asks for n more items gets
// the first n of the list that are not used, in order: no n others have fewer bytes. So the shortest rest of such an
// array is told without a search, which would try the values one after the other, in any order.
//
// Invariants: an array that is told asks for at least two items, and the list has as many as it asks for; so it has one
// for each item that is missing, whatever the others are. While an object is open that is one of the items, the rest of
// the array is not told: it depends on what the object becomes.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json/frames.hpp"
#include "json/item_lister.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"
#include "util/interned_lists.hpp"

namespace schemagen {

struct JsonMachine;
class ShortestTokens;
class ShortestValues;

class DistinctItems {
public:
    explicit DistinctItems(JsonMachine& machine);

    // Whether the rest of an array is told here; not where it asks for no more items.
    bool tells(const ArrayDisjunct& array, uint64_t count);
    // The array in a slot of an open one, if its rest is told here; else null.
    const ArrayDisjunct* told(const FrameState* state, uint32_t slot);
    // Where it is: bytes of the `count` shortest items,
    uint64_t bytes(const ArrayDisjunct& array, uint64_t count) { return list(array).bytes[count]; }
    // those of an open one that are not used,
    uint64_t unused_bytes(const Frame* frame, const ArrayDisjunct& array, uint64_t count);
    // and at most of those missing after `count` items, with their commas and the bracket.
    uint32_t most(const ArrayDisjunct& array, uint64_t count);
    // The whole array.
    std::string text(const ArrayDisjunct& array);
    // The next item in a slot of an open array, `count` with it; empty if none is known.
    std::string next(const Frame* frame, uint32_t slot, uint64_t count);
    // The missing items after some that are used, each with its comma, and the bracket. `current`: the item that is
    // being read or comes next, as it will be; empty if there is none.
    void write(const ArrayDisjunct& array, const ValueList* items, uint64_t count, const std::string& current,
               std::string& out);
    // Their tail that goes on with `after`.
    Tail tail(const ArrayDisjunct& array, const ValueList* items, uint64_t count, const std::string& current,
              Tail after);
    // By how many tokens that may be more if one of the items is used, so that another one comes instead; `after` goes
    // on after the bracket.
    uint32_t most_differing(const ArrayDisjunct& array, Tail after);
    size_t memory_bytes() const;

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    using Left = std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>;  // used items, the current one, missing ones, seam

    const ItemList& list(const ArrayDisjunct& array);
    uint32_t differing(const ItemList& all, uint32_t seam);
    const ArrayDisjunct& array_of(const FrameState* state, uint32_t slot) const;
    uint32_t used(const ArrayDisjunct& array, const ValueList* items);
    uint32_t place(const ItemList& list, const std::string& current) const;
    std::vector<uint32_t> missing(const ArrayDisjunct& array, uint32_t used, uint32_t own, uint64_t count);

    JsonProgram& program_;
    Positions& positions_;
    ShortestValues& shortest_;
    ShortestTokens& tokens_;
    ItemLister lister_;
    std::unordered_map<const ArrayDisjunct*, ItemList> lists_;
    InternedLists used_;  // an array and the places of its used items, ascending
    std::map<Left, Tail> tails_;
    std::map<std::pair<const ArrayDisjunct*, uint32_t>, uint32_t> differing_;  // array and seam
};

}  // namespace schemagen
