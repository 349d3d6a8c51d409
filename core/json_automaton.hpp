// JSON texts that satisfy a schema, as a deterministic pushdown automaton with registers.
//
// A schema value is a union of alternatives by JSON type: one regex for the bare scalars (numbers, true, false, null), a
// list of string languages, a list of array arms, a list of object arms. An arm is a conjunction: every keyword of it
// must hold. Where several arms are possible they are followed side by side, as a bit set in the frame, and a position
// inside them is the tuple of the values that the living arms ask for (a lazily determinised set of schemas, the
// subset construction lifted to nested words; Alur & Madhusudan 2004). When a nested value closes it reports which of
// the tuple it satisfied, and the arms whose value failed die. One frame per open object or array, one configuration per
// text: no backtracking and no parse sets.
//
// Liveness: a text is let through only while some arm can still be completed: keys whose value has no instance are not
// offered, counts are looked ahead, prefixes of keys and strings are kept inside their language (kernel.hpp `is_empty`).
#pragma once
#include <memory>
#include <unordered_map>

#include "automaton.hpp"
#include "kernel.hpp"

namespace schemagen {

using ValueId = uint32_t;  // 0: no instance

struct StringArm {
    NodeId regex;        // over the content, between the quotes, JSON spelling
    uint32_t min_chars;  // code points
    uint32_t max_chars;  // kUnbounded: none
};

struct Property {
    std::string key;  // content between the quotes, canonical spelling
    ValueId value;
    bool required;
};

struct ExtraKeys {
    NodeId regex;  // canonical spelling, declared keys excluded
    ValueId value;
    bool open;  // no prefix of a key leads to finitely many keys
};

struct ObjectArm {
    std::vector<Property> properties;
    std::vector<ExtraKeys> extras;  // disjoint
    uint32_t min_properties = 0, max_properties = kUnbounded;
};

struct ArrayArm {
    std::vector<ValueId> prefix;
    ValueId items = 0;
    uint32_t min_items = 0, max_items = kUnbounded;
};

struct ValueNode {
    NodeId bare = kEmpty;
    std::vector<StringArm> strings;
    std::vector<uint32_t> arrays, objects;
    bool productive = false;
};

enum class Whitespace : uint8_t { kFlexible, kCompact, kSpaced };

struct JsonOptions {
    bool any_order = false;
    Whitespace whitespace = Whitespace::kFlexible;
    uint32_t max_indent = 40;  // spaces or tabs after a line break
};

class JsonAutomaton final : public Automaton {
public:
    JsonAutomaton(std::shared_ptr<Kernel> kernel, JsonOptions options, uint64_t max_states);

    // Building: values may be referred to before they are defined.
    ValueId declare_value();
    void define_value(ValueId id, ValueNode node) { values_[id] = std::move(node); }
    uint32_t add_object(ObjectArm arm);
    uint32_t add_array(ArrayArm arm);
    void finish(ValueId root);  // after this the language is fixed
    bool productive(ValueId id) const { return values_[id].productive; }

    Leaf start() override;
    bool step(Leaf& leaf, uint8_t byte, Arena& arena) override;
    bool accepting(const Leaf& leaf) override;
    PlainText plain_text(const Leaf& leaf) override;
    std::string describe(const Leaf& leaf) override;
    uint64_t memory_bytes() const override;
    uint64_t state_count() const override { return dfa_.size(); }

private:
    struct TrieNode {
        uint8_t byte;
        uint32_t first_child, sibling;  // 0: none
        uint32_t low, high;             // sorted keys below
        uint32_t key;                   // kNoKey unless a key ends here
    };
    // The objects that may stand at one position.
    struct ObjectSet {
        std::vector<uint32_t> arms;
        std::vector<uint8_t> owner;                 // arm -> component of the position
        std::vector<std::string> keys;              // sorted, of all arms
        std::vector<TrieNode> trie;
        std::vector<std::vector<ValueId>> child;    // [arm][key]
        std::vector<std::vector<uint32_t>> place;   // [arm][key] -> declaration index, kNoKey: an extra key
        std::vector<std::vector<uint32_t>> key_at;  // [arm][declaration index] -> key
        std::vector<uint64_t> extra_capacity;       // [arm] extra keys that exist, counted up to minProperties
        bool tracks_keys = false;                   // some class of extra keys is finite from some prefix on
        std::vector<std::pair<uint8_t, uint32_t>> components;  // of the extra-key automaton: (arm, extras index)
        uint32_t extra_start = 0;
        uint32_t words = 0;
    };
    struct ArraySet {
        std::vector<uint32_t> arms;
        std::vector<uint8_t> owner;
        std::vector<uint32_t> limit;  // [arm] items that can exist
        uint32_t longest_prefix = 0;
    };
    // A place where a value is expected: the values that the living arms ask for.
    struct Position {
        std::vector<ValueId> values;
        bool prepared = false;
        uint32_t string_start = 0;
        std::vector<StringArm> strings;
        std::vector<uint8_t> string_owner;
        bool counted = false;
        uint32_t bare_start = 0;
        std::vector<uint8_t> bare_owner;
        std::unique_ptr<ObjectSet> objects;
        std::unique_ptr<ArraySet> arrays;
    };
    // What follows a key, or stands at an index: the position, and for each arm its component in it.
    struct Child {
        uint32_t position;
        std::vector<uint8_t> component;  // [arm], kNoComponent if the arm is dead
    };

