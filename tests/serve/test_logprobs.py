"""Log-probabilities of each API, by OpenAI's client: those of one pass over the text, streamed or not, alone or in a batch."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest
import torch
from fastapi.testclient import TestClient

from schemagen.calling.answer_format import write_calls
from schemagen.calling.request import CallForm, CallRequest, resolve
from schemagen.decode.token_records import Alternative, Records, TokenRecord, records_of
from schemagen.prompts.messages import as_messages
from schemagen.request.settings import Settings
from schemagen.serve import create_app
from schemagen.serve.logprobs import ContentTokens
from schemagen.serve.readers import CallReader, TextReader
from schemagen.vocabulary import Vocabulary
from tests.calling.conftest import FAMILIES, Family
from tests.serve.conftest import PERSON, WEATHER, as_format, function

openai = pytest.importorskip("openai", reason="the client library is not installed")

MESSAGES = [{"role": "user", "content": "Ada Lovelace, 36, London"}]
TOOLS = [function("get_weather", WEATHER)]
THINK = {"reasoning": {"begin": "Think: ", "end": "\nSo: ", "max_tokens": 9}}
#: Numbers of two passes over the same tokens differ by rounding.
CLOSE = {"abs": 2e-3, "rel": 1e-3}


@pytest.fixture(scope="module")
def served(lm):
    """OpenAI's client of a server, and the texts that it had written."""
    jobs = []
    with TestClient(create_app(lm, name="bundled"), raise_server_exceptions=False) as http:
        scheduler = http.app.state.schemagen.scheduler
        submit = scheduler.submit
        scheduler.submit = lambda some: (jobs.extend(some), submit(some))
        client = openai.OpenAI(base_url="http://testserver/v1", api_key="none", max_retries=0, http_client=http)
        yield SimpleNamespace(client=client, jobs=jobs)


def check(lm, job, entries, first, top):
    """Look that entries are those of one pass over a text, from a token on.

    Args:
        lm: The model.
        job: The text.
        entries: What the client got.
        first: The index of the first token of the content.
        top: How many of the likeliest tokens were asked for.
    """
    ids = torch.tensor([[*job.token_ids, *job.generated]])
    with torch.inference_mode():
        logits = lm.model(input_ids=ids).logits[0, len(job.token_ids) - 1 : -1].double().log_softmax(dim=-1)
    records = None
    if job.constraint is not None:
        records = records_of(lm.model, job.token_ids, job.generated, job.constraint, job.max_new_tokens)
    vocabulary = lm.vocabulary
    for index, entry in enumerate(entries, start=first):
        token_id = job.generated[index]
        assert bytes(entry.bytes) == vocabulary.tokens[token_id]
        assert entry.token == vocabulary.tokens[token_id].decode("utf-8", "backslashreplace")
        assert entry.logprob == pytest.approx(float(logits[index, token_id]), **CLOSE)
        own = records[index] if records else TokenRecord(token_id, entry.logprob, 0.0, (Alternative(0, 0.0, True),))
        assert entry.schemagen["logprob"] == pytest.approx(own.log_probability, **CLOSE)
        assert entry.schemagen["forced"] == own.is_forced
        assert [each.logprob for each in entry.top_logprobs] == pytest.approx(
            logits[index].topk(top)[0].tolist(), **CLOSE
        )
        for each in entry.top_logprobs:
            wanted = next(
                other for other in range(vocabulary.size)
                if (vocabulary.tokens[other] if each.bytes else vocabulary.token_names.get(other))
                == (bytes(each.bytes) if each.bytes else each.token)
            )  # fmt: skip
            assert each.logprob == pytest.approx(float(logits[index, wanted]), **CLOSE)
            if each.schemagen["allowed"]:
                assert each.schemagen["logprob"] >= each.logprob - 2e-3
            else:
                assert each.schemagen["logprob"] is None
                assert records is not None


