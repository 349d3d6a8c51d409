// The compiled schema: its values and disjuncts, which of them have an instance, and how far an array or object is from
// its end.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/shared_automata.hpp"

namespace schemagen {

using ValueId = uint32_t;  // 0: no instance

constexpr uint32_t kFar = Automaton::kFar;

// The required members of an object that are missing, without the commas between them, or the items of an array.
struct Required {
    uint64_t bytes = 0;   // a lower bound, exact where none is unclear
    uint64_t tokens = 0;  // an upper bound
    uint32_t count = 0;
    uint32_t unclear = 0;    // of how many the shortest text is not known
    uint32_t unbounded = 0;  // of how many no bound of the tokens is known

    Required& operator+=(const Required& other);
    Required& operator-=(const Required& other);
    // Before them; `opened`: the first one comes right after the bracket.
    uint32_t commas(bool opened) const { return opened && count ? count - 1 : count; }
    // Something else may be required, too.
    void leave_open(bool open) { unclear += open, unbounded += open; }
};

struct StringDisjunct {
    NodeId regex;            // over the content, between the quotes, JSON spelling
    uint32_t min_chars;      // code points
    uint32_t max_chars;      // kUnbounded if none
    uint32_t to_finish = 0;  // Kernel::most_to_finish; filled in where a position has the disjunct
    bool any = false;        // Kernel::is_any_string; likewise, for threads that may not ask a kernel that others write
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
// The one way if there are no others, else null.
inline const Option* only(const std::vector<Option>& options) { return options.size() == 1 ? options.data() : nullptr; }
inline const Option* only(const Options& options) { return options.size() == 1 ? only(options[0]) : nullptr; }

constexpr uint32_t kNoGroup = UINT32_MAX;

struct Property {
    std::string key;                        // content between the quotes, canonical spelling
    bool required;                          // in a group: never, as its alternatives tell
    Options options;                        // in a group: those of all of them
    uint32_t group = kNoGroup, member = 0;  // the group that it is in, and its place there
};

// What one alternative of a group asks of each property of the group: its value (0: the key is forbidden), and whether
// it must be there.
struct Alternative {
    std::vector<ValueId> values;
    std::vector<bool> required;
};

// Alternatives of which one has to hold, over properties that no other group has (json/groups.hpp).
struct Group {
    std::vector<uint32_t> places;  // of its properties, ascending
    std::vector<Alternative> alternatives;
    uint32_t first = 0;  // number of its first alternative among those of the disjunct
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
    std::vector<bool> final;    // [state] counts are as they must be at the end
    std::vector<Group> groups;  // only where nothing is counted, neither members nor kinds of them

    uint32_t alternative_count() const {
        return groups.empty() ? 0 : groups.back().first + static_cast<uint32_t>(groups.back().alternatives.size());
    }
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

// The gaps of a fixed layout, as json.dumps(indent=..., separators=...) writes them.
struct FixedLayout {
    std::string before_comma, after_comma, before_colon, after_colon;
    bool lines = false;  // each member and item is on a line of its own
    std::string indent;  // of one level, after a line break
};

struct JsonOptions {
    bool any_order = false;
    Whitespace whitespace = Whitespace::kFlexible;
    uint32_t max_indent = 40;  // kFlexible: spaces or tabs after a line break
    uint32_t max_gap = 64;     // kAny: characters in one gap
    FixedLayout fixed = {};    // kFixed
    bool around = true;        // kAny: whitespace also before and after the whole text
};

// How far an array disjunct is from its end, by state: `live[count * states + state]` up to `settled`, beyond it by
// `need`.
struct ArrayOutlook {
    bool ready = false;
    uint32_t settled = 0;
    std::vector<bool> live;
    std::vector<uint32_t> need;
};

class JsonProgram {
public:
    JsonProgram(std::shared_ptr<SharedAutomata> shared, JsonOptions options, uint64_t max_states);

    // Building: values may be referred to before they are defined.
    ValueId declare_value();
    void define_value(ValueId id, ValueNode node) { values[id] = std::move(node); }
    uint32_t add_object(ObjectDisjunct disjunct);
    uint32_t add_array(ArrayDisjunct disjunct);
    bool productive(ValueId id) const { return values[id].productive; }
    size_t value_count() const { return values.size(); }
    bool productive_option(const Option& option) const { return values[option.value].productive; }
    uint64_t keys_to_finish(const ObjectDisjunct& disjunct, uint32_t state, const std::vector<bool>& usable,
                            uint64_t extras) const;
    bool object_productive(const ObjectDisjunct& disjunct) const;
    bool alternative_productive(const Alternative& each) const;
    bool array_live(uint32_t disjunct, uint32_t state, uint64_t count);
    bool string_possible(const StringDisjunct& disjunct) const;
    void settle_productive();
    // The nodes that the values and disjuncts name, always in the same order.
    template <class Visit>
    void each_language(const Visit& visit) {
        for (ValueNode& value : values) {
            visit(value.literal);
            for (StringDisjunct& disjunct : value.strings) visit(disjunct.regex);
        }
        for (ObjectDisjunct& disjunct : objects)
            for (ExtraKeys& extra : disjunct.extras) visit(extra.regex);
    }
    uint64_t words_left(NodeId language, uint64_t limit);
    Kernel& kernel() const { return shared->kernel; }
    LazyDfa& dfa() const { return shared->dfa; }

    std::shared_ptr<SharedAutomata> shared;
    JsonOptions options;
    uint64_t max_states;
    ValueId root = 0;
    std::vector<ValueNode> values;
    std::vector<ObjectDisjunct> objects;
    std::vector<ArrayDisjunct> arrays;
    std::vector<ArrayOutlook> outlooks;
    std::unordered_map<uint64_t, uint64_t> word_counts;

private:
    uint64_t extra_capacity(const ObjectDisjunct& disjunct) const;
    bool settled_live(const ArrayDisjunct& disjunct, const ArrayOutlook& out, size_t state, uint64_t count) const;
    ArrayOutlook outlook(const ArrayDisjunct& disjunct) const;
};

}  // namespace schemagen
