// Tokens as the lexemes that they are cut into, for a parser to walk all of them together.
//
// A node has tokens by the class of their rest (tail_classes.hpp). The lexemes viable to the parser decide which of
// them it takes: it takes a token whose rest begins one of them; a token may go on after one of them, at the node
// below; the others are refused. That is the same for all states with the same viable lexemes, and computed once. So a
// mask costs some shifts of the parser, and not a look at each class. Equal nodes are one: a row of dashes can be cut
// in many ways that leave the same rest.
#pragma once
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "context_free/tail_classes.hpp"
#include "context_free/token_sets.hpp"
#include "util/heap.hpp"
#include "util/interned_lists.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class TailTree {
public:
    using NodeId = uint32_t;
    struct Group {
        TailClass tail;
        const TokenSet* tokens;
    };
    // The part of a node that the parser takes.
    struct Step {
        const TokenSet* taken;
        std::vector<std::pair<LexemeId, NodeId>> next;
        std::vector<Group> asked;  // with a promise: those that have to be asked for one by one
    };

    TailTree(const TailClasses& classes, const LexemeSets& sets, TokenSets& tokens)
        : classes_(classes), sets_(sets), tokens_(tokens) {}
    NodeId add(const std::vector<Group>& groups);
    template <class Visit>
    void each_group(NodeId node, const Visit& visit) const {
        const InternedLists::List list = nodes_[node];
        for (size_t k = 0; k < list.size(); k += 2) visit(Group{list[k], tokens_.numbered(list[k + 1])});
    }
    // Falls from a node to the nodes after it.
    uint32_t depth(NodeId node) const { return depths_[node]; }
    // Where these lexemes are viable.
    const Step& step(NodeId node, LexemeSets::SetId viable);
    void clear();
    size_t memory_bytes() const {
        return bytes_ + nodes_.memory_bytes() + heap_bytes(depths_) + next_.memory_bytes() + step_index_.memory_bytes();
    }

private:
    NodeId after(NodeId node, LexemeId lexeme);
    Step find(NodeId node, LexemeSets::SetId viable);

    const TailClasses& classes_;
    const LexemeSets& sets_;
    TokenSets& tokens_;
    InternedLists nodes_;              // [node]: its groups, a class and a number of tokens each
    std::vector<uint32_t> depths_{0};  // [node]
    PairMap next_;                     // (node, lexeme) -> node
    std::deque<Step> steps_;
    PairMap step_index_;  // (node, viable set) -> step
    size_t bytes_ = 0;
};

}  // namespace schemagen
