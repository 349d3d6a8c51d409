#include "context_free/items.hpp"

#include <algorithm>
#include <numeric>

#include "util/interned_lists.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {

// Lists of positions, each of them once: a position, or two lists one after the other. Parts of a body share them.
class PositionLists {
public:
    using List = uint32_t;  // kNone has no positions
    static constexpr List kNone = UINT32_MAX;

    List one(uint32_t position) { return add({position, kNone, 1}); }
    List both(List left, List right) {
        if (left == kNone || right == kNone) return left == kNone ? right : left;
        return add({left, right, size(left) + size(right)});
    }
    void reserve(size_t count) { lists_.reserve(count); }
    size_t size(List list) const { return list == kNone ? 0 : lists_[list].size; }
    void append(List list, std::vector<uint32_t>& out) {
        if (list == kNone) return;
        todo_.assign(1, list);
        while (!todo_.empty()) {
            const Node& node = lists_[todo_.back()];
            todo_.pop_back();
            if (node.right == kNone) {
                out.push_back(node.left);
                continue;
            }
            todo_.push_back(node.right);
            todo_.push_back(node.left);
        }
    }

private:
    struct Node {
        uint32_t left, right;  // a single position is on the left
        size_t size;
    };
    List add(const Node& node) {
        lists_.push_back(node);
        return static_cast<List>(lists_.size() - 1);
    }
    std::vector<Node> lists_;
    std::vector<List> todo_;
};

// A part of a body: the positions that it may begin and end with, and whether it may be empty.
struct Part {
    PositionLists::List first = PositionLists::kNone, last = PositionLists::kNone;
    bool nullable = false;
};

// The position automaton of a body. Item 0 is the start, and item n + 1 is the place after position n.
struct PositionAutomaton {
    std::vector<uint32_t> symbols;  // [position]
    std::vector<uint32_t> kinds;    // [item], numbered as they come: items of a kind have the same future
    Lists<uint32_t> follow;         // [kind]: the positions after it, sorted
    std::vector<bool> accepting;    // [kind]
};

// Builds the automaton bottom up. Where many positions have the same neighbours, as at the end of a choice in a loop,
// these are not written out for each of them: a position has links to lists of positions.
class Positioner {
public:
    Positioner(Body body, size_t most) : body_(body), most_(most) {
        // Without repetitions that are written out this is enough.
        symbols_.reserve(body.size());
        links_.reserve(body.size());
        lists_.reserve(2 * body.size());
        all_links_.reserve(2 * body.size());
        some_.reserve(body.size());
    }
    PositionAutomaton automaton() {
        const Part whole = part();
        if (at_ != body_.size()) throw std::invalid_argument("more than a body");
        return automaton(whole);
    }

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Link {
        PositionLists::List first;
        uint32_t before;  // the link of the same position that was made before, or kNone
    };

    PositionAutomaton automaton(const Part& whole) {
        std::vector<bool> ends(symbols_.size() + 1, false);
        ends[0] = whole.nullable;
        some_.clear();
        lists_.append(whole.last, some_);
        for (uint32_t position : some_) ends[position + 1] = true;
        PositionAutomaton out;
        out.kinds.reserve(ends.size());
        out.follow.reserve(ends.size(), ends.size());
        InternedLists known;  // whether the rule may end there, and the lists that follow; the first id is 1
        std::vector<uint32_t> key;
        for (size_t item = 0; item <= symbols_.size(); ++item) {
            poll();
            key.assign(1, ends[item]);
            if (!item && whole.first != PositionLists::kNone) key.push_back(whole.first);
            for (uint32_t link = item ? links_[item - 1] : kNone; link != kNone; link = all_links_[link].before)
                key.push_back(all_links_[link].first);
            const uint32_t kind = known.intern(key) - 1;
            out.kinds.push_back(kind);
            if (kind < out.accepting.size()) continue;
            unite(std::span(key).subspan(1), out);
            out.accepting.push_back(ends[item]);
        }
        out.symbols = std::move(symbols_);
        return out;
    }
    void unite(std::span<const PositionLists::List> lists, PositionAutomaton& out) {
        some_.clear();
        for (PositionLists::List list : lists) lists_.append(list, some_);
        std::sort(some_.begin(), some_.end());
        some_.erase(std::unique(some_.begin(), some_.end()), some_.end());
        out.follow.add(some_);
    }

