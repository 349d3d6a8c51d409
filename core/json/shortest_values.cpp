#include <algorithm>
#include <functional>
#include <unordered_set>

#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/hash.hpp"
#include "util/heap.hpp"
#include "util/limits.hpp"
#include "util/shown.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

ShortestValues::ShortestValues(JsonMachine& machine)
    : program_(machine.program), gaps_(machine.gaps), min_bytes_(machine.min_bytes), distinct_(machine.distinct) {}

Required& Required::operator+=(const Required& other) {
    bytes += other.bytes;
    tokens += other.tokens;
    count += other.count;
    unclear += other.unclear;
    unbounded += other.unbounded;
    return *this;
}

Required& Required::operator-=(const Required& other) {
    bytes -= other.bytes;
    tokens -= other.tokens;
    count -= other.count;
    unclear -= other.unclear;
    unbounded -= other.unbounded;
    return *this;
}

std::string ShortestValues::comma() const { return program_.options.whitespace == Whitespace::kSpaced ? ", " : ","; }
std::string ShortestValues::colon() const { return program_.options.whitespace == Whitespace::kSpaced ? ": " : ":"; }

// ---- values ---------------------------------------------------------------------------------------------------------

// The first word of `length` bytes of a language, as `follow_word` finds it; false also where it may not make more
// states.
bool ShortestValues::first_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const {
    try {
        return follow_word(state, component, length, out);
    } catch (const LimitExceeded&) {
        return false;  // past the time of the call, the next look throws again
    }
}

// The first word of `length` bytes of a language that has none of fewer. A lower bound tells the bytes that are left:
// if the word is found, no smaller byte could have led to another one. Returns false if the bound was too low.
bool ShortestValues::follow_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const {
    if (length > kMostScalar) return false;
    for (uint32_t left = length; left > 0; --left) {
        poll();
        uint32_t next = 0;
        LazyDfa& dfa = program_.dfa();
        for (unsigned byte = 0; byte < 256 && !next; byte = dfa.last_alike(state, static_cast<uint8_t>(byte)) + 1) {
            const uint32_t to = dfa.next(state, static_cast<uint8_t>(byte));
            if (!to || !dfa.state(to).alive[component] || dfa.bytes_to_accept(to, component) >= left) continue;
            next = to;
            out.push_back(static_cast<char>(byte));
        }
        if (!next) return false;
        state = next;
    }
    return program_.dfa().state(state).accepts[component];
}

// The shortest text of a string, of `length` bytes with its quotes. Empty if it is not clear.
std::string ShortestValues::first_string(const StringDisjunct& disjunct, uint32_t length) const {
    std::string out = "\"";
    if (length > kMostScalar) return {};
    if (program_.kernel().is_any_string(disjunct.regex)) return out.append(length - 2, ' ') + '"';
    const uint32_t start = program_.dfa().intern({disjunct.regex}, false);
    if (!start || program_.dfa().bytes_to_accept(start, 0) != length - 2 || !first_word(start, 0, length - 2, out))
        return {};
    const bool plain =
        std::none_of(out.begin(), out.end(), [](char c) { return c == '\\' || static_cast<uint8_t>(c) >= 0x80; });
    const bool bounded = disjunct.min_chars > 0 || disjunct.max_chars != kUnbounded;
    if (bounded && (!plain || length - 2 > disjunct.max_chars)) return {};
    return out + '"';
}

// The shortest text of a value found so far, while its alternatives are tried.
struct ShortestValues::Search {
    uint32_t least;   // bytes of the shortest text
    size_t ways = 0;  // alternatives as short as that
    bool clear = true;
    bool sure = false;  // that one of them is as short
    Shortest found = {};

    void take_text(std::string text) {
        clear &= !text.empty();
        sure |= !text.empty();
        if (++ways == 1 || text < found.text) found.text = std::move(text), found.kind = Shortest::kText;
    }
};

// Find the shortest text of a value whose parts were asked before: they are shorter.
void ShortestValues::find_shortest(ValueId id) {
    const ValueNode& value = program_.values[id];
    if (!tells_shortest()) return;
    Search search{min_bytes_.of_value[id]};
    find_scalars(value, search);
    for (uint32_t disjunct : value.arrays) enter_array(disjunct, search);
    for (uint32_t disjunct : value.objects) enter_object(disjunct, search);
    Shortest& out = search.found;
    if (search.clear && out.kind == Shortest::kText) out.tokens = spelling_->count(out.text);
    if (search.clear && search.ways > 0 && out.tokens < kFar)
        texts[id] = std::move(out);
    else if (search.sure && comma_tokens < kFar)  // else the vocabulary does not spell each text
        texts[id].tokens = search.ways == 1 ? std::min(out.tokens, search.least) : search.least;
}

