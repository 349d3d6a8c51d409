"""Grammars one after another: masks against brute force, tokens across boundaries, going back."""

from __future__ import annotations

import itertools
import json
import random
import re

import numpy as np
import pytest

import schemagen
from schemagen import Vocabulary
from schemagen.calling import ToolResult, profiles
from schemagen.calling.answer_format import build, write_calls
from schemagen.calling.answer_stream import AnswerReader
from schemagen.calling.free_text import text_not_opening, words
from schemagen.calling.labels import Arguments, Begin, TaggedValue, Text
from schemagen.calling.tools import as_tools
from schemagen.engine.native.lowering import compile_language
from schemagen.errors import BitmaskShapeError, MatcherError, MatcherTerminatedError, OptionTypeError
from schemagen.events import ArgumentCompleted, CallStarted, TextDelta
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.reference.index import ReferenceEngine
from schemagen.regex import ast
from schemagen.regex.wildcards import text_up_to, text_without
from schemagen.testing import mask_of
from schemagen.vocabulary.marks import without_marks
from tests.calling.graph_reader import GraphReader

pytestmark = pytest.mark.sampled(7)

#: Tokens that end one thing and begin the next; some hold several boundaries, one a whole call.
PIECES = [
    b'" string="', b'true">x', b'parameter name="', b"invoke>\n</", b'" index="1', b'key="city" type="st', b"get:0", b'"0", "tool', b"\n]<", b" to=fun", b"final<",
    b"<function=", b">\n<", b"<parameter=", b"</parameter>", b"\n</parameter>\n</function>", b"a\n</parameter>\n<parameter=unit>\nf", b"</", b"\n</p", b"\n\n<",
    b"3\n</parameter>\n<parameter=ok>\ntrue", b"get\n<arg_key>", b"</arg_value>\n<arg_key>unit", b"</arg_key>\n<arg_value>3</arg_value>", b"e</arg", b"_value>\n</", b"city>\nx",
    b"<tool_call>", b"</tool_call>", b"}}", b'"}}', b'": {"', b':{"', b"}\n", b'hi<tool_call>{"', b">\n{", b'>{"', b"\n\n", b" [", b'[{"',
    b"}]", b"}}]", b", ", b'"}}, {"', b'(city="', b")]", b'")]', b"``", b"```", b"_code\n", b"\xc3\xa9", b"\xc3", b'{"name', b"call", b"]<|",
    b'}}\n</tool_call>\n<tool_call>\n{"name": "send", "arguments": {"n": 3}}\n</tool', b'"}}\n</tool_call>', b"function<",
]  # fmt: skip
ANSWERS = [
    [],
    [("get", '{"city": "Pa\\n</tool_call>\\"é"}')],
    [("send", '{"n": 3, "ok": true, "tags": ["True", null]}'), ("get", '{"city": "x", "unit": "f"}')],
]
LANDMARKS = (Text, Arguments, Begin, TaggedValue)
MODES = {
    "auto": {},
    "parallel": {"parallel": True},
    "required": {"may_answer": False},
    "required parallel": {"may_answer": False, "parallel": True},
    "none": {"may_call": False},
}


def get(city: str, unit: str = "c") -> None:
    """Get."""


def send(n: int, ok: bool = False, tags: list[str | None] | None = None) -> None:
    """Send."""


TOOLS = as_tools([get, send])


def vocabulary_of(profile, *, special):
    """Return bytes, pieces, markers as special tokens (none, all, or all but the first), and EOS; and the ids of the markers."""
    tokens = [*(bytes([i]) for i in range(256)), *PIECES]
    markers = {"none": (), "all": profile.markers, "inner": profile.markers[1:]}[special]
    ids = {marker: len(tokens) + i for i, marker in enumerate(markers)}
    tokens += [None] * (len(ids) + 1)
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=[len(tokens) - 1], special_token_ids=ids.values())
    return vocabulary, tuple(ids.items())


QUOTED = r'"(?:[^"\\]|\\.)*"'
TAGGED = r"(?<=<parameter=city>)(?:(?!</parameter>).)*|(?<=<arg_value>)(?:(?!</arg_value>).)*"


def tokenise(rng, vocabulary, text, specials, strings=QUOTED):
    """Cut a text into tokens, at random or greedily; markers outside of strings become special tokens."""
    ids, data = [], b""
    names = dict(specials)
    for piece in re.split("(" + "|".join([strings, *map(re.escape, names)]) + ")", text, flags=re.DOTALL):
        if piece in names:
            ids += [*cut(rng, vocabulary, data), names[piece]]
            data = b""
        else:
            data += piece.encode()
    return ids + cut(rng, vocabulary, data)


