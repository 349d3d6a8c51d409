#include "context_free/embedded_automaton.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "automata/container_view.hpp"
#include "automata/string_view.hpp"
#include "automata/token_walk.hpp"
#include "context_free/embedded_masks.hpp"
#include "context_free/expectations.hpp"

namespace schemagen {

namespace {

struct StrandList {
    size_t count;
    EmbeddedStrand strands[1];  // of `count`
};

}  // namespace

// Of a JSON value the first byte tells the last one: brackets and quotes come in pairs.
void EmbeddedLanguage::find_ends(bool is_json) {
    Arena arena;
    for (unsigned byte = 0; byte < 256; ++byte) {
        Configuration config = automaton->start();
        if (automaton->step(config, static_cast<uint8_t>(byte), arena)) first.add(static_cast<uint8_t>(byte));
    }
    static constexpr std::pair<std::string_view, std::string_view> kEnds[] = {
        {"{", "}"}, {"[", "]"}, {"\"", "\""}, {"-0123456789", "0123456789"}, {"tf", "e"}, {"n", "l"}};
    if (!is_json) last.words.fill(~0ull);
    for (const auto& [firsts, lasts] : kEnds)
        for (char each : firsts)
            if (is_json && first.has(static_cast<uint8_t>(each)))
                for (char end : lasts) last.add(static_cast<uint8_t>(end));
}

EmbeddedAutomaton::EmbeddedAutomaton(std::shared_ptr<SharedAutomata> shared, std::unique_ptr<ContextFreeAutomaton> host,
                                     EmbeddedLanguages languages, std::shared_ptr<const VocabularyTables> tables,
                                     const EmbeddedAutomaton* before)
    : shared_(std::move(shared)),
      host_(std::move(host)),
      languages_(std::move(languages)),
      tables_(std::move(tables)),
      is_settled_(!before) {
    bool counts = false;
    for (const EmbeddedLanguage& each : languages_) {
        counts = counts || each.count || each.automaton->facets().counts_tokens;
        const TokenCounter* known = before ? before->counter(static_cast<uint32_t>(counters_.size())) : nullptr;
        const uint32_t reach = known ? known->reach() : TokenCounter::kUnknown;
        counters_.push_back(
            each.count ? std::make_unique<TokenCounter>(*each.count, *each.automaton, *tables_, shared_->strings, reach)
                       : nullptr);
    }
    set_facets({.guide = this, .masks = this, .has_lines = true, .counts_tokens = counts});
}

std::shared_ptr<Automaton> EmbeddedAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    EmbeddedLanguages languages = languages_;
    for (EmbeddedLanguage& language : languages) language.automaton = language.automaton->successor(shared);
    return std::make_shared<EmbeddedAutomaton>(shared, host_->renewed_host(shared), std::move(languages), tables_,
                                               this);
}

// ---- configurations -----------------------------------------------------------------------------------------------

std::span<const EmbeddedStrand> EmbeddedAutomaton::strands_of(const Configuration& config) {
    if (!config.frame) return {};
    // The frames of this automaton are lists of embedded texts, and nothing else.
    const auto* list = reinterpret_cast<const StrandList*>(config.frame);
    return {list->strands, list->count};
}

Configuration EmbeddedAutomaton::with(StrandSet set, std::span<const EmbeddedStrand> strands, Arena& arena) {
    Configuration out;
    out.state = set;
    if (strands.empty()) return out;
    auto* list = static_cast<StrandList*>(arena.allocate(sizeof(StrandList) + sizeof(EmbeddedStrand) * strands.size()));
    list->count = strands.size();
    std::uninitialized_copy(strands.begin(), strands.end(), list->strands);
    out.frame = reinterpret_cast<const Frame*>(list);
    return out;
}

// ---- reading ------------------------------------------------------------------------------------------------------

// The embedded texts that may begin where the parser is, each once.
void EmbeddedAutomaton::enter(ParserState at, Promise promise, Step& step) {
    for (uint32_t k = 0; k < languages_.size(); ++k) {
        if (!may_begin(k, step.byte, step.is_within_token)) continue;
        const ParserState after = host_->parser().shift(at, languages_[k].terminal);
        const Promise left = host_->lexer().keep(promise, step.byte);
        if (!after || left == kBroken) continue;
        const bool known = std::any_of(step.entered.begin(), step.entered.end(), [&](const EmbeddedStrand& each) {
            return each.after == after && each.language == k && each.promise == left;
        });
        if (!known) step.entered.push_back({after, k, left, 0, languages_[k].automaton->start()});
    }
}

