// A facet of automata: configurations whose future is that of one state of the shared string automaton.
#pragma once
#include <cstdint>

#include "automata/automaton.hpp"

namespace schemagen {

// Where a configuration is inside a string (or a key that is not declared), and its future depends on little more than
// the state of the string automaton: what StringMasks needs.
struct StringBody {
    uint32_t state = 0;     // 0: nowhere like that
    bool key = false;       // declared keys have to be walked besides
    bool counting = false;  // how many code points are read before it ends matters
    bool bounded = false;   // and only `room` are left: tokens may not fit
    uint32_t room = 0;
};

class StringView {
public:
    // `longest`: bytes of the longest token; bounds further away than that do not matter.
    virtual StringBody string_body(const Configuration& config, uint32_t longest) = 0;
    // Without a room, if the continuations up to the end of the text depend on no earlier text, or on nothing but what
    // a key may not become (ContainerView::used_key_suffixes).
    virtual StringBody free_of_text(const Configuration&) { return {}; }
    // Go on inside the string, as if `chars` more code points had led to `state`; a key then is unlike all that were
    // used. Returns false if that is too long.
    virtual bool go_on(Configuration&, uint32_t, uint32_t) { return false; }

protected:
    ~StringView() = default;
};

}  // namespace schemagen
