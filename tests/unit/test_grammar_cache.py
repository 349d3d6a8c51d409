"""Grammars in files: what is replayed is what was compiled, and a file that is anything else is compiled again."""

import enum
import importlib.util
import json
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import BaseModel

import schemagen
from schemagen import OptionError
from schemagen.engine.native import program
from schemagen.engine.options import Options
from schemagen.grammar import file_cache as grammar_files, pipeline
from schemagen.testing import mask_of
from schemagen.vocabulary import Vocabulary

pytest.importorskip("schemagen._core", reason="only the compiled core has programs")

_spec = importlib.util.spec_from_file_location("suite_cases", Path(__file__).parents[1] / "suite" / "cases.py")
assert _spec is not None
assert _spec.loader is not None
suite = sys.modules["suite_cases"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(suite)

CASES = [case for case in suite.load_cases() if "native" in case.engines and not case.xfail]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}, "age": {"type": "integer", "minimum": 0}},
    "patternProperties": {"^x-": {"type": "array", "items": {"$ref": "#"}, "contains": {"type": "object"}}},
    "required": ["name"],
}


def recompiled(spec, vocabulary, folder, **options):
    """What a new process would get: nothing is in memory."""
    schemagen.clear_cache()
    return schemagen.compile(spec, vocabulary, cache=folder, **options)


def replayed(spec, vocabulary, folder, monkeypatch, **options):
    """The grammar from the folder; fails if it is compiled instead."""

    def compiled(*_):
        pytest.fail("it was not in the cache")

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "_recorder", compiled)
        return recompiled(spec, vocabulary, folder, **options)


def assert_same_masks(one, other, texts, seed):
    """Two grammars have the same masks along random walks and along texts."""
    vocabulary, rng = one.vocabulary, random.Random(seed)
    for _ in range(2):
        pair = one.matcher(), other.matcher()
        for _ in range(25):
            assert mask_of(pair[0], vocabulary) == mask_of(pair[1], vocabulary)
            assert pair[0].is_accepting() == pair[1].is_accepting()
            token = rng.choice(pair[0].allowed_tokens())
            assert all(matcher.accept_token(token) for matcher in pair)
            if pair[0].is_terminated():
                assert pair[1].is_terminated()
                break
    for text in texts:
        pair = one.matcher(), other.matcher()
        for byte in text:
            assert mask_of(pair[0], vocabulary) == mask_of(pair[1], vocabulary)
            found = [matcher.accept_bytes(bytes([byte])) for matcher in pair]
            assert found[0] == found[1]
            if not found[0]:
                break
        assert pair[0].is_accepting() == pair[1].is_accepting()


# --- replay ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_replayed_cases_have_the_masks_of_compiled_ones(case, byte_vocabulary, tmp_path, monkeypatch) -> None:
    """Each case of the suite: same masks, same acceptance and same report as without a cache."""
    options = {"property_order": case.property_order, "whitespace": case.whitespace, "engine": "native"}
    fresh = schemagen.compile(case.spec, byte_vocabulary, cache=None, **options)
    recorded = recompiled(case.spec, byte_vocabulary, tmp_path, **options)
    again = replayed(case.spec, byte_vocabulary, tmp_path, monkeypatch, **options)
    texts = [*(text.encode() for text in case.accepted), *case.refused]
    assert_same_masks(fresh, recorded, texts, case.id)
    assert_same_masks(fresh, again, texts, case.id)
    # The order is that of reading, which what was compiled before may change.
    assert set(fresh.report) == set(recorded.report) == set(again.report)


def test_a_new_process_replays_what_another_one_compiled(folder, byte_vocabulary) -> None:
    """Nodes of another kernel: the masks are the same where the kernel was used for something else before."""
    recompiled(SCHEMA, byte_vocabulary, folder)
    script = (
        "import json, sys, schemagen\n"
        "from schemagen.grammar import pipeline\n"
        "vocabulary = schemagen.Vocabulary.byte_vocabulary()\n"
        "schemagen.compile({'enum': ['something', 'else', 12]}, vocabulary, cache=None)\n"
        "pipeline._recorder = None\n"
        "grammar = schemagen.compile(json.loads(sys.argv[1]), vocabulary, cache=sys.argv[2])\n"
        "matcher, masks = grammar.matcher(), []\n"
        "for byte in sys.argv[3].encode():\n"
        "    masks.append(matcher.allowed_tokens())\n"
        "    assert matcher.accept_bytes(bytes([byte]))\n"
        "print(json.dumps(masks))\n"
    )
    text = '{"name": "ada", "age": 36, "x-1": [{"name": "b"}, 1]}'.replace(", 1]", "]")
    out = subprocess.run(
        [sys.executable, "-c", script, json.dumps(SCHEMA), str(folder), text],
        capture_output=True,
        text=True,
        check=True,
    )
    matcher, masks = schemagen.compile(SCHEMA, byte_vocabulary, cache=None).matcher(), []
    for byte in text.encode():
        masks.append(matcher.allowed_tokens())
        assert matcher.accept_bytes(bytes([byte]))
    assert json.loads(out.stdout) == masks


