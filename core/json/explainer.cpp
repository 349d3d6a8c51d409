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

namespace {

// The place of a text: JSON pointers of the container around and of the value in it, and the scalar or key being read.
struct TextPlace {
    std::string container, value;
    std::string_view scalar;
};

// One open container of a text.
struct Open {
    bool object, in_value = false;
    std::string key;
    size_t index = 0;
};

// A reference token of RFC 6901 for a key as it is spelled between its quotes.
std::string reference_token(std::string_view spelled) {
    const std::string plain = canonical_json('"' + std::string(spelled) + '"');
    std::string out = "/";
    for (char c : plain.size() < 2 ? std::string(spelled) : plain.substr(1, plain.size() - 2))
        out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return out;
}

std::string step_of(const Open& open) {
    return !open.object ? "/" + std::to_string(open.index) : open.in_value ? reference_token(open.key) : "";
}

TextPlace place_of(std::string_view text) {
    std::vector<Open> open;
    size_t scalar = 0;
    bool quoted = false, literal = false;
    for (size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            if (c == '\\') ++at;
            if (c != '"') continue;
            quoted = false;
            if (!open.empty() && open.back().object && !open.back().in_value)
                open.back().key = text.substr(scalar + 1, at - scalar - 1);
            continue;
        }
        const bool mark = std::string_view("{}[],: \n\t\r\"").find(c) != std::string_view::npos;
        if (c == '"' || (!mark && !literal)) scalar = at;
        literal = !mark;
        quoted = c == '"';
        if (c == '{' || c == '[') open.push_back({c == '{'});
        if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
        if (c == ':' && !open.empty()) open.back().in_value = true;
        if (c == ',' && !open.empty()) open.back().in_value = false, ++open.back().index;
    }
    TextPlace place;
    for (size_t k = 0; k + 1 < open.size(); ++k) place.container += step_of(open[k]);
    place.value = place.container + (open.empty() ? "" : step_of(open.back()));
    place.scalar = text.substr(std::min(scalar, text.size()));
    return place;
}

std::string at(const std::string& pointer) { return pointer.empty() ? "" : " at " + pointer; }

std::string within(const std::string& pointer) { return pointer.empty() ? "" : " in the object" + at(pointer); }

std::string counted(uint64_t count, const char* thing) {
    return std::to_string(count) + " more " + thing + (count == 1 ? "" : "s");
}

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

}  // namespace

Explainer::Explainer(JsonMachine& machine)
    : program_(machine.program),
      positions_(machine.positions),
      moves_(machine.moves),
      states_(machine.states),
      gaps_(machine.gaps),
      stepper_(machine.stepper) {}

std::string Explainer::refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) {
    const TextPlace place = place_of(text);
    if (std::string layout = gaps_.layout_refusal(config, byte, text); !layout.empty()) return layout;
    switch (config.mode) {
        case kDone: return "the text is complete and can only end";
        case kColon:
            return "':' is expected after the key " + std::string(place.scalar.substr(0, place.scalar.rfind('"') + 1));
        case kFirstItem:
            if (byte == ']') return open_end(config, place.container);
            if (config.frame->state->more.none()) return "the array" + at(place.container) + " may have no items";
            return expected_item(config, place.value);
        case kValue:
        case kItem: return expected_value(config.state, byte, place.value);
        case kString: return expected_string(config, byte, place.value);
        case kLiteral: return expected_literal(config, byte, text, place.value, place.scalar, arena);
        case kKey: return expected_key(config, byte, place.container, place.scalar);
        case kFirstKey:
        case kNextKey:
            if (byte == '}' && config.mode == kFirstKey) return open_end(config, place.container);
            if (config.frame->state->more.none()) return "the object" + at(place.container) + " may have no keys";
            return keys_for(config, "") + " is expected" + within(place.container);
        default: return expected_after(config, byte, place.container);
    }
}

std::string Explainer::types_at(uint32_t position) {
    const Position& p = positions_.prepared(position);
    std::vector<std::string> types;
    const ByteSet first = p.literal_start ? program_.dfa().next_bytes(p.literal_start) : ByteSet();
    auto begins = [&](std::string_view bytes) {
        return std::any_of(bytes.begin(), bytes.end(), [&](char c) { return first.has(static_cast<uint8_t>(c)); });
    };
    if (p.string_start) types.emplace_back("a string");
    if (begins("-0123456789")) types.emplace_back("a number");
    if (begins("t")) types.emplace_back("true");
    if (begins("f")) types.emplace_back("false");
    if (begins("n")) types.emplace_back("null");
    if (p.objects) types.emplace_back("an object");
    if (p.arrays) types.emplace_back("an array");
    return listed(types);
}

