#include "context_free/adjacency.hpp"

#include <algorithm>
#include <unordered_map>

#include "util/work.hpp"

namespace schemagen {

const ByteSet& Adjacency::first_bytes(LexemeId id) {
    auto& known = known_[id].first;
    if (!known) {
        const Lexeme& lexeme = grammar_.lexemes()[id];
        known = std::make_unique<ByteSet>(lexer_.next_bytes(lexer_.alone({id, lexeme.text, lexeme.longer})));
    }
    return *known;
}

uint32_t Adjacency::beginning(LexemeId id) {
    if (known_[id].beginning == kUnknown) {
        const auto next = static_cast<uint32_t>(beginnings_.size());
        known_[id].beginning = beginnings_.try_emplace(first_bytes(id).words, next).first->second;
    }
    return known_[id].beginning;
}

const ByteSet& Adjacency::longer_bytes(LexemeId id) {
    auto& known = known_[id].longer;
    if (!known) known = std::make_unique<ByteSet>(kernel_.used_bytes(grammar_.lexemes()[id].longer));
    return *known;
}

const Adjacency::Walk& Adjacency::walk(LexemeId id) {
    auto& known = known_[id].walk;
    if (known) return *known;
    known = std::make_unique<Walk>();
    const Lexeme& lexeme = grammar_.lexemes()[id];
    Walk walk{{lexer_.alone({id, lexeme.text, lexeme.longer})}, {{}}};
    std::unordered_map<LexerState, uint32_t> numbers{{walk.states[0], 0}};
    for (uint32_t at = 0; at < walk.states.size(); ++at) {
        poll();
        if (walk.states.size() > kMostStates) return *known;
        const Lexer::Component component = lexer_.components(walk.states[at]).front();
        const ByteCuts text = kernel_.cuts(component.text), longer = kernel_.cuts(component.longer);
        for (unsigned byte = 0; byte < 256; ++byte) {
            if (byte && !((text[byte / 64] | longer[byte / 64]) >> (byte % 64) & 1)) continue;
            const LexerState next = lexer_.next(walk.states[at], static_cast<uint8_t>(byte));
            if (!next) continue;
            const auto [it, is_new] = numbers.try_emplace(next, static_cast<uint32_t>(walk.states.size()));
            if (is_new) walk.states.push_back(next), walk.before.emplace_back();
            walk.before[it->second].push_back(at);
        }
    }
    *known = std::move(walk);
    return *known;
}

// Whether each state of a lexeme leads to one that ends well, or none ends so that what follows is possible;
// `ends(promise)` says it of one end.
template <class Ends>
Adjacency::When Adjacency::over_states(LexemeId lexeme, const Ends& ends) {
    const Walk& walk = this->walk(lexeme);
    std::vector<bool> reached(walk.states.size());
    std::vector<uint32_t> todo;
    bool never = !walk.states.empty();
    auto reach = [&](uint32_t state) {
        if (!reached[state]) reached[state] = true, todo.push_back(state);
    };
    for (uint32_t state = 0; state < walk.states.size(); ++state)
        for (const Lexer::End& end : lexer_.ends(walk.states[state])) {
            const When when = ends(end.promise);
            never = never && when == When::kNever;
            if (when == When::kAlways) reach(state);
        }
    if (never) return When::kNever;
    for (size_t at = 0; at < todo.size(); ++at)
        for (uint32_t state : walk.before[todo[at]]) reach(state);
    return !todo.empty() && todo.size() == walk.states.size() ? When::kAlways : When::kSometimes;
}

// When one of some bytes keeps a promise: for good, or as far as that byte tells.
Adjacency::When Adjacency::kept(Promise promise, const ByteSet& first) {
    When out = When::kNever;
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (!first.has(static_cast<uint8_t>(byte))) continue;
        const Promise left = lexer_.keep(promise, static_cast<uint8_t>(byte));
        if (left == kNoPromise) return When::kAlways;
        if (left != kBroken) out = When::kSometimes;
    }
    return out;
}

bool Adjacency::is_free(LexemeId id) {
    std::optional<bool>& known = known_[id].free;
    if (known) return *known;
    const Lexeme& lexeme = grammar_.lexemes()[id];
    bool free = !lexeme.marked;
    if (free && lexeme.longer != kEmpty) {
        const Walk& walk = this->walk(id);
        auto says_nothing = [&](LexerState state) {
            const auto& ends = lexer_.ends(state);
            return std::all_of(ends.begin(), ends.end(), [](const Lexer::End& end) { return !end.promise; });
        };
        free = !walk.states.empty() && std::all_of(walk.states.begin(), walk.states.end(), says_nothing);
    }
    known = free;
    return free;
}

Adjacency::When Adjacency::followed(LexemeId lexeme, LexemeId next) {
    if (is_free(lexeme)) return When::kAlways;
    const uint32_t beginning = this->beginning(next);
    if (const uint32_t known = followed_.find(lexeme, beginning); known != PairMap::kNone)
        return static_cast<When>(known);
    const When when = before(lexeme, first_bytes(next));
    followed_.insert(lexeme, beginning, static_cast<uint32_t>(when));
    return when;
}

Adjacency::When Adjacency::before(LexemeId id, const ByteSet& first) {
    const Lexeme& lexeme = grammar_.lexemes()[id];
    if (is_free(id)) return When::kAlways;
    for (size_t w = 0; w < first.words.size() && !lexeme.marked; ++w)
        if (first.words[w] & ~longer_bytes(id).words[w]) return When::kAlways;
    return over_states(id, [&](Promise promise) { return kept(promise, first); });
}

Adjacency::When Adjacency::last(LexemeId lexeme) {
    if (!grammar_.lexemes()[lexeme].marked) return When::kAlways;
    if (const uint32_t known = last_.find(lexeme, 0); known != PairMap::kNone) return static_cast<When>(known);
    const When when =
        over_states(lexeme, [&](Promise promise) { return lexer_.may_end(promise) ? When::kAlways : When::kNever; });
    last_.insert(lexeme, 0, static_cast<uint32_t>(when));
    return when;
}

}  // namespace schemagen
