// How many bytes suffice to finish a text, at most: the counterpart of the lower bounds of the grammar and its parser.
//
// A lower bound may be too low where two terminals must not touch, or where a lexeme must not end. So an upper bound
// goes along pairs of terminals of which one may always follow the other, however it was read (neighbours.hpp). A
// terminal takes the bytes to an end after which all of these may follow (adjacency.hpp). Where one may not touch the
// next, ignored text may come between, after which everything may follow: it counts as a class of its own. The bounds
// of an item are those of the shortest ways to the end of its rule, from each class of terminals that may have been
// read last, to each class that may be last there (Knuth 1977, over the pairs of Bar-Hillel, Perles & Shamir 1961, as
// in liveness.hpp). A parser adds the rests of the rules that are open (frame_rests.hpp).
//
// Invariants: a bound holds for every text that leads to the item; it is kFar where no way is known. Along that way
// some byte lowers it by one at least, so a text that keeps to bounds comes to an end.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "context_free/liveness.hpp"

namespace schemagen {

class RestBounds {
public:
    static constexpr uint32_t kFar = ContextFreeGrammar::kFar;
    // `liveness`: of a grammar without tables and indentation, which it found lively.
    RestBounds(const ContextFreeGrammar& grammar, const Liveness& liveness, Adjacency& adjacency);
    using Classes = Liveness::Classes;
    // That of ignored text comes last.
    unsigned class_count() const { return ignored_ + 1; }
    unsigned ignored_class() const { return ignored_; }
    unsigned class_of(SymbolId terminal) const { return class_of_[terminal]; }
    // From an item, after a class, to the end of its rule and on from there; `after`: the bytes from there, by the
    // class that was read last.
    uint32_t through(ItemId item, unsigned last, std::span<const uint32_t> after) const;
    // Lower the known bytes, by the class before the item, to those. Whether that lowers some.
    bool lower_through(ItemId item, std::span<const uint32_t> after, std::span<uint32_t> known) const;
    // Nothing is left after the classes that may be last in a text.
    void end(std::span<uint32_t> after) const;
    // To the end of a terminal that has begun, at most; of an ignored one, until everything else may follow.
    uint32_t of_begun(SymbolId terminal) const { return begun_[terminal]; }
    // The same from within a lexeme.
    uint32_t of_begun(const Lexer::Component& component) const;
    size_t memory_bytes() const;

private:
    // Of an item: a row for each class that may have been read last, with the bytes to each class that may be last.
    struct Table {
        Classes lasts = 0, ends = 0;
        uint32_t begin = 0;  // in bytes_
    };
    uint32_t* row(ItemId item, unsigned last) { return bytes_.data() + row_at(tables_[item], last); }
    static size_t row_at(const Table& table, unsigned last) {
        return table.begin + rank(table.lasts, last) * static_cast<size_t>(std::popcount(table.ends));
    }
    static size_t rank(Classes set, unsigned one) {
        return static_cast<size_t>(std::popcount(set & ((Classes{1} << one) - 1)));
    }
    void measure_ignored();
    void measure_terminals();
    void find_touching();
    void make_tables(const Liveness& liveness);
    bool lower(ItemId item, unsigned last, unsigned end, uint32_t bytes);
    bool lower_by(ItemId item, unsigned last, uint32_t bytes, ItemId target, unsigned read);
    bool lower_over(ItemId item, const ContextFreeGrammar::Edge& edge, unsigned last, const Liveness& liveness);

    const ContextFreeGrammar& grammar_;
    Adjacency& adjacency_;
    unsigned ignored_;                // the class of ignored text, after those of terminals
    Classes last_;                    // that may be last in a text
    std::vector<uint32_t> class_of_;  // [terminal]
    std::vector<LexemeId> open_;      // ignored lexemes after which everything may always follow
    std::vector<uint32_t> leaving_;   // [lexeme], of an ignored one: after it, until everything may follow
    std::vector<uint32_t> begun_;     // [terminal]
    uint32_t between_ = 0;            // of the ignored text that may come between two terminals
    Classes separable_ = 0;           // the classes after which it always may
    std::vector<Classes> touching_;   // [terminal]: the classes of terminals that it may always touch
    std::vector<Table> tables_;       // [item]
    std::vector<uint32_t> bytes_;
};

}  // namespace schemagen