def same(found, expected):
    """Whether two lists of entries are the same but for rounding."""
    assert [entry.token for entry in found] == [entry.token for entry in expected]
    assert [entry.logprob for entry in found] == pytest.approx([entry.logprob for entry in expected], **CLOSE)
    assert [entry.schemagen["forced"] for entry in found] == [entry.schemagen["forced"] for entry in expected]


CASES = {
    "schema": ({"response_format": as_format(PERSON)}, 3),
    "two bytes": ({"extra_body": {"guided_regex": "[A-Z][a-z]{1,5} é[0-9]{1,2}ß"}}, 20),
    "text": ({"max_tokens": 12}, 5),
    "no likeliest": ({"max_tokens": 5}, 0),
    "stop": ({"stop": ["36", ", L"]}, 2),
    "thoughts": ({"response_format": as_format(PERSON), "extra_body": {"schemagen": THINK}}, 2),
    "thoughts and text": ({"max_tokens": 30, "extra_body": {"schemagen": THINK}}, 1),
    "several": ({"response_format": as_format(PERSON), "n": 3, "temperature": 1.2, "seed": 5}, 4),
    "words": ({"tools": TOOLS, "tool_choice": "none"}, 2),
    "a call": ({"tools": TOOLS, "tool_choice": "required"}, 2),
}


@pytest.mark.parametrize(("asked", "top"), CASES.values(), ids=CASES)
def test_chats(served, lm, asked, top):
    """The tokens of the content, each as one pass over the text has it; a stream gives them with their text."""
    asked = {"model": "any", "messages": MESSAGES, "max_tokens": 80, "logprobs": True, "top_logprobs": top, **asked}
    served.jobs.clear()
    whole = served.client.chat.completions.create(**asked)
    thoughts = whole.usage.completion_tokens_details
    jobs = [*served.jobs]
    for job, choice in zip(jobs, whole.choices, strict=True):
        entries, content = choice.logprobs.content, choice.message.content or ""
        first = thoughts.reasoning_tokens if thoughts else 0
        written = b"".join(bytes(entry.bytes) for entry in entries).decode()
        assert written.startswith(content) if "stop" in asked else written.strip() == content.strip()
        assert bool(entries) == bool(content)
        check(lm, job, entries, first, top)
    streamed = [[] for _ in jobs]
    texts = ["" for _ in jobs]
    for chunk in served.client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            assert (choice.logprobs is not None) == bool(choice.delta.content)
            streamed[choice.index] += choice.logprobs.content if choice.logprobs else []
            told = b"".join(bytes(entry.bytes) for entry in streamed[choice.index]).decode()
            assert told.startswith(texts[choice.index]), "the tokens of a text come with it"
    for found, choice in zip(streamed, whole.choices, strict=True):
        same(found, choice.logprobs.content)


def test_the_stream_helper_of_the_client(served):
    """OpenAI's own sum of the chunks is the whole answer."""
    asked = {"model": "any", "messages": MESSAGES, "logprobs": True, "top_logprobs": 1, "max_tokens": 80}
    asked["response_format"] = as_format(PERSON)
    whole = served.client.chat.completions.create(**asked)
    with served.client.chat.completions.stream(**asked) as stream:
        events = [event for event in stream if event.type == "logprobs.content.done"]
        final = stream.get_final_completion()
    found = [entry.token for entry in final.choices[0].logprobs.content]
    assert found == [entry.token for entry in whole.choices[0].logprobs.content]
    assert [entry.token for entry in events[-1].content] == found


def test_nobody_who_did_not_ask_gets_any(served):
    """Nothing is noted, and nothing is sent."""
    served.jobs.clear()
    found = served.client.chat.completions.create(model="any", messages=MESSAGES, max_tokens=5)
    assert found.choices[0].logprobs is None
    assert [job.records for job in served.jobs] == [None]


