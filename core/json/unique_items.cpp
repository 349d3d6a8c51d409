#include <algorithm>
#include <functional>
#include <unordered_set>

#include "json/machine.hpp"
#include "json/number_values.hpp"
#include "json/values.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"
#include "util/limits.hpp"
#include "util/shown.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

namespace {

// The value of `key` (an object) or at `index` (an array) in canonical text, and how many parts there are.
std::string_view part(std::string_view value, bool object, std::string_view key, size_t index, size_t& parts) {
    if (value[0] != (object ? '{' : '[')) return {};
    auto members = members_of(value);
    parts = members.size();
    if (!object) return index < members.size() ? members[index].value : std::string_view();
    for (const Member& member : members)
        if (member.key == key) return member.value;
    return {};
}

}  // namespace

UniqueItems::UniqueItems(JsonMachine& machine)
    : program_(machine.program), positions_(machine.positions), states_(machine.states) {}

ValueList* UniqueItems::list(const std::vector<std::string_view>& values, Arena& arena) const {
    if (values.empty()) return nullptr;
    auto* items = static_cast<std::string_view*>(arena.allocate(values.size() * sizeof(std::string_view)));
    std::copy(values.begin(), values.end(), items);
    auto* out = static_cast<ValueList*>(arena.allocate(sizeof(ValueList)));
    *out = {items, static_cast<uint32_t>(values.size())};
    return out;
}

// Whether every disjunct that may still be alive asks for unique items.
bool UniqueItems::all_unique(const Frame* frame, const Bits& slots) const {
    if (frame->state->kind != FrameKind::kArrayFrame) return false;
    const ArraySet& set = *positions_[frame->state->position]->arrays;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot)
        if (slots[slot] && !program_.arrays[set.disjuncts[slot]].unique) return false;
    return slots.any();
}

// Whether nothing can follow the value being read but closing brackets, up to the innermost array with unique items.
bool UniqueItems::must_close(const Frame* frame, Arena& arena) {
    Bits targets;
    for (const Move& move : positions_.children[frame->state->child].moves) targets.set(move.slot);
    uint32_t extra_start = frame->pending ? states_.settled_extra_keys(frame) : frame->state->extra_start;
    return states_.with_value(frame->state, targets, Bits().set(), extra_start, arena)->more.none();
}

// The values that a value must not be. Called when `frame` expects one under `key` (quoted, canonical) or at its
// current index.
void UniqueItems::set_forbidden(Frame* frame, std::string_view key, Arena& arena) {
    frame->child_forbidden = nullptr;
    std::vector<std::string_view> values;
    if (frame->items) {
        Bits targets;
        for (const Move& move : positions_.children[frame->state->child].moves) targets.set(move.slot);
        if (all_unique(frame, targets))
            for (uint32_t k = 0; k < frame->items->count; ++k) values.push_back(frame->items->values[k]);
    }
    if (frame->forbidden && must_close(frame, arena)) {
        bool object = frame->state->kind == FrameKind::kObjectFrame;
        for (uint32_t k = 0; k < frame->forbidden->count; ++k) {
            size_t parts = 0;
            std::string_view value = part(frame->forbidden->values[k], object, key, frame->count - 1, parts);
            if (!value.empty() && parts == frame->count) values.push_back(value);
        }
    }
    frame->child_forbidden = list(values, arena);
}

// Called when a value has been read in `frame`: narrow the values that it must not become, remember an item. Returns
// false if an item repeats.
bool UniqueItems::note_value(Frame* frame, const Configuration& config, const KeyByte* start, uint8_t last, Bits& alive,
                             Arena& arena) {
    if (!frame->forbidden && frame->state->kind != FrameKind::kArrayFrame) return true;
    std::string written = text_since(config.text, start);
    if (last) written.push_back(static_cast<char>(last));
    std::string canonical = canonical_json(written);
    if (frame->forbidden) {
        bool object = frame->state->kind == FrameKind::kObjectFrame;
        std::vector<std::string_view> agreeing;
        for (uint32_t k = 0; k < frame->forbidden->count; ++k) {
            size_t parts = 0;
            if (part(frame->forbidden->values[k], object, frame->key, frame->count - 1, parts) == canonical)
                agreeing.push_back(frame->forbidden->values[k]);
        }
        frame->forbidden = list(agreeing, arena);
    }
    if (frame->state->kind != FrameKind::kArrayFrame) return true;
    const ArraySet& set = *positions_[frame->state->position]->arrays;
    bool repeated = false, wanted = false;
    for (uint32_t k = 0; frame->items && k < frame->items->count; ++k) repeated |= frame->items->values[k] == canonical;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        if (!alive[slot] || !program_.arrays[set.disjuncts[slot]].unique) continue;
        if (repeated)
            alive.reset(slot);
        else
            wanted = true;
    }
    if (wanted) {
        std::vector<std::string_view> items;
        if (frame->items) items.assign(frame->items->values, frame->items->values + frame->items->count);
        items.push_back(store(canonical, arena));
        frame->items = list(items, arena);
    }
    return alive.any();
}

