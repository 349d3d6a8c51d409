"""Values that small writers of the tests have written are in the language of each format, and read back equal."""

import csv
import io
import re
import typing as t

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from pydantic import BaseModel, Field, RootModel, TypeAdapter
from typing_extensions import is_typeddict

import schemagen
from schemagen.testing import random_text
from tests.property.plain_writers import data_of, python_text, xml_has, xml_text, yaml_text
from tests.property.test_writers import BYTES, FORMATS, ZOO, grammar_of

pytestmark = pytest.mark.sampled(4)

FEW, MANY = 4, 200
QUIET = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}
#: Types of which the second level and those below are in flow style or on one line.
RECURSIVE = {"fields: recursive", "fields: mutually recursive"}
#: What the items of a list are called in XML, where they are not called `item`.
XML_ITEMS = {"fields: list of models": "user"}
#: A type that is annotated has no name of its own, and the class in it has.
XML_ROOTS = {"fields: SerializeAsAny": "user"}
#: Keys of the TypedDicts of the zoo in the order of declaration, which Hypothesis does not keep.
KEYS = ("x", "movie", "others", "title", "year", "tags", "rating")
#: Dicts whose keys can be listed.
LISTED = {f"standard: dict with {kind} keys" for kind in ("bool", "enum", "int enum", "literal")}
#: Values of these are not read back as what was written, in JSON as well: generators, and what compares by identity.
UNEQUAL = {"standard: iterable"}


def ordered(data: t.Any) -> t.Any:
    """Return data with the keys of TypedDicts in the order of declaration."""
    if isinstance(data, dict):
        return {key: ordered(data[key]) for key in sorted(data, key=[*KEYS, *data].index)}
    return [ordered(each) for each in data] if isinstance(data, list) else data


def sorted_keys(name: str, data: t.Any) -> t.Any:
    """Return data with the keys that are listed in their order, which is that of their letters."""
    if name in LISTED:
        return {key: data[key] for key in sorted(data)}
    if name == "fields: a bit of everything":
        return {**data, "by_level": {key: data["by_level"][key] for key in sorted(data["by_level"])}}
    return data


def xml_root(tp: t.Any) -> str:
    """Return what the root is called: the class in words."""
    is_class = isinstance(tp, type) and (hasattr(tp, "model_fields") or hasattr(tp, "__dataclass_fields__"))
    if not is_typeddict(tp) and (not is_class or issubclass(tp, RootModel)):
        return "value"
    return re.sub(r"(?<!^)(?=[A-Z])", "_", tp.__name__.partition("[")[0]).lower()


def text_of(name: str, as_: str, value: t.Any, data: t.Any) -> str | None:
    """Write a value; None if these writers cannot."""
    if name.startswith("standard: typed dict"):
        data = ordered(data)
    if as_ == "python":
        return python_text(value, data)
    data = sorted_keys(name, data)
    if as_ == "yaml":
        return yaml_text(data)
    if not xml_has(data):
        return None
    return xml_text(XML_ROOTS.get(name) or xml_root(ZOO[name].type), data, item=XML_ITEMS.get(name, "item"))


def check_values(name: str, as_: str, count: int) -> None:
    """Values of Hypothesis, written by the tests, are read as what they are."""
    if name in RECURSIVE and as_ != "python":
        pytest.skip("the small writers know no flow style; see `test_recursive_values`")
    entry, grammar = ZOO[name], grammar_of(name, as_)
    adapter: TypeAdapter[t.Any] = TypeAdapter(entry.type)
    matcher = grammar.matcher()

    @settings(max_examples=count, **QUIET)
    @given(entry.strategy)
    def accepted(given_value: t.Any) -> None:
        json_text = entry.write(adapter, given_value)
        value = adapter.validate_json(json_text)
        text = text_of(name, as_, value, data_of(json_text))
        assume(text is not None)
        assert text is not None
        matcher.reset()
        assert matcher.accept_bytes(text.encode()), text
        assert matcher.is_accepting(), text
        read = grammar.validate(text)
        assert name in UNEQUAL or read == value, text

    accepted()


@pytest.mark.filterwarnings("ignore:Possible (set|nested):FutureWarning")
@pytest.mark.parametrize("as_", FORMATS)
@pytest.mark.parametrize("name", ZOO)
def test_values_are_accepted(name, as_):
    """Values of every type of the zoo."""
    check_values(name, as_, FEW)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Possible (set|nested):FutureWarning")
