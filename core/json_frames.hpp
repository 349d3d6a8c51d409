// Private to the JSON automaton: its modes, and the frames of its return stack.
#pragma once
#include "hash.hpp"
#include "json_automaton.hpp"

namespace schemagen {

constexpr uint32_t kNoKey = UINT32_MAX;
constexpr uint32_t kNoNode = UINT32_MAX;
constexpr uint64_t kNoBytes = 0x243F6A8885A308D3ull;  // where the hash of a key starts

enum Mode : uint8_t {
    kValue,        // a value; after ':' (one space at most)
    kItem,         // a value of an array after ','
    kFirstItem,    // after '[': a value or ']'
    kFirstKey,     // after '{': a key or '}'
    kNextKey,      // after ',' in an object
    kKey,          // inside a key
    kColon,
    kString,
    kBare,         // inside a number or a literal name
    kAfter,        // after a value inside an object or array
    kDone,
};

// The text of a key, last byte first.
struct KeyByte {
    const KeyByte* previous;
    uint8_t byte;
};

// The text that a chain ends with since `start` (nullptr: all of it), and a copy of a text that lives as long as the frames.
std::string text_since(const KeyByte* last, const KeyByte* start);
std::string_view store(const std::string& text, Arena& arena);

// An extra key that was used, newest first.
struct UsedKey {
    uint64_t hash;
    const UsedKey* previous;
};

// Values in canonical form.
struct ValueList {
    const std::string_view* values;
    uint32_t count;
};

enum class FrameKind : uint8_t { kRootFrame, kObjectFrame, kArrayFrame };

// One open object or array (or the root), with its registers. Variable-size parts follow in the same allocation.
struct Frame {
    const Frame* parent;
    FrameKind kind;
    uint32_t position;     // where the container stands
    uint32_t child;        // what its current value must satisfy
    uint32_t count;        // members or items, the current one included
    Bits alive;            // slots
    Bits closable;         // slots that may end here
    Bits more;             // slots that can take another item, or a key
    Bits extra;            // slots that can take an extra key
    const UsedKey* used;
    uint32_t extra_start;  // automaton of the extra keys that are left, once the pending one is taken out
    const KeyByte* pending_key;
    bool pending;
    uint32_t* next;        // [slot] schema order: first declaration index still allowed
    uint64_t* seen;        // [words] keys
    uint64_t* offered;     // [slot][words] keys that the slot can take
    uint32_t bytes;        // of the allocation
    // Inside an array with unique items (json_unique.cpp):
    bool tracking;                     // the text is kept
    const KeyByte* start;              // where in the text this container began
    std::string_view key;              // of the current member, quoted
    const ValueList* items;            // finished items of an array whose items are unique
    const ValueList* forbidden;        // values this container must not become, as far as they still agree
    const ValueList* child_forbidden;  // values its current value must not become
};

inline bool bit(const uint64_t* words, uint32_t k) { return words[k >> 6] >> (k & 63) & 1; }
inline void set_bit(uint64_t* words, uint32_t k) { words[k >> 6] |= 1ull << (k & 63); }

}  // namespace schemagen
