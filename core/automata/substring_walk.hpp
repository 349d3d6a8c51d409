// The tokens that go on within a substring of a text: the trie of a vocabulary and the table of the substrings, walked
// side by side.
//
// The first places in a long text allow thousands of tokens, and the nodes and states on the way lie far apart in
// memory. So the places that are to be visited are a queue, which asks for the memory of a place when it
// is put there, and for the memory it points to some places before its turn (software prefetching; Mowry, Lam &
// Gupta 1992). The edges of a state and the children of a node are both sorted by their bytes, so they are merged.
// Where a substring ends at one place of the text, which is soon, the text has the only edge.
//
// Where the text after the substring may begin, the automaton has to follow its first bytes: these become branches of
// the list.
//
// Invariant: a node comes into the queue once at most, with the one state that its bytes lead to.
#pragma once
#include <vector>

#include "automata/token_lister.hpp"
#include "regex/lazy_dfa.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class SubstringWalk {
public:
    // Adds to `out` the tokens readable from a state that is not made (`LazyDfa::is_tracked`). Takes about 0.05 us for
    // each node that is visited, and polls.
    static void list(LazyDfa& dfa, uint32_t state, const Trie& trie, TokenList& out) {
        SubstringWalk(dfa, dfa.track_of(state), trie, out).run(state);
    }

private:
    struct Place {
        uint32_t node;
        SubstringTable::State state;
    };
    struct Children {
        uint32_t at, end;
    };
    SubstringWalk(LazyDfa& dfa, const LazyDfa::Track& track, const Trie& trie, TokenList& out);
    static std::vector<Place>& queue_of_thread();
    void run(uint32_t state);
    void look_ahead(size_t at) const;
    void visit(const Place& place);
    void leave(const Place& place);
    bool find(Children& children, uint8_t byte) const;
    bool search(Children& children, uint8_t byte) const;
    void put(uint32_t node, SubstringTable::State state);
    Children children_of(uint32_t node) const { return {trie_.first_child[node], trie_.first_child[node + 1]}; }

    LazyDfa& dfa_;
    const LazyDfa::Track& track_;
    const SubstringTable& table_;
    const Trie& trie_;
    TokenList& out_;
    const bool leaves_;
    std::vector<Place>& queue_ = queue_of_thread();  // whose memory is there the next time
};

}  // namespace schemagen
