#include "json/token_bounds.hpp"

#include <algorithm>

#include "json/machine.hpp"

namespace schemagen {

TokenBounds::TokenBounds(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      states_(machine.states),
      gaps_(machine.gaps),
      min_bytes_(machine.min_bytes),
      shortest_(machine.shortest),
      growth_(machine.growth),
      parts_(machine.parts),
      distinct_(machine.distinct),
      rest_(machine.rest) {}

uint32_t TokenBounds::most_tokens(const Configuration& config) {
    if (config.mode == kDone) return 0;
    if (!shortest_.tells_shortest()) return kFar;
    parts_.remember_required(config.frame->state);
    const uint32_t around = summed(config.frame).most;
    if (around >= kFar) return kFar;
    const bool space = program_.options.whitespace == Whitespace::kSpaced && config.gap == 0;
    switch (config.mode) {
        case kValue:
        case kItem: return plus(around, uint64_t{space} + most_value(config) + most_after(config.frame));
        case kColon: return plus(around, uint64_t{gaps_.colon_bytes()} + most_value(config) + most_after(config.frame));
        case kString:
        case kLiteral: return plus(around, uint64_t{most_word(config)} + most_after(config.frame));
        case kFirstItem:
        case kFirstKey: return plus(around, most_rest(config.frame, true));
        case kNextKey:
            if (const uint32_t rest = most_rest(config.frame, true); rest > 1)
                return plus(around, uint64_t{space} + rest);
            return plus(around, uint64_t{space} + 1 + most_member(config) + most_rest(config.frame, false));
        case kAfter: return plus(around, most_rest(config.frame, false));
        case kKey: return most_key(config);
        default: return most_tokens_around(config);
    }
}

uint32_t TokenBounds::most_after_token(const Configuration& config) const {
    if (config.mode == kDone) return 0;
    const uint32_t around = most_tokens_around(config);
    return around < kFar ? plus(around, most_growth(config)) : kFar;
}

uint32_t TokenBounds::most_growth(const Configuration& config) const {
    if (config.mode == kDone) return 0;
    if (!has_sums(config.frame)) return kFar;
    return std::max({config.frame->around.growth, growth(config.frame->state), growth_inside(config)});
}

// How much more may be needed after the next key or item of a container was begun.
uint32_t TokenBounds::growth(const FrameState* state) const {
    if (state->kind == FrameKind::kRootFrame) return 0;
    if (state->kind == FrameKind::kExitFrame) return kFar;
    const Position& p = *positions_[state->position];
    uint32_t most = 0;
    if (state->kind == FrameKind::kArrayFrame)
        for (uint32_t disjunct : p.arrays->disjuncts) most = std::max(most, growth_.of_items(disjunct));
    else
        for (uint32_t disjunct : p.objects->disjuncts) most = std::max(most, growth_.of_keys(disjunct));
    return most;
}

// Of tokens that go on with the member or value that is being read.
uint32_t TokenBounds::growth_inside(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    uint32_t most = 0;
    switch (config.mode) {
        case kFirstKey:
        case kNextKey:
        case kKey:
            for (uint32_t disjunct : positions_[state->position]->objects->disjuncts)
                most = std::max(most, growth_.of_members(disjunct));
            return most;
        case kColon:
        case kValue:
        case kString:
        case kLiteral:
            for (ValueId id : positions_[states_.position_of(state)]->values)
                most = std::max(most, growth_.of_value(id));
            return most;
        default: return 0;
    }
}

// Of a config whatever the string, number or key that is being read: tokens that are needed besides it.
uint32_t TokenBounds::most_tokens_around(const Configuration& config) const {
    if (config.mode == kDone) return 0;
    if (!shortest_.tells_shortest() || !has_sums(config.frame)) return kFar;
    const uint32_t around = config.frame->around.most;
    switch (config.mode) {
        case kColon:
            return plus(around, uint64_t{gaps_.colon_bytes()} +
                                    most_position(states_.position_of(config.frame->state)) + most_after(config.frame));
        case kValue:
        case kItem: return plus(around, uint64_t{1} + most_position(config.state) + most_after(config.frame));
        case kString:
        case kLiteral: return plus(around, most_after(config.frame));
        default: return plus(around, uint64_t{1} + most_rest(config.frame, false));
    }
}

// From inside a key.
uint32_t TokenBounds::most_key(const Configuration& config) {
    const uint32_t rest = most_rest(config.frame, true), around = config.frame->around.most;
    const uint32_t key = parts_.next_required(config);
    if (rest >= kFar) return kFar;
    if (key == kNoKey) return plus(around, uint64_t{most_member(config)} + most_rest(config.frame, false));
    const ObjectSet& set = *positions_[config.frame->state->position]->objects;
    const uint32_t most = shortest_.plans[set.disjuncts[parts_.only_slot(config.frame->state)]].most_key;
    return std::min(plus(uint64_t{rest} + around, most), min_bytes_.min_bytes(config));
}

// Bytes of the rest of a member that need not come, from inside its key or right before it.
uint32_t TokenBounds::most_member(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    const uint32_t slot = parts_.only_slot(state);
    if (slot == RequiredParts::kNoSlot || config.frame->forbidden) return kFar;
    const bool begun = config.mode == kKey;
    const uint32_t extra = begun ? config.state : state->extra_entry;
    const uint32_t any = extra ? most_extra_member(state, slot, extra) : kFar;
    if (any < kFar || (begun && config.node == kNoNode)) return any;
    const ObjectSet& set = *positions_[state->position]->objects;
    const TrieNode& node = set.trie[begun ? config.node : 0];
    uint64_t most = kFar;
    for (uint32_t key = node.low, tried = 0; key < node.high && tried < RequiredParts::kMostTried; ++key) {
        if (!parts_.is_offered(state, slot, key)) continue;
        ++tried;
        most =
            std::min(most, uint64_t{set.keys[key].size()} - node.depth + shortest_.sure_bytes(*set.options[slot][key]));
    }
    return plus(most, uint64_t{1} + gaps_.colon_bytes());
}

// The same of one whose key may be any.
uint32_t TokenBounds::most_extra_member(const FrameState* state, uint32_t slot, uint32_t extra) const {
    constexpr uint32_t kUnlike = 3;  // characters that make a key unlike any of 800,000 others
    const ExtraKeys* keys = parts_.any_keys(state, slot);
    if (!keys) return kFar;
    return plus(uint64_t{program_.dfa().bytes_to_accept(extra, 0)} + kUnlike + 1 + gaps_.colon_bytes(),
                shortest_.sure_bytes(keys->options[0]));
}

// The fewest bytes of the rest of the string or number that is being read, in one of its languages.
uint32_t TokenBounds::most_word(const Configuration& config) const {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    if (p.values.size() != 1) return kFar;
    const size_t languages = config.mode == kString ? p.strings.size() : p.literal_owner.size();
    size_t most = kFar;
    std::string word;
    for (uint32_t k = 0; k < languages; ++k, word.clear())
        if (rest_.rest_of_word(config, k, word)) most = std::min(most, word.size());
    return static_cast<uint32_t>(most);
}

// Of the value that comes next.
uint32_t TokenBounds::most_value(const Configuration& config) const {
    const auto other = rest_.unlike(config);
    if (!other) return most_position(rest_.position_of_next(config));
    return other->empty() ? kFar : static_cast<uint32_t>(other->size());
}

uint32_t TokenBounds::most_position(uint32_t id) const {
    const std::vector<ValueId>& values = positions_[id]->values;
    return values.size() == 1 ? shortest_.texts[values[0]].tokens : kFar;
}

// Tokens from the end of the value that a container is waiting for to after its bracket.
uint32_t TokenBounds::most_after(const Frame* frame) const {
    const FrameState* state = frame->state;
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return 0;
    if (frame->forbidden) return kFar;
    const std::vector<Move>& moves = positions_.children[state->child].moves;
    if (moves.size() == 1) return most_slot(state, moves[0].slot, false);
    uint32_t most = 0;
    for (const Move& move : moves) most = std::max(most, most_any_slot(parts_.required(state, move.slot), false));
    return most;
}

// The same between two members or items; `opened`: before the first one.
uint32_t TokenBounds::most_rest(const Frame* frame, bool opened) const {
    const FrameState* state = frame->state;
    if (frame->forbidden) return kFar;
    if (const uint32_t slot = parts_.only_slot(state); slot != RequiredParts::kNoSlot)
        return most_slot(state, slot, opened);
    uint32_t most = 0;
    for (uint32_t slot = 0; slot < parts_.slots(state); ++slot)
        if (state->alive[slot]) most = std::max(most, most_any_slot(parts_.required(state, slot), opened));
    return most;
}

// Of the slot that is left.
uint32_t TokenBounds::most_slot(const FrameState* state, uint32_t slot, bool opened) const {
    if (const ArrayDisjunct* array = distinct_.told(state, slot)) return distinct_.most(*array, state->count);
    const Required rest = parts_.required(state, slot);
    return rest.unbounded ? kFar : plus(rest.tokens, uint64_t{rest.commas(opened)} * shortest_.comma_tokens + 1);
}

// Of one of several slots, each of which may turn out to be the one that is left: the shortest text has no more bytes.
uint32_t TokenBounds::most_any_slot(const Required& rest, bool opened) const {
    return rest.unclear ? kFar : plus(rest.bytes, uint64_t{rest.commas(opened)} * gaps_.comma_bytes() + 1);
}

// The requirements of the containers around a frame, with the sums.
const Around& TokenBounds::summed(const Frame* frame) {
    std::vector<const Frame*> chain;
    for (; frame->around.least == kNotSummed; frame = frame->parent) chain.push_back(frame);
    const Around* out = &frame->around;
    for (; !chain.empty(); chain.pop_back()) {
        parts_.remember_required(chain.back()->parent->state);
        sum_around(chain.back()->around, chain.back()->parent);
        out = &chain.back()->around;
    }
    return *out;
}

void TokenBounds::sum_around(const Around& around, const Frame* parent) {
    min_bytes_.sum_around(around, parent);
    around.most = plus(parent->around.most, most_after(parent));
    around.growth = std::max(parent->around.growth, growth(parent->state));
}

bool TokenBounds::has_sums(const Frame* frame) const {
    return !min_bytes_.of_value.empty() && frame->around.least != kNotSummed;
}

}  // namespace schemagen
