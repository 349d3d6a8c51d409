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

JsonProgram::JsonProgram(std::shared_ptr<SharedAutomata> shared_, JsonOptions options_, uint64_t max_states_)
    : shared(std::move(shared_)), options(std::move(options_)), max_states(max_states_) {
    values.emplace_back();
}

ValueId JsonProgram::declare_value() {
    values.emplace_back();
    return static_cast<ValueId>(values.size() - 1);
}

uint32_t JsonProgram::add_object(ObjectDisjunct disjunct) {
    uint32_t first = 0;
    for (uint32_t g = 0; g < disjunct.groups.size(); ++g) {
        Group& group = disjunct.groups[g];
        group.first = first;
        first += static_cast<uint32_t>(group.alternatives.size());
        for (uint32_t k = 0; k < group.places.size(); ++k) {
            disjunct.properties[group.places[k]].group = g;
            disjunct.properties[group.places[k]].member = k;
        }
    }
    objects.push_back(std::move(disjunct));
    return static_cast<uint32_t>(objects.size() - 1);
}

uint32_t JsonProgram::add_array(ArrayDisjunct disjunct) {
    arrays.push_back(std::move(disjunct));
    return static_cast<uint32_t>(arrays.size() - 1);
}

// ---- which values have an instance --------------------------------------------------------------------------------

// Fewest further keys that bring a disjunct from `state` to a final state, taking every required key that is `usable`
// and any other only if it helps; kUnbounded if nothing does. Counts commute, so the order of the keys does not matter.
uint64_t JsonProgram::keys_to_finish(const ObjectDisjunct& disjunct, uint32_t state, const std::vector<bool>& usable,
                                     uint64_t extras) const {
    std::vector<uint64_t> fewest(disjunct.final.size(), kUnbounded);
    fewest[state] = 0;
    auto relax = [&](const std::vector<uint64_t>& from, const Options& options, std::vector<uint64_t>& to) {
        for (size_t s = 0; s < from.size(); ++s)
            if (from[s] < kUnbounded)
                for (const Option& option : options[s])
                    if (productive_option(option)) to[option.target] = std::min(to[option.target], from[s] + 1);
    };
    for (size_t d = 0; d < disjunct.properties.size(); ++d) {
        if (!usable[d]) continue;
        std::vector<uint64_t> next =
            disjunct.properties[d].required ? std::vector<uint64_t>(fewest.size(), kUnbounded) : fewest;
        relax(fewest, disjunct.properties[d].options, next);
        fewest = std::move(next);
    }
    for (size_t round = 0; round < std::min<uint64_t>(extras, fewest.size()); ++round)
        for (const ExtraKeys& extra : disjunct.extras) {
            std::vector<uint64_t> from(fewest);
            relax(from, extra.options, fewest);
        }
    uint64_t best = kUnbounded;
    for (size_t s = 0; s < fewest.size(); ++s)
        if (disjunct.final[s]) best = std::min(best, fewest[s]);
    return best;
}

bool JsonProgram::object_productive(const ObjectDisjunct& disjunct) const {
    auto possible = [&](const Options& options) {
        return std::any_of(options.begin(), options.end(), [&](const auto& list) {
            return std::any_of(list.begin(), list.end(), [&](const Option& o) { return productive_option(o); });
        });
    };
    uint64_t available = 0;
    for (const Property& property : disjunct.properties) {
        bool there = possible(property.options);
        if (property.required && !there) return false;
        available += there;
    }
    if (disjunct.min_properties > disjunct.max_properties ||
        available + extra_capacity(disjunct) < disjunct.min_properties)
        return false;
    for (const Group& group : disjunct.groups)
        if (std::none_of(group.alternatives.begin(), group.alternatives.end(),
                         [&](const Alternative& each) { return alternative_productive(each); }))
            return false;
    uint64_t needed = keys_to_finish(disjunct, 0, std::vector<bool>(disjunct.properties.size(), true), kUnbounded);
    return needed < kUnbounded && needed <= disjunct.max_properties;
}

// Whether every key that an alternative requires can have a value.
bool JsonProgram::alternative_productive(const Alternative& each) const {
    for (size_t k = 0; k < each.values.size(); ++k)
        if (each.required[k] && !values[each.values[k]].productive) return false;
    return true;
}

// How many keys that are not declared there can be, as far as minProperties makes it matter.
uint64_t JsonProgram::extra_capacity(const ObjectDisjunct& disjunct) const {
    uint64_t capacity = 0, enough = std::max<uint64_t>(disjunct.min_properties, 1);
    for (const ExtraKeys& extra : disjunct.extras) {
        bool there = std::any_of(extra.options.begin(), extra.options.end(), [&](const auto& list) {
            return std::any_of(list.begin(), list.end(), [&](const Option& o) { return productive_option(o); });
        });
        if (there && capacity < enough) capacity += extra.open ? enough : kernel().count_words(extra.regex, enough);
    }
    return capacity;
}

