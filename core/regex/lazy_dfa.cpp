#include "regex/lazy_dfa.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "util/hash.hpp"

namespace schemagen {

LazyDfa::LazyDfa(Kernel& kernel) : kernel_(kernel) {
    states_.push_back({});
    rows_.push_back({nullptr, nullptr, false, false});
    open_row(0);
    rows_[0].targets[0] = 0;
    for (State& state : tracked_) {
        state.count = 1;
        state.alive.set(0);
    }
    tracked_[1].accepts.set(0);
}

uint32_t LazyDfa::intern(const std::vector<NodeId>& raw, bool marked) {
    std::vector<NodeId> components(raw);
    size_t real = components.size() - (marked ? 1 : 0);
    Bits accepts, alive;
    uint64_t hash = marked ? 11 : 5;
    for (size_t k = 0; k < real; ++k) {
        if (kernel_.is_empty(components[k])) components[k] = kEmpty;
        if (components[k] != kEmpty) alive.set(k);
        if (kernel_.nullable(components[k])) accepts.set(k);
    }
    if (alive.none()) return 0;
    if (real == 1 && !marked)
        if (const uint32_t tracked = state_on_track(components[0])) return tracked;
    for (NodeId node : components) hash = mix(hash, node);
    uint32_t known = index_.find(hash, [&](uint32_t k) {
        const State& other = states_[k];
        return other.marked == marked && other.count == real &&
               std::equal(components.begin(), components.end(), components_.begin() + other.first);
    });
    if (known != HashIndex::kNone) return known;
    kernel_.before_write();
    if (Budget* budget = kernel_.budget()) budget->add_state();
    bool boundary = marked && kernel_.is_any_string(components.back());
    uint32_t id = static_cast<uint32_t>(states_.size());
    State& state = states_.emplace_back();
    state.first = static_cast<uint32_t>(components_.size());
    state.count = static_cast<uint16_t>(real);
    state.marked = marked;
    state.boundary = boundary;
    state.accepts = accepts;
    state.alive = alive;
    components_.insert(components_.end(), components.begin(), components.end());
    rows_.push_back({nullptr, nullptr, boundary, accepts.any()});
    index_.insert(hash, id);
    return id;
}

uint32_t* LazyDfa::allocate(size_t targets) {
    constexpr size_t kFirst = 256,
                     kChunk = 4096;  // the first holds any row; most languages of one grammar need few more
    if (pool_left_ < targets) {
        pool_left_ = pool_.empty() ? kFirst : kChunk;
        pool_.push_back(std::make_unique<uint32_t[]>(pool_left_));
        pool_size_ += pool_left_;
        pool_end_ = pool_.back().get() + pool_left_;
    }
    uint32_t* out = pool_end_ - pool_left_;
    pool_left_ -= targets;
    return out;
}

size_t LazyDfa::memory_bytes() const {
    constexpr size_t kOfMap = 40;
    return states_.size() * sizeof(State) + components_.capacity() * sizeof(NodeId) + rows_.capacity() * sizeof(Row) +
           pool_size_ * sizeof(uint32_t) + (distances_.size() + near_.size()) * kOfMap +
           classes_.size() * (sizeof(Classes) + sizeof(ByteCuts)) + index_.memory_bytes() +
           tracks_.size() * sizeof(Track) + leaving_.size() * kOfMap;
}

// ---- substrings ---------------------------------------------------------------------------------------------------

// 0 if the node is not a substring, or there is no room for the states of another table.
uint32_t LazyDfa::state_on_track(NodeId node) {
    const auto place = kernel_.substring_place(node);
    const Track* track = place ? track_for(*place) : nullptr;
    return track ? track->base + place->state : 0;
}

const LazyDfa::Track* LazyDfa::track_for(const Nodes::SubstringPlace& place) {
    for (const Track& track : tracks_)
        if (track.table_id == place.table && track.rest == place.rest) return &track;
    const SubstringTable& table = kernel_.substring_table(place.table);
    const uint32_t base = tracks_.empty() ? kTracked : tracks_.back().base + tracks_.back().table->end();
    if (tracks_.size() == kMostTracks || UINT32_MAX - base <= table.end()) return nullptr;
    kernel_.before_write();
    if (Budget* budget = kernel_.budget()) budget->add_state();
    Track track{&table, place.table, place.rest, base, kernel_.nullable(place.rest), {}};
    for (unsigned byte = 0; byte < 256; ++byte)
        if (kernel_.derivative(place.rest, static_cast<uint8_t>(byte)) != kEmpty)
            track.leaving.add(static_cast<uint8_t>(byte));
    return &tracks_.emplace_back(track);
}

uint32_t LazyDfa::next_on_track(uint32_t id, uint8_t byte) {
    poll();
    const Track& track = track_of(id);
    const SubstringTable::State next = track.table->next(id - track.base, byte);
    if (track.leaving.has(byte) && track.table->whole(id - track.base)) return leave_track(track, id, byte, next);
    return next ? track.base + next : 0;
}

// The substring may end here, and the text after it begin with the byte; the substring may go on with it, too.
uint32_t LazyDfa::leave_track(const Track& track, uint32_t id, uint8_t byte, SubstringTable::State next) {
    const uint64_t key = uint64_t{id} << 8 | byte;
    if (const auto known = leaving_.find(key); known != leaving_.end()) return known->second;
    kernel_.before_write();
    const NodeId goes_on = next ? kernel_.at_substring({track.table_id, next, track.rest}) : kEmpty;
    const NodeId target = kernel_.alternation({goes_on, kernel_.derivative(track.rest, byte)});
    return leaving_[key] = intern({target}, false);
}

NodeId LazyDfa::node_on_track(uint32_t id) {
    const Track& track = track_of(id);
    return kernel_.at_substring({track.table_id, id - track.base, track.rest});
}

uint32_t LazyDfa::bytes_to_accept(uint32_t id, uint32_t k) {
    if (!is_tracked(id)) return kernel_.shortest(component(id, k));
    const Track& track = track_of(id);
    return std::min(kUnbounded / 4, track.table->shortest(id - track.base) + kernel_.shortest(track.rest));
}

// A* (Hart, Nilsson and Raphael 1968), cut off after a few states: the next one bounds the others.
uint32_t LazyDfa::near_bytes_to_accept(uint32_t start, uint32_t k) {
    constexpr size_t kMostLooked = 32;
    const uint64_t key = uint64_t{start} << 16 | k;
    if (const auto known = near_.find(key); known != near_.end()) return known->second;
    using Entry = std::tuple<uint32_t, uint32_t, uint32_t>;  // bound, bytes so far, state
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::unordered_map<uint32_t, uint32_t> least{{start, 0}};  // bytes to the states that were met
    open.emplace(bytes_to_accept(start, k), 0, start);
    for (size_t looked = 0; !open.empty(); ++looked) {
        const auto [bound, bytes, at] = open.top();
        open.pop();
        if (looked == kMostLooked || state(at).accepts[k]) return near_[key] = bound;
        each_target(at, 0, 255, [&](uint32_t target) {
            if (!target || !state(target).alive[k]) return true;
            const auto [met, is_new] = least.try_emplace(target, bytes + 1);
            if (!is_new && met->second <= bytes + 1) return true;
            met->second = bytes + 1;
            open.emplace(bytes + 1 + bytes_to_accept(target, k), bytes + 1, target);
            return true;
        });
    }
    return near_[key] = kUnbounded / 4;
}

// Find the bytes that behave alike, and make room for one target each.
void LazyDfa::open_row(uint32_t id) {
    kernel_.before_write();
    const State& state = states_[id];
    ByteCuts cut{};
    for (size_t k = 0; k < state.count + (state.marked ? 1u : 0u); ++k)
        kernel_.add_cuts(components_[state.first + k], cut);
    cut[0] &= ~1ull;  // byte 0 always begins the first class
    uint64_t hash = mix(mix(mix(mix(1, cut[0]), cut[1]), cut[2]), cut[3]);
    uint32_t at = classes_index_.find(hash, [&](uint32_t k) { return cuts_[k] == cut; });
    if (at == HashIndex::kNone) {
        at = static_cast<uint32_t>(classes_.size());
        Classes& made = classes_.emplace_back();
        uint8_t next = 0, last = 255;
        for (unsigned byte = 0; byte < 256; ++byte)
            made.of[byte] = next = static_cast<uint8_t>(next + (cut[byte >> 6] >> (byte & 63) & 1));
        for (unsigned byte = 256; byte-- > 0;) {
            made.last[byte] = last;
            if (cut[byte >> 6] >> (byte & 63) & 1) last = static_cast<uint8_t>(byte - 1);
        }
        cuts_.push_back(cut);
        classes_index_.insert(hash, at);
    }
    size_t width = classes_[at].of[255] + 1u;
    rows_[id].classes = &classes_[at];
    rows_[id].targets = allocate(width);
    std::fill_n(rows_[id].targets, width, kUnknown);
}

ByteSet LazyDfa::next_bytes(uint32_t id) {
    ByteSet out;
    if (is_tracked(id)) {
        const Track& track = track_of(id);
        out = track.table->next_bytes(id - track.base);
        if (track.table->whole(id - track.base)) out.add(track.leaving);
        return out;
    }
    for (unsigned byte = 0; byte < 256;) {
        const bool alive = next(id, static_cast<uint8_t>(byte)) != 0;
        for (const unsigned last = last_alike(id, static_cast<uint8_t>(byte)); byte <= last; ++byte)
            if (alive) out.add(static_cast<uint8_t>(byte));
    }
    return out;
}

uint32_t LazyDfa::chars_to_accept(uint32_t start, uint32_t k) {
    auto arrived = [&](uint32_t id) { return boundary(id) && state(id).accepts[k]; };
    if (arrived(start)) return 0;
    if (!state(start).alive[k]) return kUnbounded;
    if (kernel_.is_any_string(component(start, k))) return boundary(start) ? 0 : 1;
    if (auto known = distances_.find(uint64_t{start} << 16 | k); known != distances_.end()) return known->second;
    kernel_.before_write();
    if (auto told = kernel_.least_chars(component(start, k))) return distances_[uint64_t{start} << 16 | k] = *told;
    // Breadth first by completed characters: bytes inside a character cost nothing. Stops at the limit for one state.
    std::unordered_set<uint32_t> seen{start};
    std::vector<uint32_t> level{start}, next_level;
    uint32_t found = kUnbounded;
    for (uint32_t chars = 0; !level.empty() && chars < found; ++chars) {
        next_level.clear();
        for (size_t at = 0; at < level.size(); ++at) {
            poll();
            each_target(level[at], 0, 255, [&](uint32_t to) {
                if (!to || !state(to).alive[k] || !seen.insert(to).second) return true;
                if (arrived(to))
                    found = std::min(found, chars + 1);
                else if (!boundary(to))
                    level.push_back(to);
                else if (auto told = kernel_.least_chars(component(to, k)))
                    found = std::min(found, chars + 1 + *told);
                else
                    next_level.push_back(to);
                return true;
            });
        }
        level.swap(next_level);
    }
    distances_.emplace(uint64_t{start} << 16 | k, found);
    return found;
}

uint32_t LazyDfa::compute(uint32_t id, uint8_t byte) {
    poll();
    kernel_.before_write();
    const State& from = states_[id];
    size_t total = from.count + (from.marked ? 1u : 0u);
    std::vector<NodeId> target(total);
    for (size_t k = 0; k < total; ++k) target[k] = kernel_.derivative(components_[from.first + k], byte);
    uint32_t to = intern(target, from.marked);
    rows_[id].targets[rows_[id].classes->of[byte]] = to;
    return to;
}

}  // namespace schemagen
