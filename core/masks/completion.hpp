// The shortest way to the end of a text, so that a budget of tokens is never overrun.
//
// From a configuration one text is shortest in bytes and, among these, first in lexicographic order; after a prefix of
// it, the rest is the same text for the configuration there. Its best tokenization has `tokens` tokens. If a token is
// taken only where the number after it fits the rest of the budget, the budget always suffices: at least the first
// token of that tokenization can be taken, and the number after it is smaller by one. (TruncProof, 2026, keeps a budget
// by shortest completions of an LL(1) grammar; here any automaton will do.)
//
// The text is found by iterative deepening A* (Korf 1985), with `Automaton::min_bytes` as its guide and a table of the
// known configurations. Where the guide is exact, as in most schemas, the search goes straight to the end. The search
// writes only bytes that are tokens, so its text can always be tokenized; a vocabulary without such tokens has no
// guarantee. A search that takes too long is replaced by one that trusts the guide more: its text may be longer than
// needed, but the guarantee holds. If that one is given up as well, masks are those without a budget, and a request for
// the text is refused. A configuration that exceeds the allowance of one text (Allowance) leads to no end.
//
// Tokens are asked in classes, each of them once. Those that stay inside a string or an extra key form a class by the
// state they lead to, which is cached for all grammars (StringMasks::rest); those that close a string, by the tail
// after the quote. When the tokens of a text are counted, each of its places stores the next one, so a search ends
// where it meets such a text, and no token count is made twice.
//
// Most tokens of a mask need no search: the text may end after them, or its rest was counted, or its end is further
// away than the rest of the budget reaches with the longest token. If the work allowed for one mask does not suffice
// for the others, a machine whose places have exact identities (`is_alone`) keeps the tokens known to fit, those with
// at least `kSlack` tokens more left than there are bytes to the end, and the shortest text. On other machines such a
// mask is not restricted far from the end of the budget, and reduced to the shortest text near it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "automata/string_masks.hpp"
#include "automata/string_view.hpp"
#include "masks/spelling.hpp"
#include "util/key_table.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class Completions {
public:
    Completions(Automaton& automaton, const VocabularyTables& tables, StringMasks& strings);
    static constexpr uint32_t kNever = UINT32_MAX;

    // Fewest tokens to write the shortest text from here, 0 where the text may end; kNever if none is known.
    uint32_t tokens(const Configuration& config, Arena& arena);
    // That text; empty where the text may end, or where the vocabulary has no tokens to write one. Throws LimitExceeded
    // where there may be one, and the search for it was given up.
    std::string text(const Configuration& config, Arena& arena);
    // No text from here has fewer bytes.
    uint32_t least_bytes(const Configuration& config);
    // Take out of a mask the tokens after which more than `budget` - 1 would be needed. Returns how many are left.
    uint32_t tighten(const Configuration& config, uint32_t budget, uint32_t* words, uint32_t allowed, Arena& arena);

    // Whether a budget is known to be so far from its end that no token need be taken out. Changes nothing: any number
    // of threads may ask at once.
    bool is_far(const Configuration& config, uint32_t budget) const;
    uint64_t memory_bytes() const { return known_.size() * sizeof(Known) + keys_.memory_bytes(); }

