#include "context_free/tail_classes.hpp"

#include <algorithm>
#include <numeric>

#include "util/work.hpp"

namespace schemagen {

TailClasses::TailClasses(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer,
                         Strands& strands)
    : parser_(parser), sets_(sets), lexer_(lexer), strands_(strands) {
    std::vector<LexemeId> all(grammar.lexemes().size());
    std::iota(all.begin(), all.end(), 0);
    start_ = lexer_.start(sets_.intern(std::move(all)));
}

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
    LexerState state = start_;
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
    if (promise == kBroken) state = kNoLexeme, promise = kNoPromise;
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

bool TailClasses::may_follow(ParserState state, TailClass tail) {
    const auto known = classes_[tail];
    const LexemeSets::SetId viable = parser_.viable(state);
    if (!known[1] && sets_.meet(known[0], viable)) return true;
    if (known.size() == 2 && !known[1]) return false;
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
    size_t bytes = classes_.memory_bytes() + answers_.memory_bytes();
    for (const auto& known : known_) bytes += known.size() * 48;
    return bytes;
}

}  // namespace schemagen