bool EmbeddedAutomaton::may_begin(uint32_t language, uint8_t byte, bool is_within_token) const {
    const TokenCount* count = languages_[language].count.get();
    return languages_[language].first.has(byte) && !(is_within_token && count && count->is_aligned);
}

// Read a byte of an embedded text. False if it cannot be read, or if the tokens of the text are used up.
bool EmbeddedAutomaton::read_inner(EmbeddedStrand& strand, uint8_t byte, Arena& arena, bool is_search) {
    Automaton& automaton = *languages_[strand.language].automaton;
    ++strand.length;
    if (!take_byte(strand, is_search)) return false;
    if (!(is_search ? automaton.search_step(strand.inner, byte, arena) : automaton.step(strand.inner, byte, arena)))
        return false;
    // A step may leave work open (container_view.hpp), which is done where few tokens go on.
    ContainerView* view = automaton.facets().containers;
    if (view && byte == ',') view->settle(strand.inner, arena);
    return true;
}

bool EmbeddedAutomaton::can_go_on(const EmbeddedStrand& strand) const {
    const EmbeddedLanguage& language = languages_[strand.language];
    if (language.count && strand.tokens == language.count->most && !strand.is_within_token) return false;
    return language.automaton->next_bytes(strand.inner).size() > 0;
}

void EmbeddedAutomaton::go_on(const EmbeddedStrand& strand, Step& step) {
    EmbeddedStrand next = strand;
    if (read_inner(next, step.byte, step.arena, step.is_search))
        step.languages.push_back(next);
    else if (const TokenCount* count = languages_[strand.language].count.get())
        step.has_lost = step.has_lost || (strand.tokens == count->most && !strand.is_within_token);
}

// The strands and gaps after an embedded text that ends before the byte.
void EmbeddedAutomaton::leave(const EmbeddedStrand& strand, Step& step) {
    Lexer& lexer = host_->lexer();
    if (!has_ended(strand)) return;
    enter(strand.after, strand.promise, step);
    const Promise left = lexer.keep(strand.promise, step.byte);
    const LexerState begun = lexer.next(lexer.start(host_->parser().viable(strand.after)), step.byte);
    if (begun && left != kBroken) step.lexemes.push_back({strand.after, begun, left});
}

bool EmbeddedAutomaton::step(Configuration& config, uint8_t byte, Arena& arena) {
    return read(config, byte, arena, false);
}

bool EmbeddedAutomaton::search_step(Configuration& config, uint8_t byte, Arena& arena) {
    return read(config, byte, arena, true);
}

bool EmbeddedAutomaton::read(Configuration& config, uint8_t byte, Arena& arena, bool is_search) {
    const bool is_within_token = config.gap != 0;
    Step step{byte, arena, is_search, is_within_token, false, {}, {}, {}};
    for (const EmbeddedStrand& strand : strands_of(config)) {
        EmbeddedStrand next = strand;
        next.promise = host_->lexer().keep(strand.promise, byte);
        if (next.promise != kBroken && next.language != EmbeddedStrand::kGap) go_on(next, step);
        leave(strand, step);
    }
    each_gap(config.state, [&](ParserState at, Promise promise) { enter(at, promise, step); });
    for (const EmbeddedStrand& strand : step.entered) go_on(strand, step);
    host_->allowance().check_alternatives(step.languages.size());
    const uint8_t mode = config.mode | step.has_lost;
    config = with(host_->strands().step(config.state, byte, std::move(step.lexemes)), step.languages, arena);
    config.gap = facets().counts_tokens && !is_search;
    config.mode = mode;
    return config.state != kNoStrands || config.frame;
}

// ---- tokens -------------------------------------------------------------------------------------------------------

// Count the token of a byte. A search takes each byte for a token as long as tokens are missing, and knows no bound: a
// text that is alive can be finished within it.
bool EmbeddedAutomaton::take_byte(EmbeddedStrand& strand, bool is_search) const {
    const TokenCount* count = languages_[strand.language].count.get();
    if (!count) return true;
    if (is_search) {
        if (strand.tokens < count->least) ++strand.tokens;
        return true;
    }
    if (!std::exchange(strand.is_within_token, true)) {
        if (strand.tokens == count->most) return false;
        ++strand.tokens;
    }
    return true;
}

