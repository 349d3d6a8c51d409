// Whitespace between the parts of a text.
//
// Three policies are a look at one byte and are read where they are met (json/steps.cpp): kFlexible, kCompact and
// kSpaced. The other two are here. With kAny `Configuration::gap` counts the characters of the gap, and nothing else
// matters. With kFixed each gap has one text, which the place and the depth decide, and `Configuration::count` is how
// much of it was read. Behind a value a comma or a closing bracket may come, each with a text of its own before it:
// `Configuration::gap` tells which of them is left once they differ.
//
// The depth is a register of the frames (FrameState::depth), so what is remembered by state is remembered by depth.
#include <algorithm>

#include "json/frames.hpp"
#include "util/shown.hpp"

namespace schemagen {

namespace {

constexpr uint16_t kEither = 0, kBeforeComma = 1, kBeforeClose = 2;  // Configuration::gap behind a value

bool is_gap(const Configuration& config) {
    return config.mode != kString && config.mode != kLiteral && config.mode != kKey;
}

uint32_t sum(uint64_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a + b, Automaton::kFar)); }

}  // namespace

// The text of a gap: fixed characters, then perhaps a line break with the indentation of some depth.
struct JsonAutomaton::Gap {
    std::string_view text;
    bool line = false;
    uint32_t depth = 0;
};

uint32_t JsonAutomaton::depth_inside(const FrameState* state) const {
    return options_.fixed.lines ? state->depth + 1 : 0;
}

// Behind a value that is the gap before a comma.
JsonAutomaton::Gap JsonAutomaton::gap_of(const Configuration& config) const {
    const FixedLayout& fixed = options_.fixed;
    const FrameState* state = config.frame->state;
    switch (config.mode) {
        case kColon: return {fixed.before_colon};
        case kValue:
            return {state->kind == FrameKind::kRootFrame ? std::string_view() : std::string_view(fixed.after_colon)};
        case kFirstItem:
        case kFirstKey: return {{}, fixed.lines, state->depth};
        case kItem:
        case kNextKey: return {fixed.after_comma, fixed.lines, state->depth};
        case kAfter: return {fixed.before_comma};
        default: return {};
    }
}

JsonAutomaton::Gap JsonAutomaton::gap_before_close(const FrameState* state) const {
    return {{}, options_.fixed.lines, options_.fixed.lines ? state->depth - 1 : 0};
}

uint64_t JsonAutomaton::size_of(const Gap& gap) const {
    return gap.text.size() + (gap.line ? line_bytes(gap.depth) : 0);
}

uint8_t JsonAutomaton::byte_of(const Gap& gap, uint64_t at) const {
    if (at < gap.text.size()) return static_cast<uint8_t>(gap.text[at]);
    at -= gap.text.size();
    return at == 0 ? '\n' : static_cast<uint8_t>(options_.fixed.indent[(at - 1) % options_.fixed.indent.size()]);
}

// Read one character of whitespace, where kAny or kFixed has some.
bool JsonAutomaton::step_gap(Configuration& config, uint8_t byte) const {
    if (options_.whitespace == Whitespace::kAny) return config.gap < options_.max_gap && ++config.gap;
    if (options_.whitespace != Whitespace::kFixed || config.mode == kDone) return false;
    if (config.mode == kAfter) return step_gap_after_value(config, byte);
    // A line break in an empty container promises that something follows.
    if ((config.mode == kFirstItem || config.mode == kFirstKey) && config.frame->state->more.none()) return false;
    const Gap gap = gap_of(config);
    return config.count < size_of(gap) && byte == byte_of(gap, config.count) && ++config.count;
}

