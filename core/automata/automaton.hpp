// What a mask engine needs from an automaton over bytes, whatever its kind: a start, a step, and whether a text may end.
//
// A configuration is a small value (`Leaf`) plus a chain of immutable frames: the return stack of a pushdown automaton,
// whose frames carry registers (what was seen, how many, which alternatives are alive) so that bounds never multiply
// states. Frames live in an arena and are never changed once made, so copying a configuration is copying a `Leaf`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "regex/kernel.hpp"
#include "util/arena.hpp"

namespace schemagen {

class Languages;
struct Frame;
struct KeyByte;

struct Leaf {
    const Frame* frame = nullptr;
    const KeyByte* key = nullptr;    // of the key being read, where its text matters
    const KeyByte* text = nullptr;   // of everything since the start, inside an array with unique items
    const KeyByte* start = nullptr;  // where in `text` the scalar being read began
    uint64_t hash = 0;      // of the key being read
    uint32_t state = 0;     // automaton state, or position id before a value
    uint32_t node = 0;      // key-trie node, kNoNode once outside the declared keys
    uint32_t count = 0;     // code points of the string being read
    uint16_t gap = 0;       // whitespace read in this gap
    uint8_t mode = 0;
    bool outside = false;   // the container that a mask is made for was closed; `state` tells how
};

// Configurations with equal keys read on alike up to the end of the container they are in.
struct LocalKey {
    bool usable = false;  // otherwise the future depends on the text, and nothing may be remembered
    uint64_t a = 0, b = 0, c = 0;
    bool operator==(const LocalKey&) const = default;
};

// Where a configuration is inside a string (or a key that is not declared), and its future depends on little more than the
// state of the string automaton: what StringMasks needs.
struct StringBody {
    uint32_t state = 0;     // 0: nowhere like that
    bool key = false;       // declared keys have to be walked besides
    bool counting = false;  // how many code points are read before it ends matters
    bool bounded = false;   // and only `room` are left: tokens may not fit
    uint32_t room = 0;
};

struct Trie;

using CountTokens = std::function<uint32_t(const std::string&)>;

class Automaton {
public:
    virtual ~Automaton() = default;
    // One of the same language as at its start, over other languages, which nobody else uses yet. It takes over what the two can
    // share, unless it throws: this one cannot be used any more.
    virtual std::shared_ptr<Automaton> renewed(std::shared_ptr<Languages> languages) = 0;
    virtual Leaf start() = 0;
    virtual bool step(Leaf& leaf, uint8_t byte, Arena& arena) = 0;  // on false the leaf is unspecified
    virtual bool accepting(const Leaf& leaf) = 0;
    // Work that a step leaves open because most steps of a mask are never taken; called when a token was accepted.
    virtual void settle(Leaf& leaf, Arena& arena) = 0;
    // A superset of the bytes that `step` takes.
    virtual ByteSet next_bytes(const Leaf& leaf) = 0;

    // --- what masks need (masks.hpp) ---
    // `longest`: bytes of the longest token; bounds further away than that do not matter.
    virtual LocalKey local_key(const Leaf& leaf, uint32_t longest) = 0;
    // The same configuration with nothing known of what is around its container: closing it leads `outside`, and `state`
    // is how: which of the values it was asked for it is. kFirst: the first alone; kUnclear: what follows depends on the
    // text, the token has to be read in full.
    virtual Leaf alone(const Leaf& leaf, Arena& arena) = 0;
    // The configuration once the container around `inside` was closed in that way; false: it may not be.
    virtual bool behind(const Leaf& inside, uint32_t how, Leaf& out, Arena& arena) = 0;
    // Where the set of tails that may follow the container is remembered (`kFirst` only).
    virtual uint32_t& tails_of(const Leaf& leaf) = 0;
    virtual StringBody string_body(const Leaf& leaf, uint32_t longest) = 0;
    // The state of the string automaton inside a number or literal name whose text does not matter; 0 elsewhere.
    virtual uint32_t bare_state(const Leaf& leaf) const = 0;
    // Move to behind the closing quote, as if `chars` more code points had led to `state`; false: it may not close there.
    // A key becomes an extra one.
    virtual bool close_string(Leaf& leaf, uint32_t state, uint32_t chars, Arena& arena) = 0;
    // The same key being read, if it is to be a declared one.
    virtual Leaf as_declared_key(const Leaf& leaf) = 0;
    // The nodes of a vocabulary's trie at which the key being read is closed as a declared one, offered or not.
    virtual void declared_closings(const Leaf& leaf, const Trie& trie, std::vector<uint32_t>& nodes) = 0;
    // Whether the container has extra keys, which may not be used again, and how the key being read would become one.
    virtual bool has_used_keys(const Leaf& leaf) = 0;
    virtual std::vector<std::string> ways_to_repeat(const Leaf& leaf) = 0;
    // Whether the text so far matters: nothing but the inside of strings can be looked up.
    virtual bool tracking(const Leaf& leaf) = 0;

    // --- what the shortest completion needs (completion.hpp) ---
    // A lower bound of the bytes to the nearest end; kFar and above: none.
    virtual uint32_t least(const Leaf& leaf) = 0;
    // Appends what tells this configuration from others: those with equal keys are read on alike (`exact`), or at least
    // have the same shortest completion. false: it depends on the text.
    virtual bool identity(const Leaf& leaf, bool exact, std::vector<uint64_t>& key) = 0;
    // Whether the shortest completion depends on the text, so that each token may lead to another one.
    virtual bool text_matters(const Leaf& leaf) const = 0;
    // A copy whose frames live in `arena`, of a configuration that has an exact identity.
    virtual Leaf keep(const Leaf& leaf, Arena& arena) = 0;
    // Among the configurations with the same shortest completion one that takes every token that any of them takes.
    virtual Leaf roomiest(const Leaf& leaf) = 0;
    static constexpr uint32_t kFar = UINT32_MAX / 4;
    // Find out what the shortest texts are, as far as they can be told without a search. `tokens`: the fewest that spell a
    // text, kFar and above: none. Called once, before `least` and what follows.
    virtual void settle_shortest(const CountTokens& tokens) = 0;
    // An upper bound of the tokens of the shortest completion; kFar: not known. In bytes where it is not told by tokens.
    virtual uint32_t most(const Leaf& leaf) = 0;
    // The same of what is needed besides a string, number or key that is being read. Changes nothing: any number of threads
    // may ask at once.
    virtual uint32_t most_around(const Leaf& leaf) const = 0;
    // How many more tokens may be needed behind one token than `most_around` tells before it, if it has so many opening
    // brackets; kFar: not known.
    virtual uint32_t growth(uint32_t brackets) const = 0;
    // Append the shortest completion, the first of the shortest; false, and anything appended: it has to be searched for.
    virtual bool write_shortest(const Leaf& leaf, std::string& out) = 0;

    // Why `byte` cannot follow, as the end of a sentence; `text` is all that was read. Frames may be made in `arena`.
    virtual std::string refusal(const Leaf& leaf, uint8_t byte, std::string_view text, Arena& arena) = 0;
    virtual uint64_t memory_bytes() const = 0;

    static constexpr uint32_t kFirst = 1, kUnclear = UINT32_MAX;
};

}  // namespace schemagen