private:
    static constexpr uint32_t kNone = UINT32_MAX, kUnasked = UINT32_MAX - 1, kUnknown = UINT32_MAX - 2;
    static constexpr uint64_t kNoLimit = UINT64_MAX;
    struct Known {
        uint32_t lower = 0, upper = Automaton::kFar;  // bytes to the end
        uint32_t tokens = kUnasked;
        // Most tokens that may be needed from here, the next one included, or an upper bound; kUnknown if not found.
        uint32_t max_tokens_needed = kUnasked;
        bool exact = false;     // `max_tokens_needed` is not more
        uint8_t byte = 0;       // the next one of the text, if `upper` is known
        uint32_t next = kNone;  // and where it leads, if `tokens` are settled
    };
    // Some tokens: a list, or a bitmask.
    struct Tokens {
        std::span<const uint32_t> list;
        const uint32_t* words = nullptr;
        bool among(const uint32_t* allowed, size_t size) const;
        void add_to(uint32_t* allowed, size_t size) const;
    };
    struct Level {
        Configuration config;
        uint32_t id;  // kNone: depends on the text
        uint32_t limit;
        uint32_t next;  // byte to try
        ByteSet bytes;
        Arena::Mark mark;
    };
    struct Reached {  // by `greedy_search`
        Configuration config;
        uint32_t id, from, bytes;  // `from`: the node before it, kNone at the start
        uint8_t byte;              // read from there
    };
    class Open;
    enum class Found : uint8_t { kYes, kNone, kTooFar };

    void prepare();
    uint32_t id_of(const Configuration& config);
    uint32_t bound(const Configuration& config, uint32_t id);
    bool is_settled(uint32_t id) const { return id != kNone && known_[id].tokens < kUnknown; }
    void make_room();
    void spend(uint64_t steps) {
        if (work_ != kNoLimit) work_ -= std::min(work_, steps * guide_.step_cost());
    }
    bool step(Configuration& config, uint8_t byte, Arena& arena);
    ByteSet bytes_to_try(const Configuration& config, uint32_t limit);
    bool complete(const Configuration& config, Arena& arena);
    Found search(const Configuration& config, uint32_t limit, Arena& arena);
    bool greedy_search(const Configuration& config, Arena& arena);
    void keep_path(uint32_t left);
    void keep_way_to(const std::vector<Reached>& reached, uint32_t node);
    bool follow(const Configuration& config, Arena& arena, std::string& text, std::vector<uint32_t>& ids, bool whole);
    bool is_noted(uint32_t id) const;
    std::vector<uint32_t> count_tokens(std::string& text, uint32_t id) const;
    uint32_t needed(const Configuration& config, Arena& arena);
    std::string completion_text(const Configuration& config, Arena& arena);
    uint32_t most(const Configuration& config);
    bool is_surely_far(const Configuration& config, uint32_t budget) const;
    bool fits(const Configuration& config, uint32_t budget, Arena& arena);
    uint32_t max_tokens_needed(const Configuration& config, Arena& arena, bool exact);
    uint32_t most_inside(const Configuration& config, Arena& arena);
    bool takes_most(const Configuration& config, Arena& arena);
    bool is_alone(const Configuration& config, Arena& arena);
    uint32_t need_within(const Configuration& config, uint32_t budget, Arena& arena);
    bool keep_fitting(const Configuration& config, uint32_t budget, Arena& arena, uint32_t* kept);
    uint32_t keep_text(const Configuration& config, uint32_t* kept, Arena& arena);
    uint32_t keep_to_text(const Configuration& config, uint32_t* words, Arena& arena);
    template <class Ask, class Visit>
    bool each_need(const Trie& trie, const Configuration& config, Arena& arena, const uint32_t* among, const Ask& ask,
                   const Visit& visit);
    template <class Ask, class Visit>
    bool each_class(uint32_t node, const Configuration& config, size_t depth, Arena& arena, const uint32_t* among,
                    const Ask& ask, const Visit& visit);
    template <class Ask, class Visit>
    void each_key_closing(const StringExit& exit, const Configuration& config, size_t depth, Arena& arena,
                          const uint32_t* among, const Ask& ask, const Visit& visit);
    template <class Ask>
    void read_tails(const Configuration& following, Arena& arena, const Ask& ask);
    bool is_given_up(const Configuration& config);
    bool keep_needed(const Configuration& config, uint32_t budget, Arena& arena, const uint32_t* among, uint32_t* kept);
    template <class Visit>
    bool each_place(const Configuration& config, uint32_t budget, Arena& arena, const Visit& visit);

    Automaton& automaton_;
    CompletionGuide& guide_;
    const VocabularyTables& tables_;
    StringMasks& strings_;
    StringView* string_view_;
    std::vector<uint32_t> tail_needs_;   // [tail], kUnasked if it cannot be read
    std::optional<Spelling> spelling_;   // once prepared
    uint32_t growth_ = Automaton::kFar;  // Automaton::growth
    uint32_t longest_ = 1;               // bytes of a token
    std::vector<uint64_t> scratch_;
    KeyTable keys_;
    std::vector<Known> known_;  // [number of its key]
    std::vector<Level> levels_;
    std::string path_;  // the text that the last search found, down to a known configuration
    uint32_t overshoot_ = 0, steps_ = 0;
    bool gave_up_ = false;      // whether the last search that found nothing did not look everywhere
    uint64_t work_ = kNoLimit;  // steps that are left for the mask being made
};

}  // namespace schemagen
