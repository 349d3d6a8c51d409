// Which terminals may be neighbours, and those that have the same neighbours as one class.
//
// Class 0 is the beginning of the text, which everything may follow. Ignored terminals are in no class: they may stand
// between any two. A terminal is *always* followed by another if, whichever way it is read and however far it is read,
// there is an end after which the other may begin, and *ever* if some text of it has such an end.
#pragma once
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "context_free/adjacency.hpp"
#include "context_free/indenting_parser.hpp"
#include "context_free/lr_tables.hpp"
#include "util/pair_map.hpp"

namespace schemagen {

class NeighbourClasses {
public:
    using Set = uint64_t;                                 // of classes
    using Follow = std::vector<Set>;                      // [class]: by which ones it is followed
    static constexpr uint32_t kNoText = UINT32_MAX;       // the class of a terminal that changes nothing
    static constexpr uint32_t kNotRead = UINT32_MAX - 1;  // of one that is never there

    // `indentation`: null if line breaks have no meaning. `tables`: null if all lexemes of a terminal are read in every
    // place where it is allowed; else each of the states has its own.
    NeighbourClasses(const ContextFreeGrammar& grammar, const Indentation* indentation,
                     const std::vector<EmbeddedTerminal>& embedded, const LrTables* tables, Adjacency& adjacency);
    // Returns false if there are too many, or the neighbours of an ignored terminal are unknown.
    bool find();
    unsigned count() const { return count_; }
    uint32_t of(SymbolId terminal) const { return class_of_[terminal]; }
    const Follow& always() const { return always_; }
    const Follow& ever() const { return ever_; }
    Set last() const { return last_; }  // those after which the text may always end
    // Whether the next terminal after these is clear, and is neither one of them nor ignored, so that a parser which
    // has read one can tell whether it goes on. They are sorted.
    bool may_be_pruned(const std::vector<SymbolId>& terminals);

private:
    using When = Adjacency::When;
    using Row = std::vector<When>;  // by terminal that is read
    struct Neighbours {
        Row after;   // when the others may follow it, then the end of the text; always if empty
        Row before;  // when it may follow the terminals whose row is not empty
        auto operator<=>(const Neighbours&) const = default;
    };
    // How a state's lexer reads a terminal that is allowed there.
    struct Way {
        uint32_t between;  // its ignored lexemes, of `between_`
        std::vector<LexemeId> lexemes;
        auto operator<=>(const Way&) const = default;
    };
    static constexpr size_t kMost = 63;
    void find_ways(const LrTables& tables);
    uint32_t between_of(std::vector<LexemeId> ignored);
    std::vector<LexemeId> find_lexemes(SymbolId terminal) const;
    const EmbeddedTerminal* embedded(SymbolId terminal) const;
    bool is_free(SymbolId terminal);
    template <class Before>
    When after(LexemeId lexeme, uint32_t between, const Before& before);
    When followed(LexemeId lexeme, uint32_t between, LexemeId next);
    When followed_by_one(LexemeId lexeme, uint32_t between, const std::vector<LexemeId>& next);
    When follows_lexeme(LexemeId lexeme, SymbolId next);
    When follows(const std::vector<LexemeId>& lexemes, SymbolId next);
    std::vector<LexemeId> told_apart(const std::vector<LexemeId>& lexemes);
    void unite_ways();
    std::vector<Neighbours> find_neighbours(const std::vector<SymbolId>& read);
    void find_follow(const std::vector<SymbolId>& read, const std::map<Neighbours, uint32_t>& classes);
    bool knows_what_follows(LexemeId lexeme);
    bool knows_what_follows_ignored();

    const ContextFreeGrammar& grammar_;
    const Indentation* indentation_;
    const std::vector<EmbeddedTerminal>& embedded_;
    Adjacency& adjacency_;
    std::vector<std::vector<LexemeId>> lexemes_;  // [terminal]
    std::vector<std::vector<LexemeId>> between_;  // what lexers ignore; each has its own ways to read it
    std::vector<std::set<Way>> ways_;             // [terminal]: its ways, or none
    bool is_read_everywhere_ = true;              // wherever a terminal is allowed, some lexeme of it is read
    std::vector<PairMap> followed_;  // [between]: (lexeme, beginning of the next) -> when, with that between or not
    unsigned count_ = 1;
    std::vector<uint32_t> class_of_;  // [terminal]
    Follow always_, ever_;
    Set last_ = 0;
};

inline unsigned lowest(NeighbourClasses::Set classes) { return static_cast<unsigned>(std::countr_zero(classes)); }

}  // namespace schemagen
