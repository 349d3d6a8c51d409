"""`LanguageModel.stream`: events of a real `generate`, by models that say what they are told, a byte at a time."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import threading
import time
from typing import Annotated, Any, Literal, Union

import pytest
import torch
from pydantic import AfterValidator, BaseModel, Field, model_validator

import schemagen
from schemagen.decode.stream import CAPACITY
from schemagen.errors import BudgetError, GenerationError, OptionError, UnsupportedTypeError, ValidationFailed
from schemagen.events import Completed, Delta, FieldCompleted, FieldStarted, Snapshot
from schemagen.lm import Speculation
from schemagen.lm.stream import Stream
from tests.streams import deltas


class Item(BaseModel):
    product: str
    quantity: int


class Order(BaseModel):
    customer: str
    items: list[Item]


@pytest.fixture
def says(make_lm, tokenizer):
    """Return a factory of models that say a text, token by token, under the mask; `steps` counts what they computed."""

    def build(text, pause_s=0.0):
        steps = []
        wanted = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]

        def distort(logits):
            time.sleep(pause_s)
            token_id = wanted[min(len(steps), len(wanted) - 1)]
            steps.append(token_id)
            logits = logits.clone()
            logits[..., token_id] = 1e4
            return logits

        lm = make_lm(distort)
        lm.steps = steps
        return lm

    return build


def streaming_threads():
    """The threads of streams that are still there."""
    return [thread for thread in threading.enumerate() if thread.name == "schemagen-stream"]


def wait_for_no_thread():
    """Wait until the model has noticed that nobody listens; fail if it never does."""
    for thread in streaming_threads():
        thread.join(timeout=30)
    assert streaming_threads() == []


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    """Every test ends without a thread of a stream."""
    yield
    if streaming_threads():
        gc.collect()
    wait_for_no_thread()


# --- events ------------------------------------------------------------------------------------------------------------


def test_the_events_of_an_object(says):
    """Fields start, grow and complete in the order of the text, with validated values; the instance comes last."""
    lm = says('{"customer": "Jo", "items": [{"product": "a", "quantity": 12}]}')
    events = list(lm.stream("x", Order))
    assert [(type(event), event.path) for event in events[:-1]] == [
        (FieldStarted, ("customer",)),
        (Delta, ("customer",)),
        (Delta, ("customer",)),
        (FieldCompleted, ("customer",)),
        (FieldStarted, ("items",)),
        (FieldStarted, ("items", 0)),
        (FieldStarted, ("items", 0, "product")),
        (Delta, ("items", 0, "product")),
        (FieldCompleted, ("items", 0, "product")),
        (FieldStarted, ("items", 0, "quantity")),
        (Delta, ("items", 0, "quantity")),
        (FieldCompleted, ("items", 0, "quantity")),
        (FieldCompleted, ("items", 0)),
        (FieldCompleted, ("items",)),
    ]
    values = {str(event.path): event.value for event in events if isinstance(event, FieldCompleted)}
    assert values["/items/0"] == Item(product="a", quantity=12)
    assert values["/items"] == [Item(product="a", quantity=12)]
    last = events[-1]
    assert isinstance(last, Completed)
    assert last.value == Order(customer="Jo", items=values["/items"])
    assert last.text == '{"customer": "Jo", "items": [{"product": "a", "quantity": 12}]}'
    assert last.token_ids == tuple(lm.steps)
    assert last.generation.new_tokens == len(lm.steps)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_stream_is_what_generate_gives(lm, seed):
    """The last event is the `Generation` of the same call, greedy or sampled, and the events add up to its value."""
    options = {"seed": seed, "temperature": 1.5} if seed is not None else {}
    expected = lm.run("x", list[Annotated[str, Field(max_length=5)]], max_new_tokens=400, **options)
    stream = lm.stream("x", list[Annotated[str, Field(max_length=5)]], max_new_tokens=400, **options)
    events = list(stream)
    found = events[-1].generation
    assert (found.value, found.text, found.token_ids) == (expected.value, expected.text, expected.token_ids)
    assert (found.prompt_tokens, found.masked_mass) == (expected.prompt_tokens, expected.masked_mass)
    assert stream.text == expected.text
    completed = [event.value for event in events if isinstance(event, FieldCompleted)]
    assert completed == expected.value
    assert "".join(deltas(events).values()) == "".join(expected.value)


def test_the_bundled_model_streams_the_right_values(bundled_lm):
    """The values of the fields are those of the instance."""
    events = list(bundled_lm.stream("Maria Silva ordered 2 lamps and 3 chairs, already paid.", Order, partials=True))
    values = {event.path: event.value for event in events if isinstance(event, FieldCompleted)}
    order = events[-1].value
    assert order == bundled_lm("Maria Silva ordered 2 lamps and 3 chairs, already paid.", Order)
    assert values["customer",] == order.customer == "Maria Silva"
    assert values["items", 1] == order.items[1] == Item(product="chairs", quantity=3)
    names = [event.value.customer for event in events if isinstance(event, Snapshot)]
    assert names[0] == ""
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(names))


@pytest.mark.parametrize("text", ['"a😀é"', '"a\\ud83d\\ude00\\u00e9"'])
def test_characters_come_whole(says, text):
    """An emoji of four tokens, or of twelve, is one delta."""
    lm = says(text)
    events = list(lm.stream("x", str))
    assert [event.text for event in events[:-1]] == ["a", "😀", "é"]
    assert len(lm.steps) > len("a😀é".encode())
    assert events[-1].value == "a😀é"


@pytest.mark.parametrize(
    ("text", "spec", "expected"),
    [
        ("-12", int, {(): "-12"}),
        ("true", bool, {(): "true"}),
        ('"ab"', Literal["ab", "b"], {(): "ab"}),
        ("{}", dict[str, int], {}),
        ("[]", list[int], {}),
        ("7", Union[int, list[int]], {(): "7"}),
        ("[7]", Union[int, list[int]], {(0,): "7"}),
        ('{"a\\"b": {"~/": [null]}}', {}, {('a"b', "~/", 0): "null"}),
        ("[[[[[[[[1]]]]]]]]", {}, {(0,) * 8: "1"}),
        ("äb-c", schemagen.Regex("[a-zä]+-[a-z]"), {(): "äb-c"}),
        ("lëft", schemagen.Choice(["lëft", "right"]), {(): "lëft"}),
    ],
)
def test_every_kind_of_value(says, text, spec, expected):
    """Values that stand alone, empty containers, unions, escaped keys, deep nesting, patterns and choices."""
    events = list(says(text).stream("x", spec, partials=True))
    assert deltas(events) == expected
    assert [type(event) for event in events].count(Completed) == 1
    assert events[-1].text == text
    paths = [event.path for event in events if isinstance(event, FieldCompleted)]
    assert all(paths)
    if isinstance(spec, (schemagen.Regex, schemagen.Choice)):
        assert [event.value for event in events if isinstance(event, Snapshot)][-1] == text


def test_snapshots_grow(says):
    """Every snapshot holds what there was, also of the part that is being written."""
    lm = says('{"customer": "Jo", "items": [{"product": "ab", "quantity": 1}]}')
    found = [event.value for event in lm.stream("x", Order, partials=True) if isinstance(event, Snapshot)]
    assert all(isinstance(value, schemagen.Partial[Order]) for value in found)
    assert [value.customer for value in found][:4] == [None, "J", "Jo", "Jo"]
    assert [value.items[0].product for value in found if value.items][:4] == [None, None, "a", "ab"]
    assert found[-1].items == [Item(product="ab", quantity=1)]


# --- errors ------------------------------------------------------------------------------------------------------------


def is_even(value):
    """Refuse odd numbers."""
    if value % 2:
        raise ValueError("must be even")
    return value


class Even(BaseModel):
    number: Annotated[int, AfterValidator(is_even)]
    then: str


class Ordered(BaseModel):
    low: int
    high: int

    @model_validator(mode="after")
    def in_order(self):
        """Refuse a range that is none."""
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


def test_a_refused_field_ends_the_stream_where_it_is(says):
    """The model does not go on writing what cannot become valid."""
    lm = says('{"number": 7, "then": "' + "x" * 400 + '"}')
    stream = lm.stream("x", Even)
    found = []
    with pytest.raises(ValidationFailed, match="must be even") as caught:
        found.extend(stream)
    assert caught.value.at == "/number"
    assert caught.value.text.startswith('{"number": 7')
    assert deltas(found) == {("number",): "7"}
    assert list(stream) == []
    assert len(lm.steps) < 200


def test_a_refused_instance_ends_the_stream(says):
    """Validators of the whole run at the end, after all fields were complete."""
    stream = says('{"low": 2, "high": 1}').stream("x", Ordered)
    found = []
    with pytest.raises(ValidationFailed, match="low is above high"):
        found.extend(stream)
    assert deltas(found) == {("low",): "2", ("high",): "1"}


def test_errors_of_the_generation_come_when_they_happen(says, monkeypatch):
    """A budget that is too small, a prompt without room, wrong options, and whatever the model raises."""
    lm = says('{"customer": "Jo", "items": []}')
    with pytest.raises(BudgetError, match="the shortest text takes"):
        next(lm.stream("x", Order, max_new_tokens=3, whitespace="spaced"))
    with pytest.raises(BudgetError):
        next(lm.stream("x" * 2100, Order))
    with pytest.raises(OptionError, match="did you mean temperature"):
        next(lm.stream("x", Order, tempereture=1))
    with pytest.raises(OptionError, match="beam"):
        next(lm.stream("x", Order, num_beams=2))
    with pytest.raises(OptionError, match="num_return_sequences"):
        next(lm.stream("x", Order, num_return_sequences=2))

    def broken(**_):
        raise RuntimeError("device lost")

    monkeypatch.setattr(lm.model, "generate", broken, raising=False)
    with pytest.raises(RuntimeError, match="device lost"):
        next(lm.stream("x", Order))


def test_what_cannot_be_compiled_raises_at_once(lm):
    """No stream is made of a type without a grammar, or of an empty chat."""
    with pytest.raises(UnsupportedTypeError):
        lm.stream("x", memoryview)
    with pytest.raises(GenerationError, match="no messages"):
        lm.stream([], Order)


def test_a_model_that_streams_nothing_gives_its_events_at_the_end(lm, tokenizer):
    """A `generate` without support for streamers still tells everything."""

    class Silent:
        def __getattr__(self, name):
            return getattr(lm.model, name)

        def generate(self, streamer, **options):
            assert streamer is not None
            return lm.model.generate(**options)

    silent = schemagen.from_transformers(Silent(), tokenizer)
    events = list(silent.stream("x", dict[Literal["a"], bool]))
    last = list(lm.stream("x", dict[Literal["a"], bool]))[-1]
    assert events[-1].text == last.text
    assert deltas(events) == {(key,): json.dumps(value) for key, value in last.value.items()}


# --- stopping ----------------------------------------------------------------------------------------------------------

LONG = json.dumps("x" * 1500)


def test_a_consumer_that_leaves_stops_the_model(says):
    """After `break` nobody holds the stream, and its thread ends at the next tokens."""
    lm = says(LONG)
    for event in lm.stream("x", str, max_new_tokens=1900):
        assert isinstance(event, Delta)
        break
    wait_for_no_thread()
    assert len(lm.steps) <= CAPACITY + 8


def test_a_slow_consumer_slows_the_model(says):
    """The model is never further ahead than the buffer."""
    lm = says(LONG)
    stream = lm.stream("x", str, max_new_tokens=1900)
    for seen, _ in enumerate(stream):
        assert len(lm.steps) <= seen + CAPACITY + 8
        if seen == 100:
            break
    stream.close()


def test_closing_ends_everything(says):
    """`close`, once or twice, before or after the first event, and the end of a with block."""
    lm = says(LONG)
    with lm.stream("x", str) as stream:
        next(stream)
        assert len(streaming_threads()) == 1
    assert streaming_threads() == []
    assert list(stream) == []
    stream.close()
    unused = lm.stream("x", str)
    assert streaming_threads() == []
    unused.close()
    assert list(unused) == []


def test_another_thread_may_close(says):
    """A consumer that waits is woken up, and its iteration ends."""
    lm = says(LONG, pause_s=0.01)
    stream = lm.stream("x", str)
    next(stream)
    closer = threading.Timer(0.1, stream.close)
    closer.start()
    assert len(list(stream)) < 1500
    closer.join()
    assert streaming_threads() == []


def test_streams_do_not_disturb_each_other(lm):
    """Two interleaved streams of one model, with seeds, give what each gives alone; torch's state is left alone."""
    short = Annotated[str, Field(max_length=20)]
    options = [{"seed": seed, "temperature": 2.0} for seed in (1, 2)]
    expected = [lm.run("x", short, **each).text for each in options]
    state = torch.random.get_rng_state()
    streams = [lm.stream("x", short, **each) for each in options]
    found: list[list[Any]] = [[], []]
    while len(found[0]) + len(found[1]) < 2 or not all(isinstance(events[-1], Completed) for events in found):
        for stream, events in zip(streams, found, strict=True):
            events += [event for event in (next(stream, None),) if event is not None]
    assert [events[-1].text for events in found] == expected
    assert expected[0] != expected[1]
    assert torch.equal(state, torch.random.get_rng_state())


