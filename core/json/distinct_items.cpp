#include "json/distinct_items.hpp"

#include <algorithm>
#include <numeric>

#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

DistinctItems::DistinctItems(JsonMachine& machine)
    : program_(machine.program), positions_(machine.positions), shortest_(machine.shortest), tokens_(machine.tokens) {}

namespace {

// Their order in a text, each with the comma after it.
std::vector<uint32_t> ranks(const std::vector<std::string>& texts) {
    std::vector<uint32_t> order(texts.size()), out(texts.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](uint32_t k) { return texts[k] + ','; });
    for (uint32_t rank = 0; rank < order.size(); ++rank) out[order[rank]] = rank;
    return out;
}

}  // namespace

// ---- the list -------------------------------------------------------------------------------------------------------

const DistinctItems::List& DistinctItems::list(const ArrayDisjunct& array) {
    const auto [at, is_new] = lists_.try_emplace(&array);
    if (!is_new) return at->second;
    List made;
    try {
        fill(made, array);
    } catch (const LimitExceeded& error) {
        if (error.limit == Limit::kSeconds) {
            lists_.erase(at);
            throw;
        }
    }
    made.is_whole = made.texts.size() == array.min_items;
    made.bytes.assign(1, 0);
    for (const std::string& text : made.texts) made.bytes.push_back(made.bytes.back() + text.size());
    made.rank = ranks(made.texts);
    return at->second = std::move(made);
}

// By length. After an item, numbers that need no exponents have none; up to three bytes that changes nothing.
void DistinctItems::fill(List& out, const ArrayDisjunct& array) {
    constexpr uint32_t kMostItems = 10'000, kLongest = 256, kShort = 3, kStepsPerItem = 300;
    const Option* option = array.prefix.empty() && array.final.size() == 1 ? only(array.items) : nullptr;
    if (!option || array.min_items < 2 || array.min_items > kMostItems) return;
    const ValueNode& value = program_.values[option->value];
    if (!value.objects.empty() || !value.arrays.empty() || value.strings.size() > 1) return;
    const StringDisjunct* string = value.strings.empty() ? nullptr : value.strings.data();
    const NodeId literal = program_.kernel().without_idle_exponents(value.literal);
    const auto start_of = [&](NodeId language) {
        return language == kEmpty ? 0 : program_.dfa().intern({language}, false);
    };
    const uint32_t word = start_of(literal), content = string ? start_of(string->regex) : 0;
    most_ = array.min_items;
    steps_ = uint64_t{most_} * kStepsPerItem + kMostItems;
    std::string text;
    const auto add_texts = [&](const StringDisjunct* of, uint32_t start, uint32_t length) {
        text.clear();
        return !start || program_.dfa().bytes_to_accept(start, 0) > length || add_words(out, of, start, length, text);
    };
    for (uint32_t length = 1; length <= kLongest; ++length) {
        if (length >= 2 && !add_texts(string, content, length - 2)) break;  // a quote comes before the rest
        if (!add_texts(nullptr, word, length)) break;
    }
    if (literal != value.literal && !out.texts.empty() && out.texts.back().size() > kShort) out = {};
}

// Add the words of `left` more bytes from a state on. Returns false if the list is whole, or takes too long.
bool DistinctItems::add_words(List& out, const StringDisjunct* string, uint32_t state, uint32_t left,
                              std::string& word) {
    LazyDfa& dfa = program_.dfa();
    if (!left) return !dfa.state(state).accepts[0] || add(out, string, word);
    for (unsigned byte = 0; byte < 256; ++byte) {
        const uint32_t to = dfa.next(state, static_cast<uint8_t>(byte));
        if (!to || !dfa.state(to).alive[0] || dfa.bytes_to_accept(to, 0) >= left) {
            byte = dfa.last_alike(state, static_cast<uint8_t>(byte));
            continue;
        }
        poll();
        if (!steps_) return false;
        --steps_;
        word.push_back(static_cast<char>(byte));
        if (!add_words(out, string, to, left - 1, word)) return false;
        word.pop_back();
    }
    return true;
}

// Returns false if the list is whole.
bool DistinctItems::add(List& out, const StringDisjunct* string, const std::string& word) const {
    const std::string text = string ? '"' + word + '"' : word;
    std::string value = canonical_json(text);
    if (string) {
        const size_t chars = decode_string(value).size();
        if (chars < string->min_chars || chars > string->max_chars) return true;
    }
    const auto place = static_cast<uint32_t>(out.texts.size());
    if (out.places.try_emplace(std::move(value), place).second) out.texts.push_back(text);
    return out.texts.size() < most_;
}

// ---- the missing items ----------------------------------------------------------------------------------------------

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

std::string DistinctItems::text(const ArrayDisjunct& array) {
    std::string out;
    write(array, nullptr, 0, {}, out);
    return '[' + out.substr(shortest_.comma().size());
}

// The number of the used items.
uint32_t DistinctItems::used(const ArrayDisjunct& array, const ValueList* items) {
    const auto id = static_cast<uint32_t>(&array - program_.arrays.data());
    if (items && items->used != ValueList::kUnknown && used_[items->used][0] == id) return items->used;
    const List& all = list(array);
    std::vector<uint32_t> key{id};
    for (uint32_t k = 0; items && k < items->count; ++k)
        if (const auto at = all.places.find(std::string(items->values[k])); at != all.places.end())
            key.push_back(at->second);
    std::ranges::sort(key.begin() + 1, key.end());
    const uint32_t out = used_.intern(key);
    if (items) items->used = out;
    return out;
}

uint32_t DistinctItems::place(const List& list, const std::string& current) const {
    if (current.empty()) return kNone;
    const auto at = list.places.find(canonical_json(current));
    return at == list.places.end() ? kNone : at->second;
}

// After `count` items, without the one at place `own`.
std::vector<uint32_t> DistinctItems::missing(const ArrayDisjunct& array, uint32_t used, uint32_t own, uint64_t count) {
    const List& all = list(array);
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
    const List& all = list(array);
    for (uint32_t each : missing(array, used(array, items), place(all, current), count))
        out += shortest_.comma() + all.texts[each];
    out += ']';
}

Tail DistinctItems::tail(const ArrayDisjunct& array, const ValueList* items, uint64_t count, const std::string& current,
                         Tail after) {
    constexpr size_t kMostKnown = 20'000;
    const List& all = list(array);
    const uint32_t used = this->used(array, items), own = place(all, current);
    if (tails_.size() > kMostKnown) tails_.clear();
    const auto [known, is_new] = tails_.try_emplace(Left{used, own, count, after.seam});
    if (is_new) {
        Tail out = tokens_.before("]", {after.seam, 0});
        const std::vector<uint32_t> left = missing(array, used, own, count);
        for (size_t k = left.size(); k-- > 0;) out = tokens_.before(shortest_.comma() + all.texts[left[k]], out);
        known->second = out;
    }
    return {known->second.seam, known->second.tokens + after.tokens};
}

uint32_t DistinctItems::most_differing(const ArrayDisjunct& array, Tail after) {
    const auto [known, is_new] = differing_.try_emplace(std::pair(&array, after.seam), 0);
    if (is_new) known->second = differing(list(array), tokens_.before("]", {after.seam, 0}).seam);
    return known->second;
}

// Nothing if all items cost the same before the bracket, before such an item, and so on to a seam that repeats. Else
// the tokens of the item that comes instead, and as many again and one where tokens crossed a border to the other item.
uint32_t DistinctItems::differing(const List& all, uint32_t seam) {
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
