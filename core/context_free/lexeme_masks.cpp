#include "context_free/lexeme_masks.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "util/bits.hpp"
#include "util/hash.hpp"

namespace schemagen {

LexemeMasks::LexemeMasks(const ContextFreeGrammar& grammar, Parser& parser, LexemeSets& sets, Lexer& lexer,
                         Strands& strands, const VocabularyTables& tables)
    : grammar_(grammar),
      parser_(parser),
      sets_(sets),
      lexer_(lexer),
      strands_(strands),
      tables_(tables),
      classes_(grammar, parser, sets, lexer, strands) {}

void LexemeMasks::Tokens::add_to(uint32_t* words, size_t size) const {
    if (mask)
        for (size_t w = 0; w < size; ++w) words[w] |= (*mask)[w];
    for (uint32_t token : list) set_bit(words, token);
}

LexemeMasks::Tokens LexemeMasks::kept(const Words& words) {
    Tokens out;
    out.count = count_bits(words.data(), words.size());
    if (out.count < words.size() / 4) {
        for (uint32_t w = 0; w < words.size(); ++w)
            for (uint32_t bits = words[w]; bits; bits &= bits - 1)
                out.list.push_back(w * 32 + static_cast<uint32_t>(__builtin_ctz(bits)));
        bytes_ += out.list.size() * 4 + sizeof(Tokens);
        return out;
    }
    auto& equal = pool_[hash_words(words.data(), words.size())];
    for (const auto& weak : equal)
        if (auto known = weak.lock(); known && *known == words) {
            out.mask = std::move(known);
            return out;
        }
    out.mask = std::make_shared<const Words>(words);
    equal.push_back(out.mask);
    bytes_ += words.size() * 4 + sizeof(Tokens);
    return out;
}

// ---- one lexeme ---------------------------------------------------------------------------------------------------

const LexemeMasks::Scan& LexemeMasks::scan(const Lexer::Component& component) {
    const LexerState alone = lexer_.alone(component);
    auto it = scans_.find(alone);
    if (it == scans_.end()) it = scans_.emplace(alone, walk(alone)).first;
    return *it->second;
}

// Of the tokens below a node, which leave the lexeme: their tails behind each place where it may end on the way.
void LexemeMasks::leave(const Trie& trie, uint32_t node, const std::vector<std::pair<size_t, Promise>>& cuts,
                        std::vector<std::pair<TailClass, uint32_t>>& leaving) {
    if (cuts.empty()) return;
    for (uint32_t token : trie.tokens_below(node)) {
        const std::string_view text = tables_.token(token);
        for (auto [length, promise] : cuts)
            if (const TailClass tail = classes_.of(text.substr(length), promise)) leaving.emplace_back(tail, token);
    }
}

std::shared_ptr<LexemeMasks::Scan> LexemeMasks::walk(LexerState alone) {
    const Trie& trie = tables_.all();
    Words inner(tables_.words(), 0);
    std::vector<std::pair<TailClass, uint32_t>> leaving;
    std::vector<std::pair<size_t, Promise>> cuts;  // of the path: where the lexeme may end, and what it promises there
    struct Level {
        LexerState state;
        uint32_t at, end;
        size_t cuts;
    };
    std::vector<Level> levels{{alone, trie.first_child[trie.root()], trie.first_child[trie.root() + 1], 0}};
    while (!levels.empty()) {
        Level& level = levels.back();
        cuts.resize(level.cuts);
        if (level.at == level.end) {
            levels.pop_back();
            continue;
        }
        const uint32_t k = level.at++, node = trie.child[k];
        const LexerState next = lexer_.next(level.state, trie.child_byte[k]);
        poll();
        if (!next) {
            leave(trie, node, cuts, leaving);
            continue;
        }
        for (uint32_t token : trie.tokens_at(node)) set_bit(inner.data(), token);
        if (!trie.has_children(node)) continue;
        for (const Lexer::End& end : lexer_.ends(next)) cuts.emplace_back(levels.size(), end.promise);
        levels.push_back({next, trie.first_child[node], trie.first_child[node + 1], cuts.size()});
    }
    auto scan = std::make_shared<Scan>();
    end_before(alone, *scan, leaving);
    std::erase_if(leaving, [&](auto pair) { return has_bit(inner.data(), pair.second); });
    std::sort(leaving.begin(), leaving.end());
    leaving.erase(std::unique(leaving.begin(), leaving.end()), leaving.end());
    for (auto [tail, token] : leaving) {
        if (scan->leaving.empty() || scan->leaving.back().tail != tail) scan->leaving.push_back({tail, {}});
        scan->leaving.back().tokens.push_back(token);
    }
    bytes_ += leaving.size() * 4 + scan->leaving.size() * sizeof(Group) + sizeof(Scan);
    scan->inner = kept(inner);
    return scan;
}

// Where the lexeme may have ended before the token: by the first byte of it, tokens break its promise, keep it, or are
// read on.
void LexemeMasks::end_before(LexerState alone, Scan& scan, std::vector<std::pair<TailClass, uint32_t>>& leaving) {
    const auto& ends = lexer_.ends(alone);
    if (ends.empty()) return;
    scan.ends = true;
    const Promise promise = ends[0].promise;
    if (!promise) return;
    const Trie& trie = tables_.all();
    Words beginning(tables_.words(), 0);
    for (uint32_t k = trie.first_child[trie.root()]; k < trie.first_child[trie.root() + 1]; ++k) {
        const Promise next = lexer_.keep(promise, trie.child_byte[k]);
        if (next == kBroken) continue;
        if (next == kNoPromise)
            for (uint32_t token : trie.tokens_below(trie.child[k])) set_bit(beginning.data(), token);
        else
            leave(trie, trie.child[k], {{0, promise}}, leaving);
    }
    scan.beginning = std::make_shared<const Words>(std::move(beginning));
    bytes_ += tables_.words() * 4;
}

const LexemeMasks::LexerMask& LexemeMasks::lexer_mask(LexerState lexer) {
    auto it = lexer_masks_.find(lexer);
    if (it != lexer_masks_.end()) return it->second;
    LexerMask mask;
    Words inner(tables_.words(), 0);
    const std::vector<Lexer::Component> components = lexer_.components(lexer);
    for (const Lexer::Component& component : components) {
        const Scan& own = scan(component);
        own.inner.add_to(inner.data(), inner.size());
        if (own.leaving.empty() && !own.ends) continue;
        mask.scans.emplace_back(component.lexeme, scans_.at(lexer_.alone(component)));
    }
    mask.inner = kept(inner);
    return lexer_masks_.emplace(lexer, std::move(mask)).first->second;
}

// ---- strands and places -------------------------------------------------------------------------------------------

const LexemeMasks::Tokens& LexemeMasks::strand_mask(const Strand& strand, Arena& arena) {
    const uint64_t key = uint64_t{strand.parser} << 32 | strand.lexer;
    if (!strand.promise)
        if (auto it = strand_masks_.find(key); it != strand_masks_.end()) return it->second;
    Words words(tables_.words(), 0);
    const LexerMask& mask = lexer_mask(strand.lexer);
    mask.inner.add_to(words.data(), words.size());
    for (const auto& [lexeme, scan] : mask.scans) {
        const ParserState behind = strands_.behind(strand.parser, lexeme);
        if (!behind) continue;
        if (scan->ends) {
            const Tokens& next = strand_mask({behind, lexer_.start(parser_.viable(behind)), kNoPromise}, arena);
            if (!scan->beginning) next.add_to(words.data(), words.size());
            for (size_t w = 0; w < words.size() && scan->beginning && next.mask; ++w)
                words[w] |= (*next.mask)[w] & (*scan->beginning)[w];
            for (uint32_t token : next.list)
                if (!scan->beginning || has_bit(scan->beginning->data(), token)) set_bit(words.data(), token);
        }
        for (const Group& group : scan->leaving)
            if (classes_.may_follow(behind, group.tail))
                for (uint32_t token : group.tokens) set_bit(words.data(), token);
    }
    bytes_ += 64;
    return strand_masks_.emplace(key, kept(words)).first->second;
}

// A promise is left: token by token.
void LexemeMasks::read_all(const Strand& strand, uint32_t* words) {
    descend(tables_.all(), strands_.place_of(strand), [&](PlaceId at, uint8_t byte, uint32_t node, PlaceId& next) {
        poll();
        next = strands_.step(at, byte);
        if (!next) return false;
        for (uint32_t token : tables_.all().tokens_at(node)) set_bit(words, token);
        return true;
    });
}

void LexemeMasks::make_room() {
    if (bytes_ + classes_.memory_bytes() < kMostBytes) return;
    masks_.clear();
    strand_masks_.clear();
    lexer_masks_.clear();
    scans_.clear();
    pool_.clear();
    classes_.forget_answers();
    bytes_ = 0;
}

uint32_t LexemeMasks::fill(const Configuration& config, uint32_t* words, Arena& arena) {
    const PlaceId place = config.state;
    uint32_t allowed = 0;
    if (fill_known(config, words, allowed)) return allowed;
    make_room();
    Words all(tables_.words(), 0);
    for (const Strand& strand : strands_[place]) {
        if (strand.promise)
            read_all(strand, all.data());
        else
            strand_mask(strand, arena).add_to(all.data(), all.size());
    }
    if (strands_.accepting(place))
        for (uint32_t token : tables_.eos()) set_bit(all.data(), token);
    std::copy(all.begin(), all.end(), words);
    const Tokens& mask = masks_.emplace(place, kept(all)).first->second;
    bytes_ += 64;
    return mask.count;
}

bool LexemeMasks::fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const {
    const auto it = masks_.find(config.state);
    if (it == masks_.end()) return false;
    const Tokens& mask = it->second;
    allowed = mask.count;
    if (mask.mask) {
        std::memcpy(words, mask.mask->data(), tables_.words() * sizeof(uint32_t));
        return true;
    }
    std::memset(words, 0, tables_.words() * sizeof(uint32_t));
    for (uint32_t token : mask.list) set_bit(words, token);
    return true;
}

}  // namespace schemagen
