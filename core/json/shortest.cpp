// The shortest text of a value and of what an open text still requires, without a search.
//
// Of most schemas the shortest text (the fewest bytes, the first of them in order) can be told from the schema: the
// required members of an object, the least items of an array, the first shortest word of a string or number. A value is
// clear if it is of that kind and no alternative is as short. The text of what is open is made of such parts, so its
// bytes and an upper bound of its tokens are sums: of the members that are still required, and of the containers
// around. Sums are kept: of the required members beside the state of an object, changed by one member where the state
// was changed by one; of the containers around beside each frame. So what is left costs the same at any depth, and
// beside any number of members.
//
// Invariants: `bytes` is never more than the shortest text has, and exact where nothing is unclear; `tokens` is never
// less than the fewest tokens that spell that text. Parts are priced apart: tokens across their borders only make it
// cheaper. A container is priced as its bracket and what it requires once it is open, so that opening it adds nothing.
#include <algorithm>
#include <bit>

#include "json/frames.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

constexpr uint32_t kFar = Automaton::kFar;
constexpr uint32_t kMostScalar = 4096;   // bytes of a string or number whose text is looked for
constexpr uint32_t kMostText = 200'000;  // bytes
constexpr uint32_t kMostTries = 16;      // keys that are not required, looked at for one that is short

uint32_t plus(uint64_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a + b, kFar)); }

}  // namespace

Required& Required::operator+=(const Required& other) {
    bytes += other.bytes;
    tokens += other.tokens;
    count += other.count;
    unclear += other.unclear;
    return *this;
}

Required& Required::operator-=(const Required& other) {
    bytes -= other.bytes;
    tokens -= other.tokens;
    count -= other.count;
    unclear -= other.unclear;
    return *this;
}

std::string JsonAutomaton::comma() const { return options_.whitespace == Whitespace::kSpaced ? ", " : ","; }
std::string JsonAutomaton::colon() const { return options_.whitespace == Whitespace::kSpaced ? ": " : ":"; }

// ---- values ---------------------------------------------------------------------------------------------------------

// The first word of `length` bytes of a language, as `follow_word` finds it; false also where it may not make more
// states.
bool JsonAutomaton::first_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const {
    try {
        return follow_word(state, component, length, out);
    } catch (const LimitExceeded&) {
        return false;  // past the time of the call, the next look throws again
    }
}

// The first word of `length` bytes of a language that has none of fewer. The bytes that are left are told by a lower
// bound: where the word is found, no byte that was passed over could have led to another one. False: the bound was too
// low.
bool JsonAutomaton::follow_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const {
    if (length > kMostScalar) return false;
    for (uint32_t left = length; left > 0; --left) {
        poll();
        uint32_t next = 0;
        for (unsigned byte = 0; byte < 256 && !next; ++byte) {
            const uint32_t to = dfa().next(state, static_cast<uint8_t>(byte));
            if (!to || !dfa().state(to).alive[component] || dfa().bytes_to_accept(to, component) >= left) continue;
            next = to;
            out.push_back(static_cast<char>(byte));
        }
        if (!next) return false;
        state = next;
    }
    return dfa().state(state).accepts[component];
}

// The shortest text of a string, of `length` bytes with its quotes; empty: not clear.
std::string JsonAutomaton::first_string(const StringDisjunct& disjunct, uint32_t length) const {
    std::string out = "\"";
    if (length > kMostScalar) return {};
    if (kernel().is_any_string(disjunct.regex)) return out.append(length - 2, ' ') + '"';
    const uint32_t start = dfa().intern({disjunct.regex}, false);
    if (!start || dfa().bytes_to_accept(start, 0) != length - 2 || !first_word(start, 0, length - 2, out)) return {};
    const bool plain =
        std::none_of(out.begin(), out.end(), [](char c) { return c == '\\' || static_cast<uint8_t>(c) >= 0x80; });
    const bool bounded = disjunct.min_chars > 0 || disjunct.max_chars != kUnbounded;
    if (bounded && (!plain || length - 2 > disjunct.max_chars)) return {};
    return out + '"';
}