bool EmbeddedAutomaton::is_same(const EmbeddedStrand& one, const EmbeddedStrand& other) const {
    const Configuration &a = one.inner, &b = other.inner;
    return one.after == other.after && one.language == other.language && one.promise == other.promise &&
           a.frame == b.frame && a.key == b.key && a.text == b.text && a.start == b.start && a.hash == b.hash &&
           a.outside == b.outside && same_place(a, b);
}

// Of two strands that differ in their tokens alone: whether everything that `other` may take may follow in `one`.
bool EmbeddedAutomaton::dominates(const EmbeddedStrand& one, const EmbeddedStrand& other) const {
    if (one.language == EmbeddedStrand::kGap || !languages_[one.language].count || !is_same(one, other)) return false;
    return one.tokens == other.tokens ||
           (one.tokens < other.tokens && one.tokens >= languages_[one.language].count->least);
}

bool EmbeddedAutomaton::end_token(EmbeddedStrand& strand, uint32_t token, Arena& arena) {
    if (strand.language == EmbeddedStrand::kGap || !counts_tokens(strand.language)) return true;
    const EmbeddedLanguage& language = languages_[strand.language];
    if (!language.automaton->end_token(strand.inner, token, arena)) return false;
    if (!language.count) return true;
    const bool took = std::exchange(strand.is_within_token, false);
    if (took && language.count->is_aligned && !language.count->has(token)) return false;
    return counters_[strand.language]->is_live(strand.inner, strand.tokens, arena);
}

bool EmbeddedAutomaton::end_token(Configuration& config, uint32_t token, Arena& arena) {
    if (!facets().counts_tokens) return true;
    const std::span<const EmbeddedStrand> strands = strands_of(config);
    std::vector<EmbeddedStrand> kept;
    uint8_t mode = config.mode;
    for (EmbeddedStrand strand : strands) {
        if (!end_token(strand, token, arena)) {
            mode = 1;
            continue;
        }
        if (std::any_of(kept.begin(), kept.end(), [&](const EmbeddedStrand& one) { return dominates(one, strand); }))
            continue;
        std::erase_if(kept, [&](const EmbeddedStrand& one) { return dominates(strand, one); });
        kept.push_back(strand);
    }
    config = with(config.state, kept, arena);
    config.mode = mode;
    return config.state != kNoStrands || config.frame;
}

bool EmbeddedAutomaton::is_far(const Configuration& config) const {
    const std::span<const EmbeddedStrand> strands = strands_of(config);
    return !has_lost(config) && std::all_of(strands.begin(), strands.end(), [&](const EmbeddedStrand& strand) {
        return !counters_[strand.language] || counters_[strand.language]->is_far(strand.tokens);
    });
}

std::vector<EmbeddedStrand> EmbeddedAutomaton::aligned_after(ParserState at, Promise promise) {
    std::vector<EmbeddedStrand> out;
    for (uint32_t k = 0; k < languages_.size(); ++k)
        if (languages_[k].count && languages_[k].count->is_aligned)
            if (const ParserState after = host_->parser().shift(at, languages_[k].terminal))
                out.push_back({after, k, promise, 0, languages_[k].automaton->start()});
    return out;
}

ByteSet EmbeddedAutomaton::bytes_after(const EmbeddedLanguage& language) {
    ByteSet out = host_->lexer().bytes_after(language.terminal);
    for (const EmbeddedLanguage& next : languages_)
        if (host_->may_follow(language.terminal, next.terminal)) out.add(next.first);
    return out;
}

bool EmbeddedAutomaton::accepting(const Configuration& config) {
    if (host_->accepting(config)) return true;
    for (const EmbeddedStrand& strand : strands_of(config))
        if (has_ended(strand) && host_->lexer().may_end(strand.promise) && host_->parser().accepting(strand.after))
            return true;
    return false;
}

ByteSet EmbeddedAutomaton::next_bytes(const Configuration& config) {
    ByteSet out = host_->next_bytes(config);
    auto add_embedded = [&](ParserState at) {
        for (const EmbeddedLanguage& language : languages_)
            if (host_->parser().shift(at, language.terminal)) out.add(language.first);
    };
    each_gap(config.state, [&](ParserState at, Promise) { add_embedded(at); });
    for (const EmbeddedStrand& strand : strands_of(config)) {
        if (strand.language != EmbeddedStrand::kGap)
            out.add(languages_[strand.language].automaton->next_bytes(strand.inner));
        if (!has_ended(strand)) continue;
        add_embedded(strand.after);
        Lexer& lexer = host_->lexer();
        out.add(lexer.next_bytes(lexer.start(host_->parser().viable(strand.after))));
    }
    return out;
}

