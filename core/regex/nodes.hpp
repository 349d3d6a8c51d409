// Regular expressions as hash-consed derivatives (Brzozowski 1964; Owens, Reppy & Turon 2009).
//
// A node is a language of byte strings. Nodes are interned, so equal terms are equal ids; the constructors apply the
// identities that keep the set of derivatives finite (associativity, commutativity, idempotence of | and &).
// Characters are nodes that know their encoding: a `Chars` node is one code point out of a set, spelled in UTF-8, as
// the content of a JSON string with every legal escape, or in the one canonical JSON spelling (json.dumps). Its
// derivative by a byte is again such a node, with the code points still possible, so Unicode classes never expand into
// byte automata and complement stays exact: within one encoding every text decodes to one string. A `Substring` node is
// a state of an automaton of its own (substrings.hpp), made when it is reached.
//
// Invariants: id 0 is the empty language, id 1 the empty string; a node without & and ~ is empty only if its id is 0.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "regex/numbers.hpp"
#include "regex/ranges.hpp"
#include "regex/substrings.hpp"
#include "util/bytes.hpp"
#include "util/hash_index.hpp"
#include "util/limits.hpp"
#include "util/work.hpp"

namespace schemagen {

using NodeId = uint32_t;

constexpr NodeId kEmpty = 0;
constexpr NodeId kEpsilon = 1;
constexpr uint32_t kUnbounded = UINT32_MAX;
constexpr uint32_t kMaxCodePoint = 0x10FFFF;

// kText is UTF-8 in which halves of surrogate pairs have a form, too, as in a `str` of Python.
enum class Encoding : uint8_t { kUtf8, kJson, kCanonical, kText };

enum class Kind : uint8_t { kEmpty, kEpsilon, kBytes, kChars, kNumber, kSubstring, kConcat, kRepeat, kOr, kAnd, kNot };

// How much of the spelling of one code point has been read. `Start*` and `Escape*` hold absolute code points; `Tail`
// and `Hex` hold them relative to the bytes read, so that equal remainders are equal nodes.
enum class Phase : uint8_t {
    kStartUtf8,
    kStartJson,
    kStartCanonical,
    kTail,  // a = continuation bytes left
    kEscapeJson,
    kEscapeCanonical,
    kHexAbsolute,  // a = digits left, b = digits read: surrogates are still possible
    kHex,
    kHexLower,  // a = digits left
    kLowBackslash,
    kLowU,
    kLowD,
    kLowNibble,  // the \uDC00-\uDFFF after a high surrogate
};

// The rest of the allowance of a grammar. `max_nodes` bounds derivatives, `max_states` the automaton states made of
// them.
struct Budget {
    static constexpr uint64_t kNodesPerState = 8, kPartsPerNode = 64;
    uint64_t max_nodes = UINT64_MAX, max_states = UINT64_MAX;
    double max_seconds = 1e9;  // for one call (work.hpp)
    uint64_t nodes = 0, states = 0;
    bool alone = false;  // the additions are for one text that found the grammar new

    // A node with very many parts counts as several.
    void add_node(size_t parts) {
        nodes += 1 + parts / kPartsPerNode;
        if (nodes > max_nodes) throw exceeded(Limit::kNodes, nodes, max_nodes);
    }
    void add_state() {
        if (++states > max_states) throw exceeded(Limit::kStates, states, max_states);
    }
    LimitExceeded exceeded(Limit limit, uint64_t reached, uint64_t most) const {
        LimitExceeded error(limit, reached, most, !alone);
        error.alone = alone;
        return error;
    }
};

// The set of one byte.
inline std::array<uint64_t, 4> one_byte(uint8_t byte) {
    std::array<uint64_t, 4> set{};
    set[byte >> 6] = 1ull << (byte & 63);
    return set;
}

using ByteCuts = std::array<uint64_t, 4>;  // bit b: byte b may behave differently from byte b - 1
// The first of the bytes up to one between which there is no cut, and the last of those from it on.
inline uint8_t first_alike(const ByteCuts& cuts, uint8_t byte) {
    size_t word = byte / 64;
    uint64_t before = cuts[word] & (~uint64_t{0} >> (63 - byte % 64));
    while (!before && word) before = cuts[--word];
    return before ? static_cast<uint8_t>(word * 64 + std::bit_width(before) - 1) : 0;
}
inline uint8_t last_alike(const ByteCuts& cuts, uint8_t byte) {
    while (byte < 255 && !(cuts[(byte + 1u) / 64] >> (byte + 1u) % 64 & 1)) ++byte;
    return byte;
}
using CharsRow = std::array<NodeId, 256>;

// Control over the making of nodes: who pays for them, and that no thread reads meanwhile.
class WriteControl {
public:
    // Charge new nodes to `budget` from now on (nullptr: to none); returns the one charged before.
    Budget* charge(Budget* budget) { return std::exchange(budget_, budget); }
    Budget* budget() const { return budget_; }
    // Called before anything is made or remembered. While readers have the kernel (shared_automata.hpp), its owner has
    // to make sure that no other thread reads on.
    void before_write() const {
        if (has_readers.load(std::memory_order_relaxed)) upgrade_lock();
    }
    std::atomic<bool> has_readers{false};
    void (*upgrade_lock)() = nullptr;

protected:
    Budget* budget_ = nullptr;
};

class Nodes : public WriteControl {
public:
    Nodes();

