// JSON texts that satisfy a schema, as a deterministic pushdown automaton with registers.
//
// A schema value is a union of alternatives by JSON type: one regex for the literal scalars (numbers, true, false,
// null), a list of string languages, a list of array disjuncts, a list of object disjuncts. A disjunct is a
// conjunction: every keyword of it must hold. Where several disjuncts are possible they are followed side by side, as a
// bit set in the frame, and a position inside them is the tuple of the values that the living disjuncts ask for (a
// lazily determinised set of schemas, the subset construction lifted to nested words; Alur & Madhusudan 2004). When a
// nested value closes it reports which of the tuple it satisfied, and the disjuncts whose value failed die. One frame
// per open object or array, one configuration per text: no backtracking and no parse sets.
//
// Liveness: a text is let through only while some disjunct can still be completed: keys whose value has no instance are
// not offered, counts are looked ahead, prefixes of keys and strings are kept inside their language (kernel.hpp
// `is_empty`).
#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "automata/container_view.hpp"
#include "automata/shared_automata.hpp"
#include "automata/string_view.hpp"

namespace schemagen {

using ValueId = uint32_t;  // 0: no instance

struct Frame;
struct FrameState;
struct ValueList;
struct Around;

// The required members of an object that are missing, without the commas between them, or the items of an array.
struct Required {
    uint64_t bytes = 0;   // a lower bound, exact where none is unclear
    uint64_t tokens = 0;  // an upper bound
    uint32_t count = 0;
    uint32_t unclear = 0;  // of how many the shortest text is not known

    Required& operator+=(const Required& other);
    Required& operator-=(const Required& other);
};

struct StringDisjunct {
    NodeId regex;            // over the content, between the quotes, JSON spelling
    uint32_t min_chars;      // code points
    uint32_t max_chars;      // kUnbounded: none
    uint32_t to_finish = 0;  // Kernel::most_to_finish; filled in where a position has the disjunct
    bool any = false;        // Kernel::is_any_string; likewise, for those who may not ask a kernel that others write
};

// One way to take a member or an item: what its value must be, and the state of the disjunct afterwards. A disjunct
// that counts (contains, or "some member breaks ...") has one state per count; a disjunct that does not has the single
// state 0.
struct Option {
    ValueId value;
    uint32_t target;
    bool operator==(const Option&) const = default;
};
using Options = std::vector<std::vector<Option>>;  // [state]

struct Property {
    std::string key;  // content between the quotes, canonical spelling
    bool required;
    Options options;
};

struct ExtraKeys {
    bool open;     // no prefix of a key leads to finitely many keys
    NodeId regex;  // canonical spelling; without the declared keys, unless it is open: the automaton tells these apart
    Options options;
};

struct ObjectDisjunct {
    std::vector<Property> properties;
    std::vector<ExtraKeys> extras;  // disjoint
    uint32_t min_properties = 0, max_properties = kUnbounded;
    std::vector<bool> final;  // [state] counts are as they must be at the end
};

struct ArrayDisjunct {
    std::vector<Options> prefix;
    Options items;
    uint32_t min_items = 0, max_items = kUnbounded;
    std::vector<bool> final;
    bool unique = false;
};

struct ValueNode {
    NodeId literal = kEmpty;
    std::vector<StringDisjunct> strings;
    std::vector<uint32_t> arrays, objects;
    bool productive = false;
};

enum class Whitespace : uint8_t { kFlexible, kCompact, kSpaced, kAny, kFixed };

// What stands in the gaps of a fixed layout, as json.dumps(indent=..., separators=...) writes it.
struct FixedLayout {
    std::string before_comma, after_comma, before_colon, after_colon;
    bool lines = false;  // each member and item is on a line of its own
    std::string indent;  // of one level, behind a line break
};

struct JsonOptions {
    bool any_order = false;
    Whitespace whitespace = Whitespace::kFlexible;
    uint32_t max_indent = 40;  // kFlexible: spaces or tabs after a line break
    uint32_t max_gap = 64;     // kAny: characters in one gap
    FixedLayout fixed = {};    // kFixed
};

class JsonAutomaton final : public Automaton, public StringView, public ContainerView, public CompletionGuide {
public:
    JsonAutomaton(std::shared_ptr<SharedAutomata> shared, JsonOptions options, uint64_t max_states);

