#include "python/trees.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "regex/pattern_text.hpp"
#include "regex/plain_patterns.hpp"
#include "rules/longest_match.hpp"
#include "util/work.hpp"

namespace schemagen {

namespace nb = nanobind;
using namespace nb::literals;

RegexTrees::Text code_points_of(nb::handle str) {
    const Py_ssize_t length = PyUnicode_GetLength(str.ptr());
    if (length < 0) throw nb::python_error();
    RegexTrees::Text out(static_cast<size_t>(length), U'\0');
    for (Py_ssize_t at = 0; at < length; ++at) out[static_cast<size_t>(at)] = PyUnicode_ReadChar(str.ptr(), at);
    return out;
}

nb::str str_of(const RegexTrees::Text& text) {
    PyObject* made = PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, text.data(), static_cast<Py_ssize_t>(text.size()));
    if (!made) throw nb::python_error();
    return nb::steal<nb::str>(made);
}

namespace {

// A tuple of the objects made of each item.
template <class Items, class Made>
nb::object tuple_of(const Items& items, const Made& made) {
    nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    if (!out.is_valid()) throw nb::python_error();
    Py_ssize_t at = 0;
    for (const auto& item : items) PyTuple_SET_ITEM(out.ptr(), at++, nb::object(made(item)).release().ptr());
    return out;
}

nb::object ranges_of(const Ranges& ranges) {
    return tuple_of(ranges, [](const auto& range) { return nb::make_tuple(range.first, range.second); });
}

}  // namespace

// ---- translation --------------------------------------------------------------------------------------------------

TreeImport::TreeImport() {
    // By Kind.
    constexpr std::array kNames = {"Chars",      "Concat", "Alternation", "Conjunction",
                                   "Complement", "Repeat", "Substring"};
    const nb::module_ module = nb::module_::import_("schemagen.regex.ast");
    for (size_t k = 0; k < kNames.size(); ++k) classes_[k] = module.attr(kNames[k]);
}

uint64_t TreeImport::count_of(nb::handle number) {
    if (number.is_none()) return RegexTrees::kEndless;
    int overflow = 0;
    const int64_t count = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (count == -1 && PyErr_Occurred()) throw nb::python_error();
    if (count < 0 && overflow <= 0) throw nb::value_error("a count of rounds is negative");
    return overflow > 0 ? RegexTrees::kEndless - 1 : static_cast<uint64_t>(count);
}

TreeImport::Kind TreeImport::kind_of(nb::handle object) const {
    const auto found = std::find_if(classes_.begin(), classes_.end(),
                                    [type = object.type()](const nb::object& each) { return each.is(type); });
    if (found == classes_.end()) throw nb::type_error("this is no regular expression of schemagen.regex.ast");
    return static_cast<Kind>(found - classes_.begin());
}

std::vector<nb::object> TreeImport::missing_parts(Kind kind, nb::handle object) const {
    std::vector<nb::object> out;
    const auto look = [&](nb::object part) {
        if (!trees_.contains(part.ptr())) out.push_back(std::move(part));
    };
    if (kind == Kind::kComplement || kind == Kind::kRepeat) {
        look(object.attr("inner"));
    } else if (kind != Kind::kChars && kind != Kind::kSubstring) {
        for (nb::handle part : nb::cast<nb::tuple>(object.attr("parts"))) {
            poll();
            look(nb::borrow(part));
        }
    }
    return out;
}

TreeId TreeImport::tree_from_parts(Kind kind, nb::handle object, RegexTrees& trees) const {
    switch (kind) {
        case Kind::kChars: return trees.chars(nb::cast<Ranges>(object.attr("ranges")));
        case Kind::kSubstring: return trees.substring(code_points_of(object.attr("text")));
        case Kind::kComplement: return trees.complement(known(object.attr("inner")));
        case Kind::kRepeat:
            return trees.repeat(known(object.attr("inner")), count_of(object.attr("low")),
                                count_of(object.attr("high")));
        default: break;
    }
    std::vector<TreeId> parts;
    for (nb::handle part : nb::cast<nb::tuple>(object.attr("parts"))) parts.push_back(known(part));
    if (kind == Kind::kConcat) return trees.concat(parts);
    return kind == Kind::kAlternation ? trees.alternation(parts) : trees.conjunction(parts);
}

