// Automata of other languages that a context-free grammar has in it: JSON values of a schema, say.
//
// For the parser a guest is a terminal, which no lexeme reads. Its text begins where the terminal is allowed and ends
// wherever the guest's automaton accepts; in between the guest is on its own.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "context_free/parser.hpp"

namespace schemagen {

struct Guest {
    SymbolId terminal;
    std::shared_ptr<Automaton> automaton;
    ByteSet first;  // bytes that its texts begin with
    ByteSet last;   // a superset of those that they end with

    void find_ends(bool is_json);
};

using Guests = std::vector<Guest>;

// A grammar with guests that may lead into a dead end: what would have to be searched cannot be, with guests in it.
struct NotLively : std::runtime_error {
    explicit NotLively(const std::string& rule) : std::runtime_error("the rule '" + rule + "' may have no end") {}
};

}  // namespace schemagen
