// The builder for schemagen/engine/native/lowering.py: a JSON automaton over the shared automata, and in the end a
// constraint.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "automata/regex_automaton.hpp"
#include "automata/shared_automata.hpp"
#include "context_free/counting_automaton.hpp"
#include "context_free/embedded_automaton.hpp"
#include "json/json_automaton.hpp"
#include "python/languages.hpp"
#include "python/rules.hpp"
#include "runtime/matcher.hpp"
#include "vocabulary/vocabulary.hpp"

namespace schemagen {

namespace nb = nanobind;

class Builder : public Languages {
public:
    using Strings =
        std::vector<std::tuple<NodeId, uint32_t, int64_t>>;  // regex, least and most characters (-1: no end)

    using Separators =
        std::tuple<std::string, std::string, std::string, std::string>;  // before and after a comma, a colon

    Builder(bool any_order, int whitespace, uint32_t max_indent, uint64_t max_states, double max_seconds,
            uint32_t max_gap, Separators separators, const std::optional<std::string>& indent, bool around,
            double spent)
        : Languages(SharedAutomata::current(), Work::now() - static_cast<int64_t>(spent * kNanoseconds)) {
        auto& [before_comma, after_comma, before_colon, after_colon] = separators;
        FixedLayout fixed{std::move(before_comma), std::move(after_comma), std::move(before_colon),
                          std::move(after_colon),  indent.has_value(),     indent.value_or("")};
        JsonOptions options{any_order, static_cast<Whitespace>(whitespace), max_indent, max_gap, std::move(fixed),
                            around};
        json_ = std::make_shared<JsonAutomaton>(shared_, std::move(options), max_states);
        budget_.max_nodes = max_states * Budget::kNodesPerState;
        budget_.max_states = max_states;
        budget_.max_seconds = max_seconds;
        const Work call(max_seconds, Work::Manner::kRelease, began_);
        SharedAutomata::clear_out();
    }
    // Whether a constraint can be embedded in this one.
    bool shares(Constraint& constraint) const { return constraint.lives_in(shared_); }

    // `texts`: a list of the caller's, which must not change during the call.
    NodeId literals(const nb::list& texts) {
        const Work call(budget_.max_seconds, Work::Manner::kGiveWay, began_);
        std::vector<std::string> copies;
        copies.reserve(texts.size());
        for (size_t k = 0; k < texts.size(); ++k) {
            poll();
            copies.emplace_back(view(nb::cast<nb::bytes>(texts[k])));
        }
        return literals_of(std::move(copies));
    }
    using Ends = std::vector<std::tuple<std::string, int32_t, bool>>;  // digits, exponent of the first one, open
    // `ends`: lower and upper one of the positive numbers, then of the magnitudes of the negative ones; no digits: no
    // end. `inside`: bit 0, 1 and 2 for positive numbers, negative ones and zero. `step`: a divisor, 0 for none, and a
    // power of ten. `most`: digits before and after the point, and of texts that must be exact.
    NodeId number(const Ends& ends, uint32_t inside, const std::pair<uint64_t, int32_t>& step,
                  const std::tuple<uint32_t, uint32_t, uint32_t>& most, uint32_t forms) {
        const auto [divisor, power] = step;
        const auto [integer_digits, fraction_digits, exact_digits] = most;
        NumberRule rule{.zero = (inside & 4) != 0,
                        .divisor = divisor,
                        .power = power,
                        .integer_digits = integer_digits,
                        .fraction_digits = fraction_digits,
                        .exact_digits = exact_digits,
                        .forms = forms};
        if (ends.size() != 4) throw nb::value_error("a number has four ends");
        for (size_t k = 0; k < 4; ++k) (k % 2 ? rule.sides[k / 2].high : rule.sides[k / 2].low) = end_of(ends[k]);
        for (size_t k = 0; k < 2; ++k) {
            rule.sides[k].any = inside >> k & 1;
            if (rule.sides[k].any && (forms & NumberRule::kExponent) && !rule.sides[k].high.there())
                throw nb::value_error("exponents without an upper end");
        }
        constexpr uint32_t kMost = 1000;
        if (!integer_digits || integer_digits > kMost || fraction_digits > kMost ||
            power < -static_cast<int32_t>(kMost) || power > static_cast<int32_t>(kMost))
            throw nb::value_error("a number with too many digits");
        if (divisor && (divisor % 10 == 0 || divisor > NumberRule::kMaxDivisor))
            throw nb::value_error("no divisor that numbers can have");
        const Call call(*this);
        return shared_->kernel.number(rule);
    }
    uint64_t count_words(NodeId node, uint64_t limit) {
        const Call call(*this);
        return shared_->kernel.count_words(node, limit);
    }
    bool is_open(NodeId node) {
        const Call call(*this);
        return shared_->kernel.is_open(node);
    }

