// The interface of a mask engine to an automaton over bytes of any kind: a start, a step, and whether a text may end.
//
// Masks, budgets, forced tokens and token tables follow from these for any machine. A machine that knows more about
// itself says so in a facet: that the rest of its text is that of a string (string_view.hpp), that its containers can
// be read without their surroundings (container_view.hpp), how much a text still needs (completion_guide.hpp), which
// tokens can be read (token_lister.hpp), that it makes its masks itself (mask_factory.hpp). A facet makes things
// faster, never different.
//
// A configuration is a small value (`Configuration`) plus a chain of immutable frames: the return stack of a pushdown
// automaton, whose frames carry registers (members seen, item counts, live alternatives) so that bounds never
// multiply states. Frames live in an arena and are never changed once made, so copying a configuration is copying a
// `Configuration`.
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

class SharedAutomata;
struct Frame;
struct KeyByte;

struct Configuration {
    const Frame* frame = nullptr;
    const KeyByte* key = nullptr;    // of the key being read, where its text matters
    const KeyByte* text = nullptr;   // of everything since the start, inside an array with unique items
    const KeyByte* start = nullptr;  // where in `text` the scalar being read began
    uint64_t hash = 0;               // of the key being read
    uint32_t state = 0;              // automaton state, or position id before a value
    uint32_t node = 0;               // key-trie node, kNoNode once outside the declared keys
    uint32_t count = 0;              // code points of the string being read
    uint16_t gap = 0;                // whitespace read in this gap
    uint8_t mode = 0;
    bool outside = false;  // the container that a mask is made for was closed; `state` tells how
};

class ContainerView;
class StringView;
class CompletionGuide;
class MaskFactory;
class TokenLister;

class Automaton {
public:
    virtual ~Automaton() = default;
    // One of the same language as at its start, over other automata, with no users yet. Nothing changes here: what
    // contains this one may still fail to be renewed.
    virtual std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) = 0;
    // The same, once for all that contain this automaton.
    std::shared_ptr<Automaton> successor(const std::shared_ptr<SharedAutomata>& shared) {
        std::shared_ptr<Automaton> known = successor_.lock();
        if (known && successor_in_.lock() == shared) return known;
        successor_ = known = renewed(shared);
        successor_in_ = shared;
        return known;
    }
    virtual Configuration start() = 0;
    virtual bool step(Configuration& config, uint8_t byte, Arena& arena) = 0;  // on false the config is unspecified
    virtual bool accepting(const Configuration& config) = 0;
    // After the bytes of a token, or of a text that counts as one (kNoToken). False if the token cannot end here; the
    // config is then unspecified. Changes nothing unless `Facets::counts_tokens`.
    virtual bool end_token(Configuration&, uint32_t, Arena&) { return true; }
    // A step of a search for texts, whose tokens are not known yet: reads a byte if any tokens allow it.
    virtual bool search_step(Configuration& config, uint8_t byte, Arena& arena) { return step(config, byte, arena); }
    // A superset of the bytes that `step` takes.
    virtual ByteSet next_bytes(const Configuration& config) = 0;
    // A lower bound of the bytes to the nearest end; kFar and above: none.
    virtual uint32_t min_bytes(const Configuration& config) = 0;
    // Appends the identity of a configuration: those with equal keys have the same continuations (`exact`), or at least
    // the same shortest completion. Returns false if it depends on the text.
    virtual bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) = 0;
    // Why `byte` cannot follow, as the end of a sentence; `text` is all that was read. Frames may be made in `arena`.
    virtual std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) = 0;
    // Why a token cannot end after its bytes, likewise.
    virtual std::string refusal_of_end(const Configuration&, uint32_t) { return {}; }
    virtual uint64_t memory_bytes() const = 0;

    static constexpr uint32_t kFar = UINT32_MAX / 4, kNoToken = UINT32_MAX;

    struct Facets {
        StringView* strings = nullptr;
        ContainerView* containers = nullptr;
        CompletionGuide* guide = nullptr;
        MaskFactory* masks = nullptr;
        TokenLister* lister = nullptr;
        bool is_lively = true;       // whatever has begun can be finished; else ends are searched for, text by text
        bool has_lines = false;      // of its texts, refusals name the line and column
        bool counts_tokens = false;  // whether texts go on differently with where their tokens end
    };
    const Facets& facets() const { return facets_; }

protected:
    void set_facets(const Facets& facets) { facets_ = facets; }

private:
    Facets facets_;
    std::weak_ptr<Automaton> successor_;
    std::weak_ptr<SharedAutomata> successor_in_;
};

}  // namespace schemagen
