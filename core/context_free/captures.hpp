// Captures: which labelled part of a grammar is where in a text, and at which temperature it goes on.
//
// A second grammar of the same texts has *marks* at the beginning and the end of each labelled part: terminals without
// text (Laurikari 2000 has them as tags of an automaton). A text is read by threads: a thread is a strand
// (strands.hpp) or an embedded text, together with the marks on its way, its *events*. Of threads that read on alike
// one is kept. Of two readings the first difference of their events decides: an opening wins against a closing, an
// earlier opening against a later one, a later closing against an earlier one; events that are missing lose. So parts
// begin as early and end as late as possible, the first one first.
//
// A part may have a temperature in place of a label. A thread has the temperatures of its open parts; threads that read
// on alike have the same ones, for the ends of all open parts are still to come. Or it may have a bound in tokens: a
// thread knows with which token each of these parts begins, and ends where one has too many. Recognition embeds
// texts with a bound (token_counts.hpp); threads see the labels in them.
//
// Only texts that were accepted are read, and only where captures are asked for: recognition and masks know no marks.
//
// Invariants: equal lists of events are the same object within one reading; a mark stands directly before a lexeme that
// is not ignored, before an embedded text, or at the end; a labelled rule never begins with a call of
// itself; at one place no state of the parser comes twice, so that empty parts are not repeated without end.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "context_free/embedded_automaton.hpp"
#include "context_free/frame_parser.hpp"

namespace schemagen {

struct Mark {
    SymbolId terminal;  // of the second grammar
    uint32_t label;
    bool opens;
    std::optional<double> temperature;  // of the part, which has no label then
    std::optional<uint32_t> most;       // tokens of the part, which has neither then
};

class CaptureGrammar {
public:
    struct Event {
        uint32_t label;
        bool opens;
        size_t at;  // byte of the text
        const Event* before;
        uint32_t count;  // of the list
    };
    // An open part with a temperature.
    struct Heat {
        double temperature;
        const Heat* around;
    };
    // An open part with a bound.
    struct Bound {
        uint32_t most;
        size_t at;     // its first byte
        size_t token;  // the number of the token with this byte
        const Bound* around;
    };
    struct OpenParts {
        const Heat* heat;
        const Bound* bound;
    };
    // The end of the last lexeme that is not ignored, or of the last embedded text; the token with the byte before it.
    struct End {
        size_t at;
        size_t token;
    };
    struct Thread {
        ParserState parser;  // before the lexeme that is being read
        LexerState lexer;    // kNoLexeme if none is: at the start, or in an embedded text
        Promise promise;
        const Event* events;
        OpenParts open;
        End end;
        std::optional<EmbeddedStrand> inner;
    };
    using Threads = std::vector<Thread>;
    using Events = std::vector<Event>;

    // `embedded`: of each embedded language of the automaton, its terminal in this grammar. `languages`: the automaton
    // that has them, or null; it lives longer.
    CaptureGrammar(std::shared_ptr<SharedAutomata> shared, ContextFreeGrammar grammar, std::vector<Mark> marks,
                   std::vector<SymbolId> embedded, EmbeddedAutomaton* languages, const Allowance& allowance);
    // Of the same grammar over other automata.
    std::unique_ptr<CaptureGrammar> renewed(std::shared_ptr<SharedAutomata> shared, EmbeddedAutomaton* languages) const;
    Threads start() { return {{parser_.start(), kNoLexeme, kNoPromise, nullptr, {}, {}, std::nullopt}}; }
    // A place between two tokens.
    struct Place {
        size_t at;      // bytes before it
        size_t tokens;  // before it
    };
    // The threads after a token, or a text that counts as one, that begins at a place.
    Threads read(const Threads& threads, std::string_view bytes, uint32_t token, Place place, Arena& arena);
    // The events of each reading of the text up to a place, without the first `skip` of them.
    std::vector<Events> readings(const Threads& threads, Place place, size_t skip, Arena& arena);
    // The highest temperature of the innermost parts that are open, over all readings of the text so far; nothing if no
    // reading has one.
    std::optional<double> temperature(const Threads& threads, Place place, Arena& arena);
    // The events of the best reading of the text as a whole; nothing if it may not end.
    std::optional<Events> whole(const Threads& threads, Place place, size_t skip, Arena& arena);
    size_t memory_bytes() const;

private:
    // A place where the next lexeme or embedded text begins.
    struct Gap {
        ParserState parser;
        Promise promise;
        const Event* events;
        OpenParts open;
        End end;
        bool is_marked;  // ignored lexemes cannot come first
    };
    // A byte of the text, which may be the one after its last.
    struct Position {
        size_t at;
        size_t token;  // the number of its token
        bool is_within_token;
        End end() const { return {at, is_within_token ? token : token - 1}; }  // of what ends before it
    };
    struct Step {
        uint8_t byte;
        Position position;
        Arena& arena;
        Threads out, entered;  // those that begin an embedded text
    };
    template <class Visit>
    void each_gap(const Thread& thread, const Position& position, Arena& arena, const Visit& visit);
    // The places and threads from which the text so far may go on, or where it may end. `visit(events, heat)`.
    template <class Visit>
    void each_reading(const Threads& threads, Place place, Arena& arena, const Visit& visit);
    template <class Visit>
    void each_marked(const Gap& gap, const Position& position, Arena& arena, const Visit& visit);
    bool pass(const Mark& mark, const Position& position, Gap& gap, Arena& arena);
    bool has_room(const Bound* bound, size_t token) const;
    const Event* event(const Mark& mark, const Event* before, size_t at, Arena& arena);
    const std::vector<uint32_t>& marks_at(ParserState state);
    LexerState start_of(const Gap& gap);
    bool can_go_on(const Gap& gap, size_t token);
    void step(const Thread& thread, Step& step);
    void begin(const Gap& gap, Step& step);
    void add(const Thread& thread, Threads& to);
    static bool is_better(const Event* one, const Event* other);
    static Events listed(const Event* last, size_t skip);

    std::shared_ptr<SharedAutomata> shared_;
    Allowance allowance_;
    ContextFreeGrammar grammar_;
    std::vector<Mark> marks_;
    std::vector<SymbolId> embedded_;  // [language]
    EmbeddedAutomaton* languages_;
    LexemeSets sets_;
    Lexer lexer_;
    FrameParser parser_;
    bool ignores_;                                                     // some lexemes
    std::unordered_map<ParserState, std::vector<uint32_t>> marks_at_;  // numbers of marks
    std::vector<const Event*> here_;                                   // the events at one byte
};

}  // namespace schemagen