def test_a_file_serves_every_vocabulary(folder, byte_vocabulary, monkeypatch) -> None:
    """A program is about bytes: another model has no file of its own."""
    tokens = ['{"', 'name"', *(bytes([byte]) for byte in range(256)), None]
    other = Vocabulary.from_tokens(tokens, eos_token_ids=(258,))
    recompiled(SCHEMA, byte_vocabulary, folder)
    again = replayed(SCHEMA, other, folder, monkeypatch)
    assert_same_masks(schemagen.compile(SCHEMA, other, cache=None), again, [b'{"name": "a"}'], 0)


def test_types_are_replayed_and_validated(folder, byte_vocabulary, monkeypatch) -> None:
    """A type keeps its instances and its report."""

    class Color(enum.Enum):
        RED = "red"

    class Car(BaseModel):
        color: Color
        doors: int

    fresh = recompiled(Car, byte_vocabulary, folder)
    again = replayed(Car, byte_vocabulary, folder, monkeypatch)
    assert again.validate('{"color": "red", "doors": 4}') == Car(color=Color.RED, doors=4)
    assert again.report == fresh.report
    assert_same_masks(fresh, again, [b'{"color": "red", "doors": 4}'], 0)
    as_schema = recompiled(again.schema, byte_vocabulary, folder)  # the same schema, but 4.0 is an integer there
    assert len(list(folder.iterdir())) == 2
    assert as_schema.matcher().accept_bytes(b'{"color": "red", "doors": 4.0')


@pytest.mark.parametrize("spec", [schemagen.Regex("[a-z]{2,3}|é"), schemagen.Choice(["yes", "no", 'a"b'])])
def test_patterns_and_choices_are_replayed(spec, folder, byte_vocabulary, monkeypatch) -> None:
    """They are programs, too."""
    fresh = recompiled(spec, byte_vocabulary, folder)
    again = replayed(spec, byte_vocabulary, folder, monkeypatch)
    assert_same_masks(fresh, again, [b"ab", b"yes", b"no", b'a"b', "é".encode()], 0)
    assert again.report == fresh.report


def test_what_is_only_checked_afterwards_still_is(folder, byte_vocabulary, monkeypatch) -> None:
    """With strict=False the report and `validate` know what the mask leaves out."""
    schema = {"type": "array", "not": {"uniqueItems": True}, "items": {"type": "integer"}}
    fresh = recompiled(schema, byte_vocabulary, folder, strict=False)
    assert fresh.report.of_status("checked_after")
    again = replayed(schema, byte_vocabulary, folder, monkeypatch, strict=False)
    assert again.report == fresh.report
    assert again.validate("[1, 1]") == [1, 1]
    with pytest.raises(schemagen.ValidationFailed):
        again.validate("[1, 2]")
    with pytest.raises(schemagen.UnsupportedSchemaError):  # strict has a key of its own
        recompiled(schema, byte_vocabulary, folder)


