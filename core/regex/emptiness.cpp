// Whether a language has a word. Its parts mostly tell; where & or ~ occur, its derivatives are searched for one that
// takes the empty text.
#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_set>
#include <utility>

#include "regex/kernel.hpp"

namespace schemagen {

namespace {

// The order in which bytes are tried: letters and digits first.
constexpr std::array<uint8_t, 256> kOrder = [] {
    std::array<uint8_t, 256> order{};
    size_t k = 0;
    auto likely = [](unsigned byte) { return byte >= '0' && byte <= 'z' && byte != '\\'; };
    for (unsigned byte = 'z' + 1; byte-- > '0';)
        if (likely(byte)) order[k++] = static_cast<uint8_t>(byte);
    for (unsigned byte = 0; byte < 256; ++byte)
        if (!likely(byte)) order[k++] = static_cast<uint8_t>(byte);
    return order;
}();

// One byte of each interval, and where an interval is cut by the order above, one of each part.
bool is_first(const ByteCuts& cut, uint8_t byte) {
    return byte == 0 || byte == '0' || byte == '\\' + 1 || byte == '\\' || byte == 'z' + 1 ||
           (cut[byte >> 6] >> (byte & 63) & 1);
}

}  // namespace

// Depth-first search for a nullable derivative, one derivative at a time: bounds are reached along one path. Where that
// goes astray (a search that reads a thousand characters too many first), a search in breadth helps. Every other step
// of it goes to the node with the least left to read. It has a short turn, later a longer one, and then goes on beside
// the other, at about the same cost, since its steps are larger. A word that either finds shows that all nodes on the
// way to it have words. If either ends without finding one, every node that it saw is empty.
//
// The last words that were found are tried first: the nodes after 12 and 123 differ, but ".5" leads both to the end.
//
// The derivatives of alternatives are sets of the places that each has reached, and these multiply. So a search that is
// not short is given up, and each alternative is searched alone, with the other conjuncts if there are any.
class Kernel::WordSearch {
public:
    WordSearch(Kernel& kernel, NodeId start);
    // Null if it was given up.
    std::optional<bool> finds_word();
    // The bytes that led to the end, after it was found.
    const std::string& word() const { return word_; }

private:
    struct Open {
        NodeId node;
        uint16_t at;  // index into kOrder of the next byte to try
    };
    struct Queued {
        NodeId node;
        size_t from;   // its place in queue_
        uint8_t byte;  // that led to it
        bool taken = false;
    };
    using Nearest = std::pair<uint64_t, size_t>;  // the rest of a node (see `left`), and its place in queue_
    bool step_in_depth();
    bool step_in_breadth();
    size_t next_queued();
    void queue(NodeId node, size_t from, uint8_t byte);
    uint64_t left(NodeId node, unsigned depth = 0) const;
    NodeId next_unseen(Open& open);
    bool has_word(NodeId node) const { return nodes_[node].nullable || nodes_[node].emptiness == 0; }