void ShortestValues::find_scalars(const ValueNode& value, Search& search) const {
    LazyDfa& dfa = program_.dfa();
    if (value.literal != kEmpty) {
        const uint32_t start = dfa.intern({value.literal}, false);
        std::string text;
        if (start && dfa.bytes_to_accept(start, 0) == search.least)
            search.take_text(first_word(start, 0, search.least, text) ? text : "");
    }
    for (const StringDisjunct& disjunct : value.strings) {
        if (!program_.string_possible(disjunct)) continue;
        const uint32_t shortest = program_.kernel().is_any_string(disjunct.regex)
                                      ? 0
                                      : dfa.bytes_to_accept(dfa.intern({disjunct.regex}, false), 0);
        if (plus(2, std::max(shortest, disjunct.min_chars)) == search.least)
            search.take_text(first_string(disjunct, search.least));
    }
}

// The members of a disjunct that is as short as the value are shorter, so they were asked before.
void ShortestValues::enter_array(uint32_t id, Search& search) {
    const ArrayDisjunct& disjunct = program_.arrays[id];
    if (min_bytes_.closed(min_bytes_.needed_items(disjunct, 0, 0, 0)) != search.least) return;
    if (distinct_.tells(disjunct, 0))
        search.take_text(distinct_.text(disjunct));
    else
        enter(search, Shortest::kArray, id, required_items(disjunct, 0, 0, 0));
}

void ShortestValues::enter_object(uint32_t id, Search& search) {
    if (min_bytes_.closed(min_bytes_.needed_members(program_.objects[id], nullptr, 0)) == search.least)
        enter(search, Shortest::kObject, id, required_members(id));
}

void ShortestValues::enter(Search& search, Shortest::Kind kind, uint32_t disjunct, const Required& inside) const {
    Shortest& out = search.found;
    const char opening = kind == Shortest::kArray ? '[' : '{';
    const bool first = ++search.ways == 1 || (out.kind == Shortest::kText && opening < out.text[0]);
    search.clear &= (search.ways == 1 || out.kind == Shortest::kText) && inside.unclear == 0;
    search.sure |= inside.unbounded == 0;
    if (!first) return;
    out.kind = kind;
    out.disjunct = disjunct;
    out.text = opening;
    out.tokens = plus(2, inside.tokens + uint64_t{inside.count ? inside.count - 1 : 0} * comma_tokens);
}

const Shortest* ShortestValues::only_option(const Options& options) const {
    const Option* option = only(options);
    return option ? &texts[option->value] : nullptr;
}

uint32_t ShortestValues::sure_bytes(const std::vector<Option>& options) const {
    const Option* option = only(options);
    return option && texts[option->value].tokens < kFar ? min_bytes_.of_value[option->value] : kFar;
}

// Sums from the end: the requirements of a disjunct from each of its properties on.
const std::vector<Required>& ShortestValues::required_sums(uint32_t disjunct) {
    ObjectPlan& plan = plans[disjunct];
    if (!plan.from.empty()) return plan.from;
    const std::vector<Property>& properties = program_.objects[disjunct].properties;
    plan.from.resize(properties.size() + 1);
    plan.keys.resize(properties.size());
    for (size_t d = properties.size(); d-- > 0;) {
        plan.from[d] = plan.from[d + 1];
        plan.keys[d] = key_tokens(properties[d].key);
        plan.most_key = std::max(plan.most_key, plan.keys[d].most);
        if (!properties[d].required) continue;
        plan.from[d] += price(properties[d], plan.keys[d].all);
        plan.order.push_back(static_cast<uint32_t>(d));
    }
    std::reverse(plan.order.begin(), plan.order.end());
    if (program_.options.any_order)
        std::sort(plan.order.begin(), plan.order.end(),
                  [&](uint32_t a, uint32_t b) { return properties[a].key + '"' < properties[b].key + '"'; });
    return plan.from;
}

Required ShortestValues::member(const std::vector<Required>& from, uint32_t place) {
    Required out = from[place];
    out -= from[place + 1];
    return out;
}

KeyTokens ShortestValues::key_tokens(const std::string& key) const {
    if (!spelling_->spells_all()) return {kFar, kFar};
    const std::vector<uint32_t> fewest = spelling_->fewest_tokens('"' + key + '"' + colon());
    return {fewest[0], std::ranges::max(fewest)};
}

