"""Compilations take turns, and one that never looks at the clock takes nothing from others for long."""

from __future__ import annotations

import asyncio
import threading

import pytest
from fastapi.testclient import TestClient

from schemagen.engine.options import Limits
from schemagen.errors import LimitError
from schemagen.serve import ServerLimits, constraints, create_app
from schemagen.serve.compiling import CompileLine, client_of
from schemagen.serve.errors import RequestError
from tests.serve.conftest import chat_body

PATIENCE = 60  # seconds after which a test fails; each ends as soon as it can


def for_ever():
    """Work in Python that looks at no clock."""
    while True:
        pass


class InC:
    """Work that is inside one call of C until it is let go."""

    def __init__(self):
        self.gate, self.begun = threading.Event(), threading.Event()

    def __call__(self):
        self.begun.set()
        self.gate.wait(PATIENCE)  # an exception for this thread waits, too
        return "late"


async def until(condition):
    """Wait for a condition."""
    for _ in range(100 * PATIENCE):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come")


async def settle():
    """Let tasks come to what they wait for."""
    for _ in range(20):
        await asyncio.sleep(0.005)


def test_a_client_compiles_one_thing_at_a_time():
    """Its second waits; another client does not."""

    async def main():
        line, first, second, other = CompileLine(4, 9, PATIENCE), InC(), InC(), InC()
        tasks = [asyncio.create_task(line.run("a", first)), asyncio.create_task(line.run("a", second))]
        await until(first.begun.is_set)
        tasks.append(asyncio.create_task(line.run("b", other)))
        await until(other.begun.is_set)
        await settle()
        assert not second.begun.is_set()
        first.gate.set()
        await until(second.begun.is_set)
        second.gate.set()
        other.gate.set()
        assert await asyncio.gather(*tasks) == ["late"] * 3

    asyncio.run(main())


def test_clients_take_turns():
    """Whoever has asked for more does not come first."""
    order = []

    async def main():
        line, first = CompileLine(1, 9, PATIENCE), InC()
        tasks = [asyncio.create_task(line.run("a", first))]
        await until(first.begun.is_set)
        for name in ("a1", "a2", "a3", "b1", "c1"):
            tasks.append(asyncio.create_task(line.run(name[0], lambda name=name: order.append(name))))
            await settle()
        first.gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())
    assert order.index("b1") < order.index("a2")
    assert order.index("c1") < order.index("a2")


def test_a_full_line_is_429_for_the_client_with_the_most():
    """The newcomer of another client takes the place of its last one; its own next one is refused."""

    async def main():
        line, first = CompileLine(1, 3, PATIENCE), InC()
        running = asyncio.create_task(line.run("a", first))
        await until(first.begun.is_set)
        waiting = [asyncio.create_task(line.run("a", lambda: "a")) for _ in range(3)]
        await settle()
        with pytest.raises(RequestError) as refused:
            await line.run("a", lambda: "more")
        assert (refused.value.status, refused.value.code) == (429, "queue-full")
        assert refused.value.headers["Retry-After"]
        other = asyncio.create_task(line.run("b", lambda: "b"))
        await settle()
        first.gate.set()
        assert await running == "late"
        assert await other == "b"
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert found[:2] == ["a", "a"]
        assert found[2].status == 429

    asyncio.run(main())


def test_work_that_never_looks_at_the_clock_ends_for_good():
    """Whoever waits is told, the thread is gone, and the next one begins."""

    async def main():
        line = CompileLine(1, 9, 0.05)
        with pytest.raises(LimitError, match="twice the limit"):
            await line.run("a", for_ever)
        assert await line.run("a", lambda: "next") == "next"
        await until(lambda: not line.left_behind())
        await until(lambda: not any(each.name == "schemagen-compile" for each in threading.enumerate()))

    asyncio.run(main())


