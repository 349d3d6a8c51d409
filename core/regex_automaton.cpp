#include "json_automaton.hpp"

namespace schemagen {

RegexAutomaton::RegexAutomaton(std::shared_ptr<Kernel> kernel, NodeId regex, uint64_t max_states)
    : kernel_(std::move(kernel)), dfa_(*kernel_, max_states), start_(dfa_.intern({regex}, false)) {}

Leaf RegexAutomaton::start() {
    Leaf leaf;
    leaf.state = start_;
    return leaf;
}

bool RegexAutomaton::step(Leaf& leaf, uint8_t byte, Arena&) {
    leaf.state = dfa_.next(leaf.state, byte);
    return leaf.state != 0;
}

bool RegexAutomaton::accepting(const Leaf& leaf) { return leaf.state && dfa_.state(leaf.state).accepts.any(); }

}  // namespace schemagen
