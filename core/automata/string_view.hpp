// A facet of automata: configurations whose future is that of one state of the shared string automaton.
#pragma once
#include <cstdint>
#include <vector>

#include "automata/automaton.hpp"

namespace schemagen {

// Where a configuration is inside a string (or a key that is not declared), and its future depends on little more than
// the state of the string automaton: what StringMasks needs.
struct StringBody {
    uint32_t state = 0;     // 0: nowhere like that
    bool key = false;       // declared keys have to be walked besides
    bool counting = false;  // how many code points are read before it ends matters
    bool in_full = false;   // tokens that close it have to be read, as the text after it depends on its own
    // Of the languages that it may be of, if one of them has so few code points left that tokens may not fit: its state
    // alone, and how many are left.
    struct Language {
        uint32_t state, room;
        bool bounded;  // else there is room for any token
    };
    std::vector<Language> languages;
    bool bounded() const { return !languages.empty(); }
};

class StringView {
public:
    // `longest`: bytes of the longest token; bounds further away than that do not matter.
    virtual StringBody string_body(const Configuration& config, uint32_t longest) = 0;
    // Without a room, if the continuations inside of it depend on no earlier text, or on nothing but what a key may not
    // become (ContainerView::used_key_suffixes).
    virtual StringBody free_of_text(const Configuration&) { return {}; }
    // Go on inside the string, as if `chars` more code points had led to `state`; a key then is unlike all that were
    // used. Returns false if that is too long.
    virtual bool go_on(Configuration&, uint32_t, uint32_t) { return false; }

protected:
    ~StringView() = default;
};

}  // namespace schemagen
