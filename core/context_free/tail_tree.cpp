#include "context_free/tail_tree.hpp"

#include <algorithm>

#include "util/hash.hpp"
#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

// The number of the tokens, the same for equal ones.
uint32_t TailTree::number(const TokenSet* tokens) {
    if (const auto it = numbers_.find(tokens); it != numbers_.end()) return it->second;
    const auto* words = tokens->mask ? &tokens->mask->ids : &tokens->list;
    std::vector<uint32_t>& alike = equal_[hash_words(words->data(), words->size())];
    const auto same = std::find_if(alike.begin(), alike.end(), [&](uint32_t k) {
        return kinds_[k]->mask == tokens->mask && kinds_[k]->list == tokens->list;  // masks are kept once
    });
    const uint32_t found = same != alike.end() ? *same : static_cast<uint32_t>(kinds_.size());
    if (same == alike.end()) {
        alike.push_back(found);
        kinds_.push_back(tokens);
        bytes_ += heap_node(sizeof(*equal_.begin())) + heap_block(sizeof(found)) + sizeof(void*);
    }
    bytes_ += heap_node(sizeof(*numbers_.begin()));
    return numbers_[tokens] = found;
}

TailTree::NodeId TailTree::add(const std::vector<Group>& groups) {
    std::vector<std::pair<TailClass, uint32_t>> parts;
    parts.reserve(groups.size());
    for (const Group& group : groups) parts.emplace_back(group.tail, number(group.tokens));
    std::sort(parts.begin(), parts.end());
    std::vector<uint32_t> key;
    for (auto [tail, tokens] : parts) key.insert(key.end(), {tail, tokens});
    const uint32_t id = keys_.intern(key);
    if (id == nodes_.size()) {
        nodes_.push_back({groups, {}});
        bytes_ += sizeof(Node) + heap_bytes(nodes_[id].groups);
        for (const Group& group : groups) nodes_[id].depth = std::max(nodes_[id].depth, classes_.depth(group.tail));
    }
    return id;
}

const TailTree::Step& TailTree::step(NodeId node, LexemeSets::SetId viable) {
    if (const uint32_t known = step_index_.find(node, viable); known != PairMap::kNone) return steps_[known];
    steps_.push_back(find(node, viable));
    step_index_.insert(node, viable, static_cast<uint32_t>(steps_.size() - 1));
    const Step& made = steps_.back();
    bytes_ += sizeof(Step) + heap_bytes(made.next) + heap_bytes(made.asked);
    return made;
}

TailTree::Step TailTree::find(NodeId node, LexemeSets::SetId viable) {
    Step out;
    std::vector<const TokenSet*> taken;
    std::vector<LexemeId> next;
    for (const Group& group : nodes_[node].groups) {
        poll();
        if (classes_.promises(group.tail)) {
            out.asked.push_back(group);
        } else if (sets_.meet(classes_.begun(group.tail), viable)) {
            taken.push_back(group.tokens);
        } else {
            const auto cuts = classes_.cuts(group.tail);
            for (size_t k = 0; k < cuts.size(); k += 2)
                if (sets_.has(viable, cuts[k]) && std::find(next.begin(), next.end(), cuts[k]) == next.end())
                    next.push_back(cuts[k]);
        }
    }
    out.taken = tokens_.united(taken, tables_.words());
    for (LexemeId lexeme : next) out.next.emplace_back(lexeme, after(node, lexeme));
    return out;
}

TailTree::NodeId TailTree::after(NodeId node, LexemeId lexeme) {
    if (const auto it = nodes_[node].next.find(lexeme); it != nodes_[node].next.end()) return it->second;
    std::vector<Group> groups;
    for (const Group& group : nodes_[node].groups) {
        if (classes_.promises(group.tail)) continue;
        const auto cuts = classes_.cuts(group.tail);
        for (size_t k = 0; k < cuts.size(); k += 2)
            if (cuts[k] == lexeme) groups.push_back({cuts[k + 1], group.tokens});
    }
    const NodeId made = add(groups);
    bytes_ += heap_node(sizeof(*nodes_[node].next.begin()));
    return nodes_[node].next[lexeme] = made;
}

void TailTree::clear() {
    nodes_.assign(1, {});
    keys_ = {};
    numbers_.clear();
    equal_.clear();
    kinds_.clear();
    steps_.clear();
    step_index_.clear();
    bytes_ = 0;
}

}  // namespace schemagen
