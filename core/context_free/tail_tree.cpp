#include "context_free/tail_tree.hpp"

#include <algorithm>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

TailTree::NodeId TailTree::add(const std::vector<Group>& groups) {
    std::vector<std::pair<TailClass, uint32_t>> pairs;
    pairs.reserve(groups.size());
    for (const Group& group : groups) pairs.emplace_back(group.tail, group.tokens->number);
    std::ranges::sort(pairs);
    std::vector<uint32_t> list;
    list.reserve(2 * pairs.size());
    for (const auto& [tail, tokens] : pairs) list.insert(list.end(), {tail, tokens});
    const uint32_t id = nodes_.intern(list);
    if (id == depths_.size()) {
        uint32_t depth = 0;
        for (const Group& group : groups) depth = std::max(depth, classes_.depth(group.tail));
        depths_.push_back(depth);
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
    each_group(node, [&](const Group& group) {
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
    });
    out.taken = tokens_.united(taken);
    for (LexemeId lexeme : next) out.next.emplace_back(lexeme, after(node, lexeme));
    return out;
}

TailTree::NodeId TailTree::after(NodeId node, LexemeId lexeme) {
    if (const uint32_t known = next_.find(node, lexeme); known != PairMap::kNone) return known;
    std::vector<Group> groups;
    each_group(node, [&](const Group& group) {
        if (classes_.promises(group.tail)) return;
        const auto cuts = classes_.cuts(group.tail);
        for (size_t k = 0; k < cuts.size(); k += 2)
            if (cuts[k] == lexeme) groups.push_back({cuts[k + 1], group.tokens});
    });
    const NodeId made = add(groups);
    next_.insert(node, lexeme, made);
    return made;
}

void TailTree::clear() {
    nodes_ = {};
    depths_ = {0};
    next_.clear();
    steps_.clear();
    step_index_.clear();
    bytes_ = 0;
}

}  // namespace schemagen