// Whether the container just closed is one of the values it must not become.
bool UniqueItems::is_forbidden(const Frame* frame) const {
    char opening = frame->state->kind == FrameKind::kObjectFrame ? '{' : '[';
    for (uint32_t k = 0; frame->forbidden && k < frame->forbidden->count; ++k)
        if (frame->forbidden->values[k][0] == opening && members_of(frame->forbidden->values[k]).size() == frame->count)
            return true;
    return false;
}

// Strings, in every JSON spelling, as a tree over code points.
NodeId UniqueItems::spelled(std::vector<std::u32string> texts) {
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    std::function<NodeId(size_t, size_t, size_t)> build = [&](size_t begin, size_t end, size_t depth) -> NodeId {
        std::vector<NodeId> parts;
        size_t i = begin;
        if (i < end && texts[i].size() == depth) parts.push_back(kEpsilon), ++i;
        while (i < end) {
            char32_t code = texts[i][depth];
            size_t j = i;
            while (j < end && texts[j][depth] == code) ++j;
            NodeId rest;
            if (j - i == 1) {  // an unshared tail, without recursion
                rest = kEpsilon;
                for (size_t k = texts[i].size(); k > depth + 1; --k)
                    rest = program_.kernel().concat(
                        program_.kernel().chars(Encoding::kJson, {{texts[i][k - 1], texts[i][k - 1]}}), rest);
            } else {
                rest = build(i, j, depth + 1);
            }
            parts.push_back(program_.kernel().concat(program_.kernel().chars(Encoding::kJson, {{code, code}}), rest));
            i = j;
        }
        return program_.kernel().alternation(parts);
    };
    return texts.empty() ? kEmpty : build(0, texts.size(), 0);
}

uint32_t UniqueItems::string_start(const Position& p, const ValueList* forbidden) {
    if (!forbidden) return p.string_start;
    if (forbidden->string_start == kUnknownStart) forbidden->string_start = string_start_without(p, *forbidden);
    return forbidden->string_start;
}

uint32_t UniqueItems::literal_start(const Position& p, const ValueList* forbidden) {
    if (!forbidden) return p.literal_start;
    if (forbidden->literal_start == kUnknownStart) forbidden->literal_start = literal_start_without(p, *forbidden);
    return forbidden->literal_start;
}

uint32_t UniqueItems::string_start_without(const Position& p, const ValueList& forbidden) {
    std::vector<std::u32string> texts;
    for (uint32_t k = 0; k < forbidden.count; ++k)
        if (forbidden.values[k][0] == '"') texts.push_back(decode_string(forbidden.values[k]));
    if (texts.empty() || !p.string_start) return p.string_start;
    NodeId others = program_.kernel().complement(spelled(std::move(texts)));
    std::vector<NodeId> components;
    components.reserve(p.strings.size() + 1);
    for (const StringDisjunct& disjunct : p.strings)
        components.push_back(program_.kernel().conjunction({disjunct.regex, others}));
    if (p.counted) components.push_back(program_.kernel().any_string(Encoding::kJson));
    return program_.dfa().intern(components, p.counted);
}

// Of a number all texts that readers call equal to it.
NodeId UniqueItems::spelled_literal(std::string_view value) {
    constexpr size_t kMostKept = 10'000;
    if (literals_.size() > kMostKept) literals_.clear();
    if (const auto known = literals_.find(std::string(value)); known != literals_.end()) return known->second;
    Kernel& kernel = program_.kernel();
    std::vector<NodeId> texts;
    if (value[0] == '-' || (value[0] >= '0' && value[0] <= '9'))
        for (const NumberRule& rule : spellings(value)) texts.push_back(kernel.number(rule));
    else
        texts.push_back(kernel.literals({std::string(value)}));
    return literals_.emplace(value, kernel.alternation(texts)).first->second;
}

uint32_t UniqueItems::literal_start_without(const Position& p, const ValueList& forbidden) {
    Kernel& kernel = program_.kernel();
    std::vector<NodeId> out;
    for (uint32_t k = 0; k < forbidden.count; ++k) {
        const std::string_view value = forbidden.values[k];
        if (value[0] != '"' && value[0] != '{' && value[0] != '[') out.push_back(spelled_literal(value));
    }
    if (out.empty() || !p.literal_start) return p.literal_start;
    const NodeId others = kernel.complement(kernel.alternation(out));
    std::vector<NodeId> components;
    for (uint32_t k = 0; k < p.literal_owner.size(); ++k) {
        const NodeId start = kernel.without_idle_exponents(program_.dfa().component(p.literal_start, k));
        components.push_back(kernel.conjunction({start, others}));
    }
    return program_.dfa().intern(components, false);
}

size_t UniqueItems::memory_bytes() const {
    size_t bytes = 0;
    for (const auto& each : literals_) bytes += heap_node(sizeof(each)) + heap_bytes(each.first);
    return bytes;
}

}  // namespace schemagen
