#include "context_free/adjacency.hpp"

#include <algorithm>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

using State = LexemeGraph::State;

namespace {
bool meet(const ByteSet& one, const ByteSet& other) {
    uint64_t both = 0;
    for (size_t w = 0; w < one.words.size(); ++w) both |= one.words[w] & other.words[w];
    return both != 0;
}
}  // namespace

Adjacency::Adjacency(const ContextFreeGrammar& grammar, Kernel& kernel, Lexer& lexer, const Adjacency* before)
    : grammar_(grammar),
      kernel_(kernel),
      lexer_(lexer),
      graph_(grammar, kernel, lexer),
      known_(grammar.lexemes().size()) {
    if (!before) return;
    beginnings_ = before->beginnings_;
    numbers_ = before->numbers_;
    for (size_t lexeme = 0; lexeme < known_.size(); ++lexeme) {
        const Known& known = before->known_[lexeme];
        known_[lexeme] = {known.beginning, kUnknown, known.free, known.last,
                          nullptr,         nullptr,  known.told, known.followed};
    }
}

uint32_t Adjacency::number_of(const ByteSet& first) {
    const auto [at, is_new] = numbers_.try_emplace(first.words, static_cast<uint32_t>(beginnings_.size()));
    if (is_new) beginnings_.push_back(first);
    return at->second;
}

uint32_t Adjacency::beginning(LexemeId id) {
    uint32_t& known = known_[id].beginning;
    if (known == kUnknown) known = number_of(lexer_.first_bytes(id));
    return known;
}

const std::vector<State>& Adjacency::states_of(LexemeId id) {
    auto& known = known_[id].states;
    if (!known) known = std::make_unique<std::vector<State>>(graph_.states_of(id));
    return *known;
}

// For which beginnings each state of a lexeme leads to one that ends well, and for which some state does or may;
// `ends(promise)` says it of one end.
template <class Ends>
Adjacency::Answer Adjacency::over_states(LexemeId lexeme, const Ends& ends) {
    const std::vector<State>& states = states_of(lexeme);
    if (states.empty()) return {0, ~uint64_t{0}};  // too many to tell
    Answer out;
    ends_well_.resize(graph_.state_count());
    for (State state : states) {
        const Answer own = graph_.end(state) ? ends(*graph_.end(state)) : Answer{};
        ends_well_[state] = own.always;
        out.ever |= own.ever;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = states.size(); k-- > 0;) {
            uint64_t well = ends_well_[states[k]];
            for (State next : graph_.next(states[k])) well |= ends_well_[next];
            changed = changed || well != ends_well_[states[k]];
            ends_well_[states[k]] = well;
        }
    }
    out.always = ~uint64_t{0};
    for (State state : states) out.always &= ends_well_[state];
    return out;
}

Adjacency::Keeping Adjacency::keeping(Promise promise) {
    Keeping out;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const Promise left = lexer_.keep(promise, static_cast<uint8_t>(byte));
        if (left == kNoPromise) out.free.add(static_cast<uint8_t>(byte));
        if (left != kBroken) out.unbroken.add(static_cast<uint8_t>(byte));
    }
    return out;
}

// When one of the bytes of a beginning keeps a promise: for good, or as far as that byte tells.
Adjacency::Answer Adjacency::kept(Promise promise, size_t word) {
    auto at = keeping_.find(promise);
    if (at == keeping_.end()) at = keeping_.emplace(promise, keeping(promise)).first;
    Keeping& known = at->second;
    if (known.of.size() <= word) known.of.resize(word + 1);
    auto& [told, answer] = known.of[word];
    const size_t count = std::min<size_t>(beginnings_.size() - word * 64, 64);
    for (; told < count; ++told) {
        const ByteSet& first = beginnings_[word * 64 + told];
        answer.always |= uint64_t{meet(first, known.free)} << told;
        answer.ever |= uint64_t{meet(first, known.unbroken)} << told;
    }
    return answer;
}

bool Adjacency::is_free(LexemeId id) {
    std::optional<bool>& known = known_[id].free;
    if (known) return *known;
    const Lexeme& lexeme = grammar_.lexemes()[id];
    bool free = !lexeme.marked;
    if (free && lexeme.longer != kEmpty) {
        const std::vector<State>& states = states_of(id);
        free = !states.empty() && std::all_of(states.begin(), states.end(),
                                              [&](State state) { return !graph_.end(state).value_or(kNoPromise); });
    }
    known = free;
    return free;
}

// The beginnings with a byte that its longer texts do not have: where it ends at last, they may follow.
uint64_t Adjacency::beyond(LexemeId id, size_t word) {
    const Lexeme& lexeme = grammar_.lexemes()[id];
    if (lexeme.marked) return 0;
    auto at = used_.find(lexeme.longer);
    if (at == used_.end()) at = used_.emplace(lexeme.longer, kernel_.used_bytes(lexeme.longer)).first;
    uint64_t out = 0;
    for (size_t k = word * 64; k < std::min(beginnings_.size(), word * 64 + 64); ++k)
        for (size_t w = 0; w < 4; ++w)
            if (beginnings_[k].words[w] & ~at->second.words[w]) out |= uint64_t{1} << (k % 64);
    return out;
}

Adjacency::Answer Adjacency::find(LexemeId id, size_t word) {
    poll();
    const uint64_t beyond = this->beyond(id, word);
    const Answer told = over_states(id, [&](Promise promise) { return kept(promise, word); });
    return {beyond | told.always, beyond | told.ever};
}

