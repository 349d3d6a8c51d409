// A regular expression over UTF-8 text, as an automaton without a stack.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/languages.hpp"

namespace schemagen {

class RegexAutomaton final : public Automaton {
public:
    RegexAutomaton(std::shared_ptr<Languages> languages, NodeId regex);
    std::shared_ptr<Automaton> renewed(std::shared_ptr<Languages> languages) override;
    Leaf start() override;
    bool step(Leaf& leaf, uint8_t byte, Arena& arena) override;
    bool accepting(const Leaf& leaf) override;
    void settle(Leaf&, Arena&) override {}
    LocalKey local_key(const Leaf& leaf, uint32_t longest) override;
    Leaf alone(const Leaf& leaf, Arena&) override { return leaf; }
    bool behind(const Leaf&, uint32_t, Leaf&, Arena&) override { return false; }
    uint32_t& tails_of(const Leaf&) override { return tails_; }
    StringBody string_body(const Leaf& leaf, uint32_t longest) override;
    uint32_t bare_state(const Leaf&) const override { return 0; }
    bool close_string(Leaf&, uint32_t, uint32_t, Arena&) override { return false; }
    Leaf as_declared_key(const Leaf& leaf) override { return leaf; }
    void declared_closings(const Leaf&, const Trie&, std::vector<uint32_t>&) override {}
    ByteSet next_bytes(const Leaf& leaf) override;
    bool has_used_keys(const Leaf&) override { return false; }
    std::vector<std::string> ways_to_repeat(const Leaf&) override { return {}; }
    bool tracking(const Leaf&) override { return false; }
    uint32_t least(const Leaf& leaf) override { return languages_->dfa.bytes_to_accept(leaf.state, 0); }
    bool identity(const Leaf& leaf, bool exact, std::vector<uint64_t>& key) override;
    bool text_matters(const Leaf&) const override { return false; }
    Leaf keep(const Leaf& leaf, Arena&) override { return leaf; }
    Leaf roomiest(const Leaf& leaf) override { return leaf; }
    void settle_shortest(const CountTokens&) override {}
    uint32_t most(const Leaf& leaf) override { return languages_->kernel.shortest_at_most(languages_->dfa.component(leaf.state, 0)); }
    uint32_t most_around(const Leaf&) const override { return kFar; }
    uint32_t growth(uint32_t) const override { return kFar; }
    bool write_shortest(const Leaf&, std::string&) override { return false; }
    std::string refusal(const Leaf& leaf, uint8_t byte, std::string_view text, Arena& arena) override;
    uint64_t memory_bytes() const override { return sizeof(*this); }

private:
    std::shared_ptr<Languages> languages_;
    NodeId regex_;
    uint32_t start_;
    uint32_t tails_ = 0;
};

}  // namespace schemagen