// Find the shortest text of a value whose parts were asked before: they are shorter.
void JsonAutomaton::find_shortest(ValueId id) {
    const ValueNode& value = values_[id];
    Shortest& out = shortest_[id];
    if (!tells_shortest()) return;
    const uint32_t least = min_bytes_values_[id];
    size_t ways = 0;  // as short as `least`
    bool clear = true;
    auto take = [&](std::string text) {
        clear &= !text.empty();
        if (++ways == 1 || text < out.text) out.text = std::move(text), out.kind = Shortest::kText;
    };
    if (value.literal != kEmpty) {
        const uint32_t start = dfa().intern({value.literal}, false);
        std::string text;
        if (start && dfa().bytes_to_accept(start, 0) == least) take(first_word(start, 0, least, text) ? text : "");
    }
    for (const StringDisjunct& disjunct : value.strings) {
        if (!string_possible(disjunct)) continue;
        const uint32_t shortest = kernel().is_any_string(disjunct.regex)
                                      ? 0
                                      : dfa().bytes_to_accept(dfa().intern({disjunct.regex}, false), 0);
        if (plus(2, std::max(shortest, disjunct.min_chars)) == least) take(first_string(disjunct, least));
    }
    // The members of a disjunct that is as short as the value are shorter, so they were asked before.
    auto enter = [&](Shortest::Kind kind, uint32_t disjunct, const Needed& needed, char opening) {
        if (closed(needed) != least) return;
        const bool first = ++ways == 1 || (out.kind == Shortest::kText && opening < out.text[0]);
        clear &= ways == 1 || out.kind == Shortest::kText;
        const Required inside =
            kind == Shortest::kArray ? required_items(arrays_[disjunct], 0, 0, 0) : required_members(disjunct, 0);
        clear &= inside.unclear == 0;
        if (!first) return;
        out.kind = kind;
        out.disjunct = disjunct;
        out.text = opening;
        out.tokens = plus(2, inside.tokens + uint64_t{inside.count ? inside.count - 1 : 0} * comma_tokens_);
    };
    for (uint32_t disjunct : value.arrays)
        enter(Shortest::kArray, disjunct, needed_items(arrays_[disjunct], 0, 0, 0), '[');
    for (uint32_t disjunct : value.objects)
        enter(Shortest::kObject, disjunct, needed_members(objects_[disjunct], nullptr, 0), '{');
    if (!clear || ways == 0) {
        out = {};
    } else if (out.kind == Shortest::kText) {
        out.tokens = (*count_tokens_)(out.text);
    }
    if (out.tokens >= kFar) out = {};
}

const JsonAutomaton::Shortest* JsonAutomaton::only_option(const std::vector<Option>& options) const {
    if (options.size() != 1 || shortest_[options[0].value].kind == Shortest::kUnclear) return nullptr;
    return &shortest_[options[0].value];
}

// Sums from the end: what a disjunct requires from each of its properties on.
const std::vector<Required>& JsonAutomaton::required_sums(uint32_t disjunct) {
    ObjectPlan& plan = plans_[disjunct];
    if (!plan.from.empty()) return plan.from;
    const std::vector<Property>& properties = objects_[disjunct].properties;
    plan.from.resize(properties.size() + 1);
    for (size_t d = properties.size(); d-- > 0;) {
        plan.from[d] = plan.from[d + 1];
        plan.longest_key = std::max(plan.longest_key, static_cast<uint32_t>(properties[d].key.size()));
        if (!properties[d].required) continue;
        plan.from[d] += price(properties[d]);
        plan.order.push_back(static_cast<uint32_t>(d));
    }
    std::reverse(plan.order.begin(), plan.order.end());
    if (options_.any_order)
        std::sort(plan.order.begin(), plan.order.end(),
                  [&](uint32_t a, uint32_t b) { return properties[a].key + '"' < properties[b].key + '"'; });
    return plan.from;
}

