// Masks of a context-free grammar with guests in it.
//
// Tokens that stay within the lexemes of the grammar, or within one guest, come from the masks of these. In the other
// tokens a guest begins, or ends before their last byte: they contain one of the few bytes with which it begins or
// ends, and are read one by one along a trie of their own.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "automata/string_masks.hpp"
#include "context_free/embedding_automaton.hpp"
#include "context_free/lexeme_scans.hpp"
#include "masks/mask_engine.hpp"
#include "masks/spelling.hpp"
#include "util/interned_lists.hpp"

namespace schemagen {

class EmbeddingMasks final : public MaskEngine {
public:
    EmbeddingMasks(EmbeddingAutomaton& automaton, const VocabularyTables& tables, StringMasks& strings);
    uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) override;
    bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const override;
    size_t memory_bytes() const override;

private:
    using Words = TokenSet::Words;
    struct GuestMasks {
        std::unique_ptr<MaskEngine> inner;
        Trie leaving;  // of the tokens in which it may end
    };
    void add_place(PlaceId place, Words& words, Arena& arena);
    void add_after(ParserState after, Words& words, Arena& arena);
    void add_guest(const GuestStrand& strand, Words& words, Arena& arena);
    void add_inner(const GuestStrand& strand, Words& words, Arena& arena);
    void add_walk(const Trie& trie, const Configuration& from, Words& words, Arena& arena);
    const TokenSet& leaving(const GuestStrand& strand, Arena& arena, TokenSet& own);
    void make_room();

    static constexpr size_t kMostBytes = 64u << 20;
    EmbeddingAutomaton& automaton_;
    const VocabularyTables& tables_;
    std::unique_ptr<MaskEngine> host_;
    std::vector<GuestMasks> guests_;
    std::optional<Spelling> spelling_;  // when a guest was read
    Trie entering_;                     // of the tokens in which a guest may begin
    TokenSets kept_;
    std::unordered_map<PlaceId, TokenSet> places_;     // where no guest is being read
    std::unordered_map<ParserState, TokenSet> after_;  // a guest that was read before the token
    InternedLists leaving_keys_;
    std::unordered_map<uint32_t, TokenSet> leaving_;  // by key
    size_t bytes_ = 0;
};

}  // namespace schemagen
