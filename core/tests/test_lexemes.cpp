// Answers about lexemes without their states, compared with the states of the lexer.
#include <set>

#include "context_free/adjacency.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

using When = Adjacency::When;

// Names that are not keywords, keywords, numbers with and without a fraction, and space: the longest match of each.
struct Words {
    Kernel kernel;
    ContextFreeGrammar grammar;
    LexemeSets sets;
    Allowance allowance{1'000'000, 1'000};
    Lexer lexer;

    Words() : grammar(made(kernel)), sets(grammar.lexemes().size()), lexer(grammar, sets, kernel, allowance) {}
    Lexer::Component whole(LexemeId id) const { return {id, grammar.lexemes()[id].text, grammar.lexemes()[id].longer}; }

private:
    static ContextFreeGrammar made(Kernel& kernel) {
        ContextFreeGrammar out;
        auto chars = [&](Ranges ranges) { return kernel.chars(Encoding::kUtf8, std::move(ranges)); };
        const NodeId letter = chars({{'a', 'z'}, {0xE0, 0xFF}}),
                     digits = kernel.repeat(chars({{'0', '9'}}), 1, kUnbounded);
        const NodeId name =
            kernel.concat(letter, kernel.repeat(chars({{'0', '9'}, {'a', 'z'}, {0xE0, 0xFF}}), 0, kUnbounded));
        const NodeId fraction = kernel.concat(digits, kernel.concat(chars({{'.', '.'}}), digits));
        for (const std::vector<std::string>& keywords :
             {std::vector<std::string>{"if", "in", "is"}, {"if", "or"}, {"x"}}) {
            const NodeId words = kernel.literals(keywords);
            const SymbolId terminal = out.add_terminal("NAME", false);
            out.add_lexeme({terminal, kernel.conjunction({name, kernel.complement(words)}), name, false});
            out.add_lexeme({out.add_terminal("KEYWORD", false), words, name, false});
        }
        out.add_lexeme({out.add_terminal("INTEGER", false), digits, kernel.alternation({digits, fraction}), false});
        out.add_lexeme({out.add_terminal("FRACTION", false), fraction, fraction, false});
        out.add_lexeme(
            {out.add_terminal("SPACE", true), kernel.repeat(chars({{' ', ' '}}), 1, kUnbounded), kEmpty, false});
        const SymbolId start = out.add_rule("start", {{{{0, 1}}, {}}, {false, true}});
        out.finish(start, kernel);
        return out;
    }
};

// Every state of a lexeme and those that it leads to, byte by byte.
std::map<LexerState, std::set<LexerState>> moves_of(Lexer& lexer, const Lexer::Component& whole) {
    std::map<LexerState, std::set<LexerState>> out;
    std::vector<LexerState> todo{lexer.alone(whole)};
    while (!todo.empty()) {
        const LexerState state = todo.back();
        todo.pop_back();
        if (!out.try_emplace(state).second) continue;
        for (unsigned byte = 0; byte < 256; ++byte)
            if (const LexerState next = lexer.next(state, static_cast<uint8_t>(byte)))
                out[state].insert(next), todo.push_back(next);
    }
    return out;
}

// When some byte of those keeps a promise.
When kept(Lexer& lexer, Promise promise, const ByteSet& first) {
    When out = When::kNever;
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (!first.has(static_cast<uint8_t>(byte))) continue;
        const Promise left = lexer.keep(promise, static_cast<uint8_t>(byte));
        if (left != kBroken) out = std::max(out, left == kNoPromise ? When::kAlways : When::kSometimes);
    }
    return out;
}

// When a text that begins with some bytes may follow a lexeme: by each of its states and those reachable from there.
When followed(Lexer& lexer, const Lexer::Component& whole, const ByteSet& first) {
    const auto moves = moves_of(lexer, whole);
    When best = When::kNever;
    bool always = true;
    for (const auto& [from, _] : moves) {
        std::set<LexerState> seen{from};
        std::vector<LexerState> todo{from};
        When here = When::kNever;
        for (size_t at = 0; at < todo.size(); ++at) {
            for (const Lexer::End& end : lexer.ends(todo[at])) here = std::max(here, kept(lexer, end.promise, first));
            for (LexerState next : moves.at(todo[at]))
                if (seen.insert(next).second) todo.push_back(next);
        }
        best = std::max(best, here);
        always = always && here == When::kAlways;
    }
    return best == When::kNever ? best : always ? When::kAlways : When::kSometimes;
}

}  // namespace

