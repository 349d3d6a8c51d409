#include <algorithm>
#include <functional>
#include <unordered_set>

#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/hash.hpp"
#include "util/limits.hpp"
#include "util/shown.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

Identities::Identities(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      states_(machine.states),
      containers_(machine.containers) {}

// The number of characters read, as far as it matters. Beyond every least length it only matters how near the greatest
// one is; for the shortest completion of a single language not even that, while the room left is enough for any of its
// ends.
uint32_t Identities::count_identity(const Configuration& config, bool exact) const {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    if (!p.counted) return 0;
    uint32_t least = 0;
    bool matters = false;
    for (const StringDisjunct& disjunct : p.strings) {
        least = std::max(least, disjunct.min_chars);
        if (disjunct.max_chars == kUnbounded) continue;
        bool roomy =
            disjunct.to_finish < kUnbounded && uint64_t{config.count} + disjunct.to_finish <= disjunct.max_chars;
        matters |= exact || p.strings.size() > 1 || !(roomy || disjunct.any);
    }
    return matters ? config.count : std::min(config.count, least);
}

// The gap that takes most whitespace, of those before the same shortest completion: optional whitespace does not change
// that completion, nor does the length of an indentation.
uint16_t Identities::gap_identity(const Configuration& config) const {
    constexpr uint16_t kIndented = 2;
    if (config.gap == UINT16_MAX) return config.gap;
    if (program_.options.whitespace == Whitespace::kAny) return 0;
    return program_.options.whitespace == Whitespace::kFlexible ? std::min(config.gap, kIndented) : config.gap;
}

bool Identities::text_matters(const Configuration& config) const {
    const Frame* frame = config.frame;
    if (!frame->around.interned || !frame->around.enough || !frame->state->id || frame->tracking) return true;
    bool reading = config.mode == kKey && config.state;
    return (frame->used || frame->pending || reading) &&
           !states_.has_enough_members(frame->state, uint64_t{frame->count} + reading);
}

uint64_t Identities::used_up(const Configuration& config) const {
    return config.frame->around.all_keys + states_.used_keys(config.frame);
}

// The part of a possible extra key's text that matters: all of it, if more extra keys are needed after it; else the
// ways in which it must not go on.
uint64_t Identities::key_identity(const Configuration& config) {
    if (!config.state) return 0;
    if (!states_.has_enough_members(config.frame->state, config.frame->count + 1)) return config.hash;
    uint64_t out = 0;
    for (const std::string& rest : containers_.used_key_suffixes(config)) out += mix(std::hash<std::string>()(rest), 1);
    return out;
}

bool Identities::identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) {
    const Frame* frame = config.frame;
    const Around& around = frame->around;
    if (!around.interned || !frame->state->id || frame->tracking) return false;
    uint64_t used = around.used_keys;
    if (exact && !around.unused) return false;
    if (frame->used || frame->pending) {
        if (exact) return false;
        const bool comma = config.mode == kNextKey;  // after it one more key has to come
        if (comma || !states_.has_enough_members(frame->state, frame->count)) used += states_.used_keys(frame);
    }
    uint64_t state = 0, node = 0, count = 0, gap = 0;
    switch (config.mode) {
        case kKey:
            if (!exact) count = key_identity(config);
            state = config.state;
            node = config.node;
            break;
        case kString: count = count_identity(config, exact); [[fallthrough]];
        case kLiteral: state = config.state; break;
        default: gap = exact ? config.gap : gap_identity(config); count = config.count;
    }
    key.push_back(gap << 32 | uint64_t{config.mode} << 1 | exact);
    key.push_back(state << 32 | node);
    key.push_back(count);
    key.push_back(used);
    key.push_back(frame->state->id);
    key.push_back(around.key_a);
    key.push_back(around.key_b);
    return true;
}

Configuration Identities::keep(const Configuration& config, Arena& arena) {
    Configuration out = config;
    out.key = out.text = out.start = nullptr;
    const Frame** link = &out.frame;
    for (const Frame* frame = config.frame; frame; frame = frame->parent) {
        Frame* kept = states_.copy(frame, frame->state, arena);
        kept->used = nullptr;
        kept->pending_key = kept->start = nullptr;
        kept->key = {};
        kept->items = kept->forbidden = kept->child_forbidden = nullptr;
        *link = kept;
        link = &kept->parent;
    }
    return out;
}

Configuration Identities::least_constrained(const Configuration& config) {
    Configuration out = config;
    if (config.mode == kString) out.count = count_identity(config, false);
    out.gap = gap_identity(config);
    return out;
}

// Whether a token read after `count` code points may come too close to the minimum length of the string.
bool Identities::near_least(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const {
    return count < disjunct.min_chars && count + longest + 1 >= disjunct.min_chars;
}

// The same for the maximum length: the text that its language requires after the token has to fit as well.
bool Identities::near_most(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const {
    return disjunct.max_chars != kUnbounded && uint64_t{count} + longest + 1 + disjunct.to_finish >= disjunct.max_chars;
}

// Counts only matter within a token's length of a bound: further below they are one, and so they are beyond it.
uint32_t Identities::count_key(const Configuration& config, uint32_t longest) const {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    if (!p.counted) return 0;
    uint32_t passed = 0;
    for (const StringDisjunct& disjunct : p.strings) {
        if (near_least(disjunct, config.count, longest) || near_most(disjunct, config.count, longest))
            return config.count;
        passed += config.count >= disjunct.min_chars;
    }
    return 0x80000000u | passed;
}

LocalKey Identities::local_key(const Configuration& config, uint32_t longest) const {
    const Frame* frame = config.frame;
    LocalKey key;
    if (frame->tracking || frame->pending || !frame->state->id) return key;
    uint32_t state = 0, node = 0, count = 0;
    switch (config.mode) {
        case kKey:
            state = config.state;
            node = config.node;
            break;
        case kString:
            count = count_key(config, longest);
            state = config.state;
            break;
        case kLiteral: state = config.state; break;
        default: count = config.count;  // of the gap
    }
    key.usable = true;
    key.a = uint64_t{frame->state->id} << 32 | state;
    key.b = uint64_t{node} << 32 | count;
    key.c = uint64_t{config.gap} << 8 | config.mode;
    return key;
}

}  // namespace schemagen
