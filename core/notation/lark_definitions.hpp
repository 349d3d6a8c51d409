// What a text in lark's notation defines, with all that it imports.
//
// Idea: an imported text is read like the grammar itself, each of its names with the path as a prefix, or under the
// name that it is imported as. What the wanted names do not need is left out. A terminal refers to the definitions of
// others as they are when the text ends that it stands in: one that is overridden later stays in those made of it, one
// that is extended is extended in them, too.
//
// Invariants: definitions stay in the order in which their names came first. After `read_definitions` no terminal is
// made of itself or deeper than NotationLimits::kDepth, no tree of a terminal has a kSymbol, and every name that is
// used is defined.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "notation/lark_host.hpp"
#include "notation/lark_parser.hpp"

namespace schemagen {

class LarkDefinitions {
public:
    LarkDefinition* find(uint32_t name) {
        const auto at = places_.find(name);
        return at == places_.end() ? nullptr : &list_[at->second].second;
    }
    // Under a name that is defined already it takes the place of the other.
    void put(uint32_t name, LarkDefinition definition) {
        const auto [at, is_new] = places_.emplace(name, list_.size());
        if (is_new)
            list_.emplace_back(name, std::move(definition));
        else
            list_[at->second].second = std::move(definition);
    }
    auto begin() { return list_.begin(); }
    auto end() { return list_.end(); }
    auto begin() const { return list_.begin(); }
    auto end() const { return list_.end(); }

private:
    std::vector<std::pair<uint32_t, LarkDefinition>> list_;
    std::unordered_map<uint32_t, size_t> places_;
};

// Everything of one reading.
struct LarkReading {
    LarkHost& host;
    std::deque<std::string> texts;   // the grammar, then those that are imported
    std::vector<std::string> paths;  // of texts, as they are written in imports
    size_t tokens = 0;
    LarkTrees trees;
    LarkNames names;
    LarkDefinitions definitions;
    std::unordered_map<uint32_t, NotationPlace> absent;       // names that are imported and not defined there
    std::vector<std::pair<uint32_t, NotationPlace>> ignored;  // names of terminals, as often as they are ignored

    // Refuse a name that is used and not among the definitions.
    [[noreturn]] void refuse_missing(uint32_t name, bool is_term, NotationPlace place,
                                     const LarkDefinitions& among) const;
};

// Reads `text` and the texts that it imports.
void read_definitions(LarkReading& reading, std::string text);

}  // namespace schemagen
