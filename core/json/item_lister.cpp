#include "json/item_lister.hpp"

#include <algorithm>
#include <numeric>

#include "json/machine.hpp"
#include "json/values.hpp"
#include "util/work.hpp"

namespace schemagen {

ItemLister::ItemLister(JsonMachine& machine) : program_(machine.program), shortest_(machine.shortest) {}

namespace {

// Their order in a text, each with the comma after it.
std::vector<uint32_t> ranks(const std::vector<std::string>& texts) {
    std::vector<uint32_t> order(texts.size()), out(texts.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](uint32_t k) { return texts[k] + ','; });
    for (uint32_t rank = 0; rank < order.size(); ++rank) out[order[rank]] = rank;
    return out;
}

}  // namespace

ItemList ItemLister::list(const ArrayDisjunct& array) {
    ItemList out;
    try {
        fill(out, array);
    } catch (const LimitExceeded& error) {
        if (error.limit == Limit::kSeconds) throw;
    }
    out.is_whole = out.texts.size() == array.min_items;
    out.bytes.assign(1, 0);
    for (const std::string& text : out.texts) out.bytes.push_back(out.bytes.back() + text.size());
    out.rank = ranks(out.texts);
    return out;
}

// By length. After an item, numbers that need no exponents have none; up to three bytes that changes nothing.
void ItemLister::fill(ItemList& out, const ArrayDisjunct& array) {
    constexpr uint32_t kMostItems = 10'000, kMostObjects = 1'000, kLongest = 256, kShort = 3, kStepsPerItem = 300;
    const Option* option = array.prefix.empty() && array.final.size() == 1 ? only(array.items) : nullptr;
    if (!option || array.min_items < 2 || array.min_items > kMostItems || !find_form(option->value)) return;
    if (!form_.end.empty() && array.min_items > kMostObjects) return;  // the search inside one looks at all others
    most_ = array.min_items;
    steps_ = uint64_t{most_} * kStepsPerItem + kMostItems;
    text_.clear();
    const uint32_t least = least_from(0);
    for (uint32_t length = least; length < std::min(form_.most, kLongest); ++length)
        if (!add_from(out, 0, length)) break;
    const size_t more = out.texts.empty() ? 0 : out.texts.back().size() - least;
    for (const Part& part : form_.parts)
        if (part.idle && part.word_bytes + more > kShort) out = {};
}

// What items are made of. Returns false if that is more than this can tell.
bool ItemLister::find_form(ValueId item) {
    form_ = {};
    const ValueNode& value = program_.values[item];
    const bool is_object = value.objects.size() == 1 && value.strings.empty() && value.literal == kEmpty;
    if (!value.arrays.empty() || !(is_object ? add_object(program_.objects[value.objects[0]]) : add_part("", item)))
        return false;
    auto least = static_cast<uint32_t>(form_.end.size());
    for (size_t k = form_.parts.size(); k-- > 0;) {
        Part& part = form_.parts[k];
        const auto shortest = [&](uint32_t start) { return start ? program_.dfa().bytes_to_accept(start, 0) : kFar; };
        const uint32_t content = part.string ? std::max(shortest(part.content), part.string->min_chars) : kFar;
        part.word_bytes = shortest(part.word);
        part.least = least = plus(least + part.before.size(), std::min(plus(content, 2), part.word_bytes));
    }
    if (form_.most < UINT32_MAX) form_.most = plus(form_.most, least);
    return least < kFar;
}

// Returns false if it is no string and no number or name.
bool ItemLister::add_part(const std::string& before, ValueId id) {
    const ValueNode& value = program_.values[id];
    if (!value.objects.empty() || !value.arrays.empty() || value.strings.size() > 1) return false;
    const NodeId literal = program_.kernel().without_idle_exponents(value.literal);
    const auto start_of = [&](NodeId language) {
        return language == kEmpty ? 0 : program_.dfa().intern({language}, false);
    };
    Part part{.before = before};
    if (!value.strings.empty()) {
        part.string = value.strings.data();
        part.content = start_of(part.string->regex);
    }
    part.word = start_of(literal);
    part.idle = literal != value.literal;
    form_.parts.push_back(std::move(part));
    return true;
}