@pytest.mark.parametrize("more", [{}, {"guided_regex": "[A-Z][a-zé]{1,9}, é"}], ids=["text", "pattern"])
def test_completions(served, lm, more):
    """The legacy form has the same numbers, the token itself among the likeliest, and the offset of each token."""
    asked = {"model": "any", "prompt": ["Ada Lovelace", "Tom"], "max_tokens": 12, "logprobs": 3, "extra_body": more}
    served.jobs.clear()
    whole = served.client.completions.create(**asked)
    jobs = [*served.jobs]
    for job, choice in zip(jobs, whole.choices, strict=True):
        told, text = choice.logprobs, choice.text
        body = [token for token in job.generated if token not in lm.vocabulary.eos_token_ids]
        entries = [
            SimpleNamespace(
                token=token, bytes=[*lm.vocabulary.tokens[body[place]]], logprob=told.token_logprobs[place],
                top_logprobs=[], schemagen=told.schemagen[place],
            )
            for place, token in enumerate(told.tokens)
        ]  # fmt: skip
        check(lm, job, entries, 0, 0)
        assert len(entries) == len(body)
        for place, token in enumerate(told.tokens):
            likeliest = told.top_logprobs[place]
            assert likeliest[token] == told.token_logprobs[place]
            assert len(likeliest) in (3, 4)
            assert [*likeliest.values()] == sorted(likeliest.values(), reverse=True)
            end = told.text_offset[place + 1] if place + 1 < len(body) else len(text)
            if "\\x" not in token and "\\x" not in "".join(told.tokens[place - 1 : place]):
                assert text[told.text_offset[place] : end] == token
    found = [([], []) for _ in jobs]
    for chunk in served.client.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            if choice.logprobs:
                found[choice.index][0].extend(choice.logprobs.text_offset)
                found[choice.index][1].extend(choice.logprobs.token_logprobs)
    for (offsets, values), choice in zip(found, whole.choices, strict=True):
        assert offsets == choice.logprobs.text_offset
        assert values == pytest.approx(choice.logprobs.token_logprobs, **CLOSE)
    for wrong in (6, -1, True):
        with pytest.raises(openai.BadRequestError) as caught:
            served.client.completions.create(**{**asked, "logprobs": wrong})
        assert caught.value.param == "logprobs"


def test_responses(served, lm):
    """The parts and events of a response have the entries of its chat."""
    asked = {"model": "any", "input": MESSAGES, "max_output_tokens": 80, "top_logprobs": 2}
    asked["text"] = {"format": {"type": "json_schema", "name": "n", "schema": PERSON}}
    asked["include"] = ["message.output_text.logprobs"]
    served.jobs.clear()
    whole = served.client.responses.create(**asked)
    entries = whole.output[0].content[0].logprobs
    assert whole.top_logprobs == 2
    check(lm, served.jobs[0], entries, 0, 2)
    assert b"".join(bytes(entry.bytes) for entry in entries).decode() == whole.output_text
    events = [*served.client.responses.create(**asked, stream=True)]
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    same([entry for event in deltas for entry in event.logprobs], entries)
    assert all("".join(entry.token for entry in event.logprobs) == event.delta for event in deltas)
    same(next(event for event in events if event.type == "response.output_text.done").logprobs, entries)
    same(events[-1].response.output[0].content[0].logprobs, entries)
    del asked["include"]
    with pytest.raises(openai.BadRequestError, match=r"message\.output_text\.logprobs") as caught:
        served.client.responses.create(**asked)
    assert caught.value.param == "top_logprobs"
    assert served.client.responses.create(**{**asked, "top_logprobs": 0}).output[0].content[0].logprobs == []


# --- readers -----------------------------------------------------------------------------------------------------------


def noted(count):
    """Return records of tokens that are told apart by their log-probabilities."""
    return Records(tokens=[TokenRecord(0, -float(index), 0.0) for index in range(count)])


