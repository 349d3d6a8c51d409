// Whitespace between the parts of a text.
//
// Three policies are a look at one byte and are read where they are met (json/steps.cpp): kFlexible, kCompact and kSpaced.
// The other two are here. With kAny `Leaf::gap` counts the characters of the gap, and nothing else matters. With kFixed
// each gap has one text, which the place and the depth decide, and `Leaf::count` is how much of it was read. Behind a value
// a comma or a closing bracket may come, each with a text of its own before it: `Leaf::gap` tells which of them is left
// once they differ.
//
// The depth is a register of the frames (FrameState::depth), so what is remembered by state is remembered by depth.
#include <algorithm>

#include "json/frames.hpp"
#include "util/shown.hpp"

namespace schemagen {

namespace {

constexpr uint16_t kEither = 0, kBeforeComma = 1, kBeforeClose = 2;  // Leaf::gap behind a value

bool is_gap(const Leaf& leaf) { return leaf.mode != kString && leaf.mode != kBare && leaf.mode != kKey; }

uint32_t sum(uint64_t a, uint64_t b) { return static_cast<uint32_t>(std::min<uint64_t>(a + b, Automaton::kFar)); }

}  // namespace

// The text of a gap: fixed characters, then perhaps a line break with the indentation of some depth.
struct JsonAutomaton::Gap {
    std::string_view text;
    bool line = false;
    uint32_t depth = 0;
};

uint32_t JsonAutomaton::depth_inside(const FrameState* state) const { return options_.fixed.lines ? state->depth + 1 : 0; }

// Behind a value that is the gap before a comma.
JsonAutomaton::Gap JsonAutomaton::gap_of(const Leaf& leaf) const {
    const FixedLayout& fixed = options_.fixed;
    const FrameState* state = leaf.frame->state;
    switch (leaf.mode) {
        case kColon: return {fixed.before_colon};
        case kValue: return {state->kind == FrameKind::kRootFrame ? std::string_view() : std::string_view(fixed.after_colon)};
        case kFirstItem:
        case kFirstKey: return {{}, fixed.lines, state->depth};
        case kItem:
        case kNextKey: return {fixed.after_comma, fixed.lines, state->depth};
        case kAfter: return {fixed.before_comma};
        default: return {};
    }
}

JsonAutomaton::Gap JsonAutomaton::gap_before_close(const FrameState* state) const { return {{}, options_.fixed.lines, options_.fixed.lines ? state->depth - 1 : 0}; }

uint64_t JsonAutomaton::size_of(const Gap& gap) const { return gap.text.size() + (gap.line ? line_bytes(gap.depth) : 0); }

uint8_t JsonAutomaton::byte_of(const Gap& gap, uint64_t at) const {
    if (at < gap.text.size()) return static_cast<uint8_t>(gap.text[at]);
    at -= gap.text.size();
    return at == 0 ? '\n' : static_cast<uint8_t>(options_.fixed.indent[(at - 1) % options_.fixed.indent.size()]);
}

// Read one character of whitespace, where kAny or kFixed has some.
bool JsonAutomaton::step_gap(Leaf& leaf, uint8_t byte) const {
    if (options_.whitespace == Whitespace::kAny) return leaf.gap < options_.max_gap && ++leaf.gap;
    if (options_.whitespace != Whitespace::kFixed || leaf.mode == kDone) return false;
    if (leaf.mode == kAfter) return step_gap_after_value(leaf, byte);
    // A line break in an empty container promises that something follows.
    if ((leaf.mode == kFirstItem || leaf.mode == kFirstKey) && leaf.frame->state->more.none()) return false;
    const Gap gap = gap_of(leaf);
    return leaf.count < size_of(gap) && byte == byte_of(gap, leaf.count) && ++leaf.count;
}

// Of a comma and a closing bracket those stay possible whose gap goes on with this byte.
bool JsonAutomaton::step_gap_after_value(Leaf& leaf, uint8_t byte) const {
    const Gap comma = gap_of(leaf), close = gap_before_close(leaf.frame->state);
    auto goes_on = [&](const Gap& gap) { return leaf.count < size_of(gap) && byte == byte_of(gap, leaf.count); };
    const bool to_comma = leaf.gap != kBeforeClose && leaf.frame->state->more.any() && goes_on(comma);
    const bool to_close = leaf.gap != kBeforeComma && may_close(leaf.frame) && goes_on(close);
    if (!to_comma && !to_close) return false;
    leaf.gap = to_comma && to_close ? kEither : to_comma ? kBeforeComma : kBeforeClose;
    ++leaf.count;
    return true;
}

// Whether the text of the gap was read to its end, so that `byte` may stand behind it.
bool JsonAutomaton::fixed_gap_is_read(const Leaf& leaf, uint8_t byte) const {
    const bool closes = byte == ']' || byte == '}';
    if (leaf.mode == kFirstItem || leaf.mode == kFirstKey) return leaf.count == (closes ? 0 : size_of(gap_of(leaf)));
    if (leaf.mode != kAfter) return leaf.count == size_of(gap_of(leaf));
    if (closes) return leaf.gap != kBeforeComma && leaf.count == size_of(gap_before_close(leaf.frame->state));
    return leaf.gap != kBeforeClose && leaf.count == size_of(gap_of(leaf));
}

// A superset of the whitespace that may come next.
ByteSet JsonAutomaton::gap_bytes(const Leaf& leaf) const {
    ByteSet out;
    auto add = [&out](std::string_view bytes) {
        for (char byte : bytes) out.add(static_cast<uint8_t>(byte));
    };
    if (!is_gap(leaf)) return out;
    switch (options_.whitespace) {
        case Whitespace::kFlexible:
            if (leaf.mode != kColon && leaf.mode != kDone) add(" \n\t");
            break;
        case Whitespace::kCompact: break;
        case Whitespace::kSpaced: add(" "); break;
        case Whitespace::kAny:
            if (leaf.gap < options_.max_gap) add(" \n\t\r");
            break;
        case Whitespace::kFixed: {
            auto add_next = [&](const Gap& gap) {
                if (leaf.count < size_of(gap)) out.add(byte_of(gap, leaf.count));
            };
            add_next(gap_of(leaf));
            if (leaf.mode == kAfter) add_next(gap_before_close(leaf.frame->state));
            break;
        }
    }
    return out;
}

// ---- how many bytes gaps take (json/least.cpp) ----------------------------------------------------------------------

// A comma or colon with what is fixed around it, line breaks apart.
uint32_t JsonAutomaton::comma_bytes() const {
    return options_.whitespace == Whitespace::kSpaced ? 2 : 1 + static_cast<uint32_t>(options_.fixed.before_comma.size() + options_.fixed.after_comma.size());
}

uint32_t JsonAutomaton::colon_bytes() const {
    return options_.whitespace == Whitespace::kSpaced ? 2 : 1 + static_cast<uint32_t>(options_.fixed.before_colon.size() + options_.fixed.after_colon.size());
}

// A line break and the indentation behind it.
uint64_t JsonAutomaton::line_bytes(uint32_t depth) const { return options_.fixed.lines ? 1 + uint64_t{depth} * options_.fixed.indent.size() : 0; }

// The closing bracket of a container that holds something, and the line break before it.
uint64_t JsonAutomaton::closing_bytes(const FrameState* state) const { return 1 + size_of(gap_before_close(state)); }

// What is left of a gap before a value or key.
uint64_t JsonAutomaton::gap_bytes_left(const Leaf& leaf) const {
    if (options_.whitespace == Whitespace::kFixed) return size_of(gap_of(leaf)) - leaf.count;
    return options_.whitespace == Whitespace::kSpaced && leaf.gap == 0;
}

// A value that stands deeper is indented more: each of its line breaks takes so much more. The fewest line breaks and the
// fewest bytes may be those of different instances, so the sum is a lower bound.
uint32_t JsonAutomaton::least_value(ValueId value, uint32_t depth) const {
    if (least_lines_.empty()) return least_values_[value];
    return sum(least_values_[value], uint64_t{depth} * options_.fixed.indent.size() * least_lines_[value]);
}

uint64_t JsonAutomaton::least_lines(const std::vector<Option>& options) const {
    uint64_t best = kFar;
    for (const Option& option : options) best = std::min<uint64_t>(best, least_lines_[option.value]);
    return best;
}

uint64_t JsonAutomaton::least_lines(const Options& options) const {
    uint64_t best = kFar;
    for (const auto& list : options) best = std::min(best, least_lines(list));
    return best;
}

uint64_t JsonAutomaton::least_lines(const ObjectArm& arm) const {
    uint64_t lines = 0, members = 0, any = kFar;
    for (const Property& property : arm.properties) {
        const uint64_t inside = least_lines(property.options);
        if (property.required) lines += inside + 1, ++members;
        if (!property.required) any = std::min(any, inside);
    }
    for (const ExtraKeys& extra : arm.extras) any = std::min(any, least_lines(extra.options));
    if (members < arm.min_properties) lines += (arm.min_properties - members) * (any + 1), members = arm.min_properties;
    return members ? lines + 1 : 0;
}

uint64_t JsonAutomaton::least_lines(const ArrayArm& arm) const {
    uint64_t lines = 0, items = std::max<uint64_t>(arm.min_items, !arm.final[0]);
    for (uint64_t k = 0; k < items && k < arm.prefix.size(); ++k) lines += least_lines(arm.prefix[k]) + 1;
    if (items > arm.prefix.size()) lines += (items - arm.prefix.size()) * (least_lines(arm.items) + 1);
    return items ? lines + 1 : 0;
}

// Least fixpoint over the values, as that of their bytes.
void JsonAutomaton::settle_least_lines() {
    if (!options_.fixed.lines) return;
    least_lines_.assign(values_.size(), kFar);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t v = values_.size(); v-- > 0;) {  // what is inside was declared later
            uint64_t best = values_[v].bare != kEmpty || !values_[v].strings.empty() ? 0 : kFar;
            for (uint32_t id : values_[v].objects) best = std::min(best, least_lines(objects_[id]));
            for (uint32_t id : values_[v].arrays) best = std::min(best, least_lines(arrays_[id]));
            if (best >= least_lines_[v]) continue;
            least_lines_[v] = static_cast<uint32_t>(best);
            changed = true;
        }
    }
}

