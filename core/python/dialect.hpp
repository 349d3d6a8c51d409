// Grammars in the Lark dialect of llguidance and xgrammar, read for Python.
#pragma once
#include <nanobind/nanobind.h>

namespace schemagen {

void bind_dialect(nanobind::module_& module);

}  // namespace schemagen
