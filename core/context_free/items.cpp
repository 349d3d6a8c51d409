#include "context_free/items.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "util/work.hpp"

namespace schemagen {

namespace {

using Positions = std::vector<uint32_t>;

// A part of a body: the positions that it may begin and end with, each once, and whether it may be empty.
struct Part {
    Positions first, last;
    bool nullable;
};

// The position automaton of a body. Item 0 is the start, and item n + 1 is the place after position n.
struct PositionAutomaton {
    std::vector<uint32_t> symbols;  // [position]
    std::vector<uint32_t> kinds;    // [item], numbered as they come: items of a kind have the same future
    std::vector<Positions> follow;  // [kind]: the positions after it, sorted
    std::vector<bool> accepting;    // [kind]
};

// Builds the automaton bottom up. Where many positions have the same neighbours, as at the end of a choice in a loop,
// these are not written out for each of them: a position has links to lists of positions.
class Positioner {
public:
    Positioner(Body body, size_t most) : body_(body), most_(most) {}
    PositionAutomaton automaton() {
        Part whole = part();
        if (at_ != body_.size()) throw std::invalid_argument("more than a body");
        return automaton(whole);
    }

private:
    PositionAutomaton automaton(const Part& whole) {
        firsts_.push_back(whole.first);
        std::vector<bool> ends(symbols_.size() + 1, false);
        ends[0] = whole.nullable;
        for (uint32_t position : whole.last) ends[position + 1] = true;
        PositionAutomaton out;
        std::map<std::pair<bool, std::vector<uint32_t>>, uint32_t> known;
        for (size_t item = 0; item <= symbols_.size(); ++item) {
            poll();
            std::vector<uint32_t> links =
                item ? std::move(links_[item - 1]) : std::vector<uint32_t>{static_cast<uint32_t>(firsts_.size() - 1)};
            const auto [it, is_new] =
                known.try_emplace({ends[item], std::move(links)}, static_cast<uint32_t>(known.size()));
            out.kinds.push_back(it->second);
            if (!is_new) continue;
            out.follow.push_back(united(it->first.second));
            out.accepting.push_back(ends[item]);
        }
        out.symbols = std::move(symbols_);
        return out;
    }
    Positions united(const std::vector<uint32_t>& links) const {
        Positions all;
        for (uint32_t link : links) all.insert(all.end(), firsts_[link].begin(), firsts_[link].end());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
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
                Part out{{}, {}, true};
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
        links_.emplace_back();
        return {{here}, {here}, false};
    }
    Part alternatives(uint32_t count) {
        Part out{{}, {}, false};
        for (uint32_t k = 0; k < count; ++k) {
            const Part one = part();
            out.first.insert(out.first.end(), one.first.begin(), one.first.end());
            out.last.insert(out.last.end(), one.last.begin(), one.last.end());
            out.nullable = out.nullable || one.nullable;
        }
        return out;
    }

    // ---- composing ----
    // Let every position of `first` follow every one of `last`.
    void link(const Positions& last, const Positions& first) {
        if (last.empty() || first.empty()) return;
        neighbours_ += last.size() * first.size();
        if (neighbours_ > kMostNeighbours) throw TooManyNeighbours();
        for (uint32_t position : last) links_[position].push_back(static_cast<uint32_t>(firsts_.size()));
        firsts_.push_back(first);
    }
    void join(Part& before, Part part) {
        link(before.last, part.first);
        if (before.nullable) before.first.insert(before.first.end(), part.first.begin(), part.first.end());
        if (part.nullable)
            before.last.insert(before.last.end(), part.last.begin(), part.last.end());
        else
            before.last = std::move(part.last);
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
        Part out{{}, {}, true};
        for (uint32_t k = 0; k < low; ++k) join(out, again());
        if (low >= high) return out;
        std::vector<Part> parts;
        for (uint32_t k = low; k < high; ++k) parts.push_back(again());
        join(out, nested(std::move(parts)));
        return out;
    }
    template <class Again>
    Part loop(uint32_t low, const Again& again) {
        Part out{{}, {}, true};
        for (uint32_t k = 1; k < low; ++k) join(out, again());
        Part last = again();
        link(last.last, last.first);
        if (!low) last.nullable = true;
        join(out, std::move(last));
        return out;
    }
    // The parts inside each other, the innermost first: each is optional, and the next one comes before it.
    Part nested(std::vector<Part> parts) {
        Part rest{{}, {}, true};
        if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.nullable; })) {
            for (size_t k = 0; k + 1 < parts.size(); ++k) link(parts[k + 1].last, parts[k].first);
            for (const Part& part : parts) rest.last.insert(rest.last.end(), part.last.begin(), part.last.end());
            rest.first = std::move(parts.back().first);
            return rest;
        }
        for (Part& part : parts) {
            join(part, std::move(rest));
            rest = std::move(part);
            rest.nullable = true;
        }
        return rest;
    }

    const Body body_;
    const size_t most_;
    size_t at_ = 0;
    std::vector<uint32_t> symbols_;             // [position]
    std::vector<std::vector<uint32_t>> links_;  // [position]: those of `firsts_` that follow it
    std::vector<Positions> firsts_;
    size_t neighbours_ = 0;
};