    ValueId declare_value() { return json_->program().declare_value(); }
    void define_value(ValueId id, NodeId literal, const Strings& strings, std::vector<uint32_t> arrays,
                      std::vector<uint32_t> objects) {
        ValueNode node = scalars(literal, strings);
        node.arrays = std::move(arrays);
        node.objects = std::move(objects);
        json_->program().define_value(id, std::move(node));
    }
    // The parts of a value other than arrays and objects.
    static ValueNode scalars(NodeId literal, const Strings& strings) {
        ValueNode node;
        node.literal = literal;
        for (auto [regex, low, high] : strings)
            node.strings.push_back({.regex = regex, .min_chars = low, .max_chars = clamp(high)});
        return node;
    }
    using OptionList = std::vector<std::vector<std::pair<ValueId, uint32_t>>>;

    // Places of properties, and of each alternative the value of each, and whether it is required.
    using GroupLists =
        std::vector<std::pair<std::vector<uint32_t>, std::vector<std::vector<std::pair<ValueId, bool>>>>>;

    uint32_t add_object(const std::vector<std::tuple<nb::bytes, bool, OptionList>>& properties,
                        const std::vector<std::tuple<NodeId, bool, OptionList>>& extras, uint32_t low, int64_t high,
                        std::vector<bool> final, const GroupLists& groups) {
        ObjectDisjunct disjunct;
        for (const auto& [key, required, options] : properties)
            disjunct.properties.push_back({std::string(view(key)), required, read(options)});
        for (const auto& [regex, open, options] : extras) disjunct.extras.push_back({open, regex, read(options)});
        disjunct.min_properties = low;
        disjunct.max_properties = clamp(high);
        disjunct.final = std::move(final);
        for (const auto& [places, alternatives] : groups) {
            Group& group = disjunct.groups.emplace_back();
            group.places = places;
            for (const auto& members : alternatives) {
                Alternative& each = group.alternatives.emplace_back();
                for (const auto& [value, required] : members)
                    each.values.push_back(value), each.required.push_back(required);
            }
        }
        return json_->program().add_object(std::move(disjunct));
    }
    uint32_t add_array(const std::vector<OptionList>& prefix, const OptionList& items, uint32_t low, int64_t high,
                       std::vector<bool> final, bool unique) {
        ArrayDisjunct disjunct;
        disjunct.unique = unique;
        for (const OptionList& options : prefix) disjunct.prefix.push_back(read(options));
        disjunct.items = read(items);
        disjunct.min_items = low;
        disjunct.max_items = clamp(high);
        disjunct.final = std::move(final);
        return json_->program().add_array(std::move(disjunct));
    }
    // An object that counts nothing and tells no undeclared keys apart, as most are.
    uint32_t plain_object(std::vector<Property> members, ValueId extra) {
        const Call call(*this);
        ObjectDisjunct disjunct;
        disjunct.properties = std::move(members);
        if (extra) disjunct.extras.push_back({true, shared_->kernel.any_string(Encoding::kCanonical), always(extra)});
        disjunct.final = {true};
        return json_->program().add_object(std::move(disjunct));
    }
    // Any value at all: `literal` has the numbers and literals, its members and items are any value again.
    void define_any(ValueId id, NodeId literal) {
        const Call call(*this);
        ArrayDisjunct array;
        array.items = always(id);
        array.final = {true};
        ObjectDisjunct object;
        object.extras.push_back({true, shared_->kernel.any_string(Encoding::kCanonical), always(id)});
        object.final = {true};
        ValueNode node;
        node.literal = literal;
        node.strings = {{shared_->kernel.any_string(Encoding::kJson), 0, kUnbounded}};
        node.arrays = {json_->program().add_array(std::move(array))};
        node.objects = {json_->program().add_object(std::move(object))};
        json_->program().define_value(id, std::move(node));
    }
    // An array that counts nothing.
    uint32_t plain_array(const std::vector<ValueId>& prefix, ValueId items, uint32_t low, int64_t high) {
        ArrayDisjunct disjunct;
        for (ValueId value : prefix) disjunct.prefix.push_back(always(value));
        disjunct.items = always(items);
        disjunct.min_items = low;
        disjunct.max_items = clamp(high);
        disjunct.final = {true};
        return json_->program().add_array(std::move(disjunct));
    }
    void define(ValueId id, ValueNode node) { json_->program().define_value(id, std::move(node)); }
    size_t value_count() const { return json_->program().value_count(); }
    static Options always(ValueId value) { return {std::vector<Option>{{value, 0}}}; }
    NodeId literals_of(std::vector<std::string> texts) {
        constexpr size_t kMany = 2'000;  // sorting them takes a millisecond or more, without a poll
        const Call call(*this);
        std::optional<Work::Apart> apart;
        if (texts.size() > kMany) apart.emplace();
        return shared_->kernel.literals(std::move(texts));
    }
    bool productive(ValueId id) const { return json_->program().productive(id); }
    void settle(ValueId root) {
        const Call call(*this);
        json_->finish(root);
    }

