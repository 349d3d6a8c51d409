#include "json/shortest_tokens.hpp"

#include <algorithm>

#include "json/machine.hpp"
#include "util/heap.hpp"

namespace schemagen {

namespace {

uint64_t key_of(uint32_t number, uint32_t seam) { return uint64_t{number} << 32 | seam; }

// A tail that is known with nothing after it, put before another tail, on the same seam.
Tail onto(const Tail& known, const Tail& after) { return {known.seam, known.tokens + after.tokens}; }

}  // namespace

ShortestTokens::ShortestTokens(JsonMachine& machine) : program_(machine.program), shortest_(machine.shortest) {}

// ---- pieces ---------------------------------------------------------------------------------------------------------

// Nothing where the value is not clear.
ShortestTokens::Piece ShortestTokens::piece(const std::string& text, const Options& options) {
    const Option* option = only(options);
    if (!option) return {};
    const Shortest& shortest = shortest_.texts[option->value];
    if (shortest.kind == Shortest::kUnclear) return {};
    if (shortest.kind == Shortest::kText) return {seams_->part(text + shortest.text)};
    return {seams_->part(text), option->value};
}

const ShortestTokens::Pieces& ShortestTokens::pieces_of_array(uint32_t disjunct) {
    if (const auto known = arrays_.find(disjunct); known != arrays_.end()) return known->second;
    const ArrayDisjunct& array = program_.arrays[disjunct];
    Pieces out;
    out.count = array.min_items;
    out.closed = seams_->part("]");
    out.opened = out.count ? piece("[", ShortestValues::item(array, 0)) : Piece{seams_->part("[")};
    for (uint64_t k = 0; k < std::min<uint64_t>(out.count, array.prefix.size() + 1); ++k)
        out.each.push_back(piece(shortest_.comma(), ShortestValues::item(array, k)));
    return arrays_.emplace(disjunct, std::move(out)).first->second;
}

const ShortestTokens::Pieces& ShortestTokens::pieces_of_object(uint32_t disjunct) {
    if (const auto known = objects_.find(disjunct); known != objects_.end()) return known->second;
    const std::vector<Property>& properties = program_.objects[disjunct].properties;
    const std::vector<uint32_t>& order = shortest_.plans[disjunct].order;
    Pieces out;
    out.count = static_cast<uint32_t>(order.size());
    out.closed = seams_->part("}");
    out.opened = {seams_->part("{")};
    out.rank.assign(properties.size() + 1, 0);
    for (uint32_t k = 0; k < order.size(); ++k) {
        poll();
        const Property& property = properties[order[k]];
        const std::string key = '"' + property.key + '"' + shortest_.colon();
        out.rank[order[k]] = k;
        out.each.push_back(piece(shortest_.comma() + key, property.options));
        if (k == 0) out.opened = piece('{' + key, property.options);
    }
    return objects_.emplace(disjunct, std::move(out)).first->second;
}

const ShortestTokens::Pieces& ShortestTokens::pieces_of(ValueId id) {
    const Shortest& shortest = shortest_.texts[id];
    return shortest.kind == Shortest::kArray ? pieces_of_array(shortest.disjunct) : pieces_of_object(shortest.disjunct);
}

Tail ShortestTokens::before(const Piece& piece, Tail after) {
    return seams_->before(piece.part, piece.inner == kNoValue ? after : value(piece.inner, after));
}

// ---- containers -----------------------------------------------------------------------------------------------------

const Tail* ShortestTokens::known_value(ValueId id, uint32_t after) const {
    const auto known = values_.find(key_of(id, after));
    return known == values_.end() ? nullptr : &known->second;
}

// Its pieces from the last one on; containers inside are entered where their tails are not known.
Tail ShortestTokens::value(ValueId id, Tail after) {
    struct Level {
        ValueId value;
        uint32_t after;  // seam
        Tail tail;       // so far
        uint64_t left;   // pieces
    };
    std::vector<Level> levels;
    const auto enter = [&](ValueId value, uint32_t seam) {
        const Pieces& pieces = pieces_of(value);
        levels.push_back({value, seam, seams_->before(pieces.closed, {seam, 0}), std::max(pieces.count, 1u)});
    };
    const Tail* known = known_value(id, after.seam);
    if (!known) enter(id, after.seam);
    while (!levels.empty()) {
        poll();
        Level& level = levels.back();
        if (level.left == 0) {
            known = &(values_[key_of(level.value, level.after)] = level.tail);
            levels.pop_back();
            continue;
        }
        const Pieces& pieces = pieces_of(level.value);
        const Piece& piece = level.left == 1 ? pieces.opened : pieces.at(level.left - 1);
        Tail tail = level.tail;
        if (piece.inner != kNoValue) {
            const Tail* inner = known_value(piece.inner, tail.seam);
            if (!inner) {
                enter(piece.inner, tail.seam);
                continue;
            }
            tail = onto(*inner, tail);
        }
        level.tail = seams_->before(piece.part, tail);
        --level.left;
    }
    return onto(*known, after);
}

Tail ShortestTokens::items(uint32_t disjunct, uint64_t from, Tail after) {
    Items& recent = items_[from % items_.size()];
    if (recent.disjunct == disjunct && recent.from == from && recent.after == after.seam)
        return onto(recent.tail, after);
    const Pieces& pieces = pieces_of_array(disjunct);
    Tail tail = seams_->before(pieces.closed, {after.seam, 0});
    if (from >= pieces.count) return onto(tail, after);
    const uint64_t alike = std::max<uint64_t>(from, pieces.each.size() - 1);
    tail = repeated(disjunct, pieces.count - alike, tail);
    for (uint64_t k = alike; k-- > from;) tail = before(pieces.each[k], tail);
    recent = {disjunct, after.seam, from, tail};
    return onto(tail, after);
}

// The item that an array ends with, so many times.
Tail ShortestTokens::repeated(uint32_t disjunct, uint64_t times, Tail after) {
    for (uint32_t power = 0; times >> power; ++power)
        if (times >> power & 1) after = onto(run(disjunct, power, after.seam), after);
    return after;
}

// The same two to the power of `power` times.
Tail ShortestTokens::run(uint32_t disjunct, uint32_t power, uint32_t after) {
    if (runs_.size() <= power) runs_.resize(power + 1);
    const uint64_t key = key_of(disjunct, after);
    if (const auto known = runs_[power].find(key); known != runs_[power].end()) return known->second;
    Tail tail{after, 0};
    if (power == 0)
        tail = before(pieces_of_array(disjunct).each.back(), tail);
    else
        for (int half = 0; half < 2; ++half) tail = onto(run(disjunct, power - 1, tail.seam), tail);
    return runs_[power][key] = tail;
}

Tail ShortestTokens::members(uint32_t disjunct, uint32_t from, Tail after) {
    const Pieces& pieces = pieces_of_object(disjunct);
    const std::vector<uint32_t>& order = shortest_.plans[disjunct].order;
    const size_t left = static_cast<size_t>(order.end() - std::ranges::lower_bound(order, from));
    std::vector<Tail>& known = from_member_[key_of(disjunct, after.seam)];
    if (known.empty()) known.push_back(seams_->before(pieces.closed, {after.seam, 0}));
    while (known.size() <= left) {
        poll();
        known.push_back(before(pieces.each[pieces.count - known.size()], known.back()));
    }
    return onto(known[left], after);
}

// ---- members in any order -------------------------------------------------------------------------------------------

const ShortestTokens::Unseen& ShortestTokens::unseen(uint32_t disjunct, const std::vector<uint32_t>& key_at,
                                                     std::span<const uint64_t> seen, uint32_t after) {
    for (const Unseen& known : unseen_)
        if (!known.from.empty() && known.disjunct == disjunct && known.after == after &&
            std::ranges::equal(known.seen, seen))
            return known;
    const Pieces& pieces = pieces_of_object(disjunct);
    const std::vector<uint32_t>& order = shortest_.plans[disjunct].order;
    Unseen out{disjunct, after, {seen.begin(), seen.end()}, {}, {}};
    for (uint32_t k = 0; k < pieces.count; ++k)
        if (!bit(seen.data(), key_at[order[k]])) out.ranks.push_back(k);
    out.from.resize(out.ranks.size() + 1);
    out.from.back() = seams_->before(pieces.closed, {after, 0});
    for (size_t k = out.ranks.size(); k-- > 0;) {
        poll();
        out.from[k] = before(pieces.each[out.ranks[k]], out.from[k + 1]);
    }
    oldest_ = (oldest_ + 1) % unseen_.size();
    return unseen_[oldest_] = std::move(out);
}

Tail ShortestTokens::unseen_members(uint32_t disjunct, const std::vector<uint32_t>& key_at,
                                    std::span<const uint64_t> seen, uint32_t skip, Tail after) {
    const Unseen& left = unseen(disjunct, key_at, seen, after.seam);
    if (skip == kNoKey) return onto(left.from[0], after);
    const Pieces& pieces = pieces_of_object(disjunct);
    const auto at = std::ranges::lower_bound(left.ranks, pieces.rank[skip]);
    auto k = static_cast<size_t>(at - left.ranks.begin());
    Tail tail = left.from[k + 1];
    while (k-- > 0) {
        tail = before(pieces.each[left.ranks[k]], tail);
        if (tail.seam == left.from[k].seam) {  // so are those before it
            tail = {left.from[0].seam, left.from[0].tokens + tail.tokens - left.from[k].tokens};
            break;
        }
    }
    return onto(tail, after);
}

size_t ShortestTokens::memory_bytes() const {
    size_t bytes = seams_ ? seams_->memory_bytes() : 0;
    const auto add_known = [&](const Known& known) { bytes += known.size() * heap_node(sizeof(*known.begin())); };
    const auto add_pieces = [&](const std::unordered_map<uint32_t, Pieces>& all) {
        for (const auto& entry : all)
            bytes += heap_node(sizeof(entry)) + heap_bytes(entry.second.each) + heap_bytes(entry.second.rank);
    };
    add_pieces(arrays_);
    add_pieces(objects_);
    add_known(values_);
    for (const Known& known : runs_) add_known(known);
    for (const auto& entry : from_member_) bytes += heap_node(sizeof(entry)) + heap_bytes(entry.second);
    for (const Unseen& known : unseen_)
        bytes += heap_bytes(known.seen) + heap_bytes(known.ranks) + heap_bytes(known.from);
    return bytes;
}

}  // namespace schemagen