# --- streams without a thread ------------------------------------------------------------------------------------------

ORDER = "Maria Silva ordered 2 lamps and 3 chairs, already paid."


@pytest.mark.parametrize("options", [{}, {"temperature": 0.7, "seed": 3}], ids=repr)
def test_both_ways_of_streaming_yield_the_same_events(bundled_lm, options, monkeypatch):
    """The loop that reads ahead needs no thread, and `generate` in a thread writes the same text."""
    stream = bundled_lm.stream(ORDER, Order, **options)
    ahead = [next(stream)]
    assert streaming_threads() == []
    ahead += stream
    with monkeypatch.context() as patch:
        patch.setattr("schemagen.decode.generate.can_read_ahead", lambda *_: False)
        stream = bundled_lm.stream(ORDER, Order, **options)
        threaded = [next(stream)]
        assert len(streaming_threads()) == 1
        threaded += stream
    assert deltas(ahead[:-1]) == deltas(threaded[:-1])
    assert ahead[-1].text == threaded[-1].text
    assert ahead[-1].token_ids == threaded[-1].token_ids


class Watching:
    """A drafter that proposes nothing, counts the steps of the model, and calls a function at one of them."""

    def __init__(self, at=0, act=lambda: None):
        self.steps, self._at, self._act = 0, at, act

    def propose(self, context, matcher, n):
        """Propose nothing."""

    def observe(self, context, matcher, token):  # noqa: ARG002 - a protocol
        """Count a token."""
        self.steps += 1
        if self.steps == self._at:
            self._act()