    std::shared_ptr<Constraint> json(std::shared_ptr<VocabularyTables> tables) {
        return constraint(json_, std::move(tables));
    }
    // Terminals that are read by a constraint, which cannot be used any more.
    using EmbeddedConstraints = std::vector<std::pair<SymbolId, std::shared_ptr<Constraint>>>;
    // Of embedded constraints: fewest and most tokens, whether aligned, and the tokens; see TokenCount.
    using TokenCounts =
        std::vector<std::tuple<SymbolId, uint32_t, std::optional<uint32_t>, bool, std::vector<uint32_t>>>;
    // Actions by state (symbol, reduces, target), productions (rule, length), lexemes by state, start and end state, as
    // `LrTables` has them.
    using Tables =
        std::tuple<std::vector<std::vector<std::tuple<SymbolId, bool, uint32_t>>>,
                   std::vector<std::pair<SymbolId, uint32_t>>, std::vector<std::vector<LexemeId>>, uint32_t, uint32_t>;
    // The terminals for a line break, and the beginning and the end of a block; those for line breaks by width;
    // brackets.
    using Indents = std::tuple<std::tuple<SymbolId, SymbolId, SymbolId>, std::vector<std::pair<SymbolId, uint32_t>>,
                               std::vector<SymbolId>, std::vector<SymbolId>>;
    // Rules that are numbered; null if they have no text. `tokens`: terminals that are read as the bytes of some
    // tokens.
    std::shared_ptr<Constraint> context_free(Rules& rules, uint32_t max_alternatives,
                                             std::shared_ptr<VocabularyTables> tables,
                                             const std::vector<std::pair<SymbolId, NodeId>>& tokens,
                                             const std::optional<Tables>& lr, const std::optional<Indents>& indents,
                                             const EmbeddedConstraints& embedded, const TokenCounts& counts) {
        EmbeddedLanguages languages = take(embedded);
        for (const auto& [terminal, least, most, is_aligned, members] : counts)
            for (EmbeddedLanguage& language : languages)
                if (language.terminal == terminal)
                    language.count = count_of(least, most, is_aligned, members, tables->words());
        const std::vector<std::pair<std::string, bool>> terminals = rules.named_terminals();
        make_tables(rules);
        const Call call(*this);
        if (!languages.empty()) prepare(languages, *tables);
        ContextFreeGrammar grammar;
        for (const auto& [name, ignored] : terminals) grammar.add_terminal(name, ignored);
        for (const EmbeddedLanguage& language : languages)
            grammar.set_min_bytes(language.terminal, language.min_bytes(language.automaton->start(), 0));
        const std::vector<LexemeId> numbers = add_lexemes(rules, tokens, grammar);
        add_rules(rules, grammar);
        const Allowance allowance{budget_.max_states, max_alternatives};
        Parsing parsing{lr ? read(*lr, numbers) : nullptr, indents ? read(*indents) : nullptr, {}};
        for (const EmbeddedLanguage& language : languages)
            parsing.embedded.push_back({language.terminal, language.first});
        auto host = std::make_unique<ContextFreeAutomaton>(shared_, std::move(grammar), std::move(parsing), allowance);
        if (!host->has_texts()) return nullptr;
        if (languages.empty()) return constraint(std::move(host), std::move(tables));
        return constraint(
            std::make_shared<EmbeddedAutomaton>(shared_, std::move(host), std::move(languages), tables, nullptr),
            tables);
    }
    // Marks of labelled parts, for a constraint of the same grammar without them (captures.hpp). `embedded`: the
    // terminals of its embedded languages, in their order; UINT32_MAX for one that no longer occurs. `marks`: label,
    // whether it opens, temperature, and most tokens.
    void label(
        Constraint& constraint, Rules& rules, uint32_t max_alternatives,
        const std::vector<std::pair<SymbolId, NodeId>>& tokens, const std::vector<SymbolId>& embedded,
        const std::vector<std::tuple<SymbolId, uint32_t, bool, std::optional<double>, std::optional<uint32_t>>>& marks,
        std::vector<std::string> labels) {
        std::vector<Mark> all;
        all.reserve(marks.size());
        for (const auto& [terminal, label, opens, temperature, most] : marks)
            all.push_back({terminal, label, opens, temperature, most});
        const std::vector<std::pair<std::string, bool>> terminals = rules.named_terminals();
        make_tables(rules);
        ContextFreeGrammar grammar;
        {
            const Call call(*this);
            for (const auto& [name, ignored] : terminals) grammar.add_terminal(name, ignored);
            for (const Mark& mark : all) grammar.set_mark(mark.terminal);
            add_lexemes(rules, tokens, grammar);
            add_rules(rules, grammar);
        }
        const Allowance allowance{budget_.max_states, max_alternatives};
        constraint.label(shared_, std::move(grammar), std::move(all), embedded, std::move(labels), allowance);
    }
    // Of one grammar: without its bounds of tokens, and with them. Neither constraint can be used any more.
    std::shared_ptr<Constraint> counting(Constraint& free, Constraint& counted) {
        auto with_counts = std::dynamic_pointer_cast<EmbeddedAutomaton>(counted.give_automaton(shared_));
        std::shared_ptr<Automaton> without = free.give_automaton(shared_);
        if (!without || !with_counts) throw nb::value_error("a constraint of another generation");
        const Call call(*this);
        auto automaton = std::make_shared<CountingAutomaton>(shared_, std::move(without), std::move(with_counts));
        return constraint(std::move(automaton), counted.tables);
    }
    static std::shared_ptr<const TokenCount> count_of(uint32_t least, std::optional<uint32_t> most, bool is_aligned,
                                                      const std::vector<uint32_t>& members, size_t words) {
        auto count = std::make_shared<TokenCount>();
        count->least = least;
        count->most = most.value_or(TokenCount::kNoBound);
        count->is_aligned = is_aligned;
        if (!members.empty()) count->members.assign(words, 0);
        for (uint32_t token : members)
            if (token / 32 < words) set_bit(count->members.data(), token);
        return count;
    }
    static std::shared_ptr<const Indentation> read(const Indents& given) {
        const auto& [symbols, newlines, opening, closing] = given;
        const auto& [newline, indent, dedent] = symbols;
        Indentation out{newline, indent, dedent, newlines, opening, closing};
        std::sort(out.newlines.begin(), out.newlines.end());
        return std::make_shared<const Indentation>(std::move(out));
    }
    static constexpr LexemeId kUnread = UINT32_MAX;
    static std::shared_ptr<const LrTables> read(const Tables& given, const std::vector<LexemeId>& numbers) {
        auto out = std::make_shared<LrTables>();
        const auto& [actions, productions, lexemes, start, end] = given;
        for (const auto& row : actions) {
            out->actions.emplace_back();
            for (const auto& [symbol, reduces, target] : row) out->actions.back().push_back({symbol, reduces, target});
        }
        for (const auto& [rule, length] : productions) out->productions.push_back({rule, length});
        for (const auto& row : lexemes) {
            out->lexemes.emplace_back();
            for (LexemeId each : row)
                if (numbers.at(each) != kUnread) out->lexemes.back().push_back(numbers[each]);
        }
        out->start = start;
        out->end = end;
        return out;
    }
    std::shared_ptr<Constraint> regex(NodeId node, std::shared_ptr<VocabularyTables> tables) {
        const Call call(*this);
        return constraint(std::make_shared<RegexAutomaton>(shared_, node), std::move(tables));
    }

private:
    void make_tables(Rules& rules) const {
        const Work call(budget_.max_seconds, Work::Manner::kRelease, began_);
        rules.set().trees.make_tables();
    }
    // The numbers of the ways to read terminals in the grammar, kUnread for those without texts.
    std::vector<LexemeId> add_lexemes(Rules& rules, const std::vector<std::pair<SymbolId, NodeId>>& tokens,
                                      ContextFreeGrammar& grammar) {
        Kernel& kernel = shared_->kernel;
        RegexTrees& trees = rules.set().trees;
        rules.use(shared_);
        std::vector<LexemeId> numbers;
        const auto add = [&](const Lexeme& lexeme) {
            const bool is_unread = kernel.is_empty(lexeme.text);
            // Unless others read it, nothing does.
            if (is_unread) grammar.set_min_bytes(lexeme.terminal, ContextFreeGrammar::kFar);
            numbers.push_back(is_unread ? kUnread : grammar.add_lexeme(lexeme));
        };
        for (const auto& [terminal, way] : rules.ways())
            add({terminal, trees.node(way.text, kernel), trees.node(way.longer, kernel), way.marked});
        for (const auto& [terminal, node] : tokens) add({terminal, node, kEmpty, false});
        return numbers;
    }
    void add_rules(const Rules& rules, ContextFreeGrammar& grammar) {
        for (const auto& [name, body] : rules.named_rules()) grammar.add_rule(name, items_of(body));
        grammar.finish(rules.start(), shared_->kernel);
    }
    EmbeddedLanguages take(const EmbeddedConstraints& embedded) {
        EmbeddedLanguages out;
        for (const auto& [terminal, inner] : embedded) {
            std::shared_ptr<Automaton> automaton = inner->give_automaton(shared_);
            if (!automaton) throw nb::value_error("an embedded constraint of another generation");
            out.push_back({terminal, std::move(automaton), {}, {}, nullptr});
        }
        return out;
    }
    static void prepare(EmbeddedLanguages& languages, const VocabularyTables& tables) {
        for (EmbeddedLanguage& language : languages) {
            guide_of(*language.automaton).settle_shortest(tables);
            language.find_ends(dynamic_cast<const JsonAutomaton*>(language.automaton.get()) != nullptr);
        }
    }
    std::shared_ptr<Constraint> constraint(std::shared_ptr<Automaton> automaton,
                                           std::shared_ptr<const VocabularyTables> tables) {
        auto made = std::make_shared<Constraint>(shared_, std::move(automaton), std::move(tables), budget_);
        shared_->add_tenant(made);
        return made;
    }
    static Options read(const OptionList& lists) {
        Options out;
        for (const auto& list : lists) {
            out.emplace_back();
            for (auto [value, target] : list) out.back().push_back({value, target});
        }
        return out;
    }
    static NumberEnd end_of(const std::tuple<std::string, int32_t, bool>& end) {
        NumberEnd out{std::get<0>(end), std::get<1>(end), std::get<2>(end)};
        for (char& digit : out.digits) {
            if (digit < '0' || digit > '9') throw nb::value_error("the end of a number is not made of digits");
            digit = static_cast<char>(digit - '0');
        }
        if (out.there() && (!out.digits.front() || !out.digits.back()))
            throw nb::value_error("the end of a number begins or ends with 0");
        if (out.exponent < -900 || out.exponent > 900) throw nb::value_error("the end of a number is too far from 1");
        return out;
    }
    static uint32_t clamp(int64_t high) {
        return high < 0 || high >= kUnbounded ? kUnbounded : static_cast<uint32_t>(high);
    }
    std::shared_ptr<JsonAutomaton> json_;
};

}  // namespace schemagen
