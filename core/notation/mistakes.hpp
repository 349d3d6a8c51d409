// Mistakes in a grammar text: a fact, its place, and the way out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace schemagen {

// Where something stands: the number of a text (0 is the grammar itself, the others are imported) and an offset in it.
struct NotationPlace {
    static constexpr uint32_t kNone = UINT32_MAX;

    uint32_t text = kNone;
    uint32_t at = 0;
    bool is_known() const { return text != kNone; }
};

// A text is no grammar, or one that cannot be enforced or that no text fits, or more of one than its limits allow.
struct NotationError : std::runtime_error {
    enum class Kind : uint8_t { kSyntax, kUnsupported, kLimit, kUnsatisfiable };

    NotationError(Kind kind_, NotationPlace place_, const std::string& fact_, std::string why_ = "",
                  std::string fix_ = "")
        : std::runtime_error(fact_),
          kind(kind_),
          place(place_),
          fact(fact_),
          why(std::move(why_)),
          fix(std::move(fix_)) {}
    Kind kind;
    NotationPlace place;
    std::string fact, why, fix;  // `what` ends at a character U+0000
};

[[noreturn]] inline void refuse(NotationPlace place, const std::string& fact, std::string why = "",
                                std::string fix = "") {
    throw NotationError(NotationError::Kind::kSyntax, place, fact, std::move(why), std::move(fix));
}

[[noreturn]] inline void refuse_unsupported(NotationPlace place, const std::string& fact, std::string why,
                                            std::string fix) {
    throw NotationError(NotationError::Kind::kUnsupported, place, fact, std::move(why), std::move(fix));
}

[[noreturn]] inline void refuse_unsatisfiable(NotationPlace place, const std::string& fact, std::string why,
                                              std::string fix) {
    throw NotationError(NotationError::Kind::kUnsatisfiable, place, fact, std::move(why), std::move(fix));
}

[[noreturn]] inline void stop(NotationPlace place, const std::string& fact, std::string why = "",
                              std::string fix = "") {
    throw NotationError(NotationError::Kind::kLimit, place, fact, std::move(why), std::move(fix));
}

struct LineAndColumn {
    size_t line, column;  // from 1; the column in characters
};
LineAndColumn line_and_column(std::string_view text, size_t at);

// A count as people read it: 1,234,567.
std::string with_commas(uint64_t count);

// Bounds on what a grammar text may grow to while it is read, so that a short one takes neither the time nor the memory
// of the process.
struct NotationLimits {
    static constexpr size_t kTokens = 100'000;               // of all texts
    static constexpr size_t kTexts = 100;                    // that are imported, one inside the other counted again
    static constexpr size_t kBlanks = 20'000;                // in a row: lark reads them in the square of their number
    static constexpr uint32_t kNesting = 100;                // groups inside one another
    static constexpr uint32_t kDepth = 500;                  // of a terminal: groups, and terminals that it is made of
    static constexpr size_t kNodes = 500'000;                // of the trees, templates filled in
    static constexpr size_t kTemplates = 2'000;              // ways to fill templates in
    static constexpr size_t kName = 2'000;                   // characters of the name of one
    static constexpr uint64_t kSymbols = 150'000;            // of all alternatives
    static constexpr size_t kPatternBytes = 500'000;         // of terminals in those made of them
    static constexpr uint64_t kCounted = 1'000'000'000'000;  // where counts stop, so that they stay machine numbers
    static constexpr size_t kDigits = 9;                     // of a number in the grammar
};

}  // namespace schemagen
