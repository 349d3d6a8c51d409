// The continuations of a rule that was called at a frame, and which frames allow more than others.
//
// A continuation is a list of (item, frame), where the item has something left to read: the rest of the text is the
// text of the item, then the continuation of its rule at that frame. So one continuation is within another one if each
// of its items is in the other one, too, at a frame whose continuation of the rule is not smaller: the greatest
// simulation (Park 1981). It is sound and not complete: a continuation that is not found to be within another one may
// still allow no more texts.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "context_free/grammar.hpp"
#include "util/interned_lists.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class FrameParser;
using FrameId = uint32_t;

class Continuations {
public:
    explicit Continuations(const FrameParser& parser) : parser_(parser) {}
    // Whether all that may follow a rule at one frame may follow it at the other one.
    bool within(FrameId one, FrameId other, SymbolId rule) { return within(of(one, rule), of(other, rule)); }
    size_t memory_bytes() const { return lists_.memory_bytes() + ids_.memory_bytes() + within_.memory_bytes(); }

private:
    using Id = uint32_t;
    static constexpr ItemId kEnd = UINT32_MAX;  // where the text may end
    static constexpr size_t kMostAssumed = 64;  // pairs in one search
    Id of(FrameId frame, SymbolId rule);
    bool within(Id one, Id other);
    bool search(Id one, Id other);
    bool has_items(Id one, Id other) const;
    bool covers(Id other, ItemId item, FrameId frame);

    const FrameParser& parser_;
    InternedLists lists_;                     // [continuation]: items and frames, sorted by item
    PairMap ids_;                             // (frame, rule) -> continuation
    PairMap within_;                          // (one, other) -> whether, as far as it is known
    std::vector<std::pair<Id, Id>> assumed_;  // of the search that goes on
};

}  // namespace schemagen
