// Masks of a context-free grammar that embeds other languages.
//
// Tokens that stay within the lexemes of the grammar, or within one embedded text, come from the masks of these. In the
// others an embedded text begins, or ends before their last byte: they contain one of the few bytes with which it
// begins or ends, and are read one by one along a trie of their own.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "automata/mask_cache.hpp"
#include "automata/string_masks.hpp"
#include "context_free/embedded_automaton.hpp"
#include "context_free/lexeme_scans.hpp"
#include "masks/mask_engine.hpp"
#include "util/hash.hpp"

namespace schemagen {

class EmbeddedMasks final : public MaskEngine {
public:
    EmbeddedMasks(EmbeddedAutomaton& automaton, const VocabularyTables& tables, StringMasks& strings);
    uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) override;
    bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const override;
    size_t memory_bytes() const override;

private:
    using Words = TokenSet::Words;
    struct LanguageMasks {
        std::unique_ptr<MaskEngine> inner;
        std::shared_ptr<const Trie> leaving;  // of the tokens in which it may end
    };
    const Trie& leaving_trie(uint32_t number);
    const Trie& entering_trie();
    void add_set(StrandSet set, Words& words, Arena& arena);
    void add_after(ParserState after, Words& words, Arena& arena);
    void add_embedded(const EmbeddedStrand& strand, Words& words, Arena& arena);
    void add_inner(const EmbeddedStrand& strand, Words& words, Arena& arena);
    void add_aligned(ParserState at, Promise promise, Words& words, Arena& arena);
    void add_walk(const Trie& trie, const Configuration& from, Words& words, Arena& arena);
    void add_leaving(const EmbeddedStrand& strand, Words& words, Arena& arena);
    void make_room();

    template <class Visit>
    void each_cache(const Visit& visit);
    size_t own_bytes() const;  // besides those of the masks of the grammar and the languages

    struct IdentityHash {
        size_t operator()(const std::vector<uint64_t>& identity) const {
            size_t hash = identity.size();
            for (uint64_t part : identity) hash = mix(hash, part);
            return hash;
        }
    };
    EmbeddedAutomaton& automaton_;
    const VocabularyTables& tables_;
    std::unique_ptr<MaskEngine> host_;
    std::vector<LanguageMasks> languages_;
    std::shared_ptr<const Trie> entering_;  // of the tokens in which an embedded text may begin
    TokenSets kept_;
    MaskCache<StrandSet, const TokenSet*> at_sets_;  // where no embedded text is being read
    MaskCache<ParserState, const TokenSet*> after_;  // an embedded text that was read before the token
    MaskCache<std::vector<uint64_t>, const TokenSet*, IdentityHash> leaving_;
};

}  // namespace schemagen