// `key`: its tokens.
Required ShortestValues::price(const Property& property, uint32_t key) const {
    const Shortest* value = only_option(property.options);
    Required out{property.key.size() + 2 + gaps_.colon_bytes() + min_bytes_.min_bytes_option(property.options, 0), 0, 1,
                 !value || value->kind == Shortest::kUnclear, !value};
    if (value) out.tokens = uint64_t{key} + value->tokens;
    if (out.tokens >= kFar) out.tokens = 0, out.unclear = out.unbounded = 1;
    return out;
}

// The requirements of a disjunct, besides keys of any name.
Required ShortestValues::required_members(uint32_t disjunct) {
    Required out = required_sums(disjunct)[0];
    const ObjectDisjunct& own = program_.objects[disjunct];
    out.leave_open(own.final.size() > 1 || !own.groups.empty() || out.count < own.min_properties);
    return out;
}

Required ShortestValues::required_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count,
                                        uint32_t depth) const {
    const Needed needed = min_bytes_.needed_items(disjunct, state, count, depth);
    Required out{needed.bytes, 0, static_cast<uint32_t>(std::min<uint64_t>(needed.count, kFar))};
    const bool must_differ = disjunct.unique && needed.count > 0 && count + needed.count > 1;
    out.leave_open(disjunct.final.size() > 1 || must_differ);
    for (uint64_t k = count; k < count + needed.count && !out.unbounded; ++k) {
        const bool last = k >= disjunct.prefix.size();
        const Shortest* item = only_option(last ? disjunct.items : disjunct.prefix[k]);
        out.unclear |= !item || item->kind == Shortest::kUnclear;
        out.unbounded |= !item || item->tokens >= kFar;
        if (item) out.tokens += (last ? count + needed.count - k : 1) * uint64_t{item->tokens};
        if (last) break;
    }
    return out;
}

void ShortestValues::settle_shortest(const VocabularyTables& tables) {
    if (!min_bytes_.of_value.empty()) return;
    try {
        spelling_.emplace(tables);
        settle_all();
    } catch (...) {
        min_bytes_.of_value.clear();
        texts.clear();
        plans.clear();
        throw;
    }
}

void ShortestValues::settle_all() {
    min_bytes_.settle_min_bytes();
    comma_tokens = spelling_->count(comma());
    texts.resize(program_.values.size());
    plans.resize(program_.objects.size());
    std::vector<ValueId> order;
    for (ValueId id = 0; id < program_.values.size(); ++id)
        if (min_bytes_.of_value[id] < kFar) order.push_back(id);
    std::stable_sort(order.begin(), order.end(),
                     [&](ValueId a, ValueId b) { return min_bytes_.of_value[a] < min_bytes_.of_value[b]; });
    for (ValueId id : order) {
        poll();
        find_shortest(id);
    }
    for (uint32_t disjunct = 0; disjunct < program_.objects.size(); ++disjunct) required_sums(disjunct);
}

void ShortestValues::write_value(ValueId id, std::string& out) const {
    struct Level {
        ValueId value;
        uint32_t at;  // the member or item that is next
    };
    std::vector<Level> levels;
    auto begin = [&](ValueId value) {
        const Shortest& shortest = texts[value];
        out += shortest.text;
        if (shortest.kind != Shortest::kText) levels.push_back({value, 0});
    };
    for (begin(id); !levels.empty();) {
        poll();
        const Shortest& shortest = texts[levels.back().value];
        const uint32_t at = levels.back().at++;
        const bool object = shortest.kind == Shortest::kObject;
        const uint32_t count = object ? static_cast<uint32_t>(plans[shortest.disjunct].order.size())
                                      : program_.arrays[shortest.disjunct].min_items;
        if (at == count) {
            out += object ? '}' : ']';
            levels.pop_back();
            continue;
        }
        if (at > 0) out += comma();
        if (object) {
            const Property& property =
                program_.objects[shortest.disjunct].properties[plans[shortest.disjunct].order[at]];
            out += '"' + property.key + '"' + colon();
            begin(property.options[0][0].value);
        } else {
            begin(item(program_.arrays[shortest.disjunct], at)[0][0].value);
        }
    }
}

size_t ShortestValues::memory_bytes() const {
    size_t bytes = heap_bytes(texts) + heap_bytes(plans);
    for (const Shortest& shortest : texts) bytes += heap_bytes(shortest.text);
    for (const ObjectPlan& plan : plans)
        bytes += heap_bytes(plan.from) + heap_bytes(plan.keys) + heap_bytes(plan.order);
    return bytes;
}

}  // namespace schemagen
