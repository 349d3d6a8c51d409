#include "context_free/tail_classes.hpp"

#include <algorithm>
#include <numeric>

#include "util/heap.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace {
constexpr TailClass kUnknown = UINT32_MAX;
}

TailClasses::TailClasses(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer,
                         Strands& strands, const VocabularyTables& tables)
    : parser_(parser),
      sets_(sets),
      lexer_(lexer),
      loops_(lexer),
      strands_(strands),
      tables_(tables),
      lexemes_(static_cast<uint32_t>(grammar.lexemes().size())),
      answers_(parser) {}

// At the first use, so that it adds nothing to the shared automata before they are locked.
LexerState TailClasses::start() {
    if (start_ == kNoLexeme) {
        std::vector<LexemeId> all(lexemes_);
        std::iota(all.begin(), all.end(), 0);
        start_ = lexer_.start(sets_.intern(std::move(all)));
    }
    return start_;
}

void TailClasses::keep(Lexer& lexer, CutStack& cuts, size_t begin, size_t end, size_t length, uint8_t byte) {
    for (size_t k = begin; k < end; ++k) {
        const Cut cut = cuts[k];
        if (cut.length == length && !lexer.may_follow(cut.lexeme, byte)) continue;
        if (const Promise left = lexer.keep(cut.left, byte); left != kBroken)
            cuts.push_back({cut.lexeme, cut.length, cut.promise, left});
    }
}

// ---- one tail -----------------------------------------------------------------------------------------------------

TailClass TailClasses::of(std::string_view tail, Promise promise) {
    if (promise) {  // the first byte keeps or breaks most of them
        const Promise next = lexer_.keep(promise, static_cast<uint8_t>(tail[0]));
        if (next == kBroken) return kNoClass;
        if (next == kNoPromise) promise = kNoPromise;
    }
    const uint64_t hash = mix(hash_text(tail), promise);
    const uint32_t known =
        known_index_.find(hash, [&](uint32_t k) { return known_[k].promise == promise && known_[k].text == tail; });
    if (known != HashIndex::kNone) return known_[known].tail;
    const TailClass found = cut(tail, promise);
    known_index_.insert(hash, static_cast<uint32_t>(known_.size()));
    known_.push_back({tail, promise, found});
    return found;
}

TailClass TailClasses::cut(std::string_view tail, Promise promise) {
    poll();
    LexerState state = start();
    std::vector<std::pair<LexemeId, TailClass>> cuts;
    for (size_t read = 0; read < tail.size() && state && promise != kBroken;) {
        const auto byte = static_cast<uint8_t>(tail[read++]);
        state = lexer_.next(state, byte);
        promise = lexer_.keep(promise, byte);
        if (!state || promise == kBroken || read == tail.size()) break;
        for (size_t k = 0; k < lexer_.ends(state).size(); ++k) {
            const Lexer::End end = lexer_.ends(state)[k];
            if (!lexer_.may_follow(end.lexeme, static_cast<uint8_t>(tail[read]))) continue;
            const TailClass after = of(tail.substr(read), lexer_.both(promise, end.promise));
            if (after) cuts.emplace_back(end.lexeme, after);
        }
    }
    if (promise == kBroken) state = kNoLexeme;
    return interned(state, state ? promise : kNoPromise, std::move(cuts));
}

TailClass TailClasses::interned(LexerState state, Promise promise, std::vector<std::pair<LexemeId, TailClass>> cuts) {
    if (!state && cuts.empty()) return kNoClass;
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    key_.assign({promise ? state : lexemes_of(state), promise});
    for (auto [lexeme, after] : cuts) key_.insert(key_.end(), {lexeme, after});
    const TailClass tail = classes_.intern(key_);
    if (depths_.size() <= tail) depths_.resize(tail + 1, 0);
    for (auto [lexeme, after] : cuts) depths_[tail] = std::max(depths_[tail], depths_[after] + 1);
    return tail;
}

// Those that may be unfinished at a state.
LexemeSets::SetId TailClasses::lexemes_of(LexerState state) {
    const bool is_kept = !Lexer::is_tracked(state);
    if (is_kept && begun_.size() <= state) begun_.resize(lexer_.state_count(), kUnknown);
    if (is_kept && begun_[state] != kUnknown) return begun_[state];
    std::vector<LexemeId> lexemes;
    for (const Lexer::Component& each : lexer_.components(state)) lexemes.push_back(each.lexeme);
    const LexemeSets::SetId set = sets_.intern(std::move(lexemes));
    return is_kept ? begun_[state] = set : set;
}