def cut(rng, vocabulary, data):
    """Cut some bytes into tokens."""
    ids = []
    while data:
        found = [i for i, token in enumerate(vocabulary.tokens) if token and data.startswith(token)]
        ids.append(rng.choice(found) if rng.random() < 0.4 else max(found, key=lambda i: len(vocabulary.tokens[i])))
        data = data[len(vocabulary.tokens[ids[-1]]) :]
    return ids


def landmarks_of(ways, data=b""):
    """Return where the parts with content are in each way, in the text without marks."""

    def text(at):
        return None if at is None else at - (at - len(without_marks(bytes(data[:at])))) if data else at

    return {
        tuple((part.label, text(start), text(end)) for part, start, end in way if isinstance(part.label, LANDMARKS))
        for way in ways
    }


def read_by(reader, vocabulary):
    """Return the tokens that a reader reads, each of them tried."""
    found = []
    for token_id in range(vocabulary.size):
        if reader.accept_token(token_id):
            found.append(token_id)
            reader.rollback()
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("special", ["none", "all", "inner"])
@pytest.mark.parametrize("profile", profiles().values(), ids=lambda profile: profile.name)
def test_masks_are_exact(profile, special, mode):
    """Along random tokenisations every mask is what the graph itself reads, and the answer is read back."""
    rng = random.Random(f"{profile.name} {special} {mode}")
    flags = MODES[mode]
    vocabulary, specials = vocabulary_of(profile, special=special)
    wire = build(profile, TOOLS, vocabulary, specials, **flags)
    for answer in ANSWERS:
        if (len(answer) > 1 and not flags.get("parallel")) or bool(answer) > flags.get("may_call", True):
            continue
        if (not answer and not flags.get("may_answer", True)) or (len(answer) > 1 and profile.separator is None):
            continue
        words = "" if answer else "Hé } <tool ]"
        text = write_calls(profile, answer) if answer else words.join(profile.words)
        before = "Sure: " if answer and flags.get("may_answer", True) and not profile.is_anchored else ""
        matcher, reader, parts = wire.graph.matcher(), GraphReader(wire.graph), wire.graph.reader()
        tokens = tokenise(rng, vocabulary, before + text, specials, QUOTED if profile.style is None else TAGGED)
        for token_id in [*tokens, None]:
            if token_id is None or rng.random() < 0.4:
                assert matcher.allowed_tokens() == read_by(reader, vocabulary)
            if token_id is not None:
                assert matcher.accept_token(token_id)
                assert reader.accept_token(token_id)
                assert parts.accept_token(token_id)
                assert landmarks_of(parts.readings(), parts.data) <= landmarks_of(reader.readings())
        assert matcher.is_accepting()
        assert reader.is_accepting()
        assert parts.is_accepting()
        assert landmarks_of([parts.spans()], parts.data) == landmarks_of([reader.spans()])
        read = wire.read(tokens)
        assert write_calls(profile, ((call.tool.name, call.json) for call in read.calls)) == (
            text if answer else write_calls(profile, [])
        )
        assert read.text == (before.strip() if answer else words)


@pytest.mark.parametrize("special", ["none", "all", "inner"])
@pytest.mark.parametrize("profile", profiles().values(), ids=lambda profile: profile.name)
def test_events_add_up(profile, special):
    """However an answer is cut into tokens and steps, its events add up to what is read from the whole."""
    rng = random.Random(f"{profile.name} {special}")
    vocabulary, specials = vocabulary_of(profile, special=special)
    wire = build(profile, TOOLS, vocabulary, specials, parallel=True)
    for answer, step in itertools.product(ANSWERS, (1, 1, 1, 3, 1000)):
        if len(answer) > 1 and profile.separator is None:
            continue
        text = write_calls(profile, answer) if answer else "Hé } <tool ]".join(profile.words)
        before = "" if profile.is_anchored or not answer else rng.choice(["", "Sure: ", "\n<é"])
        tokens = tokenise(rng, vocabulary, before + text, specials, QUOTED if profile.style is None else TAGGED)
        whole = wire.read(tokens)
        reader = AnswerReader(wire.graph, ToolResult)
        for start in range(0, len(tokens), step):
            reader.read(tokens[start : start + step])
        reader.finish()
        events = reader.events()
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == whole.text
        assert [result.call for result in reader.found] == list(whole.calls)
        values = [{} for _ in whole.calls]
        for event in events:
            if isinstance(event, ArgumentCompleted) and len(event.path) == 1:
                values[event.index][event.path[0]] = event.value
        assert values == [json.loads(call.json) for call in whole.calls]
        assert [event.tool for event in events if isinstance(event, CallStarted)] == [call.tool for call in whole.calls]


