// Whether every text that has begun can be finished, wherever the parser is: decided from the grammar alone, in
// advance.
//
// A parser has only states from which its grammar goes on. Lexers may lose texts all the same: with `start: A "a"`,
// where A is the longest run of a's, there is no text at all. So rules are followed together with the class of the
// terminal that was read last (neighbours.hpp): with which classes may a rule end that goes on from the item after a
// given class? (This is the intersection of a context-free grammar with a regular language, of the pairs that may be
// neighbours: Bar-Hillel, Perles & Shamir 1961.) A grammar is lively if after each terminal that can be read its rule
// can end, after that the rule that called it, and so on to the end of the text. Nearly all grammars are; the others
// are searched text by text (strands.hpp).
//
// In some grammars only a few terminals lead into dead ends: a comment reaches up to the end of the line, and within
// brackets no line may end. The parser can prune these terminals: it reads them only where something can follow
// (pruning_parser.hpp). Then the grammar is lively if every rule has an end that is reached without them.
//
// Both errors are on the safe side: readable terminals come from the neighbours that ever are, ends from those that
// always are.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "context_free/neighbours.hpp"

namespace schemagen {

class Liveness {
public:
    // As `NeighbourClasses` takes them.
    Liveness(const ContextFreeGrammar& grammar, const Indentation* indentation,
             const std::vector<EmbeddedTerminal>& embedded, const LrTables* tables, Adjacency& adjacency)
        : grammar_(grammar),
          classes_(grammar, indentation, embedded, tables, adjacency),
          stuck_rule_(grammar.start()) {}
    // Also true of a grammar that is lively once the parser prunes the terminals of `pruned`.
    bool is_lively();
    // Sorted; empty if nothing has to be pruned.
    const std::vector<SymbolId>& pruned() const { return pruned_; }
    using Classes = NeighbourClasses::Set;
    const NeighbourClasses& classes() const { return classes_; }
    // The classes that may be read last at an item; known once `is_lively` was asked.
    Classes entered(ItemId item) const { return entered_[item]; }
    // Those that may be last in the rule of an item which goes on after one of them, by pairs that may always be
    // neighbours.
    Classes ends(ItemId item, unsigned last) const { return at(ends_, item, last); }
    // If it is not, a rule that may have no end; else the start.
    SymbolId stuck_rule() const { return stuck_rule_; }

private:
    using Ends = std::vector<Classes>;  // [item][class read last]: the classes that may be last in the rule
    // A rule that ends with one of some classes.
    struct Ending {
        SymbolId rule;
        Classes classes;
    };
    static constexpr size_t kMostEndings = 100'000;
    Classes at(const Ends& ends, ItemId item, unsigned last) const { return ends[item * classes_.count() + last]; }
    uint32_t read_as(SymbolId terminal) const;
    Classes over(const ContextFreeGrammar::Edge& edge, Classes lasts, const NeighbourClasses::Follow& followed,
                 const Ends& ends) const;
    void add_ends(const ContextFreeGrammar::Edge& edge, const NeighbourClasses::Follow& preceding, Ends& ends,
                  Classes* row) const;
    Ends find_ends(const NeighbourClasses::Follow& followed, Ends ends) const;
    void find_entered();
    bool find_pruned();
    bool is_known(const Ending& ending);
    bool all_end();

    const ContextFreeGrammar& grammar_;
    NeighbourClasses classes_;
    SymbolId stuck_rule_;
    std::vector<SymbolId> pruned_;
    Ends ends_;
    std::vector<Classes> entered_;                               // [item]: the classes that may be read last there
    std::unordered_map<SymbolId, std::vector<ItemId>> returns_;  // [rule]: the items after its calls
    std::unordered_map<SymbolId, std::vector<Classes>> known_;   // [rule]: `is_known`, none a subset of another
};

}  // namespace schemagen
