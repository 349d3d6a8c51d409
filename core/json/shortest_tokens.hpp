// The fewest tokens of the required rest of a JSON text, without writing it (vocabulary/seams.hpp).
//
// The shortest text of a container is a list of parts: its members or items, each with the comma before it or, the
// first one, with the bracket, then the closing bracket. A part whose value is a container itself ends where that
// begins. What parts add is kept: of values by the seam after them; of the items that an array repeats for runs of 1,
// 2, 4, 8, ... of them; of members in the order of the schema from each of them on. Where members come in any order,
// the sums of those that are missing are kept for the last few objects, and a key that is being read is left out of
// them: only a few parts before it have another seam then.
//
// Invariant: all that is asked for is clear (json/shortest_values.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/program.hpp"
#include "vocabulary/seams.hpp"

namespace schemagen {

struct JsonMachine;
class ShortestValues;

class ShortestTokens {
public:
    explicit ShortestTokens(JsonMachine& machine);

    void settle(const VocabularyTables& tables) {
        if (!seams_) seams_.emplace(tables);
    }
    // Each of the next four is a tail that goes on with `after`: that of a container,
    Tail value(ValueId id, Tail after);
    // of the required items from one on, and the bracket,
    Tail items(uint32_t disjunct, uint64_t from, Tail after);
    // of the required members from a property on, in the order of the schema, and the bracket,
    Tail members(uint32_t disjunct, uint32_t from, Tail after);
    // of the required members whose keys (`key_at`: of the properties) are not among `seen`, without property `skip`,
    // and the bracket.
    Tail unseen_members(uint32_t disjunct, const std::vector<uint32_t>& key_at, std::span<const uint64_t> seen,
                        uint32_t skip, Tail after);
    // The tail that begins with a text: a bracket, or a comma and an item.
    Tail before(const std::string& text, Tail after) { return seams_->before(seams_->part(text), after); }
    // The tokens of a text and the tail after it.
    uint32_t fewest(std::string_view text, Tail after) { return seams_->fewest(text, after); }
    size_t memory_bytes() const;

private:
    static constexpr ValueId kNoValue = UINT32_MAX;
    struct Piece {
        uint32_t part = 0;         // up to the value if that is a container
        ValueId inner = kNoValue;  // that one
    };
    // The parts of the shortest text of a container.
    struct Pieces {
        Piece opened;                // the bracket and the first member or item, if there is one
        std::vector<Piece> each;     // with the comma; the last item stands for all that follow
        uint32_t count = 0;          // of members or items
        uint32_t closed = 0;         // part
        std::vector<uint32_t> rank;  // [property] how many of the required ones come before it

        const Piece& at(uint64_t k) const { return each[std::min<uint64_t>(k, each.size() - 1)]; }
    };
    // The members that an object still requires.
    struct Unseen {
        uint32_t disjunct = 0, after = 0;  // seam
        std::vector<uint64_t> seen;
        std::vector<uint32_t> ranks;  // of the members, ascending
        std::vector<Tail>
            from;  // [k]: from member k on, where nothing comes after the bracket's seam; then the bracket
    };
    struct Items {
        uint32_t disjunct = UINT32_MAX, after = 0;  // seam
        uint64_t from = 0;
        Tail tail = {};  // where nothing comes after the seam
    };
    using Known = std::unordered_map<uint64_t, Tail>;  // by number, and the seam after it

    const Pieces& pieces_of_array(uint32_t disjunct);
    const Pieces& pieces_of_object(uint32_t disjunct);
    const Pieces& pieces_of(ValueId id);
    Piece piece(const std::string& text, const Options& options);
    Tail before(const Piece& piece, Tail after);
    const Tail* known_value(ValueId id, uint32_t after) const;
    Tail repeated(uint32_t disjunct, uint64_t times, Tail after);
    Tail run(uint32_t disjunct, uint32_t power, uint32_t after);
    const Unseen& unseen(uint32_t disjunct, const std::vector<uint32_t>& key_at, std::span<const uint64_t> seen,
                         uint32_t after);

    JsonProgram& program_;
    ShortestValues& shortest_;
    std::optional<Seams> seams_;
    std::unordered_map<uint32_t, Pieces> arrays_, objects_;  // by disjunct
    Known values_;
    std::vector<Known> runs_;                                      // [power of two]
    std::unordered_map<uint64_t, std::vector<Tail>> from_member_;  // [k]: of the last k members and the bracket
    std::array<Items, 16> items_;                                  // the last ones, by `from`
    std::array<Unseen, 4> unseen_;
    size_t oldest_ = 0;  // of these
};

}  // namespace schemagen