def watched(lm, watching):
    """Return the model with a drafter that watches it."""
    found = schemagen.from_transformers(lm.model, lm.tokenizer)
    found.speculation = Speculation(drafters=(watching,))
    return found


@pytest.mark.parametrize("way", ["break", "close", "with"])
def test_the_model_does_nothing_for_a_stream_that_is_left(bundled_lm, way):
    """Nor does it work before the next event is asked for."""
    watching = Watching()
    stream = watched(bundled_lm, watching).stream(ORDER, Order)
    next(stream)
    begun = watching.steps
    time.sleep(0.05)
    assert watching.steps == begun
    if way == "break":
        for _ in stream:
            break
        begun = watching.steps
        del stream
    elif way == "close":
        stream.close()
        assert list(stream) == []
    else:
        with stream:
            pass
        assert list(stream) == []
    assert watching.steps == begun
    assert streaming_threads() == []


def test_a_step_of_the_model_may_close_its_stream(bundled_lm):
    """The step ends, and the iteration after it."""
    streams = []
    watching = Watching(5, lambda: streams[0].close())  # noqa: PLW0108 - the stream is made later
    streams.append(watched(bundled_lm, watching).stream(ORDER, Order))
    assert not any(isinstance(event, Completed) for event in streams[0])
    assert watching.steps == 5


