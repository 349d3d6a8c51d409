// A regular expression over UTF-8 text, as an automaton without a stack.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "automata/shared_automata.hpp"
#include "automata/string_view.hpp"
#include "automata/token_lister.hpp"

namespace schemagen {

class RegexAutomaton final : public Automaton, StringView, CompletionGuide, TokenLister {
public:
    RegexAutomaton(std::shared_ptr<SharedAutomata> shared, NodeId regex);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    Configuration start() override;
    bool step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool accepting(const Configuration& config) override;
    ByteSet next_bytes(const Configuration& config) override;
    uint32_t min_bytes(const Configuration& config) override { return shared_->dfa.bytes_to_accept(config.state, 0); }
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override;
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override;
    uint64_t memory_bytes() const override { return sizeof(*this); }

private:
    StringBody string_body(const Configuration& config, uint32_t longest) override;
    StringBody free_of_text(const Configuration& config) override { return string_body(config, 0); }
    bool go_on(Configuration& config, uint32_t state, uint32_t) override {
        config.state = state;
        return true;
    }
    bool list_tokens(const Configuration& config, const Trie& trie, TokenList& out) override;
    uint32_t most_tokens(const Configuration& config) override {
        return shared_->kernel.shortest_at_most(shared_->dfa.component(config.state, 0));
    }

    std::shared_ptr<SharedAutomata> shared_;
    NodeId regex_;
    uint32_t start_;
};

}  // namespace schemagen