// ---- refusals in words ----------------------------------------------------------------------------------------------

// Why the layout refuses a byte between two parts of the text; empty where it is not the layout that does.
std::string JsonAutomaton::layout_refusal(const Leaf& leaf, uint8_t byte, std::string_view text) const {
    if (!is_gap(leaf) || leaf.mode == kDone) return "";
    const std::string layout = "the layout of the grammar (whitespace=";
    if (is_space(byte)) {
        if (options_.whitespace == Whitespace::kAny) return layout + "\"any\") allows no more than " + std::to_string(options_.max_gap) + " characters of whitespace in one place";
        return layout + "...) allows no " + shown_byte(byte);
    }
    if (options_.whitespace == Whitespace::kSpaced && leaf.gap == 0 && (leaf.mode == kNextKey || leaf.mode == kItem || (leaf.mode == kValue && !text.empty())))
        return layout + "\"spaced\") wants a space";
    const bool closes = byte == ']' || byte == '}';
    if (gap_is_read(leaf, byte) || (leaf.mode == kAfter && closes && !may_close(leaf.frame))) return "";
    const ByteSet wanted = gap_bytes(leaf);
    if (wanted.size() != 1) return layout + "...) wants " + (wanted.size() ? "whitespace" : "something else") + " here";
    return layout + "...) wants " + (wanted.has(' ') ? "a space" : wanted.has('\n') ? "a line break" : wanted.has('\t') ? "a tab" : "a carriage return");
}

}  // namespace schemagen
