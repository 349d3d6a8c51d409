// The modes of the JSON automaton, and the frames of its return stack.
#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "json/program.hpp"
#include "util/hash.hpp"
#include "vocabulary/seams.hpp"

namespace schemagen {

constexpr uint32_t kNoKey = UINT32_MAX;
constexpr uint32_t kNoNode = UINT32_MAX;
constexpr uint32_t kNoAlternative = UINT32_MAX;
constexpr uint32_t kNoTails = UINT32_MAX;
constexpr uint32_t kNotSummed = UINT32_MAX;
constexpr uint32_t kUnknownStart = UINT32_MAX;
constexpr Tail kNotCounted{UINT32_MAX, UINT32_MAX};
constexpr uint64_t kNoBytes = 0x243F6A8885A308D3ull;  // where the hash of a key starts

enum Mode : uint8_t {
    kValue,      // a value; after ':' (one space at most)
    kItem,       // a value of an array after ','
    kFirstItem,  // after '[': a value or ']'
    kFirstKey,   // after '{': a key or '}'
    kNextKey,    // after ',' in an object
    kKey,        // inside a key
    kColon,      // after a key
    kString,
    kLiteral,  // inside a number or a literal name
    kAfter,    // after a value inside an object or array
    kDone,
};

// The text of a key, last byte first.
struct KeyByte {
    const KeyByte* previous;
    uint8_t byte;
};

// The text that a chain ends with since `start` (all of it if nullptr), and a copy of a text that lives as long as the
// frames.
std::string text_since(const KeyByte* last, const KeyByte* start);
std::string_view store(const std::string& text, Arena& arena);

// An extra key that was used, newest first.
struct UsedKey {
    uint64_t hash;
    std::string_view text;  // content between the quotes
    const UsedKey* previous;
    uint64_t sum;  // of the hashes of this key and those before it
};

// Values in canonical form.
struct ValueList {
    const std::string_view* values;
    uint32_t count;
    // Of values that one must not become: where its strings and literals start without them.
    mutable uint32_t string_start = kUnknownStart, literal_start = kUnknownStart;
    // Of finished items: their number (json/distinct_items.hpp).
    static constexpr uint32_t kUnknown = UINT32_MAX;
    mutable uint32_t used = kUnknown;
    std::span<const std::string_view> all() const { return {values, count}; }
};

enum class FrameKind : uint8_t { kRootFrame, kObjectFrame, kArrayFrame, kExitFrame };

// The values that one open object or array (or the root) allows, whatever surrounds it: its registers and data derived
// from them. Interned per grammar (json/frame_states.hpp), so that equal registers are one state with one set of masks;
// registers that cannot matter any more are set to 0 first. Variable-size parts follow in the same allocation.
struct FrameState {
    FrameKind kind;
    bool open_value;       // a value is being read; otherwise between members, and the sets below are filled
    uint32_t id;           // 0 if the table is full: this state lives in the arena of a matcher
    uint32_t position;     // the position of the container
    uint32_t child;        // of its current value, in `Positions::children`
    uint32_t count;        // members or items, the current one included, as far as it matters
    uint32_t extra_start;  // automaton of the extra keys that are left, once the pending one is taken out
    uint32_t bytes;        // of the allocation
    uint32_t depth;        // open containers, this one included, where a fixed layout indents; 0 elsewhere
    Bits alive;            // slots
    Bits closable;         // slots that may end here
    Bits more;             // slots that can take another item, or a key
    Bits extra;            // slots that can take an extra key
    uint32_t extra_entry;  // of that automaton without the classes of keys that none of these slots can take; 0 if none
    uint32_t* next;        // [slot] schema order: first declaration index still allowed
    uint64_t* seen;        // [words] keys
    uint64_t* offered;     // [slot][words] keys that the slot can take
    uint64_t* alternatives;           // those of groups that still hold, as bits
    mutable Required required;        // the members still required, unless `next` tells them
    mutable bool has_required;        // whether these were computed
    mutable const FrameState* after;  // once its value satisfied component 0 and nothing else; null until computed
    mutable const FrameState* item;   // once its next item was begun
};

// Sums over the containers around one, so that a query need not walk up the chain. All except the two sums is known
// from the beginning.
struct Around {
    uint64_t key_a = 0, key_b = 0;  // hash of their states, 128 bits
    uint64_t used_keys = 0;         // hash of the extra keys that matter to them
    uint64_t all_keys = 0;          // and of all of them
    mutable uint32_t least = kNotSummed,
                     most = kNotSummed;  // bytes and tokens that they still require (json/shortest_values.hpp)
    mutable uint32_t growth = 0;      // tokens that one of them may need more (json/growth.hpp), once these are summed
    mutable Tail tail = kNotCounted;  // the fewest tokens of that (json/shortest_tokens.hpp)
    mutable const uint32_t* leasts =
        nullptr;           // [component] bytes if the container satisfies that; null: always `least`
    bool numbered = true;  // each state has an id
    bool interned = true;  // and no text is kept
    bool unused = true;    // none has extra keys
    bool enough = true;    // none needs more members while it has extra keys
};

// One open object or array of a text: its state, and what only this text knows.
struct Frame {
    const FrameState* state;
    const Frame* parent;
    Around around;
    const UsedKey* used;
    const KeyByte* pending_key;  // an extra key that is to be taken out of the language when its value has been read
    bool pending;
    bool tracking;                     // the text is kept: inside an array with unique items (json/unique_items.hpp)
    uint32_t count;                    // members or items, the current one included
    mutable uint32_t tails;            // which tails may follow once it is closed (masks.hpp); kNoTails until computed
    const KeyByte* start;              // where in the text this container began
    std::string_view key;              // of the current member, quoted
    const ValueList* items;            // finished items of an array whose items are unique
    const ValueList* forbidden;        // values this container must not become, as far as they still agree
    const ValueList* child_forbidden;  // values its current value must not become
};

// Whether the extra key that is being read was used as far as it goes.
bool was_used(const Configuration& config);
// To after the opening quote of a key.
void open_key(Configuration& config);

// A sum of bytes or tokens, at most "far".
inline uint32_t plus(uint64_t a, uint64_t b) {
    return static_cast<uint32_t>(std::min<uint64_t>(a + b, Automaton::kFar));
}

inline bool bit(const uint64_t* words, uint32_t k) { return words[k >> 6] >> (k & 63) & 1; }
inline void set_bit(uint64_t* words, uint32_t k) { words[k >> 6] |= 1ull << (k & 63); }

}  // namespace schemagen
