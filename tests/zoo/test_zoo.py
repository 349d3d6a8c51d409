"""Every type of pydantic's documentation: what is generated validates, and what is valid can be generated."""

import typing as t
from functools import lru_cache

import pydantic as p
import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import TypeAdapter

import schemagen
from tests.zoo import extra, fields, standard, walks

pytestmark = pytest.mark.sampled(2)

PAGES = {"standard": standard.ENTRIES, "extra": extra.ENTRIES, "fields": fields.ENTRIES}
ZOO = {f"{page}: {name}": entry for page, entries in PAGES.items() for name, entry in entries.items()}
BYTES = schemagen.Vocabulary.byte_vocabulary()
FEW, MANY = 20, 200

#: Defects by test: one that is repaired makes its test fail, so that its line is taken out.
UNSOUND: dict[str, str] = {}
INCOMPLETE: dict[str, str] = {}
#: `re.compile` takes such a pattern, and says that `[a~~b]` may mean something else one day.
python_re_warns = pytest.mark.filterwarnings("ignore:Possible (set|nested):FutureWarning")


def params(known):
    """Every type of the zoo, with its known defect."""
    return [
        pytest.param(name, marks=[pytest.mark.xfail(reason=known[name], strict=True)] if name in known else [])
        for name in ZOO
    ]


#: What validation asks the world about, or computes: no keyword can say it, so the report has to.
WORLD = [
    p.PastDate, p.FutureDate, p.PastDatetime, p.FutureDatetime, p.FilePath, p.DirectoryPath, p.NewPath, p.SocketPath,
]  # fmt: skip


@lru_cache(maxsize=512)
def grammar_of(name, order):
    """The grammar of a type, compiled once."""
    return schemagen.compile(ZOO[name].type, BYTES, property_order=order, cache=None)


def check_generations(name, count):
    """Random texts of the mask are instances, whatever the order of keys."""
    for seed in range(count):
        grammar = grammar_of(name, ("schema", "any")[seed % 2])
        text = walks.random_text(grammar, f"{name} {seed}")
        assert text is not None, f"seed {seed} did not end"
        grammar.validate(text)


def check_values(name, count):
    """Instances, dumped by pydantic, are texts of the mask."""
    entry, matcher = ZOO[name], grammar_of(name, "any").matcher()
    adapter: TypeAdapter[t.Any] = TypeAdapter(entry.type)

    @settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(entry.strategy)
    def accepted(value):
        text = entry.write(adapter, value)
        adapter.validate_json(text)
        matcher.reset()
        assert matcher.accept_bytes(text), text
        assert matcher.is_accepting(), text

    accepted()


def test_the_zoo_is_large():
    """At least 120 types, each with its own name."""
    assert len(ZOO) >= 120
    assert len(ZOO) == sum(map(len, PAGES.values()))


@python_re_warns
@pytest.mark.parametrize("name", params(UNSOUND))
def test_generated_texts_validate(name):
    """What the mask lets through is an instance of the type."""
    check_generations(name, FEW)


@pytest.mark.slow
@python_re_warns
@pytest.mark.parametrize("name", params(UNSOUND))
def test_many_generated_texts_validate(name):
    """What the mask lets through is an instance of the type, 200 times."""
    check_generations(name, MANY)


@pytest.mark.parametrize("name", params(INCOMPLETE))
def test_valid_instances_are_accepted(name):
    """What Hypothesis finds and pydantic writes is accepted by the mask."""
    check_values(name, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", params(INCOMPLETE))
def test_many_valid_instances_are_accepted(name):
    """What Hypothesis finds and pydantic writes is accepted by the mask, 200 times."""
    check_values(name, MANY)


@pytest.mark.parametrize("tp", WORLD, ids=lambda tp: tp.__name__ if isinstance(tp, type) else str(tp)[:60])
def test_what_the_world_decides_is_in_the_report(tp):
    """A type whose validation looks at the clock or the disk says so: its report is not exact."""
    report = schemagen.compile(tp, BYTES).report
    assert not report.is_exact
    assert report.of_status("checked_after")
