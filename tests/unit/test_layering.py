"""Imports go one way only, and each layer knows only the third parties that are its business."""

import ast
import re
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "schemagen"

#: Lowest first. Each imports only those before it.
LAYERS = (
    "errors",
    "events",
    "notebook",
    "generation",
    "checks",
    "threads",
    "masks",
    "regex",
    "context_free",
    "schema",
    "types",
    "writers",
    "vocabulary",
    "engine",
    "draw",
    "grammar",
    "templates",
    "text",
    "databases",
    "structural_tags",
    "testing",
    "graph",
    "options",
    "device",
    "decode",
    "streaming",
    "prompts",
    "steering",
    "confidence",
    "sampling",
    "request",
    "calling",
    "lm",
    "decorator",
    "rows",
    "evaluation",
    "integrations",
    "serve",
    "reference",
    "cli",
    "__main__",
)
RANK = {name: rank for rank, name in enumerate(LAYERS)}
#: The facade, `import schemagen`, names what lies below it; only the command line stands above.
RANK[""] = RANK["cli"]

#: What a layer may import beside the standard library. The compiled core counts as a third party.
THIRD_PARTIES = {
    "errors": set(),
    "events": set(),
    "notebook": set(),
    "generation": set(),
    "options": set(),
    "checks": set(),
    "threads": {"torch"},
    "masks": {"_core", "numpy", "torch"},
    "regex": {"_core", "pydantic_core"},
    "context_free": {"_core", "lark"},
    "schema": {"referencing", "jsonschema", "jsonschema_specifications"},
    "types": {"pydantic", "pydantic_core", "annotated_types"},
    "writers": {"pydantic", "yaml"},
    "vocabulary": {"_core", "numpy", "transformers", "tokenizers"},
    "engine": {"_core", "numpy", "torch"},
    "reference": {"numpy", "interegular"},
    "draw": {"_core"},
    "grammar": {"_core", "numpy", "pydantic", "jsonschema"},
    "templates": {"pydantic"},
    "text": set(),
    "databases": {"sqlalchemy"},
    "structural_tags": set(),
    "testing": {"numpy"},
    "graph": {"_core"},
    "device": {"numpy", "torch"},
    "decode": {"numpy", "torch", "transformers"},
    "streaming": {"pydantic", "pydantic_core"},
    "prompts": {"numpy", "pydantic", "pydantic_core"},
    "steering": {"pydantic"},
    "confidence": {"rich", "torch"},
    "sampling": {"numpy", "torch"},
    "request": set(),
    "calling": {"numpy", "pydantic", "pydantic_core", "docstring_parser"},
    "lm": {"numpy", "torch", "transformers", "tokenizers", "accelerate", "safetensors", "pydantic", "rich"},
    "evaluation": {"jsonschema"},
    "decorator": {"pydantic"},
    "rows": {"pyarrow", "pandas", "datasets", "pydantic_core"},
    "integrations": {"mlx", "numpy"},
    "serve": {
        "fastapi",
        "starlette",
        "uvicorn",
        "prometheus_client",
        "pydantic",
        "pydantic_core",
        "torch",
        "transformers",
    },
    "cli": {"pydantic", "typer", "click", "rich", "tokenizers", "transformers"},
    "__main__": set(),
}
EVERYWHERE = {"typing_extensions"}