    // ---- reading ----
    int32_t next() {
        if (at_ == body_.size()) throw std::invalid_argument("less than a body");
        return body_[at_++];
    }
    uint32_t number() {
        const int32_t number = next();
        if (number >= 0) throw std::invalid_argument("an operator without its number");
        return static_cast<uint32_t>(~number);
    }
    Part part() {
        poll();
        const int32_t token = next();
        if (token >= 0) return symbol(static_cast<uint32_t>(token));
        switch (static_cast<BodyOperator>(token)) {
            case BodyOperator::kSequence: {
                const uint32_t count = number();
                Part out = nothing();
                for (uint32_t k = 0; k < count; ++k) join(out, part());
                return out;
            }
            case BodyOperator::kAlternatives: return alternatives(number());
            case BodyOperator::kRepeat: {
                const uint32_t low = number(), high = number();
                return repeated(low, high);
            }
        }
        throw std::invalid_argument("no operator");
    }
    Part symbol(uint32_t symbol) {
        if (symbols_.size() == most_) throw TooManyPositions();
        const auto here = static_cast<uint32_t>(symbols_.size());
        symbols_.push_back(symbol);
        links_.push_back(kNone);
        const PositionLists::List only = lists_.one(here);
        return {only, only, false};
    }
    static Part nothing() { return {PositionLists::kNone, PositionLists::kNone, true}; }
    Part alternatives(uint32_t count) {
        Part out;
        for (uint32_t k = 0; k < count; ++k) {
            const Part one = part();
            out.first = lists_.both(out.first, one.first);
            out.last = lists_.both(out.last, one.last);
            out.nullable = out.nullable || one.nullable;
        }
        return out;
    }

    // ---- composing ----
    // Let every position of `first` follow every one of `last`.
    void link(PositionLists::List last, PositionLists::List first) {
        neighbours_ += lists_.size(last) * lists_.size(first);
        if (neighbours_ > kMostNeighbours) throw TooManyNeighbours();
        if (first == PositionLists::kNone) return;
        some_.clear();
        lists_.append(last, some_);
        for (uint32_t position : some_) {
            all_links_.push_back({first, links_[position]});
            links_[position] = static_cast<uint32_t>(all_links_.size() - 1);
        }
    }
    void join(Part& before, const Part& part) {
        link(before.last, part.first);
        if (before.nullable) before.first = lists_.both(before.first, part.first);
        before.last = part.nullable ? lists_.both(before.last, part.last) : part.last;
        before.nullable = before.nullable && part.nullable;
    }
    // How many symbols the part at the place has at least; moves on to its end.
    size_t count() {
        const int32_t token = next();
        if (token >= 0) return 1;
        size_t symbols = 0;
        if (static_cast<BodyOperator>(token) == BodyOperator::kRepeat) {
            const size_t low = number(), high = number();
            symbols = count() * std::max<size_t>(high == kEndless ? low : high, 1);
        } else {
            for (uint32_t left = number(); left > 0; --left) symbols = std::min(symbols + count(), most_ + 1);
        }
        return std::min(symbols, most_ + 1);
    }
    // The part `low` times, then as a loop, or `high - low` times inside each other: x (x (x)?)?.
    Part repeated(uint32_t low, uint32_t high) {
        const bool endless = high == kEndless;
        const size_t begin = at_, rounds = endless ? low : high;
        if (!rounds && !endless) throw std::invalid_argument("a repetition without rounds");
        if (rounds > 1 && (rounds > most_ || count() * rounds > most_)) throw TooManyPositions();
        const auto again = [&] {
            at_ = begin;
            return part();
        };
        if (endless) return loop(low, again);
        Part out = nothing();
        for (uint32_t k = 0; k < low; ++k) join(out, again());
        if (low >= high) return out;
        std::vector<Part> parts;
        for (uint32_t k = low; k < high; ++k) parts.push_back(again());
        join(out, nested(parts));
        return out;
    }
    template <class Again>
    Part loop(uint32_t low, const Again& again) {
        Part out = nothing();
        for (uint32_t k = 1; k < low; ++k) join(out, again());
        Part last = again();
        link(last.last, last.first);
        if (!low) last.nullable = true;
        join(out, last);
        return out;
    }
    // The parts inside each other, the innermost first: each is optional, and the next one comes before it.
    Part nested(const std::vector<Part>& parts) {
        Part rest = nothing();
        if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.nullable; })) {
            for (size_t k = 0; k + 1 < parts.size(); ++k) link(parts[k + 1].last, parts[k].first);
            for (const Part& part : parts) rest.last = lists_.both(rest.last, part.last);
            rest.first = parts.back().first;
            return rest;
        }
        for (Part part : parts) {
            join(part, rest);
            rest = part;
            rest.nullable = true;
        }
        return rest;
    }

    const Body body_;
    const size_t most_;
    size_t at_ = 0;
    PositionLists lists_;
    std::vector<uint32_t> symbols_;  // [position]
    std::vector<uint32_t> links_;    // [position]: the last of its links, or kNone
    std::vector<Link> all_links_;
    std::vector<uint32_t> some_;  // positions
    size_t neighbours_ = 0;
};

