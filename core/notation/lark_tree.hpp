// Trees of rules and terminals in lark's notation.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "notation/mistakes.hpp"

namespace schemagen {

// Names as numbers.
class LarkNames {
public:
    uint32_t number(std::string_view name) {
        if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
        const auto number = static_cast<uint32_t>(names_.size());
        numbers_.emplace(names_.emplace_back(name), number);
        return number;
    }
    const std::string& operator[](uint32_t number) const { return names_[number]; }
    size_t size() const { return names_.size(); }

private:
    std::deque<std::string> names_;
    std::unordered_map<std::string_view, uint32_t> numbers_;
};

struct LarkNode {
    enum class Kind : uint8_t {
        kChoice,     // of its children
        kSequence,   // of them
        kAlias,      // its child, under a name
        kRepeat,     // its child, `low` to `high` times
        kMaybe,      // its child or nothing, for which trees get as many Nones
        kTemplate,   // the template `name`, filled in with its children
        kSymbol,     // the rule or terminal `name`
        kEmpty,      // of which a tree gets a None
        kLiteral,    // `source`, quotes included
        kPattern,    // `source`, slashes included
        kRange,      // from the literal `source` to the literal `last`
        kReference,  // to the definition of a terminal, which is its child
    };
    Kind kind = Kind::kChoice;
    bool is_term = false;    // of kSymbol
    bool is_hidden = false;  // of kSymbol: trees leave it out
    char sign = 0;           // of kRepeat: * + ? or ~, '-' for ~low..high
    uint32_t name = 0;
    int32_t low = 0, high = 0;
    NotationPlace place;
    std::string_view source, last;
    std::vector<LarkNode*> children;

    bool is_tree() const { return kind != Kind::kSymbol && kind != Kind::kEmpty; }
};

// Nodes, which stay where they are.
class LarkTrees {
public:
    LarkNode* make(LarkNode::Kind kind, NotationPlace place, std::vector<LarkNode*> children = {}) {
        if (nodes_.size() == NotationLimits::kNodes)
            stop(place, "more than " + with_commas(NotationLimits::kNodes) + " parts of rules",
                 "templates are filled in again and again", "use rules in the place of templates");
        LarkNode& node = nodes_.emplace_back();
        node.kind = kind;
        node.place = place;
        node.children = std::move(children);
        return &node;
    }
    LarkNode* symbol(uint32_t name, bool is_term, bool is_hidden, NotationPlace place) {
        LarkNode* node = make(LarkNode::Kind::kSymbol, place);
        node->name = name;
        node->is_term = is_term;
        node->is_hidden = is_hidden;
        return node;
    }

private:
    std::deque<LarkNode> nodes_;
};

}  // namespace schemagen
