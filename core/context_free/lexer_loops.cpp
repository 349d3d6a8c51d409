#include "context_free/lexer_loops.hpp"

#include <algorithm>

#include "util/work.hpp"

namespace schemagen {

Slice::Set LexerLoops::known(LexerState state, std::vector<Slice::Set>& sets, bool uncut) {
    if (Lexer::is_tracked(state)) return 0;  // a substring of a text has an end
    if (sets.size() <= state) sets.resize(lexer_.state_count());
    if (!(sets[state] & kIsKnown)) sets[state] = find(state, uncut) | kIsKnown;
    return sets[state] & static_cast<Slice::Set>(~kIsKnown);
}

Slice::Set LexerLoops::find(LexerState state, bool uncut) {
    Slice::Set out = 0;
    // All slices have these letters.
    for (uint8_t letter : {'e', 'q', 'z'})
        if (lexer_.next(state, letter) != state || (uncut && is_cut(state, letter))) return out;
    for (size_t k = 0; k < Slice::kCount; ++k)
        if (!(out >> k & 1) && is_loop(state, Slice::all()[k], uncut)) out |= Slice::within(k);
    return out;
}

// Whether a lexeme that ends in the state may be followed by the byte.
bool LexerLoops::is_cut(LexerState state, uint8_t byte) {
    for (size_t k = 0; k < lexer_.ends(state).size(); ++k) {
        const Lexer::End end = lexer_.ends(state)[k];
        if (lexer_.may_follow(end.lexeme, byte) && lexer_.keep(end.promise, byte) != kBroken) return true;
    }
    return false;
}

bool LexerLoops::is_loop(LexerState state, const Slice& slice, bool uncut) {
    poll();
    for (auto [low, high] : slice.ascii)
        for (unsigned byte = low; byte <= high; ++byte)
            if (lexer_.next(state, static_cast<uint8_t>(byte)) != state ||
                (uncut && is_cut(state, static_cast<uint8_t>(byte))))
                return false;
    if (!slice.beyond_ascii) return true;
    const auto& spelled = Slice::beyond_ascii_spelled();
    return std::all_of(spelled.begin(), spelled.end(),
                       [&](const Slice::Spelling& spelling) { return returns(state, spelling, uncut); });
}

// Whether the characters with such bytes lead back.
bool LexerLoops::returns(LexerState state, const Slice::Spelling& spelling, bool uncut) {
    std::vector<LexerState> states{state}, next;
    for (size_t k = 0; k < spelling.size(); ++k) {
        next.clear();
        for (LexerState from : states)
            for (unsigned byte = spelling[k].first; byte <= spelling[k].second; ++byte) {
                if (uncut && is_cut(from, static_cast<uint8_t>(byte))) return false;
                const LexerState to = lexer_.next(from, static_cast<uint8_t>(byte));
                if (!to || (k + 1 == spelling.size() && to != state)) return false;
                if (std::find(next.begin(), next.end(), to) == next.end()) next.push_back(to);
            }
        states.swap(next);
    }
    return true;
}

}  // namespace schemagen
