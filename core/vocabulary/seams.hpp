// The fewest tokens that spell a text, counted part by part from its end.
//
// What a part adds depends on the text after it only as far as tokens reach across the border: on the next few bytes,
// and on the fewest tokens from each of them on, compared with those from the border on. That is a seam. A vocabulary
// has few of them: a seam ends where no token has its bytes after something else. So what a part adds is counted once
// for each seam, and a text of a thousand parts is as many look-ups; equal parts soon make a cycle.
//
// (A weighted automaton over the min-plus semiring, read from right to left and determinised as it is used: Mohri
// 1997.)
//
// Invariants: every part after the first begins with a border (VocabularyTables::is_border), and every byte of the
// parts is a token. Then the counts are exact: no token was left out.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vocabulary/vocabulary.hpp"

namespace schemagen {

// The end of a text: its seam, and the fewest tokens that spell it.
struct Tail {
    uint32_t seam = 0, tokens = 0;  // of no text

    bool operator==(const Tail&) const = default;
};

class Seams {
public:
    explicit Seams(const VocabularyTables& tables) : tables_(tables), seams_(1) {}

    // The number of a part.
    uint32_t part(const std::string& text);
    // The tail that begins with a part.
    Tail before(uint32_t part, Tail rest);
    // The tokens of a text and the tail after it. The text may begin with any byte, but nothing may come before it.
    uint32_t fewest(std::string_view text, Tail rest);
    size_t memory_bytes() const;

private:
    struct Seam {
        std::string text;
        std::vector<int32_t> tokens{0};  // [k]: from byte k on, less those from byte 0 on
    };
    struct Added {
        uint32_t after;   // seam
        uint32_t before;  // seam
        int32_t tokens;
    };
    struct Part {
        std::string text;
        std::vector<Added> added;
    };
    // The tokens of a text and a seam that were asked for lately.
    struct Counted {
        std::string text;
        uint32_t after = 0;  // seam
        uint32_t tokens = 0;
    };
    void count(std::string_view text, const Seam& after);
    Added added(std::string_view text, uint32_t after);
    uint32_t number(Seam seam);
    size_t reach(std::string_view text, std::string_view after) const;

    const VocabularyTables& tables_;
    std::vector<Seam> seams_;
    std::unordered_multimap<uint64_t, uint32_t> seam_numbers_;  // by hash
    std::vector<Part> parts_;
    std::unordered_map<std::string, uint32_t> part_numbers_;
    std::vector<int32_t> counts_;   // of the last text: [k] from byte k on, less those after it
    std::vector<Counted> counted_;  // by hash; empty before the first
};

}  // namespace schemagen
