// The texts of terminals in lark's notation, as patterns of Python's `re`.
//
// Idea: a terminal of one literal stays a literal; anything else is one pattern, put together from the patterns of its
// parts exactly as lark does it, for where a part of it matches less than another one the order decides what `re`
// finds: the alternatives of a choice come with the longest first, as their widths tell, then in the order of the text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "notation/lark_host.hpp"
#include "notation/lark_tree.hpp"

namespace schemagen {

struct LarkPattern {
    bool is_literal = false;
    std::string value;
    std::string flags;  // in order, each once

    // For `re`, flags included. Their order is ours; lark's is that of a hash table.
    std::string regexp() const;
    // Its only text, of a literal without flags.
    std::optional<std::string> text() const {
        return is_literal && flags.empty() ? std::optional(value) : std::nullopt;
    }
    // What tells it from others.
    std::string key() const { return (is_literal ? 'l' : 'p') + flags + '/' + value; }
    bool operator==(const LarkPattern&) const = default;
};

class LarkPatterns {
public:
    explicit LarkPatterns(LarkHost& host) : host_(host) {}

    // Of a kLiteral, kPattern or kRange.
    static LarkPattern of_value(const LarkNode& node);
    // Of the definition of a terminal.
    LarkPattern of_terminal(const LarkNode* tree);
    LarkHost::Width width(const LarkPattern& pattern, NotationPlace place);

private:
    LarkPattern of(const LarkNode& node);
    LarkPattern of_choice(const LarkNode& node);
    LarkPattern of_sequence(const LarkNode& node);
    LarkPattern of_repeat(const LarkNode& node);
    // The pattern of a part, as it stands in that of a node. All that is written is counted.
    std::string written(const LarkPattern& part, const LarkNode& node);

    LarkHost& host_;
    std::unordered_map<const LarkNode*, LarkPattern> known_;
    size_t written_ = 0;
};

size_t character_count(std::string_view text);
[[noreturn]] void refuse_bounds(const LarkNode& repeat);

}  // namespace schemagen
