// The shortest text of a value and of the required rest of an open text, without a search.
//
// Of most schemas the shortest text (the fewest bytes, the first of them in order) can be told from the schema: the
// required members of an object, the least items of an array, the first shortest word of a string or number. A value is
// clear if it is of that kind and no alternative is as short; where one of several alternatives is sure to be as short,
// the value has no more tokens than bytes. The rest of an open text is made of such parts, so its bytes and an upper
// bound of its tokens are sums: over the members still required, and over the enclosing containers.
// Sums are cached: of the required members beside the state of an object, changed by one member where the state was
// changed by one; of the enclosing containers beside each frame. So the rest costs the same at any depth, and beside
// any number of members.
//
// Invariants: `bytes` is never more than the shortest text has, and exact where nothing is unclear; `tokens` is never
// less than the fewest tokens that spell that text. Parts are priced apart: tokens across their borders only make it
// cheaper. An open container is priced as its bracket and its required members, so that opening it adds nothing.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "automata/completion_guide.hpp"
#include "json/frames.hpp"
#include "json/min_bytes.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"
#include "vocabulary/spelling.hpp"

namespace schemagen {

struct JsonMachine;
class DistinctItems;
class Gaps;
class MinBytes;

struct Shortest {
    enum Kind : uint8_t { kUnclear, kText, kObject, kArray };
    Kind kind = kUnclear;
    uint32_t disjunct = 0;
    uint32_t tokens = kFar;  // at most, also where it is unclear; its bytes are MinBytes::of_value
    std::string text;        // all of it, or the opening bracket
};

// Of a key with its quotes and the colon.
struct KeyTokens {
    uint32_t all, most;  // of all of it, and of any rest of it
};

struct ObjectPlan {
    std::vector<Required> from;   // [property]: of it and those declared after it; then of none
    std::vector<KeyTokens> keys;  // [property]
    std::vector<uint32_t> order;  // of the required properties in the shortest text
    uint32_t most_key = 0;        // tokens of the rest of a key
};

constexpr uint32_t kMostScalar = 4096;   // bytes of a string or number whose text is looked for
constexpr uint32_t kMostText = 200'000;  // bytes

class ShortestValues {
public:
    explicit ShortestValues(JsonMachine& machine);

    // The shortest text (json/shortest_values.hpp). Not for a fixed layout, whose gaps have texts of their own.
    bool tells_shortest() const { return program_.options.whitespace != Whitespace::kFixed; }
    std::string comma() const;
    std::string colon() const;
    bool first_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const;
    static Required member(const std::vector<Required>& from, uint32_t place);
    // Bytes of the shortest value of an option; kFar if one of that length is not sure to exist.
    uint32_t sure_bytes(const std::vector<Option>& options) const;
    Required required_items(const ArrayDisjunct& disjunct, uint32_t state, uint64_t count, uint32_t depth) const;
    void settle_shortest(const VocabularyTables& tables);
    void write_value(ValueId id, std::string& out) const;
    static const Options& item(const ArrayDisjunct& disjunct, uint64_t place) {
        return place < disjunct.prefix.size() ? disjunct.prefix[place] : disjunct.items;
    }
    Required required_members(uint32_t disjunct);
    size_t memory_bytes() const;

    std::vector<Shortest> texts;    // [value]
    std::vector<ObjectPlan> plans;  // [object]
    uint32_t comma_tokens = 1;

private:
    bool follow_word(uint32_t state, uint32_t component, uint32_t length, std::string& out) const;
    std::string first_string(const StringDisjunct& disjunct, uint32_t length) const;
    struct Search;
    void find_shortest(ValueId id);
    void find_scalars(const ValueNode& value, Search& search) const;
    void enter_array(uint32_t id, Search& search);
    void enter_object(uint32_t id, Search& search);
    void enter(Search& search, Shortest::Kind kind, uint32_t disjunct, const Required& inside) const;
    const Shortest* only_option(const Options& options) const;
    const std::vector<Required>& required_sums(uint32_t disjunct);
    KeyTokens key_tokens(const std::string& key) const;
    Required price(const Property& property, uint32_t key) const;
    void settle_all();

    JsonProgram& program_;
    Gaps& gaps_;
    MinBytes& min_bytes_;
    DistinctItems& distinct_;
    std::optional<Spelling> spelling_;  // while the texts are settled
};

}  // namespace schemagen
