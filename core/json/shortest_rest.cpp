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

ShortestRest::ShortestRest(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      states_(machine.states),
      gaps_(machine.gaps),
      min_bytes_(machine.min_bytes),
      shortest_(machine.shortest) {}

// ---- open containers ------------------------------------------------------------------------------------------------

// The members or items that a slot of an object or array still requires, without the value that is being read.
Required ShortestRest::required(const FrameState* state, uint32_t slot) const {
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kArrayFrame)
        return shortest_.required_items(program_.arrays[p.arrays->disjuncts[slot]], p.arrays->state[slot], state->count,
                                        state->depth);
    const ObjectSet& set = *p.objects;
    const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
    const std::vector<Required>& from = shortest_.plans[set.disjuncts[slot]].from;
    Required out;
    if (!program_.options.any_order) {
        out = from[state->next[slot]];  // skipped members are not required
    } else if (state->has_required) {
        out = state->required;
    } else {
        out = from[0];
        for (uint32_t d : shortest_.plans[set.disjuncts[slot]].order)
            if (bit(state->seen, set.key_at[slot][d])) out -= shortest_.member(from, d);
    }
    out.unclear += disjunct.final.size() > 1 || !disjunct.groups.empty() ||
                   uint64_t{state->count} + out.count < disjunct.min_properties;
    return out;
}

// The members that an object still requires, where keys may come in any order: once for its first state, then less by
// each key.
void ShortestRest::remember_required(const FrameState* state) const {
    if (state->has_required || !program_.options.any_order || state->kind != FrameKind::kObjectFrame) return;
    const ObjectSet& set = *positions_[state->position]->objects;
    if (set.disjuncts.size() != 1) return;
    const std::vector<Required>& from = shortest_.plans[set.disjuncts[0]].from;
    state->required = from[0];
    for (uint32_t d : shortest_.plans[set.disjuncts[0]].order)
        if (bit(state->seen, set.key_at[0][d])) state->required -= shortest_.member(from, d);
    state->has_required = true;
}

// A key was closed.
void ShortestRest::take(const FrameState* state, uint32_t key) const {
    if (!state->has_required) return;
    const ObjectSet& set = *positions_[state->position]->objects;
    const uint32_t place = set.place[0][key];
    if (place != kNoKey && program_.objects[set.disjuncts[0]].properties[place].required)
        state->required -= shortest_.member(shortest_.plans[set.disjuncts[0]].from, place);
}

// Tokens from the end of the value that a container is waiting for to after its bracket.
uint32_t ShortestRest::most_after(const Frame* frame) const {
    const FrameState* state = frame->state;
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return 0;
    const std::vector<Move>& moves = positions_.children[state->child].moves;
    if (moves.size() != 1 || frame->tracking) return kFar;
    const Required rest = required(state, moves[0].slot);
    return rest.unclear ? kFar : plus(rest.tokens, uint64_t{rest.count} * shortest_.comma_tokens + 1);
}

// The same between two members or items; `opened`: before the first one.
uint32_t ShortestRest::most_rest(const Frame* frame, bool opened) const {
    const FrameState* state = frame->state;
    if (state->alive.count() != 1 || frame->tracking) return kFar;
    const Required rest = required(state, only_slot(state));
    const uint32_t commas = opened && rest.count ? rest.count - 1 : rest.count;
    return rest.unclear ? kFar : plus(rest.tokens, uint64_t{commas} * shortest_.comma_tokens + 1);
}

uint32_t ShortestRest::only_slot(const FrameState* state) {
    uint32_t slot = 0;
    while (slot < state->alive.size() && !state->alive[slot]) ++slot;
    return slot;
}

uint32_t ShortestRest::most_position(uint32_t id) const {
    const std::vector<ValueId>& values = positions_[id]->values;
    return values.size() == 1 && shortest_.texts[values[0]].kind != Shortest::kUnclear
               ? shortest_.texts[values[0]].tokens
               : kFar;
}