    NodeId chars(Encoding encoding, Ranges ranges);
    NodeId concat(NodeId left, NodeId right);
    NodeId alternation(const std::vector<NodeId>& parts);
    NodeId conjunction(const std::vector<NodeId>& parts);
    NodeId complement(NodeId inner);
    NodeId repeat(NodeId inner, uint32_t low, uint32_t high);
    NodeId byte_set(const std::array<uint64_t, 4>& set);
    NodeId number(const NumberRule& rule);
    NodeId substring(std::shared_ptr<const SubstringTable> table);  // any but the empty one
    // The texts of a language of numbers that have no exponent, as far as that is clear without a search: numbers by
    // value, and languages made of them by | and &. Other texts stay.
    NodeId without_idle_exponents(NodeId node);
    NodeId literals(std::vector<std::string> texts);  // any of these byte strings, prefixes shared
    NodeId any_string(Encoding encoding);

    // The nodes here that denote the same as some of another kernel.
    std::vector<NodeId> adopt(const Nodes& from, const std::vector<NodeId>& roots);

    bool nullable(NodeId node) const { return nodes_[node].nullable; }
    NodeId derivative(NodeId node, uint8_t byte);
    const ByteCuts& cuts(NodeId node) { return cuts_[cuts_id(node)]; }
    void add_cuts(NodeId node, ByteCuts& out) {
        const ByteCuts& own = cuts(node);
        for (size_t w = 0; w < out.size(); ++w) out[w] |= own[w];
    }
    uint32_t cuts_id(NodeId node);  // equal cuts have equal ids
    // A node that is the rest of a substring at `state`, and then `rest`.
    struct SubstringPlace {
        uint32_t table;
        SubstringTable::State state;
        NodeId rest;
    };
    std::optional<SubstringPlace> substring_place(NodeId node) const;
    NodeId at_substring(const SubstringPlace& place);
    const SubstringTable& substring_table(uint32_t table) const { return *substrings_[table]; }
    size_t substring_bytes() const;  // of all tables
    bool is_any_string(NodeId node) const {
        return node == any_[0] || node == any_[1] || node == any_[2] || node == any_[3];
    }
    size_t size() const { return nodes_.size(); }
    size_t memory_bytes() const;  // about

protected:
    std::vector<NodeId> parts_of(NodeId id) const;
    NodeId adopted(const Nodes& from, NodeId id, const std::unordered_map<NodeId, NodeId>& own);
    static constexpr uint32_t kNotKnown = UINT32_MAX;
    struct Node {
        Kind kind;
        Phase phase = Phase::kStartUtf8;
        bool nullable = false;
        bool boolean = false;                        // contains & or ~
        int8_t emptiness = -1;                       // -1 unknown, 0 not empty, 1 empty
        uint32_t cuts = kNotKnown, row = kNotKnown;  // of cuts_ and rows_
        uint32_t a = 0, b = 0, c = 0;
        uint32_t kids = 0, kid_count = 0;
    };

    class Speller;  // derivatives of characters
    class Merger;   // parts of | and & that are one
    NodeId intern(Node node, const std::vector<NodeId>& kids = {});
    NodeId chars_node(Phase phase, Ranges ranges, uint32_t a = 0, uint32_t b = 0);
    const CharsRow& chars_row(NodeId node);
    bool is_other_character(NodeId id, uint8_t byte);
    NodeId joined_counts(NodeId left, NodeId right);
    static constexpr uint32_t kWide = 16;  // parts of a union whose derivatives are remembered
    NodeId union_derivative(const Node& node, uint8_t byte);
    NodeId wide_derivative(NodeId id, uint8_t byte);
    NodeId number_node(const NumberState& state);
    uint32_t known_table(std::shared_ptr<const SubstringTable> table);
    NodeId substring_node(uint32_t table, SubstringTable::State state);
    const SubstringTable& table_of(const Node& node) const { return *substrings_[node.a]; }
    std::vector<NodeId> kids_of(const Node& node) const;
    ByteCuts compute_cuts(NodeId node);

    std::vector<Node> nodes_;
    std::vector<NodeId> kid_pool_;
    HashIndex index_;
    RangesTable ranges_;
    std::vector<std::array<uint64_t, 4>> byte_sets_;
    Numbers numbers_;
    std::vector<std::shared_ptr<const SubstringTable>> substrings_;
    std::deque<ByteCuts> cuts_;
    HashIndex cuts_index_;
    std::deque<CharsRow> rows_;
    std::unordered_map<uint64_t, NodeId> wide_derivatives_;  // by node and byte
    NodeId any_[4];
    NodeId anything_;  // every byte string: the complement of nothing
};

}  // namespace schemagen
