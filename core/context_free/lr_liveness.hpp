// From which stacks of an LR parser a text can be finished, entry by entry.
//
// Each entry of a stack has a `context`: the state, and with which lookaheads the parser goes on well from the gotos
// there, given all that is below. It follows from the state and the contexts of a few entries below, as many as the
// items of the state demand something of (lr_demands.hpp). There are few contexts, so stacks of any height are told
// apart by little: this is the set of live stacks as a deterministic automaton that reads them from the bottom.
#pragma once
#include <cstdint>
#include <vector>

#include "context_free/lr_demands.hpp"
#include "util/key_table.hpp"

namespace schemagen {

class LrLiveness {
public:
    using Context = uint32_t;
    using Kind = LrDemands::Kind;
    static constexpr Kind kAnyKind = UINT32_MAX;

    LrLiveness(const ContextFreeGrammar& grammar, const LrTables& tables, const Indentation* indentation,
               Adjacency& adjacency);
    // Whether it says of every stack exactly whether a text can be finished.
    bool is_exact() const { return demands_.is_exact(); }
    Kind kind_of(LexemeId lexeme) const { return demands_.kind_of(lexeme); }
    // How many entries below one with this state matter.
    uint32_t depth(uint32_t state) const { return depths_[state]; }
    // `below`: contexts of the entries below, the nearest first; `depth` of them, or all if there are fewer.
    Context context(uint32_t state, const std::vector<Context>& below);
    // Whether a text can be finished where a lexeme of a kind was read last, or one of any.
    bool can_finish(uint32_t state, Kind last, const std::vector<Context>& below);
    size_t memory_bytes() const { return demands_.memory_bytes() + known_.memory_bytes() + bytes_; }

private:
    struct Entry {
        uint32_t state;
        std::vector<uint64_t> good;  // [goto][lookahead / 64]
    };
    const uint64_t* good(const LrDemands::Item& item, const std::vector<Context>& below) const;
    bool meets(uint32_t state, const LrDemands::Set& set, const std::vector<Context>& below) const;
    void add_good(uint32_t state, const std::pair<SymbolId, uint32_t>& jump, const std::vector<Context>& below,
                  uint64_t* out);
    Entry entry_of(uint32_t state, const std::vector<Context>& below);

    LrDemands demands_;
    std::vector<uint32_t> depths_;   // [state]
    KeyTable known_;                 // state and contexts below
    std::vector<Context> contexts_;  // [number of a key]
    KeyTable entries_;               // state and `good`
    std::vector<Entry> entry_;       // [context]
    size_t bytes_ = 0;
};

}  // namespace schemagen