def test_another_thread_closes_after_the_step_in_progress(bundled_lm):
    """It waits for the step, which sees no other thread, and no step comes after it."""
    steps, closers = [], []

    def close():
        closers.append(threading.Thread(target=streams[0].close))
        closers[0].start()
        closers[0].join(timeout=0.2)
        steps.append(closers[0].is_alive())

    watching = Watching(5, close)
    streams = [watched(bundled_lm, watching).stream(ORDER, Order)]
    assert not any(isinstance(event, Completed) for event in streams[0])
    closers[0].join()
    assert steps == [True]
    assert watching.steps == 5


def test_an_interrupt_ends_the_stream_where_it_is(bundled_lm):
    """Ctrl-C reaches the step itself; the model is as it was."""

    def interrupt():
        raise KeyboardInterrupt

    watching = Watching(5, interrupt)
    lm = watched(bundled_lm, watching)
    stream = lm.stream(ORDER, Order)
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert list(stream) == []
    assert list(lm.stream(ORDER, Order))[-1].value == bundled_lm(ORDER, Order)


def test_an_async_stream_that_is_left_stops_the_loop(bundled_lm):
    """Closing the generator closes the loop, from whichever thread made its last step."""
    watching = Watching()
    lm = watched(bundled_lm, watching)

    async def work():
        events = lm.astream(ORDER, Order)
        async for _ in events:
            break
        await events.aclose()
        begun = watching.steps
        await asyncio.sleep(0.05)
        return begun

    assert asyncio.run(work()) == watching.steps
    assert watching.steps < 20


