#include "context_free/lexer.hpp"

#include <algorithm>

#include "context_free/marked_texts.hpp"
#include "util/heap.hpp"

namespace schemagen {

Lexer::Lexer(const ContextFreeGrammar& grammar, const LexemeSets& sets, Kernel& kernel, Allowance& allowance)
    : grammar_(grammar), sets_(sets), kernel_(kernel), derivatives_(kernel), allowance_(allowance) {
    unmarked_ = kernel_.repeat(kernel_.chars(Encoding::kUtf8, {{0, kMaxCodePoint - 1}}), 0, kUnbounded);
    states_.emplace_back();
    rows_.emplace_back();
    rows_[0] = std::make_unique<Row>();
    rows_[0]->fill(kNoLexeme);
    kept_.emplace_back();
}

LexerState Lexer::start(LexemeSets::SetId set) {
    if (starts_.size() <= set) starts_.resize(set + 1, kUnknown);
    if (starts_[set] != kUnknown) return starts_[set];
    std::vector<Component> components;
    for (LexemeId id : sets_[set]) {
        const Lexeme& lexeme = grammar_.lexemes()[id];
        components.push_back({id, lexeme.text, lexeme.longer});
    }
    const LexerState state = intern(std::move(components));
    return starts_[set] = state;
}

LexerState Lexer::alone(const Component& component) { return intern({component}); }

LexerState Lexer::within(LexerState state, LexemeSets::SetId set) {
    std::vector<Component> components;
    for (const Component& each : this->components(state))
        if (sets_.has(set, each.lexeme)) components.push_back(each);
    return components.empty() ? kNoLexeme : intern(std::move(components));
}

LexerState Lexer::intern(std::vector<Component> components) {
    if (components.size() == 1)
        if (const LexerState tracked = state_on_track(components[0])) return tracked;
    std::vector<uint32_t> key;
    key.reserve(components.size() * 3);
    for (const Component& each : components) key.insert(key.end(), {each.lexeme, each.text, each.longer});
    if (const uint32_t known = keys_.find(key); known != InternedLists::kNone) return known;
    State state;
    for (const Component& each : components)
        if (const auto promise = end(each)) state.ends.push_back({each.lexeme, *promise});
    const LexerState id = keys_.intern(key);  // after everything that may fail
    state.components = std::move(components);
    states_.push_back(std::move(state));
    rows_.emplace_back();
    allowance_.add_state();
    return id;
}

// The first and the last byte of the range around one that leads to the same state.
std::pair<unsigned, unsigned> Lexer::alike(LexerState state, uint8_t byte) {
    ByteCuts cuts{};
    cuts[kPlaneOfMark >> 6] = uint64_t{3} << (kPlaneOfMark & 63);  // begins and ends there
    for (const Component& each : states_[state].components)
        for (NodeId node : {each.text, each.longer}) kernel_.add_cuts(node, cuts);
    return {first_alike(cuts, byte), last_alike(cuts, byte)};
}

std::optional<Lexer::Component> Lexer::next(const Component& component, uint8_t byte) {
    if (byte == kPlaneOfMark && grammar_.lexemes()[component.lexeme].marked) return std::nullopt;
    const NodeId text = derivatives_.of(component.text, byte);
    if (kernel_.is_empty(text)) return std::nullopt;
    const NodeId longer = component.longer == component.text ? text : derivatives_.of(component.longer, byte);
    return Component{component.lexeme, text, kernel_.is_empty(longer) ? kEmpty : longer};
}

std::optional<Promise> Lexer::end(const Component& component) {
    if (!grammar_.lexemes()[component.lexeme].marked) {
        if (!kernel_.nullable(component.text)) return std::nullopt;
        return promise_of({2 * component.longer});
    }
    const NodeId rest = after_mark(kernel_, component.text);
    if (kernel_.is_empty(rest)) return std::nullopt;
    return promise_of({2 * rest + 1});
}

LexerState Lexer::compute(LexerState state, uint8_t byte) {
    std::vector<Component> components;
    for (const Component& each : states_[state].components)
        if (const auto after = next(each, byte)) components.push_back(*after);
    const LexerState target = components.empty() ? kNoLexeme : intern(std::move(components));
    if (!rows_[state]) {
        rows_[state] = std::make_unique<Row>();
        rows_[state]->fill(kUnknownShort);
    }
    const auto [first, last] = alike(state, byte);
    for (unsigned each = first; target >= kLong && each <= last; ++each)
        if (long_targets_.find(state, each) == PairMap::kNone) long_targets_.insert(state, each, target);
    std::fill(rows_[state]->begin() + first, rows_[state]->begin() + last + 1,
              static_cast<uint16_t>(std::min<LexerState>(target, kLong)));
    return target;
}

// ---- substrings ---------------------------------------------------------------------------------------------------

// The start of its track. kNoLexeme if it is not a substring, restricts the text after it, or no table more fits.
LexerState Lexer::state_on_track(const Component& component) {
    if (component.longer != kEmpty || grammar_.lexemes()[component.lexeme].marked) return kNoLexeme;
    const auto place = kernel_.substring_place(component.text);
    const Track* track = place ? track_for(component.lexeme, *place) : nullptr;
    return track ? track->base + place->state : kNoLexeme;
}

const Lexer::Track* Lexer::track_for(LexemeId lexeme, const Nodes::SubstringPlace& place) {
    for (const Track& track : tracks_)
        if (track.lexeme == lexeme && track.table_id == place.table && track.rest == place.rest) return &track;
    const SubstringTable& table = kernel_.substring_table(place.table);
    const LexerState base = tracks_.empty() ? kTracked : tracks_.back().base + tracks_.back().table->end();
    if (tracks_.size() == kMostTracks || UINT32_MAX - base <= table.end()) return nullptr;
    Track track{lexeme, &table, place.table, place.rest, base, {}, {}};
    if (kernel_.nullable(place.rest)) track.ends.push_back({lexeme, kNoPromise});
    for (unsigned byte = 0; byte < 256; ++byte)
        if (!kernel_.is_empty(kernel_.derivative(place.rest, static_cast<uint8_t>(byte))))
            track.leaving.add(static_cast<uint8_t>(byte));
    allowance_.add_state();
    return &tracks_.emplace_back(std::move(track));
}

LexerState Lexer::next_on_track(LexerState state, uint8_t byte) {
    const Track& track = track_of(state);
    const SubstringTable::State next = track.table->next(state - track.base, byte);
    if (!track.leaving.has(byte) || !track.table->whole(state - track.base))
        return next ? track.base + next : kNoLexeme;
    if (const uint32_t known = leaving_.find(state, byte); known != PairMap::kNone) return known;
    const NodeId goes_on = next ? kernel_.at_substring({track.table_id, next, track.rest}) : kEmpty;
    const NodeId text = kernel_.alternation({goes_on, kernel_.derivative(track.rest, byte)});
    const LexerState target = intern({{track.lexeme, text, kEmpty}});
    leaving_.insert(state, byte, target);
    return target;
}

const std::vector<Lexer::Component>& Lexer::components_on_track(LexerState state) {
    const Track& track = track_of(state);
    on_track_ = {{track.lexeme, kernel_.at_substring({track.table_id, state - track.base, track.rest}), kEmpty}};
    return on_track_;
}

ByteSet Lexer::next_bytes(LexerState state) {
    if (is_tracked(state)) {
        const Track& track = track_of(state);
        ByteSet out = track.table->next_bytes(state - track.base);
        if (track.table->whole(state - track.base)) out.add(track.leaving);
        return out;
    }
    if (states_[state].next_bytes) return *states_[state].next_bytes;
    ByteSet bytes;
    for (unsigned byte = 0; byte < 256; ++byte)
        if (next(state, static_cast<uint8_t>(byte))) bytes.add(static_cast<uint8_t>(byte));
    states_[state].next_bytes = std::make_unique<ByteSet>(bytes);
    return *states_[state].next_bytes;
}

uint32_t Lexer::min_bytes(const Component& component) {
    if (!grammar_.lexemes()[component.lexeme].marked) return kernel_.shortest(component.text);
    if (const auto known = before_mark_.find(component.text); known != before_mark_.end()) return known->second;
    return before_mark_[component.text] = shortest_before_mark(kernel_, component.text);
}

const ByteSet& Lexer::nearer_bytes(const Component& component) {
    if (const auto known = nearer_.find(component.text); known != nearer_.end()) return known->second;
    ByteSet out;
    const uint32_t least = min_bytes(component);
    for (unsigned byte = 0; byte < 256; ++byte)
        if (const auto rest = next(component, static_cast<uint8_t>(byte)); rest && min_bytes(*rest) < least)
            out.add(static_cast<uint8_t>(byte));
    return nearer_[component.text] = out;
}

const ByteSet& Lexer::first_bytes(LexemeId id) {
    if (first_.empty()) first_.resize(grammar_.lexemes().size());
    if (first_[id]) return *first_[id];
    const Lexeme& lexeme = grammar_.lexemes()[id];
    ByteSet out;
    if (kernel_.substring_place(lexeme.text)) {
        out = next_bytes(alone({id, lexeme.text, lexeme.longer}));  // without a node for each byte
    } else {
        const ByteCuts cuts = kernel_.cuts(lexeme.text);
        bool begins = false;
        for (unsigned byte = 0; byte < 256; ++byte) {
            if (!byte || cuts[byte >> 6] >> (byte & 63) & 1)
                begins = !kernel_.is_empty(derivatives_.of(lexeme.text, static_cast<uint8_t>(byte)));
            if (begins && !(byte == kPlaneOfMark && lexeme.marked)) out.add(static_cast<uint8_t>(byte));
        }
    }
    return first_[id].emplace(out);
}

const ByteSet& Lexer::bytes_after(SymbolId terminal) {
    if (following_bytes_.empty()) following_bytes_.resize(grammar_.terminal_count());
    if (!following_bytes_[terminal]) {
        ByteSet bytes;
        for (LexemeId id = 0; id < grammar_.lexemes().size(); ++id) {
            const Lexeme& next = grammar_.lexemes()[id];
            if (!grammar_.may_follow(terminal, next.terminal)) continue;
            bytes.add(first_bytes(id));
        }
        following_bytes_[terminal] = bytes;
    }
    return *following_bytes_[terminal];
}

// ---- promises -----------------------------------------------------------------------------------------------------

bool Lexer::is_anything(NodeId node) {
    if (const auto it = anything_.find(node); it != anything_.end()) return it->second;
    return anything_[node] = kernel_.is_empty(kernel_.conjunction({unmarked_, kernel_.complement(node)}));
}

// A promise without the parts that say nothing.
Promise Lexer::promise_of(std::vector<uint32_t> parts) {
    std::erase_if(parts, [&](uint32_t part) {
        const NodeId node = part / 2;
        return part % 2 ? is_anything(node) : kernel_.is_empty(node) || node == kEpsilon;
    });
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    const uint32_t promise = promises_.intern(parts);
    kept_.resize(promises_.size());
    return promise;
}

bool Lexer::may_end(Promise promise) const {
    for (uint32_t part : promises_[promise])
        if (part % 2 && !kernel_.nullable(part / 2)) return false;
    return true;
}

Promise Lexer::both(Promise one, Promise other) {
    if (one == other || !other) return one;
    if (!one) return other;
    std::vector<uint32_t> nodes;
    std::ranges::set_union(promises_[one], promises_[other], std::back_inserter(nodes));
    const uint32_t promise = promises_.intern(nodes);
    kept_.resize(promises_.size());
    return promise;
}

Promise Lexer::keep(Promise promise, uint8_t byte) {
    if (!promise) return kNoPromise;
    constexpr Promise kNotKnown = kBroken - 1;
    if (kept_[promise] && (*kept_[promise])[byte] != kNotKnown) return (*kept_[promise])[byte];
    bool broken = false;
    std::vector<uint32_t> parts(promises_[promise].begin(), promises_[promise].end());
    ByteCuts cuts{};
    for (uint32_t& part : parts) {
        kernel_.add_cuts(part / 2, cuts);
        const NodeId rest = derivatives_.of(part / 2, byte);
        broken = broken || (part % 2 ? kernel_.is_empty(rest) : kernel_.nullable(rest));
        part = 2 * rest + part % 2;
    }
    const Promise out = broken ? kBroken : promise_of(std::move(parts));
    if (!kept_[promise]) {
        kept_[promise] = std::make_unique<std::array<Promise, 256>>();
        kept_[promise]->fill(kNotKnown);
    }
    auto* const kept = kept_[promise]->data();
    std::fill(kept + first_alike(cuts, byte), kept + last_alike(cuts, byte) + 1, out);
    return out;
}

size_t Lexer::memory_bytes() const {
    size_t bytes = keys_.memory_bytes() + promises_.memory_bytes() + derivatives_.memory_bytes() +
                   leaving_.memory_bytes() + long_targets_.memory_bytes() + states_.size() * sizeof(State) +
                   tracks_.size() * sizeof(Track) + heap_bytes(starts_) + heap_bytes(rows_) + heap_bytes(kept_) +
                   heap_bytes(following_bytes_) + heap_bytes(first_) +
                   anything_.size() * heap_node(sizeof(*anything_.begin())) +
                   nearer_.size() * heap_node(sizeof(*nearer_.begin())) +
                   before_mark_.size() * heap_node(sizeof(*before_mark_.begin()));
    for (const auto& row : rows_) bytes += row ? heap_block(sizeof(Row)) : 0;
    for (const auto& row : kept_) bytes += row ? heap_block(sizeof(*row)) : 0;
    for (const State& state : states_) {
        bytes += heap_bytes(state.components) + heap_bytes(state.ends);
        if (state.next_bytes) bytes += heap_block(sizeof(ByteSet));
    }
    return bytes;
}

}  // namespace schemagen
