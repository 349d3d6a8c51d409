#include "json/distinct_items.hpp"

#include <algorithm>

#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

DistinctItems::DistinctItems(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      shortest_(machine.shortest),
      tokens_(machine.tokens),
      lister_(machine) {}

const ItemList& DistinctItems::list(const ArrayDisjunct& array) {
    if (const auto known = lists_.find(&array); known != lists_.end()) return known->second;
    return lists_.emplace(&array, lister_.list(array)).first->second;
}

bool DistinctItems::tells(const ArrayDisjunct& array, uint64_t count) {
    return array.unique && count < array.min_items && shortest_.tells_shortest() && list(array).is_whole;
}

const ArrayDisjunct& DistinctItems::array_of(const FrameState* state, uint32_t slot) const {
    return program_.arrays[positions_[state->position]->arrays->disjuncts[slot]];
}

const ArrayDisjunct* DistinctItems::told(const FrameState* state, uint32_t slot) {
    if (state->kind != FrameKind::kArrayFrame) return nullptr;
    const ArrayDisjunct& array = array_of(state, slot);
    return tells(array, state->count) ? &array : nullptr;
}

uint32_t DistinctItems::most(const ArrayDisjunct& array, uint64_t count) {
    const uint64_t longest = list(array).texts.back().size() + shortest_.comma().size();
    return plus((array.min_items - std::min<uint64_t>(count, array.min_items)) * longest, 1);
}

uint64_t DistinctItems::unused_bytes(const Frame* frame, const ArrayDisjunct& array, uint64_t count) {
    const ItemList& all = list(array);
    size_t end = count;
    uint64_t taken_bytes = 0;
    for (const uint32_t place : used_[used(array, frame->items)].subspan(1)) {
        if (place >= end) break;
        taken_bytes += all.texts[place].size();
        ++end;
    }
    return all.bytes[std::min(end, all.texts.size())] - taken_bytes;
}

std::string DistinctItems::text(const ArrayDisjunct& array) {
    std::string out;
    write(array, nullptr, 0, {}, out);
    return '[' + out.substr(shortest_.comma().size());
}

// The number of the used items.
uint32_t DistinctItems::used(const ArrayDisjunct& array, const ValueList* items) {
    const auto id = static_cast<uint32_t>(&array - program_.arrays.data());
    if (items && items->used != ValueList::kUnknown && used_[items->used][0] == id) return items->used;
    const ItemList& all = list(array);
    std::vector<uint32_t> key{id};
    for (uint32_t k = 0; items && k < items->count; ++k)
        if (const auto at = all.places.find(std::string(items->values[k])); at != all.places.end())
            key.push_back(at->second);
    std::ranges::sort(key.begin() + 1, key.end());
    const uint32_t out = used_.intern(key);
    if (items) items->used = out;
    return out;
}

uint32_t DistinctItems::place(const ItemList& list, const std::string& current) const {
    if (current.empty()) return kNone;
    const auto at = list.places.find(canonical_json(current));
    return at == list.places.end() ? kNone : at->second;
}

// After `count` items, without the one at place `own`.
std::vector<uint32_t> DistinctItems::missing(const ArrayDisjunct& array, uint32_t used, uint32_t own, uint64_t count) {
    const ItemList& all = list(array);
    const auto taken = used_[used].subspan(1);
    std::vector<uint32_t> out;
    auto next = taken.begin();
    for (uint32_t k = 0; k < all.texts.size() && out.size() + count < array.min_items; ++k) {
        if (next != taken.end() && *next == k)
            ++next;
        else if (k != own)
            out.push_back(k);
    }
    std::ranges::sort(out, {}, [&](uint32_t k) { return all.rank[k]; });
    return out;
}

std::string DistinctItems::next(const Frame* frame, uint32_t slot, uint64_t count) {
    const ArrayDisjunct& array = array_of(frame->state, slot);
    if (!array.unique || !list(array).is_whole) return {};
    const uint64_t before = std::min<uint64_t>(count, array.min_items) - 1;
    const std::vector<uint32_t> left = missing(array, used(array, frame->items), kNone, before);
    return left.empty() ? "" : list(array).texts[left[0]];
}

void DistinctItems::write(const ArrayDisjunct& array, const ValueList* items, uint64_t count,
                          const std::string& current, std::string& out) {
    const ItemList& all = list(array);
    for (uint32_t each : missing(array, used(array, items), place(all, current), count))
        out += shortest_.comma() + all.texts[each];
    out += ']';
}

Tail DistinctItems::tail(const ArrayDisjunct& array, const ValueList* items, uint64_t count, const std::string& current,
                         Tail after) {
    constexpr size_t kMostKnown = 20'000;
    const ItemList& all = list(array);
    const uint32_t used = this->used(array, items), own = place(all, current);
    if (tails_.size() > kMostKnown) tails_.clear();
    const Left key{used, own, count, after.seam};
    auto known = tails_.find(key);
    if (known == tails_.end()) {
        Tail out = tokens_.before("]", {after.seam, 0});
        const std::vector<uint32_t> left = missing(array, used, own, count);
        for (size_t k = left.size(); k-- > 0;) out = tokens_.before(shortest_.comma() + all.texts[left[k]], out);
        known = tails_.emplace(key, out).first;
    }
    return {known->second.seam, known->second.tokens + after.tokens};
}

uint32_t DistinctItems::most_differing(const ArrayDisjunct& array, Tail after) {
    const std::pair key(&array, after.seam);
    if (const auto known = differing_.find(key); known != differing_.end()) return known->second;
    const uint32_t most = differing(list(array), tokens_.before("]", {after.seam, 0}).seam);
    return differing_.emplace(key, most).first->second;
}

// Nothing if all items cost the same before the bracket, before such an item, and so on to a seam that repeats. Else
// the tokens of the item that comes instead, and as many again and one where tokens crossed a border to the other item.
uint32_t DistinctItems::differing(const ItemList& all, uint32_t seam) {
    constexpr uint32_t kRounds = 8;
    uint32_t most = 0;
    bool is_same = true;
    for (uint32_t round = 0; is_same && round < kRounds; ++round) {
        const Tail first = tokens_.before(shortest_.comma() + all.texts[0], {seam, 0});
        const uint32_t front = tokens_.fewest(all.texts[0], {seam, 0});
        for (const std::string& text : all.texts) {
            poll();
            const Tail other = tokens_.before(shortest_.comma() + text, {seam, 0});
            is_same = is_same && other == first && tokens_.fewest(text, {seam, 0}) == front;
            most = std::max(most, other.tokens);
        }
        if (is_same && first.seam == seam) return 0;
        seam = first.seam;
    }
    return 2 * most + 1;
}

size_t DistinctItems::memory_bytes() const {
    size_t bytes = used_.memory_bytes() + tails_.size() * heap_node(sizeof(*tails_.begin())) +
                   differing_.size() * heap_node(sizeof(*differing_.begin()));
    for (const auto& [array, list] : lists_) {
        bytes += heap_node(sizeof(*lists_.begin())) + heap_bytes(list.texts) + heap_bytes(list.bytes) +
                 heap_bytes(list.rank);
        for (const auto& [value, place] : list.places)
            bytes += heap_node(sizeof(*list.places.begin())) + heap_bytes(value);
    }
    return bytes;
}

}  // namespace schemagen