# --- asyncio -----------------------------------------------------------------------------------------------------------


def test_async_streams(says):
    """`astream` yields the same events, and the event loop runs on."""
    text = '{"customer": "Jo", "items": []}'
    lm = says(text, pause_s=0.002)
    ticks = []

    async def tick():
        while True:
            ticks.append(0)
            await asyncio.sleep(0.001)

    async def work():
        ticking = asyncio.create_task(tick())
        events = [event async for event in schemagen.Generator(lm, Order).astream("x")]
        ticking.cancel()
        return events

    events = asyncio.run(work())
    assert events[:-1] == list(says(text).stream("x", Order))[:-1]
    assert len(ticks) > 2


@pytest.mark.parametrize("way", ["cancel", "aclose", "break"])
def test_an_async_stream_that_is_left_stops_the_model(says, way):
    """Cancelling the task, closing the generator, or leaving the loop ends the thread."""
    lm = says(LONG, pause_s=0.002)

    async def consume():
        events = lm.astream("x", str)
        async for _ in events:
            if way == "aclose":
                await events.aclose()
            elif way == "break":
                break

    async def work():
        task = asyncio.create_task(consume())
        if way == "cancel":
            await asyncio.sleep(0.2)
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(work())
    wait_for_no_thread()
    assert len(lm.steps) < 1000


def test_generators_have_streams(says):
    """A generator's grammar and defaults serve its streams."""
    generator = schemagen.Generator(says("12"), int, partials=False, retries=2)
    stream = generator.stream("x")
    assert isinstance(stream, Stream)
    assert [type(event) for event in stream] == [Delta, Completed]
