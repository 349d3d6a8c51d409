// The alternatives of expanded rules, each a list of symbols.
//
// Idea: a sequence of choices is written out as all ways to choose, the first choice slowest, and of equal ways the
// first stays. How many they are is known before any is written: counted from the bottom up, without the equal ones.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "notation/lark_expansion.hpp"

namespace schemagen {

// A symbol is twice the number of its name, and one more for a terminal.
inline uint32_t symbol_of(uint32_t name, bool is_term) { return name * 2 + (is_term ? 1 : 0); }
inline bool is_terminal(uint32_t symbol) { return symbol & 1; }
inline uint32_t name_of(uint32_t symbol) { return symbol / 2; }

struct LarkAlternative {
    uint32_t origin;  // the name of the rule
    std::vector<uint32_t> symbols;
};

class LarkAlternatives {
public:
    explicit LarkAlternatives(const LarkReading& reading) : reading_(reading) {}
    // Adds the alternatives of a rule.
    void add(const LarkRule& rule);
    std::vector<LarkAlternative>& list() { return list_; }

private:
    struct Size {
        double ways, symbols;
    };
    struct Way {
        std::vector<uint32_t> symbols;
        uint32_t alias;
        bool operator==(const Way&) const = default;
    };

    void check_size(const LarkRule& rule);
    Size size_of(const LarkNode* node);
    void collect(const LarkNode* node, const LarkRule& rule, std::vector<Way>& found) const;
    std::vector<std::vector<uint32_t>> ways(const LarkNode* node) const;
    void put(const LarkRule& rule, const std::vector<Way>& ways);

    const LarkReading& reading_;
    std::vector<LarkAlternative> list_;
    std::unordered_map<const LarkNode*, Size> sizes_;
    double symbols_ = 0;  // of all rules
};

}  // namespace schemagen
