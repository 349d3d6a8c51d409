"""The public names of the package, spelled out: a new one is a decision, a lost one is a bug."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import schemagen

EXPORTED = {
    "CacheInfo", "CallStream", "Chat", "Check", "Checker", "Choice", "Distribution", "EBNF", "Entry", "Failure", "GBNF", "Generation", "Generator", "Grammar", "Json", "LanguageModel", "Lark", "Layout", "Limits", "LogitsProcessor", "Matcher", "Partial", "Regex", "Report", "Rows", "Sampling", "Score", "Stream", "StructuralTag", "Structured", "Template", "Tool", "ToolCall",
    "Vocabulary", "__version__",
    "allocate_token_bitmask", "apply_token_bitmask_inplace", "cache_info", "clear_cache", "compile", "concat", "errors", "events", "fill_next_token_bitmasks",
    "from_transformers", "gen", "load", "load_bundled", "repeat", "set_default_lm", "sql", "structured", "text", "to_regex", "tool",
    "union",
}  # fmt: skip
EXCEPTIONS = {
    name for name, value in vars(schemagen.errors).items() if isinstance(value, type) and issubclass(value, Exception)
}


def test_all_is_what_was_decided() -> None:
    """`__all__` holds the names above and every exception, once; ruff keeps them sorted."""
    assert set(schemagen.__all__) == EXPORTED | EXCEPTIONS
    assert len(schemagen.__all__) == len(set(schemagen.__all__))


def test_the_surface_stays_small() -> None:
    """At most fifty-six names beside the exceptions."""
    assert len(EXPORTED) <= 56


@pytest.mark.parametrize("name", sorted(schemagen.__all__))
def test_name_is_there_and_documented(name: str) -> None:
    """Every public name can be imported, and says what it is."""
    value = getattr(schemagen, name)
    assert isinstance(value, str) or inspect.getdoc(value)


@pytest.mark.parametrize("name", sorted(schemagen._HOMES))
def test_a_submodule_never_shadows_a_name(name: str) -> None:
    """Importing the module that defines a name leaves `schemagen.<name>` what it was."""
    home = importlib.import_module(schemagen._HOMES[name])
    assert getattr(schemagen, name) is getattr(home, name)


def test_type_checkers_see_the_lazy_names() -> None:
    """The TYPE_CHECKING block imports exactly the lazy names, from the same modules."""
    tree = ast.parse(Path(schemagen.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == schemagen._HOMES


def test_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name fails like on any module."""
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = schemagen.no_such_name


def test_dir_lists_the_lazy_names() -> None:
    """Completion in a shell shows names that nobody used yet."""
    assert set(schemagen.__all__) <= set(dir(schemagen))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("generate", r"lm\(prompt, Person\)"),
        ("Maybe", r"Person \| None"),
        ("CFG", "schemagen.Lark"),
        ("no_name", "'no_name'$"),
    ],
)
def test_names_of_other_libraries_lead_to_ours(name, advice):
    """Users who type by habit read the name to use instead."""
    with pytest.raises(AttributeError, match=advice):
        getattr(schemagen, name)