TailClass TailClasses::ending_in(LexerState state) {
    if (!state) return kNoClass;
    if (Lexer::is_tracked(state)) {
        const auto [it, is_new] = ending_in_track_.try_emplace(lexer_.track_start(state), kUnknown);
        if (is_new) it->second = interned(state, kNoPromise, {});
        return it->second;
    }
    if (ending_in_.size() <= state) ending_in_.resize(lexer_.state_count(), kUnknown);
    if (ending_in_[state] == kUnknown) ending_in_[state] = interned(state, kNoPromise, {});
    return ending_in_[state];
}

void TailClasses::add(Tails& tails, const TailRange& range) {
    if (!tails.empty() && tails.back().tail == range.tail && tails.back().end == range.begin)
        tails.back().end = range.end;
    else if (range.begin != range.end)
        tails.push_back(range);
}

// ---- those below a node -------------------------------------------------------------------------------------------

// Reads the tokens below a node from the start of a lexeme on, each level of the trie with the cuts that it has.
class TailClasses::Walk {
public:
    Walk(TailClasses& classes, Tails& tails)
        : classes_(classes), lexer_(classes.lexer_), trie_(classes.tables_.all()), tails_(tails) {
        constexpr size_t kUsual = 16;
        levels_.reserve(kUsual);
        cuts_.reserve(kUsual);
    }

    void start(Promise promise) { levels_.push_back({classes_.start(), promise, 0, 0, 0, 0, 0}); }
    // Reads a byte that leads to a node. Returns false if nothing can follow. `length`: bytes of the token with it.
    bool read(uint8_t byte, uint32_t length) {
        const Level from = levels_.back();
        cuts_.resize(from.cuts_end);
        Level next{lexer_.next(from.state, byte), lexer_.keep(from.promise, byte), 0, cuts_.size(), 0, 0, 0};
        if (next.promise == kBroken) next.state = kNoLexeme, next.promise = kNoPromise;
        keep(lexer_, cuts_, from.cuts, from.cuts_end, length - 1, byte);
        for (size_t k = 0; k < lexer_.ends(next.state).size(); ++k) {
            const Lexer::End end = lexer_.ends(next.state)[k];
            const Promise both = lexer_.both(next.promise, end.promise);
            cuts_.push_back({end.lexeme, length, both, both});
        }
        next.cuts_end = cuts_.size();
        if (!next.state && next.cuts == next.cuts_end) return false;
        levels_.push_back(next);
        return true;
    }
    // The node that the bytes which were read lead to; `length`: how many.
    void open(uint32_t node, uint32_t length) {
        Level& level = levels_.back();
        level.loops = loops(level, length);
        if (classes_.tables_.slices().below[node] & level.loops) {
            add(classes_.ending_in(level.state), node, trie_.skip[node]);
            return;
        }
        if (const auto tokens = trie_.tokens_at(node); !tokens.empty()) add(tail_of(tokens[0], level), node, node + 1);
        level.at = trie_.first_child[node];
        level.end = trie_.first_child[node + 1];
    }
    // All that is below the node on top; `depth`: bytes to it.
    void run(uint32_t depth) {
        const std::vector<Slice::Set>& edges = classes_.tables_.slices().edges;
        const size_t top = levels_.size();
        while (levels_.size() >= top) {
            poll();
            Level& level = levels_.back();
            if (level.at == level.end) {
                levels_.pop_back();
                continue;
            }
            const uint32_t k = level.at++;
            if (edges[k] & level.loops) {
                while (level.at < level.end && edges[level.at] & level.loops) ++level.at;
                add(classes_.ending_in(level.state), trie_.child[k], trie_.skip[trie_.child[level.at - 1]]);
                continue;
            }
            const uint32_t length = depth + static_cast<uint32_t>(levels_.size() - top) + 1;
            if (read(trie_.child_byte[k], length)) open(trie_.child[k], length);
        }
    }

private:
    struct Level {
        LexerState state;
        Promise promise;
        Slice::Set loops;       // tokens that go on with their characters alone end in the lexemes of this level
        size_t cuts, cuts_end;  // of cuts_
        uint32_t at, end;       // children
    };
    // Of a level after so many bytes. Where something is promised, or a cut is open, each token is looked at.
    Slice::Set loops(const Level& level, uint32_t length) {
        if (level.promise || !level.state) return 0;
        for (size_t k = level.cuts; k < level.cuts_end; ++k)
            if (cuts_[k].length < length) return 0;
        return classes_.loops_.without_cuts(level.state);
    }
    // Of a token that ends at this level.
    TailClass tail_of(uint32_t token, const Level& level) {
        if (level.cuts == level.cuts_end && !level.promise) return classes_.ending_in(level.state);
        rests_.clear();
        const std::string_view text = classes_.tables_.token(token);
        for (size_t k = level.cuts; k < level.cuts_end; ++k)
            if (const Cut cut = cuts_[k]; cut.length < text.size())
                if (const TailClass rest = classes_.of(text.substr(cut.length), cut.promise))
                    rests_.emplace_back(cut.lexeme, rest);
        return rests_.empty() && !level.promise
                   ? classes_.ending_in(level.state)
                   : classes_.interned(level.state, level.state ? level.promise : kNoPromise, rests_);
    }
    // The tokens at the nodes of a range.
    void add(TailClass tail, uint32_t first, uint32_t last) {
        if (tail) TailClasses::add(tails_, {tail, trie_.first_token[first], trie_.first_token[last]});
    }

