"""The page of the options says what the classes of `schemagen.options` say."""

import ast
import inspect
from pathlib import Path

import pytest

from schemagen import options
from schemagen.decode.options import check_names
from schemagen.options.table import FOREIGN, OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "options.md").read_text(encoding="utf-8")
CLASSES = {
    name: value
    for name, value in vars(options).items()
    if name.endswith("Options") and getattr(value, "__module__", "") == options.__name__
}
HEAD = ("| option | default | meaning | in other libraries |", "|---|---|---|---|")


def own_names(cls: type) -> list[str]:
    """The options that a class adds to those of its bases, in order."""
    (node,) = ast.parse(inspect.getsource(cls)).body  # at run time the bases are not known before Python 3.12
    return [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]


def rows_of(cls: type) -> list[str]:
    """The rows of the options that a class adds: name, default, meaning, and names in other libraries."""
    rows = [OPTIONS[name] for name in own_names(cls)]
    return [
        f"| `{row.name}` | {row.default} | {row.meaning.replace('``', '`')} | {', '.join(f'`{name}`' for name in row.elsewhere)} |"
        for row in rows
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_the_tables_are_those_of_the_classes(name: str) -> None:
    """Every option of a class has its row, in the words of the table of options."""
    expected = "\n".join([*HEAD, *rows_of(CLASSES[name])])
    assert expected in PAGE, f"put this table on the page:\n{expected}"


def test_there_are_no_other_tables() -> None:
    """An option that is gone from the classes is gone from the page."""
    expected = [row for cls in CLASSES.values() for row in rows_of(cls)]
    found = [line for block in PAGE.split(HEAD[0])[1:] for line in block.split("\n\n")[0].splitlines()[2:]]
    assert found == expected


def test_every_option_has_one_row() -> None:
    """The table and the classes have the same options."""
    names = [name for cls in CLASSES.values() for name in own_names(cls)]
    assert set(names) == OPTIONS.keys()


def test_every_value_that_is_refused_has_a_reader() -> None:
    """Options without a reader are read by their methods, or may be anything."""
    unread = {name for name, row in OPTIONS.items() if row.read is None}
    assert unread == {"progress", "profile", "tool_choice", "parallel", "max_steps", "timeout_s", "approve"}


def test_transformers_knows_the_options_of_decoding() -> None:
    """What the class lists as transformers' own passes its check."""
    check_names(own_names(options.DecodingOptions), model=None, own=())


def test_no_option_has_a_foreign_name() -> None:
    """Names of other libraries are none of ours, but for those that only other methods take."""
    ours = {name for cls in CLASSES.values() for name in options.names_of(cls)}
    assert ours.isdisjoint(FOREIGN)