uint32_t EmbeddedAutomaton::min_bytes(const Configuration& config) {
    if (accepting(config)) return 0;
    uint32_t best = config.state == kNoStrands ? kFar : host_->min_bytes(config);
    for (const EmbeddedStrand& strand : strands_of(config)) {
        const uint32_t inner = languages_[strand.language].min_bytes(strand.inner, strand.tokens);
        best = std::min(best, std::min(inner, kFar) + std::min(host_->parser().min_bytes(strand.after), kFar));
    }
    each_gap(config.state, [&](ParserState at, Promise) {
        for (const EmbeddedLanguage& language : languages_)
            if (const ParserState after = host_->parser().shift(at, language.terminal))
                best = std::min(best, language.min_bytes(language.automaton->start(), 0) +
                                          std::min(host_->parser().min_bytes(after), kFar));
    });
    return std::max(best, 1u);
}

bool EmbeddedAutomaton::identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) {
    key.push_back(uint64_t{config.state} << 1 | exact);
    for (const EmbeddedStrand& strand : strands_of(config)) {
        key.push_back(uint64_t{strand.after} << 32 | strand.promise);
        key.push_back(strand.language);
        const size_t before = key.size();
        if (!languages_[strand.language].automaton->identity(strand.inner, exact, key)) return false;
        key.push_back(key.size() - before);
        if (const TokenCount* count = languages_[strand.language].count.get()) {
            const bool is_far = counters_[strand.language]->is_far(strand.tokens);
            key.push_back(uint64_t{is_far ? std::min(strand.tokens, count->least) : strand.tokens} << 2 |
                          uint64_t{is_far} << 1 | strand.is_within_token);
        }
    }
    if (config.gap) key.push_back(config.gap);
    return true;
}

// Where a lexeme or an embedded text may begin.
std::vector<LexemeGap> EmbeddedAutomaton::gaps(const Configuration& config) {
    std::vector<LexemeGap> out;
    each_gap(config.state, [&](ParserState at, Promise promise) { out.push_back({at, promise}); });
    for (const EmbeddedStrand& strand : strands_of(config))
        if (has_ended(strand)) out.push_back({strand.after, strand.promise});
    return out;
}

// The fault within embedded texts that have to go on, then the other continuations that are allowed here.
std::string EmbeddedAutomaton::refusal(const Configuration& config, uint8_t byte, std::string_view text, Arena& arena) {
    Expectations expected = host_->expectations();
    Configuration at = start();
    for (char each : text) {
        expected.read(gaps(at), static_cast<uint8_t>(each));
        search_step(at, static_cast<uint8_t>(each), arena);
    }
    const std::vector<LexemeGap> here = gaps(config);
    expected.expect(config.state, text);
    expected.expect(here, byte);
    for (const LexemeGap& gap : here)
        for (const EmbeddedLanguage& language : languages_)
            if (host_->parser().shift(gap.at, language.terminal)) expected.expect_embedded(language.terminal);
    std::string out;
    for (const EmbeddedStrand& strand : strands_of(config)) {
        if (strand.language == EmbeddedStrand::kGap) continue;
        const EmbeddedLanguage& language = languages_[strand.language];
        if (language.count && strand.tokens == language.count->most && !strand.is_within_token) {
            out += host_->name(language.terminal) + " has its " + std::to_string(strand.tokens) + " tokens; ";
            continue;
        }
        if (language.automaton->next_bytes(strand.inner).size() == 0) continue;
        const std::string_view own = text.substr(text.size() - std::min<size_t>(text.size(), strand.length));
        if (language.automaton->accepting(strand.inner))
            expected.expect_more(language.terminal, own);
        else
            out += "in " + host_->name(language.terminal) + ": " +
                   language.automaton->refusal(strand.inner, byte, own, arena) + "; ";
    }
    if (expected.is_empty() && !out.empty() && !accepting(config)) return out.substr(0, out.size() - 2);
    return (out.empty() ? "" : out + "or else ") + expected.sentence(byte, accepting(config));
}