    TailClasses& classes_;
    Lexer& lexer_;
    const Trie& trie_;
    Tails& tails_;
    std::vector<Level> levels_;
    CutStack cuts_;
    std::vector<std::pair<LexemeId, TailClass>> rests_;
};

void TailClasses::add_below(uint32_t node, uint32_t depth, const Cut& cut, Tails& tails) {
    const auto below = tables_.all().tokens_below(node);
    if (below.empty()) return;
    const std::string_view text = tables_.token(below[0]);
    // Where the lexeme ends right before the node, this is the same for all lexemes with the same rest of the promise.
    const Promise left = lexer_.keep(cut.promise, static_cast<uint8_t>(text[cut.length]));
    const bool shared = cut.length + 1 == depth;
    const uint64_t key = uint64_t{left} << 32 | node;
    if (shared)
        if (const auto it = below_.find(key); it != below_.end()) {
            tails.insert(tails.end(), it->second.begin(), it->second.end());
            return;
        }
    Tails made;
    Walk walk(*this, made);
    walk.start(left == kNoPromise ? kNoPromise : cut.promise);
    uint32_t at = cut.length;
    while (at < depth && walk.read(static_cast<uint8_t>(text[at]), at + 1)) ++at;
    if (at == depth) {
        walk.open(node, depth);
        walk.run(depth);
    }
    tails.insert(tails.end(), made.begin(), made.end());
    if (!shared) return;
    made.shrink_to_fit();
    below_bytes_ += heap_bytes(made) + heap_node(sizeof(*below_.begin()));
    below_.emplace(key, std::move(made));
}

// ---- the parser ---------------------------------------------------------------------------------------------------

bool TailClasses::may_follow(ParserState state, TailClass tail) {
    const LexemeSets::SetId viable = parser_.viable(state);
    if (may_end_in(state, viable, tail)) return true;
    bool unclear = false;
    for (size_t k = 0; k < cuts(tail).size() && !unclear; k += 2) unclear = sets_.has(viable, cuts(tail)[k]);
    return unclear && answers_.get(tail, state, [&] { return uint32_t{goes_on(state, tail)}; }) != 0;
}

// Whether it may follow as a part of one of the lexemes that it ends in.
bool TailClasses::may_end_in(ParserState state, LexemeSets::SetId viable, TailClass tail) {
    if (!promises(tail)) return sets_.meet(begun(tail), viable);
    const LexerState last = lexer_.within(begun(tail), viable);
    return last && strands_.can_finish({state, last, classes_[tail][1]});
}

// Whether it may follow one of its cuts.
bool TailClasses::goes_on(ParserState state, TailClass tail) {
    poll();
    const LexemeSets::SetId viable = parser_.viable(state);
    bool may = false;
    for (size_t k = 0; k < cuts(tail).size() && !may; k += 2) {
        const uint32_t lexeme = cuts(tail)[k], next = cuts(tail)[k + 1];
        if (!sets_.has(viable, lexeme)) continue;
        const ParserState after = strands_.after(state, lexeme);
        may = after && may_follow(after, next);
    }
    return may;
}

size_t TailClasses::memory_bytes() const {
    return below_bytes_ + classes_.memory_bytes() + answers_.memory_bytes() + loops_.memory_bytes() +
           heap_bytes(ending_in_) + heap_bytes(depths_) + heap_bytes(known_) + known_index_.memory_bytes() +
           heap_bytes(begun_) + ending_in_track_.size() * heap_node(sizeof(*ending_in_track_.begin()));
}

}  // namespace schemagen