// Of a comma and a closing bracket those stay possible whose gap goes on with this byte.
bool JsonAutomaton::step_gap_after_value(Configuration& config, uint8_t byte) const {
    const Gap comma = gap_of(config), close = gap_before_close(config.frame->state);
    auto goes_on = [&](const Gap& gap) { return config.count < size_of(gap) && byte == byte_of(gap, config.count); };
    const bool to_comma = config.gap != kBeforeClose && config.frame->state->more.any() && goes_on(comma);
    const bool to_close = config.gap != kBeforeComma && may_close(config.frame) && goes_on(close);
    if (!to_comma && !to_close) return false;
    config.gap = to_comma && to_close ? kEither : to_comma ? kBeforeComma : kBeforeClose;
    ++config.count;
    return true;
}

// Whether the text of the gap was read to its end, so that `byte` may stand behind it.
bool JsonAutomaton::fixed_gap_is_read(const Configuration& config, uint8_t byte) const {
    const bool closes = byte == ']' || byte == '}';
    if (config.mode == kFirstItem || config.mode == kFirstKey)
        return config.count == (closes ? 0 : size_of(gap_of(config)));
    if (config.mode != kAfter) return config.count == size_of(gap_of(config));
    if (closes) return config.gap != kBeforeComma && config.count == size_of(gap_before_close(config.frame->state));
    return config.gap != kBeforeClose && config.count == size_of(gap_of(config));
}

// A superset of the whitespace that may come next.
ByteSet JsonAutomaton::gap_bytes(const Configuration& config) const {
    ByteSet out;
    auto add = [&out](std::string_view bytes) {
        for (char byte : bytes) out.add(static_cast<uint8_t>(byte));
    };
    if (!is_gap(config)) return out;
    switch (options_.whitespace) {
        case Whitespace::kFlexible:
            if (config.mode != kColon && config.mode != kDone) add(" \n\t");
            break;
        case Whitespace::kCompact: break;
        case Whitespace::kSpaced: add(" "); break;
        case Whitespace::kAny:
            if (config.gap < options_.max_gap) add(" \n\t\r");
            break;
        case Whitespace::kFixed: {
            auto add_next = [&](const Gap& gap) {
                if (config.count < size_of(gap)) out.add(byte_of(gap, config.count));
            };
            add_next(gap_of(config));
            if (config.mode == kAfter) add_next(gap_before_close(config.frame->state));
            break;
        }
    }
    return out;
}

// ---- how many bytes gaps take (json/least.cpp) ----------------------------------------------------------------------

// A comma or colon with what is fixed around it, line breaks apart.
uint32_t JsonAutomaton::comma_bytes() const {
    return options_.whitespace == Whitespace::kSpaced
               ? 2
               : 1 + static_cast<uint32_t>(options_.fixed.before_comma.size() + options_.fixed.after_comma.size());
}

uint32_t JsonAutomaton::colon_bytes() const {
    return options_.whitespace == Whitespace::kSpaced
               ? 2
               : 1 + static_cast<uint32_t>(options_.fixed.before_colon.size() + options_.fixed.after_colon.size());
}

// A line break and the indentation behind it.
uint64_t JsonAutomaton::line_bytes(uint32_t depth) const {
    return options_.fixed.lines ? 1 + uint64_t{depth} * options_.fixed.indent.size() : 0;
}

// The closing bracket of a container that holds something, and the line break before it.
uint64_t JsonAutomaton::closing_bytes(const FrameState* state) const { return 1 + size_of(gap_before_close(state)); }

// What is left of a gap before a value or key.
uint64_t JsonAutomaton::gap_bytes_left(const Configuration& config) const {
    if (options_.whitespace == Whitespace::kFixed) return size_of(gap_of(config)) - config.count;
    return options_.whitespace == Whitespace::kSpaced && config.gap == 0;
}

// A value that stands deeper is indented more: each of its line breaks takes so much more. The fewest line breaks and
// the fewest bytes may be those of different instances, so the sum is a lower bound.
uint32_t JsonAutomaton::min_bytes_value(ValueId value, uint32_t depth) const {
    if (min_bytes_lines_.empty()) return min_bytes_values_[value];
    return sum(min_bytes_values_[value], uint64_t{depth} * options_.fixed.indent.size() * min_bytes_lines_[value]);
}

