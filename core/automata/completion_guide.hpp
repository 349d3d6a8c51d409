// A facet of automata: the knowledge, without a search, of the shortest text that ends (masks/completion.hpp).
//
// Each answer may be "unknown", which is the default: a machine gives the answers it has.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "automata/automaton.hpp"

namespace schemagen {

class VocabularyTables;

class CompletionGuide {
public:
    // Find the shortest texts, as far as that needs no search. Called with the same vocabulary each time, and first of
    // all before the methods below and before `Automaton::min_bytes`.
    virtual void settle_shortest(const VocabularyTables&) {}
    // Whether the shortest completion depends on the text, so that each token may lead to another one.
    virtual bool text_matters(const Configuration&) const { return false; }
    // Among the configurations with the same shortest completion, and the same inexact identity, one that takes every
    // token that any of them takes.
    virtual Configuration least_constrained(const Configuration& config, Arena&) { return config; }
    // A hash of what the text may not use again: configurations with the same inexact identity and another one may take
    // other tokens. 0 for nothing. Changes nothing: any number of threads may ask at once.
    virtual uint64_t used_up(const Configuration&) const { return 0; }
    // Whether `next`, to which a byte led, is still in the string or key that `from` is in. Only tokens with a quote
    // leave it. False if unknown.
    virtual bool stays_inside(const Configuration& from, const Configuration& next) { return from.frame == next.frame; }
    // The bytes that may lead to a configuration whose `Automaton::min_bytes` is less; nothing: any byte may.
    virtual std::optional<ByteSet> nearer_bytes(const Configuration&) { return std::nullopt; }
    // Roughly how many microseconds a step takes that was never taken before.
    virtual uint32_t step_cost() const { return 1; }
    // An upper bound of the tokens of the shortest completion, or of its bytes where tokens are not counted; kFar if
    // unknown.
    virtual uint32_t most_tokens(const Configuration&) { return Automaton::kFar; }
    // The same after any one token that can be read; kFar where that is not settled. Changes nothing: any number of
    // threads may ask at once.
    virtual uint32_t most_after_token(const Configuration&) const { return Automaton::kFar; }
    // By how much any one token may raise the need; kFar if unknown. Asked after `Automaton::min_bytes`.
    virtual uint32_t most_growth(const Configuration&) const { return Automaton::kFar; }
    // The fewest tokens of the shortest completion, the first of the shortest, where every byte is a token; nothing if
    // a search is needed.
    virtual std::optional<uint32_t> fewest_tokens(const Configuration&) { return std::nullopt; }
    // How many more these may be if another token led from `from` to the same place `next`.
    virtual uint32_t most_differing(const Configuration& /*from*/, const Configuration& /*next*/) { return 0; }
    // Append the shortest completion, the first of the shortest. Returns false, with any text appended, if a search is
    // needed.
    virtual bool write_shortest(const Configuration&, std::string&) { return false; }
    // A copy whose frames live in `arena`, of a configuration that has an exact identity.
    virtual Configuration keep(const Configuration& config, Arena&) { return config; }

protected:
    ~CompletionGuide() = default;
};

// Of a machine that knows nothing of the kind.
class NoGuide final : public CompletionGuide {};

inline CompletionGuide& guide_of(const Automaton& automaton) {
    static NoGuide* nothing = new NoGuide;  // threads may come until the process ends
    return automaton.facets().guide ? *automaton.facets().guide : *nothing;
}

}  // namespace schemagen
