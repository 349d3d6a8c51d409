#include "context_free/embedded_masks.hpp"

#include <algorithm>
#include <cstring>

#include "automata/container_view.hpp"
#include "automata/token_walk.hpp"
#include "masks/masks.hpp"
#include "util/bits.hpp"
#include "util/heap.hpp"

namespace schemagen {

namespace {

// Releases everything allocated in the arena during its lifetime.
class Scratch {
public:
    explicit Scratch(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
    ~Scratch() { arena_.release(mark_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

private:
    Arena& arena_;
    Arena::Mark mark_;
};

}  // namespace

EmbeddedMasks::EmbeddedMasks(EmbeddedAutomaton& automaton, const VocabularyTables& tables, StringMasks& strings)
    : automaton_(automaton), tables_(tables), host_(automaton.host().make_masks(tables)), kept_(tables.words()) {
    for (const EmbeddedLanguage& language : automaton.languages()) {
        MaskFactory* factory = language.automaton->facets().masks;
        std::unique_ptr<MaskEngine> inner;
        if (factory)
            inner = factory->make_masks(tables);
        else
            inner = std::make_unique<Masks>(*language.automaton, tables, strings);
        languages_.push_back({std::move(inner), nullptr});
    }
}

// Made when an embedded text is read first.
const Trie& EmbeddedMasks::leaving_trie(uint32_t number) {
    std::shared_ptr<const Trie>& trie = languages_[number].leaving;
    if (!trie) {
        const EmbeddedLanguage& language = automaton_.languages()[number];
        trie = tables_.tokens_with(language.last, automaton_.bytes_after(language));
    }
    return *trie;
}

// Made when one may be read first. Aligned texts begin at the beginning of a token.
const Trie& EmbeddedMasks::entering_trie() {
    if (!entering_) {
        ByteSet first;
        for (const EmbeddedLanguage& language : automaton_.languages())
            if (!language.count || !language.count->is_aligned) first.add(language.first);
        entering_ = tables_.tokens_with(first);
    }
    return *entering_;
}

void EmbeddedMasks::add_walk(const Trie& trie, const Configuration& from, Words& words, Arena& arena) {
    const bool counts = automaton_.facets().counts_tokens;
    walk_tokens(automaton_, trie, from, arena, [&](uint32_t node, const Configuration& at) {
        for (uint32_t token : trie.tokens_at(node)) {
            if (counts) {
                Configuration next = at;
                if (!automaton_.end_token(next, token, arena)) continue;
            }
            set_bit(words.data(), token);
        }
    });
}

// The tokens with which an aligned text begins where the parser is.
void EmbeddedMasks::add_aligned(ParserState at, Promise promise, Words& words, Arena& arena) {
    for (const EmbeddedStrand& strand : automaton_.aligned_after(at, promise))
        if (strand.promise)  // of the lexeme before, which is rare
            add_walk(tables_.all(), EmbeddedAutomaton::with(kNoStrands, {&strand, 1}, arena), words, arena);
        else
            add_inner(strand, words, arena);
}

// Where no embedded text is being read.
void EmbeddedMasks::add_set(StrandSet set, Words& words, Arena& arena) {
    if (!set) return;
    if (const auto* known = at_sets_.find(set)) return (*known)->add_to(words.data(), words.size());
    Words own(tables_.words(), 0);
    const Configuration config = EmbeddedAutomaton::with(set, {}, arena);
    host_->fill(config, own.data(), arena);
    add_walk(entering_trie(), config, own, arena);
    automaton_.each_gap(set, [&](ParserState at, Promise promise) { add_aligned(at, promise, own, arena); });
    (at_sets_.add(set, 0) = kept_.of_mask(own))->add_to(words.data(), words.size());
}

// The tokens that begin after an embedded text.
void EmbeddedMasks::add_after(ParserState after, Words& words, Arena& arena) {
    if (const auto* known = after_.find(after)) return (*known)->add_to(words.data(), words.size());
    Words own(tables_.words(), 0);
    ContextFreeAutomaton& host = automaton_.host();
    const LexerState begun = host.lexer().start(host.parser().viable(after));
    if (const StrandSet set = begun ? host.strands().set_of({after, begun, kNoPromise}) : kNoStrands)
        host_->fill(EmbeddedAutomaton::with(set, {}, arena), own.data(), arena);
    const EmbeddedStrand gap{after, EmbeddedStrand::kGap, kNoPromise, 0, {}};
    add_walk(entering_trie(), EmbeddedAutomaton::with(kNoStrands, {&gap, 1}, arena), own, arena);
    add_aligned(after, kNoPromise, own, arena);
    (after_.add(after, 0) = kept_.of_mask(own))->add_to(words.data(), words.size());
}

// The tokens that stay in an embedded text.
void EmbeddedMasks::add_inner(const EmbeddedStrand& strand, Words& words, Arena& arena) {
    const Scratch scratch(arena);
    Configuration inner = strand.inner;
    if (ContainerView* view = automaton_.languages()[strand.language].automaton->facets().containers)
        view->settle(inner, arena);
    const TokenCount* count = automaton_.languages()[strand.language].count.get();
    if (count && strand.tokens == count->most) return;
    Words own(tables_.words(), 0);
    const uint32_t allowed = languages_[strand.language].inner->fill(inner, own.data(), arena);
    if (count) automaton_.counter(strand.language)->tighten(inner, strand.tokens, own.data(), allowed, arena);
    if (count && !count->members.empty())
        for (size_t w = 0; w < words.size(); ++w) own[w] &= count->members[w];
    for (uint32_t token : tables_.eos()) clear_bit(own.data(), token);
    for (size_t w = 0; w < words.size(); ++w) words[w] |= own[w];
}

// The tokens in which an embedded text ends, and something follows: kept if they do not depend on the text.
void EmbeddedMasks::add_leaving(const EmbeddedStrand& strand, Words& words, Arena& arena) {
    const Configuration alone = EmbeddedAutomaton::with(kNoStrands, {&strand, 1}, arena);
    const Trie& trie = leaving_trie(strand.language);
    std::vector<uint64_t> identity;
    if (!automaton_.identity(alone, true, identity)) return add_walk(trie, alone, words, arena);
    if (const auto* known = leaving_.find(identity)) return (*known)->add_to(words.data(), words.size());
    Words own(tables_.words(), 0);
    add_walk(trie, alone, own, arena);
    (leaving_.add(identity, heap_bytes(identity)) = kept_.of_mask(own))->add_to(words.data(), words.size());
}

void EmbeddedMasks::add_embedded(const EmbeddedStrand& strand, Words& words, Arena& arena) {
    const Scratch scratch(arena);
    if (strand.promise)  // of the lexeme before, which is rare
        return add_walk(tables_.all(), EmbeddedAutomaton::with(kNoStrands, {&strand, 1}, arena), words, arena);
    add_inner(strand, words, arena);
    if (automaton_.has_ended(strand)) add_after(strand.after, words, arena);
    const TokenCount* count = automaton_.languages()[strand.language].count.get();
    if (count && (count->is_aligned || strand.tokens == count->most)) return;  // no token leaves it
    const Trie& trie = leaving_trie(strand.language);
    automaton_.settle_shortest(tables_);
    if (automaton_.languages()[strand.language].min_bytes(strand.inner, strand.tokens) >= trie.max_depth) return;
    add_leaving(strand, words, arena);
}

template <class Visit>
void EmbeddedMasks::each_cache(const Visit& visit) {
    visit(at_sets_);
    visit(after_);
    visit(leaving_);
}

// The sets share their pieces, which go at once. The sets that texts came back to are cut into pieces anew.
void EmbeddedMasks::make_room() {
    const size_t most = most_mask_bytes.load(std::memory_order_relaxed);
    if (own_bytes() < most) return;
    const TokenSets before = std::exchange(kept_, TokenSets(tables_.words()));
    each_cache([&](auto& cache) {
        cache.sweep();
        cache.each([&](const TokenSet*& set) { set = kept_.same_as(*set); });
    });
    if (own_bytes() < most / 2) return;
    kept_ = TokenSets(tables_.words());
    each_cache([](auto& cache) { cache.clear(); });
}

uint32_t EmbeddedMasks::fill(const Configuration& config, uint32_t* words, Arena& arena) {
    make_room();
    Words all(tables_.words(), 0);
    const Scratch scratch(arena);
    add_set(config.state, all, arena);
    for (const EmbeddedStrand& strand : EmbeddedAutomaton::strands_of(config)) add_embedded(strand, all, arena);
    if (automaton_.accepting(config))
        for (uint32_t token : tables_.eos()) set_bit(all.data(), token);
    std::copy(all.begin(), all.end(), words);
    return count_bits(words, tables_.words());
}

bool EmbeddedMasks::fill_known(const Configuration& config, uint32_t* words, uint32_t& allowed) const {
    const auto* known = config.frame ? nullptr : at_sets_.find(config.state);
    if (!known) return false;
    (*known)->copy_to(words, tables_.words());
    allowed = (*known)->count;
    return true;
}

size_t EmbeddedMasks::own_bytes() const {
    return kept_.memory_bytes() + at_sets_.bytes() + after_.bytes() + leaving_.bytes();
}

size_t EmbeddedMasks::memory_bytes() const {
    size_t bytes = own_bytes() + host_->memory_bytes();
    for (const LanguageMasks& language : languages_) bytes += language.inner->memory_bytes();
    return bytes;
}

}  // namespace schemagen
