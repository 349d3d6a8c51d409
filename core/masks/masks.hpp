// Masks by configuration, exact and factored.
//
// A token read inside a container either stays in it, or closes it after some prefix and goes on with a tail. The part
// up to there depends only on the state of the container and the place inside it (a `LocalKey`), so it is computed once
// and kept as a `LocalMask`: a bitmask or a few ids, and the exits. After an exit comes a set of tails, found by
// walking the few hundred tails of the vocabulary from the configuration after the bracket. Few different sets occur,
// so they are interned, and for each (local mask, set) the tokens that go through are listed once. A mask is then a
// copy of one row and some bits set in it, whatever the depth of the text or the numbers in its frames.
//
// The same factoring at the closing quote of a string lies below this one (string_masks.hpp).
//
// There are exceptions. A key that was used must not come again: the few tokens that would repeat one are taken out
// afterwards. Where finitely many keys are left, the few tokens that close a key and its value are read each time.
// Inside arrays with unique items the text matters: there only the insides of strings are looked up.
//
// Source: the engine study of this project; the idea of terminal labels with masks made in advance is from Koo et al.
// 2024 (section 2.5.1), that of context-independent tokens from XGrammar (Dong et al. 2024, section 3.1); here no token
// is left uncertain.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/mask_cache.hpp"
#include "automata/string_masks.hpp"
#include "masks/flat_view.hpp"
#include "masks/mask_engine.hpp"
#include "util/hash_index.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class Masks final : public MaskEngine {
public:
    Masks(Automaton& automaton, const VocabularyTables& tables, StringMasks& strings);
    uint32_t fill(const Configuration& config, uint32_t* words, Arena& arena) override;
    bool fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const override;
    size_t memory_bytes() const override { return cache_.bytes() + set_bytes_; }

private:
    using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;  // (tail, token), or (tail, tail it ends) by the latter
    struct Exits {
        uint32_t how;
        Pairs pairs;
        std::vector<std::pair<uint32_t, std::vector<uint32_t>>> through;  // by set of tails: the tokens
    };
    struct LocalMask {
        std::shared_ptr<const StringInner> inner;  // keeps `base` alive
        const uint32_t* base = nullptr;            // null if there is no token
        // Instead of base and tokens; shared with masks that are equal.
        std::shared_ptr<const std::vector<uint32_t>> dense;
        std::vector<uint32_t> tokens;  // besides base
        uint32_t allowed = 0;
        std::vector<Exits> exits;
        std::vector<uint32_t> unclear;  // tokens that have to be read each time
    };
    struct LocalTails {
        std::vector<uint32_t> words;  // bit set of tails
        std::vector<Exits> exits;
        std::vector<uint32_t> unclear;
    };
    // By the place inside a container: the mask there, and the tails that may follow there.
    struct Local {
        std::shared_ptr<LocalMask> mask;
        std::shared_ptr<const LocalTails> tails;
    };
    struct KeyHash {
        size_t operator()(const LocalKey& key) const;
    };
    template <class Hit, class Out>
    void walk(const Trie& trie, uint32_t top, const Configuration& from, Arena& arena, const Hit& hit, const Out& out);
    template <class Hit, class Out>
    void walk_below(const Trie& trie, uint32_t top, size_t base, const Configuration& from, Arena& arena,
                    const Hit& hit, const Out& out);
    template <class Hit, class Out>
    void walk_scalar(const Trie& trie, uint32_t top, size_t base, Configuration from, uint32_t state, Arena& arena,
                     const Hit& hit, const Out& out);
    uint32_t scalar_state(const Trie& trie, uint32_t node, const Configuration& config) const;
    bool reads(const Configuration& from, std::string_view bytes, Arena& arena);
    std::shared_ptr<LocalMask> local(const Configuration& config, Arena& arena);
    std::shared_ptr<LocalMask> build(const Configuration& config, Arena& arena);
    void add(LocalMask& mask, uint32_t token);
    void add_inner(const StringBody& body, uint32_t* words);
    void add_string(LocalMask& mask, const StringBody& body, const Configuration& from, Arena& arena);
    std::vector<uint32_t> declared_keys(const Configuration& config);
    void add_exit(LocalMask& mask, const StringExit& exit, const std::vector<uint32_t>& declared,
                  const Configuration& following, Arena& arena);
    void add_walk(LocalMask& mask, uint32_t top, const Configuration& from, Arena& arena);
    bool add_listed(LocalMask& mask, const Configuration& from, Arena& arena);
    std::shared_ptr<const LocalTails> local_tails(const Configuration& following, Arena& arena);
    uint32_t tails(const Configuration& inside, uint32_t how, Arena& arena);
    uint32_t find_tails(const Configuration& inside, uint32_t how, Arena& arena);
    uint32_t tails_after(const Configuration& following, Arena& arena);
    const std::vector<uint32_t>& through(Exits& exits, uint32_t set, const Configuration& config);
    void copy_base(const LocalMask& mask, uint32_t* words) const;
    uint32_t fill_tracking(const Configuration& config, uint32_t* words, Arena& arena);
    bool may_repeat_key(const Configuration& config) const;
    uint32_t take_repeated_keys(const Configuration& config, uint32_t* words, Arena& arena);
    static Exits& exits_of(std::vector<Exits>& all, uint32_t how);

    static size_t memory_of(const std::vector<Exits>& all);
    static size_t memory_of(const LocalMask& mask);
    static size_t memory_of(const LocalTails& tails);
    Automaton& automaton_;
    FlatView flat_;
    ContainerView& view_;
    StringView& string_view_;
    const VocabularyTables& tables_;
    StringMasks& strings_;
    MaskCache<LocalKey, Local, KeyHash> cache_;
    std::vector<std::vector<uint32_t>> sets_;  // of tails
    HashIndex set_index_;
    size_t set_bytes_ = 0;
    Workspace* workspace_ = nullptr;  // of the thread that fills
};

}  // namespace schemagen