// From which states and counts an array can still be finished. Past the prefix and minItems only the distance to a
// final state matters, so the table stops there.
bool JsonProgram::settled_live(const ArrayDisjunct& disjunct, const ArrayOutlook& out, size_t state,
                               uint64_t count) const {
    if (out.need[state] == kUnbounded) return false;
    if (count + out.need[state] >= disjunct.min_items) return count + out.need[state] <= disjunct.max_items;
    bool goes_on = std::any_of(disjunct.items[state].begin(), disjunct.items[state].end(),
                               [&](const Option& o) { return productive_option(o); });
    return goes_on && disjunct.min_items <= disjunct.max_items;  // only a disjunct with a single state gets here
}

ArrayOutlook JsonProgram::outlook(const ArrayDisjunct& disjunct) const {
    ArrayOutlook out;
    out.ready = true;
    size_t states = disjunct.final.size();
    // A disjunct that counts nothing only needs to know whether items can go on: no table, however high minItems is.
    out.settled = static_cast<uint32_t>(disjunct.prefix.size());
    if (states > 1) out.settled = std::max(out.settled, disjunct.min_items);
    if (uint64_t{out.settled} * states > 50'000'000)
        throw LimitExceeded(Limit::kStates, uint64_t{out.settled} * states, 50'000'000);
    out.need.assign(states, kUnbounded);
    for (size_t s = 0; s < states; ++s)
        if (disjunct.final[s]) out.need[s] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t s = 0; s < states; ++s)
            for (const Option& option : disjunct.items[s])
                if (productive_option(option) && out.need[option.target] < kUnbounded &&
                    out.need[option.target] + 1 < out.need[s]) {
                    out.need[s] = out.need[option.target] + 1;
                    changed = true;
                }
    }
    auto at = [&](uint64_t count, size_t s) {
        return count >= out.settled ? settled_live(disjunct, out, s, count) : bool{out.live[count * states + s]};
    };
    out.live.assign(size_t{out.settled} * states, false);
    for (uint64_t count = out.settled; count-- > 0;)
        for (size_t s = 0; s < states; ++s) {
            bool now = disjunct.final[s] && count >= disjunct.min_items && count <= disjunct.max_items;
            const Options& options = count < disjunct.prefix.size() ? disjunct.prefix[count] : disjunct.items;
            for (const Option& option : options[s])
                now = now || (count < disjunct.max_items && productive_option(option) && at(count + 1, option.target));
            out.live[count * states + s] = now;
        }
    return out;
}

bool JsonProgram::array_live(uint32_t id, uint32_t state, uint64_t count) {
    const ArrayDisjunct& disjunct = arrays[id];
    if (outlooks.size() < arrays.size()) outlooks.resize(arrays.size());
    ArrayOutlook& out = outlooks[id];
    if (!out.ready) out = outlook(disjunct);
    return count >= out.settled ? settled_live(disjunct, out, state, count)
                                : bool{out.live[count * disjunct.final.size() + state]};
}

// Whether some string is in the language and short enough. SharedAutomata with a least length of their own come with it
// built in (schemagen/engine/native/lowering.py), so that the shortest word decides.
bool JsonProgram::string_possible(const StringDisjunct& disjunct) const {
    if (disjunct.min_chars > disjunct.max_chars || kernel().is_empty(disjunct.regex)) return false;
    if (disjunct.max_chars == kUnbounded || kernel().is_any_string(disjunct.regex)) return true;
    uint32_t start = dfa().intern({disjunct.regex, kernel().any_string(Encoding::kJson)}, true);
    return dfa().chars_to_accept(start, 0) <= disjunct.max_chars;
}

// Least fixpoint: a value has an instance if one of its alternatives needs only values that have one.
void JsonProgram::settle_productive() {
    auto live = [this](const ArrayOutlook& out, const ArrayDisjunct& disjunct) {
        return out.settled ? bool{out.live[0]} : settled_live(disjunct, out, 0, 0);
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (auto it = values.rbegin(); it != values.rend(); ++it) {  // inner values were declared later
            ValueNode& value = *it;
            if (value.productive) continue;
            poll();
            bool now = value.literal != kEmpty && !kernel().is_empty(value.literal);
            for (const StringDisjunct& disjunct : value.strings) now = now || string_possible(disjunct);
            for (uint32_t id : value.arrays) now = now || live(outlook(arrays[id]), arrays[id]);
            for (uint32_t id : value.objects) now = now || object_productive(objects[id]);
            value.productive = now;
            changed |= now;
        }
    }
}

uint64_t JsonProgram::words_left(NodeId language, uint64_t limit) {
    const uint64_t key = uint64_t{language} << 20 | std::min<uint64_t>(limit, 0xFFFFF);
    if (auto known = word_counts.find(key); known != word_counts.end()) return known->second;
    return word_counts[key] = kernel().count_words(language, limit);
}

}  // namespace schemagen
