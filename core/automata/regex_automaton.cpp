#include "automata/regex_automaton.hpp"

#include "automata/substring_walk.hpp"
#include "util/shown.hpp"

namespace schemagen {

RegexAutomaton::RegexAutomaton(std::shared_ptr<SharedAutomata> shared, NodeId regex)
    : shared_(std::move(shared)), regex_(regex), start_(shared_->dfa.intern({regex}, false)) {
    set_facets({.strings = this, .guide = this, .lister = this});
}

std::shared_ptr<Automaton> RegexAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    const NodeId regex = shared->kernel.adopt(shared_->kernel, {regex_})[0];
    return std::make_shared<RegexAutomaton>(std::move(shared), regex);
}

Configuration RegexAutomaton::start() {
    Configuration config;
    config.state = start_;
    return config;
}

bool RegexAutomaton::step(Configuration& config, uint8_t byte, Arena&) {
    config.state = shared_->dfa.next(config.state, byte);
    return config.state != 0;
}

bool RegexAutomaton::accepting(const Configuration& config) {
    return config.state && shared_->dfa.state(config.state).accepts.any();
}

bool RegexAutomaton::identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) {
    key.push_back(uint64_t{config.state} << 1 | exact);
    return true;
}

// In a substring few tokens are allowed: a list of them is found sooner than a bitmask is remembered.
StringBody RegexAutomaton::string_body(const Configuration& config, uint32_t) {
    return {LazyDfa::is_tracked(config.state) ? 0 : config.state};
}

bool RegexAutomaton::list_tokens(const Configuration& config, const Trie& trie, TokenList& out) {
    if (!LazyDfa::is_tracked(config.state)) return false;
    SubstringWalk::list(shared_->dfa, config.state, trie, out);
    return true;
}

ByteSet RegexAutomaton::next_bytes(const Configuration& config) { return shared_->dfa.next_bytes(config.state); }

std::string RegexAutomaton::refusal(const Configuration& config, uint8_t byte, std::string_view, Arena&) {
    const ByteSet next = next_bytes(config);
    if (next.size() == 0) return "the text is complete and can only end";
    const std::string few = shown_bytes(next), end = accepting(config) ? ", or the end of the text" : "";
    return few.empty() ? "no text that is allowed goes on with " + shown_byte(byte) : few + " is expected" + end;
}

}  // namespace schemagen
