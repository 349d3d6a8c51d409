// Whether whatever has begun can be finished, wherever the parser is: told from the grammar alone, before any text.
//
// A parser has only states from which its grammar goes on. Lexers may lose texts all the same: with `start: A "a"`,
// where A is the longest run of a's, there is no text at all. So rules are followed together with the lexeme that was
// read last: with which lexemes may a rule end, that goes on from an item behind a certain one? (This is the
// intersection of a context-free grammar with a regular language, of the pairs that may be neighbours: Bar-Hillel,
// Perles & Shamir 1961.) A grammar is lively if from each item behind each lexeme that may stand there the rule has an
// end. Nearly all grammars are; what is not seen to be is searched text by text (strands.hpp).
//
// Terminals with the same neighbours are of one class, of which there are few. What is ignored may stand between.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "context_free/adjacency.hpp"
#include "context_free/indenting_parser.hpp"
#include "context_free/lr_tables.hpp"

namespace schemagen {

class Liveness {
public:
    // `indentation`: null if line breaks mean nothing. `tables`: null if all lexemes of a terminal are read wherever it
    // may stand; else each of the states has its own.
    Liveness(const ContextFreeGrammar& grammar, const Indentation* indentation,
             const std::vector<ForeignTerminal>& foreign, const LrTables* tables, Adjacency& adjacency);
    bool is_lively();
    // If it is not, a rule that may have no end; else the start.
    SymbolId stuck_rule() const { return stuck_rule_; }

private:
    using Classes = uint64_t;  // a bit for each class
    static constexpr size_t kMostClasses = 63;
    static constexpr uint32_t kNoText = UINT32_MAX, kNotRead = UINT32_MAX - 1;
    std::vector<LexemeId> lexemes_of(SymbolId terminal) const;
    void find_ways(const LrTables& tables);
    bool may_follow(SymbolId terminal, SymbolId next);
    bool may_be_behind(LexemeId lexeme, LexemeId next);
    bool finds_behind(LexemeId lexeme, LexemeId next);
    bool may_be_before(LexemeId lexeme, const ForeignTerminal& next);
    const ForeignTerminal* foreign(SymbolId terminal) const;
    bool knows_what_follows_ignored();
    struct Neighbours {
        std::vector<bool> behind, before;
        auto operator<=>(const Neighbours&) const = default;
    };
    bool is_free(SymbolId terminal);
    std::vector<Neighbours> find_neighbours(const std::vector<SymbolId>& read);
    bool find_classes();
    Classes ends_of(ItemId item, unsigned last) const { return ends_[item * class_count_ + last]; }
    Classes ends_over(const ContextFreeGrammar::Edge& edge, unsigned last) const;
    void find_ends();
    bool all_end();

    const ContextFreeGrammar& grammar_;
    const Indentation* indentation_;
    const std::vector<ForeignTerminal>& foreign_;
    Adjacency& adjacency_;
    static constexpr uint8_t kUnasked = 2;
    std::vector<uint8_t> behind_;                        // [lexeme][next]: what `may_be_behind` said
    std::vector<std::set<std::vector<LexemeId>>> ways_;  // [terminal]: the lexemes of it where it may stand; or nothing
    size_t class_count_ = 1;                             // class 0: nothing was read yet
    std::vector<uint32_t> class_of_;  // [terminal]; kNoText: it changes nothing, kNotRead: it is never there
    std::vector<Classes> followed_;   // [class]: by which ones
    SymbolId stuck_rule_;
    Classes last_ = 0;           // those that the text may end with
    std::vector<Classes> ends_;  // [item][class read last]: the classes that may be last in the rule
};

}  // namespace schemagen