// Makes kinds of items with the same future one.
class Merger {
public:
    explicit Merger(const PositionAutomaton& read) : read_(read), same_(read.accepting.size()) {}
    RuleItems merged() {
        std::iota(same_.begin(), same_.end(), 0);
        next_member_.assign(same_.size(), kNone);
        last_member_ = same_;
        find_users();
        std::vector<uint32_t> todo = same_, key;
        InternedLists futures;                              // those with edges of before are met no more
        std::vector<uint32_t> first_with;                   // [future - 1]: a kind
        auto unseen = static_cast<uint32_t>(same_.size());  // kinds in front of this one will be seen
        while (!todo.empty()) {
            poll();
            const uint32_t kind = todo.back();
            todo.pop_back();
            unseen = std::min(unseen, kind);
            key.assign(1, read_.accepting[kind]);
            for (uint64_t edge : edges_of(kind)) {
                key.push_back(static_cast<uint32_t>(edge >> 32));
                key.push_back(static_cast<uint32_t>(edge));
            }
            const uint32_t future = futures.intern(key) - 1;
            if (future == first_with.size()) first_with.push_back(kind);
            const uint32_t one = same_[first_with[future]];
            if (one != same_[kind]) unite(one, same_[kind], unseen, todo);
        }
        return numbered();
    }

private:
    static constexpr uint32_t kNone = UINT32_MAX;

    // The kinds that lead to a kind are its users.
    void find_users() {
        const auto each_user = [&](const auto& note) {
            std::vector<uint32_t> seen(same_.size(), kNone);  // [kind]: the last of its users
            for (uint32_t user = 0; user < same_.size(); ++user)
                for (uint32_t at : read_.follow[user])
                    if (const uint32_t kind = read_.kinds[at + 1]; std::exchange(seen[kind], user) != user)
                        note(user, kind);
        };
        user_ends_.assign(same_.size(), 0);
        each_user([&](uint32_t, uint32_t kind) { ++user_ends_[kind]; });
        std::partial_sum(user_ends_.begin(), user_ends_.end(), user_ends_.begin());
        users_.resize(user_ends_.back());
        std::vector<uint32_t> places = user_ends_;  // they are filled from the end of each
        each_user([&](uint32_t user, uint32_t kind) { users_[--places[kind]] = user; });
    }
    // Symbol and kind as one number, sorted.
    const std::vector<uint64_t>& edges_of(uint32_t kind) {
        edges_.clear();
        for (uint32_t at : read_.follow[kind])
            edges_.push_back(uint64_t{read_.symbols[at]} << 32 | same_[read_.kinds[at + 1]]);
        std::sort(edges_.begin(), edges_.end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
        return edges_;
    }
    void unite(uint32_t one, uint32_t other, uint32_t unseen, std::vector<uint32_t>& todo) {
        next_member_[std::exchange(last_member_[one], last_member_[other])] = other;
        for (uint32_t each = other; each != kNone; each = next_member_[each]) {
            same_[each] = one;
            for (uint32_t at = each ? user_ends_[each - 1] : 0; at < user_ends_[each]; ++at)
                if (users_[at] >= unseen) todo.push_back(users_[at]);
        }
    }
    // An item for each kind that represents itself: kinds come in the order of their first items.
    RuleItems numbered() {
        std::vector<uint32_t> number(same_.size(), kNone), first;
        for (uint32_t kind = 0; kind < same_.size(); ++kind)
            if (number[same_[kind]] == kNone) {
                number[same_[kind]] = static_cast<uint32_t>(first.size());
                first.push_back(kind);
            }
        RuleItems out;
        out.edges.reserve(first.size(), read_.follow.all().size());
        std::vector<RuleItems::Edge> edges;
        for (uint32_t kind : first) {
            edges.clear();
            for (uint64_t edge : edges_of(kind))
                edges.emplace_back(static_cast<uint32_t>(edge >> 32), number[static_cast<uint32_t>(edge)]);
            std::sort(edges.begin(), edges.end());
            out.edges.add(edges);
            out.accepting.push_back(read_.accepting[kind]);
        }
        return out;
    }

    const PositionAutomaton& read_;
    std::vector<uint32_t> same_;                       // [kind]: the one that represents it
    std::vector<uint32_t> next_member_, last_member_;  // [kind]: those that it represents, itself first
    std::vector<uint32_t> users_;                      // by kind
    std::vector<uint32_t> user_ends_;                  // [kind]: of its users
    std::vector<uint64_t> edges_;
};

}  // namespace

RuleItems items_of(Body body) {
    const PositionAutomaton read = Positioner(body, kMostPositions).automaton();
    return Merger(read).merged();
}

RuleItems positions_of(Body body, size_t most) {
    const PositionAutomaton read = Positioner(body, most).automaton();
    RuleItems out;
    for (uint32_t kind : read.kinds) {
        for (uint32_t at : read.follow[kind]) out.edges.push({read.symbols[at], at + 1});
        out.edges.end();
        out.accepting.push_back(read.accepting[kind]);
    }
    return out;
}

}  // namespace schemagen
