#include "context_free/embedding_automaton.hpp"

#include <algorithm>
#include <cstring>

#include "automata/container_view.hpp"
#include "automata/string_view.hpp"
#include "context_free/embedding_masks.hpp"
#include "context_free/expectations.hpp"

namespace schemagen {

namespace {

struct GuestList {
    size_t count;
    GuestStrand strands[1];  // of `count`
};

}  // namespace

// Of a JSON value the first byte tells the last one: brackets and quotes come in pairs.
void Guest::find_ends(bool is_json) {
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

EmbeddingAutomaton::EmbeddingAutomaton(std::shared_ptr<SharedAutomata> shared,
                                       std::unique_ptr<ContextFreeAutomaton> host, Guests guests, bool is_settled)
    : shared_(std::move(shared)), host_(std::move(host)), guests_(std::move(guests)), is_settled_(is_settled) {
    set_facets({.guide = this, .masks = this, .has_lines = true});
}

std::shared_ptr<Automaton> EmbeddingAutomaton::renewed(std::shared_ptr<SharedAutomata> shared) {
    Guests guests = guests_;
    for (Guest& guest : guests) guest.automaton = guest.automaton->renewed(shared);
    return std::make_shared<EmbeddingAutomaton>(shared, host_->renewed_host(shared), std::move(guests), false);
}

// ---- configurations -----------------------------------------------------------------------------------------------

std::span<const GuestStrand> EmbeddingAutomaton::strands_of(const Configuration& config) {
    if (!config.frame) return {};
    // The frames of this automaton are lists of guests, and nothing else.
    const auto* list = reinterpret_cast<const GuestList*>(config.frame);
    return {list->strands, list->count};
}

Configuration EmbeddingAutomaton::with(PlaceId place, std::span<const GuestStrand> strands, Arena& arena) {
    Configuration out;
    out.state = place;
    if (strands.empty()) return out;
    auto* list = static_cast<GuestList*>(arena.allocate(sizeof(GuestList) + sizeof(GuestStrand) * strands.size()));
    list->count = strands.size();
    std::uninitialized_copy(strands.begin(), strands.end(), list->strands);
    out.frame = reinterpret_cast<const Frame*>(list);
    return out;
}

// ---- reading ------------------------------------------------------------------------------------------------------

template <class Visit>
void EmbeddingAutomaton::each_gap(PlaceId place, const Visit& visit) {
    Strands& strands = host_->strands();
    if (place == kStartPlace) visit(strands[place].front().parser, kNoPromise);
    for (const Strand& strand : strands[place]) {
        const std::vector<Lexer::End> ends = host_->lexer().ends(strand.lexer);
        for (const Lexer::End& end : ends)
            if (const ParserState after = strands.after(strand.parser, end.lexeme))
                visit(after, host_->lexer().both(strand.promise, end.promise));
    }
}

// The guests that may begin where the parser is, each once.
void EmbeddingAutomaton::enter(ParserState at, Promise promise, Step& step) {
    for (uint32_t k = 0; k < guests_.size(); ++k) {
        if (!guests_[k].first.has(step.byte)) continue;
        const ParserState after = host_->parser().shift(at, guests_[k].terminal);
        const Promise left = host_->lexer().keep(promise, step.byte);
        if (!after || left == kBroken) continue;
        const bool known = std::any_of(step.entered.begin(), step.entered.end(), [&](const GuestStrand& each) {
            return each.after == after && each.guest == k && each.promise == left;
        });
        if (!known) step.entered.push_back({after, k, left, 0, guests_[k].automaton->start()});
    }
}

void EmbeddingAutomaton::go_on(const GuestStrand& strand, Step& step) {
    Automaton& automaton = *guests_[strand.guest].automaton;
    GuestStrand next = strand;
    ++next.length;
    if (!automaton.step(next.inner, step.byte, step.arena)) return;
    // A step may leave work open (container_view.hpp), which is done where few tokens go on.
    ContainerView* view = automaton.facets().containers;
    if (view && step.byte == ',') view->settle(next.inner, step.arena);
    step.guests.push_back(next);
}

// The strands and gaps after a guest that ends before the byte.
void EmbeddingAutomaton::leave(const GuestStrand& strand, Step& step) {
    Lexer& lexer = host_->lexer();
    if (!has_ended(strand)) return;
    enter(strand.after, strand.promise, step);
    const Promise left = lexer.keep(strand.promise, step.byte);
    const LexerState begun = lexer.next(lexer.start(host_->parser().viable(strand.after)), step.byte);
    if (begun && left != kBroken) step.lexemes.push_back({strand.after, begun, left});
}

bool EmbeddingAutomaton::step(Configuration& config, uint8_t byte, Arena& arena) {
    Step step{byte, arena, {}, {}, {}};
    for (const GuestStrand& strand : strands_of(config)) {
        GuestStrand next = strand;
        next.promise = host_->lexer().keep(strand.promise, byte);
        if (next.promise != kBroken && next.guest != GuestStrand::kGap) go_on(next, step);
        leave(strand, step);
    }
    each_gap(config.state, [&](ParserState at, Promise promise) { enter(at, promise, step); });
    for (const GuestStrand& strand : step.entered) go_on(strand, step);
    host_->allowance().check_alternatives(step.guests.size());
    config = with(host_->strands().step(config.state, byte, std::move(step.lexemes)), step.guests, arena);
    return config.state != kNoPlace || config.frame;
}

bool EmbeddingAutomaton::accepting(const Configuration& config) {
    if (host_->accepting(config)) return true;
    for (const GuestStrand& strand : strands_of(config))
        if (has_ended(strand) && host_->lexer().may_end(strand.promise) && host_->parser().accepting(strand.after))
            return true;
    return false;
}

ByteSet EmbeddingAutomaton::next_bytes(const Configuration& config) {
    ByteSet out = host_->next_bytes(config);
    auto add_guests = [&](ParserState at) {
        for (const Guest& guest : guests_)
            if (host_->parser().shift(at, guest.terminal)) out.add(guest.first);
    };
    each_gap(config.state, [&](ParserState at, Promise) { add_guests(at); });
    for (const GuestStrand& strand : strands_of(config)) {
        if (strand.guest != GuestStrand::kGap) out.add(guests_[strand.guest].automaton->next_bytes(strand.inner));
        if (!has_ended(strand)) continue;
        add_guests(strand.after);
        Lexer& lexer = host_->lexer();
        out.add(lexer.next_bytes(lexer.start(host_->parser().viable(strand.after))));
    }
    return out;
}

uint32_t EmbeddingAutomaton::min_bytes(const Configuration& config) {
    if (accepting(config)) return 0;
    uint32_t best = config.state == kNoPlace ? kFar : host_->min_bytes(config);
    for (const GuestStrand& strand : strands_of(config)) {
        const uint32_t inner = guests_[strand.guest].automaton->min_bytes(strand.inner);
        best = std::min(best, std::min(inner, kFar) + std::min(host_->parser().min_bytes(strand.after), kFar));
    }
    each_gap(config.state, [&](ParserState at, Promise) {
        for (const Guest& guest : guests_)
            if (const ParserState after = host_->parser().shift(at, guest.terminal))
                best = std::min(best, guest.automaton->min_bytes(guest.automaton->start()) +
                                          std::min(host_->parser().min_bytes(after), kFar));
    });
    return std::max(best, 1u);
}

bool EmbeddingAutomaton::identity(const Configuration& config, bool exact, std::vector<uint64_t>& key) {
    key.push_back(uint64_t{config.state} << 1 | exact);
    for (const GuestStrand& strand : strands_of(config)) {
        key.push_back(uint64_t{strand.after} << 32 | strand.promise);
        key.push_back(strand.guest);
        const size_t before = key.size();
        if (!guests_[strand.guest].automaton->identity(strand.inner, exact, key)) return false;
        key.push_back(key.size() - before);
    }
    return true;
}

// Where a lexeme or a guest may begin.
std::vector<LexemeGap> EmbeddingAutomaton::gaps(const Configuration& config) {
    std::vector<LexemeGap> out;
    each_gap(config.state, [&](ParserState at, Promise promise) { out.push_back({at, promise}); });
    for (const GuestStrand& strand : strands_of(config))
        if (has_ended(strand)) out.push_back({strand.after, strand.promise});
    return out;
}

// The fault within guests that have to go on, then the other continuations that are allowed here.
std::string EmbeddingAutomaton::refusal(const Configuration& config, uint8_t byte, std::string_view text,
                                        Arena& arena) {
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
        for (const Guest& guest : guests_)
            if (host_->parser().shift(gap.at, guest.terminal)) expected.expect_embedded(guest.terminal);
    std::string out;
    for (const GuestStrand& strand : strands_of(config)) {
        if (strand.guest == GuestStrand::kGap) continue;
        const Guest& guest = guests_[strand.guest];
        if (guest.automaton->next_bytes(strand.inner).size() == 0) continue;
        const std::string_view own = text.substr(text.size() - std::min<size_t>(text.size(), strand.length));
        if (guest.automaton->accepting(strand.inner))
            expected.expect_more(guest.terminal, own);
        else
            out += "in " + host_->name(guest.terminal) + ": " +
                   guest.automaton->refusal(strand.inner, byte, own, arena) + "; ";
    }
    if (expected.is_empty() && !out.empty() && !accepting(config)) return out.substr(0, out.size() - 2);
    return (out.empty() ? "" : out + "or else ") + expected.sentence(byte, accepting(config));
}

uint64_t EmbeddingAutomaton::memory_bytes() const {
    uint64_t bytes = host_->memory_bytes();
    for (const Guest& guest : guests_) bytes += guest.automaton->memory_bytes();
    return bytes;
}

void EmbeddingAutomaton::settle_shortest(const CountTokens& tokens) {
    if (std::exchange(is_settled_, true)) return;
    for (const Guest& guest : guests_) guide_of(*guest.automaton).settle_shortest(tokens);
}

// It does if it does in any guest.
bool EmbeddingAutomaton::text_matters(const Configuration& config) const {
    const std::span<const GuestStrand> strands = strands_of(config);
    return std::any_of(strands.begin(), strands.end(), [&](const GuestStrand& strand) {
        return strand.guest != GuestStrand::kGap &&
               guide_of(*guests_[strand.guest].automaton).text_matters(strand.inner);
    });
}

Configuration EmbeddingAutomaton::least_constrained(const Configuration& config, Arena& arena) {
    const std::span<const GuestStrand> strands = strands_of(config);
    std::vector<GuestStrand> out(strands.begin(), strands.end());
    for (GuestStrand& strand : out)
        strand.inner = guide_of(*guests_[strand.guest].automaton).least_constrained(strand.inner, arena);
    return with(config.state, out, arena);
}

// Where one guest is read and nothing else, as far as it does.
bool EmbeddingAutomaton::stays_inside(const Configuration& from, const Configuration& next) {
    const std::span<const GuestStrand> before = strands_of(from), after = strands_of(next);
    if (from.state != kNoPlace || next.state != kNoPlace || before.size() != 1 || after.size() != 1) return false;
    const GuestStrand &one = before.front(), &other = after.front();
    if (one.guest != other.guest || one.after != other.after || one.promise || other.promise) return false;
    const Automaton& guest = *guests_[one.guest].automaton;
    StringView* strings = guest.facets().strings;
    return strings && strings->string_body(one.inner, 1).state && guide_of(guest).stays_inside(one.inner, other.inner);
}

Configuration EmbeddingAutomaton::keep(const Configuration& config, Arena& arena) {
    const std::span<const GuestStrand> strands = strands_of(config);
    std::vector<GuestStrand> kept(strands.begin(), strands.end());
    for (GuestStrand& strand : kept)
        if (strand.guest != GuestStrand::kGap)
            strand.inner = guide_of(*guests_[strand.guest].automaton).keep(strand.inner, arena);
    return with(config.state, kept, arena);
}

std::unique_ptr<MaskEngine> EmbeddingAutomaton::make_masks(const VocabularyTables& tables) {
    return std::make_unique<EmbeddingMasks>(*this, tables, shared_->strings);
}

}  // namespace schemagen
