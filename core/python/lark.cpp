#include "python/lark.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "notation/lark_reader.hpp"
#include "python/rules.hpp"
#include "rules/longest_match.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// An object of schemagen/context_free/lark/host.py.
class PythonHost final : public LarkHost {
public:
    explicit PythonHost(nb::handle host) : host_(host) {}

    std::string text(const std::vector<std::string>& path, bool is_relative, uint32_t importer) override {
        using Found = std::tuple<std::string, std::string, std::string, std::string>;
        auto [text, fact, why, fix] = nb::cast<Found>(host_.attr("text")(path, is_relative, importer));
        if (!fact.empty()) refuse({}, fact, why, fix);
        return text;
    }
    std::pair<Width, std::string> width(const std::string& pattern) override {
        const auto [least, most, error] =
            nb::cast<std::tuple<uint64_t, uint64_t, std::string>>(host_.attr("width")(pattern));
        return {{least, most}, error};
    }
    std::string name_of(const std::string& literal) override {
        return nb::cast<std::string>(host_.attr("name_of")(literal));
    }
    std::string fix_of_missing(const std::string& name, bool is_term,
                               const std::vector<std::string>& defined) override {
        return nb::cast<std::string>(host_.attr("fix_of_missing")(name, is_term, defined));
    }

private:
    nb::handle host_;
};

[[noreturn]] void raise(const NotationError& error, const LarkReading& reading, nb::handle host) {
    const bool is_limit = error.kind == NotationError::Kind::kLimit;
    std::string fact = error.what();
    nb::object line = nb::none(), column = nb::none();
    if (error.place.is_known()) {
        const LineAndColumn place = line_and_column(reading.texts[error.place.text], error.place.at);
        line = nb::int_(place.line);
        column = nb::int_(place.column);
        if (error.place.text) fact += ", in the imported grammar " + reading.paths[error.place.text];
    }
    const nb::object made = host.attr("error")(is_limit, fact, line, column, error.why, error.fix);
    PyErr_SetObject(made.type().ptr(), made.ptr());
    throw nb::python_error();
}

// What a caller gives to a reading.
struct Request {
    std::string text, start;
    nb::handle host;
    bool keeps_all;
    std::vector<std::string> kept_terminals;
    int lark;
};

// Reads it in the core if its text is literal, or if `re` is seen to take its longest match. Else Python does.
void read_terminal(Rules& rules, const LarkGrammar::Terminal& terminal, bool takes_longest) {
    if (terminal.text) {
        rules.read_as_text(terminal.name, *terminal.text);
        return;
    }
    rules.show_as(terminal.name, terminal.pattern);
    if (!takes_longest) return;
    if (const auto texts = longest_match(rules.set().trees, terminal.pattern))
        rules.read_as_longest(terminal.name, *texts);
}

LarkGrammar read(const Request& request) {
    Work call(Work::kNoEnd, Work::Manner::kKeep);
    PythonHost asked(request.host);
    LarkReading reading{asked};
    try {
        return read_lark(
            reading, request.text,
            {request.start, request.keeps_all, request.kept_terminals, static_cast<LarkOptions::Lark>(request.lark)});
    } catch (const NotationError& error) {
        raise(error, reading, request.host);
    }
}

// Item by item, as lark has it: for tests.
nb::tuple read_items(const std::string& text, const std::string& start, nb::handle host, bool keeps_all,
                     const std::vector<std::string>& kept_terminals, int lark) {
    const LarkGrammar found = read({text, start, host, keeps_all, kept_terminals, lark});
    nb::list terminals;
    for (const LarkGrammar::Terminal& each : found.terminals)
        terminals.append(nb::make_tuple(each.name, each.pattern, each.is_literal, each.priority));
    return nb::make_tuple(terminals, found.symbols, found.rules, found.ignored, found.declared);
}

// Terminals, those that rules use, the rules, which know how some terminals are read, ignored and declared terminals.
// `takes_longest`: the lexer takes the match of `re`.
nb::tuple read_rules(const std::string& text, const std::string& start, nb::handle host, bool keeps_all,
                     const std::vector<std::string>& kept_terminals, int lark, bool takes_longest) {
    const LarkGrammar found = read({text, start, host, keeps_all, kept_terminals, lark});
    auto rules = std::make_unique<Rules>(start, found.symbols, found.rules);
    nb::list terminals, used;
    for (const LarkGrammar::Terminal& each : found.terminals) {
        terminals.append(nb::make_tuple(each.name, each.pattern, each.is_literal));
        read_terminal(*rules, each, takes_longest);
    }
    for (const auto& [name, is_terminal] : found.symbols)
        if (is_terminal) used.append(name);
    return nb::make_tuple(terminals, used, std::move(rules), found.ignored, found.declared);
}

}  // namespace

void bind_lark(nb::module_& module) {
    module.def("read_lark", &read_items, "text"_a, "start"_a, "host"_a, "keeps_all"_a, "kept_terminals"_a, "lark"_a);
    module.def("rules_of_lark", &read_rules, "text"_a, "start"_a, "host"_a, "keeps_all"_a, "kept_terminals"_a, "lark"_a,
               "takes_longest"_a);
}

}  // namespace schemagen