uint64_t JsonAutomaton::min_bytes_lines(const std::vector<Option>& options) const {
    uint64_t best = kFar;
    for (const Option& option : options) best = std::min<uint64_t>(best, min_bytes_lines_[option.value]);
    return best;
}

uint64_t JsonAutomaton::min_bytes_lines(const Options& options) const {
    uint64_t best = kFar;
    for (const auto& list : options) best = std::min(best, min_bytes_lines(list));
    return best;
}

uint64_t JsonAutomaton::min_bytes_lines(const ObjectDisjunct& disjunct) const {
    uint64_t lines = 0, members = 0, any = kFar;
    for (const Property& property : disjunct.properties) {
        const uint64_t inside = min_bytes_lines(property.options);
        if (property.required) lines += inside + 1, ++members;
        if (!property.required) any = std::min(any, inside);
    }
    for (const ExtraKeys& extra : disjunct.extras) any = std::min(any, min_bytes_lines(extra.options));
    if (members < disjunct.min_properties)
        lines += (disjunct.min_properties - members) * (any + 1), members = disjunct.min_properties;
    return members ? lines + 1 : 0;
}

uint64_t JsonAutomaton::min_bytes_lines(const ArrayDisjunct& disjunct) const {
    uint64_t lines = 0, items = std::max<uint64_t>(disjunct.min_items, !disjunct.final[0]);
    for (uint64_t k = 0; k < items && k < disjunct.prefix.size(); ++k) lines += min_bytes_lines(disjunct.prefix[k]) + 1;
    if (items > disjunct.prefix.size())
        lines += (items - disjunct.prefix.size()) * (min_bytes_lines(disjunct.items) + 1);
    return items ? lines + 1 : 0;
}

// Least fixpoint over the values, as that of their bytes.
void JsonAutomaton::settle_min_bytes_lines() {
    if (!options_.fixed.lines) return;
    min_bytes_lines_.assign(values_.size(), kFar);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t v = values_.size(); v-- > 0;) {  // what is inside was declared later
            uint64_t best = values_[v].literal != kEmpty || !values_[v].strings.empty() ? 0 : kFar;
            for (uint32_t id : values_[v].objects) best = std::min(best, min_bytes_lines(objects_[id]));
            for (uint32_t id : values_[v].arrays) best = std::min(best, min_bytes_lines(arrays_[id]));
            if (best >= min_bytes_lines_[v]) continue;
            min_bytes_lines_[v] = static_cast<uint32_t>(best);
            changed = true;
        }
    }
}

// ---- refusals in words ----------------------------------------------------------------------------------------------

// Why the layout refuses a byte between two parts of the text; empty where it is not the layout that does.
std::string JsonAutomaton::layout_refusal(const Configuration& config, uint8_t byte, std::string_view text) const {
    if (!is_gap(config) || config.mode == kDone) return "";
    const std::string layout = "the layout of the grammar (whitespace=";
    if (is_space(byte)) {
        if (options_.whitespace == Whitespace::kAny)
            return layout + "\"any\") allows no more than " + std::to_string(options_.max_gap) +
                   " characters of whitespace in one place";
        return layout + "...) allows no " + shown_byte(byte);
    }
    if (options_.whitespace == Whitespace::kSpaced && config.gap == 0 &&
        (config.mode == kNextKey || config.mode == kItem || (config.mode == kValue && !text.empty())))
        return layout + "\"spaced\") wants a space";
    const bool closes = byte == ']' || byte == '}';
    if (gap_is_read(config, byte) || (config.mode == kAfter && closes && !may_close(config.frame))) return "";
    const ByteSet wanted = gap_bytes(config);
    if (wanted.size() != 1) return layout + "...) wants " + (wanted.size() ? "whitespace" : "something else") + " here";
    return layout + "...) wants " +
           (wanted.has(' ')    ? "a space"
            : wanted.has('\n') ? "a line break"
            : wanted.has('\t') ? "a tab"
                               : "a carriage return");
}

}  // namespace schemagen