TreeId TreeImport::tree_of(nb::handle object, RegexTrees& trees) {
    std::vector<nb::object> open{nb::borrow(object)};
    while (!open.empty()) {
        poll();
        const nb::object last = open.back();
        const auto close = [&](TreeId id) { trees_.emplace(last.ptr(), std::pair(last, id)), open.pop_back(); };
        if (const auto found = trees_.find(last.ptr()); found != trees_.end()) {
            open.pop_back();
            continue;
        }
        const Kind kind = kind_of(last);
        std::vector<nb::object> missing = missing_parts(kind, last);
        if (missing.empty())
            close(tree_from_parts(kind, last, trees));
        else
            open.insert(open.end(), missing.begin(), missing.end());
    }
    return known(object);
}

nb::object TreeImport::ast_from_parts(TreeId id, const RegexTrees& trees) const {
    const nb::object& made = classes_[static_cast<size_t>(trees.kind(id))];
    const std::vector<TreeId> parts(trees.parts(id).begin(), trees.parts(id).end());
    switch (trees.kind(id)) {
        case Kind::kChars: return made(ranges_of(trees.ranges(id)));
        case Kind::kSubstring: return made(str_of(trees.text(id)));
        case Kind::kComplement: return made(objects_.at(parts[0]));
        case Kind::kRepeat: {
            const uint64_t most = trees.high(id);
            const nb::object high = most == RegexTrees::kEndless ? nb::none() : nb::object(nb::int_(most));
            return made(objects_.at(parts[0]), trees.low(id), high);
        }
        default: return made(tuple_of(parts, [&](TreeId part) { return objects_.at(part); }));
    }
}

nb::object TreeImport::ast_of(TreeId id, const RegexTrees& trees) {
    const auto is_known = [this](TreeId each) { return objects_.contains(each); };
    for (TreeId each : trees.missing(id, is_known)) objects_.emplace(each, ast_from_parts(each, trees));
    return objects_.at(id);
}

// ---- binding ------------------------------------------------------------------------------------------------------