std::string Explainer::expected_value(uint32_t position, uint8_t byte, const std::string& pointer) {
    const bool numeric = byte == '-' || (byte >= '0' && byte <= '9');
    if (numeric && types_at(position).find("a number") != std::string::npos)
        return "no number that is allowed" + at(pointer) + " begins with " + static_cast<char>(byte);
    return types_at(position) + " is expected" + at(pointer);
}

// Before the first item, where the array could not take any byte that begins one.
std::string Explainer::expected_item(const Configuration& config, const std::string& pointer) {
    const ArraySet& set = *positions_[config.frame->state->position]->arrays;
    std::vector<Move> moves;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot)
        if (config.frame->state->more[slot])
            for (const Move& move : moves_.item_moves(config.frame->state, slot)) moves.push_back(move);
    const std::string end = config.frame->state->closable.any() ? ", or ']'" : "";
    return types_at(positions_.children[positions_.child(std::move(moves))].position) + " is expected" + at(pointer) +
           end;
}

std::string Explainer::expected_string(const Configuration& config, uint8_t byte, const std::string& pointer) {
    const Position& p = *positions_[states_.position_of(config.frame->state)];
    const LazyDfa::State& state = program_.dfa().state(config.state);
    const std::string name = "the string" + at(pointer);
    if (byte == '"' && stepper_.string_satisfied(config).any())
        return config.frame->tracking ? name + " would repeat a value that has to be different"
                                      : name + " fits nothing that may stand here";
    if (byte < 0x20) return "control characters are written as escapes inside a string";
    uint32_t least = kUnbounded, most = 0;
    for (size_t k = 0; k < p.strings.size(); ++k)
        if (state.alive[k])
            least = std::min(least, p.strings[k].min_chars), most = std::max(most, p.strings[k].max_chars);
    if (byte == '"' && config.count < least) return name + " needs " + counted(least - config.count, "character");
    if (byte != '"' && state.marked && most != kUnbounded && config.count >= most)
        return name + " may have no more than " + std::to_string(most) + " characters";
    ByteSet next = program_.dfa().next_bytes(config.state);
    if (stepper_.string_satisfied(config).any()) next.add('"');
    const std::string few = shown_bytes(next);
    if (!few.empty()) return few + " is expected in " + name;
    if (byte == '"') return name + " is not complete: it has a pattern, a format, a length or listed values";
    return "no string that is allowed" + at(pointer) + " goes on with " + shown_byte(byte);
}

std::string Explainer::expected_literal(const Configuration& config, uint8_t byte, std::string_view text,
                                        const std::string& pointer, std::string_view scalar, Arena& arena) {
    const bool number = !scalar.empty() && (scalar[0] == '-' || (scalar[0] >= '0' && scalar[0] <= '9'));
    const std::string thing = number ? "number" : "value";
    const bool goes_on = (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '+' ||
                         (byte | 0x20) == 'e' || (!number && byte >= 'a' && byte <= 'z');
    if (goes_on)
        return "no " + thing + " that is allowed" + at(pointer) + " begins with " + std::string(scalar) +
               static_cast<char>(byte);
    const Bits satisfied = stepper_.literal_satisfied(config);
    if (satisfied.none()) return "no " + thing + " that is allowed" + at(pointer) + " ends with " + std::string(scalar);
    if (config.frame->state->kind == FrameKind::kRootFrame) return "the text is complete and can only end";
    Configuration closed = config;
    if (!stepper_.close_value(closed, satisfied, config.start, 0, arena))
        return "the " + thing + at(pointer) +
               (config.frame->tracking ? " would repeat a value that has to be different"
                                       : " fits nothing that may stand here");
    return refusal(closed, byte, text, arena);
}

// The keys that may come next and begin with `prefix`, in words.
std::string Explainer::keys_for(const Configuration& config, std::string_view prefix) {
    const FrameState* state = config.frame->state;
    const ObjectSet& set = *positions_[state->position]->objects;
    std::vector<std::string> keys;
    size_t count = 0;
    for (uint32_t key = 0; key < set.keys.size(); ++key) {
        bool offered = false;
        for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot)
            offered |= state->alive[slot] && bit(state->offered + size_t{slot} * set.words, key);
        if (!offered || set.keys[key].compare(0, prefix.size(), prefix) != 0) continue;
        if (++count <= kMostShown) keys.push_back(in_quotes(set.keys[key]));
    }
    if (count == 0) return "a key";
    return count > kMostShown ? "one of " + std::to_string(count) + " keys" : "the key " + listed(keys);
}

