// The moves from the state of a frame: which keys and items its disjuncts can take, and where these lead.
#pragma once
#include <vector>

#include "json/frames.hpp"
#include "json/positions.hpp"
#include "json/program.hpp"

namespace schemagen {

class Groups;
struct JsonMachine;

class FrameMoves {
public:
    explicit FrameMoves(JsonMachine& machine);

    void refresh_array(FrameState* frame);
    std::vector<Move> item_moves(const FrameState* frame, uint32_t slot);
    void refresh_object(FrameState* frame);
    void key_moves(const FrameState* frame, uint32_t slot, uint32_t key, std::vector<Move>& moves);
    void take_moves(const FrameState* frame, uint32_t slot, const std::vector<Option>& options, uint32_t key,
                    std::vector<Move>& moves);
    std::vector<Move> extra_moves(const FrameState* frame, const Bits& components);
    uint32_t extra_entry(const FrameState* frame);
    bool key_possible(const FrameState* frame, const TrieNode& node) const;

private:
    uint64_t extras_left(const FrameState* frame, uint32_t slot);
    void refresh_plain(FrameState* frame, uint32_t slot);
    bool is_possible(const FrameState* frame, uint32_t slot, uint32_t place) const;
    bool foreign_key(const FrameState* frame, uint32_t slot, uint32_t key) const;
    bool counting_live(const FrameState* frame, uint32_t slot, const Option& option, uint32_t key);
    void refresh_counting(FrameState* frame, uint32_t slot);

    JsonProgram& program_;
    Positions& positions_;
    Groups& groups_;
};

}  // namespace schemagen
