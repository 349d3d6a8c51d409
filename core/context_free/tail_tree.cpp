#include "context_free/tail_tree.hpp"

#include <algorithm>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

TailTree::NodeId TailTree::add(std::vector<Group> groups) {
    std::ranges::sort(groups, {}, [](const Group& group) { return std::pair(group.tail, group.tokens->number); });
    std::vector<uint32_t> key;
    key.reserve(2 * groups.size());
    for (const Group& group : groups) key.insert(key.end(), {group.tail, group.tokens->number});
    const uint32_t id = keys_.intern(key);
    if (id == nodes_.size()) {
        Node node;
        for (const Group& group : groups) node.depth = std::max(node.depth, classes_.depth(group.tail));
        groups.shrink_to_fit();
        node.groups = std::move(groups);
        bytes_ += sizeof(Node) + heap_bytes(node.groups);
        nodes_.push_back(std::move(node));
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
    out.taken = tokens_.united(taken);
    for (LexemeId lexeme : next) out.next.emplace_back(lexeme, after(node, lexeme));
    return out;
}

TailTree::NodeId TailTree::after(NodeId node, LexemeId lexeme) {
    if (const uint32_t known = next_.find(node, lexeme); known != PairMap::kNone) return known;
    std::vector<Group> groups;
    for (const Group& group : nodes_[node].groups) {
        if (classes_.promises(group.tail)) continue;
        const auto cuts = classes_.cuts(group.tail);
        for (size_t k = 0; k < cuts.size(); k += 2)
            if (cuts[k] == lexeme) groups.push_back({cuts[k + 1], group.tokens});
    }
    const NodeId made = add(std::move(groups));
    next_.insert(node, lexeme, made);
    return made;
}

void TailTree::clear() {
    nodes_.assign(1, {});
    keys_ = {};
    next_.clear();
    steps_.clear();
    step_index_.clear();
    bytes_ = 0;
}

}  // namespace schemagen
