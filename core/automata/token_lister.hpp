// A facet of automata: configurations whose tokens the machine finds itself, sooner than a walk step by step would.
#pragma once
#include <cstdint>
#include <vector>

#include "automata/automaton.hpp"

namespace schemagen {

struct Trie;

// The tokens that can be read from a configuration.
struct TokenList {
    // A node of the vocabulary's trie, and the configuration after its bytes. Tokens at the node and below it are not
    // listed.
    struct Branch {
        uint32_t node;
        Configuration config;
    };
    std::vector<uint32_t> tokens;  // each once
    std::vector<Branch> branches;  // none is below another
};

class TokenLister {
public:
    // Fills an empty list. Returns false if the machine knows no better way here. Not for machines with containers.
    virtual bool list_tokens(const Configuration& config, const Trie& trie, TokenList& out) = 0;

protected:
    ~TokenLister() = default;
};

}  // namespace schemagen
