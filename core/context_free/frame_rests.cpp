#include "context_free/frame_rests.hpp"

#include <algorithm>
#include <utility>

#include "context_free/frame_parser.hpp"
#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {
constexpr uint32_t kFar = RestBounds::kFar;
}

size_t FrameRests::index(FrameId frame, SymbolId rule) const {
    const auto& rules = parser_.kinds_[parser_.frames_[frame].kind].rules;
    return static_cast<size_t>(std::lower_bound(rules.begin(), rules.end(), rule) - rules.begin());
}

FrameRests::Bytes FrameRests::after(FrameId frame, SymbolId rule) {
    return Bytes(after(frame)).subspan(index(frame, rule) * bounds_.class_count(), bounds_.class_count());
}

// Frames below are measured first: there may be very many.
const std::vector<uint32_t>& FrameRests::after(FrameId frame) {
    if (after_.size() <= frame) after_.resize(parser_.frames_.size());
    std::vector<FrameId> todo;
    if (after_[frame].empty()) todo.push_back(frame);
    while (!todo.empty()) {
        const FrameId next = todo.back();
        const size_t before = todo.size();
        for (const FrameParser::Return& each : parser_.returns_of(next))
            if (each.parent != FrameParser::kRoot && after_[each.parent].empty()) todo.push_back(each.parent);
        if (todo.size() > before) continue;
        todo.pop_back();
        if (after_[next].empty()) after_[next] = find_after(next);
    }
    return after_[frame];
}

// After each rule of a frame: shortest paths, within the frame and below it. A step within the frame is repeated when
// its continuation was lowered.
std::vector<uint32_t> FrameRests::find_after(FrameId frame) {
    const FrameParser::Kind& kind = parser_.kinds_[parser_.frames_[frame].kind];
    const unsigned classes = bounds_.class_count();
    std::vector<uint32_t> out(kind.rules.size() * classes, kFar);
    std::vector<uint32_t> lowered(kind.rules.size()), seen(kind.inner.size());  // how often; as a step knows it
    const auto of = [&](size_t rule) { return std::span(out).subspan(rule * classes, classes); };
    const auto rule_of = [&](ItemId item) { return parser_.grammar_.rule_of(item); };
    for (const FrameParser::Return& each : parser_.returns_of(frame)) {
        const size_t rule = index(frame, each.rule);
        lowered[rule] = 1;
        if (each.parent == FrameParser::kRoot)
            bounds_.end(of(rule));
        else
            bounds_.lower_through(each.item, after(each.parent, rule_of(each.item)), of(rule));
    }
    for (bool changed = true; changed;) {
        changed = false;
        poll();
        for (size_t k = 0; k < kind.inner.size(); ++k) {
            const auto [rule, item] = kind.inner[k];
            const size_t from = index(frame, rule_of(item)), to = index(frame, rule);
            if (std::exchange(seen[k], lowered[from]) == lowered[from]) continue;
            if (bounds_.lower_through(item, of(from), of(to))) changed = true, ++lowered[to];
        }
    }
    return out;
}

uint32_t FrameRests::bytes(ParserState state) {
    uint32_t best = parser_.states_[state][0] ? 0 : kFar;
    const auto flat = parser_.states_[state];
    for (size_t k = 1; k + 1 < flat.size(); k += 2)
        for (ItemId item : parser_.vectors_[flat[k + 1]]) {
            const Bytes after = this->after(flat[k], parser_.grammar_.rule_of(item));
            best = std::min(best, bounds_.through(item, bounds_.ignored_class(), after));
        }
    return best;
}

std::span<const Distance> FrameRests::distances(ParserState state) {
    if (const auto known = distances_.find(state); known != distances_.end()) return known->second;
    std::vector<Distance> all;
    const auto flat = parser_.states_[state];
    for (size_t k = 1; k + 1 < flat.size(); k += 2)
        for (ItemId item : parser_.vectors_[flat[k + 1]])
            for (const auto& edge : parser_.grammar_.edges(item))
                if (!parser_.grammar_.is_rule(edge.symbol))
                    all.push_back({edge.symbol, bounds_.through(edge.target, bounds_.class_of(edge.symbol),
                                                                after(flat[k], parser_.grammar_.rule_of(item)))});
    return distances_[state] = nearest(std::move(all));
}

size_t FrameRests::memory_bytes() const {
    size_t bytes = heap_bytes(after_);
    for (const auto& each : after_) bytes += heap_bytes(each);
    for (const auto& [_, all] : distances_) bytes += heap_node(sizeof(*distances_.begin())) + heap_bytes(all);
    return bytes;
}

}  // namespace schemagen
