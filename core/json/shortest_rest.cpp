#include "json/shortest_rest.hpp"

#include <algorithm>

#include "json/machine.hpp"
#include "json/values.hpp"

namespace schemagen {

ShortestRest::ShortestRest(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      states_(machine.states),
      unique_(machine.unique),
      containers_(machine.containers),
      min_bytes_(machine.min_bytes),
      shortest_(machine.shortest),
      tokens_(machine.tokens),
      parts_(machine.parts),
      distinct_(machine.distinct) {}

// The position of the value that comes next.
uint32_t ShortestRest::position_of_next(const Configuration& config) const {
    return config.mode == kColon ? states_.position_of(config.frame->state) : config.state;
}

// What the value that comes next is instead of its shortest text, where it must not become that one; empty if unclear.
std::optional<std::string> ShortestRest::unlike(const Configuration& config) const {
    const FrameState* state = config.frame->state;
    const std::vector<Move>& moves = positions_.children[state->child].moves;
    if (state->kind == FrameKind::kArrayFrame && moves.size() == 1)
        if (std::string item = distinct_.next(config.frame, moves[0].slot, state->count); !item.empty()) return item;
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
    std::string word;
    if (!shortest_.first_word(start, 0, bytes, word)) return "";
    if (!is_string) return word;
    const StringDisjunct& string = value.strings[0];
    const bool is_plain =
        std::ranges::none_of(word, [](char c) { return c == '\\' || static_cast<uint8_t>(c) >= 0x80; });
    return is_plain && string.min_chars <= bytes && bytes <= string.max_chars ? '"' + word + '"' : "";
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
bool ShortestRest::write_rest(const Frame* frame, const Begun& begun, const std::string& item, std::string& out) const {
    const FrameState* state = frame->state;
    if (const ArrayDisjunct* array = distinct_.told(state, begun.slot))
        return distinct_.write(*array, frame->items, uint64_t{state->count} + begun.items, item, out), true;
    if (parts_.required(state, begun.slot).unclear) return false;
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
        if (d == begun.property || !parts_.is_missing(state, begun.slot, d)) continue;
        const Property& property = program_.objects[disjunct].properties[d];
        out += shortest_.comma() + '"' + property.key + '"' + shortest_.colon();
        shortest_.write_value(property.options[0][0].value, out);
    }
    out += '}';
    return true;
}

// The tail of these parts, the bracket and the tail after it.
Tail ShortestRest::tail(const Frame* frame, const Begun& begun, const std::string& item, Tail after) const {
    if (after == kNoTail) return kNoTail;
    const FrameState* state = frame->state;
    if (const ArrayDisjunct* array = distinct_.told(state, begun.slot))
        return distinct_.tail(*array, frame->items, uint64_t{state->count} + begun.items, item, after);
    if (parts_.required(state, begun.slot).unclear) return kNoTail;
    const Position& p = *positions_[state->position];
    if (state->kind == FrameKind::kArrayFrame)
        return tokens_.items(p.arrays->disjuncts[begun.slot], uint64_t{state->count} + begun.items, after);
    const ObjectSet& set = *p.objects;
    const uint32_t disjunct = set.disjuncts[begun.slot];
    if (!program_.options.any_order)
        return tokens_.members(disjunct, std::max(state->next[begun.slot], begun.property + 1), after);
    return tokens_.unseen_members(disjunct, set.key_at[begun.slot], {state->seen, set.words}, begun.property, after);
}

// The tail after the container of a frame: that of the one around it, which waits for it.
Tail ShortestRest::tail_after(const Frame* frame) const {
    std::vector<const Frame*> chain;
    for (; frame->parent && frame->around.tail == kNotCounted; frame = frame->parent) chain.push_back(frame);
    Tail out = frame->parent ? frame->around.tail : Tail{};
    for (; !chain.empty(); chain.pop_back()) {
        const Frame* parent = chain.back()->parent;
        const std::vector<Move>& moves = positions_.children[parent->state->child].moves;
        const bool is_clear = moves.size() == 1 && !parent->forbidden && !distinct_.told(parent->state, moves[0].slot);
        if (parent->parent) out = is_clear ? tail(parent, {moves[0].slot}, {}, out) : kNoTail;
        chain.back()->around.tail = out;
    }
    return out;
}

// Find the beginning of the shortest text, up to a part that a container around still requires. Returns false if it is
// unclear.
bool ShortestRest::find_front(const Configuration& config, Front& out) {
    if (!shortest_.tells_shortest() || config.frame->forbidden || min_bytes_.min_bytes(config) > kMostText)
        return false;
    const FrameState* state = config.frame->state;
    const bool spaced = program_.options.whitespace == Whitespace::kSpaced && config.gap == 0;
    const bool is_word = config.mode == kString || config.mode == kLiteral;
    if (is_word || config.mode == kColon || config.mode == kValue || config.mode == kItem) {
        const Position& p = *positions_[is_word ? states_.position_of(state) : position_of_next(config)];
        const std::vector<Move>& moves = positions_.children[state->child].moves;
        if (config.frame->parent) {
            if (moves.size() != 1) return false;
            out.begun.slot = moves[0].slot;
        }
        if (is_word) {
            if ((config.mode == kString ? p.strings.size() : p.literal_owner.size()) != 1) return false;
            if (config.frame->tracking) out.item = text_since(config.text, config.start);
            if (!rest_of_word(config, 0, out.text)) return false;
            out.item += out.text;
            return true;
        }
        if (config.mode == kColon) out.text = shortest_.colon();
        if (config.mode != kColon && spaced) out.text = ' ';
        if (const auto other = unlike(config)) {
            out.text += out.item = *other;
            return !other->empty();
        }
        return add_value(p.values[0], out);
    }
    const uint32_t slot = out.begun.slot = parts_.only_slot(state);
    if (slot == RequiredParts::kNoSlot) return false;
    const Required rest = parts_.required(state, slot);
    if (rest.unclear && !distinct_.told(state, slot)) return false;
    if (config.mode == kNextKey && spaced) out.text = ' ';
    if (config.mode == kKey) {
        const uint32_t key = parts_.next_required(config);
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
    return config.mode == kAfter || rest.count == 0 || add_first(config.frame, out);
}

// The member or item that a container requires next, without a comma.
bool ShortestRest::add_first(const Frame* frame, Front& out) const {
    const FrameState* state = frame->state;
    const Position& p = *positions_[state->position];
    const uint32_t slot = out.begun.slot;
    if (state->kind == FrameKind::kArrayFrame) {
        out.begun.items = 1;
        if (distinct_.told(state, slot)) {
            out.text += out.item = distinct_.next(frame, slot, uint64_t{state->count} + 1);
            return true;
        }
        return add_value(ShortestValues::item(program_.arrays[p.arrays->disjuncts[slot]], state->count)[0][0].value,
                         out);
    }
    const uint32_t disjunct = p.objects->disjuncts[slot];
    const std::vector<uint32_t>& order = shortest_.plans[disjunct].order;
    const uint32_t first = *std::ranges::find_if(order, [&](uint32_t d) { return parts_.is_missing(state, slot, d); });
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
        if (frame->forbidden || (frame != config.frame && distinct_.told(frame->state, begun.slot))) return false;
        if (!write_rest(frame, begun, front.item, out)) return false;
        front.item.clear();
        const std::vector<Move>& moves = positions_.children[frame->parent->state->child].moves;
        if (frame->parent->parent && moves.size() != 1) return false;
        begun = {frame->parent->parent ? moves[0].slot : RequiredParts::kNoSlot};
    }
    return true;
}

std::optional<uint32_t> ShortestRest::fewest_tokens(const Configuration& config) {
    if (config.mode == kDone) return 0;
    Front front;
    if (!find_front(config, front)) return std::nullopt;
    const Frame* frame = config.frame;
    Tail rest = frame->parent ? tail(frame, front.begun, front.item, tail_after(frame)) : Tail{};
    if (rest == kNoTail) return std::nullopt;
    if (front.value != kNoValue) rest = tokens_.value(front.value, rest);
    return tokens_.fewest(front.text, rest);
}

// Each item that a token wrote, or has begun, may be one of those that would come later: then another one takes its
// place.
uint32_t ShortestRest::most_differing(const Configuration& from, const Configuration& next) {
    const Frame* frame = next.frame;
    if (!frame->tracking || frame->state->kind != FrameKind::kArrayFrame) return 0;
    const Tail after = tail_after(frame);
    if (after == kNoTail) return 0;  // the rest is not told
    uint32_t most = 0;
    for (uint32_t slot = 0; slot < parts_.slots(frame->state); ++slot)
        if (const ArrayDisjunct* array = distinct_.told(frame->state, slot))
            most = std::max(most, distinct_.most_differing(*array, after));
    const bool is_same = from.frame->parent == frame->parent && from.frame->start == frame->start;
    return most * (frame->count - (is_same ? from.frame->count : 0) + 1);
}

// The shortest rest of a member that need not come, from inside its key. Returns false if it is unclear.
bool ShortestRest::write_member(const Configuration& config, uint32_t slot, std::string& out) const {
    return config.state ? write_extra_member(config, slot, out) : write_declared_member(config, slot, out);
}

// One whose key may be any one, with a value of one byte: no other member is as short.
bool ShortestRest::write_extra_member(const Configuration& config, uint32_t slot, std::string& out) const {
    const ExtraKeys* keys = parts_.any_keys(config.frame->state, slot);
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
        if (!parts_.is_offered(state, slot, key)) continue;
        if (++tried > RequiredParts::kMostTried) return false;
        const std::vector<Option>& options = *set.options[slot][key];
        const std::string name = set.keys[key].substr(node.depth) + '"' + shortest_.colon();
        const uint64_t bytes = name.size() + uint64_t{min_bytes_.min_bytes_option(options, state->depth)};
        if (bytes > least) continue;
        std::string text;
        if (const Option* option = only(options); option && shortest_.texts[option->value].kind != Shortest::kUnclear)
            shortest_.write_value(option->value, text = name);
        if (bytes < least || text.empty() || text < best) best = text;
        least = bytes;
    }
    out += best;
    return !best.empty();
}

}  // namespace schemagen