Required JsonAutomaton::member(const std::vector<Required>& from, uint32_t place) {
    Required out = from[place];
    out -= from[place + 1];
    return out;
}

Required JsonAutomaton::price(const Property& property) const {
    const Shortest* value = property.options.size() == 1 ? only_option(property.options[0]) : nullptr;
    Required out{property.key.size() + 2 + colon_bytes() + min_bytes_option(property.options, 0), 0, 1, !value};
    if (value) out.tokens = uint64_t{(*count_tokens_)('"' + property.key + '"' + colon())} + value->tokens;
    if (out.tokens >= kFar) out.tokens = 0, out.unclear = 1;
    return out;
}

// What a disjunct requires from a property on, besides keys of any name.
Required JsonAutomaton::required_members(uint32_t disjunct, uint32_t place) {
    Required out = required_sums(disjunct)[place];
    out.unclear += objects_[disjunct].final.size() > 1 || out.count < objects_[disjunct].min_properties;
    return out;
}

Required JsonAutomaton::required_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count,
                                       uint32_t depth) const {
    const Needed needed = needed_items(disjunct, state, count, depth);
    Required out{needed.bytes, 0, static_cast<uint32_t>(std::min<uint64_t>(needed.count, kFar)),
                 disjunct.final.size() > 1 || (disjunct.unique && count + needed.count > 1)};
    const Shortest* item = nullptr;
    for (uint64_t k = count; k < count + needed.count && !out.unclear; ++k) {
        const Options& options = k < disjunct.prefix.size() ? disjunct.prefix[k] : disjunct.items;
        if (k <= disjunct.prefix.size()) item = options.size() == 1 ? only_option(options[0]) : nullptr;
        if (!item) {
            out.unclear = 1;
        } else if (k < disjunct.prefix.size()) {
            out.tokens += item->tokens;
        } else {
            out.tokens += (count + needed.count - k) * uint64_t{item->tokens};
            break;
        }
    }
    return out;
}

void JsonAutomaton::settle_shortest(const CountTokens& tokens) {
    if (!min_bytes_values_.empty()) return;
    try {
        settle_all(tokens);
    } catch (...) {
        min_bytes_values_.clear();
        shortest_.clear();
        plans_.clear();
        throw;
    }
}

void JsonAutomaton::settle_all(const CountTokens& tokens) {
    settle_min_bytes();
    count_tokens_ = &tokens;
    comma_tokens_ = tokens(comma());
    shortest_.resize(values_.size());
    plans_.resize(objects_.size());
    std::vector<ValueId> order;
    for (ValueId id = 0; id < values_.size(); ++id)
        if (min_bytes_values_[id] < kFar) order.push_back(id);
    std::stable_sort(order.begin(), order.end(),
                     [&](ValueId a, ValueId b) { return min_bytes_values_[a] < min_bytes_values_[b]; });
    for (ValueId id : order) {
        poll();
        find_shortest(id);
    }
    for (uint32_t disjunct = 0; disjunct < objects_.size(); ++disjunct) required_sums(disjunct);
    settle_growth();
}

// ---- what is open ---------------------------------------------------------------------------------------------------

// What a slot of an object or array still requires, besides the value that is being read.
Required JsonAutomaton::required(const FrameState* state, uint32_t slot) const {
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kArrayFrame)
        return required_items(arrays_[p.arrays->disjuncts[slot]], p.arrays->state[slot], state->count, state->depth);
    const ObjectSet& set = *p.objects;
    const ObjectDisjunct& disjunct = objects_[set.disjuncts[slot]];
    const std::vector<Required>& from = plans_[set.disjuncts[slot]].from;
    Required out;
    if (!options_.any_order) {
        out = from[state->next[slot]];  // what is passed over is not required
    } else if (state->required) {
        out = *state->required;
    } else {
        out = from[0];
        for (uint32_t d : plans_[set.disjuncts[slot]].order)
            if (bit(state->seen, set.key_at[slot][d])) out -= member(from, d);
    }
    out.unclear += disjunct.final.size() > 1 || uint64_t{state->count} + out.count < disjunct.min_properties;
    return out;
}

