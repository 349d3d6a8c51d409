// A context-free grammar as the parser and the lexer need it.
//
// Symbols are numbered, terminals first, then rules. The rest of the body of a rule is an `Item` (a dotted rule of
// Earley 1970): a state of a nondeterministic automaton over symbols, so repetitions and alternatives cost no rules of
// their own. A terminal is read as one of its lexemes: a language of texts, and the texts that a lexeme must not go on
// as (`longer`), which is how lexers that take the longest match, or have an order, are described. The text after a
// marked lexeme is described in full, as matchers that try alternatives in order need.
//
// Invariants, seen to by the caller: every rule derives some text if every terminal has one (unproductive ones are
// dropped); lexemes have texts, none of them empty. A terminal without lexemes is read by another automaton,
// or never, and has no text of its own.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "context_free/items.hpp"
#include "regex/kernel.hpp"
#include "util/bit_sets.hpp"
#include "util/lists.hpp"

namespace schemagen {

using SymbolId = uint32_t;
using ItemId = uint32_t;
using LexemeId = uint32_t;

struct Lexeme {
    SymbolId terminal;
    NodeId text;
    NodeId longer;  // a lexeme ends only where the text does not go on to one of these; anywhere if kEmpty
    bool marked;    // `text` has the lexeme, the mark (lexer.hpp), and every text that may follow
};

class ContextFreeGrammar {
public:
    struct Edge {
        SymbolId symbol;
        ItemId target;
        bool operator<(const Edge& other) const {
            return std::pair(symbol, target) < std::pair(other.symbol, other.target);
        }
    };

    // Terminals come before rules.
    SymbolId add_terminal(std::string name, bool ignored);
    LexemeId add_lexeme(const Lexeme& lexeme);
    // Of a terminal without lexemes: the bytes of its shortest text.
    void set_min_bytes(SymbolId terminal, uint32_t bytes) { own_min_bytes_[terminal] = bytes; }
    // A terminal without text (captures.hpp): symbols after it may follow those before it.
    void set_mark(SymbolId terminal) { marks_.push_back(terminal); }
    // The symbols of later rules may be named.
    SymbolId add_rule(std::string name, const RuleItems& items);
    // Once, when all is there.
    void finish(SymbolId start, Kernel& kernel);
    // The same grammar over the nodes of another kernel.
    ContextFreeGrammar moved_to(Kernel& kernel, const Kernel& from) const;

    SymbolId start() const { return start_; }
    uint32_t terminal_count() const { return terminal_count_; }
    bool is_rule(SymbolId symbol) const { return symbol >= terminal_count_; }
    bool is_ignored(SymbolId terminal) const { return ignored_[terminal]; }
    const std::string& name(SymbolId symbol) const { return names_[symbol]; }
    const std::vector<Lexeme>& lexemes() const { return lexemes_; }
    std::span<const LexemeId> lexemes_of(SymbolId terminal) const { return lexemes_of_[terminal]; }
    size_t item_count() const { return rule_of_.size(); }
    ItemId first_item(SymbolId rule) const { return first_items_[rule - terminal_count_]; }
    SymbolId rule_of(ItemId item) const { return rule_of_[item]; }
    bool accepting(ItemId item) const { return accepting_[item]; }
    std::span<const Edge> edges(ItemId item) const { return edges_[item]; }
    bool nullable(SymbolId symbol) const { return is_rule(symbol) && nullable_[symbol - terminal_count_]; }
    // The item and those that rules which may be empty lead to from it; sorted.
    std::span<const ItemId> closure(ItemId item) const { return closures_[item]; }
    bool ends(ItemId item) const { return ends_[item]; }  // whether one of its closure is accepting
    // Fewest bytes from the item to the end of its rule (Knuth 1977), as far as `Kernel::shortest` is exact.
    uint32_t min_bytes(ItemId item) const { return min_bytes_[item]; }
    // Whether a terminal may follow another one in some text; an ignored one always may.
    bool may_follow(SymbolId terminal, SymbolId next) const { return follow_.has(terminal, next); }
    size_t memory_bytes() const;

    static constexpr uint32_t kFar = UINT32_MAX / 4;

private:
    void find_nullable();
    void close_items();
    void measure(Kernel& kernel);
    BitSets first_sets(const std::vector<bool>& empty) const;
    void find_follow();
    std::vector<bool> without_text() const;

    SymbolId start_ = 0;
    uint32_t terminal_count_ = 0;
    std::vector<std::string> names_;       // [symbol]
    std::vector<bool> ignored_;            // [terminal]
    std::vector<uint32_t> own_min_bytes_;  // [terminal] without lexemes
    std::vector<SymbolId> marks_;
    std::vector<Lexeme> lexemes_;                    // [lexeme]
    std::vector<std::vector<LexemeId>> lexemes_of_;  // [terminal]
    std::vector<ItemId> first_items_;                // [rule]
    std::vector<bool> nullable_;                     // [rule]
    std::vector<SymbolId> rule_of_;                  // [item]
    std::vector<bool> accepting_, ends_;             // [item]
    Lists<Edge> edges_;                              // [item]
    Lists<ItemId> closures_;                         // [item]
    std::vector<uint32_t> min_bytes_;                // [item]
    BitSets follow_;                                 // [symbol]: terminals
};

}  // namespace schemagen