    // Building: values may be referred to before they are defined.
    ValueId declare_value();
    void define_value(ValueId id, ValueNode node) { values_[id] = std::move(node); }
    uint32_t add_object(ObjectDisjunct disjunct);
    uint32_t add_array(ArrayDisjunct disjunct);
    void finish(ValueId root);  // after this the language is fixed
    bool productive(ValueId id) const { return values_[id].productive; }
    size_t value_count() const { return values_.size(); }

    std::shared_ptr<Automaton> renewed(std::shared_ptr<SharedAutomata> shared) override;
    Configuration start() override;
    bool step(Configuration& config, uint8_t byte, Arena& arena) override;
    bool accepting(const Configuration& config) override;
    void settle(Configuration& config, Arena& arena) override;
    LocalKey local_key(const Configuration& config, uint32_t longest) const override;
    Configuration detached(const Configuration& config, Arena& arena) override;
    bool after_close(const Configuration& inside, uint32_t how, Configuration& out, Arena& arena) override;
    uint32_t& tails_of(const Configuration& config) const override;
    StringBody string_body(const Configuration& config, uint32_t longest) override;
    uint32_t literal_state(const Configuration& config) const override;
    bool close_string(Configuration& config, uint32_t state, uint32_t chars, Arena& arena) override;
    Configuration as_declared_key(const Configuration& config) override;
    void declared_closings(const Configuration& config, const Trie& trie, std::vector<uint32_t>& nodes) override;
    ByteSet next_bytes(const Configuration& config) override;
    bool has_used_keys(const Configuration& config) const override;
    std::vector<std::string> used_key_suffixes(const Configuration& config) override;
    bool is_text_dependent(const Configuration& config) const override;
    uint32_t min_bytes(const Configuration& config) override;
    bool identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) override;
    bool text_matters(const Configuration& config) const override;
    Configuration keep(const Configuration& config, Arena& arena) override;
    Configuration least_constrained(const Configuration& config) override;
    void settle_shortest(const CountTokens& tokens) override;
    uint32_t most_tokens(const Configuration& config) override;
    uint32_t most_tokens_around(const Configuration& config) const override;
    uint32_t growth(uint32_t brackets) const override;
    bool write_shortest(const Configuration& config, std::string& out) override;
    std::string refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) override;
    uint64_t memory_bytes() const override;