namespace {

PatternDialect dialect_of(std::string_view name) {
    if (name == "python") return PatternDialect::kPython;
    if (name == "rust") return PatternDialect::kRust;
    if (name == "ecma-262") return PatternDialect::kEcma;
    throw nb::value_error("there is no such dialect of patterns");
}

// Of a str; nothing if it has a half of a surrogate pair.
std::optional<std::string_view> utf8_of(const nb::str& text) {
    Py_ssize_t size = 0;
    if (const char* begin = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return std::string_view(begin, size);
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
    PyErr_Clear();
    return std::nullopt;
}

// Trees with their import, as Python has them: ids are checked.
class PythonTrees {
public:
    using Ids = std::vector<TreeId>;

    TreeId chars(Ranges ranges) { return trees_.chars(std::move(ranges)); }
    TreeId literal(const nb::str& text) { return trees_.literal(code_points_of(text)); }
    TreeId substring(const nb::str& text) { return trees_.substring(code_points_of(text)); }
    TreeId concat(const Ids& parts) { return trees_.concat(checked(parts)); }
    TreeId alternation(const Ids& parts) { return trees_.alternation(checked(parts)); }
    TreeId conjunction(const Ids& parts) { return trees_.conjunction(checked(parts)); }
    TreeId complement(TreeId inner) { return trees_.complement(checked(inner)); }
    TreeId repeat(TreeId inner, nb::handle low, nb::handle high) {
        return trees_.repeat(checked(inner), TreeImport::count_of(low), TreeImport::count_of(high));
    }
    bool nullable(TreeId id) { return trees_.nullable(checked(id)); }
    TreeId nonempty(TreeId id) { return trees_.nonempty(checked(id)); }
    TreeId shortest(TreeId id) { return trees_.shortest(checked(id)); }
    std::pair<uint64_t, uint64_t> size_of(TreeId id) {
        const RegexTrees::Size size = trees_.size_of(checked(id));
        return {size.operators, size.height};
    }
    nb::object only_text(TreeId id) {
        const auto text = trees_.only_text(checked(id));
        return text ? nb::object(str_of(*text)) : nb::none();
    }
    std::optional<Ranges> first_characters(TreeId id) { return trees_.first_characters(checked(id)); }
    std::optional<std::string> pattern_text(TreeId id, size_t most) {
        return schemagen::pattern_text(trees_, checked(id), most);
    }
    std::optional<std::pair<TreeId, bool>> plain_pattern(const nb::str& pattern, const std::string& dialect) {
        const auto utf8 = utf8_of(pattern);
        const auto found =
            utf8 ? schemagen::plain_pattern(trees_, *utf8, dialect_of(dialect)) : std::optional<PlainPattern>();
        if (!found) return std::nullopt;
        return std::pair(found->tree, found->prefers_nothing);
    }
    std::optional<TreeId> plain_search(const nb::str& pattern, const std::string& dialect) {
        const auto utf8 = utf8_of(pattern);
        return utf8 ? schemagen::plain_search(trees_, *utf8, dialect_of(dialect)) : std::nullopt;
    }
    bool is_deterministic(TreeId id) { return schemagen::is_deterministic(trees_, checked(id)); }
    TreeId tree_of(nb::handle object) { return import_.tree_of(object, trees_); }
    nb::object ast_of(TreeId id) { return import_.ast_of(checked(id), trees_); }
    size_t size() { return trees_.size(); }

private:
    TreeId checked(TreeId id) const {
        if (id >= trees_.size()) throw nb::value_error("there is no such tree");
        return id;
    }
    RegexTrees::Parts checked(const Ids& ids) const {
        for (TreeId id : ids) checked(id);
        return ids;
    }
    RegexTrees trees_;
    TreeImport import_;
};

// A method as one call of the core, which keeps the interpreter's lock: it reads and makes objects.
template <class Result, class... Arguments>
auto as_call(Result (PythonTrees::*method)(Arguments...)) {
    return [method](PythonTrees& trees, Arguments... arguments) {
        const Work call(Work::kNoEnd, Work::Manner::kKeep);
        return (trees.*method)(std::forward<Arguments>(arguments)...);
    };
}

// The expression that `read(trees, utf8)` makes of a pattern, or None. It has trees of its own: most patterns are read
// once in a process.
template <class Read>
nb::object read_alone(const nb::str& pattern, const Read& read) {
    const Work call(Work::kNoEnd, Work::Manner::kKeep);
    RegexTrees trees;
    std::optional<TreeId> tree;
    if (const auto utf8 = utf8_of(pattern)) tree = read(trees, *utf8);
    return tree ? TreeImport().ast_of(*tree, trees) : nb::none();
}

nb::object plain_regex(const nb::str& pattern, const std::string& dialect, bool search) {
    return read_alone(pattern, [&](RegexTrees& trees, std::string_view utf8) -> std::optional<TreeId> {
        if (search) return plain_search(trees, utf8, dialect_of(dialect));
        const auto plain = plain_pattern(trees, utf8, dialect_of(dialect));
        return plain ? std::optional(plain->tree) : std::nullopt;
    });
}

nb::object longest_match_of(const nb::str& pattern) { return read_alone(pattern, longest_match); }

}  // namespace

void bind_trees(nb::module_& module) {
    const auto self = nb::lock_self();
    nb::class_<PythonTrees>(module, "RegexTrees")
        .def(nb::init<>())
        .def("chars", as_call(&PythonTrees::chars), "ranges"_a, self)
        .def("literal", as_call(&PythonTrees::literal), "text"_a, self)
        .def("substring", as_call(&PythonTrees::substring), "text"_a, self)
        .def("concat", as_call(&PythonTrees::concat), "parts"_a, self)
        .def("alternation", as_call(&PythonTrees::alternation), "parts"_a, self)
        .def("conjunction", as_call(&PythonTrees::conjunction), "parts"_a, self)
        .def("complement", as_call(&PythonTrees::complement), "inner"_a, self)
        .def("repeat", as_call(&PythonTrees::repeat), "inner"_a, "low"_a, "high"_a.none(), self)
        .def("nullable", as_call(&PythonTrees::nullable), "tree"_a, self)
        .def("nonempty", as_call(&PythonTrees::nonempty), "tree"_a, self)
        .def("shortest", as_call(&PythonTrees::shortest), "tree"_a, self)
        .def("size_of", as_call(&PythonTrees::size_of), "tree"_a, self)
        .def("only_text", as_call(&PythonTrees::only_text), "tree"_a, self)
        .def("first_characters", as_call(&PythonTrees::first_characters), "tree"_a, self)
        .def("pattern_text", as_call(&PythonTrees::pattern_text), "tree"_a, "most"_a, self)
        .def("plain_pattern", as_call(&PythonTrees::plain_pattern), "pattern"_a, "dialect"_a, self)
        .def("plain_search", as_call(&PythonTrees::plain_search), "pattern"_a, "dialect"_a, self)
        .def("is_deterministic", as_call(&PythonTrees::is_deterministic), "tree"_a, self)
        .def("tree_of", as_call(&PythonTrees::tree_of), "regex"_a, self)
        .def("ast_of", as_call(&PythonTrees::ast_of), "tree"_a, self)
        .def("__len__", as_call(&PythonTrees::size), self);
    module.def("longest_match", &longest_match_of, "pattern"_a);
    module.def("plain_regex", &plain_regex, "pattern"_a, "dialect"_a, "search"_a);
}

}  // namespace schemagen
