#include "automata/regex_automaton.hpp"

#include "util/shown.hpp"

namespace schemagen {

RegexAutomaton::RegexAutomaton(std::shared_ptr<Languages> languages, NodeId regex)
    : Automaton({.strings = this, .guide = this}), languages_(std::move(languages)), regex_(regex), start_(languages_->dfa.intern({regex}, false)) {}

std::shared_ptr<Automaton> RegexAutomaton::renewed(std::shared_ptr<Languages> languages) {
    const NodeId regex = languages->kernel.adopt(languages_->kernel, {regex_})[0];
    return std::make_shared<RegexAutomaton>(std::move(languages), regex);
}

Leaf RegexAutomaton::start() {
    Leaf leaf;
    leaf.state = start_;
    return leaf;
}

bool RegexAutomaton::step(Leaf& leaf, uint8_t byte, Arena&) {
    leaf.state = languages_->dfa.next(leaf.state, byte);
    return leaf.state != 0;
}

bool RegexAutomaton::accepting(const Leaf& leaf) { return leaf.state && languages_->dfa.state(leaf.state).accepts.any(); }

bool RegexAutomaton::identity(const Leaf& leaf, bool exact, std::vector<uint64_t>& key) {
    key.push_back(uint64_t{leaf.state} << 1 | exact);
    return true;
}

StringBody RegexAutomaton::string_body(const Leaf& leaf, uint32_t) { return {leaf.state}; }

ByteSet RegexAutomaton::next_bytes(const Leaf& leaf) { return languages_->dfa.next_bytes(leaf.state); }

std::string RegexAutomaton::refusal(const Leaf& leaf, uint8_t byte, std::string_view, Arena&) {
    const ByteSet next = next_bytes(leaf);
    if (next.size() == 0) return "the text is complete and can only end";
    const std::string few = shown_bytes(next), end = accepting(leaf) ? ", or the end of the text" : "";
    return few.empty() ? "no text that is allowed goes on with " + shown_byte(byte) : few + " is expected" + end;
}

}  // namespace schemagen
