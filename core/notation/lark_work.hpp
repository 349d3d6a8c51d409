// How much work a grammar that has been read would be for lark.
//
// Idea: lark's work grows with the tokens of the text, the characters of terminals, the symbols of all alternatives,
// the cube of the longest, with how often it goes over all rules until nothing changes, and for LALR tables with how
// many rules begin alike. All of these are known here, and each is counted in steps of about a microsecond.
//
// Source: of this project; the weights are measured with lark 1.3.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "notation/lark_alternatives.hpp"

namespace schemagen {

class LarkWork {
public:
    explicit LarkWork(const LarkNames& names) : names_(names) {}
    void add_text(size_t tokens);
    void add_terminal(size_t characters);
    void add_rules(const std::vector<LarkAlternative>& alternatives, bool makes_tables);

private:
    static constexpr uint64_t kSteps = 3'000'000;  // some seconds
    static constexpr uint64_t kToken = 30, kCharacter = 20, kSymbol = 20, kRound = 6, kCube = 16;

    void add(uint64_t steps, const std::string& what);
    void add_rounds(const std::vector<LarkAlternative>& alternatives, bool from_end, bool makes_tables);

    const LarkNames& names_;
    uint64_t steps_ = 0;
};

}  // namespace schemagen