Adjacency::When Adjacency::after(LexemeId id, uint32_t beginning) {
    if (is_free(id)) return When::kAlways;
    Known& known = known_[id];
    const size_t word = beginning / 64;
    if (known.told <= beginning) {
        for (LexemeId each = 0; each < known_.size(); ++each) this->beginning(each);  // all that will be asked for
        known.followed.resize(beginnings_.size() / 64 + 1);
        for (size_t w = known.told / 64; w < known.followed.size(); ++w) known.followed[w] = find(id, w);
        known.told = beginnings_.size();
    }
    return known.followed[word].of(beginning % 64);
}

uint32_t Adjacency::ending(LexemeId id) {
    Known& known = known_[id];
    if (known.ending != kUnknown) return known.ending;
    std::vector<uint64_t> answers{static_cast<uint64_t>(last(id))};
    if (!is_free(id)) {
        after(id, beginning(id));  // tells of all others, too
        for (const Answer& each : known.followed) answers.insert(answers.end(), {each.always, each.ever});
    }
    return known.ending = endings_.try_emplace(answers, static_cast<uint32_t>(endings_.size())).first->second;
}

Adjacency::When Adjacency::followed(LexemeId lexeme, LexemeId next) {
    return is_free(lexeme) ? When::kAlways : after(lexeme, beginning(next));
}

Adjacency::When Adjacency::before(LexemeId lexeme, const ByteSet& first) {
    return is_free(lexeme) ? When::kAlways : after(lexeme, number_of(first));
}

Adjacency::When Adjacency::last(LexemeId id) {
    if (!grammar_.lexemes()[id].marked) return When::kAlways;
    std::optional<When>& known = known_[id].last;
    if (!known) {
        auto may_end = [&](Promise promise) { return lexer_.may_end(promise) ? Answer{1, 1} : Answer{}; };
        known = over_states(id, may_end).of(0);
    }
    return *known;
}

// Raises the bytes from each state to those of the way to an end that is well for all the asked beginnings: round by
// round, from such ends back.
template <class Ends>
void Adjacency::raise_bytes(LexemeId lexeme, uint64_t asked, const Ends& ends) {
    const std::vector<State>& states = states_of(lexeme);
    std::vector<uint64_t> next(states.size());
    ends_well_.resize(graph_.state_count());
    for (State state : states) ends_well_[state] = graph_.end(state) ? ends(*graph_.end(state)) : 0;
    bool found = false;
    for (uint32_t round = 1; !found; ++round) {
        poll();
        found = true;
        for (size_t k = 0; k < states.size(); ++k) {
            next[k] = ends_well_[states[k]];
            if (!(asked & ~next[k])) continue;
            found = false;
            uint32_t& bytes = (*known_[lexeme].bytes_to_end)[states[k]];
            bytes = std::max(bytes, round);
            for (State to : graph_.next(states[k])) next[k] |= ends_well_[to];
        }
        for (size_t k = 0; k < states.size(); ++k) ends_well_[states[k]] = next[k];
    }
}

// [state]: empty if there are too many.
const std::unordered_map<State, uint32_t>& Adjacency::bytes_of(LexemeId id) {
    if (known_[id].bytes_to_end) return *known_[id].bytes_to_end;
    if (!is_free(id)) after(id, beginning(id));  // tells of all others, too
    const bool marked = grammar_.lexemes()[id].marked, may_be_last = last(id) == When::kAlways;
    known_[id].bytes_to_end = std::make_unique<std::unordered_map<State, uint32_t>>();
    try {
        for (State state : states_of(id)) known_[id].bytes_to_end->emplace(state, 0);
        if (may_be_last)
            raise_bytes(id, 1, [&](Promise promise) { return uint64_t{!marked || lexer_.may_end(promise)}; });
        for (size_t word = 0; !is_free(id) && word < known_[id].followed.size(); ++word) {
            const uint64_t beyond = this->beyond(id, word);
            const auto ends = [&](Promise promise) { return beyond | kept(promise, word).always; };
            raise_bytes(id, known_[id].followed[word].always, ends);
        }
    } catch (...) {
        known_[id].bytes_to_end.reset();
        throw;
    }
    return *known_[id].bytes_to_end;
}

uint32_t Adjacency::bytes_to_end(const Lexer::Component& component) {
    const auto& bytes = bytes_of(component.lexeme);
    const auto state = graph_.find(component);
    const auto at = state ? bytes.find(*state) : bytes.end();
    return at == bytes.end() ? ContextFreeGrammar::kFar : at->second;
}

uint32_t Adjacency::bytes_to_end(LexemeId id) {
    const auto& bytes = bytes_of(id);
    uint32_t most = bytes.empty() ? ContextFreeGrammar::kFar : 0;
    for (const auto& [state, _] : bytes)
        for (State next : graph_.next(state)) most = std::max(most, bytes.at(next));
    return most;
}

size_t Adjacency::memory_bytes() const {
    size_t bytes = graph_.memory_bytes() + heap_bytes(known_) + heap_bytes(beginnings_) + heap_bytes(ends_well_) +
                   numbers_.size() * heap_node(sizeof(*numbers_.begin())) +
                   used_.size() * heap_node(sizeof(*used_.begin()));
    for (const Known& known : known_) {
        bytes += heap_bytes(known.followed);
        if (known.bytes_to_end) bytes += known.bytes_to_end->size() * heap_node(sizeof(std::pair<State, uint32_t>));
        if (known.states) bytes += heap_block(sizeof(std::vector<State>)) + heap_bytes(*known.states);
    }
    for (const auto& ending : endings_) bytes += heap_node(sizeof(ending)) + heap_bytes(ending.first);
    for (const auto& keeping : keeping_) bytes += heap_node(sizeof(keeping)) + heap_bytes(keeping.second.of);
    return bytes;
}

}  // namespace schemagen
