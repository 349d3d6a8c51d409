"""`schemagen.Rows` without the engines that it is for: columns, types, pickles, and errors that stay in their rows."""

import datetime as dt
import importlib
import pickle
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, BaseModel

import schemagen
from schemagen import OptionError, Rows

pa = pytest.importorskip("pyarrow")
from schemagen.rows.arrow import spark_type, value_type  # noqa: E402


class Inner(BaseModel):
    """A part."""

    day: dt.date
    tags: list[str]


class Outer(BaseModel):
    """A type with parts."""

    inner: Inner | None
    size: float
    ok: bool
    kind: Literal["a", "b"]


class Tree(BaseModel):
    """A recursive type."""

    name: str
    children: list["Tree"]


@dataclass
class Plain:
    """A dataclass."""

    n: int


INNER = pa.struct([("day", pa.string()), ("tags", pa.list_(pa.string()))])


@pytest.mark.parametrize(
    ("spec", "column"),
    [
        (int, pa.int64()),
        (str, pa.string()),
        (float | None, pa.float64()),
        (int | float, pa.float64()),
        (list[bool], pa.list_(pa.bool_())),
        (tuple[int, int], pa.list_(pa.int64())),
        (Plain, pa.struct([("n", pa.int64())])),
        (Outer, pa.struct([("inner", INNER), ("size", pa.float64()), ("ok", pa.bool_()), ("kind", pa.string())])),
        (schemagen.Regex("a+"), pa.string()),
        (schemagen.Choice(["a", "b"]), pa.string()),
        (schemagen.GBNF('root ::= "a"'), pa.string()),
        (Tree, None),
        (dict[str, int], None),
        (int | str, None),
        (tuple[int, str], None),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, None),
        ({"type": ["integer", "null"]}, pa.int64()),
        (True, None),
    ],
    ids=str,
)
def test_types_of_columns(spec, column):
    """A type is that of every value, or there is none."""
    assert value_type(spec) == column


def test_types_of_spark():
    """Structs and lists in the notation of Spark."""
    assert spark_type(value_type(Outer)) == (
        "STRUCT<`inner`: STRUCT<`day`: STRING, `tags`: ARRAY<STRING>>, `size`: DOUBLE, `ok`: BOOLEAN, `kind`: STRING>"
    )


PROMPTS = ["Ada", None, "x" * 5000, "Bob"]
CODES = [None, "empty-prompt", "budget-exhausted", None]


def codes(errors):
    """Codes of the column of errors."""
    return [error and error.partition(":")[0] for error in errors]


@pytest.fixture
def rows():
    """Small objects from the bundled model."""
    return Rows(Plain, prompt="text", max_new_tokens=16)


@pytest.mark.parametrize("kind", ["columns", "table", "batch", "pandas", "numpy"])
def test_each_kind_of_batch_comes_back(kind, rows):
    """Two columns are added, the others and their order stay, and no row spoils another."""
    columns = {"id": [1, 2, 3, 4], "text": PROMPTS}
    if kind in {"table", "batch"}:
        given = pa.table(columns) if kind == "table" else pa.RecordBatch.from_pydict(columns)
        found = rows(given)
        assert found.schema.field("value").type == pa.struct([("n", pa.int64())])
        assert found.column_names == ["id", "text", "value", "error"]
        found = found.to_pydict()
    elif kind == "pandas":
        pd = pytest.importorskip("pandas")
        made = rows(pd.DataFrame(columns, index=[7, 8, 9, 10]))
        assert list(made.index) == [7, 8, 9, 10]
        found = {name: list(made[name]) for name in made}
    else:
        numpy = pytest.importorskip("numpy")
        given = (
            columns
            if kind == "columns"
            else {name: numpy.array(cells, dtype=object) for name, cells in columns.items()}
        )
        found = rows(given)
    assert list(found["id"]) == [1, 2, 3, 4]
    assert codes(found["error"]) == CODES
    assert [value is None for value in found["value"]] == [error is not None for error in found["error"]]
    assert all(set(value) == {"n"} for value in found["value"] if value)


def test_one_row_is_a_batch_of_one(rows):
    """As `datasets.map` without batched=True calls it."""
    assert rows({"text": "Ada", "id": 3}).keys() == {"text", "id", "value", "error"}


def test_recursive_types_are_json_texts():
    """A column has one type: texts where there is no other."""
    found = Rows(Tree, max_new_tokens=60)(pa.table({"prompt": ["A tree"]}))
    assert found.schema.field("value").type == pa.string()
    assert Tree.model_validate_json(found["value"][0].as_py())


def test_values_that_fit_no_column_are_errors():
    """An integer of more than 64 bits harms no other row."""
    rows = Rows({"enum": [2**70]})
    assert codes(rows({"prompt": ["a"]})["error"]) == ["no-such-column-value"]


def test_validators_and_chats_fail_by_row():
    """What a validator raises, whatever it is, is the error of its row; chats of tables are prompts."""
    refused = Rows(Annotated[int, AfterValidator(raising)], max_new_tokens=9)
    found = refused({"prompt": [[{"role": "user", "content": "Hi", "name": None}], "x"]})
    assert codes(found["error"]) == ["validator-raised"] * 2