def modules() -> list[Path]:
    """Every module of the package except the facade."""
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def layer_of(path: Path) -> str:
    """First folder or file name below the package."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def runtime_imports(node: ast.AST) -> list[tuple[int, str]]:
    """Line and dotted name of each import that runs; those under `if TYPE_CHECKING` do not."""
    if isinstance(node, ast.Import):
        return [(node.lineno, alias.name) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return from_import(node)
    guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    children = node.orelse if guarded else ast.iter_child_nodes(node)
    return [pair for child in children for pair in runtime_imports(child)]


def from_import(node: ast.ImportFrom) -> list[tuple[int, str]]:
    """One pair for a module, or one for each name that is taken from the package itself."""
    if node.level:
        return [(node.lineno, "." * node.level + (node.module or ""))]
    if node.module == "schemagen":
        return [(node.lineno, f"schemagen.{alias.name}") for alias in node.names]
    return [(node.lineno, node.module or "")]


def test_every_module_belongs_to_a_layer() -> None:
    """A new file or folder has a place in the order before it is merged."""
    unknown = {layer_of(path) for path in modules()} - RANK.keys()
    assert not unknown, f"add to LAYERS: {sorted(unknown)}"


def test_third_parties_are_listed_for_every_layer() -> None:
    """The two tables of this file speak about the same layers."""
    assert THIRD_PARTIES.keys() | {""} == RANK.keys()


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_down(path: Path) -> None:
    """A module imports its own layer and lower ones, by absolute name, and only its third parties."""
    layer = layer_of(path)
    allowed = THIRD_PARTIES.get(layer, set()) | EVERYWHERE
    wrong = []
    for line, name in runtime_imports(ast.parse(path.read_text(encoding="utf-8"))):
        top, _, rest = name.partition(".")
        inner = rest.partition(".")[0]
        if name.startswith("."):
            wrong.append(f"{path}:{line}: relative import {name}")
        elif top == "schemagen" and inner == "_core":
            wrong += [] if "_core" in allowed else [f"{path}:{line}: {layer} must not know the compiled core"]
        elif top == "schemagen" and RANK.get(inner, len(LAYERS)) > RANK[layer]:
            wrong.append(f"{path}:{line}: {layer} must not import {name} (a higher layer)")
        elif top != "schemagen" and top not in sys.stdlib_module_names and top not in allowed:
            wrong.append(f"{path}:{line}: {layer} must not import {top}")
    assert not wrong, "\n".join(wrong)


def test_a_wrong_import_is_seen() -> None:
    """The reader of imports finds them in functions too, and leaves out what only type checkers run."""
    source = (
        "if TYPE_CHECKING:\n    import torch\nelse:\n    import rich\n"
        "def f():\n    from schemagen import events\n    from schemagen.lm import load\n"
    )
    names = [name for _, name in runtime_imports(ast.parse(source))]
    assert names == ["rich", "schemagen.events", "schemagen.lm"]


# ---- private names --------------------------------------------------------------------------------------------------

#: Names with an underscore that belong to others and are read all the same: where, what, and for want of what.
PRIVATE = {
    ("context_free/lark/python_re.py", "_constants"): "re has no public name for its parser",
    ("context_free/lark/python_re.py", "_parser"): "which was sre_parse before Python 3.11",
    ("decode/continuous.py", "_true_initial_tokens"): "transformers has no public name for the length of a prompt",
    ("decode/continuous.py", "_request_counter"): "nor for the number of a request",
    ("decode/continuous.py", "_retrieve_processors_kwargs"): "nor for reading its processors again",
    ("decode/generate_call.py", "_getframe"): "documented, if not by its name",
    ("grammar/schema_values.py", "_getframe"): "documented, if not by its name",
    ("grammar/specs.py", "_type"): "pydantic has no public name for what a TypeAdapter is of",
    ("types/notes.py", "_config"): "nor pydantic for the configuration that its generator is in",
    ("schema/document.py", "_base_uri"): "referencing has no public name for where a resolver stands",
}
#: The public methods of named tuples.
OF_TUPLES = {"_replace", "_asdict", "_fields", "_make"}


def own_names(tree: ast.Module) -> set[str]:
    """What a module defines: functions, classes, variables, and attributes of what it makes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            found.add(node.attr)
    return found


def is_own(node: ast.AST) -> bool:
    """Whether an expression is the object or class that the code belongs to."""
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def foreign_private_names(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and name of each name with an underscore that a module uses and does not define."""
    own = own_names(tree) | OF_TUPLES
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.ImportFrom):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name != "_core"]
    return [(line, name) for line, name in found if is_private(name) and name not in own]


def is_private(name: str) -> bool:
    """Whether a name says that it is nobody else's."""
    return name.startswith("_") and not name.endswith("__")


def test_private_names_stay_at_home() -> None:
    """No module uses a name with an underscore of another; what has no public name elsewhere is listed, and used."""
    found = {
        (path.relative_to(PACKAGE).as_posix(), name): line
        for path in modules()
        for line, name in foreign_private_names(ast.parse(path.read_text(encoding="utf-8")))
    }
    wrong = [f"schemagen/{path}:{line}: {name}" for (path, name), line in found.items() if (path, name) not in PRIVATE]
    assert not wrong, "\n".join(wrong)
    assert not PRIVATE.keys() - found.keys(), "no longer used: take it off the list"


def test_a_private_name_is_seen() -> None:
    """Names of other objects, modules and base classes count, own ones do not."""
    source = (
        "from schemagen.lm import _hidden\nfrom schemagen import _core\n"
        "class A(B):\n    def f(self, other):\n        self._mine = other._mine + self._of_base + other._theirs\n"
        "        return self._mine + other.model._deep + other.__class__\n"
    )
    names = [name for _, name in foreign_private_names(ast.parse(source))]
    assert sorted(names) == ["_deep", "_hidden", "_of_base", "_theirs"]


# ---- the core -------------------------------------------------------------------------------------------------------

CORE = PACKAGE.parent / "core"
#: Lowest first. A file includes its own folder and those before it.
CORE_LAYERS = (
    *("util", "notation", "regex", "vocabulary", "automata", "json"),
    *("masks", "context_free", "rules", "runtime", "python", "tests"),
)


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.?pp")), ids=lambda path: path.relative_to(CORE).as_posix())
def test_includes_go_down(path: Path) -> None:
    """A file of the core includes lower folders by their full names, and only `python/` knows Python."""
    layer = path.relative_to(CORE).parts[0]
    source = path.read_text(encoding="utf-8")
    wrong = []
    for name in re.findall(r'^ *#include "(.*)"$', source, re.MULTILINE):
        folder = name.partition("/")[0]
        is_lower = folder in CORE_LAYERS and CORE_LAYERS.index(folder) <= CORE_LAYERS.index(layer)
        if not is_lower or (layer == "tests" and folder == "python"):
            wrong.append(f"{path}: {layer} must not include {name}")
    if layer != "python" and re.search(r"^ *#include <(nanobind/|Python\.h)", source, re.MULTILINE):
        wrong.append(f"{path}: only python/ may include the headers of Python")
    assert not wrong, "\n".join(wrong)