TEST(derivatives_of_alike_bytes_are_those_of_each_byte) {
    Words words;
    Derivatives derivatives(words.kernel);
    for (const Lexeme& lexeme : words.grammar.lexemes())
        for (NodeId node : {lexeme.text, lexeme.longer})
            for (unsigned byte = 256; byte-- > 0;)
                CHECK(derivatives.of(node, static_cast<uint8_t>(byte)) ==
                      words.kernel.derivative(node, static_cast<uint8_t>(byte)));
}

// Their numbers do not fit in the two bytes that a row has for each.
TEST(very_many_states_are_told_apart) {
    constexpr uint32_t kCount = 70'000;
    Kernel kernel;
    ContextFreeGrammar grammar;
    const NodeId letters = kernel.repeat(kernel.chars(Encoding::kUtf8, {{'a', 'c'}}), kCount, kCount);
    grammar.add_lexeme({grammar.add_terminal("LETTERS", false), letters, kEmpty, false});
    grammar.finish(grammar.add_rule("start", {{{{0, 1}}, {}}, {false, true}}), kernel);
    const LexemeSets sets(grammar.lexemes().size());
    Allowance allowance{1'000'000, 1'000};
    Lexer lexer(grammar, sets, kernel, allowance);
    std::vector<LexerState> states{lexer.alone({0, letters, kEmpty})};
    for (uint32_t k = 0; k < kCount; ++k) states.push_back(lexer.next(states.back(), 'b'));
    CHECK(std::set(states.begin(), states.end()).size() == kCount + 1);
    for (uint32_t k = 0; k < kCount; ++k)
        for (char byte : {'a', 'b', 'c'}) CHECK(lexer.next(states[k], static_cast<uint8_t>(byte)) == states[k + 1]);
    CHECK(lexer.ends(states[kCount - 1]).empty() && lexer.ends(states[kCount]).size() == 1);
    CHECK(lexer.next(states[kCount], 'a') == kNoLexeme && lexer.next(states[kCount - 1], 'd') == kNoLexeme);
}

TEST(the_graph_of_lexemes_has_the_states_of_the_lexer) {
    Words words;
    LexemeGraph graph(words.grammar, words.kernel, words.lexer);
    size_t sum = 0;
    for (LexemeId id = 0; id < words.grammar.lexemes().size(); ++id) {
        const auto moves = moves_of(words.lexer, words.whole(id));
        const auto states = graph.states_of(id);
        CHECK(states.size() == moves.size());
        sum += states.size();
        size_t own = 0, others = 0, own_ends = 0, other_ends = 0;
        for (LexemeGraph::State state : states)
            own += graph.next(state).size(), own_ends += graph.end(state).has_value();
        for (const auto& [state, next] : moves) others += next.size(), other_ends += words.lexer.ends(state).size();
        CHECK(own == others && own_ends == other_ends);
        CHECK(words.lexer.first_bytes(id).words == words.lexer.next_bytes(words.lexer.alone(words.whole(id))).words);
    }
    CHECK(graph.state_count() < sum);  // most are shared
}

TEST(neighbours_are_told_as_by_the_states_of_the_lexer) {
    Words words;
    Adjacency adjacency(words.grammar, words.kernel, words.lexer, nullptr);
    const auto count = static_cast<LexemeId>(words.grammar.lexemes().size());
    std::set<When> told;
    for (LexemeId id = 0; id < count; ++id)
        for (LexemeId next = 0; next < count; ++next) {
            const When when = adjacency.followed(id, next);
            CHECK(when == followed(words.lexer, words.whole(id), words.lexer.first_bytes(next)));
            CHECK(when == adjacency.before(id, words.lexer.first_bytes(next)));
            told.insert(when);
        }
    CHECK(told.size() > 1);
    for (LexemeId id = 0; id < count; ++id)
        for (LexemeId other = 0; other < id; ++other)
            for (LexemeId next = 0; next < count && adjacency.ending(id) == adjacency.ending(other); ++next)
                CHECK(adjacency.followed(id, next) == adjacency.followed(other, next));
}

}  // namespace schemagen