def raising(_value):
    """A validator with a bug."""
    raise KeyError("bug")


def test_a_column_tells_which_values_the_budget_closed():
    """It is there if it was asked for, empty where there is no value, and known to Spark."""
    made = Rows(list[int], prompt="text", finish_reason="reason", max_new_tokens=4)
    found = made({"text": ["Ada", None]})
    assert list(found) == ["text", "value", "error", "reason"]
    assert found["reason"][0] in {"complete", "budget"}
    assert found["reason"][1] is None
    assert made.spark_columns.endswith("`error` STRING, `reason` STRING")
    closed = Rows(schemagen.Regex("[a-z]{30,}"), prompt="text", finish_reason="reason", max_new_tokens=30)
    assert closed({"text": ["Ada"]})["reason"] == ["budget"]


def test_templates_read_several_columns(rows):
    """A template takes columns by their names; seeds belong to prompts, not to places in a batch."""
    made = Rows(schemagen.Regex("[a-z]{8}"), template="{a} is {b[0]}", seed=3, temperature=2.0)
    both = made({"a": ["x", "y"], "b": [[1], [2]]})["value"]
    assert both[0] != both[1]
    assert made({"a": ["y"], "b": [[2]]})["value"] == both[1:]
    assert made({"a": [None, "x"], "b": [[2], []]})["error"] == [None, "empty-prompt: row 1 has no prompt"]
    with pytest.raises(OptionError, match="no column 'text'"):
        rows({"a": ["x"]})


def test_pickles_hold_arguments_alone(rows):
    """A pickle is small, also after the model was loaded, and is the same function."""
    rows({"text": ["Ada"]})
    written = pickle.dumps(rows)
    assert len(written) < 2000
    again = pickle.loads(written)  # noqa: S301 - our own
    assert again.fingerprint == rows.fingerprint
    assert pickle.dumps(again) == written


def test_fingerprints_tell_functions_apart():
    """Type, model, columns and options count; their order does not."""
    made = [
        Rows(int), Rows(float), Rows(int, model="x"), Rows(int, prompt="p"), Rows(int, max_new_tokens=3),
        Rows(int, load={"a": 1}), Rows(int, as_text=True), Rows(int, value="v"), Rows(int, template="{a}"),
        Rows(int, finish_reason="r"),
    ]  # fmt: skip
    assert len({rows.fingerprint for rows in made}) == len(made)
    assert Rows(int, seed=1, retries=2).fingerprint == Rows(int, retries=2, seed=1).fingerprint


def test_a_type_that_has_changed_is_not_read(monkeypatch):
    """A process with another version of the class does not answer for it."""
    written = pickle.dumps(Rows(Plain))
    changed = dataclass(
        type("Plain", (), {"__annotations__": {"n": str}, "__module__": __name__, "__qualname__": "Plain"})
    )
    monkeypatch.setitem(globals(), "Plain", changed)
    with pytest.raises(OptionError, match="is not the one that was pickled"):
        pickle.loads(written)  # noqa: S301 - our own


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Rows, "needs a type"),
        (lambda: Rows(schemagen.compile(int, schemagen.Vocabulary.byte_vocabulary())), "compiled grammar"),
        (lambda: Rows(["a", "b"]), "spec of Rows is a list"),
        (lambda: Rows(int, model=object()), "model is"),
        (lambda: Rows(int, retires=2), "retries"),
        (lambda: Rows(int, batch_size=0), "batch_size=0"),
        (lambda: Rows(int, template="no columns"), "names no column"),
        (lambda: Rows(int, template="{a"), "template="),
        (lambda: Rows(int)([1, 2]), "the rows are"),
    ],
)
def test_misuse_is_refused(make, words):
    """What cannot be meant is refused where it is given."""
    with pytest.raises(OptionError, match=words):
        make()


def test_the_actor_and_frames_are_the_same_function(rows):
    """The class for actors takes no arguments and loads the model; frames come one by one."""
    batch = {"text": ["Ada"]}
    expected = rows(batch)
    assert rows.actor()(batch) == expected
    assert list(rows.frames(iter([batch, batch]))) == [expected, expected]
    assert rows.spark_columns == "`value` STRUCT<`n`: BIGINT>, `error` STRING"


def test_a_model_is_loaded_once_with_its_arguments(monkeypatch):
    """Two functions over one model share it; the arguments of loading arrive."""
    loaded = []

    def load(name, **options):
        loaded.append((name, options))
        return schemagen.load_bundled()

    monkeypatch.setattr(importlib.import_module("schemagen.lm.load"), "load", load)
    options = {"device_map": {"": 0}, "dtype": "bfloat16", "load": {"tp_plan": "auto"}}
    for spec in (int, str):
        Rows(spec, model="some/model-of-this-test", max_new_tokens=9, **options)({"prompt": ["x"]})
    assert loaded == [("some/model-of-this-test", {"device_map": {"": 0}, "dtype": "bfloat16", "tp_plan": "auto"})]