@pytest.fixture(scope="module")
def hermes():
    """The answers in the format of Hermes, markers as text."""
    profile = profiles()["hermes"]
    vocabulary, specials = vocabulary_of(profile, special="none")
    return build(profile, TOOLS, vocabulary, specials, parallel=True)


def test_one_token_may_cross_everything(hermes):
    """A token ends a call, holds the next one whole and begins to close it; one ends text and begins JSON."""
    vocabulary = hermes.graph.vocabulary
    index = {token: i for i, token in enumerate(vocabulary.tokens)}
    matcher = GraphReader(hermes.graph)
    for each in (hermes.graph.matcher(), matcher):
        assert each.accept_token(index[b'hi<tool_call>{"'])
        assert each.accept_bytes(b'name": "send", "arguments": {"n": 1')
        assert each.accept_token(index[PIECES[-3]])
        assert each.accept_bytes(b"_call>")
    assert [label for label, _, _ in spans_of(matcher)].count("the arguments of send") == 2


def spans_of(matcher):
    """The labels of the parts of a text, with where they begin and end."""
    return [(str(part.label), start, end) for part, start, end in matcher.spans()]


def test_a_marker_inside_of_a_string_ends_nothing(hermes):
    """The end marker in an argument is text, also as a single token."""
    matcher = hermes.graph.matcher()
    assert matcher.accept_bytes(b'<tool_call>{"name": "get", "arguments": {"city": "a')
    assert matcher.accept_token(PIECES.index(b"</tool_call>") + 256)
    assert not matcher.is_accepting()
    assert matcher.accept_bytes(b'"}}</tool_call>')
    assert matcher.is_accepting()


def test_going_back_is_exact(hermes):
    """After any rollback the masks are those of a matcher that never went further; forks do not touch each other."""
    rng = random.Random(3)
    text = write_calls(hermes.profile, ANSWERS[2])
    tokens = tokenise(rng, hermes.graph.vocabulary, "Well " + text + " so " + text, ())
    masks, matcher = [], hermes.graph.matcher()
    for token_id in tokens:
        masks.append(matcher.allowed_tokens())
        assert matcher.accept_token(token_id)
    for _ in range(60):
        place = rng.randrange(len(tokens))
        fork = matcher.fork()
        fork.rollback(len(tokens) - place)
        assert fork.allowed_tokens() == masks[place]
        assert not fork.accept_bytes(b"\xff")
        for token_id in tokens[place : place + 5]:
            assert fork.accept_token(token_id)
    assert matcher.is_accepting()
    matcher.reset()
    assert matcher.allowed_tokens() == masks[0]


def test_a_refused_token_changes_nothing(hermes):
    """A token that is read half and then refused leaves the matcher as it was."""
    matcher = hermes.graph.matcher()
    assert matcher.accept_bytes(b"x<tool_cal")
    before = matcher.allowed_tokens()
    assert not matcher.accept_bytes(b'l>{"name": "gone"')
    assert matcher.allowed_tokens() == before
    assert not matcher.accept_token(-1)
    assert not matcher.accept_token(10**6)


def test_the_end(hermes):
    """EOS ends a text once; then there is no mask, and rollback takes it back."""
    matcher = hermes.graph.matcher()
    eos = hermes.graph.vocabulary.eos_token_ids[0]
    assert matcher.accept_token(eos)
    assert matcher.is_terminated()
    assert not matcher.accept_token(eos)
    assert not matcher.accept_bytes(b"a")
    assert matcher.forced_tokens() == []
    assert "already accepted" in matcher.explain(65)
    with pytest.raises(MatcherTerminatedError):
        matcher.allowed_tokens()
    matcher.rollback()
    assert not matcher.is_terminated()
    with pytest.raises(MatcherError, match="1 of 0 steps"):
        matcher.rollback()
    for misuse in (matcher.accept_token, matcher.explain, matcher.accept_bytes, matcher.rollback):
        with pytest.raises(OptionTypeError, match=r"\(\) got a str"):
            misuse("a")


def test_no_half_character_ends_a_text(hermes):
    """EOS is not allowed inside a character, nor inside a call."""
    for each in (hermes.graph.matcher(), GraphReader(hermes.graph)):
        assert each.accept_bytes(b"\xc3")
        assert not each.is_accepting()
    matcher = hermes.graph.reader()
    assert matcher.accept_token(0xC3)
    with pytest.raises(MatcherError, match="not complete"):
        matcher.spans()


