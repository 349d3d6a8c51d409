// The lexer: a lazy DFA whose states are sets of (lexeme, rest of its texts, rest of longer matches).
//
// A state lists the lexemes that may be the current one, each with the rest of its texts (derivatives, regex/nodes.hpp)
// and of the texts that it must not go on as. States are made as they are met, with a row of targets by byte. A lexeme
// ends only when a byte is read that begins the next one, or where the text ends; so the places between lexemes cost
// nothing, and a deterministic lexer is in one state.
//
// The restrictions of an ended lexeme on the rest of the text are a `promise`: languages that the rest must not begin
// with, and languages that it must be of. Most promises are kept by the next byte, and are empty from there on.
//
// A lexeme that is a substring of a long text is followed by tracks, as in lazy_dfa.hpp: its states are not made.
//
// The mark between a marked lexeme and the text after it is U+10FFFF, a noncharacter. To keep it out of all texts,
// marked lexemes hold no character of its plane (U+100000 and above, for private use).
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "context_free/allowance.hpp"
#include "context_free/derivatives.hpp"
#include "context_free/parser.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

using LexerState = uint32_t;
using Promise = uint32_t;
constexpr LexerState kNoLexeme = 0;
constexpr Promise kNoPromise = 0, kBroken = UINT32_MAX;

class Lexer {
public:
    struct Component {
        LexemeId lexeme;
        NodeId text, longer;
    };
    struct End {
        LexemeId lexeme;
        Promise promise;
    };

    Lexer(const ContextFreeGrammar& grammar, const LexemeSets& sets, Kernel& kernel, Allowance& allowance);
    // Where one of a set of lexemes begins.
    LexerState start(LexemeSets::SetId set);
    // Where the component alone is.
    LexerState alone(const Component& component);
    // The same place, if only a set of lexemes may be read. kNoLexeme if it has none of them.
    LexerState within(LexerState state, LexemeSets::SetId set);
    // kNoLexeme if no lexeme goes on like this.
    LexerState next(LexerState state, uint8_t byte) {
        if (is_tracked(state)) return next_on_track(state, byte);
        if (const Row* row = rows_[state].get(); row && (*row)[byte] != kUnknownShort)
            return (*row)[byte] != kLong ? (*row)[byte] : long_targets_.find(state, byte);
        return compute(state, byte);
    }
    // The lexemes that may end here.
    const std::vector<End>& ends(LexerState state) const {
        if (!is_tracked(state)) return states_[state].ends;
        const Track& track = track_of(state);
        return track.table->whole(state - track.base) ? track.ends : states_[kNoLexeme].ends;
    }
    // Of a state that was not made, valid until the next call.
    const std::vector<Component>& components(LexerState state) {
        return is_tracked(state) ? components_on_track(state) : states_[state].components;
    }
    ByteSet next_bytes(LexerState state);
    // The component after a byte, for a single component without states.
    std::optional<Component> next(const Component& component, uint8_t byte);
    // The promise at its end, if it may end.
    std::optional<Promise> end(const Component& component);
    // That the texts of a lexeme begin with.
    const ByteSet& first_bytes(LexemeId lexeme);
    // Lower bound of the bytes to the end of a component.
    uint32_t min_bytes(const Component& component);
    // The bytes that lower it.
    const ByteSet& nearer_bytes(const Component& component);

    // Whether the text after a lexeme can begin with a byte, wherever the parser is.
    bool may_follow(LexemeId lexeme, uint8_t byte) {
        return bytes_after(grammar_.lexemes()[lexeme].terminal).has(byte);
    }
    // The bytes that lexemes after a terminal begin with.
    const ByteSet& bytes_after(SymbolId terminal);

    // The rest of a promise after a byte. kBroken if the byte must not come.
    Promise keep(Promise promise, uint8_t byte);
    Promise both(Promise one, Promise other);
    // Whether the text may end with it.
    bool may_end(Promise promise) const;

    // Whether it is one of the states that are not made.
    static bool is_tracked(LexerState state) { return state >= kTracked; }
    // A state with the same lexemes, which is one for all those of a track.
    LexerState track_start(LexerState state) const { return is_tracked(state) ? track_of(state).base : state; }
    size_t state_count() const { return states_.size(); }  // that were made
    size_t memory_bytes() const;

private:
    static constexpr uint32_t kUnknown = UINT32_MAX;
    static constexpr LexerState kTracked = 1u << 31;
    static constexpr size_t kMostTracks = 64;
    struct Track {
        LexemeId lexeme;
        const SubstringTable* table;
        uint32_t table_id;
        NodeId rest;            // of the lexeme, after the substring
        LexerState base;        // at the start of the substring; the states of the table follow
        std::vector<End> ends;  // where the substring may end
        ByteSet leaving;        // that `rest` begins with
    };
    const Track& track_of(LexerState state) const {
        size_t k = tracks_.size() - 1;
        while (tracks_[k].base > state) --k;
        return tracks_[k];
    }
    LexerState state_on_track(const Component& component);
    const Track* track_for(LexemeId lexeme, const Nodes::SubstringPlace& place);
    LexerState next_on_track(LexerState state, uint8_t byte);
    const std::vector<Component>& components_on_track(LexerState state);
    // Targets by byte, in two bytes each; those that need more are looked up apart.
    using Row = std::array<uint16_t, 256>;
    static constexpr uint16_t kUnknownShort = UINT16_MAX, kLong = UINT16_MAX - 1;
    struct State {
        std::vector<Component> components;
        std::vector<End> ends;
        std::unique_ptr<ByteSet> next_bytes;  // when it was asked for
    };
    std::pair<unsigned, unsigned> alike(LexerState state, uint8_t byte);
    LexerState compute(LexerState state, uint8_t byte);
    LexerState intern(std::vector<Component> components);
    Promise promise_of(std::vector<uint32_t> parts);
    bool is_anything(NodeId node);

    const ContextFreeGrammar& grammar_;
    const LexemeSets& sets_;
    Kernel& kernel_;
    Derivatives derivatives_;
    Allowance& allowance_;
    std::vector<std::optional<ByteSet>> following_bytes_;  // [terminal], when it was asked for
    std::vector<std::optional<ByteSet>> first_;            // [lexeme], the same
    InternedLists keys_;                                   // [state]: components, flat
    std::deque<State> states_;                             // [state]
    std::vector<std::unique_ptr<Row>> rows_;               // [state]
    PairMap long_targets_;                                 // (state, byte) -> state
    NodeId unmarked_;                                      // any text without the mark
    std::unordered_map<NodeId, bool> anything_;
    std::unordered_map<NodeId, ByteSet> nearer_;
    std::unordered_map<NodeId, uint32_t> before_mark_;  // of marked lexemes: see min_bytes
    std::vector<LexerState> starts_;                    // [set]
    std::deque<Track> tracks_;                          // by their base
    std::vector<Component> on_track_;                   // the last question
    PairMap leaving_;  // (state on a track, byte) -> target, where the text after the substring may begin
    // [promise]: sorted, twice a node that the rest must not begin with, or twice one that it must be of and 1
    InternedLists promises_;
    std::vector<std::unique_ptr<std::array<Promise, 256>>> kept_;  // [promise]
};

}  // namespace schemagen