// Keep what is required beside a state with keys in any order: it is what was required before its last key, without
// that.
void JsonAutomaton::remember_required(const FrameState* state) {
    auto has_none = [this](const FrameState* at) {
        return at->id && !at->required && at->kind == FrameKind::kObjectFrame &&
               positions_[at->position]->objects->disjuncts.size() == 1;
    };
    std::vector<const FrameState*> chain;
    for (; options_.any_order && has_none(state); state = state->origin) {
        chain.push_back(state);
        if (!state->origin) break;
    }
    for (; !chain.empty(); chain.pop_back()) {
        const FrameState* at = chain.back();
        const ObjectSet& set = *positions_[at->position]->objects;
        const std::vector<Required>& from = plans_[set.disjuncts[0]].from;
        auto* kept = static_cast<Required*>(state_arena_.allocate(sizeof(Required)));
        if (!at->origin) {
            *kept = from[0];
            for (uint32_t d : plans_[set.disjuncts[0]].order)
                if (bit(at->seen, set.key_at[0][d])) *kept -= member(from, d);
        } else {
            *kept = *at->origin->required;
            const uint32_t place = at->taken == kNoKey ? kNoKey : set.place[0][at->taken];
            if (place != kNoKey && objects_[set.disjuncts[0]].properties[place].required) *kept -= member(from, place);
        }
        at->required = kept;
        state_bytes_ += sizeof(Required);
    }
}

// Tokens from the end of the value that a container is waiting for to behind its bracket.
uint32_t JsonAutomaton::most_behind(const Frame* frame) const {
    const FrameState* state = frame->state;
    if (state->kind == FrameKind::kRootFrame || state->kind == FrameKind::kExitFrame) return 0;
    const std::vector<Move>& moves = children_[state->child].moves;
    if (moves.size() != 1 || frame->tracking) return kFar;
    const Required rest = required(state, moves[0].slot);
    return rest.unclear ? kFar : plus(rest.tokens, uint64_t{rest.count} * comma_tokens_ + 1);
}

// The same between two members or items; `opened`: before the first one.
uint32_t JsonAutomaton::most_rest(const Frame* frame, bool opened) const {
    const FrameState* state = frame->state;
    if (state->alive.count() != 1 || frame->tracking) return kFar;
    const Required rest = required(state, only_slot(state));
    const uint32_t commas = opened && rest.count ? rest.count - 1 : rest.count;
    return rest.unclear ? kFar : plus(rest.tokens, uint64_t{commas} * comma_tokens_ + 1);
}

uint32_t JsonAutomaton::only_slot(const FrameState* state) { return static_cast<uint32_t>(state->alive._Find_first()); }

uint32_t JsonAutomaton::most_position(uint32_t id) const {
    const std::vector<ValueId>& values = positions_[id]->values;
    return values.size() == 1 && shortest_[values[0]].kind != Shortest::kUnclear ? shortest_[values[0]].tokens : kFar;
}