// Makes kinds of items with the same future one.
class Merger {
public:
    explicit Merger(const PositionAutomaton& read)
        : read_(read), same_(read.follow.size()), members_(same_.size()), users_(same_.size()) {
        std::iota(same_.begin(), same_.end(), 0);
        for (uint32_t kind = 0; kind < same_.size(); ++kind) members_[kind] = {kind};
        for (uint32_t user = 0; user < same_.size(); ++user)
            for (uint32_t at : read_.follow[user])
                if (auto& users = users_[read_.kinds[at + 1]]; users.empty() || users.back() != user)
                    users.push_back(user);
    }
    RuleItems merged() {
        std::vector<uint32_t> todo(same_.size());
        std::iota(todo.begin(), todo.end(), 0);
        uint32_t unseen = static_cast<uint32_t>(same_.size());  // kinds in front of this one will be seen
        while (!todo.empty()) {
            poll();
            const uint32_t kind = todo.back();
            todo.pop_back();
            unseen = std::min(unseen, kind);
            const uint32_t one = same_[futures_.try_emplace(future_of(kind), kind).first->second];
            if (one != same_[kind]) unite(one, same_[kind], unseen, todo);
        }
        return numbered();
    }

private:
    using Edges = std::vector<RuleItems::Edge>;
    Edges edges_of(uint32_t kind) const {
        Edges out;
        for (uint32_t at : read_.follow[kind]) out.emplace_back(read_.symbols[at], same_[read_.kinds[at + 1]]);
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }
    std::pair<bool, Edges> future_of(uint32_t kind) const { return {read_.accepting[kind], edges_of(kind)}; }
    void unite(uint32_t one, uint32_t other, uint32_t unseen, std::vector<uint32_t>& todo) {
        members_[one].insert(members_[one].end(), members_[other].begin(), members_[other].end());
        for (uint32_t each : std::exchange(members_[other], {})) {
            same_[each] = one;
            for (uint32_t user : users_[each])
                if (user >= unseen) todo.push_back(user);
        }
    }
    // An item for each kind that represents itself: kinds come in the order of their first items.
    RuleItems numbered() const {
        std::vector<uint32_t> number(same_.size(), UINT32_MAX), first;
        for (uint32_t kind = 0; kind < same_.size(); ++kind)
            if (number[same_[kind]] == UINT32_MAX) {
                number[same_[kind]] = static_cast<uint32_t>(first.size());
                first.push_back(kind);
            }
        RuleItems out;
        for (uint32_t kind : first) {
            Edges edges = edges_of(kind);
            for (auto& [symbol, to] : edges) to = number[to];
            std::sort(edges.begin(), edges.end());
            out.edges.push_back(std::move(edges));
            out.accepting.push_back(read_.accepting[kind]);
        }
        return out;
    }

    const PositionAutomaton& read_;
    std::vector<uint32_t> same_;                          // [kind]: the one that represents it
    std::vector<std::vector<uint32_t>> members_;          // [kind]: those that it represents
    std::vector<std::vector<uint32_t>> users_;            // [kind]: the kinds that lead to it
    std::map<std::pair<bool, Edges>, uint32_t> futures_;  // those with edges of before are met no more
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
        std::vector<RuleItems::Edge> edges;
        for (uint32_t at : read.follow[kind]) edges.emplace_back(read.symbols[at], at + 1);
        out.edges.push_back(std::move(edges));
        out.accepting.push_back(read.accepting[kind]);
    }
    return out;
}

}  // namespace schemagen
