#include "json/growth.hpp"

#include <algorithm>

#include "json/machine.hpp"

namespace schemagen {

namespace {

// The most tokens of a rest of a text.
uint32_t most_of_rests(const Spelling& spelling, std::string_view text) {
    return std::ranges::max(spelling.fewest_tokens(text));
}

}  // namespace

Growth::Growth(JsonMachine& machine) : program_(machine.program), shortest_(machine.shortest) {}

// The most tokens needed after any place of a scalar.
uint32_t Growth::peak(const ValueNode& value) const {
    // Bytes of a character that was begun, and of one in its shortest spelling.
    constexpr uint64_t kBegun = 12, kCharacter = 6;
    uint64_t most = value.literal == kEmpty ? 0 : program_.kernel().most_to_finish(value.literal);
    if (most == kUnbounded) return kFar;
    for (const StringDisjunct& disjunct : value.strings) {
        if (!program_.string_possible(disjunct)) continue;
        uint64_t chars = disjunct.min_chars, begun = begun_, character = 1;
        if (!program_.kernel().is_any_string(disjunct.regex)) {
            Kernel& kernel = program_.kernel();
            chars = kernel.most_to_finish(disjunct.regex);
            const bool is_long = kernel.least_chars(disjunct.regex).value_or(0) >= disjunct.min_chars;
            if (chars == kUnbounded || !is_long)
                chars = std::max<uint64_t>(disjunct.max_chars, chars == kUnbounded ? 0 : chars);
            if (chars >= kUnbounded) return kFar;
            const ByteSet bytes = kernel.used_bytes(disjunct.regex);
            const bool is_plain = !bytes.has('\\') && bytes.words[2] == 0 && bytes.words[3] == 0;
            begun = is_plain ? 0 : kBegun;
            character = is_plain || kernel.ends_plainly(disjunct.regex) ? 1 : kCharacter;
        }
        most = std::max(most, begun + chars * character + 1);
    }
    return plus(most, 0);
}

// What the opening bracket of a container of the value may begin.
uint32_t Growth::most_opened(const ValueNode& value) const {
    uint64_t most = 0;
    const auto open = [&](const Required& rest) {
        const uint64_t commas = rest.count ? rest.count - 1 : 0;
        most = std::max<uint64_t>(most, rest.unbounded ? kFar : rest.tokens + commas * shortest_.comma_tokens + 2);
    };
    for (uint32_t id : value.objects) open(shortest_.required_members(id));
    for (uint32_t id : value.arrays) open(shortest_.required_items(program_.arrays[id], 0, 0, 0));
    return plus(most, 0);
}

// Of a value; `counted`: that it has to come is counted.
uint32_t Growth::inside(ValueId id, bool counted) const {
    const ValueNode& value = program_.values[id];
    const size_t ways = value.objects.size() + value.arrays.size() + value.strings.size() + (value.literal != kEmpty);
    const uint64_t begun = counted && ways == 1 ? 0 : opened_[id];
    return std::max(scalars_[id], plus(begun, containers_[id]));
}

// `key`: tokens of the rest of its key, where it need not come, or by which they may be more than the key's.
uint32_t Growth::member(const std::vector<Option>& options, bool counted, uint32_t key, bool with_value) const {
    uint32_t most = counted ? key : 0;
    for (const Option& option : options) {
        if (!program_.values[option.value].productive) continue;
        if (with_value) most = std::max(most, inside(option.value, counted));
        if (!counted) most = std::max(most, plus(key, shortest_.texts[option.value].tokens));
    }
    return most;
}

uint32_t Growth::members(uint32_t disjunct, bool with_values) const {
    const ObjectDisjunct& own = program_.objects[disjunct];
    const ObjectPlan& plan = shortest_.plans[disjunct];
    if (own.final.size() != 1 || !own.groups.empty() || plan.from[0].count < own.min_properties) return kFar;
    uint32_t most = 0;
    for (size_t k = 0; k < own.properties.size(); ++k) {
        const Property& property = own.properties[k];
        const bool counted = property.required && only(property.options);
        const KeyTokens& key = plan.keys[k];
        for (const auto& options : property.options)
            most = std::max(most, member(options, counted, counted ? key.most - key.all : key.most, with_values));
    }
    for (const ExtraKeys& keys : own.extras) {
        constexpr uint32_t kUnlike = 3;  // characters that make a key unlike all others
        for (const auto& options : keys.options) {
            const bool possible =
                std::ranges::any_of(options, [&](const Option& option) { return program_.productive_option(option); });
            if (!possible) continue;
            if (!keys.open || !program_.kernel().is_any_string(keys.regex)) return kFar;
            const uint32_t key = plus(begun_, kUnlike + shortest_.colon().size() + 1);
            most = std::max(most, member(options, false, key, with_values));
        }
    }
    return most;
}

uint32_t Growth::items(const ArrayDisjunct& disjunct) const {
    if (disjunct.final.size() != 1) return kFar;
    uint32_t most = 0;
    for (size_t k = 0; k <= disjunct.prefix.size(); ++k) {
        const bool is_last = k == disjunct.prefix.size();
        const Options& all = is_last ? disjunct.items : disjunct.prefix[k];
        if (is_last && disjunct.max_items <= k) break;
        const bool counted = only(all) && (is_last ? disjunct.max_items == disjunct.min_items : k < disjunct.min_items);
        for (const auto& options : all) most = std::max(most, member(options, counted, 0, true));
    }
    constexpr uint32_t kDiffer = 64;  // tokens that make an item differ from others, though not in every schema
    return plus(most, disjunct.unique ? kDiffer : 0);
}

void Growth::settle(const VocabularyTables& tables) {
    if (is_settled_) return;
    const size_t values = program_.values.size();
    objects_.assign(program_.objects.size(), kFar);
    keys_ = objects_;
    arrays_.assign(program_.arrays.size(), kFar);
    scalars_.assign(values, kFar);
    opened_.assign(values, 0);
    containers_.assign(values, 0);
    const Spelling spelling(tables);
    if (!shortest_.tells_shortest() || !spelling.spells_all()) {
        is_settled_ = true;
        return;
    }
    begun_ = 3;  // bytes of UTF-8
    for (const char* escaped : {"0000", "00\\udc00", "00\\uDC00"})
        begun_ = std::max(begun_, most_of_rests(spelling, escaped));
    for (ValueId id = 0; id < values; ++id) {
        poll();
        if (program_.values[id].productive) scalars_[id] = peak(program_.values[id]);
    }
    // In each round one bracket deeper.
    for (uint32_t round = 0; round <= tables.most_brackets(); ++round) {
        std::vector<uint32_t> objects, arrays;
        for (uint32_t id = 0; id < program_.objects.size(); ++id) poll(), objects.push_back(plus(members(id, true), 1));
        for (const ArrayDisjunct& disjunct : program_.arrays) poll(), arrays.push_back(plus(items(disjunct), 1));
        if (objects == objects_ && arrays == arrays_) break;
        objects_ = std::move(objects);
        arrays_ = std::move(arrays);
        for (ValueId id = 0; id < values; ++id) {
            if (round == 0 && program_.values[id].productive) opened_[id] = most_opened(program_.values[id]);
            for (uint32_t k : program_.values[id].objects) containers_[id] = std::max(containers_[id], objects_[k]);
            for (uint32_t k : program_.values[id].arrays) containers_[id] = std::max(containers_[id], arrays_[k]);
        }
    }
    keys_ = objects_;
    if (tables.tokens_with_member().empty())
        for (uint32_t id = 0; id < program_.objects.size(); ++id) keys_[id] = plus(members(id, false), 1);
    is_settled_ = true;
}

}  // namespace schemagen