// What the containers around a frame require, with the sums.
const Around& JsonAutomaton::summed(const Frame* frame) {
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

void JsonAutomaton::sum_around(const Around& around, const Frame* parent) {
    const Around& beyond = parent->around;
    around.least = plus(beyond.least, min_bytes_behind(parent->state));
    around.most = plus(beyond.most, most_behind(parent));
}

bool JsonAutomaton::has_sums(const Frame* frame) const {
    return !min_bytes_values_.empty() && frame->around.least != kNotSummed;
}

// Of a config whatever the string, number or key that is being read: tokens that are needed besides it.
uint32_t JsonAutomaton::most_tokens_around(const Configuration& config) const {
    if (config.mode == kDone) return 0;
    if (!tells_shortest() || !has_sums(config.frame)) return kFar;
    const uint32_t around = config.frame->around.most;
    switch (config.mode) {
        case kColon:
            return plus(around, uint64_t{colon_bytes()} + most_position(position_of(config.frame->state)) +
                                    most_behind(config.frame));
        case kValue:
        case kItem: return plus(around, uint64_t{1} + most_position(config.state) + most_behind(config.frame));
        case kString:
        case kLiteral: return plus(around, most_behind(config.frame));
        default: return plus(around, uint64_t{1} + most_rest(config.frame, false));
    }
}

uint32_t JsonAutomaton::most_tokens(const Configuration& config) {
    if (config.mode == kDone) return 0;
    if (!tells_shortest()) return kFar;
    remember_required(config.frame->state);
    const uint32_t around = summed(config.frame).most;
    if (around >= kFar) return kFar;
    const bool space = options_.whitespace == Whitespace::kSpaced && config.gap == 0;
    std::string word;
    switch (config.mode) {
        case kValue:
        case kItem: return plus(around, uint64_t{space} + most_position(config.state) + most_behind(config.frame));
        case kString:
        case kLiteral:
            return rest_of_word(config, word) ? plus(around, word.size() + uint64_t{most_behind(config.frame)}) : kFar;
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
uint32_t JsonAutomaton::most_key(const Configuration& config) {
    const uint32_t rest = most_rest(config.frame, true), around = config.frame->around.most;
    const uint32_t key = next_required(config);
    if (key == kNoKey || rest >= kFar) return kFar;
    const ObjectSet& set = *positions_[config.frame->state->position]->objects;
    const uint32_t longest = plans_[set.disjuncts[only_slot(config.frame->state)]].longest_key;
    return std::min(plus(uint64_t{rest} + around, uint64_t{longest} + 2 + colon_bytes()), min_bytes(config));
}

// The required key that comes first in the shortest text, of those that the key being read may become.
uint32_t JsonAutomaton::next_required(const Configuration& config) const {
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
    // A key that begins another one ends with a quote where the other goes on.
    const std::string first = set.keys[best];
    for (uint32_t other = find(best + 1); options_.any_order && other < high && set.keys[other].starts_with(first);
         other = find(other + 1))
        if (set.keys[other] + '"' < set.keys[best] + '"') best = other;
    return best;
}

// ---- writing --------------------------------------------------------------------------------------------------------

// The shortest rest of the string or number that is being read, with the quote.
bool JsonAutomaton::rest_of_word(const Configuration& config, std::string& out) const {
    const Position& p = *positions_[position_of(config.frame->state)];
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
        if (disjunct.any && missing && !dfa().state(config.state).accepts[0]) return false;
    }
    if (missing) out.append(missing, ' ');
    if (!missing && !dfa().state(config.state).accepts[0] &&
        !first_word(config.state, 0, dfa().bytes_to_accept(config.state, 0), out))
        return false;
    if (string) out += '"';
    return true;
}

void JsonAutomaton::write_value(ValueId id, std::string& out) const {
    struct Level {
        ValueId value;
        uint32_t at;  // the member or item that is next
    };
    std::vector<Level> levels;
    auto begin = [&](ValueId value) {
        const Shortest& shortest = shortest_[value];
        out += shortest.text;
        if (shortest.kind != Shortest::kText) levels.push_back({value, 0});
    };
    for (begin(id); !levels.empty();) {
        poll();
        const Shortest& shortest = shortest_[levels.back().value];
        const uint32_t at = levels.back().at++;
        const bool object = shortest.kind == Shortest::kObject;
        const uint32_t count = object ? static_cast<uint32_t>(plans_[shortest.disjunct].order.size())
                                      : arrays_[shortest.disjunct].min_items;
        if (at == count) {
            out += object ? '}' : ']';
            levels.pop_back();
            continue;
        }
        if (at > 0) out += comma();
        if (object) {
            const Property& property = objects_[shortest.disjunct].properties[plans_[shortest.disjunct].order[at]];
            out += '"' + property.key + '"' + colon();
            begin(property.options[0][0].value);
        } else {
            begin(item_of(arrays_[shortest.disjunct], at));
        }
    }
}

ValueId JsonAutomaton::item_of(const ArrayDisjunct& disjunct, uint64_t place) {
    return (place < disjunct.prefix.size() ? disjunct.prefix[place] : disjunct.items)[0][0].value;
}

// What a slot of a container still requires, and its bracket; `skip`: a property that is there. `first`: without a
// comma before.
void JsonAutomaton::write_rest(const FrameState* state, uint32_t slot, bool first, uint32_t skip,
                               std::string& out) const {
    const Position& p = *positions_[state->position];
    auto separate = [&] {
        if (!first) out += comma();
        first = false;
    };
    if (state->kind == FrameKind::kArrayFrame) {
        const ArrayDisjunct& disjunct = arrays_[p.arrays->disjuncts[slot]];
        for (uint64_t at = state->count; at < disjunct.min_items; ++at)
            separate(), write_value(item_of(disjunct, at), out);
        out += ']';
        return;
    }
    const ObjectSet& set = *p.objects;
    const uint32_t disjunct = set.disjuncts[slot];
    for (uint32_t d : plans_[disjunct].order) {
        if (d == skip || (options_.any_order ? bit(state->seen, set.key_at[slot][d]) : d < state->next[slot])) continue;
        separate();
        out += '"' + objects_[disjunct].properties[d].key + '"' + colon();
        write_value(objects_[disjunct].properties[d].options[0][0].value, out);
    }
    out += '}';
}

bool JsonAutomaton::write_shortest(const Configuration& config, std::string& out) {
    if (config.mode == kDone) return true;
    if (most_tokens(config) >= kFar || min_bytes(config) > kMostText) return false;
    const Frame* frame = config.frame;
    const FrameState* state = frame->state;
    auto write_position = [&](uint32_t id) { write_value(positions_[id]->values[0], out); };
    bool value = true;  // the frame waits for one
    switch (config.mode) {
        case kColon:
            out += colon();
            write_position(position_of(state));
            break;
        case kValue:
        case kItem:
            if (options_.whitespace == Whitespace::kSpaced && config.gap == 0) out += ' ';
            write_position(config.state);
            break;
        case kString:
        case kLiteral:
            if (!rest_of_word(config, out)) return false;
            break;
        case kKey: {
            const ObjectSet& set = *positions_[state->position]->objects;
            const uint32_t key = next_required(config), slot = only_slot(state), place = set.place[slot][key];
            out += set.keys[key].substr(set.trie[config.node].depth) + '"' + colon();
            write_value(objects_[set.disjuncts[slot]].properties[place].options[0][0].value, out);
            write_rest(state, slot, false, place, out);
            value = false;
            break;
        }
        default:
            if (options_.whitespace == Whitespace::kSpaced && config.mode == kNextKey && config.gap == 0) out += ' ';
            write_rest(state, only_slot(state), config.mode != kAfter, kNoKey, out);
            value = false;
    }
    for (; frame->parent; frame = frame->parent, value = true)
        if (value) write_rest(frame->state, children_[frame->state->child].moves[0].slot, false, kNoKey, out);
    return true;
}

// ---- growth ---------------------------------------------------------------------------------------------------------

// Bytes that are needed at most behind any place of a scalar.
uint32_t JsonAutomaton::peak(const ValueNode& value) const {
    constexpr uint64_t kBegun = 12,
                       kCharacter = 6;  // bytes of a character that was begun, and of one in its shortest spelling
    uint64_t most = value.literal == kEmpty ? 0 : kernel().most_to_finish(value.literal);
    if (most == kUnbounded) return kFar;
    for (const StringDisjunct& disjunct : value.strings) {
        if (!string_possible(disjunct)) continue;
        uint64_t chars = disjunct.min_chars;
        if (!kernel().is_any_string(disjunct.regex)) {
            chars = kernel().most_to_finish(disjunct.regex);
            if (chars == kUnbounded || disjunct.min_chars > 0)
                chars = std::max<uint64_t>(disjunct.max_chars, chars == kUnbounded ? 0 : chars);
            if (chars >= kUnbounded) return kFar;
        }
        most = std::max(most, kBegun + chars * kCharacter + 1);
    }
    return plus(most, 0);
}

// How many bytes a token can add to what is needed. It can only do so where it begins something that is not required,
// or one alternative where another is shorter.
void JsonAutomaton::settle_growth() {
    std::vector<bool> extra(values_.size(), false);  // values that may stand where none is required
    auto mark = [&](const std::vector<Option>& options) {
        for (const Option& option : options) extra[option.value] = true;
    };
    uint64_t local = 0, longest_key = 0;
    bool known = tells_shortest();
    for (size_t a = 0; a < objects_.size(); ++a) {
        const ObjectDisjunct& disjunct = objects_[a];
        known &= disjunct.final.size() == 1 && plans_[a].from[0].count >= disjunct.min_properties;
        longest_key = std::max<uint64_t>(longest_key, plans_[a].longest_key);
        for (const Property& property : disjunct.properties)
            if (!property.required || property.options.size() != 1 || property.options[0].size() != 1)
                for (const auto& options : property.options) mark(options);
        for (const ExtraKeys& keys : disjunct.extras) {
            bool possible = false;
            for (const auto& options : keys.options) mark(options), possible |= min_bytes_option(options, 0) < kFar;
            known &= !possible || (keys.open && kernel().is_any_string(keys.regex));
        }
    }
    for (const ArrayDisjunct& disjunct : arrays_) {
        known &= disjunct.final.size() == 1 && !disjunct.unique;
        for (size_t k = 0; k < disjunct.prefix.size(); ++k)
            for (const auto& options : disjunct.prefix[k])
                if (k >= disjunct.min_items || options.size() != 1) mark(options);
        if (disjunct.max_items > disjunct.min_items)
            for (const auto& options : disjunct.items) mark(options);
    }
    uint64_t opened = 0, begun = 0;
    for (ValueId id = 0; id < values_.size() && known; ++id) {
        const ValueNode& value = values_[id];
        if (!value.productive) continue;
        local = std::max<uint64_t>(local, peak(value));
        const size_t ways =
            value.objects.size() + value.arrays.size() + value.strings.size() + (value.literal != kEmpty);
        if (ways == 1 && !extra[id]) continue;
        if (extra[id])
            begun = std::max<uint64_t>(begun, shortest_[id].kind == Shortest::kUnclear ? kFar : min_bytes_values_[id]);
        for (uint32_t disjunct : value.objects)
            opened = std::max<uint64_t>(
                opened, most_opened(needed_members(objects_[disjunct], nullptr, 0), required_members(disjunct, 0)));
        for (uint32_t disjunct : value.arrays)
            opened = std::max<uint64_t>(opened, most_opened(needed_items(arrays_[disjunct], 0, 0, 0),
                                                            required_items(arrays_[disjunct], 0, 0, 0)));
    }
    constexpr uint64_t kExtraKey =
        24;                         // bytes of a key of any name that was begun and is not used, its quote and colon
    constexpr uint64_t kComma = 4;  // of a member that is not required, with its space
    growth_.opened = known ? plus(opened, 0) : kFar;
    growth_.local = known ? plus(std::max(local, begun + longest_key + kExtraKey), kComma) : kFar;
}

uint32_t JsonAutomaton::most_opened(const Needed& needed, const Required& required) const {
    return required.unclear ? kFar : closed(needed);
}

uint32_t JsonAutomaton::growth(uint32_t brackets) const {
    return plus(growth_.local, uint64_t{brackets} * growth_.opened);
}

}  // namespace schemagen
