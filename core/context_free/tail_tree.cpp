#include "context_free/tail_tree.hpp"

#include <algorithm>

#include "util/work.hpp"

namespace schemagen {

TailTree::NodeId TailTree::add(const std::vector<Group>& groups) {
    std::vector<std::pair<TailClass, uint32_t>> parts;
    for (const Group& group : groups) {
        const auto next = static_cast<uint32_t>(numbers_.size());
        parts.emplace_back(group.tail, numbers_.try_emplace(group.tokens, next).first->second);
    }
    std::sort(parts.begin(), parts.end());
    std::vector<uint32_t> key;
    for (auto [tail, tokens] : parts) key.insert(key.end(), {tail, tokens});
    const uint32_t id = keys_.intern(key);
    if (id == nodes_.size()) {
        bytes_ += sizeof(Node) + groups.size() * sizeof(Group);
        nodes_.push_back({groups, {}});
        for (const Group& group : groups) nodes_[id].depth = std::max(nodes_[id].depth, classes_.depth(group.tail));
    }
    return id;
}

const TailTree::Step& TailTree::step(NodeId node, LexemeSets::SetId viable) {
    if (const uint32_t known = step_index_.find(node, viable); known != PairMap::kNone) return steps_[known];
    steps_.push_back(find(node, viable));
    step_index_.insert(node, viable, static_cast<uint32_t>(steps_.size() - 1));
    const Step& made = steps_.back();
    bytes_ += sizeof(Step) + made.next.size() * sizeof(made.next[0]) + made.asked.size() * sizeof(Group);
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
    for (LexemeId lexeme : next) out.next.emplace_back(lexeme, behind(node, lexeme));
    return out;
}

TailTree::NodeId TailTree::behind(NodeId node, LexemeId lexeme) {
    if (const auto it = nodes_[node].next.find(lexeme); it != nodes_[node].next.end()) return it->second;
    std::vector<Group> groups;
    for (const Group& group : nodes_[node].groups) {
        if (classes_.promises(group.tail)) continue;
        const auto cuts = classes_.cuts(group.tail);
        for (size_t k = 0; k < cuts.size(); k += 2)
            if (cuts[k] == lexeme) groups.push_back({cuts[k + 1], group.tokens});
    }
    const NodeId made = add(groups);
    return nodes_[node].next[lexeme] = made;
}

void TailTree::clear() {
    nodes_.assign(1, {});
    keys_ = {};
    numbers_.clear();
    steps_.clear();
    step_index_.clear();
    bytes_ = 0;
}

}  // namespace schemagen
