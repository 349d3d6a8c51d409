#include "context_free/embedded_automaton.hpp"

#include <algorithm>
#include <cstring>

#include "automata/container_view.hpp"
#include "automata/string_view.hpp"
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
                                     EmbeddedLanguages languages, bool is_settled)
    : shared_(std::move(shared)), host_(std::move(host)), languages_(std::move(languages)), is_settled_(is_settled) {
    set_facets({.guide = this, .masks = this, .has_lines = true});
}

std::shared_ptr<Automaton> EmbeddedAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    EmbeddedLanguages languages = languages_;
    for (EmbeddedLanguage& language : languages) language.automaton = language.automaton->renewed(shared);
    return std::make_shared<EmbeddedAutomaton>(shared, host_->renewed_host(shared), std::move(languages), false);
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

template <class Visit>
void EmbeddedAutomaton::each_gap(StrandSet set, const Visit& visit) {
    Strands& strands = host_->strands();
    if (set == kStartStrands) visit(strands[set].front().parser, kNoPromise);
    for (const Strand& strand : strands[set]) {
        const std::vector<Lexer::End> ends = host_->lexer().ends(strand.lexer);
        for (const Lexer::End& end : ends)
            if (const ParserState after = strands.after(strand.parser, end.lexeme))
                visit(after, host_->lexer().both(strand.promise, end.promise));
    }
}

// The embedded texts that may begin where the parser is, each once.
void EmbeddedAutomaton::enter(ParserState at, Promise promise, Step& step) {
    for (uint32_t k = 0; k < languages_.size(); ++k) {
        if (!languages_[k].first.has(step.byte)) continue;
        const ParserState after = host_->parser().shift(at, languages_[k].terminal);
        const Promise left = host_->lexer().keep(promise, step.byte);
        if (!after || left == kBroken) continue;
        const bool known = std::any_of(step.entered.begin(), step.entered.end(), [&](const EmbeddedStrand& each) {
            return each.after == after && each.language == k && each.promise == left;
        });
        if (!known) step.entered.push_back({after, k, left, 0, languages_[k].automaton->start()});
    }
}

void EmbeddedAutomaton::go_on(const EmbeddedStrand& strand, Step& step) {
    Automaton& automaton = *languages_[strand.language].automaton;
    EmbeddedStrand next = strand;
    ++next.length;
    if (!automaton.step(next.inner, step.byte, step.arena)) return;
    // A step may leave work open (container_view.hpp), which is done where few tokens go on.
    ContainerView* view = automaton.facets().containers;
    if (view && step.byte == ',') view->settle(next.inner, step.arena);
    step.languages.push_back(next);
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
    Step step{byte, arena, {}, {}, {}};
    for (const EmbeddedStrand& strand : strands_of(config)) {
        EmbeddedStrand next = strand;
        next.promise = host_->lexer().keep(strand.promise, byte);
        if (next.promise != kBroken && next.language != EmbeddedStrand::kGap) go_on(next, step);
        leave(strand, step);
    }
    each_gap(config.state, [&](ParserState at, Promise promise) { enter(at, promise, step); });
    for (const EmbeddedStrand& strand : step.entered) go_on(strand, step);
    host_->allowance().check_alternatives(step.languages.size());
    config = with(host_->strands().step(config.state, byte, std::move(step.lexemes)), step.languages, arena);
    return config.state != kNoStrands || config.frame;
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
        const uint32_t inner = languages_[strand.language].automaton->min_bytes(strand.inner);
        best = std::min(best, std::min(inner, kFar) + std::min(host_->parser().min_bytes(strand.after), kFar));
    }
    each_gap(config.state, [&](ParserState at, Promise) {
        for (const EmbeddedLanguage& language : languages_)
            if (const ParserState after = host_->parser().shift(at, language.terminal))
                best = std::min(best, language.automaton->min_bytes(language.automaton->start()) +
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
    }
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
        step(at, static_cast<uint8_t>(each), arena);
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

uint64_t EmbeddedAutomaton::memory_bytes() const {
    uint64_t bytes = host_->memory_bytes();
    for (const EmbeddedLanguage& language : languages_) bytes += language.automaton->memory_bytes();
    return bytes;
}

void EmbeddedAutomaton::settle_shortest(const CountTokens& tokens) {
    if (std::exchange(is_settled_, true)) return;
    for (const EmbeddedLanguage& language : languages_) guide_of(*language.automaton).settle_shortest(tokens);
}

// It does if it does in any embedded text.
bool EmbeddedAutomaton::text_matters(const Configuration& config) const {
    const std::span<const EmbeddedStrand> strands = strands_of(config);
    return std::any_of(strands.begin(), strands.end(), [&](const EmbeddedStrand& strand) {
        return strand.language != EmbeddedStrand::kGap &&
               guide_of(*languages_[strand.language].automaton).text_matters(strand.inner);
    });
}

Configuration EmbeddedAutomaton::least_constrained(const Configuration& config, Arena& arena) {
    const std::span<const EmbeddedStrand> strands = strands_of(config);
    std::vector<EmbeddedStrand> out(strands.begin(), strands.end());
    for (EmbeddedStrand& strand : out)
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
    return strings && strings->string_body(one.inner, 1).state &&
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