def test_forced_tokens_are_the_only_way():
    """Where a marker and a name leave no choice, the tokens are given at once."""
    vocabulary = Vocabulary.byte_vocabulary()
    more = ast.concat(ast.literal("c"), ast.char_set("de"))
    graph = GrammarGraph([Part(ast.literal("ab"), (1,)), Part(more, final=True, label="more")], [0], vocabulary)
    assert graph.matcher().forced_tokens() == [97, 98, 99]
    assert "is allowed" in graph.matcher().explain(97)
    assert "the vocabulary has 257 ids" in graph.matcher().explain(999)


def test_it_masks_like_any_grammar(hermes):
    """Numpy and torch bitmasks are filled, other rows left alone, wrong ones refused."""
    matcher = hermes.graph.matcher()
    size = hermes.graph.vocabulary.size
    bitmask = schemagen.allocate_token_bitmask(2, size)
    assert matcher.fill_next_token_bitmask(bitmask, 1)
    assert bool((bitmask[0] == -1).all())
    words = bitmask[1].numpy().view(np.uint8)
    assert [i for i in range(size) if words[i >> 3] >> (i & 7) & 1] == matcher.allowed_tokens()
    for wrong, row in ((np.zeros((1, 2), dtype=np.int32), 0), (bitmask.long(), 0), (bitmask, 2), (None, 0)):
        with pytest.raises(BitmaskShapeError):
            matcher.fill_next_token_bitmask(wrong, row)


@pytest.mark.parametrize(
    ("language", "accepted", "rejected"),
    [
        (text_without(["<x>"]), ["", "<x", "x>", "<<x", "é"], ["<x>", "a<x>", "<x>b"]),
        (text_up_to("aab"), ["aab", "aaab", "xaab"], ["", "aa", "aabaab", "aab "]),
        (text_not_opening("{["), ["", " ", "a{", "}"], ["{", " \n[", "{a"]),
        (words('{"a b": ', is_json=True), ['{"a b":', '{ "a b" : ', '{\n"a b":\n'][:1], ['{"ab":', '{"a b"']),
        (words("<a> \n{", ["<a>"], is_json=True), ["<a>{", "<a>\t{", "<a>\n\n{ "], ["< a>{", "<a>"]),
    ],
    ids=["without", "up to", "not opening", "words", "markers"],
)
@pytest.mark.parametrize("make", [compile_language, ReferenceEngine], ids=["native", "reference"])
def test_languages(make, language, accepted, rejected):
    """The languages around a call hold what they say, in both engines."""
    engine = make(language, Vocabulary.byte_vocabulary())
    for text, expected in [*((text, True) for text in accepted), *((text, False) for text in rejected)]:
        matcher = engine.matcher()
        assert (matcher.accept_bytes(text.encode()) and matcher.is_accepting()) is expected, text


def test_a_marker_that_ends_every_text():
    """The last marker of a call may be an EOS token: the call is read, and the text is over."""
    profile = profiles()["hermes"]
    tokens = [*(bytes([i]) for i in range(256)), None, None, None]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=[257, 258], special_token_ids=[256])
    wire = build(profile, TOOLS, vocabulary, (("<tool_call>", 256), ("</tool_call>", 257)), may_answer=False)
    ids = [256, *b'{"name": "get", "arguments": {"city": "x"}}', 257]
    matcher = wire.graph.matcher()
    assert all(matcher.accept_token(each) for each in ids)
    assert matcher.is_terminated()
    assert [call.json for call in wire.read(ids).calls] == ['{"city": "x"}']


@pytest.mark.parametrize("special", ["none", "all", "inner"])
@pytest.mark.parametrize("profile", profiles().values(), ids=lambda profile: profile.name)
def test_budgets_are_kept(profile, special):
    """From the least budget on, whatever is drawn is a whole answer in time, read back as calls of the right tools."""
    vocabulary, specials = vocabulary_of(profile, special=special)
    eos = vocabulary.eos_token_ids[0]
    for mode, flags in MODES.items():
        graph = (wire := build(profile, TOOLS, vocabulary, specials, **flags)).graph
        for seed, more in itertools.product(range(3), (0, 1, 5, 40)):
            rng, matcher, tokens = random.Random(f"{mode} {seed}"), graph.matcher(), []
            budget = graph.min_new_tokens + more
            while len(tokens) < budget:
                allowed = sorted(mask_of(matcher, vocabulary, budget=budget - len(tokens)))
                if allowed == [eos] or (eos in allowed and rng.random() < 0.3):
                    break
                tokens.append(rng.choice([each for each in allowed if each != eos]))
                assert matcher.accept_token(tokens[-1])
            assert matcher.is_accepting(), (mode, seed, more)
            found = wire.read(tokens)
            assert len(found.calls) >= (not flags.get("may_answer", True))
            assert all(call.tool.spec.model_validate_json(call.json) for call in found.calls)
