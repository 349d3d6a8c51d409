"""Each error code is a heading of docs/errors.md, and each heading is an error code."""

import ast
import re
from pathlib import Path

import pytest

from schemagen import errors

ROOT = Path(__file__).parents[2]
ERROR_CLASSES = sorted(
    (value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.SchemagenError)),
    key=lambda value: value.__name__,
)


def used_codes() -> set[str]:
    """Each `default_code` of a class, and each literal given as `code=` anywhere in the package."""
    codes = {value.default_code for value in ERROR_CLASSES}
    for path in (ROOT / "schemagen").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
                codes.add(str(node.value.value))
    return codes - {""}


def documented_codes() -> set[str]:
    """Each code that has a heading."""
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    return set(re.findall(r"^### `([a-z0-9-]+)`$", text, flags=re.MULTILINE))


def test_every_code_is_documented() -> None:
    """A user who meets a code finds its heading."""
    missing = used_codes() - documented_codes()
    assert not missing, f"docs/errors.md lacks: {sorted(missing)}"


def test_every_heading_is_a_code() -> None:
    """The page explains nothing that cannot happen."""
    stale = documented_codes() - used_codes()
    assert not stale, f"no error has the code: {sorted(stale)}"


@pytest.mark.parametrize("error", ERROR_CLASSES, ids=lambda value: value.__name__)
def test_default_code_is_its_own(error: type[errors.SchemagenError]) -> None:
    """No two classes share a default code, which is lower-case words joined by hyphens."""
    assert [other for other in ERROR_CLASSES if other.default_code == error.default_code] == [error]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", error.default_code)


@pytest.mark.parametrize("error", ERROR_CLASSES, ids=lambda value: value.__name__)
def test_error_renders_its_parts(error: type[errors.SchemagenError]) -> None:
    """The text is the fact, then a labelled line for each part that is known."""
    text = str(error("the fact", at="/a/b", why="a reason", fix="a way out"))
    assert text.splitlines() == [
        "the fact", "  at:   /a/b", "  why:  a reason", "  fix:  a way out", f"  code: {error.default_code}",
    ]  # fmt: skip


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    """The hierarchy drawn at the top of the package names every class under its parent."""
    drawn: dict[str, str] = {}
    stack: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([ │├└─]*)([A-Z]\w+)(?:\s{2,}|$)", line)
        if not match:
            continue
        depth, name = len(match[1]), match[2]
        stack = [pair for pair in stack if pair[0] < depth]
        drawn[name] = stack[-1][1] if stack else "Exception"
        stack.append((depth, name))
    assert drawn == {value.__name__: value.__bases__[0].__name__ for value in ERROR_CLASSES}


def test_an_error_can_be_printed_whatever_it_is_about():
    """Half of a surrogate pair is shown as its escape: no encoding of text has it."""
    error = errors.SchemagenError("enum [\ud800]", at="/\udfff")
    assert str(error).splitlines()[:2] == [r"enum [\ud800]", r"  at:   /\udfff"]
