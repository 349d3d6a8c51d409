"""`schemagen.Rows` in `datasets.map`: typed columns, and a cache that a second process finds."""

import subprocess
import sys

import pytest

import schemagen
from schemagen.rows import callable as rows_module
from tests.integrations.conftest import PROMPTS

pytestmark = pytest.mark.integrations

datasets = pytest.importorskip("datasets")


@pytest.fixture
def dataset(tmp_path):
    """A dataset of a file, with a cache of its own."""
    source = tmp_path / "in.jsonl"
    datasets.Dataset.from_dict({"id": [0, 1, 2, 3], "prompt": PROMPTS}).to_json(source)
    found = datasets.load_dataset("json", data_files=str(source), cache_dir=str(tmp_path / "cache"), split="train")
    return found.cast_column("id", datasets.Value("int32"))


def test_rows_become_typed_columns(people, dataset):
    """Values are structs, errors texts, and the other columns are what they were."""
    found = dataset.map(schemagen.Rows(people.Person, max_new_tokens=64), batched=True, batch_size=2)
    assert found.features["value"] == {"name": datasets.Value("string"), "age": datasets.Value("int64")}
    assert found.features["error"] == datasets.Value("string")
    assert found.features["id"] == datasets.Value("int32")
    assert [row and row["age"] for row in found["value"]] == [36, 85, None, 41]
    assert [error and error.partition(":")[0] for error in found["error"]] == [None, None, "budget-exhausted", None]


def test_first_rows_may_fail(people, dataset):
    """With the features of the rows, a first batch without a value does not settle the type."""
    rows = schemagen.Rows(people.Person, max_new_tokens=64)
    turned = dataset.select([2, 0, 1, 3])
    found = turned.map(rows, batched=True, batch_size=1, features=rows.features(turned.features))
    assert [row and row["age"] for row in found["value"]] == [None, 36, 85, 41]


def test_the_second_run_comes_from_the_cache(people, dataset, monkeypatch):
    """The same arguments are the same function; another option is another one."""
    first = dataset.map(schemagen.Rows(people.Person, max_new_tokens=64), batched=True)
    monkeypatch.setattr(rows_module.Rows, "_answers", lambda *_: pytest.fail("rows were generated again"))
    again = dataset.map(schemagen.Rows(people.Person, max_new_tokens=64), batched=True)
    assert again["value"] == first["value"]
    assert again._fingerprint == first._fingerprint
    with pytest.raises(BaseException, match="generated again"):
        dataset.map(schemagen.Rows(people.Person, max_new_tokens=65), batched=True)


def test_the_hash_is_that_of_another_process(people):
    """What the cache is found by is the same in a process that was started by itself."""
    code = (
        "import schemagen, people_of_tests as people\nfrom datasets.fingerprint import Hasher\n"
        "rows = schemagen.Rows(people.Person, max_new_tokens=64, load={'b': 1, 'a': 2})\nprint(Hasher.hash(rows))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows = schemagen.Rows(people.Person, max_new_tokens=64, load={"b": 1, "a": 2})
    assert run.stdout.split()[-1] == datasets.fingerprint.Hasher.hash(rows)


def test_several_processes(people, dataset):
    """`num_proc` pickles the function; each process loads its model."""
    found = dataset.map(schemagen.Rows(people.Person, max_new_tokens=64), batched=True, batch_size=2, num_proc=2)
    assert [row and row["age"] for row in found["value"]] == [36, 85, None, 41]
