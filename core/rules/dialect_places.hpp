// The places of terminals in rules: each is a symbol of its own, for how a terminal matches depends on those expected
// beside it there (competition.hpp). Place p is terminal p of the rules, without ways to read it.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "rules/rule_set.hpp"
#include "util/lists.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

// Kinds are numbered in the order in which they are asked for: equal ones have equal numbers.
class DialectPlaces {
public:
    using KindId = uint32_t;
    // A terminal, in any place.
    struct Kind {
        TreeId text;              // its texts, but the empty one
        bool lazy;                // its first match ends it
        bool dispatched = false;  // free text, or a lazy terminal that interrupts it
        std::string label;        // its name in messages: the first that it got
    };

    explicit DialectPlaces(RuleSet& set) : set_(set) {}

    KindId kind(TreeId tree, bool lazy = false);
    // `label` makes the name of one that has none.
    template <class Label>
    KindId kind(TreeId tree, bool lazy, const Label& label) {
        const KindId id = kind(tree, lazy);
        if (kinds_[id].label.empty()) kinds_[id].label = label();
        return id;
    }
    void dispatch(KindId id) { kinds_[id].dispatched = true; }
    // Any of some terminals at a new place.
    ExpressionId add(std::span<const KindId> kinds);

    size_t size() const { return places_.size(); }
    std::span<const KindId> kinds_at(size_t place) const { return places_[place]; }
    const Kind& operator[](KindId id) const { return kinds_[id]; }
    size_t kind_count() const { return kinds_.size(); }
    // The texts that each place may be, where nothing competes; a lazy terminal ends at its first match.
    std::vector<TreeId> languages() const;

private:
    RuleSet& set_;
    std::deque<Kind> kinds_;
    PairMap kind_ids_;  // text and lazy
    Lists<KindId> places_;
};

}  // namespace schemagen
