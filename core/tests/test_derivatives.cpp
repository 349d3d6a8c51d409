// Derivatives, and the lazy automaton made of them, against the definition of regular expressions: the set of all short
// words of a language is computed operator by operator.
#include <random>
#include <set>
#include <string>
#include <unordered_map>

#include "regex/lazy_dfa.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

// Words over a few letters, up to a length; the order is that of a trie, by length.
class Words {
public:
    static constexpr std::string_view kLetters = "abc";
    static constexpr size_t kLongest = 5;

    Words() {
        for (size_t k = 0; k < all_.size(); ++k)
            if (all_[k].size() < kLongest)
                for (char letter : kLetters) all_.push_back(all_[k] + letter);
        for (size_t k = 0; k < all_.size(); ++k) numbers_[all_[k]] = k;
    }
    size_t size() const { return all_.size(); }
    const std::string& operator[](size_t word) const { return all_[word]; }
    size_t number(const std::string& word) const { return numbers_.at(word); }

private:
    std::vector<std::string> all_{""};
    std::unordered_map<std::string, size_t> numbers_;
};

const Words& words() {
    static const Words all;
    return all;
}

// The short words of a language, by their definition.
using Language = std::vector<bool>;

Language one(const std::string& word) {
    Language out(words().size());
    out[words().number(word)] = true;
    return out;
}

Language united(const Language& left, const Language& right) {
    Language out(left);
    for (size_t word = 0; word < out.size(); ++word) out[word] = left[word] || right[word];
    return out;
}

Language common(const Language& left, const Language& right) {
    Language out(left);
    for (size_t word = 0; word < out.size(); ++word) out[word] = left[word] && right[word];
    return out;
}

Language other(Language language) {
    language.flip();
    return language;
}

Language joined(const Language& left, const Language& right) {
    Language out(words().size());
    for (size_t word = 0; word < out.size(); ++word)
        for (size_t cut = 0; cut <= words()[word].size() && !out[word]; ++cut)
            out[word] =
                left[words().number(words()[word].substr(0, cut))] && right[words().number(words()[word].substr(cut))];
    return out;
}

// Of a word that is made of more parts than `low` and its length together some part is empty, and not needed.
Language repeated(const Language& inner, uint32_t low, uint32_t high) {
    Language power = one(""), out(words().size());
    for (uint32_t times = 0; times <= std::min<uint64_t>(high, low + Words::kLongest); ++times) {
        if (times >= low) out = united(out, power);
        power = joined(power, inner);
    }
    return out;
}

struct Expression {
    NodeId node;
    Language language;
};

class Expressions {
public:
    Expressions(Kernel& kernel, unsigned seed) : kernel_(kernel), random_(seed) {}
    Expression make(unsigned depth) {
        if (depth == 0) return leaf();
        switch (drawn(7)) {
            case 0: return both(depth, either, united);
            case 1: return both(depth, meet, common);
            case 2: return texts();
            case 3: {
                const Expression inner = make(depth - 1);
                return {kernel_.complement(inner.node), other(inner.language)};
            }
            case 4: {
                const Expression inner = make(depth - 1);
                const uint32_t low = drawn(4), high = drawn(3) ? low + drawn(4) : kUnbounded;
                return {kernel_.repeat(inner.node, low, high), repeated(inner.language, low, high)};
            }
            default: return both(depth, concat, joined);
        }
    }

private:
    uint32_t drawn(uint32_t end) { return random_() % end; }
    using Join = NodeId (*)(Kernel&, NodeId, NodeId);
    using Define = Language (*)(const Language&, const Language&);
    static NodeId concat(Kernel& kernel, NodeId left, NodeId right) { return kernel.concat(left, right); }
    static NodeId either(Kernel& kernel, NodeId left, NodeId right) { return kernel.alternation({left, right}); }
    static NodeId meet(Kernel& kernel, NodeId left, NodeId right) { return kernel.conjunction({left, right}); }
    Expression both(unsigned depth, Join join, Define define) {
        const Expression left = make(depth - 1), right = make(drawn(depth));
        return {join(kernel_, left.node, right.node), define(left.language, right.language)};
    }
    // A range of bytes, perhaps around the letters, or one character of UTF-8.
    Expression leaf() {
        if (drawn(8) == 0) return {kEpsilon, one("")};
        const uint32_t low = '`' + drawn(4), high = low + drawn(3);
        Language language(words().size());
        for (char letter : Words::kLetters)
            if (static_cast<uint32_t>(letter) >= low && static_cast<uint32_t>(letter) <= high)
                language = united(language, one(std::string(1, letter)));
        if (drawn(2)) return {kernel_.chars(Encoding::kUtf8, {{low, high}}), language};
        std::array<uint64_t, 4> set{};
        for (uint32_t byte = low; byte <= high; ++byte) set[byte >> 6] |= 1ull << (byte & 63);
        return {kernel_.byte_set(set), language};
    }
    Expression texts() {
        std::vector<std::string> chosen;
        Language language(words().size());
        for (uint32_t count = 1 + drawn(4); count > 0; --count) {
            chosen.push_back(words()[drawn(static_cast<uint32_t>(words().size()))]);
            language = united(language, one(chosen.back()));
        }
        return {kernel_.literals(chosen), language};
    }