// The requirements of the containers around a frame, with the sums.
const Around& ShortestRest::summed(const Frame* frame) {
    std::vector<const Frame*> chain;
    for (; frame->around.least == kNotSummed; frame = frame->parent) chain.push_back(frame);
    const Around* out = &frame->around;
    for (; !chain.empty(); chain.pop_back()) {
        remember_required(chain.back()->parent->state);
        sum_around(chain.back()->around, chain.back()->parent);
        out = &chain.back()->around;
    }
    return *out;
}

void ShortestRest::sum_around(const Around& around, const Frame* parent) {
    min_bytes_.sum_around(around, parent);
    around.most = plus(parent->around.most, most_after(parent));
}

bool ShortestRest::has_sums(const Frame* frame) const {
    return !min_bytes_.of_value.empty() && frame->around.least != kNotSummed;
}

// Of a config whatever the string, number or key that is being read: tokens that are needed besides it.
uint32_t ShortestRest::most_tokens_around(const Configuration& config) const {
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

uint32_t ShortestRest::most_tokens(const Configuration& config) {
    if (config.mode == kDone) return 0;
    if (!shortest_.tells_shortest()) return kFar;
    remember_required(config.frame->state);
    const uint32_t around = summed(config.frame).most;
    if (around >= kFar) return kFar;
    const bool space = program_.options.whitespace == Whitespace::kSpaced && config.gap == 0;
    std::string word;
    switch (config.mode) {
        case kValue:
        case kItem: return plus(around, uint64_t{space} + most_position(config.state) + most_after(config.frame));
        case kString:
        case kLiteral:
            return rest_of_word(config, word) ? plus(around, word.size() + uint64_t{most_after(config.frame)}) : kFar;
        case kFirstItem:
        case kFirstKey: return plus(around, most_rest(config.frame, true));
        case kNextKey:
            return most_rest(config.frame, true) > 1 ? plus(around, uint64_t{space} + most_rest(config.frame, true))
                                                     : kFar;
        case kAfter: return plus(around, most_rest(config.frame, false));
        case kKey: return most_key(config);
        default: return most_tokens_around(config);
    }
}

// From inside a key.
uint32_t ShortestRest::most_key(const Configuration& config) {
    const uint32_t rest = most_rest(config.frame, true), around = config.frame->around.most;
    const uint32_t key = next_required(config);
    if (key == kNoKey || rest >= kFar) return kFar;
    const ObjectSet& set = *positions_[config.frame->state->position]->objects;
    const uint32_t longest = shortest_.plans[set.disjuncts[only_slot(config.frame->state)]].longest_key;
    return std::min(plus(uint64_t{rest} + around, uint64_t{longest} + 2 + gaps_.colon_bytes()),
                    min_bytes_.min_bytes(config));
}

// The required key that comes first in the shortest text, of those that the key being read may become.
uint32_t ShortestRest::next_required(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    if (config.node == kNoNode || state->alive.count() != 1) return kNoKey;
    const ObjectSet& set = *positions_[state->position]->objects;
    const uint32_t slot = only_slot(state), high = set.trie[config.node].high;
    const uint64_t* offered = state->offered + size_t{slot} * set.words;
    auto find = [&](uint32_t low) {
        for (uint32_t w = low >> 6; w < set.words && w << 6 < high; ++w) {
            uint64_t both = offered[w] & set.required[slot][w];
            if (w == low >> 6) both &= ~0ull << (low & 63);
            if (both) return std::min(high, (w << 6) + static_cast<uint32_t>(std::countr_zero(both)));
        }
        return high;
    };
    uint32_t best = find(set.trie[config.node].low);
    if (best == high) return kNoKey;
    // A key that begins another one ends with a quote where the other goes on. So the other is written first only if it
    // goes on with a character below the quote. The keys are sorted, so such keys follow at once.
    const std::string& first = set.keys[best];
    const auto goes_on_before = [&](const std::string& key) {
        return key.starts_with(first) && key[first.size()] < '"';
    };
    for (uint32_t other = find(best + 1); program_.options.any_order && other < high && goes_on_before(set.keys[other]);
         other = find(other + 1))
        if (set.keys[other] + '"' < set.keys[best] + '"') best = other;
    return best;
}

// ---- writing --------------------------------------------------------------------------------------------------------

// The shortest rest of the string or number that is being read, with the quote.
bool ShortestRest::rest_of_word(const Configuration& config, std::string& out) const {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    const bool string = config.mode == kString;
    if (string ? p.strings.size() != 1 : p.literal_owner.size() != 1) return false;
    uint32_t missing = 0;
    if (string) {
        const StringDisjunct& disjunct = p.strings[0];
        missing = config.count < disjunct.min_chars ? disjunct.min_chars - config.count : 0;
        const bool roomy =
            disjunct.max_chars == kUnbounded ||
            (disjunct.to_finish < kUnbounded && uint64_t{config.count} + disjunct.to_finish <= disjunct.max_chars);
        if (!(disjunct.any ? missing <= kMostScalar : roomy && missing == 0)) return false;
        if (disjunct.any && missing && !program_.dfa().state(config.state).accepts[0]) return false;
    }
    if (missing) out.append(missing, ' ');
    if (!missing && !program_.dfa().state(config.state).accepts[0] &&
        !shortest_.first_word(config.state, 0, program_.dfa().bytes_to_accept(config.state, 0), out))
        return false;
    if (string) out += '"';
    return true;
}

// The parts that a slot of a container still requires, and its bracket; `skip`: a property present. `first`: without a
// comma before.
void ShortestRest::write_rest(const FrameState* state, uint32_t slot, bool first, uint32_t skip,
                              std::string& out) const {
    const Position& p = *positions_[state->position];
    auto separate = [&] {
        if (!first) out += shortest_.comma();
        first = false;
    };
    if (state->kind == FrameKind::kArrayFrame) {
        const ArrayDisjunct& disjunct = program_.arrays[p.arrays->disjuncts[slot]];
        for (uint64_t at = state->count; at < disjunct.min_items; ++at)
            separate(), shortest_.write_value(shortest_.item_of(disjunct, at), out);
        out += ']';
        return;
    }
    const ObjectSet& set = *p.objects;
    const uint32_t disjunct = set.disjuncts[slot];
    for (uint32_t d : shortest_.plans[disjunct].order) {
        if (d == skip || (program_.options.any_order ? bit(state->seen, set.key_at[slot][d]) : d < state->next[slot]))
            continue;
        separate();
        out += '"' + program_.objects[disjunct].properties[d].key + '"' + shortest_.colon();
        shortest_.write_value(program_.objects[disjunct].properties[d].options[0][0].value, out);
    }
    out += '}';
}

bool ShortestRest::write_shortest(const Configuration& config, std::string& out) {
    if (config.mode == kDone) return true;
    if (most_tokens(config) >= kFar || min_bytes_.min_bytes(config) > kMostText) return false;
    const Frame* frame = config.frame;
    const FrameState* state = frame->state;
    auto write_position = [&](uint32_t id) { shortest_.write_value(positions_[id]->values[0], out); };
    bool value = true;  // the frame waits for one
    switch (config.mode) {
        case kColon:
            out += shortest_.colon();
            write_position(states_.position_of(state));
            break;
        case kValue:
        case kItem:
            if (program_.options.whitespace == Whitespace::kSpaced && config.gap == 0) out += ' ';
            write_position(config.state);
            break;
        case kString:
        case kLiteral:
            if (!rest_of_word(config, out)) return false;
            break;
        case kKey: {
            const ObjectSet& set = *positions_[state->position]->objects;
            const uint32_t key = next_required(config), slot = only_slot(state), place = set.place[slot][key];
            out += set.keys[key].substr(set.trie[config.node].depth) + '"' + shortest_.colon();
            shortest_.write_value(program_.objects[set.disjuncts[slot]].properties[place].options[0][0].value, out);
            write_rest(state, slot, false, place, out);
            value = false;
            break;
        }
        default:
            if (program_.options.whitespace == Whitespace::kSpaced && config.mode == kNextKey && config.gap == 0)
                out += ' ';
            write_rest(state, only_slot(state), config.mode != kAfter, kNoKey, out);
            value = false;
    }
    for (; frame->parent; frame = frame->parent, value = true)
        if (value) write_rest(frame->state, positions_.children[frame->state->child].moves[0].slot, false, kNoKey, out);
    return true;
}

}  // namespace schemagen
