#include "python/lark.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "notation/lark_reader.hpp"
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

nb::tuple read(const std::string& text, const std::string& start, nb::handle host, bool keeps_all,
               const std::vector<std::string>& kept_terminals, int lark) {
    Work call(Work::kNoEnd, Work::Manner::kKeep);
    PythonHost asked(host);
    LarkReading reading{asked};
    try {
        const LarkGrammar found =
            read_lark(reading, text, {start, keeps_all, kept_terminals, static_cast<LarkOptions::Lark>(lark)});
        nb::list terminals, rules;
        for (const LarkGrammar::Terminal& each : found.terminals)
            terminals.append(nb::make_tuple(each.name, each.pattern, each.is_literal, each.priority));
        for (const LarkGrammar::Rule& each : found.rules) rules.append(nb::make_tuple(each.origin, each.symbols));
        return nb::make_tuple(terminals, found.symbols, rules, found.ignored, found.declared);
    } catch (const NotationError& error) {
        raise(error, reading, host);
    }
}

}  // namespace

void bind_lark(nb::module_& module) {
    module.def("read_lark", &read, "text"_a, "start"_a, "host"_a, "keeps_all"_a, "kept_terminals"_a, "lark"_a);
}

}  // namespace schemagen
