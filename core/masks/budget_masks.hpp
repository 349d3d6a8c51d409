// Masks that keep a budget: the tokens after which the rest of the budget suffices for the shortest text to the end.
//
// Tokens are asked in classes, each of them once. Those that stay inside a string or an extra key form a class by the
// state they lead to, which is cached for all grammars (StringMasks::rest); those that close a string, by the tail
// after the quote. The classes are those of a key unlike all others; tokens along declared and used keys are asked
// again.
//
// The needs of a place are kept, with the budgets that they decide, so that a mask of another one of these budgets only
// splits its tokens again.
//
// Engines that bound the rest of a text after its tokens (MaskEngine::most_left, add_near) answer for most tokens of a
// grammar near the end of a budget, and for all of them far from it.
//
// Most tokens of a mask need no search: the text may end after them, or a bound of the rest fits in the budget, or the
// rest was counted, or is told from the schema (CompletionGuide::fewest_tokens), or some end of it is found soon, or
// its end is further away than the rest of the budget reaches with the longest token. If the work allowed for one mask
// does not suffice for the others, a machine whose places have exact identities (`is_alone`) keeps the tokens known to
// fit, those with at least `kSlack` tokens more left than there are bytes to the end, and the shortest text. On other
// machines such a mask is reduced to the shortest text near the end of the budget; far from it, tokens are dropped by
// bounds.
//
// Where the shortest text depends on the text so far, searches could not be shared, so there is none after a token:
// bounds decide (`tighten_by_bounds`), and near the end of the budget the shortest text is kept besides.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "automata/container_view.hpp"
#include "automata/string_masks.hpp"
#include "automata/string_view.hpp"
#include "masks/completion.hpp"
#include "masks/mask_engine.hpp"
#include "util/heap.hpp"
#include "util/key_table.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class BudgetMasks {
public:
    // `engine`: that of the masks, or null if they are not to be had.
    BudgetMasks(Completions& ends, Automaton& automaton, const VocabularyTables& tables, StringMasks& strings,
                MaskEngine* engine);
    // Take out of a mask the tokens after which more than `budget` - 1 would be needed. Returns how many are left.
    // `promised`: the rest of a completion that an earlier mask was reduced to; empty if there is none. If this mask is
    // reduced to a completion, `promised` becomes that one. It matters where the shortest completion depends on the
    // text so far: a later search may find none as short.
    uint32_t tighten(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed, Arena& arena,
                     std::string& promised);
    uint32_t tighten(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed, Arena& arena) {
        std::string none;
        return tighten(config, budget, words, allowed, arena, none);
    }
    // Whether a budget is known to be so far from its end that no token need be taken out. Changes nothing: any number
    // of threads may ask at once.
    bool is_far(const Configuration& config, uint32_t budget) const;
    uint64_t memory_bytes() const {
        size_t bytes = most_.capacity() * sizeof(uint32_t) + place_keys_.memory_bytes() + heap_bytes(known_needs_) +
                       most_used_up_.size() * heap_node(sizeof(*most_used_up_.begin()));
        bytes += (told_.capacity() + open_.capacity()) * sizeof(uint32_t);
        for (const Needs& needs : known_needs_) bytes += heap_bytes(needs.each) + heap_bytes(needs.owners);
        return bytes;
    }

