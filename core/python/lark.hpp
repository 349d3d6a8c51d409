// Grammars in lark's notation, read for Python.
#pragma once
#include <nanobind/nanobind.h>

namespace schemagen {

// Adds `read_lark` to the module.
void bind_lark(nanobind::module_& module);

}  // namespace schemagen
