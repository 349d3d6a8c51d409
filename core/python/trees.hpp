// Regular expressions of schemagen/regex/ast.py as trees of the core, and back.
#pragma once
#include <nanobind/nanobind.h>

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "regex/trees.hpp"

namespace schemagen {

// A text as the code points of a `str` of Python, halves of surrogate pairs among them.
RegexTrees::Text code_points_of(nanobind::handle str);
nanobind::str str_of(const RegexTrees::Text& text);

// Translates between the objects and the trees of one RegexTrees, both ways without recursion, so that no expression is
// too deep. It remembers all answers, and keeps the objects alive.
class TreeImport {
public:
    TreeImport();
    // A count of 2^63 rounds or more becomes the highest one below `kEndless`.
    TreeId tree_of(nanobind::handle object, RegexTrees& trees);
    nanobind::object ast_of(TreeId id, const RegexTrees& trees);

    // Rounds of a repetition, of which None is without end.
    static uint64_t count_of(nanobind::handle number);

private:
    using Kind = RegexTrees::Kind;
    Kind kind_of(nanobind::handle object) const;
    // Expressions inside the object whose trees are missing; if there are none, its own tree is made.
    std::vector<nanobind::object> missing_parts(Kind kind, nanobind::handle object) const;
    TreeId tree_from_parts(Kind kind, nanobind::handle object, RegexTrees& trees) const;
    nanobind::object ast_from_parts(TreeId id, const RegexTrees& trees) const;
    TreeId known(nanobind::handle object) const { return trees_.at(object.ptr()).second; }

    std::array<nanobind::object, 7> classes_;                                   // by Kind
    std::unordered_map<PyObject*, std::pair<nanobind::object, TreeId>> trees_;  // by identity
    std::unordered_map<TreeId, nanobind::object> objects_;
};

// Adds `RegexTrees` to the module: for tests, and for a look at trees.
void bind_trees(nanobind::module_& module);

}  // namespace schemagen