private:
    static constexpr uint32_t kNever = Completions::kNever, kUnasked = UINT32_MAX - 1, kGivenUp = UINT32_MAX - 2;
    // Some tokens: a list, or a bitmask.
    struct Tokens {
        std::span<const uint32_t> list;
        const uint32_t* words = nullptr;
        bool again = false;  // visited before, as if they wrote a key unlike all declared and used ones
        void add_to(uint32_t* allowed, size_t size) const;
    };
    // All tokens that can be read, in two parts: those after which the rest fits, and those after which it does not.
    struct Part {
        std::vector<std::span<const uint32_t>> lists;
        std::vector<const uint32_t*> bitmasks;
        size_t size = 0;  // of the lists
        void clear() { lists.clear(), bitmasks.clear(), size = 0; }
        void add(const Tokens& tokens);
        void collect(const uint32_t* mask, std::vector<uint32_t>& out) const;  // those of the lists that a mask has
    };
    struct Split {
        Part fit, far;
        std::vector<std::pair<uint32_t, bool>> again;  // tokens that one of the parts has, and whether the rest fits
        std::vector<uint32_t> some;
        void clear() { fit.clear(), far.clear(), again.clear(); }
        void add(const Tokens& tokens, bool fits);
        // Take the far ones out of a mask; returns how many tokens are left. `ends`: the ids of EOS.
        uint32_t apply(uint32_t* mask, uint32_t allowed, size_t words, std::span<const uint32_t> ends);
        uint32_t apply_all(uint32_t* mask, uint32_t allowed, size_t words, std::span<const uint32_t> ends);
    };
    // The tokens that can be read at a place, with the tokens needed after them, as far as a budget asks.
    struct Needs {
        std::vector<std::pair<Tokens, uint32_t>> each;
        std::vector<std::shared_ptr<const void>> owners;  // of what the tokens refer to
        uint32_t most = 0;
        uint32_t first = 0, last = UINT32_MAX;  // the budgets for which bounds were enough
        void clear() { each.clear(), owners.clear(), most = first = 0, last = UINT32_MAX; }
        void add(const Tokens& tokens, uint32_t need) {
            each.emplace_back(tokens, need);
            most = std::max(most, need);
        }
    };
    void prepare();
    uint32_t known_most(const Configuration& config, uint32_t id) const;
    void note_most(const Configuration& config, uint32_t most);
    // Whether the bytes that the engine tells are as many tokens at most.
    bool is_told() const { return engine_ && ends_.spelling().spells_all(); }
    uint32_t most_told(const Configuration& config) const;
    uint32_t some_end(const Configuration& config, uint32_t budget, Arena& arena);
    bool is_told_far(const Configuration& config, uint32_t budget, Arena& arena);
    bool takes_most(const Configuration& config, Arena& arena);
    bool is_alone(const Configuration& config, Arena& arena);
    uint32_t need_within(const Configuration& config, uint32_t budget, Arena& arena);
    bool split(const Configuration& config, uint32_t budget, bool is_alone, Arena& arena);
    bool find_needs(const Configuration& config, uint32_t budget, Arena& arena);
    bool split_told(const Configuration& config, uint32_t budget, const uint32_t* words, Arena& arena);
    bool find_open(const uint32_t* words);
    void keep_far(const Configuration& config, uint32_t budget, Arena& arena);
    uint32_t keep_text(const Configuration& config, uint32_t* kept, Arena& arena);
    uint32_t tighten_by_need(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed,
                             Arena& arena);
    uint32_t tighten_by_bounds(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed,
                               Arena& arena);
    uint32_t enough(const Configuration& config, uint32_t budget, Arena& arena);
    uint32_t keep_text_beside(const Configuration& config, uint32_t* words, Arena& arena);
    uint32_t keep_ends(uint32_t* words);
    uint32_t keep_to_text(const Configuration& config, uint32_t* words, Arena& arena);
    template <class Visit>
    void each_end(const Trie& trie, uint32_t node, const Configuration& config, Arena& arena, const Visit& visit);
    template <class Ask, class Visit>
    bool each_need(const Configuration& config, Arena& arena, const Ask& ask, const Visit& visit);
    template <class Ask, class Visit>
    void each_below(uint32_t node, const Configuration& config, size_t depth, Arena& arena, const Ask& ask,
                    const Visit& visit);
    template <class Ask, class Visit>
    void each_in_literal(uint32_t node, const Configuration& config, size_t depth, Arena& arena, const Ask& ask,
                         const Visit& visit);
    template <class Ask, class Visit>
    bool each_class(uint32_t node, const Configuration& config, size_t depth, Arena& arena, const Ask& ask,
                    const Visit& visit);
    template <class Ask, class Visit>
    void each_declared_key(uint32_t node, const Configuration& config, bool is_closed, Arena& arena, const Ask& ask,
                           const Visit& visit);
    template <class Ask, class Visit>
    void each_used_key(uint32_t node, const Configuration& config, Arena& arena, const Ask& ask, const Visit& visit);
    template <class Ask, class Visit>
    void each_in_full(std::span<const uint32_t> tokens, const Configuration& config, size_t depth, Arena& arena,
                      const Ask& ask, const Visit& visit);
    template <class Ask>
    void read_tails(const Configuration& following, Arena& arena, const Ask& ask);
    void split_by(const Needs& needs, uint32_t budget);
    bool split_shared(const Configuration& config, uint32_t budget, Arena& arena);
    void split_by_bounds(const Configuration& config, uint32_t need, uint32_t budget, Arena& arena);

    Completions& ends_;
    Automaton& automaton_;
    CompletionGuide& guide_;
    const VocabularyTables& tables_;
    StringMasks& strings_;
    MaskEngine* engine_;
    StringView* string_view_;
    ContainerView* containers_;
    Split split_;
    std::vector<uint32_t> told_, open_;                      // tokens that the engine knows to fit, others that do not
    std::vector<std::pair<uint32_t, uint32_t>> tail_needs_;  // (tail that can be read, tokens needed after it)
    Needs needs_;                                            // of the last place
    KeyTable place_keys_;                                    // exact identities of places
    std::vector<Needs> known_needs_;                         // of these
    const uint32_t longest_;                                 // bytes of a token
    std::string promised_;                                   // see `tighten`
    // Most tokens that may be needed from a configuration, the next one included, or an upper bound; kUnasked if it is
    // not known, kGivenUp if the searches for it took too long.
    std::vector<uint32_t> most_;                           // by its number, where nothing is used up
    std::unordered_map<uint64_t, uint32_t> most_used_up_;  // by the hash of both elsewhere
    uint64_t epoch_ = 0;                                   // of these numbers; 0: not prepared
};

}  // namespace schemagen
