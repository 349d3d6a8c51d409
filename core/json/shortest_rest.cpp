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
      unique_(machine.unique),
      containers_(machine.containers),
      gaps_(machine.gaps),
      min_bytes_(machine.min_bytes),
      shortest_(machine.shortest),
      tokens_(machine.tokens),
      growth_(machine.growth) {}

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
    out.leave_open(disjunct.final.size() > 1 || !disjunct.groups.empty() ||
                   uint64_t{state->count} + out.count < disjunct.min_properties);
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

// The position of the value that comes next.
uint32_t ShortestRest::position_of_next(const Configuration& config) const {
    return config.mode == kColon ? states_.position_of(config.frame->state) : config.state;
}

// What the value that comes next is instead of its shortest text, where it must not become that one; empty if unclear.
std::optional<std::string> ShortestRest::unlike(const Configuration& config) const {
    const ValueList* others = config.frame->child_forbidden;
    if (!others) return std::nullopt;
    const Position& p = positions_.prepared(position_of_next(config));
    const Shortest& shortest = shortest_.texts[p.values[0]];
    if (p.values.size() > 1 || shortest.kind == Shortest::kUnclear) return "";
    if (shortest.kind != Shortest::kText) {
        const bool may_repeat =
            std::ranges::any_of(others->all(), [&](std::string_view other) { return other[0] == shortest.text[0]; });
        return may_repeat ? std::optional<std::string>("") : std::nullopt;
    }
    if (std::ranges::count(others->all(), canonical_json(shortest.text)) == 0) return std::nullopt;
    return unlike_scalar(p, *others);
}

// The shortest text of a string or number that is none of some; empty if unclear.
std::string ShortestRest::unlike_scalar(const Position& p, const ValueList& others) const {
    const ValueNode& value = program_.values[p.values[0]];
    const bool is_string = value.strings.size() == 1, is_literal = value.literal != kEmpty;
    if (!value.objects.empty() || !value.arrays.empty() || is_string == is_literal) return "";
    const uint32_t start = is_string ? unique_.string_start(p, &others) : unique_.literal_start(p, &others);
    const uint32_t bytes = program_.dfa().near_bytes_to_accept(start, 0);
    if (is_string && (value.strings[0].min_chars > 0 || value.strings[0].max_chars < bytes)) return "";
    std::string word;
    if (!shortest_.first_word(start, 0, bytes, word)) return "";
    return is_string ? '"' + word + '"' : word;
}

// Tokens from the end of the value that a container is waiting for to after its bracket.
uint32_t ShortestRest::most_after(const Frame* frame) const {
    const FrameState* state = frame->state;
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return 0;
    if (frame->forbidden) return kFar;
    const std::vector<Move>& moves = positions_.children[state->child].moves;
    if (moves.size() == 1) return most_slot(required(state, moves[0].slot), false);
    uint32_t most = 0;
    for (const Move& move : moves) most = std::max(most, most_any_slot(required(state, move.slot), false));
    return most;
}

// The same between two members or items; `opened`: before the first one.
uint32_t ShortestRest::most_rest(const Frame* frame, bool opened) const {
    const FrameState* state = frame->state;
    if (frame->forbidden) return kFar;
    if (const uint32_t slot = only_slot(state); slot != kNoSlot) return most_slot(required(state, slot), opened);
    uint32_t most = 0;
    for (uint32_t slot = 0; slot < slots(state); ++slot)
        if (state->alive[slot]) most = std::max(most, most_any_slot(required(state, slot), opened));
    return most;
}

// Of the slot that is left.
uint32_t ShortestRest::most_slot(const Required& rest, bool opened) const {
    const uint32_t commas = opened && rest.count ? rest.count - 1 : rest.count;
    return rest.unbounded ? kFar : plus(rest.tokens, uint64_t{commas} * shortest_.comma_tokens + 1);
}

// Of one of several slots, each of which may turn out to be the one that is left: the shortest text has no more bytes.
uint32_t ShortestRest::most_any_slot(const Required& rest, bool opened) const {
    const uint32_t commas = opened && rest.count ? rest.count - 1 : rest.count;
    return rest.unclear ? kFar : plus(rest.bytes, uint64_t{commas} * gaps_.comma_bytes() + 1);
}