def read(reader, token_ids, step):
    """Return the deltas of tokens that come so many at a time."""
    deltas = [delta for at in range(0, len(token_ids), step) for delta in reader.feed(token_ids[at : at + step])]
    return deltas + reader.end("stop")[0]


def indices(deltas):
    """Return the tokens of the content, by their indices."""
    return [-int(each.told["logprob"]) for delta in deltas for each in delta.get("logprobs", ())]


@pytest.mark.parametrize(("name", "special"), FAMILIES, ids=str)
def test_tokens_of_words_around_calls(name, special):
    """In every wire format the tokens are those with a byte of the words, none of a call or of a marker alone."""
    family = Family(name, special=special)
    lm = family.lm()
    form = CallForm.of(lm, TOOLS, parallel=True, profile=family.profile)
    request = CallRequest.of(Settings(lm, {}, None), form, as_messages("x"), resolve(form.tools, "auto"))
    call = write_calls(family.profile, [("get_weather", json.dumps({"place": "Sé"}))])
    for line in (
        family.said("One é, two.  Three "),
        call,
        family.said("One é, two. ") + call if name == "hermes" else call,
    ):
        token_ids = family.encode(line)
        pieces = lm.vocabulary.tokens
        for step in (1, 3, len(token_ids)):
            reader = CallReader(request, tokens=ContentTokens(noted(len(token_ids)), lm.vocabulary, 0))
            deltas = read(reader, token_ids, step)
            content = "".join(delta.get("content", "") for delta in deltas)
            found = indices(deltas)
            written = b"".join(pieces[token_ids[index]] for index in found).decode()
            begin = written.find(content)
            assert begin >= 0
            around = [index for index in found if pieces[token_ids[index]].strip()]
            assert bool(around) == bool(content)
            assert len(written) - len(content) <= 2 * max(len(pieces[token_ids[index]]) for index in found or [0])
            whole = line.index(content), line.index(content) + len(content)
            offsets, at = [], 0
            for token_id in token_ids:
                offsets.append((at, at + len(pieces[token_id])))
                at = offsets[-1][1]
            if not special and content:
                low, high = (len(line[:edge].encode()) for edge in whole)
                assert found == [index for index, (a, b) in enumerate(offsets) if a < high and b > low]


@pytest.mark.parametrize("step", [1, 2, 50])
def test_tokens_wait_for_their_characters(step):
    """A token goes with the piece that has its first character: parts of one go together, also if the last is cut off."""
    vocabulary = Vocabulary.byte_vocabulary()
    for data in ("aé€😀b".encode(), "é".encode()[:1], b"a\xff\xe2\x82b", "x€".encode()[:-1]):
        tokens = ContentTokens(noted(len(data)), vocabulary, 0)
        deltas = read(TextReader(vocabulary, None, tokens=tokens), [*data], step)
        assert indices(deltas) == [*range(len(data))]
        assert "".join(delta["content"] for delta in deltas) == data.decode("utf-8", "replace")
        if step == 1 and data.endswith("😀b".encode()):
            assert [len(delta["logprobs"]) for delta in deltas] == [1, 2, 3, 4, 1]
            assert [each.start for delta in deltas for each in delta["logprobs"]] == [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4]


def test_what_json_cannot_say():
    """A token that the model holds for impossible has the number that OpenAI's API has for it."""
    vocabulary = Vocabulary.byte_vocabulary()
    records = Records(tokens=[TokenRecord(65, -math.inf, 0.0, (Alternative(300, -1.0, False),))])
    tokens = ContentTokens(records, vocabulary, 2)
    tokens.add(0, 0, 1)
    told = tokens.take(0, 1)[0].told
    assert (told["logprob"], told["bytes"]) == (-9999.0, [65])
    assert (told["top_logprobs"][0]["bytes"], told["top_logprobs"][0]["token"]) == (None, "<[300]>")
    json.dumps(told, allow_nan=False)