    uint32_t position(std::vector<ValueId> values);
    Position& prepared(uint32_t id);
    void prepare_strings(Position& p);
    void prepare_bare(Position& p);
    void prepare_objects(Position& p);
    void prepare_arrays(Position& p);
    void build_trie(ObjectSet& set);
    void settle_productive();
    bool object_productive(const ObjectArm& arm) const;
    uint64_t extra_capacity(const ObjectArm& arm) const;
    uint64_t extras_left(const Frame* frame, uint32_t arm) const;
    void use_extra_key(Frame* frame, const Leaf& leaf, Arena& arena);
    uint32_t child(uint32_t position, uint64_t kind, uint64_t label, uint64_t arms, const std::vector<ValueId>& values);

    Frame* copy(const Frame* from, Arena& arena) const;
    Frame* open_object(const Leaf& leaf, uint32_t position, Arena& arena);
    Frame* open_array(const Leaf& leaf, uint32_t position, Arena& arena);
    void refresh_object(Frame* frame);
    void refresh_arm(Frame* frame, uint32_t arm);
    void refresh_array(Frame* frame);
    bool key_possible(const Frame* frame, const TrieNode& node) const;
    bool close_key(Leaf& leaf, Arena& arena);
    bool close_value(Leaf& leaf, uint64_t satisfied, Arena& arena);
    bool close_container(Leaf& leaf, Arena& arena);
    void expect_item(Leaf& leaf, Arena& arena, uint8_t mode);
    bool begin_value(Leaf& leaf, uint8_t byte, Arena& arena);
    bool gap(Leaf& leaf, uint8_t byte, bool line_breaks) const;
    bool step_string(Leaf& leaf, uint8_t byte, Arena& arena);
    bool step_bare(Leaf& leaf, uint8_t byte, Arena& arena);
    bool step_key(Leaf& leaf, uint8_t byte, Arena& arena);
    bool step_value(Leaf& leaf, uint8_t byte, Arena& arena);
    bool step_after(Leaf& leaf, uint8_t byte, Arena& arena);
    bool step_before_key(Leaf& leaf, uint8_t byte, Arena& arena);
    uint64_t bare_satisfied(const Leaf& leaf);
    uint32_t position_of(const Frame* frame) const;

    std::shared_ptr<Kernel> kernel_;
    JsonOptions options_;
    uint64_t max_states_;
    LazyDfa dfa_;
    std::vector<ValueNode> values_;
    std::vector<ObjectArm> objects_;
    std::vector<ArrayArm> arrays_;
    std::vector<std::unique_ptr<Position>> positions_;
    std::unordered_multimap<uint64_t, uint32_t> position_index_;
    std::vector<Child> children_;
    std::unordered_multimap<uint64_t, std::pair<std::array<uint64_t, 4>, uint32_t>> child_index_;
    ValueId root_ = 0;
    Arena root_arena_;
    const Frame* root_frame_ = nullptr;
};

// A regular expression over UTF-8 text: the flat sibling.
class RegexAutomaton final : public Automaton {
public:
    RegexAutomaton(std::shared_ptr<Kernel> kernel, NodeId regex, uint64_t max_states);
    Leaf start() override;
    bool step(Leaf& leaf, uint8_t byte, Arena& arena) override;
    bool accepting(const Leaf& leaf) override;
    PlainText plain_text(const Leaf&) override { return {}; }
    std::string describe(const Leaf&) override { return "the text of a pattern"; }
    uint64_t memory_bytes() const override { return kernel_->memory_bytes() + dfa_.memory_bytes(); }
    uint64_t state_count() const override { return dfa_.size(); }

private:
    std::shared_ptr<Kernel> kernel_;
    LazyDfa dfa_;
    uint32_t start_;
};

}  // namespace schemagen