@pytest.mark.parametrize("as_", FORMATS)
@pytest.mark.parametrize("name", ZOO)
def test_many_values_are_accepted(name, as_):
    """The same, with 200 of each."""
    check_values(name, as_, MANY)


# --- tables -------------------------------------------------------------------------------------------------------------


class Row(BaseModel):
    """A row with everything that a cell may be."""

    name: str
    age: int = Field(ge=0, lt=10**6)
    ok: bool
    note: t.Optional[str] = None
    share: float = 0.5
    kind: t.Literal["a", "b|c", 'd "e", f'] = "a"


LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8).map(str.strip)
#: Some versions of csv leave a carriage return without quotes, and read it as the end of a line.
CSV_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=8)


def rows(strings: st.SearchStrategy[str], notes: st.SearchStrategy[str]) -> st.SearchStrategy[list[Row]]:
    """Lists of rows."""
    return st.lists(
        st.builds(
            Row,
            name=strings,
            age=st.integers(0, 10**6 - 1),
            ok=st.booleans(),
            note=st.none() | notes,
            share=st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 4)),
            kind=st.sampled_from(["a", "b|c", 'd "e", f']),
        ),
        max_size=4,
    )


def cells_of(row: Row) -> list[str]:
    """Return a row as texts."""
    data = data_of(row.model_dump_json())
    words = {None: "", True: "true", False: "false"}
    return [words[each] if each is None or isinstance(each, bool) else str(each) for each in data.values()]


@pytest.fixture(scope="module", params=["csv", "markdown"])
def table(request):
    """The grammar of a list of rows in both formats."""
    return schemagen.compile(list[Row], BYTES, as_=request.param, cache=None)


def test_rows_in_csv_are_accepted():
    """What Python's csv module writes, with lines that end in a line feed, is in the language."""
    grammar = schemagen.compile(list[Row], BYTES, as_="csv", cache=None)

    @settings(max_examples=100, **QUIET)
    @given(rows(CSV_TEXT, CSV_TEXT.filter(bool)))
    def accepted(values: list[Row]) -> None:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row.model_fields)
        writer.writerows(map(cells_of, values))
        check_table(grammar, file.getvalue().removesuffix("\n"), values)

    accepted()


def test_rows_in_markdown_are_accepted():
    """Tables with escaped pipes and backslashes are in the language."""
    grammar = schemagen.compile(list[Row], BYTES, as_="markdown", cache=None)

    def line(cells: t.Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace(chr(92), chr(92) * 2).replace('|', chr(92) + '|') for cell in cells)} |"

    @settings(max_examples=100, **QUIET)
    @given(rows(LINE, LINE.filter(bool)))
    def accepted(values: list[Row]) -> None:
        dashes = "| --- | --- | --- | --- | --- | --- |"
        check_table(grammar, "\n".join([line(Row.model_fields), dashes, *map(line, map(cells_of, values))]), values)

    accepted()


def check_table(grammar: schemagen.Grammar, text: str, values: list[Row]) -> None:
    """A table is in the language, and is read as the rows that it was written from."""
    matcher = grammar.matcher()
    assert matcher.accept_bytes(text.encode()), text
    assert matcher.is_accepting(), text
    assert grammar.validate(text) == values, text


def split_cells(line: str) -> list[str]:
    """Split a line of a table of Markdown at the pipes that are not escaped."""
    found, cell, is_escaped = [], "", False
    for character in line[1:]:
        if is_escaped or character not in "\\|":
            cell, is_escaped = cell + character, False
        elif character == "\\":
            is_escaped = True
        else:
            found.append(cell.strip())
            cell = ""
    assert not cell, line
    return found


@pytest.mark.parametrize("seed", range(30))
def test_generated_tables_are_read(table, seed):
    """Random tables are read as Python's csv module, and a splitter of this file, split them."""
    text = random_text(table, seed=seed, max_tokens=200)
    values = table.validate(text)
    if table.spec.format == "csv":
        lines = list(csv.reader(io.StringIO(text, newline="")))
    else:
        head, dashes, *others = map(split_cells, text.split("\n"))
        assert dashes == ["---"] * len(head)
        lines = [head, *others]
    assert lines[0] == list(Row.model_fields)
    assert [(line[0], line[3]) for line in lines[1:]] == [(row.name, row.note or "") for row in values]
    assert [line[1:3] for line in lines[1:]] == [
        [line[1], "true" if row.ok else "false"] for line, row in zip(lines[1:], values, strict=True)
    ]
    assert [int(line[1]) for line in lines[1:]] == [row.age for row in values]
