#include "python/dialect.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/languages.hpp"
#include "python/rules.hpp"
#include "rules/dialect_rules.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// A text that may hold U+0000.
nb::str shown(const std::string& text) { return nb::str(text.data(), text.size()); }

// What the parser asks of a `Host` (schemagen/context_free/dialect/host.py).
class ParserHost final : public DialectHost {
public:
    explicit ParserHost(nb::handle host) : host_(host) {}

    Json json(uint32_t text, uint32_t at) override {
        using Found = std::tuple<uint32_t, uint32_t, std::string, std::string, bool>;
        auto [value, end, fact, fix, is_limit] = nb::cast<Found>(host_.attr("json_at")(text, at));
        return {value, end, std::move(fact), std::move(fix), is_limit};
    }
    std::optional<std::vector<Option>> options(uint32_t value) override {
        const nb::object found = host_.attr("options")(value);
        if (found.is_none()) return std::nullopt;
        std::vector<Option> out;
        for (nb::handle each : found) {
            auto [name, is_on] = nb::cast<std::pair<std::string, std::optional<bool>>>(each);
            out.push_back({std::move(name), is_on});
        }
        return out;
    }
    std::optional<std::vector<std::string>> substring(uint32_t value) override {
        const nb::object found = host_.attr("substring")(value);
        if (found.is_none()) return std::nullopt;
        std::vector<std::string> out;
        for (nb::handle each : found) out.emplace_back(view(nb::cast<nb::bytes>(each)));
        return out;
    }
    const std::vector<std::pair<std::string, std::string>>& common() override {
        if (common_.empty())
            common_ = nb::cast<std::vector<std::pair<std::string, std::string>>>(host_.attr("common")());
        return common_;
    }
    bool is_word(const std::string& character) override { return nb::cast<bool>(host_.attr("is_word")(character)); }

private:
    nb::handle host_;
    std::vector<std::pair<std::string, std::string>> common_;
};

// What the reader of rules asks of it.
class RulesHost final : public DialectRulesHost {
public:
    RulesHost(nb::handle host, Rules& rules) : host_(host), rules_(rules) {}

    TreeId pattern(const std::string& pattern, const std::string& flags, NotationPlace place) override {
        return rules_.tree_of(host_.attr("pattern")(shown(pattern), flags, place.text, place.at));
    }
    TreeId in_any_case(const std::string& text) override {
        return rules_.tree_of(host_.attr("in_any_case")(shown(text)));
    }
    ExpressionId json(uint32_t value, NotationPlace place) override {
        return rules_.import(host_.attr("json")(value, place.text, place.at));
    }
    ExpressionId token(const std::string& text, bool is_any, NotationPlace place) override {
        return rules_.import(host_.attr("token")(shown(text), is_any, place.text, place.at));
    }
    ExpressionId repeated(ExpressionId other, uint64_t low, uint64_t high) override {
        const nb::object most = high == RuleExpressions::kEndless ? nb::object(nb::none()) : nb::object(nb::int_(high));
        return rules_.import(host_.attr("repeated")(rules_.exported(other), low, most));
    }
    Other other(const std::string& name, NotationPlace place) override {
        const auto found = nb::cast<nb::tuple>(host_.attr("other")(name, place.text, place.at));
        const auto kind = static_cast<Other::Kind>(nb::cast<int>(found[0]));
        Other out{kind, {}, 0, {}};
        if (kind == Other::Kind::kMissing) out.fix = nb::cast<std::string>(found[1]);
        if (kind == Other::Kind::kText) out.text = nb::cast<std::string>(found[1]);
        if (kind == Other::Kind::kExpression) out.expression = rules_.import(found[1]);
        return out;
    }
    std::string fix_of_missing(const std::string& name, bool is_term,
                               const std::vector<std::string>& defined) override {
        return nb::cast<std::string>(host_.attr("fix_of_missing")(name, is_term, defined));
    }
    std::string fix_of_start(const std::string& start, const std::vector<std::string>& rules) override {
        return nb::cast<std::string>(host_.attr("fix_of_start")(start, rules));
    }
    bool is_empty(TreeId tree) override { return nb::cast<bool>(host_.attr("is_empty")(rules_.ast_of(tree))); }

private:
    nb::handle host_;
    Rules& rules_;
};

[[noreturn]] void raise(const NotationError& error, const DialectReading& reading, nb::handle host) {
    nb::object line = nb::none(), column = nb::none();
    std::string fact = error.fact;
    if (error.place.is_known()) {
        const LineAndColumn place = line_and_column(reading.texts()[error.place.text], error.place.at);
        line = nb::int_(place.line);
        column = nb::int_(place.column);
        if (error.place.text && error.kind != NotationError::Kind::kUnsatisfiable)
            fact += ", in the grammar @" + reading.names()[error.place.text];
    }
    const nb::object made =
        host.attr("error")(static_cast<int>(error.kind), shown(fact), line, column, shown(error.why), shown(error.fix));
    PyErr_SetObject(made.type().ptr(), made.ptr());
    throw nb::python_error();
}

// Python writes out the rules that are regular.
void write_out_bounded(DialectReading& reading, Rules& rules, nb::handle host) {
    if (reading.bounded().empty()) return;
    nb::list languages, bounds;
    for (TreeId each : reading.languages_of_places()) languages.append(rules.ast_of(each));
    for (const BoundedRule& each : reading.bounded())
        bounds.append(nb::make_tuple(rules.set().names[each.rule], each.most));
    const nb::object found = host.attr("regular_rules")(rules.bodies(), bounds, languages);
    for (const BoundedRule& each : reading.bounded()) {
        const nb::object texts = found.attr("of")(rules.set().names[each.rule]);
        if (nb::isinstance<nb::str>(texts)) each.refuse(nb::cast<std::string>(texts));
        reading.write_out_bounded(each, rules.tree_of(texts));
    }
}

// Rule, names of captures, temperature, and of a rule that is one terminal its text, end and ignored text.
nb::list labels_of(const DialectReading& reading, Rules& rules) {
    nb::list out;
    for (const DialectLabels& each : reading.labels()) {
        nb::object terminal = nb::none();
        if (each.terminal)
            terminal = nb::make_tuple(rules.exported(each.terminal->text), rules.ast_of(each.terminal->end),
                                      rules.ast_of(each.terminal->ignored));
        out.append(
            nb::make_tuple(rules.set().names[each.rule], each.capture, each.stop_capture, each.temperature, terminal));
    }
    return out;
}

// The rules of a grammar, and the labels of those that have some.
nb::tuple read(Languages& languages, const std::string& text, const std::string& start, bool longest, nb::handle host) {
    auto rules = std::make_unique<Rules>();
    ParserHost parser_host(host);
    RulesHost rules_host(host, *rules);
    DialectReading reading(rules->set(), parser_host, rules_host);
    try {
        {
            const Work call = languages.reading();
            reading.read(text, {start, longest});
            write_out_bounded(reading, *rules, host);
        }
        languages.resolve(reading, *rules);
    } catch (const NotationError& error) {
        raise(error, reading, host);
    }
    const nb::list labels = labels_of(reading, *rules);
    return nb::make_tuple(std::move(rules), labels);
}

}  // namespace

void bind_dialect(nb::module_& module) {
    module.def("rules_of_dialect", &read, "languages"_a, "text"_a, "start"_a, "longest"_a, "host"_a);
}

}  // namespace schemagen