uint32_t ShortestRest::slots(const FrameState* state) const {
    const Position& p = *positions_[state->position];
    return static_cast<uint32_t>(state->kind == FrameKind::kArrayFrame ? p.arrays->disjuncts.size()
                                                                       : p.objects->disjuncts.size());
}

// The slot that is alive if it is the only one.
uint32_t ShortestRest::only_slot(const FrameState* state) const {
    uint32_t found = kNoSlot;
    for (uint32_t slot = 0; slot < slots(state); ++slot) {
        if (!state->alive[slot]) continue;
        if (found != kNoSlot) return kNoSlot;
        found = slot;
    }
    return found;
}

uint32_t ShortestRest::most_position(uint32_t id) const {
    const std::vector<ValueId>& values = positions_[id]->values;
    return values.size() == 1 ? shortest_.texts[values[0]].tokens : kFar;
}

// Of the value that comes next.
uint32_t ShortestRest::most_value(const Configuration& config) const {
    const auto other = unlike(config);
    if (!other) return most_position(position_of_next(config));
    return other->empty() ? kFar : static_cast<uint32_t>(other->size());
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
    around.growth = std::max(parent->around.growth, growth(parent->state));
}

// How much more may be needed after the next key or item of a container was begun.
uint32_t ShortestRest::growth(const FrameState* state) const {
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
uint32_t ShortestRest::growth_inside(const Configuration& config) const {
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

uint32_t ShortestRest::most_after_token(const Configuration& config) const {
    if (config.mode == kDone) return 0;
    const uint32_t around = most_tokens_around(config);
    return around < kFar ? plus(around, most_growth(config)) : kFar;
}

uint32_t ShortestRest::most_growth(const Configuration& config) const {
    if (config.mode == kDone) return 0;
    if (!has_sums(config.frame)) return kFar;
    return std::max({config.frame->around.growth, growth(config.frame->state), growth_inside(config)});
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

// From inside a key.
uint32_t ShortestRest::most_key(const Configuration& config) {
    const uint32_t rest = most_rest(config.frame, true), around = config.frame->around.most;
    const uint32_t key = next_required(config);
    if (rest >= kFar) return kFar;
    if (key == kNoKey) return plus(around, uint64_t{most_member(config)} + most_rest(config.frame, false));
    const ObjectSet& set = *positions_[config.frame->state->position]->objects;
    const uint32_t most = shortest_.plans[set.disjuncts[only_slot(config.frame->state)]].most_key;
    return std::min(plus(uint64_t{rest} + around, most), min_bytes_.min_bytes(config));
}

// Bytes of the rest of a member that need not come, from inside its key or right before it.
uint32_t ShortestRest::most_member(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    const uint32_t slot = only_slot(state);
    if (slot == kNoSlot || config.frame->forbidden) return kFar;
    const bool begun = config.mode == kKey;
    const uint32_t extra = begun ? config.state : state->extra_entry;
    const uint32_t any = extra ? most_extra_member(state, slot, extra) : kFar;
    if (any < kFar || (begun && config.node == kNoNode)) return any;
    const ObjectSet& set = *positions_[state->position]->objects;
    const TrieNode& node = set.trie[begun ? config.node : 0];
    uint64_t most = kFar;
    for (uint32_t key = node.low, tried = 0; key < node.high && tried < kMostTried; ++key) {
        if (!is_offered(state, slot, key)) continue;
        ++tried;
        most =
            std::min(most, uint64_t{set.keys[key].size()} - node.depth + shortest_.sure_bytes(*set.options[slot][key]));
    }
    return plus(most, uint64_t{1} + gaps_.colon_bytes());
}

// The same of one whose key may be any.
uint32_t ShortestRest::most_extra_member(const FrameState* state, uint32_t slot, uint32_t extra) const {
    constexpr uint32_t kUnlike = 3;  // characters that make a key unlike any of 800,000 others
    const ExtraKeys* keys = any_keys(state, slot);
    if (!keys) return kFar;
    return plus(uint64_t{program_.dfa().bytes_to_accept(extra, 0)} + kUnlike + 1 + gaps_.colon_bytes(),
                shortest_.sure_bytes(keys->options[0]));
}

// The extra keys of a slot if they may be any ones.
const ExtraKeys* ShortestRest::any_keys(const FrameState* state, uint32_t slot) const {
    const std::vector<ExtraKeys>& extras =
        program_.objects[positions_[state->position]->objects->disjuncts[slot]].extras;
    const bool any = extras.size() == 1 && extras[0].options.size() == 1 && extras[0].open &&
                     program_.kernel().is_any_string(extras[0].regex);
    return any ? &extras[0] : nullptr;
}

// The required key that comes first in the shortest text, of those that the key being read may become.
uint32_t ShortestRest::next_required(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    const uint32_t slot = config.node == kNoNode ? kNoSlot : only_slot(state);
    if (slot == kNoSlot) return kNoKey;
    const ObjectSet& set = *positions_[state->position]->objects;
    const uint32_t high = set.trie[config.node].high;
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

// The fewest bytes of the rest of the string or number that is being read, in one of its languages.
uint32_t ShortestRest::most_word(const Configuration& config) const {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    if (p.values.size() != 1) return kFar;
    const size_t languages = config.mode == kString ? p.strings.size() : p.literal_owner.size();
    size_t most = kFar;
    std::string word;
    for (uint32_t k = 0; k < languages; ++k, word.clear())
        if (rest_of_word(config, k, word)) most = std::min(most, word.size());
    return static_cast<uint32_t>(most);
}

// The shortest rest of the string or number that is being read in one of its languages, with the quote.
bool ShortestRest::rest_of_word(const Configuration& config, uint32_t language, std::string& out) const {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    const LazyDfa::State& state = program_.dfa().state(config.state);
    const bool string = config.mode == kString;
    if (!state.alive[language]) return false;
    uint32_t missing = 0;
    if (string) {
        const StringDisjunct& disjunct = p.strings[language];
        missing = config.count < disjunct.min_chars ? disjunct.min_chars - config.count : 0;
        const bool roomy =
            disjunct.max_chars == kUnbounded ||
            (disjunct.to_finish < kUnbounded && uint64_t{config.count} + disjunct.to_finish <= disjunct.max_chars);
        if (!(disjunct.any ? missing <= kMostScalar : roomy && missing == 0)) return false;
        const uint32_t more = std::max(missing, state.accepts[language] ? 0u : 1u);
        if (uint64_t{config.count} + more > disjunct.max_chars) return false;  // the text is in another language
    }
    if (missing && config.frame->child_forbidden) return false;  // spaces may write one of those
    if (!state.accepts[language]) {
        if (!shortest_.first_word(config.state, language, program_.dfa().bytes_to_accept(config.state, language), out))
            return false;
        if (missing) --missing;  // the character that was begun
    }
    out.append(missing, ' ');
    if (string) out += '"';
    return true;
}

// Append the parts that a container still requires besides those begun, and its bracket. Returns false if one of them
// is unclear.
bool ShortestRest::write_rest(const FrameState* state, const Begun& begun, std::string& out) const {
    if (required(state, begun.slot).unclear) return false;
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kArrayFrame) {
        const ArrayDisjunct& disjunct = program_.arrays[p.arrays->disjuncts[begun.slot]];
        for (uint64_t at = uint64_t{state->count} + begun.items; at < disjunct.min_items; ++at) {
            out += shortest_.comma();
            shortest_.write_value(ShortestValues::item(disjunct, at)[0][0].value, out);
        }
        out += ']';
        return true;
    }
    const uint32_t disjunct = p.objects->disjuncts[begun.slot];
    for (uint32_t d : shortest_.plans[disjunct].order) {
        if (d == begun.property || !is_missing(state, begun.slot, d)) continue;
        const Property& property = program_.objects[disjunct].properties[d];
        out += shortest_.comma() + '"' + property.key + '"' + shortest_.colon();
        shortest_.write_value(property.options[0][0].value, out);
    }
    out += '}';
    return true;
}

// The tail of these parts, the bracket and the tail after it.
Tail ShortestRest::tail(const FrameState* state, const Begun& begun, Tail after) const {
    if (after == kNoTail || required(state, begun.slot).unclear) return kNoTail;
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kArrayFrame)
        return tokens_.items(p.arrays->disjuncts[begun.slot], uint64_t{state->count} + begun.items, after);
    const ObjectSet& set = *p.objects;
    const uint32_t disjunct = set.disjuncts[begun.slot];
    if (!program_.options.any_order)
        return tokens_.members(disjunct, std::max(state->next[begun.slot], begun.property + 1), after);
    return tokens_.unseen_members(disjunct, set.key_at[begun.slot], {state->seen, set.words}, begun.property, after);
}

// Whether a required property has not been read.
bool ShortestRest::is_missing(const FrameState* state, uint32_t slot, uint32_t property) const {
    const ObjectSet& set = *positions_[state->position]->objects;
    return program_.options.any_order ? !bit(state->seen, set.key_at[slot][property]) : property >= state->next[slot];
}

// The tail after the container of a frame: that of the one around it, which waits for it.
Tail ShortestRest::tail_after(const Frame* frame) const {
    std::vector<const Frame*> chain;
    for (; frame->parent && frame->around.tail == kNotCounted; frame = frame->parent) chain.push_back(frame);
    Tail out = frame->parent ? frame->around.tail : Tail{};
    for (; !chain.empty(); chain.pop_back()) {
        const Frame* parent = chain.back()->parent;
        const std::vector<Move>& moves = positions_.children[parent->state->child].moves;
        const bool is_clear = moves.size() == 1 && !parent->forbidden;
        if (parent->parent) out = is_clear ? tail(parent->state, {moves[0].slot}, out) : kNoTail;
        chain.back()->around.tail = out;
    }
    return out;
}

// Find the beginning of the shortest text, up to a part that a container around still requires. Returns false if it is
// unclear.
bool ShortestRest::find_front(const Configuration& config, Front& out) {
    if (config.frame->forbidden || min_bytes_.min_bytes(config) > kMostText) return false;
    const FrameState* state = config.frame->state;
    const bool spaced = program_.options.whitespace == Whitespace::kSpaced && config.gap == 0;
    const bool is_word = config.mode == kString || config.mode == kLiteral;
    if (is_word || config.mode == kColon || config.mode == kValue || config.mode == kItem) {
        const uint32_t id = is_word || config.mode == kColon ? states_.position_of(state) : config.state;
        const Position& p = *positions_[id];
        const std::vector<Move>& moves = positions_.children[state->child].moves;
        if (config.frame->parent) {
            if (moves.size() != 1) return false;
            out.begun.slot = moves[0].slot;
        }
        if (is_word)
            return (config.mode == kString ? p.strings.size() : p.literal_owner.size()) == 1 &&
                   rest_of_word(config, 0, out.text);
        if (config.mode == kColon) out.text = shortest_.colon();
        if (config.mode != kColon && spaced) out.text = ' ';
        if (const auto other = unlike(config)) {
            out.text += *other;
            return !other->empty();
        }
        return add_value(p.values[0], out);
    }
    const uint32_t slot = out.begun.slot = only_slot(state);
    if (slot == kNoSlot) return false;
    const Required rest = required(state, slot);
    if (rest.unclear) return false;
    if (config.mode == kNextKey && spaced) out.text = ' ';
    if (config.mode == kKey) {
        const uint32_t key = next_required(config);
        if (key == kNoKey) return write_member(config, slot, out.text);
        const ObjectSet& set = *positions_[state->position]->objects;
        out.text = set.keys[key].substr(set.trie[config.node].depth) + '"';
        return add_property(state, set.place[slot][key], out);
    }
    if (config.mode == kNextKey && rest.count == 0) {
        Configuration key = config;
        open_key(key);
        out.text += '"';
        return write_member(key, slot, out.text);
    }
    return config.mode == kAfter || rest.count == 0 || add_first(state, out);
}

// The member or item that a container requires next, without a comma.
bool ShortestRest::add_first(const FrameState* state, Front& out) const {
    const Position& p = *positions_[state->position];
    const uint32_t slot = out.begun.slot;
    if (state->kind == FrameKind::kArrayFrame) {
        out.begun.items = 1;
        return add_value(ShortestValues::item(program_.arrays[p.arrays->disjuncts[slot]], state->count)[0][0].value,
                         out);
    }
    const uint32_t disjunct = p.objects->disjuncts[slot];
    const std::vector<uint32_t>& order = shortest_.plans[disjunct].order;
    const uint32_t first = *std::ranges::find_if(order, [&](uint32_t d) { return is_missing(state, slot, d); });
    out.text += '"' + program_.objects[disjunct].properties[first].key + '"';
    return add_property(state, first, out);
}

bool ShortestRest::add_property(const FrameState* state, uint32_t property, Front& out) const {
    out.begun.property = property;
    out.text += shortest_.colon();
    const ObjectDisjunct& disjunct = program_.objects[positions_[state->position]->objects->disjuncts[out.begun.slot]];
    return add_value(disjunct.properties[property].options[0][0].value, out);
}

bool ShortestRest::add_value(ValueId id, Front& out) const {
    const Shortest& value = shortest_.texts[id];
    if (value.kind == Shortest::kText)
        out.text += value.text;
    else
        out.value = id;
    return value.kind != Shortest::kUnclear;
}

bool ShortestRest::write_shortest(const Configuration& config, std::string& out) {
    if (config.mode == kDone) return true;
    Front front;
    if (!find_front(config, front)) return false;
    out += front.text;
    if (front.value != kNoValue) shortest_.write_value(front.value, out);
    Begun begun = front.begun;
    for (const Frame* frame = config.frame; frame->parent; frame = frame->parent) {
        if (frame->forbidden || !write_rest(frame->state, begun, out)) return false;
        const std::vector<Move>& moves = positions_.children[frame->parent->state->child].moves;
        if (frame->parent->parent && moves.size() != 1) return false;
        begun = {frame->parent->parent ? moves[0].slot : kNoSlot};
    }
    return true;
}

std::optional<uint32_t> ShortestRest::fewest_tokens(const Configuration& config) {
    if (config.mode == kDone) return 0;
    Front front;
    if (!find_front(config, front)) return std::nullopt;
    const Frame* frame = config.frame;
    Tail rest = frame->parent ? tail(frame->state, front.begun, tail_after(frame)) : Tail{};
    if (rest == kNoTail) return std::nullopt;
    if (front.value != kNoValue) rest = tokens_.value(front.value, rest);
    return tokens_.fewest(front.text, rest);
}

// The shortest rest of a member that need not come, from inside its key. Returns false if it is unclear.
bool ShortestRest::write_member(const Configuration& config, uint32_t slot, std::string& out) const {
    if (config.frame->forbidden) return false;
    return config.state ? write_extra_member(config, slot, out) : write_declared_member(config, slot, out);
}

// One whose key may be any one, with a value of one byte: no other member is as short.
bool ShortestRest::write_extra_member(const Configuration& config, uint32_t slot, std::string& out) const {
    const ExtraKeys* keys = any_keys(config.frame->state, slot);
    if (!keys || !containers_.used_key_suffixes(config).empty()) return false;
    const Shortest& value = shortest_.texts[keys->options[0][0].value];
    if (value.kind != Shortest::kText || value.text.size() != 1) return false;
    if (config.node != kNoNode) {
        const ObjectSet& set = *positions_[config.frame->state->position]->objects;
        if (set.trie[config.node].key != kNoKey || !program_.dfa().state(config.state).accepts[0]) return false;
    }
    if (!shortest_.first_word(config.state, 0, program_.dfa().bytes_to_accept(config.state, 0), out)) return false;
    out += '"' + shortest_.colon() + value.text;
    return true;
}

// One of a few declared keys.
bool ShortestRest::write_declared_member(const Configuration& config, uint32_t slot, std::string& out) const {
    if (config.node == kNoNode) return false;
    const FrameState* state = config.frame->state;
    const ObjectSet& set = *positions_[state->position]->objects;
    const TrieNode& node = set.trie[config.node];
    uint64_t least = kFar;
    std::string best;  // empty if it is unclear
    for (uint32_t key = node.low, tried = 0; key < node.high; ++key) {
        if (!is_offered(state, slot, key)) continue;
        if (++tried > kMostTried) return false;
        const std::vector<Option>& options = *set.options[slot][key];
        const std::string name = set.keys[key].substr(node.depth) + '"' + shortest_.colon();
        const uint64_t bytes = name.size() + uint64_t{min_bytes_.min_bytes_option(options, state->depth)};
        if (bytes > least) continue;
        std::string text;
        if (options.size() == 1 && shortest_.texts[options[0].value].kind != Shortest::kUnclear)
            shortest_.write_value(options[0].value, text = name);
        if (bytes < least || text.empty() || text < best) best = text;
        least = bytes;
    }
    out += best;
    return !best.empty();
}

bool ShortestRest::is_offered(const FrameState* state, uint32_t slot, uint32_t key) const {
    const ObjectSet& set = *positions_[state->position]->objects;
    return bit(state->offered + size_t{slot} * set.words, key) && set.options[slot][key];
}

}  // namespace schemagen
