#include "context_free/lexeme_graph.hpp"

#include <algorithm>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

LexemeGraph::State LexemeGraph::state_of(const Lexer::Component& component) {
    PairMap& known = grammar_.lexemes()[component.lexeme].marked ? marked_ : plain_;
    if (const uint32_t state = known.find(component.text, component.longer); state != PairMap::kNone) return state;
    Node made{component, lexer_.end(component), {}};
    const auto state = static_cast<State>(states_.size());
    states_.push_back(std::move(made));
    known.insert(component.text, component.longer, state);
    return state;
}

std::optional<LexemeGraph::State> LexemeGraph::find(const Lexer::Component& component) const {
    const PairMap& known = grammar_.lexemes()[component.lexeme].marked ? marked_ : plain_;
    const uint32_t state = known.find(component.text, component.longer);
    return state == PairMap::kNone ? std::nullopt : std::optional<State>(state);
}

void LexemeGraph::open(State state) {
    if (states_[state].is_open) return;
    const Lexer::Component component = states_[state].component;
    const ByteCuts text = kernel_.cuts(component.text), longer = kernel_.cuts(component.longer);
    std::vector<State> next;
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (byte && !((text[byte / 64] | longer[byte / 64]) >> (byte % 64) & 1)) continue;
        if (const auto after = lexer_.next(component, static_cast<uint8_t>(byte))) next.push_back(state_of(*after));
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    next.shrink_to_fit();
    states_[state].next = std::move(next);
    states_[state].is_open = true;
}

std::vector<LexemeGraph::State> LexemeGraph::states_of(LexemeId id) {
    const Lexeme& lexeme = grammar_.lexemes()[id];
    ++walks_;
    std::vector<State> out;
    auto reach = [&](State state) {
        if (std::exchange(states_[state].seen, walks_) != walks_) out.push_back(state);
    };
    reach(state_of({id, lexeme.text, lexeme.longer}));
    for (size_t at = 0; at < out.size(); ++at) {
        poll();
        if (out.size() > kMostStates) return {};
        open(out[at]);
        for (State state : states_[out[at]].next) reach(state);
    }
    return out;
}

size_t LexemeGraph::memory_bytes() const {
    size_t bytes = heap_bytes(states_) + plain_.memory_bytes() + marked_.memory_bytes();
    for (const Node& node : states_) bytes += heap_bytes(node.next);
    return bytes;
}

}  // namespace schemagen
