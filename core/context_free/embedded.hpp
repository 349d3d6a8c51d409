// The languages embedded in a context-free grammar: JSON values of a schema, say.
//
// For the parser an embedded language is a terminal, which no lexeme reads. Its text begins where the terminal is
// allowed, ends wherever the automaton of the language accepts, and is read by that automaton alone.
#pragma once
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "context_free/parser.hpp"
#include "context_free/token_counts.hpp"

namespace schemagen {

struct EmbeddedLanguage {
    SymbolId terminal;
    std::shared_ptr<Automaton> automaton;
    ByteSet first;                            // bytes that its texts begin with
    ByteSet last;                             // a superset of those that they end with
    std::shared_ptr<const TokenCount> count;  // null if its tokens are not counted

    void find_ends(bool is_json);
    // A lower bound of the bytes to the end of a text that has taken so many tokens.
    uint32_t min_bytes(const Configuration& inner, uint32_t tokens) const {
        const uint32_t bytes = automaton->min_bytes(inner);
        return count && tokens < count->least ? std::max(bytes, count->least - tokens) : bytes;
    }
};

using EmbeddedLanguages = std::vector<EmbeddedLanguage>;

// A grammar that embeds others and may lead into a dead end: the search for its ends cannot look into these.
struct NotLively : std::runtime_error {
    explicit NotLively(const std::string& rule) : std::runtime_error("the rule '" + rule + "' may have no end") {}
};

}  // namespace schemagen
