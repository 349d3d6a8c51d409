#include "context_free/tail_classes.hpp"

#include <algorithm>
#include <numeric>

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
      strands_(strands),
      tables_(tables),
      lexemes_(static_cast<uint32_t>(grammar.lexemes().size())) {}

// When it is first needed: nothing is made in the shared automata before somebody has them.
LexerState TailClasses::start() {
    if (start_ == kNoLexeme) {
        std::vector<LexemeId> all(lexemes_);
        std::iota(all.begin(), all.end(), 0);
        start_ = lexer_.start(sets_.intern(std::move(all)));
    }
    return start_;
}

void TailClasses::keep(Lexer& lexer, const std::vector<Cut>& before, uint8_t byte, std::vector<Cut>& kept) {
    for (const Cut& cut : before)
        if (const Promise left = lexer.keep(cut.left, byte); left != kBroken)
            kept.push_back({cut.lexeme, cut.length, cut.promise, left});
}

// ---- one tail -----------------------------------------------------------------------------------------------------

TailClass TailClasses::of(std::string_view tail, Promise promise) {
    if (promise) {  // the first byte keeps or breaks most of them
        const Promise next = lexer_.keep(promise, static_cast<uint8_t>(tail[0]));
        if (next == kBroken) return kNoClass;
        if (next == kNoPromise) promise = kNoPromise;
    }
    if (known_.size() <= promise) known_.resize(promise + 1);
    if (const auto it = known_[promise].find(tail); it != known_[promise].end()) return it->second;
    const TailClass found = cut(tail, promise);
    known_[promise].emplace(tail, found);
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
            const TailClass behind = of(tail.substr(read), lexer_.both(promise, end.promise));
            if (behind) cuts.emplace_back(end.lexeme, behind);
        }
    }
    if (promise == kBroken) state = kNoLexeme;
    return interned(state, state ? promise : kNoPromise, std::move(cuts));
}

TailClass TailClasses::interned(LexerState state, Promise promise, std::vector<std::pair<LexemeId, TailClass>> cuts) {
    if (!state && cuts.empty()) return kNoClass;
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<uint32_t> key{state, promise};
    if (!promise) {
        std::vector<LexemeId> lexemes;
        for (const Lexer::Component& each : lexer_.components(state)) lexemes.push_back(each.lexeme);
        key[0] = sets_.intern(std::move(lexemes));
    }
    for (auto [lexeme, behind] : cuts) key.insert(key.end(), {lexeme, behind});
    return classes_.intern(key);
}

TailClass TailClasses::ending_in(LexerState state) {
    if (ending_in_.size() <= state) ending_in_.resize(lexer_.state_count(), kUnknown);
    if (ending_in_[state] == kUnknown) ending_in_[state] = interned(state, kNoPromise, {});
    return ending_in_[state];
}

// ---- those below a node -------------------------------------------------------------------------------------------

void TailClasses::add_token(uint32_t token, LexerState state, Promise promise, const std::vector<Cut>& cuts,
                            Tails& tails) {
    TailClass tail = kNoClass;
    if (cuts.empty() && !promise) {
        tail = ending_in(state);
    } else {
        std::vector<std::pair<LexemeId, TailClass>> behind;
        const std::string_view text = tables_.token(token);
        for (const Cut& cut : cuts)
            if (cut.length < text.size())
                if (const TailClass rest = of(text.substr(cut.length), cut.promise))
                    behind.emplace_back(cut.lexeme, rest);
        tail = interned(state, state ? promise : kNoPromise, std::move(behind));
    }
    if (tail) tails.emplace_back(tail, token);
}

void TailClasses::add_below(uint32_t node, uint32_t depth, const Cut& cut, Tails& tails) {
    struct Level {
        LexerState state;
        Promise promise;
        std::vector<Cut> cuts;  // behind the one that all of this follows
        uint32_t at, end;
    };
    const Trie& trie = tables_.all();
    const auto below = trie.tokens_below(node);
    if (below.empty()) return;
    std::vector<Level> levels;
    // Reads a byte into `next`; false: nothing can come of it.
    auto read = [&](const Level& from, uint8_t byte, uint32_t length, Level& next) {
        next.state = lexer_.next(from.state, byte);
        next.promise = lexer_.keep(from.promise, byte);
        if (next.promise == kBroken) next.state = kNoLexeme, next.promise = kNoPromise;
        next.cuts.clear();
        keep(lexer_, from.cuts, byte, next.cuts);
        for (size_t k = 0; k < lexer_.ends(next.state).size(); ++k) {
            const Lexer::End end = lexer_.ends(next.state)[k];
            const Promise both = lexer_.both(next.promise, end.promise);
            next.cuts.push_back({end.lexeme, length, both, both});
        }
        return next.state || !next.cuts.empty();
    };
    Level level{start(), cut.promise, {}, 0, 0}, next{};
    const std::string_view text = tables_.token(below[0]);
    for (uint32_t at = cut.length; at < depth; ++at) {
        if (!read(level, static_cast<uint8_t>(text[at]), at + 1, next)) return;
        std::swap(level, next);
    }
    auto open = [&](Level& opened, uint32_t top) {
        for (uint32_t token : trie.tokens_at(top)) add_token(token, opened.state, opened.promise, opened.cuts, tails);
        opened.at = trie.first_child[top];
        opened.end = trie.first_child[top + 1];
    };
    open(level, node);
    levels.push_back(std::move(level));
    while (!levels.empty()) {
        poll();
        Level& top = levels.back();
        if (top.at == top.end) {
            levels.pop_back();
            continue;
        }
        const uint32_t k = top.at++;
        if (!read(top, trie.child_byte[k], depth + static_cast<uint32_t>(levels.size()), next)) continue;
        open(next, trie.child[k]);
        if (next.at != next.end) levels.push_back(std::move(next));
    }
}

// ---- the parser ---------------------------------------------------------------------------------------------------

bool TailClasses::may_follow(ParserState state, TailClass tail) {
    const auto known = classes_[tail];
    const LexemeSets::SetId viable = parser_.viable(state);
    if (!known[1] && sets_.meet(known[0], viable)) return true;
    bool unclear = known[1] != kNoPromise;
    for (size_t k = 2; k < known.size() && !unclear; k += 2) unclear = sets_.has(viable, known[k]);
    if (!unclear) return false;
    if (const uint32_t answer = answers_.find(state, tail); answer != PairMap::kNone) return answer != 0;
    poll();
    bool may = false;
    if (known[1])
        if (const LexerState last = lexer_.within(known[0], viable)) may = strands_.can_finish({state, last, known[1]});
    for (size_t k = 2; k + 1 < known.size() && !may; k += 2) {
        if (!sets_.has(viable, known[k])) continue;
        const ParserState behind = strands_.behind(state, known[k]);
        may = behind && may_follow(behind, known[k + 1]);
    }
    answers_.insert(state, tail, may);
    return may;
}

size_t TailClasses::memory_bytes() const {
    size_t bytes = classes_.memory_bytes() + answers_.memory_bytes() + ending_in_.capacity() * sizeof(TailClass);
    for (const auto& known : known_) bytes += known.size() * 48;
    return bytes;
}

}  // namespace schemagen
