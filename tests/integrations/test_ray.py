"""`schemagen.Rows` in Ray Data: actors, Parquet to Parquet, failures, and a second run that adds nothing."""

import os

import pytest

import schemagen
from tests.integrations.conftest import PROMPTS

pytestmark = pytest.mark.integrations

ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 16


@pytest.fixture(scope="module")
def cluster(people):  # noqa: ARG001 - its module must be found by the actors
    """A cluster of this machine. Ray wants more processors for its tasks than two actors leave of two."""
    # Ray's workers are nice to all others, so on a busy machine they do not run.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - its name
    variables = {"PYTHONPATH": os.environ["PYTHONPATH"], "OMP_NUM_THREADS": "1"}
    ray.init(
        num_cpus=8,
        include_dashboard=False,
        logging_level="ERROR",
        object_store_memory=200 * 2**20,
        runtime_env={"env_vars": variables},
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


def table_of(folder):
    """What is in the Parquet files of a folder, by id."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("**/*.parquet"))]
    found = pa.concat_tables(tables).to_pylist() if tables else []
    return {row["id"]: row for row in found}, len(found)


def check(folder):
    """Each row is there once: three of four have their values, and one has its error."""
    rows, count = table_of(folder)
    assert (sorted(rows), count) == (list(range(ROWS)), ROWS)
    for number, row in rows.items():
        assert row["prompt"] == PROMPTS[number % 4]
        if number % 4 == 2:
            assert row["value"] is None
            assert row["error"].startswith("budget-exhausted: ")
        else:
            assert row["error"] is None
            assert row["value"]["age"] == {0: 36, 1: 85, 3: 41}[number % 4]


def write_input(folder):
    """Two files of eight rows."""
    folder.mkdir()
    for start in (0, 8):
        numbers = list(range(start, start + 8))
        table = pa.table({"id": numbers, "prompt": [PROMPTS[number % 4] for number in numbers]})
        pq.write_table(table, folder / f"{start}.parquet")


@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("batch_format", ["pyarrow", "numpy", "pandas"])
def test_actors_from_parquet_to_parquet(people, tmp_path, batch_format):
    """Two actors load the model by themselves; rows that fail have an error, and harm no others."""
    write_input(tmp_path / "in")
    rows = schemagen.Rows(people.Person, max_new_tokens=64)
    strategy = ray.data.ActorPoolStrategy(size=2)
    made = ray.data.read_parquet(str(tmp_path / "in")).map_batches(
        rows.actor, batch_size=4, compute=strategy, num_cpus=1, batch_format=batch_format
    )
    made.write_parquet(str(tmp_path / "out"))
    check(tmp_path / "out")


@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore")
def test_a_second_run_adds_nothing(people, tmp_path):
    """With a checkpoint of Ray, rows that are done are not done again."""
    from ray.data.checkpoint import CheckpointConfig

    write_input(tmp_path / "in")
    rows = schemagen.Rows(people.Person, max_new_tokens=64)
    context = ray.data.DataContext.get_current()
    context.checkpoint_config = CheckpointConfig(
        id_column="id", checkpoint_path=str(tmp_path / "done"), delete_checkpoint_on_success=False
    )
    try:
        for _ in range(2):
            made = ray.data.read_parquet(str(tmp_path / "in")).map_batches(
                rows.actor, batch_size=4, compute=ray.data.ActorPoolStrategy(size=2), num_cpus=1, batch_format="pyarrow"
            )
            made.write_parquet(str(tmp_path / "out"))
            check(tmp_path / "out")
    finally:
        context.checkpoint_config = None