def test_a_tilde_is_the_home_directory(byte_vocabulary, tmp_path, monkeypatch) -> None:
    """Grammars and vocabularies go where a shell would put them, not into a folder that is named `~`."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    recompiled(SCHEMA, byte_vocabulary, "~/grammars")
    replayed(SCHEMA, byte_vocabulary, "~/grammars", monkeypatch)
    recompiled(SCHEMA, byte_vocabulary, Path("~/grammars"))
    byte_vocabulary.save("~/bytes.vocabulary")
    assert Vocabulary.load("~/bytes.vocabulary") == byte_vocabulary
    assert {path.name for path in (tmp_path / "home").iterdir()} == {"grammars", "bytes.vocabulary"}
    assert not list((tmp_path / "work").iterdir())


def test_resources_belong_to_the_key(folder, byte_vocabulary) -> None:
    """The same schema with another document behind its $ref is another grammar."""
    schema, uri = {"$ref": "http://example.org/a"}, "http://example.org/a"
    for value in (1, 2):
        grammar = recompiled(schema, byte_vocabulary, folder, resources={uri: {"const": value}})
        assert grammar.matcher().accept_bytes(str(value).encode())
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"whitespace": "compact"},
        {"property_order": "any"},
        {"strict": False},
        {"limits": schemagen.Limits(max_depth=77)},
    ],
)
def test_options_belong_to_the_key(options, folder, byte_vocabulary) -> None:
    """Every option that may change the grammar makes a file of its own."""
    recompiled(SCHEMA, byte_vocabulary, folder)
    recompiled(SCHEMA, byte_vocabulary, folder, **options)
    assert len(list(folder.iterdir())) == 2


def test_the_order_and_types_of_a_schema_belong_to_the_key() -> None:
    """1 and 1.0, lists and keys in another order are not the same source."""
    sources = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1.0, "b": 2}, {"a": True, "b": 2}, {"a": "1", "b": 2}]
    keys = {grammar_files.entry_of("f", source, Options(), "schema").key for source in sources}
    assert len(keys) == len(sources)
    assert grammar_files.entry_of("f", "a", Options(), "Regex") != grammar_files.entry_of("f", "a", Options(), "Choice")


def test_errors_are_not_kept(folder, byte_vocabulary) -> None:
    """A schema without instances leaves no file, and raises every time."""
    for _ in range(2):
        with pytest.raises(schemagen.UnsatisfiableSchemaError):
            recompiled({"type": "string", "minLength": 3, "maxLength": 2}, byte_vocabulary, folder)
    assert not folder.exists()


def test_the_reference_engine_writes_nothing(folder, byte_vocabulary) -> None:
    """Its grammars are no programs."""
    recompiled({"type": "boolean"}, byte_vocabulary, folder, engine="reference")
    assert not folder.exists()


def test_memory_comes_before_files(folder, only_entry, byte_vocabulary) -> None:
    """In one process the folder is read once; a folder that was not asked before gets its file."""
    grammar = recompiled(SCHEMA, byte_vocabulary, folder)
    only_entry(folder).unlink()
    assert schemagen.compile(SCHEMA, byte_vocabulary, cache=str(folder)) is grammar
    schemagen.compile(SCHEMA, byte_vocabulary, cache=folder.parent / "other")
    assert only_entry(folder.parent / "other").suffix == ".grammar"


# --- files that are anything else --------------------------------------------------------------------------------------


def damaged(data):
    """Contents that are no entry, by name."""
    head = len(grammar_files.MAGIC)
    return {
        "empty": b"",
        "no head": data[: head + 10],
        "truncated": data[:-1],
        "longer": data + b" ",
        "one bit": data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
        "other version": data[: head - 1] + bytes([data[head - 1] + 1]) + data[head:],
        "other key": data[:head] + bytes(32) + data[head + 32 :],
        "foreign": b'{"hello": "world"}',
    }


@pytest.mark.parametrize("name", sorted(damaged(bytes(200))))
def test_a_damaged_file_is_a_miss_and_written_again(name, folder, only_entry, byte_vocabulary, monkeypatch) -> None:
    """Whatever was done to a file, the grammar is the right one, and the next process finds it."""
    recompiled(SCHEMA, byte_vocabulary, folder)
    path = only_entry(folder)
    whole = path.read_bytes()
    path.write_bytes(damaged(whole)[name])
    again = recompiled(SCHEMA, byte_vocabulary, folder)
    assert again.matcher().accept_bytes(b'{"name": "ada"}')
    assert path.read_bytes() == whole
    replayed(SCHEMA, byte_vocabulary, folder, monkeypatch)


def test_the_file_of_another_schema_is_a_miss(folder, only_entry, byte_vocabulary) -> None:
    """A file that was renamed holds the key of what it was written for."""
    recompiled({"const": 1}, byte_vocabulary, folder)
    one = only_entry(folder)
    recompiled({"const": 2}, byte_vocabulary, folder)
    (two,) = set(folder.iterdir()) - {one}
    right = two.read_bytes()
    two.write_bytes(one.read_bytes())
    assert recompiled({"const": 2}, byte_vocabulary, folder).matcher().accept_bytes(b"2")
    assert two.read_bytes() == right


def test_what_other_sources_made_is_a_miss(folder, byte_vocabulary, monkeypatch) -> None:
    """A change of the front end or the core gives every schema a new name."""
    recompiled(SCHEMA, byte_vocabulary, folder)
    monkeypatch.setattr(grammar_files, "_makers", lambda: b"another version")
    grammar_files._circumstances.cache_clear()
    recompiled(SCHEMA, byte_vocabulary, folder)
    grammar_files._circumstances.cache_clear()
    assert len(list(folder.iterdir())) == 2


def test_a_program_that_lies_is_no_grammar(byte_vocabulary) -> None:
    """Numbers that the core would use as an index are checked, so that even a forged file is only a miss."""
    options = Options()
    recorder = pipeline._recorder(grammar_files.entry_of("f", 0, options), options)
    fields = {
        "version": program.VERSION,
        "is_exact": True,
        "options": [[[[2, 0]]]],
        "declared": 2,
        "arrays": [[[], 0, 0, -1, [True], False]],
        "objects": [[[["a", True, 0]], [[1, True, 0]], 0, -1, [True]]],
        "values": [[1, 1, [[1, 0, -1]], [0], [0]], [2, 1, [], [], []]],
        "root": 1,
        "root_node": None,
    }
    language = [["any_string", [], 1]]

    def result(changed, calls=language):
        text = b"\n".join(json.dumps(part).encode() for part in (fields | changed, calls))
        return program.replay(text, program.builder_of(options), byte_vocabulary)

    assert recorder is not None
    assert result({}) is not None
    lies = [
        {"version": 0},
        {"declared": 0},
        {"options": [[[[3, 0]]]]},
        {"options": [[[[2, 1]]]]},
        {"options": [[[[-1, 0]]]]},
        {"options": [[]]},
        {"arrays": [[[], 1, 0, -1, [True], False]]},
        {"arrays": [[[], 0, 0, -1, [], False]]},
        {"arrays": []},
        {"objects": [[[["a", True, 0]], [[2, True, 0]], 0, -1, [True]]]},
        {"values": [[9, 1, [], [], []]]},
        {"values": [[1, 2, [], [], []]]},
        {"values": [[1, 1, [], [1], []]]},
        {"values": [[1, 0, [], [], []]]},
        {"values": [["1", 0, [], [], []]]},
        {"root": 3},
        {"root": None},
        {"root_node": 5},
    ]
    assert [lie for lie in lies if result(lie) is not None] == []
    calls = [
        [["any_string", [], 3]],
        [["chars", [], -1, [0, 9]]],
        [["repeat", [1], 0, 1]],
        [["number", [], [["01", 0, False]] * 4, 7, [0, 0], [9, 9, 0], 7]],
        [["system", ["ls"]]],
        [[]],
        7,
    ]
    assert [lie for lie in calls if result({}, lie) is not None] == []


# --- folders ---------------------------------------------------------------------------------------------------------


def test_many_writers_leave_whole_files(folder, byte_vocabulary) -> None:
    """Threads that write and read the same entries at once never see anything but right grammars."""
    barrier = threading.Barrier(8)

    def work(seed):
        barrier.wait()
        for step in range(24):
            number = (seed + step) % 6
            grammar = recompiled({"const": number}, byte_vocabulary, folder)
            assert grammar.matcher().accept_bytes(str(number).encode())
            assert not grammar.matcher().accept_bytes(str(number + 1).encode())

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert sorted(path.suffix for path in folder.iterdir()) == [".grammar"] * 6


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, byte_vocabulary) -> None:
    """The grammar is compiled all the same, and the text of the warning names the folder only, so it is shown once."""
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    texts = set()
    for spec in ({"const": 7}, {"const": 77}, schemagen.Regex("7")):
        with pytest.warns(RuntimeWarning, match="grammars are not cached in") as caught:
            grammar = recompiled(spec, byte_vocabulary, blocked / "cache")
        assert grammar.matcher().accept_bytes(b"7")
        assert Path(caught[0].filename).name == Path(__file__).name
        texts.update(str(warning.message) for warning in caught)
    assert len(texts) == 1


@pytest.mark.parametrize("cache", ["", 7, b"folder", True, ["memory"]])
def test_a_cache_is_a_folder(cache, byte_vocabulary) -> None:
    """Anything that is no path is refused with the choices."""
    with pytest.raises(OptionError, match=r"choose 'memory', None, a pathlib\.Path"):
        schemagen.compile(SCHEMA, byte_vocabulary, cache=cache)


def test_a_language_model_passes_its_folder_on(folder) -> None:
    """The vocabulary and the grammars of a model are kept in one folder."""
    pytest.importorskip("transformers")
    bundled = schemagen.load_bundled()
    lm = schemagen.from_transformers(bundled.model, bundled.tokenizer, cache=folder)
    schemagen.clear_cache()
    lm.compile({"type": "boolean"})
    assert ".grammar" in {path.suffix for path in folder.iterdir()} <= {".grammar", ".vocabulary"}
