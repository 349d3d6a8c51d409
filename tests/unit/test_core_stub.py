"""The stub of the compiled core says what the module has, no more and no less."""

import ast
from pathlib import Path

import pytest

import schemagen

core = pytest.importorskip("schemagen._core", reason="the stub is that of the compiled core")
STUB = ast.parse((Path(schemagen.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]
#: What every class of nanobind has, or every object.
EVERYWHERE = set(dir(object)) | {"__module__", "__weakref__", "__dict__"}


def names_in(body: list[ast.stmt]) -> set[str]:
    """Names of the functions, classes and annotated variables of a body."""
    named = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return named | {
        node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def test_the_module_has_what_the_stub_says():
    """Functions, classes and constants, underscored ones aside."""
    there = {name for name in vars(core) if not name.startswith("_")}
    assert names_in(STUB.body) == there


@pytest.mark.parametrize("node", CLASSES, ids=[node.name for node in CLASSES])
def test_a_class_has_what_the_stub_says(node):
    """Methods and attributes; of the special methods those that are not on every object."""
    there = set(vars(getattr(core, node.name))) - EVERYWHERE
    assert names_in(node.body) - EVERYWHERE == there
