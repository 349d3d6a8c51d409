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
// When the tokens of a text are counted, each of its places stores the next one, so a search ends where it meets such a
// text, and no token count is made twice.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automata/automaton.hpp"
#include "automata/completion_guide.hpp"
#include "util/key_table.hpp"
#include "vocabulary/spelling.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

class Completions {
public:
    Completions(Automaton& automaton, const VocabularyTables& tables);
    static constexpr uint32_t kNever = UINT32_MAX, kNone = UINT32_MAX;

    // Fewest tokens to write the shortest text from here, 0 where the text may end; kNever if none is known.
    // `promised`: another text to the end, which counts if it takes fewer tokens; empty if there is none.
    uint32_t tokens(const Configuration& config, Arena& arena, const std::string& promised = {});
    // That text; empty where the text may end, or where the vocabulary has no tokens to write one. Throws LimitExceeded
    // where there may be one, and the search for it was given up.
    std::string text(const Configuration& config, Arena& arena, const std::string& promised = {});
    // No text from here has fewer bytes.
    uint32_t least_bytes(const Configuration& config);
    uint64_t memory_bytes() const;

    // The rest is for the masks of a budget (budget_masks.hpp), which ask many questions after one `make_room`.
    //
    // Configurations have numbers, equal ones where the shortest texts are the same; kNone if that depends on the text.
    // The table of them may be dropped between two masks, not within one: then a new epoch begins. Texts whose tokens
    // were counted are kept, as budgets may rely on them, and a search from further on might find longer ones.
    void make_room();
    uint64_t epoch() const { return epoch_; }
    uint32_t number_of(const Configuration& config);
    uint32_t known_number(const Configuration& config) const;  // kNone if it has none yet
    // `tokens` and `text` as far as the work allows, and without the error.
    uint32_t needed(const Configuration& config, Arena& arena);
    uint32_t needed(const Configuration& config, Arena& arena, const std::string& promised);
    std::string completion_text(const Configuration& config, Arena& arena, const std::string& promised);
    // `tokens` if they were counted, else kNever.
    uint32_t known_tokens(const Configuration& config);
    // A lower bound of the bytes to the end.
    uint32_t bound(const Configuration& config) { return bound(config, number_of(config)); }
    // An upper bound of the tokens to the end; kFar and above if none is known.
    uint32_t most(const Configuration& config);
    // `needed` where no search is.
    std::optional<uint32_t> told(const Configuration& config);
    // Bytes of some text to the end, perhaps a long one, if one of at most `limit` bytes is found soon; else kFar.
    // Where that suffices, the shortest text need not be known.
    uint32_t some_end(const Configuration& config, uint32_t limit, Arena& arena);
    // Let all searches together take so many steps, until the end of the work, which tells whether they sufficed.
    void limit_work(uint64_t steps) { work_ = steps; }
    bool end_work() { return std::exchange(work_, kNoLimit) > 0; }
    bool has_work() const { return work_ > 0; }
    const Spelling& spelling() const { return *spelling_; }

private:
    static constexpr uint32_t kUnasked = UINT32_MAX - 1;
    static constexpr uint64_t kNoLimit = UINT64_MAX;
    struct Known {
        uint32_t lower = 0, upper = Automaton::kFar;  // bytes to the end
        uint32_t some = Automaton::kFar,
                 sought = 0;  // bytes of some text to it, and the limit within which none was found
        uint32_t tokens = kUnasked;
        uint8_t byte = 0;       // the next one of the text, if `upper` is known
        uint32_t next = kNone;  // and where it leads, if `tokens` are settled
    };
    struct Level {
        Configuration config;
        uint32_t id;  // kNone: depends on the text
        uint32_t limit;
        uint32_t next;  // byte to try
        ByteSet bytes;
        Arena::Mark mark;
        uint32_t least = 0;    // of `some_end`: a lower bound of the bytes to the end,
        bool is_away = false;  // and whether the bytes that lead nearer to it were tried
    };
    struct Reached {  // by `greedy_search`
        Configuration config;
        uint32_t id, from, bytes;  // `from`: the node before it, kNone at the start
        uint8_t byte;              // read from there
    };
    // The rest of a text from one place on: those along it share it.
    struct KeptText {
        std::shared_ptr<const std::string> text;
        size_t from;
    };
    class Open;
    enum class Found : uint8_t { kYes, kNone, kTooFar };

    void prepare();
    void keep_settled();
    uint32_t bound(const Configuration& config, uint32_t id);
    bool is_settled(uint32_t id) const { return id != kNone && known_[id].tokens < kUnasked; }
    void spend(uint64_t steps) {
        if (work_ != kNoLimit) work_ -= std::min(work_, steps * guide_.step_cost());
    }
    bool step(Configuration& config, uint8_t byte, Arena& arena);
    ByteSet bytes_to_try(const Configuration& config, uint32_t limit);
    bool write(const Configuration& config, std::string& text);
    bool complete(const Configuration& config, Arena& arena);
    uint32_t told_bytes(const Configuration& config, uint32_t least);
    Found search(const Configuration& config, uint32_t limit, Arena& arena);
    bool greedy_search(const Configuration& config, Arena& arena);
    void keep_path(uint32_t left);
    void keep_way_to(const std::vector<Reached>& reached, uint32_t node);
    bool follow(const Configuration& config, Arena& arena, std::string& text, std::vector<uint32_t>& ids, bool whole);
    bool is_noted(uint32_t id) const;
    void keep_texts(const std::string& text, const std::vector<uint32_t>& ids);
    uint32_t count_by_reading(const Configuration& config, const std::string& text, Arena& arena);
    std::vector<uint32_t> count_tokens(std::string_view text, uint32_t id) const;

    Automaton& automaton_;
    CompletionGuide& guide_;
    const VocabularyTables& tables_;
    std::optional<Spelling> spelling_;  // once prepared
    uint32_t longest_ = 1;              // bytes of a token
    std::vector<uint64_t> scratch_;
    KeyTable keys_;
    std::vector<Known> known_;  // [number of its key]
    uint64_t epoch_ = 1;        // of these numbers
    // [number] the text whose tokens were counted, where its way has places without a number: another search might
    // find another one.
    std::unordered_map<uint32_t, KeptText> texts_;
    size_t text_bytes_ = 0;  // of these texts
    size_t unnumbered_ = 0;  // bytes of the last text that was followed up to the last such place
    std::vector<Level> levels_;
    std::string path_;  // the text that the last search found, down to a known configuration
    uint32_t overshoot_ = 0, steps_ = 0;
    bool gave_up_ = false;      // whether the last search that found nothing did not look everywhere
    uint64_t work_ = kNoLimit;  // steps that are left for the mask being made
};

}  // namespace schemagen