// The members that it requires, in the order of the shortest text. One more member is a comma, two quotes, the key, a
// colon and a value.
bool ItemLister::add_object(const ObjectDisjunct& object) {
    if (object.final.size() != 1 || !object.groups.empty()) return false;
    const std::string comma = shortest_.comma(), colon = shortest_.colon();
    const auto other = [&](size_t key) {
        form_.most = std::min(form_.most, plus(comma.size() + 2 + key + colon.size(), 1));
    };
    for (const ExtraKeys& extra : object.extras) other(program_.kernel().shortest(extra.regex));
    std::vector<const Property*> required;
    for (const Property& property : object.properties) {
        if (property.required)
            required.push_back(&property);
        else
            other(property.key.size());
    }
    if (required.empty() || required.size() < object.min_properties || required.size() > object.max_properties)
        return false;
    if (program_.options.any_order)
        std::ranges::sort(required, {}, [](const Property* each) { return each->key + '"'; });
    for (const Property* property : required) {
        const Option* option = only(property->options);
        const std::string before = (form_.parts.empty() ? "{" : comma) + '"' + property->key + '"' + colon;
        if (!option || !add_part(before, option->value)) return false;
    }
    form_.end = '}';
    return true;
}

uint32_t ItemLister::least_from(size_t part) const {
    return part < form_.parts.size() ? form_.parts[part].least : static_cast<uint32_t>(form_.end.size());
}

// Add the items whose text has `left` more bytes from a part on. Returns false if the list is whole, or takes too long.
bool ItemLister::add_from(ItemList& out, size_t part, uint32_t left) {
    if (left < least_from(part)) return true;
    const size_t size = text_.size();
    bool goes_on = true;
    if (part == form_.parts.size()) {
        text_ += form_.end;
        goes_on = left > form_.end.size() || add(out);
    } else {
        const Part& own = form_.parts[part];
        text_ += own.before;
        left -= static_cast<uint32_t>(own.before.size());
        const size_t begin = text_.size();
        if (own.content) {
            text_ += '"';
            goes_on = add_words(out, part, begin, own.content, left - 1);
            text_.resize(begin);
        }
        if (own.word) goes_on = goes_on && add_words(out, part, begin, own.word, left);
    }
    text_.resize(size);
    return goes_on;
}

// The same from a state within the words of a part, which begin at `begin` in the text: on with the next part where
// they may end, and with each byte, in order.
bool ItemLister::add_words(ItemList& out, size_t part, size_t begin, uint32_t state, uint32_t left) {
    LazyDfa& dfa = program_.dfa();
    const bool is_string = text_.size() > begin && text_[begin] == '"';
    const uint32_t rest = least_from(part + 1) + is_string;
    const bool is_last = part + 1 == form_.parts.size();
    bool may_end = dfa.state(state).accepts[0] && (is_last ? left == rest : left >= rest);
    const unsigned after = static_cast<uint8_t>(is_string ? '"' : is_last ? '}' : ',');
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (may_end && byte >= after) {
            may_end = false;
            if (!end_words(out, part, begin, left)) return false;
        }
        const uint32_t to = dfa.next(state, static_cast<uint8_t>(byte));
        if (!to || !dfa.state(to).alive[0] || plus(dfa.bytes_to_accept(to, 0), uint64_t{rest} + 1) > left) {
            const unsigned last = dfa.last_alike(state, static_cast<uint8_t>(byte));
            byte = may_end ? std::min(last, after - 1) : last;
            continue;
        }
        poll();
        if (!steps_) return false;
        --steps_;
        text_.push_back(static_cast<char>(byte));
        if (!add_words(out, part, begin, to, left - 1)) return false;
        text_.pop_back();
    }
    return true;
}

// The same from the end of the words of a part.
bool ItemLister::end_words(ItemList& out, size_t part, size_t begin, uint32_t left) {
    const bool is_string = text_[begin] == '"';
    if (is_string) {
        const StringDisjunct& string = *form_.parts[part].string;
        text_ += '"';
        const size_t chars = decode_string(canonical_json(text_.substr(begin))).size();
        if (chars < string.min_chars || chars > string.max_chars) return text_.pop_back(), true;
    }
    const bool goes_on = add_from(out, part + 1, left - is_string);
    if (is_string) text_.pop_back();
    return goes_on;
}

// Returns false if the list is whole.
bool ItemLister::add(ItemList& out) const {
    const auto place = static_cast<uint32_t>(out.texts.size());
    if (out.places.try_emplace(canonical_json(text_), place).second) out.texts.push_back(text_);
    return out.texts.size() < most_;
}

}  // namespace schemagen