    Kernel& kernel_;
    std::mt19937 random_;
};

size_t shortest_of(const Language& language) {
    for (size_t word = 0; word < language.size(); ++word)
        if (language[word]) return words()[word].size();
    return SIZE_MAX;
}

// Reads all words; `step` goes on by a byte, and `visit(word, state)` sees where a word leads.
template <class State, class Step, class Visit>
void read_all(const State& start, const Step& step, const Visit& visit) {
    std::vector<State> states{start};
    for (size_t word = 0; word < words().size(); ++word) {
        if (word) {
            const std::string& text = words()[word];
            const size_t before = words().number(text.substr(0, text.size() - 1));
            states.push_back(step(states[before], static_cast<uint8_t>(text.back())));
        }
        visit(word, states[word]);
    }
}

}  // namespace

TEST(derivatives_accept_the_words_of_an_expression) {
    for (unsigned seed = 0; seed < 250; ++seed) {
        Kernel kernel;
        const Expression expression = Expressions(kernel, seed).make(4);
        read_all(
            expression.node, [&](NodeId node, uint8_t byte) { return kernel.derivative(node, byte); },
            [&](size_t word, NodeId node) { CHECK(kernel.nullable(node) == expression.language[word]); });
        const size_t shortest = shortest_of(expression.language);
        CHECK(kernel.shortest(expression.node) <= shortest);
        CHECK(shortest == SIZE_MAX || !kernel.is_empty(expression.node));
    }
}

TEST(an_expression_is_empty_if_no_derivative_accepts) {
    for (unsigned seed = 0; seed < 150; ++seed) {
        Kernel kernel;
        const NodeId start = Expressions(kernel, 1000 + seed).make(3).node;
        std::set<NodeId> seen{start};
        std::vector<NodeId> todo{start};
        bool accepts = false;
        while (!todo.empty() && seen.size() < 500) {
            const NodeId node = todo.back();
            todo.pop_back();
            accepts = accepts || kernel.nullable(node);
            for (unsigned byte = 0; byte < 256; ++byte)
                if (const NodeId next = kernel.derivative(node, static_cast<uint8_t>(byte)); seen.insert(next).second)
                    todo.push_back(next);
        }
        if (todo.empty()) CHECK(kernel.is_empty(start) == !accepts);
    }
}

// Two languages side by side, as a product.
TEST(the_lazy_automaton_goes_where_derivatives_go) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        Kernel kernel;
        Expressions expressions(kernel, 2000 + seed);
        const Expression left = expressions.make(4), right = expressions.make(3);
        LazyDfa dfa(kernel);
        read_all(
            dfa.intern({left.node, right.node}, false),
            [&](uint32_t state, uint8_t byte) { return dfa.next(state, byte); },
            [&](size_t word, uint32_t state) {
                CHECK(dfa.state(state).accepts[0] == left.language[word]);
                CHECK(dfa.state(state).accepts[1] == right.language[word]);
                CHECK(dfa.accepting(state) == (left.language[word] || right.language[word]));
                const ByteSet bytes = dfa.next_bytes(state);
                for (char letter : Words::kLetters)
                    CHECK(bytes.has(static_cast<uint8_t>(letter)) ==
                          (dfa.next(state, static_cast<uint8_t>(letter)) != 0));
            });
    }
}

// As a constraint begins anew when it has come to its limits: with the language copied into another kernel.
TEST(an_automaton_that_begins_anew_accepts_the_same_words) {
    int restarts = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        auto kernel = std::make_unique<Kernel>();
        const Expression expression = Expressions(*kernel, 3000 + seed).make(4);
        NodeId root = expression.node;
        auto dfa = std::make_unique<LazyDfa>(*kernel);
        Budget budget;
        const auto begin_anew = [&] {
            auto fresh = std::make_unique<Kernel>();
            root = fresh->adopt(*kernel, {root})[0];
            dfa.reset();
            kernel = std::move(fresh);
            dfa = std::make_unique<LazyDfa>(*kernel);
            budget = Budget{.max_nodes = 40, .max_states = 4};
            kernel->charge(&budget);
        };
        const auto accepts = [&](const std::string& word) {
            uint32_t state = dfa->intern({root}, false);
            for (char letter : word) state = dfa->next(state, static_cast<uint8_t>(letter));
            return dfa->accepting(state);
        };
        begin_anew();
        for (size_t word = 0; word < words().size(); ++word) {
            bool accepted;
            try {
                accepted = accepts(words()[word]);
            } catch (const LimitExceeded& error) {
                CHECK(error.limit == Limit::kStates || error.limit == Limit::kNodes);
                ++restarts;
                begin_anew();
                kernel->charge(nullptr);  // this word has the automaton to itself
                accepted = accepts(words()[word]);
                kernel->charge(&budget);
            }
            CHECK(accepted == expression.language[word]);
        }
    }
    CHECK(restarts > 150);
}

}  // namespace schemagen
