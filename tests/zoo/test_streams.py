"""Every type of pydantic's documentation as a field: what a stream says of it is what the instance has."""

import warnings

import pydantic as p
import pytest

import schemagen
from schemagen.events import FieldCompleted, Path as Place
from schemagen.streaming.field_types import FieldTypes
from schemagen.streaming.json_reader import JsonReader
from schemagen.streaming.partial import Partial, snapshot
from tests.zoo import extra, fields, standard, walks

pytestmark = pytest.mark.sampled(3)

PAGES = {"standard": standard.ENTRIES, "extra": extra.ENTRIES, "fields": fields.ENTRIES}
ZOO = {f"{page}: {name}": entry for page, entries in PAGES.items() for name, entry in entries.items()}
BYTES = schemagen.Vocabulary.byte_vocabulary()
FEW = 6


def is_same(left, right):
    """Whether two values are of one type and equal, or at least look the same (patterns, secrets, iterators)."""
    return type(left) is type(right) and (
        left == right or repr(left).split(" at 0x")[0] == repr(right).split(" at 0x")[0]
    )


@pytest.mark.filterwarnings("ignore:Possible (set|nested):FutureWarning")
@pytest.mark.parametrize("name", ZOO)
def test_fields_are_what_the_instance_has(name):
    """Alone, in a list and in a dict: completed fields have the values of the instance, and every cut has a snapshot."""
    tp = ZOO[name].type
    holder = p.create_model(
        "Holder", __config__=p.ConfigDict(arbitrary_types_allowed=True), one=(tp, ...), many=(list[tp], ...)
    )
    grammar = schemagen.compile(tp, BYTES, cache=None)
    for seed in range(FEW):
        text = walks.random_text(grammar, f"{name} {seed}")
        whole = f'{{"one": {text}, "many": [{text}]}}'
        try:
            instance = p.TypeAdapter(holder).validate_json(whole)
        except p.ValidationError:
            continue  # the world refuses it: a date that is not past, a file that is not there
        types = FieldTypes(holder)
        reader = JsonReader(types.complete)
        found = {}
        for character in whole:
            found |= {event.path: event.value for event in reader.feed(character) if isinstance(event, FieldCompleted)}
        assert is_same(found[Place(["one"])], instance.one)
        assert is_same(found[Place(["many", 0])], instance.many[0])
        check_snapshots(whole, holder)


def check_snapshots(text, holder):
    """Every beginning of the text is an instance of the partial model, which can be dumped."""
    types = FieldTypes(holder)
    reader = JsonReader(types.complete)
    for index in range(0, len(text), 5):
        reader.feed(text[index : index + 5])
        if reader.is_over or not reader.frames:
            continue
        found = snapshot(reader, types)
        assert isinstance(found, Partial[holder])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found.model_dump()
