#include "regex/substrings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "util/limits.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

bool continues_character(uint8_t byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

// The edges of states that grow: those of a state lie side by side, in a place with room for a power of two of them. A
// state that needs more moves to a larger place, and its old one is for others.
class SubstringTable::GrowingEdges {
public:
    explicit GrowingEdges(size_t bytes) {
        places_.reserve(2 * bytes + 1);
        bytes_.reserve(4 * bytes + 1);
        targets_.reserve(4 * bytes + 1);
    }
    void add_state() { places_.push_back({}); }
    void add_copy(State state) {
        const Place from = places_[state];
        Place copy{from.count ? room(from.count) : 0, from.count};
        std::copy_n(bytes_.begin() + from.first, from.count, bytes_.begin() + copy.first);
        std::copy_n(targets_.begin() + from.first, from.count, targets_.begin() + copy.first);
        places_.push_back(copy);
    }
    // The target of an edge, to be read or changed. Null if there is none.
    State* find(State state, uint8_t byte) {
        const Place& place = places_[state];
        const uint8_t* begin = bytes_.data() + place.first;
        const void* found = place.count ? std::memchr(begin, byte, place.count) : nullptr;
        return found ? targets_.data() + (static_cast<const uint8_t*>(found) - bytes_.data()) : nullptr;
    }
    void add(State state, uint8_t byte, State target) {
        Place& place = places_[state];
        if (std::has_single_bit(place.count) || !place.count) grow(place);
        bytes_[place.first + place.count] = byte;
        targets_[place.first + place.count] = target;
        ++place.count;
    }
    uint32_t count(State state) const { return places_[state].count; }
    // The edges of a state, sorted.
    void list(State state, std::vector<std::pair<uint8_t, State>>& out) const {
        out.clear();
        const Place& place = places_[state];
        for (uint32_t at = place.first; at < place.first + place.count; ++at)
            out.emplace_back(bytes_[at], targets_[at]);
        std::sort(out.begin(), out.end());
    }

private:
    struct Place {
        uint32_t first = 0, count = 0;
    };
    uint32_t room(uint32_t count) {
        std::vector<uint32_t>& free = free_[static_cast<size_t>(std::bit_width(count - 1))];
        if (free.empty()) {
            const auto end = static_cast<uint32_t>(bytes_.size());
            bytes_.resize(end + std::bit_ceil(count));
            targets_.resize(bytes_.size());
            return end;
        }
        const uint32_t first = free.back();
        free.pop_back();
        return first;
    }
    void grow(Place& place) {
        const uint32_t first = room(place.count + 1);
        if (place.count) {
            std::copy_n(bytes_.begin() + place.first, place.count, bytes_.begin() + first);
            std::copy_n(targets_.begin() + place.first, place.count, targets_.begin() + first);
            free_[static_cast<size_t>(std::bit_width(place.count - 1))].push_back(place.first);
        }
        place.first = first;
    }

    std::vector<Place> places_;                  // [state]
    std::vector<uint8_t> bytes_;                 // [edge]
    std::vector<State> targets_;                 // [edge]
    std::array<std::vector<uint32_t>, 9> free_;  // [k]: places for 2^k edges
};

// The automaton while it grows, with the suffix link of each state: the state of the longest suffix that ends at more
// places.
class SubstringTable::Construction {
public:
    explicit Construction(size_t bytes);
    void append(uint8_t byte);
    void move_to(SubstringTable& table);

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    State add_state(uint32_t length, uint32_t end);
    State copy_of(State before, uint8_t byte, State target);
    std::vector<State> numbers(size_t& words) const;

    GrowingEdges edges_;
    std::vector<uint32_t> length_;  // [state]: of its longest substring
    std::vector<uint32_t> end_;
    std::vector<State> link_;
    State last_ = kStart;
};

SubstringTable::Construction::Construction(size_t bytes) : edges_(bytes) {
    for (std::vector<uint32_t>* each : {&length_, &end_, &link_}) each->reserve(2 * bytes + 1);
    add_state(0, 0);
    edges_.add_state();
}

// Without its edges.
SubstringTable::State SubstringTable::Construction::add_state(uint32_t length, uint32_t end) {
    length_.push_back(length);
    end_.push_back(end);
    link_.push_back(kNone);
    return static_cast<State>(length_.size() - 1);
}

// A copy of `target` for those of its substrings that `before` and the byte are, and shorter ones.
SubstringTable::State SubstringTable::Construction::copy_of(State before, uint8_t byte, State target) {
    const State copy = add_state(length_[before] + 1, end_[target]);
    edges_.add_copy(target);
    link_[copy] = std::exchange(link_[target], copy);
    for (; before != kNone; before = link_[before]) {
        State* to = edges_.find(before, byte);
        if (*to != target) break;
        *to = copy;
    }
    return copy;
}

void SubstringTable::Construction::append(uint8_t byte) {
    const uint32_t length = length_[last_] + 1;
    const State made = add_state(length, length);
    edges_.add_state();
    State at = std::exchange(last_, made);
    const State* known = nullptr;
    for (; at != kNone; at = link_[at]) {
        known = edges_.find(at, byte);
        if (known) break;
        edges_.add(at, byte, made);
    }
    if (!known) {
        link_[made] = kStart;
        return;
    }
    const State target = *known;
    link_[made] = length_[target] == length_[at] + 1 ? target : copy_of(at, byte, target);
}

// The number of each state: first those that have to be written, one after the other.
std::vector<SubstringTable::State> SubstringTable::Construction::numbers(size_t& words) const {
    std::vector<State> numbers(length_.size());
    for (State state = 1; state < numbers.size(); ++state) numbers[link_[state]] = 1;  // it ends at more places
    numbers[kStart] = 1;
    words = 0;
    for (State state = 0; state < numbers.size(); ++state)
        if (numbers[state]) {
            numbers[state] = static_cast<State>(words);
            words += kHead + (edges_.count(state) + 3) / 4 + edges_.count(state);
        } else {
            numbers[state] = kNone;
        }
    for (State state = 0; state < numbers.size(); ++state)
        if (numbers[state] == kNone) numbers[state] = static_cast<State>(words + end_[state]);
    return numbers;
}

// No substring begins within a character.
void SubstringTable::Construction::move_to(SubstringTable& table) {
    size_t words;
    const std::vector<State> numbers = this->numbers(words);
    table.states_ = static_cast<uint32_t>(numbers.size());
    table.words_.resize(words);
    std::vector<std::pair<uint8_t, State>> sorted;
    for (State state = 0; state < table.states_; ++state) {
        poll();
        if (table.is_single(numbers[state])) continue;
        edges_.list(state, sorted);
        if (state == kStart) std::erase_if(sorted, [](const auto& edge) { return continues_character(edge.first); });
        uint32_t* at = table.words_.data() + numbers[state];
        const auto edges = static_cast<uint32_t>(sorted.size());
        at[0] = edges | (state != kStart && table.ends_character(end_[state]) ? kWhole : 0);
        at[1] = end_[state];
        for (uint32_t k = 0; k < edges; ++k) {
            reinterpret_cast<uint8_t*>(at + kHead)[k] = sorted[k].first;
            at[kHead + (edges + 3) / 4 + k] = numbers[sorted[k].second];
        }
    }
}

std::shared_ptr<const SubstringTable> SubstringTable::of(std::string_view text) {
    if (text.size() > kMostBytes) throw LimitExceeded(Limit::kSubstringBytes, text.size(), kMostBytes);
    std::shared_ptr<SubstringTable> table(new SubstringTable);
    table->text_ = text;
    Construction growing(text.size());
    for (char each : text) {
        poll();
        const auto byte = static_cast<uint8_t>(each);
        growing.append(byte);
        table->used_.add(byte);
    }
    growing.move_to(*table);
    for (size_t begin = 0, at = 1; at <= text.size(); ++at) {
        if (!table->ends_character(at)) continue;
        const auto bytes = static_cast<uint32_t>(at - begin);
        table->least_ = table->least_ ? std::min(table->least_, bytes) : bytes;
        begin = at;
    }
    return table;
}

ByteSet SubstringTable::next_bytes(State state) const {
    ByteSet out;
    if (is_single(state)) {
        if (longest(state)) out.add(static_cast<uint8_t>(text_[end_of(state)]));
        return out;
    }
    const Edges edges = edges_of(state);
    for (uint32_t k = 0; k < edges.count; ++k) out.add(edges.bytes[k]);
    return out;
}

uint32_t SubstringTable::shortest(State state) const {
    if (state == kStart) return least_;
    const size_t end = end_of(state);
    size_t at = end;
    while (!ends_character(at)) ++at;
    return static_cast<uint32_t>(at - end);
}

size_t SubstringTable::memory_bytes() const {
    return sizeof(*this) + text_.capacity() + words_.capacity() * sizeof(uint32_t);
}

}  // namespace schemagen
