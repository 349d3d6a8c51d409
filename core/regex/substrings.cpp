#include "regex/substrings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "util/limits.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

bool continues_character(uint8_t byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

// The automaton while it grows: edges in lists, and with each state its suffix link, the state of the longest suffix
// that ends at more places. The edges of the start, of which there are many and which are asked for most, are an array.
class SubstringTable::Construction {
public:
    explicit Construction(size_t bytes);
    void append(uint8_t byte);
    void move_to(SubstringTable& table);

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Edge {
        uint32_t next;
        State target;
    };
    State make(uint32_t length, uint32_t end);
    uint32_t edge_of(State state, uint8_t byte) const;
    State target_of(State state, uint8_t byte) const;
    void add_edge(State state, uint8_t byte, State target);
    State copy_of(State before, uint8_t byte, State target);

    std::array<State, 256> start_{};  // kStart: no edge
    std::vector<uint32_t> length_;    // [state]: of its longest substring
    std::vector<uint32_t> end_;
    std::vector<State> link_;
    std::vector<uint32_t> head_;  // [state]: of its list of edges
    std::vector<Edge> edges_;
    std::vector<uint8_t> bytes_;  // [edge]
    State last_ = kStart;
};

SubstringTable::Construction::Construction(size_t bytes) {
    for (std::vector<uint32_t>* each : {&length_, &end_, &link_, &head_}) each->reserve(2 * bytes + 1);
    edges_.reserve(3 * bytes + 1);
    bytes_.reserve(3 * bytes + 1);
    make(0, 0);
}

SubstringTable::State SubstringTable::Construction::make(uint32_t length, uint32_t end) {
    length_.push_back(length);
    end_.push_back(end);
    link_.push_back(kNone);
    head_.push_back(kNone);
    return static_cast<State>(length_.size() - 1);
}

uint32_t SubstringTable::Construction::edge_of(State state, uint8_t byte) const {
    uint32_t at = head_[state];
    while (at != kNone && bytes_[at] != byte) at = edges_[at].next;
    return at;
}

SubstringTable::State SubstringTable::Construction::target_of(State state, uint8_t byte) const {
    if (state == kStart) return start_[byte];
    const uint32_t edge = edge_of(state, byte);
    return edge == kNone ? kStart : edges_[edge].target;
}

void SubstringTable::Construction::add_edge(State state, uint8_t byte, State target) {
    if (state == kStart) {
        start_[byte] = target;
        return;
    }
    edges_.push_back({head_[state], target});
    bytes_.push_back(byte);
    head_[state] = static_cast<uint32_t>(edges_.size() - 1);
}

// A copy of `target` for those of its substrings that `before` and the byte are, and shorter ones.
SubstringTable::State SubstringTable::Construction::copy_of(State before, uint8_t byte, State target) {
    const State copy = make(length_[before] + 1, end_[target]);
    for (uint32_t at = head_[target]; at != kNone; at = edges_[at].next) add_edge(copy, bytes_[at], edges_[at].target);
    link_[copy] = link_[target];
    link_[target] = copy;
    for (; before != kNone; before = link_[before]) {
        if (before == kStart) {
            if (start_[byte] == target) start_[byte] = copy;
            break;
        }
        const uint32_t edge = edge_of(before, byte);
        if (edges_[edge].target != target) break;
        edges_[edge].target = copy;
    }
    return copy;
}

void SubstringTable::Construction::append(uint8_t byte) {
    const uint32_t length = length_[last_] + 1;
    const State made = make(length, length);
    State at = std::exchange(last_, made), target = kStart;
    for (; at != kNone; at = link_[at]) {
        target = target_of(at, byte);
        if (target) break;
        add_edge(at, byte, made);
    }
    if (at == kNone)
        link_[made] = kStart;
    else
        link_[made] = length_[target] == length_[at] + 1 ? target : copy_of(at, byte, target);
}

// The edges one state after the other, sorted. No substring begins within a character.
void SubstringTable::Construction::move_to(SubstringTable& table) {
    head_.shrink_to_fit();
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (!start_[byte] || continues_character(static_cast<uint8_t>(byte))) continue;
        edges_.push_back({head_[kStart], start_[byte]});
        bytes_.push_back(static_cast<uint8_t>(byte));
        head_[kStart] = static_cast<uint32_t>(edges_.size() - 1);
    }
    table.first_.reserve(head_.size() + 1);
    table.bytes_.reserve(edges_.size());
    table.targets_.reserve(edges_.size());
    std::vector<std::pair<uint8_t, State>> sorted;
    for (uint32_t head : head_) {
        poll();
        sorted.clear();
        for (uint32_t at = head; at != kNone; at = edges_[at].next) sorted.emplace_back(bytes_[at], edges_[at].target);
        std::sort(sorted.begin(), sorted.end());
        table.first_.push_back(static_cast<uint32_t>(table.bytes_.size()));
        for (const auto& [byte, target] : sorted) {
            table.bytes_.push_back(byte);
            table.targets_.push_back(target);
        }
    }
    table.first_.push_back(static_cast<uint32_t>(table.bytes_.size()));
    table.end_ = std::vector<uint32_t>(end_);  // without the room that was left
}

std::shared_ptr<const SubstringTable> SubstringTable::of(std::string_view text) {
    if (text.size() > kMostBytes) throw LimitExceeded("max_substring_bytes", text.size(), kMostBytes);
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
    table->whole_.assign(table->size() / 64 + 1, 0);
    for (State state = 1; state < table->size(); ++state)
        if (table->ends_character(table->end_[state])) table->whole_[state >> 6] |= 1ull << (state & 63);
    for (size_t begin = 0, at = 1; at <= text.size(); ++at) {
        if (!table->ends_character(at)) continue;
        const auto bytes = static_cast<uint32_t>(at - begin);
        table->least_ = table->least_ ? std::min(table->least_, bytes) : bytes;
        begin = at;
    }
    return table;
}

bool SubstringTable::ends_character(size_t at) const {
    return at == text_.size() || !continues_character(static_cast<uint8_t>(text_[at]));
}

const uint8_t* SubstringTable::lower_bound(const uint8_t* begin, const uint8_t* end, uint8_t byte) {
    return std::lower_bound(begin, end, byte);
}

ByteSet SubstringTable::next_bytes(State state) const {
    ByteSet out;
    for (uint32_t edge = first_[state]; edge < first_[state + 1]; ++edge) out.add(bytes_[edge]);
    return out;
}

uint32_t SubstringTable::shortest(State state) const {
    if (state == kStart) return least_;
    uint32_t at = end_[state];
    while (!ends_character(at)) ++at;
    return at - end_[state];
}

size_t SubstringTable::memory_bytes() const {
    return sizeof(*this) + text_.capacity() + bytes_.capacity() +
           (first_.capacity() + targets_.capacity() + end_.capacity()) * sizeof(uint32_t) +
           whole_.capacity() * sizeof(uint64_t);
}

}  // namespace schemagen
