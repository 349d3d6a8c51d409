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

constexpr uint16_t kEither = 0, kBeforeComma = 1, kBeforeClose = 2;  // Configuration::gap after a value

const char* shown_space(const ByteSet& one) {
    return one.has(' ') ? "a space" : one.has('\n') ? "a line break" : one.has('\t') ? "a tab" : "a carriage return";
}

bool is_gap(const Configuration& config) {
    return config.mode != kString && config.mode != kLiteral && config.mode != kKey;
}

}  // namespace

Gaps::Gaps(JsonMachine& machine) : program_(machine.program), states_(machine.states) {}

// The text of a gap: fixed characters, then perhaps a line break with the indentation of some depth.
uint32_t Gaps::depth_inside(const FrameState* state) const {
    return program_.options.fixed.lines ? state->depth + 1 : 0;
}

// After a value that is the gap before a comma.
Gap Gaps::gap_of(const Configuration& config) const {
    const FixedLayout& fixed = program_.options.fixed;
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

Gap Gaps::gap_before_close(const FrameState* state) const {
    return {{}, program_.options.fixed.lines, program_.options.fixed.lines ? state->depth - 1 : 0};
}

uint64_t Gaps::size_of(const Gap& gap) const { return gap.text.size() + (gap.line ? line_bytes(gap.depth) : 0); }

uint8_t Gaps::byte_of(const Gap& gap, uint64_t at) const {
    if (at < gap.text.size()) return static_cast<uint8_t>(gap.text[at]);
    at -= gap.text.size();
    return at == 0
               ? '\n'
               : static_cast<uint8_t>(program_.options.fixed.indent[(at - 1) % program_.options.fixed.indent.size()]);
}

// Read one character of whitespace, where kAny or kFixed has some.
bool Gaps::step_gap(Configuration& config, uint8_t byte) const {
    if (program_.options.whitespace == Whitespace::kAny) {
        if (config.gap >= program_.options.max_gap) return false;
        ++config.gap;
        return true;
    }
    if (program_.options.whitespace != Whitespace::kFixed || config.mode == kDone) return false;
    if (config.mode == kAfter) return step_gap_after_value(config, byte);
    // A line break in an empty container promises that something follows.
    if ((config.mode == kFirstItem || config.mode == kFirstKey) && config.frame->state->more.none()) return false;
    const Gap gap = gap_of(config);
    if (config.count >= size_of(gap) || byte != byte_of(gap, config.count)) return false;
    ++config.count;
    return true;
}

// Of a comma and a closing bracket those stay possible whose gap goes on with this byte.
bool Gaps::step_gap_after_value(Configuration& config, uint8_t byte) const {
    const Gap comma = gap_of(config), close = gap_before_close(config.frame->state);
    auto goes_on = [&](const Gap& gap) { return config.count < size_of(gap) && byte == byte_of(gap, config.count); };
    const bool to_comma = config.gap != kBeforeClose && config.frame->state->more.any() && goes_on(comma);
    const bool to_close = config.gap != kBeforeComma && states_.may_close(config.frame) && goes_on(close);
    if (!to_comma && !to_close) return false;
    config.gap = to_comma && to_close ? kEither : to_comma ? kBeforeComma : kBeforeClose;
    ++config.count;
    return true;
}

// Whether the text of the gap was read to its end, so that `byte` may follow.
bool Gaps::fixed_gap_is_read(const Configuration& config, uint8_t byte) const {
    const bool closes = byte == ']' || byte == '}';
    if (config.mode == kFirstItem || config.mode == kFirstKey)
        return config.count == (closes ? 0 : size_of(gap_of(config)));
    if (config.mode != kAfter) return config.count == size_of(gap_of(config));
    if (closes) return config.gap != kBeforeComma && config.count == size_of(gap_before_close(config.frame->state));
    return config.gap != kBeforeClose && config.count == size_of(gap_of(config));
}

// A superset of the whitespace that may come next.
ByteSet Gaps::gap_bytes(const Configuration& config) const {
    ByteSet out;
    auto add = [&out](std::string_view bytes) {
        for (char byte : bytes) out.add(static_cast<uint8_t>(byte));
    };
    if (!is_gap(config)) return out;
    switch (program_.options.whitespace) {
        case Whitespace::kFlexible:
            if (config.mode != kColon && config.mode != kDone) add(" \n\t");
            break;
        case Whitespace::kCompact: break;
        case Whitespace::kSpaced: add(" "); break;
        case Whitespace::kAny:
            if (config.gap < program_.options.max_gap) add(" \n\t\r");
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

// ---- how many bytes gaps take (json/min_bytes.hpp)
// ----------------------------------------------------------------------

// A comma or colon with the fixed text around it, except line breaks.
uint32_t Gaps::comma_bytes() const {
    return program_.options.whitespace == Whitespace::kSpaced
               ? 2
               : 1 + static_cast<uint32_t>(program_.options.fixed.before_comma.size() +
                                           program_.options.fixed.after_comma.size());
}

uint32_t Gaps::colon_bytes() const {
    return program_.options.whitespace == Whitespace::kSpaced
               ? 2
               : 1 + static_cast<uint32_t>(program_.options.fixed.before_colon.size() +
                                           program_.options.fixed.after_colon.size());
}

// A line break and the indentation after it.
uint64_t Gaps::line_bytes(uint32_t depth) const {
    return program_.options.fixed.lines ? 1 + uint64_t{depth} * program_.options.fixed.indent.size() : 0;
}

// The closing bracket of a container that holds something, and the line break before it.
uint64_t Gaps::closing_bytes(const FrameState* state) const { return 1 + size_of(gap_before_close(state)); }

// The rest of a gap before a value or key.
uint64_t Gaps::gap_bytes_left(const Configuration& config) const {
    if (program_.options.whitespace == Whitespace::kFixed) return size_of(gap_of(config)) - config.count;
    return program_.options.whitespace == Whitespace::kSpaced && config.gap == 0;
}

// ---- refusals in words ----------------------------------------------------------------------------------------------

// Why the layout refuses a byte between two parts of the text; empty where it is not the layout that does.
std::string Gaps::layout_refusal(const Configuration& config, uint8_t byte, std::string_view text) const {
    if (!is_gap(config) || config.mode == kDone) return "";
    const std::string layout = "the layout of the grammar (whitespace=";
    if (is_space(byte)) {
        if (program_.options.whitespace == Whitespace::kAny)
            return layout + "\"any\") allows no more than " + std::to_string(program_.options.max_gap) +
                   " characters of whitespace in one place";
        return layout + "...) allows no " + shown_byte(byte);
    }
    if (program_.options.whitespace == Whitespace::kSpaced && config.gap == 0 &&
        (config.mode == kNextKey || config.mode == kItem || (config.mode == kValue && !text.empty())))
        return layout + "\"spaced\") wants a space";
    const bool closes = byte == ']' || byte == '}';
    if (gap_is_read(config, byte) || (config.mode == kAfter && closes && !states_.may_close(config.frame))) return "";
    const ByteSet wanted = gap_bytes(config);
    if (wanted.size() != 1) return layout + "...) wants " + (wanted.size() ? "whitespace" : "something else") + " here";
    return layout + "...) wants " + shown_space(wanted);
}

bool Gaps::gap(Configuration& config, uint8_t byte, bool line_breaks) const {
    // 0: nothing read, 1: one space, n >= 2: a line break and n - 2 spaces or tabs.
    if (program_.options.whitespace != Whitespace::kFlexible) return false;
    if (config.gap == 0 && byte == ' ') return config.gap = 1, true;
    if (config.gap == 0 && byte == '\n' && line_breaks) return config.gap = 2, true;
    if (config.gap >= 2 && config.gap < program_.options.max_indent + 2 && (byte == ' ' || byte == '\t'))
        return ++config.gap, true;
    return false;
}

}  // namespace schemagen