std::string Explainer::expected_key(const Configuration& config, uint8_t byte, const std::string& pointer,
                                    std::string_view scalar) {
    const std::string_view prefix = scalar.substr(std::min<size_t>(1, scalar.size()));
    const std::string where = within(pointer);
    if (byte == '"' && config.state && program_.dfa().state(config.state).accepts.any())
        return "the key " + in_quotes(prefix) + where + " is there already or cannot be used";
    if (byte < 0x20) return "control characters are written as escapes inside a key";
    // The text so far may be the beginning of other keys than declared ones only.
    if (config.node == kNoNode || config.state)
        return "no key that is allowed" + where +
               (byte == '"' ? " is " + in_quotes(prefix)
                            : " begins with \"" + std::string(prefix) + static_cast<char>(byte));
    return keys_for(config, prefix) + " is expected" + where;
}

// The missing parts that keep a container open.
std::string Explainer::open_end(const Configuration& config, const std::string& pointer) {
    const FrameState* state = config.frame->state;
    if (state->closable.any())
        return std::string(state->kind == FrameKind::kObjectFrame ? "the object" : "the array") + at(pointer) +
               " may not become this value once more";
    uint64_t wanted = kUnbounded;
    if (state->kind == FrameKind::kArrayFrame) {
        const ArraySet& set = *positions_[state->position]->arrays;
        for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot)
            if (state->alive[slot])
                wanted = std::min<uint64_t>(
                    wanted, std::max(program_.arrays[set.disjuncts[slot]].min_items, config.frame->count) -
                                config.frame->count);
        if (wanted && wanted < kUnbounded) return "the array" + at(pointer) + " needs " + counted(wanted, "item");
        return "the array" + at(pointer) + " still lacks an item that it has to contain";
    }
    const std::vector<std::string> keys = missing_keys(state);
    const std::string where = within(pointer);
    if (keys.size() == 1) return "the required key " + keys[0] + " is still missing" + where;
    if (!keys.empty() && keys.size() <= kMostShown) {
        std::string names;
        for (size_t k = 0; k < keys.size(); ++k)
            names += (k == 0 ? "" : k + 1 == keys.size() ? " and " : ", ") + keys[k];
        return "the required keys " + names + " are still missing" + where;
    }
    if (!keys.empty())
        return std::to_string(keys.size()) + " required keys, " + keys[0] + " the first of them, are still missing" +
               where;
    const ObjectSet& set = *positions_[state->position]->objects;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot)
        if (state->alive[slot])
            wanted = std::min<uint64_t>(
                wanted, std::max(program_.objects[set.disjuncts[slot]].min_properties, config.frame->count) -
                            config.frame->count);
    if (wanted && wanted < kUnbounded) return "the object" + at(pointer) + " needs " + counted(wanted, "key");
    return "the object" + at(pointer) + " still lacks a key that it has to contain";
}

// The keys that every alternative still requires, in the order of declaration.
std::vector<std::string> Explainer::missing_keys(const FrameState* state) const {
    const ObjectSet& set = *positions_[state->position]->objects;
    std::vector<std::string> common;
    bool first = true;
    for (uint32_t slot = 0; slot < set.disjuncts.size(); ++slot) {
        if (!state->alive[slot]) continue;
        const ObjectDisjunct& disjunct = program_.objects[set.disjuncts[slot]];
        std::vector<std::string> missing;
        for (size_t d = program_.options.any_order ? 0 : state->next[slot]; d < disjunct.properties.size(); ++d)
            if (disjunct.properties[d].required && !bit(state->seen, set.key_at[slot][d]))
                missing.push_back(in_quotes(disjunct.properties[d].key));
        if (first) common = missing;
        std::erase_if(common, [&](const std::string& key) {
            return std::find(missing.begin(), missing.end(), key) == missing.end();
        });
        first = false;
    }
    return common;
}

// After a member or an item.
std::string Explainer::expected_after(const Configuration& config, uint8_t byte, const std::string& pointer) {
    const FrameState* state = config.frame->state;
    const bool object = state->kind == FrameKind::kObjectFrame;
    const char end = object ? '}' : ']';
    const std::string container = std::string(object ? "the object" : "the array") + at(pointer);
    if (byte == ',' && state->more.none())
        return container + (object ? " may have no more keys" : " may have no more items");
    if (byte == static_cast<uint8_t>(end)) return open_end(config, pointer);
    if (state->closable.none()) return "',' is expected in " + container;
    if (state->more.none()) return std::string("'") + end + "' is expected in " + container;
    return std::string("',' or '") + end + "' is expected in " + container;
}

}  // namespace schemagen