std::string EmbeddedAutomaton::refusal_of_end(const Configuration& config, uint32_t token) {
    std::string out;
    for (const EmbeddedStrand& strand : strands_of(config)) {
        if (strand.language == EmbeddedStrand::kGap) continue;
        const EmbeddedLanguage& language = languages_[strand.language];
        std::string why = language.automaton->refusal_of_end(strand.inner, token);
        if (language.count) {
            const std::string name = host_->name(language.terminal);
            if (language.count->is_aligned && !language.count->has(token))
                why = "it is no token of " + name;
            else if (language.count->most != TokenCount::kNoBound)
                why = name + " may take " + std::to_string(language.count->most - strand.tokens) +
                      " more tokens after it, in which it cannot end";
        }
        if (!why.empty()) out += (out.empty() ? "" : "; ") + why;
    }
    return out;
}

uint64_t EmbeddedAutomaton::memory_bytes() const {
    uint64_t bytes = host_->memory_bytes();
    for (const EmbeddedLanguage& language : languages_) bytes += language.automaton->memory_bytes();
    for (const auto& counter : counters_) bytes += counter ? counter->memory_bytes() : 0;
    return bytes;
}

void EmbeddedAutomaton::settle_shortest(const VocabularyTables& tables) {
    if (is_settled_) return;
    for (const EmbeddedLanguage& language : languages_) guide_of(*language.automaton).settle_shortest(tables);
    is_settled_ = true;
}

// It does if it does in any embedded text.
bool EmbeddedAutomaton::text_matters(const Configuration& config) const {
    const std::span<const EmbeddedStrand> strands = strands_of(config);
    return std::any_of(strands.begin(), strands.end(), [&](const EmbeddedStrand& strand) {
        return strand.language != EmbeddedStrand::kGap &&
               guide_of(*languages_[strand.language].automaton).text_matters(strand.inner);
    });
}

uint64_t EmbeddedAutomaton::used_up(const Configuration& config) const {
    uint64_t out = 0, place = 0;
    for (const EmbeddedStrand& strand : strands_of(config)) {
        ++place;
        if (strand.language == EmbeddedStrand::kGap) continue;
        if (const uint64_t inner = guide_of(*languages_[strand.language].automaton).used_up(strand.inner))
            out += mix(place, inner);
    }
    return out;
}

Configuration EmbeddedAutomaton::least_constrained(const Configuration& config, Arena& arena) {
    const std::span<const EmbeddedStrand> strands = strands_of(config);
    std::vector<EmbeddedStrand> out(strands.begin(), strands.end());
    for (EmbeddedStrand& strand : out)
        if (strand.language != EmbeddedStrand::kGap)
            strand.inner = guide_of(*languages_[strand.language].automaton).least_constrained(strand.inner, arena);
    return with(config.state, out, arena);
}

// Where one embedded text is read and nothing else, as far as it does.
bool EmbeddedAutomaton::stays_inside(const Configuration& from, const Configuration& next) {
    const std::span<const EmbeddedStrand> before = strands_of(from), after = strands_of(next);
    if (from.state != kNoStrands || next.state != kNoStrands || before.size() != 1 || after.size() != 1) return false;
    const EmbeddedStrand &one = before.front(), &other = after.front();
    if (one.language != other.language || one.after != other.after || one.promise || other.promise) return false;
    const Automaton& language = *languages_[one.language].automaton;
    StringView* strings = language.facets().strings;
    return !facets().counts_tokens && strings && strings->string_body(one.inner, 1).state &&
           guide_of(language).stays_inside(one.inner, other.inner);
}

Configuration EmbeddedAutomaton::keep(const Configuration& config, Arena& arena) {
    const std::span<const EmbeddedStrand> strands = strands_of(config);
    std::vector<EmbeddedStrand> kept(strands.begin(), strands.end());
    for (EmbeddedStrand& strand : kept)
        if (strand.language != EmbeddedStrand::kGap)
            strand.inner = guide_of(*languages_[strand.language].automaton).keep(strand.inner, arena);
    return with(config.state, kept, arena);
}

std::unique_ptr<MaskEngine> EmbeddedAutomaton::make_masks(const VocabularyTables& tables) {
    return std::make_unique<EmbeddedMasks>(*this, tables, shared_->strings);
}

}  // namespace schemagen
