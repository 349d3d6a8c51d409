// A facet of automata: containers that can be read without their surroundings (masks/masks.hpp), strings
// in them that end at a quote, and keys that must not come twice.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "automata/automaton.hpp"

namespace schemagen {

struct Trie;

// Configurations with equal keys read on alike up to the end of the container they are in.
struct LocalKey {
    bool usable = false;  // otherwise the future depends on the text, and nothing may be remembered
    uint64_t a = 0, b = 0, c = 0;
    std::vector<uint64_t> words;  // of machines that have no containers: the identity; `a` is its hash
    size_t memory_bytes() const { return words.capacity() * sizeof(uint64_t); }
    bool operator==(const LocalKey&) const = default;
};

class ContainerView {
public:
    // Work that a step leaves open because most steps of a mask are never taken; called when a token was accepted.
    virtual void settle(Configuration& config, Arena& arena) = 0;
    // `longest`: bytes of the longest token; bounds further away than that do not matter.
    virtual LocalKey local_key(const Configuration& config, uint32_t longest) const = 0;
    // The same configuration without the surroundings of its container: closing it leads `outside`. `state` tells how:
    // which of the requested values it was. kFirst: the first alone; kUnclear: the continuation depends on the text, so
    // the token has to be read in full.
    virtual Configuration detached(const Configuration& config, Arena& arena) = 0;
    // The configuration once the container around `inside` was closed in that way. Returns false if it may not be.
    virtual bool after_close(const Configuration& inside, uint32_t how, Configuration& out, Arena& arena) = 0;
    // Where the set of tails that may follow the container is remembered (`kFirst` only).
    virtual uint32_t& tails_of(const Configuration& config) const = 0;
    // Go to the container around that of a configuration, whatever is read there. Returns false if there is none.
    virtual bool leave(Configuration& config) const = 0;
    // The state of the string automaton inside a number or literal name whose text does not matter; 0 elsewhere.
    virtual uint32_t literal_state(const Configuration& config) const = 0;
    // Move to after the closing quote, as if `chars` more code points had led to `state`. Returns false if it may not
    // close there. A key becomes an extra one.
    virtual bool close_string(Configuration& config, uint32_t state, uint32_t chars, Arena& arena) = 0;
    // The same key being read, if it is to be a declared one.
    virtual Configuration as_declared_key(const Configuration& config) = 0;
    // The bytes after which the key being read may still be like a declared one, offered or not, with a quote where it
    // is one; every byte outside of a key.
    virtual ByteSet declared_bytes(const Configuration& config) = 0;
    // The nodes of a vocabulary's trie at which the key being read is closed as a declared one, offered or not.
    virtual void declared_closings(const Configuration& config, const Trie& trie, std::vector<uint32_t>& nodes) = 0;
    // Whether the container has extra keys, which may not be used again, and how the key being read would become one.
    virtual bool has_used_keys(const Configuration& config) const = 0;
    virtual std::vector<std::string> used_key_suffixes(const Configuration& config) = 0;
    // Whether the text so far matters. Then only the insides of strings can be looked up.
    virtual bool is_text_dependent(const Configuration& config) const = 0;

    static constexpr uint32_t kFirst = 1, kUnclear = UINT32_MAX;

protected:
    ~ContainerView() = default;
};

}  // namespace schemagen
