// A regular expression over UTF-8 text, as an automaton without a stack.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "automata/languages.hpp"
#include "automata/string_view.hpp"

namespace schemagen {

class RegexAutomaton final : public Automaton, StringView, CompletionGuide {
public:
    RegexAutomaton(std::shared_ptr<Languages> languages, NodeId regex);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<Languages> languages) override;
    Leaf start() override;
    bool step(Leaf& leaf, uint8_t byte, Arena& arena) override;
    bool accepting(const Leaf& leaf) override;
    ByteSet next_bytes(const Leaf& leaf) override;
    uint32_t min_bytes(const Leaf& leaf) override { return languages_->dfa.bytes_to_accept(leaf.state, 0); }
    bool identity(const Leaf& leaf, bool exact, std::vector<uint64_t>& key) override;
    std::string refusal(const Leaf& leaf, uint8_t byte, std::string_view text, Arena& arena) override;
    uint64_t memory_bytes() const override { return sizeof(*this); }

private:
    StringBody string_body(const Leaf& leaf, uint32_t longest) override;
    uint32_t most_tokens(const Leaf& leaf) override { return languages_->kernel.shortest_at_most(languages_->dfa.component(leaf.state, 0)); }

    std::shared_ptr<Languages> languages_;
    NodeId regex_;
    uint32_t start_;
};

}  // namespace schemagen