    Kernel& kernel_;
    std::vector<Node>& nodes_;
    NodeId start_;
    std::vector<Open> path_;
    std::unordered_set<NodeId> seen_;
    std::vector<Queued> queue_;  // in the order in which they were met, the first node first
    std::unordered_set<NodeId> queued_;
    std::priority_queue<Nearest, std::vector<Nearest>, std::greater<>> nearest_;
    size_t front_ = 0;  // of queue_
    size_t taken_ = 0;
    std::string word_;
};

Kernel::WordSearch::WordSearch(Kernel& kernel, NodeId start)
    : kernel_(kernel), nodes_(kernel.nodes_), start_(start), path_{{start, 0}}, seen_{start}, queued_{start} {
    queue(start, 0, 0);
}

std::optional<bool> Kernel::WordSearch::finds_word() {
    constexpr uint64_t kSoon = 8, kShort = 16, kLate = 144, kTurn = 64, kStride = 16, kLong = 1024;
    const Budget* budget = kernel_.budget();
    const uint64_t limit = budget ? budget->max_nodes / Budget::kNodesPerState : UINT64_MAX;
    for (uint64_t steps = 0; !path_.empty() && taken_ < queue_.size(); ++steps) {
        poll();
        if (step_in_depth()) return true;
        const bool has_turn = (steps >= kSoon && steps < kSoon + kShort) ||
                              (steps >= kLate && (steps < kLate + kTurn || steps % kStride == 0));
        if (has_turn && step_in_breadth()) return true;
        if (steps == kLong && kernel_.choice_in(start_) != kEmpty) return std::nullopt;
        if (seen_.size() > limit)
            throw LimitExceeded(Limit::kStates, static_cast<double>(seen_.size()), static_cast<double>(limit));
    }
    for (NodeId node : path_.empty() ? seen_ : queued_) nodes_[node].emptiness = 1;
    return false;
}

bool Kernel::WordSearch::step_in_depth() {
    if (has_word(path_.back().node)) {
        for (const Open& step : path_) {
            nodes_[step.node].emptiness = 0;
            if (&step != &path_.back()) word_ += static_cast<char>(kOrder[step.at - 1]);
        }
        return true;
    }
    if (const NodeId next = next_unseen(path_.back()); next != kEmpty)
        path_.push_back({next, 0});
    else
        path_.pop_back();
    return false;
}

// The next derivative that was not met before and may have words, or kEmpty if none is left.
NodeId Kernel::WordSearch::next_unseen(Open& open) {
    const ByteCuts& cut = kernel_.cuts(open.node);
    while (open.at < 256) {
        const uint8_t byte = kOrder[open.at++];
        if (!is_first(cut, byte)) continue;
        const NodeId next = kernel_.derivative(open.node, byte);
        if (next == kEmpty || nodes_[next].emptiness == 1 || !seen_.insert(next).second) continue;
        if (!kernel_.lengths_clash(next)) return next;
        nodes_[next].emptiness = 1;
    }
    return kEmpty;
}

// Characters that the conjuncts together ask for at least: less is left after one that serves any of them.
uint64_t Kernel::WordSearch::left(NodeId id, unsigned depth) const {
    constexpr unsigned kDeepest = 3;
    const Node& node = nodes_[id];
    if (!node.boolean) return kernel_.finish(id).shortest;
    if (depth == kDeepest || (node.kind != Kind::kAnd && node.kind != Kind::kOr)) return 0;
    uint64_t sum = 0, least = UINT64_MAX;
    for (NodeId kid : kernel_.kids_of(node)) {
        const uint64_t own = left(kid, depth + 1);
        sum += own;
        least = std::min(least, own);
    }
    return node.kind == Kind::kAnd ? sum : least;
}

void Kernel::WordSearch::queue(NodeId node, size_t from, uint8_t byte) {
    nearest_.emplace(left(node), queue_.size());
    queue_.push_back({node, from, byte});
}

// There is one.
size_t Kernel::WordSearch::next_queued() {
    if (taken_++ % 2 == 0) {
        while (queue_[front_].taken) ++front_;
        return front_;
    }
    while (queue_[nearest_.top().second].taken) nearest_.pop();
    return nearest_.top().second;
}

bool Kernel::WordSearch::step_in_breadth() {
    size_t at = next_queued();
    queue_[at].taken = true;
    const NodeId node = queue_[at].node;
    if (has_word(node)) {
        for (; at; at = queue_[at].from) {
            nodes_[queue_[at].node].emptiness = 0;
            word_ += static_cast<char>(queue_[at].byte);
        }
        nodes_[start_].emptiness = 0;
        std::ranges::reverse(word_);
        return true;
    }
    const ByteCuts& cut = kernel_.cuts(node);
    for (uint8_t byte : kOrder) {
        if (!is_first(cut, byte)) continue;
        const NodeId next = kernel_.derivative(node, byte);
        if (next != kEmpty && nodes_[next].emptiness != 1 && queued_.insert(next).second &&
            !kernel_.lengths_clash(next))
            queue(next, at, byte);
    }
    return false;
}

// The emptiness of its parts may decide, as where one alternative of many has & or ~ in it; -1 if it does not.
int8_t Kernel::emptiness_by_parts(const Node& node) const {
    if (node.nullable) return 0;
    auto of = [this](NodeId part) { return nodes_[part].emptiness; };
    if (node.kind == Kind::kConcat) {
        if (of(node.a) == 1 || of(node.b) == 1) return 1;
        return static_cast<int8_t>(of(node.a) == 0 && of(node.b) == 0 ? 0 : -1);
    }
    if (node.kind == Kind::kRepeat) return of(node.a);
    if (node.kind != Kind::kOr && node.kind != Kind::kAnd) return -1;
    // One part with words is enough for the one kind, one without words for the other.
    const int8_t enough = node.kind == Kind::kOr ? 0 : 1;
    bool all_else = node.kind == Kind::kOr;
    for (NodeId kid : kids_of(node)) {
        if (of(kid) == enough) return enough;
        all_else &= of(kid) == 1;
    }
    return all_else ? 1 : -1;
}

// A sequence has a word if each of its parts has one. A part is in many sequences: it is searched once, not with what
// follows it in each of them.
bool Kernel::is_empty_sequence(NodeId id) {
    for (; nodes_[id].kind == Kind::kConcat && nodes_[id].emptiness < 0; id = nodes_[id].b) {
        poll();
        if (is_empty(nodes_[id].a)) return true;
    }
    return is_empty(id);
}

// Whether an alternative that is a sequence has a word.
bool Kernel::has_sequence_with_word(NodeId id) {
    const std::vector<NodeId> kids = kids_of(nodes_[id]);
    return std::any_of(kids.begin(), kids.end(),
                       [this](NodeId kid) { return nodes_[kid].kind == Kind::kConcat && !is_empty(kid); });
}

// Whether one language of several asks for more characters than another one has room for: a pattern beside a length. It
// spares the search below every path that was led astray, which is nearly all of it.
bool Kernel::lengths_clash(NodeId id) {
    if (nodes_[id].kind != Kind::kAnd) return false;
    uint32_t least = 0, most = kUnbounded;
    for (NodeId kid : kids_of(nodes_[id])) {
        if (nodes_[kid].boolean) continue;  // would have to be searched itself
        const Finish part = finish(kid);
        if (part.exact) least = std::max(least, part.shortest);
        most = std::min(most, part.longest);
    }
    return least > most;
}

// The alternatives that a long search is split into: of the node, or of a conjunct with & or ~ in it, whose length
// tells nothing.
NodeId Kernel::choice_in(NodeId id) const {
    if (nodes_[id].kind == Kind::kOr) return id;
    for (NodeId kid : nodes_[id].kind == Kind::kAnd ? kids_of(nodes_[id]) : std::vector<NodeId>{})
        if (nodes_[kid].kind == Kind::kOr && nodes_[kid].boolean) return kid;
    return kEmpty;
}

// Each alternative of the choice by itself, with the other conjuncts.
bool Kernel::is_empty_in_parts(NodeId id) {
    const NodeId choice = choice_in(id);
    std::vector<NodeId> parts = id == choice ? std::vector{choice} : kids_of(nodes_[id]);
    const auto at = std::ranges::find(parts, choice);
    const std::vector<NodeId> alternatives = kids_of(nodes_[choice]);
    return std::ranges::all_of(alternatives, [&](NodeId each) {
        *at = each;
        return is_empty(conjunction(parts));
    });
}

bool Kernel::takes_known_word(NodeId id) {
    auto takes = [&](const std::string& word) {
        NodeId node = id;
        for (size_t at = 0; at < word.size() && node != kEmpty; ++at)
            node = derivative(node, static_cast<uint8_t>(word[at]));
        return nodes_[node].nullable || nodes_[node].emptiness == 0;
    };
    const auto found = std::ranges::find_if(words_, takes);
    if (found == words_.end()) return false;
    std::rotate(words_.begin(), found, found + 1);
    return true;
}

void Kernel::remember_word(std::string word) {
    constexpr size_t kMost = 4, kLongest = 16;
    if (word.empty() || word.size() > kLongest) return;
    if (words_.size() == kMost) words_.pop_back();
    words_.insert(words_.begin(), std::move(word));
}

bool Kernel::is_empty(NodeId id) {
    if (nodes_[id].emptiness >= 0) return nodes_[id].emptiness == 1;
    before_write();
    if (int8_t told = emptiness_by_parts(nodes_[id]); told >= 0) return (nodes_[id].emptiness = told) == 1;
    if (nodes_[id].kind == Kind::kConcat) return (nodes_[id].emptiness = is_empty_sequence(id)) == 1;
    if (nodes_[id].kind == Kind::kOr && has_sequence_with_word(id)) return (nodes_[id].emptiness = 0) == 1;
    if (lengths_clash(id)) return (nodes_[id].emptiness = 1) == 1;
    if (takes_known_word(id)) return (nodes_[id].emptiness = 0) == 1;
    WordSearch search(*this, id);
    if (const auto found = search.finds_word()) {
        if (*found) remember_word(search.word());
        return !*found;
    }
    return (nodes_[id].emptiness = is_empty_in_parts(id)) == 1;
}

}  // namespace schemagen