def test_threads_that_cannot_be_ended_are_bounded():
    """Beside them others compile; where there are too many, nobody waits for nothing; and when they end all is well."""

    async def main():
        line, stuck = CompileLine(2, 99, 0.05), [InC() for _ in range(5)]
        for index, work in enumerate(stuck[:3]):
            with pytest.raises(LimitError):
                await line.run(str(index), work)
        assert line.left_behind() == 3
        assert await line.run("a", lambda: "beside") == "beside"
        tasks = [asyncio.create_task(line.run(str(index), work)) for index, work in enumerate(stuck[3:])]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[0], LimitError)
        assert getattr(found[1], "code", "") == "compilers-stuck"
        assert line.left_behind() == 4
        with pytest.raises(RequestError) as refused:
            await line.run("b", lambda: "b")
        assert (refused.value.status, refused.value.code) == (503, "compilers-stuck")
        for work in stuck:
            work.gate.set()
        await until(lambda: not line.left_behind())
        assert await line.run("b", lambda: "b") == "b"

    asyncio.run(main())


def test_who_does_not_wait_any_more_gives_its_place_up():
    """Before its turn, and in it."""

    async def main():
        line, first = CompileLine(1, 9, PATIENCE), InC()
        running = asyncio.create_task(line.run("a", first))
        await until(first.begun.is_set)
        waiting = asyncio.create_task(line.run("a", for_ever))
        await settle()
        waiting.cancel()
        running.cancel()
        await asyncio.gather(waiting, running, return_exceptions=True)
        assert line.left_behind() == 1
        first.gate.set()
        assert await line.run("a", lambda: "next") == "next"

    asyncio.run(main())


def test_an_error_is_that_of_the_work():
    """And harms nobody."""

    def fails():
        raise ValueError("mine")

    async def main():
        line = CompileLine(1, 9, PATIENCE)
        with pytest.raises(ValueError, match="mine"):
            await line.run("a", fails)
        line.close()
        with pytest.raises(RequestError) as refused:
            await line.run("a", lambda: "late")
        assert refused.value.status == 503

    asyncio.run(main())


def test_a_client_is_an_address():
    """Or a customer's network of IPv6."""
    assert client_of("192.0.2.1") != client_of("192.0.2.2")
    assert client_of("2001:db8::1") == client_of("2001:db8::ffff:2") != client_of("2001:db8:0:1::1")
    assert client_of("testclient") == "testclient"
    assert client_of(None) == ""


@pytest.fixture
def serve(lm, monkeypatch):
    """Return what makes a client of a server, with what compiles the pattern "hostile"."""
    compile_grammar = constraints.compile_grammar

    def made(hostile, seconds):
        def compiled(spec, *arguments, **options):
            if getattr(spec, "pattern", "") == "hostile":
                hostile()
            return compile_grammar(spec, *arguments, **options)

        monkeypatch.setattr(constraints, "compile_grammar", compiled)
        return TestClient(create_app(lm, limits=ServerLimits(compilers=2, compile=Limits(max_seconds=seconds))))

    return made


def asked(client, count):
    """Return the responses to some requests with the pattern "hostile", and the threads that wait for them."""
    found = []

    def ask():
        found.append(client.post("/v1/chat/completions", json=chat_body(guided_regex="hostile")))

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for each in threads:
        each.start()
    return found, threads


def test_the_server_goes_on_after_hostile_constraints(serve):
    """More of them than there are workers are refused with 400, and what comes afterwards is compiled."""
    with serve(for_ever, 0.5) as client:
        found, threads = asked(client, 3)
        for each in threads:
            each.join()
        for response in found:
            error = response.json()["error"]
            assert (response.status_code, error["code"], error["param"]) == (400, "limit-reached", "guided_regex")
        answer = client.post("/v1/chat/completions", json=chat_body(guided_choice=["a"]))
        assert answer.json()["choices"][0]["message"]["content"] == "a"
        assert "schemagen_compilations_left_behind 0.0" in client.get("/metrics").text


def test_a_text_does_not_wait_for_compilations(serve):
    """It is answered while they are on."""
    work = InC()
    with serve(work, PATIENCE) as client:
        found, threads = asked(client, 3)
        assert work.begun.wait(PATIENCE)
        assert client.post("/v1/chat/completions", json=chat_body(max_tokens=2)).status_code == 200
        assert not found
        work.gate.set()
        for each in threads:
            each.join()
        assert [response.status_code for response in found] == [200] * 3
