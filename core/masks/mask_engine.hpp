// The maker of the masks of a constraint. A machine without an engine of its own (`MaskFactory`) gets that of
// masks.hpp.
#pragma once
#include <cstdint>
#include <memory>

#include "automata/automaton.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class MaskEngine {
public:
    virtual ~MaskEngine() = default;
    // Writes ceil(V/32) words; returns how many tokens are allowed.
    virtual uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) = 0;
    // The same if everything it takes is known already: changes nothing, so any number of threads may do it at once.
    virtual bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const = 0;
    // The bytes that suffice to finish a text, at most; kFar if unknown. Some byte leads to where less suffices.
    virtual uint32_t most_bytes(const Configuration&) { return Automaton::kFar; }
    // The same after any token that a configuration takes.
    virtual uint32_t most_left(const Configuration&, Arena&) { return Automaton::kFar; }
    // Set the bits of tokens after which so many bytes suffice. Some may be missing; false if it knows of none.
    virtual bool add_near(const Configuration&, uint32_t, uint32_t*) { return false; }
    // Whether every text of characters of one of these slices leads from a configuration back to it. False if unknown.
    virtual bool stays(const Configuration&, Slice::Set) { return false; }
    virtual size_t memory_bytes() const = 0;
};

}  // namespace schemagen