private:
    struct TrieNode {
        uint8_t byte;
        uint32_t depth;                 // of this byte, 0 for the root
        uint32_t first_child, sibling;  // 0: none
        uint32_t low, high;             // sorted keys below
        uint32_t key;                   // kNoKey unless a key ends here
    };
    // The objects that may stand at one position. A disjunct with n states takes n places in the bit sets ("slots").
    struct ObjectSet {
        std::vector<uint32_t> disjuncts;  // [slot]
        std::vector<uint32_t> state;      // [slot] state of its disjunct
        std::vector<uint16_t> owner;      // [slot] component of the position
        Bits initial;                     // slots alive at the start
        std::vector<std::string> keys;    // sorted, of all disjuncts
        std::vector<TrieNode> trie;
        std::vector<std::vector<const std::vector<Option>*>> options;  // [slot][key], null: the key is forbidden
        std::vector<std::vector<uint32_t>> place;     // [slot][key] -> declaration index, kNoKey: an extra key
        std::vector<std::vector<uint32_t>> key_at;    // [slot][declaration index] -> key
        std::vector<std::vector<uint64_t>> required;  // [slot] keys, as bits
        bool tracks_keys = false;                     // some class of extra keys is finite from some prefix on
        std::vector<std::pair<uint16_t, uint32_t>>
            components;  // of the extra-key automaton: (first slot, extras index)
        uint32_t extra_start = 0;
        uint32_t words = 0;
        uint32_t most_count = 0;  // more members are no different
    };
    struct ArraySet {
        std::vector<uint32_t> disjuncts;
        std::vector<uint32_t> state;
        std::vector<uint16_t> owner;
        Bits initial;
        uint32_t most_count = 0;  // more items are no different
        bool unique = false;      // some disjunct asks for unique items
        uint32_t base(uint32_t slot) const { return slot - state[slot]; }
    };
    // How far an array disjunct is from its end, by state: `live[count * states + state]` up to `settled`, beyond it by
    // `need`.
    struct ArrayOutlook {
        bool ready = false;
        uint32_t settled = 0;
        std::vector<bool> live;
        std::vector<uint32_t> need;
    };
    // A place where a value is expected: the values that the living disjuncts ask for.
    struct Position {
        std::vector<ValueId> values;
        bool prepared = false;
        uint32_t string_start = 0;
        std::vector<StringDisjunct> strings;
        std::vector<uint16_t> string_owner;
        bool counted = false;
        uint32_t literal_start = 0;
        std::vector<uint16_t> literal_owner;
        std::unique_ptr<ObjectSet> objects;
        std::unique_ptr<ArraySet> arrays;
        const FrameState* object_state = nullptr;  // just opened; null: not asked yet
        const FrameState* array_state = nullptr;
    };
    // What follows a key, or stands at an index: the position, and which slot each satisfied component leads to.
    struct Move {
        ValueId value;
        uint32_t slot;
        bool operator==(const Move&) const = default;
    };
    struct Child {
        uint32_t position;
        std::vector<Move> moves;
        std::vector<uint16_t> component;  // [move]
    };

    uint32_t position(std::vector<ValueId> values);
    Position& prepared(uint32_t id);
    void prepare_strings(Position& p);
    void prepare_literal(Position& p);
    void prepare_objects(Position& p);
    void prepare_arrays(Position& p);
    void build_trie(ObjectSet& set);
    void place_keys(ObjectSet& set, uint32_t slot);
    void settle_productive();
    void surround(ValueId root);
    template <class Visit>
    void each_language(const Visit& visit);
    bool string_possible(const StringDisjunct& disjunct) const;
    bool string_fits(const Configuration& config, uint32_t k) const;
    bool productive_option(const Option& option) const { return values_[option.value].productive; }
    bool object_productive(const ObjectDisjunct& disjunct) const;
    bool settled_live(const ArrayDisjunct& disjunct, const ArrayOutlook& out, size_t state, uint64_t count) const;
    ArrayOutlook outlook(const ArrayDisjunct& disjunct) const;
    bool array_live(uint32_t disjunct, uint32_t state, uint64_t count);
    uint64_t extra_capacity(const ObjectDisjunct& disjunct) const;
    uint64_t extras_left(const FrameState* frame, uint32_t slot);
    uint64_t words_left(NodeId language, uint64_t limit);
    uint64_t keys_to_finish(const ObjectDisjunct& disjunct, uint32_t state, const std::vector<bool>& usable,
                            uint64_t extras) const;
    uint32_t child(std::vector<Move> moves);

    // States of frames (json/states.cpp) and what they allow (json/frames.cpp).
    FrameState* draft(const FrameState* from, Arena& arena) const;
    void forget_what_is_over(FrameState* state) const;
    const FrameState* intern(FrameState* state);
    uint32_t bits_id(const Bits& bits);
    const FrameState* opened_object(uint32_t at, uint32_t depth, Arena& arena);
    const FrameState* opened_array(uint32_t at, uint32_t depth, Arena& arena);
    const FrameState* with_item(const FrameState* from, Arena& arena);
    const FrameState* with_key(const FrameState* from, uint32_t key, const Bits& classes, Arena& arena);
    Bits survivors(const FrameState* from, const Bits& satisfied) const;
    const FrameState* with_value(const FrameState* from, const Bits& alive, uint32_t extra_start, Arena& arena);
    const FrameState* with_first_component(const FrameState* from, Arena& arena);
    Frame* copy(const Frame* from, const FrameState* state, Arena& arena) const;
    Frame* open(const Configuration& config, const FrameState* state, Arena& arena);
    Around around(const Frame* parent);
    void refresh_object(FrameState* frame);
    void refresh_plain(FrameState* frame, uint32_t slot);
    void refresh_counting(FrameState* frame, uint32_t slot);
    void refresh_array(FrameState* frame);
    bool foreign_key(const FrameState* frame, uint32_t slot, uint32_t key) const;
    bool counting_live(const FrameState* frame, uint32_t slot, const Option& option, uint32_t key);
    void take_moves(const FrameState* frame, uint32_t slot, const std::vector<Option>& options, uint32_t key,
                    std::vector<Move>& moves);
    std::vector<Move> item_moves(const FrameState* frame, uint32_t slot);
    std::vector<Move> extra_moves(const FrameState* frame, const Bits& components);
    uint32_t extra_entry(const FrameState* frame);
    bool key_possible(const FrameState* frame, const TrieNode& node) const;
    uint32_t position_of(const FrameState* frame) const;
    bool near_least(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const;
    bool near_most(const StringDisjunct& disjunct, uint32_t count, uint32_t longest) const;
    uint32_t count_key(const Configuration& config, uint32_t longest) const;

    // Unique items (json/unique.cpp).
    ValueList* list(const std::vector<std::string_view>& values, Arena& arena) const;
    bool all_unique(const Frame* frame, const Bits& slots) const;
    bool must_close(const Frame* frame, Arena& arena);
    void set_forbidden(Frame* frame, std::string_view key, Arena& arena);
    bool note_value(Frame* frame, const Configuration& config, const KeyByte* start, uint8_t last, Bits& alive,
                    Arena& arena);
    bool is_forbidden(const Frame* frame) const;
    NodeId spelled(std::vector<std::u32string> texts);
    uint32_t string_start_without(const Position& p, const ValueList& forbidden);
    uint32_t literal_start_without(const Position& p, const ValueList& forbidden);

    // Distances (json/least.cpp).
    // Bytes of some members or items without the commas between them, how many they are, and how many of these may be
    // any (of `each` bytes at least).
    struct Needed {
        uint64_t bytes = 0, count = 0, any = 0, each = 0;
    };
    uint32_t min_bytes_value(ValueId value, uint32_t depth) const;
    uint32_t min_bytes_option(const std::vector<Option>& options, uint32_t depth) const;
    uint32_t min_bytes_option(const Options& options, uint32_t depth) const;
    Needed needed_members(const ObjectDisjunct& disjunct, const FrameState* state, uint32_t slot) const;
    Needed needed_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count, uint32_t depth) const;
    Needed needed(const FrameState* state, uint32_t slot) const;
    uint64_t least_member(const ObjectDisjunct& disjunct, uint32_t depth) const;
    static Needed without_any(Needed needed);
    uint32_t closed(const Needed& inside) const;
    static uint64_t used_keys(const Frame* frame);
    void settle_min_bytes();
    void settle_min_bytes_repeated();
    uint32_t least_item(const Options& options, bool repeated, uint32_t depth) const;
    uint32_t min_bytes_rest(const FrameState* state, bool opened);
    uint32_t min_bytes_behind(const FrameState* state);
    uint32_t min_bytes_position(uint32_t id, uint32_t depth, bool repeated = false) const;
    uint64_t min_bytes_next_key(const Configuration& config);
    uint64_t min_bytes_first(const Configuration& config);
    uint32_t min_bytes_key(const Configuration& config);
    uint32_t min_bytes_string(const Configuration& config);
    uint32_t min_bytes_literal(const Configuration& config);
    bool has_enough_members(const FrameState* state, uint64_t count) const;
    uint32_t count_identity(const Configuration& config, bool exact) const;

    // Gaps (json/layout.cpp).
    struct Gap;
    uint32_t depth_inside(const FrameState* state) const;
    Gap gap_of(const Configuration& config) const;
    Gap gap_before_close(const FrameState* state) const;
    uint64_t size_of(const Gap& gap) const;
    uint8_t byte_of(const Gap& gap, uint64_t at) const;
    bool step_gap(Configuration& config, uint8_t byte) const;
    bool step_gap_after_value(Configuration& config, uint8_t byte) const;
    bool gap_is_read(const Configuration& config, uint8_t byte) const {
        return options_.whitespace != Whitespace::kFixed || fixed_gap_is_read(config, byte);
    }
    bool fixed_gap_is_read(const Configuration& config, uint8_t byte) const;
    ByteSet gap_bytes(const Configuration& config) const;
    std::string layout_refusal(const Configuration& config, uint8_t byte, std::string_view text) const;
    uint32_t comma_bytes() const;
    uint32_t colon_bytes() const;
    uint64_t line_bytes(uint32_t depth) const;
    uint64_t closing_bytes(const FrameState* state) const;
    uint64_t gap_bytes_left(const Configuration& config) const;
    void settle_min_bytes_lines();
    uint64_t min_bytes_lines(const std::vector<Option>& options) const;
    uint64_t min_bytes_lines(const Options& options) const;
    uint64_t min_bytes_lines(const ObjectDisjunct& disjunct) const;
    uint64_t min_bytes_lines(const ArrayDisjunct& disjunct) const;

    // The shortest text (json/shortest.cpp). Not told of a fixed layout, whose gaps have texts of their own.
    bool tells_shortest() const { return options_.whitespace != Whitespace::kFixed; }
    struct Shortest {
        enum Kind : uint8_t { kUnclear, kText, kObject, kArray };
        Kind kind = kUnclear;
        uint32_t disjunct = 0;
        uint32_t tokens = kFar;  // at most; the bytes are `min_bytes_values_`
        std::string text;        // all of it, or the opening bracket
    };
    struct ObjectPlan {
        std::vector<Required> from;   // [property]: of it and those declared behind it, and behind the last one
        std::vector<uint32_t> order;  // of the required properties in the shortest text
        uint32_t longest_key = 0;
    };
    std::string comma() const;
    std::string colon() const;
    bool first_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const;
    bool follow_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const;
    std::string first_string(const StringDisjunct& disjunct, uint32_t length) const;
    void find_shortest(ValueId id);
    void settle_all(const CountTokens& tokens);
    const Shortest* only_option(const std::vector<Option>& options) const;
    const std::vector<Required>& required_sums(uint32_t disjunct);
    Required price(const Property& property) const;
    static Required member(const std::vector<Required>& from, uint32_t place);
    Required required_members(uint32_t disjunct, uint32_t place);
    Required required_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count, uint32_t depth) const;
    Required required(const FrameState* state, uint32_t slot) const;
    void remember_required(const FrameState* state);
    uint32_t most_behind(const Frame* frame) const;
    uint32_t most_rest(const Frame* frame, bool opened) const;
    uint32_t most_position(uint32_t id) const;
    uint32_t most_key(const Configuration& config);
    static uint32_t only_slot(const FrameState* state);
    uint32_t next_required(const Configuration& config) const;
    const Around& summed(const Frame* frame);
    void sum_around(const Around& around, const Frame* parent);
    bool has_sums(const Frame* frame) const;
    bool rest_of_word(const Configuration& config, std::string& out) const;
    void write_value(ValueId id, std::string& out) const;
    void write_rest(const FrameState* state, uint32_t slot, bool first, uint32_t skip, std::string& out) const;
    static ValueId item_of(const ArrayDisjunct& disjunct, uint64_t place);
    uint32_t peak(const ValueNode& value) const;
    void settle_growth();
    uint32_t most_opened(const Needed& needed, const Required& required) const;

    // Transitions (json/steps.cpp).
    void use_extra_key(Frame* frame, const Configuration& config, Arena& arena);
    uint32_t settled_extra_keys(const Frame* frame);
    bool close_key(Configuration& config, Arena& arena);
    bool close_value(Configuration& config, const Bits& satisfied, const KeyByte* start, uint8_t last, Arena& arena);
    bool may_close(const Frame* frame) const;
    bool close_container(Configuration& config, uint8_t last, Arena& arena);
    bool advance(Configuration& config, uint8_t byte, Arena& arena);
    void expect_item(Configuration& config, Arena& arena);
    bool begin_value(Configuration& config, uint8_t byte, Arena& arena);
    bool gap(Configuration& config, uint8_t byte, bool line_breaks) const;
    bool step_string(Configuration& config, uint8_t byte, Arena& arena);
    bool step_literal(Configuration& config, uint8_t byte, Arena& arena);
    bool step_key(Configuration& config, uint8_t byte, Arena& arena);
    bool step_value(Configuration& config, uint8_t byte, Arena& arena);
    bool step_after(Configuration& config, uint8_t byte, Arena& arena);
    bool step_before_key(Configuration& config, uint8_t byte, Arena& arena);
    Bits string_satisfied(const Configuration& config);
    Bits literal_satisfied(const Configuration& config);

    // Refusals in words (json/explain.cpp).
    std::string types_at(uint32_t position);
    std::string expected_value(uint32_t position, uint8_t byte, const std::string& pointer);
    std::string expected_item(const Configuration& config, const std::string& pointer);
    std::string expected_string(const Configuration& config, uint8_t byte, const std::string& pointer);
    std::string expected_literal(const Configuration& config, uint8_t byte, std::string_view text,
                                 const std::string& pointer, std::string_view scalar, Arena& arena);
    std::string keys_for(const Configuration& config, std::string_view prefix);
    std::string expected_key(const Configuration& config, uint8_t byte, const std::string& pointer,
                             std::string_view scalar);
    std::string open_end(const Configuration& config, const std::string& pointer);
    std::vector<std::string> missing_keys(const FrameState* state) const;
    std::string expected_after(const Configuration& config, uint8_t byte, const std::string& pointer);

    Kernel& kernel() const { return shared_->kernel; }
    LazyDfa& dfa() const { return shared_->dfa; }

    std::shared_ptr<SharedAutomata> shared_;
    JsonOptions options_;
    uint64_t max_states_;
    ValueId root_ = 0;
    std::vector<ValueNode> values_;
    std::vector<ObjectDisjunct> objects_;
    std::vector<ArrayDisjunct> arrays_;
    std::vector<ArrayOutlook> outlooks_;
    std::unordered_map<uint64_t, uint64_t> word_counts_;
    std::vector<std::unique_ptr<Position>> positions_;
    HashIndex position_index_;
    std::vector<Child> children_;
    HashIndex child_index_;
    HashIndex state_index_;
    std::vector<const FrameState*> states_;                      // [id - 1]
    std::unordered_map<uint64_t, const FrameState*> key_moves_;  // (state, key or class of keys)
    std::unordered_map<Bits, uint32_t> bits_index_;
    std::vector<Bits> bits_{Bits()};
    std::vector<uint32_t> min_bytes_values_;  // [value] bytes of the shortest instance; empty: not asked yet
    std::vector<uint32_t>
        min_bytes_repeated_;  // [value] the same behind an item of an array with unique items; empty: there are none
    std::vector<uint32_t>
        min_bytes_lines_;  // [value] line breaks of the instance that has the fewest; empty: there are none
    std::vector<uint32_t> min_bytes_behind_;  // [state]
    std::vector<Shortest> shortest_;          // [value]
    std::vector<ObjectPlan> plans_;           // [object]
    const CountTokens* count_tokens_ = nullptr;
    uint32_t comma_tokens_ = 1;
    struct {
        uint32_t opened = kFar, local = kFar;  // bytes that a bracket adds to what is needed, and all else in a token
    } growth_;
    size_t state_bytes_ = 0;
    Arena state_arena_;
    const Frame* root_frame_ = nullptr;
    const Frame* exit_frame_ = nullptr;  // around the container that a mask is made for
};

}  // namespace schemagen
