"""Many clients at once against `schemagen serve --bundled`, and the same kinds of requests through `lm.batch`.

    python benchmarks/serve_load.py --clients 200 --seconds 60 --batch

Each client sends one request after the other: chats with three schemas, tools that must and may be called, patterns, choices,
sampled ones, schemas without an instance, streams, and requests that it drops in the middle. Every answer is parsed and
validated; an error has to be typed, with a code. At the end the server must have no text left. Its memory (RSS) is printed
every ten seconds.

The figure of `--batch` is: tokens per second of CPU time of the server's process, all of its threads together, divided by the
same of a process that runs `lm.batch`. The clients run on the same machine, but CPU time leaves theirs out. On both sides

- there is one thread of torch, requests are drawn by the same function, and as many rows are written at once (`--rows`);
- the work before the model counts (reading types, looking up compiled grammars, prompts, tokens), and the work after it
  (reading answers); a warm-up, which compiles the grammars, does not;
- tokens are those that the model wrote. A dropped request is written in full by the batch, and by the server until it is
  dropped, whose tokens count, too, so that reading its prompt is a cost of the server for fewer tokens.

The batch takes the greedy requests in one call of `lm.run_batch`, the sampled ones in another, since options are for all rows;
and requests with tools, of which `lm` has no batch, by the function inside `lm.batch` (`decode_batch`), with the prompt and the
grammar that the server has. It runs before and after the server, and the mean is taken. Only the server does HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import psutil

try:
    import httpx2 as httpx
except ImportError:
    import httpx

NAMES = ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Emmy Noether", "Tom Baker"]
CITIES = ["London", "New York", "Wilmslow", "Erlangen", "Paris"]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 30}, "age": {"type": "integer", "maximum": 150},
                   "city": {"type": "string", "maxLength": 20}},
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}  # fmt: skip
ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1, "maximum": 9999},
        "state": {"enum": ["open", "paid", "sent"]},
        "items": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 12}},
    },
    "required": ["id", "state", "items"],
    "additionalProperties": False,
}
FLAGS = {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 6}
TOOL = {"type": "function", "function": {"name": "save", "description": "Save a person", "parameters": PERSON}}
BUDGET = 80


@dataclass
class Tally:
    """What came of the requests."""

    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    tokens: int = 0
    seconds: list[float] = field(default_factory=list)


def body_of(kind: str, draw: random.Random) -> dict[str, Any]:
    """Return a request of a kind."""
    prompt = f"{draw.choice(NAMES)}, {draw.randrange(90)}, {draw.choice(CITIES)}"
    body: dict[str, Any] = {"model": "m", "max_tokens": BUDGET, "messages": [{"role": "user", "content": prompt}]}
    schemas = {"person": PERSON, "order": ORDER, "flags": FLAGS}
    if kind in schemas:
        schema = {"name": kind, "schema": schemas[kind]}
        return body | {"response_format": {"type": "json_schema", "json_schema": schema}}
    more = {
        "required": {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
        "auto": {"tools": [TOOL], "parallel_tool_calls": False},
        "regex": {"guided_regex": "[A-Z][a-z]{1,9}, [0-9]{1,3}"},
        "choice": {"guided_choice": ["good", "bad", "neither"]},
        "sampled": {"guided_json": ORDER, "temperature": 1.2, "top_p": 0.9},
        "refused": {"guided_json": {"type": "integer", "minimum": 3, "maximum": 2}},
    }
    return body | more[kind]


#: The first five are those of `--plain`.
KINDS = ["person", "order", "flags", "regex", "choice", "required", "auto", "sampled", "refused"]


def complaint(kind: str, message: dict[str, Any]) -> str:
    """Return the fault of an answer; "" if it has none."""
    text = message.get("content") or ""
    try:
        if kind in {"person", "order", "flags", "sampled"}:
            schema = {"person": PERSON, "order": ORDER, "flags": FLAGS, "sampled": ORDER}[kind]
            jsonschema.validate(json.loads(text), schema)
        elif kind == "required" or (kind == "auto" and message.get("tool_calls")):
            for call in message["tool_calls"]:
                jsonschema.validate(json.loads(call["function"]["arguments"]), PERSON)
        elif kind == "regex" and not re.fullmatch("[A-Z][a-z]{1,9}, [0-9]{1,3}", text):
            return f"{text!r} does not match"
        elif kind == "choice" and text not in {"good", "bad", "neither"}:
            return f"{text!r} is no choice"
    except (ValueError, KeyError, TypeError, jsonschema.ValidationError) as error:
        return f"{type(error).__name__}: {error!s:.200} in {message!r:.200}"
    return ""


def drawn(draw: random.Random, *, plain: bool) -> tuple[str, dict[str, Any]]:
    """Return the kind of a request, and the request."""
    kind = draw.choice(KINDS[:5] if plain else KINDS)
    return kind, body_of(kind, draw)


async def client(http: Any, url: str, seed: int, until: float, tally: Tally, *, plain: bool) -> None:
    """Send requests until the time is over."""
    draw = random.Random(seed)
    while time.monotonic() < until:
        kind, body = drawn(draw, plain=plain)
        way = "whole" if plain else draw.choice(["whole", "whole", "stream", "dropped"])
        started = time.monotonic()
        if way == "dropped" and kind != "refused":
            await drop(http, url, body, draw, tally)
            continue
        if way == "stream" and kind != "refused":
            status, message, usage = await read_stream(http, url, body)
        else:
            answer = await http.post(f"{url}/v1/chat/completions", json=body)
            status, found = answer.status_code, answer.json()
            message = found["choices"][0]["message"] if status == 200 else found
            usage = found.get("usage", {})
        judge(kind, status, message, tally)
        tally.tokens += usage.get("completion_tokens", 0)
        tally.seconds.append(time.monotonic() - started)


def judge(kind: str, status: int, message: dict[str, Any], tally: Tally) -> None:
    """Count an answer, and note its fault."""
    if status == 200:
        wrong = "an answer to what cannot be answered" if kind == "refused" else complaint(kind, message)
        tally.done["answered"] += 1
    else:
        error = message.get("error", {})
        expected = {"refused": {400}}.get(kind, set()) | {429}
        wrong = "" if status in expected and error.get("code") else f"{status}: {message!r:.300}"
        tally.done[f"{status} {error.get('code')}"] += 1
    if wrong:
        tally.wrong.append(f"{kind}: {wrong}")


async def read_stream(http: Any, url: str, body: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Return the status, the message and the usage of a streamed answer."""
    body = body | {"stream": True, "stream_options": {"include_usage": True}}
    message: dict[str, Any] = {"content": "", "tool_calls": []}
    usage: dict[str, Any] = {}
    async with http.stream("POST", f"{url}/v1/chat/completions", json=body) as answer:
        if answer.status_code != 200:
            return answer.status_code, json.loads(await answer.aread()), {}
        async for line in answer.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            chunk = json.loads(line[6:])
            if "error" in chunk:
                return 500, chunk, {}
            usage = chunk.get("usage") or usage
            for choice in chunk["choices"]:
                message["content"] += choice["delta"].get("content") or ""
                for call in choice["delta"].get("tool_calls", ()):
                    if "id" in call:
                        message["tool_calls"].append({"function": dict(call["function"])})
                    else:
                        message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return 200, message, usage


async def drop(http: Any, url: str, body: dict[str, Any], draw: random.Random, tally: Tally) -> None:
    """Send a request, and go away before it is answered."""
    body = body | ({"stream": True} if draw.random() < 0.5 else {})
    try:
        async with asyncio.timeout(draw.uniform(0.01, 1.0)):
            await http.post(f"{url}/v1/chat/completions", json=body)
    except (TimeoutError, httpx.HTTPError):
        pass
    tally.done["dropped"] += 1


async def load(url: str, clients: int, seconds: float, memory: Any, *, plain: bool = False) -> Tally:
    """Have many clients ask at once, and look at the memory of the server meanwhile."""
    tally = Tally()
    until = time.monotonic() + seconds
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=clients)
    async with httpx.AsyncClient(timeout=600, limits=limits) as http:
        tasks = [asyncio.create_task(client(http, url, seed, until, tally, plain=plain)) for seed in range(clients)]
        while (left_s := until - time.monotonic()) > 0:
            await asyncio.sleep(min(10, left_s))
            told = f"{seconds - until + time.monotonic():5.0f} s: {memory()} MB, {sum(tally.done.values())} requests"
            print(f"  after {told}", flush=True)
        await asyncio.gather(*tasks)
        for _ in range(100):
            left = dict(
                re.findall(
                    r"^(schemagen_waiting|schemagen_running) ([0-9.]+)$",
                    (await http.get(f"{url}/metrics")).text,
                    re.MULTILINE,
                )
            )
            if set(map(float, left.values())) == {0.0}:
                break
            await asyncio.sleep(0.1)
        print(f"  texts left in the server: {left}")
    return tally


class Batch:
    """The same kinds of requests through `lm.batch`.

    Args:
        rows: At once.
        plain: Whether the requests are those of `--plain`.
    """

    def __init__(self, rows: int, *, plain: bool) -> None:
        import torch

        import schemagen

        torch.set_num_threads(1)
        self.rows = rows
        self.lm = schemagen.load_bundled()
        draw = random.Random(0)
        self.asked = [drawn(draw, plain=plain) for _ in range(6 * rows)]
        self.write(self.asked[: 2 * rows])  # which compiles

    def rate(self) -> float:
        """Return how many tokens it writes in a second of CPU time."""
        started, cpu = time.monotonic(), time.process_time()
        tokens = self.write(self.asked)
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        print(
            f"lm.batch, {self.rows} rows at once: {len(self.asked) / seconds:.1f} requests/s, {tokens / seconds:.0f} tokens/s, "
            f"{tokens / cpu:.0f} tokens per second of a core",
            flush=True,
        )
        return tokens / cpu

    def write(self, asked: list[tuple[str, dict[str, Any]]]) -> int:
        """Write the answers to some requests; return how many tokens they have."""
        sampled = [each for each in asked if each[0] == "sampled"]
        tools = [each for each in asked if "tools" in each[1]]
        greedy = [each for each in asked if each not in sampled and each not in tools]
        found = self.answers(greedy) + self.calls(tools)
        return found + (self.answers(sampled, do_sample=True, temperature=1.2, top_p=0.9, seed=0) if sampled else 0)

    def answers(self, asked: list[tuple[str, dict[str, Any]]], **options: Any) -> int:
        """Write those without tools."""
        from schemagen.generation import Failure

        prompts = [body["messages"] for _, body in asked]
        specs = [spec_of(body) for _, body in asked]
        found = self.lm.run_batch(
            prompts, specs, max_new_tokens=BUDGET, batch_size=self.rows, progress=False, **options
        )
        return sum(0 if isinstance(each, Failure) else each.new_tokens for each in found)

    def calls(self, asked: list[tuple[str, dict[str, Any]]]) -> int:
        """Write those with tools: the rows as the server makes them, and a reader of each answer."""
        from schemagen.decode.batch import Row, decode_batch
        from schemagen.serve import ServerLimits
        from schemagen.serve.constraints import Compiler
        from schemagen.serve.planning import Planner
        from schemagen.serve.requests import ChatRequest

        limits = ServerLimits()
        planner = Planner(self.lm, Compiler(self.lm.vocabulary, limits.compile, lambda _: None), limits)
        plans = [planner.chat(ChatRequest.model_validate(body)) for _, body in asked]
        rows = [Row(plan.prompts[0], plan.constraint) for plan in plans]
        tokens = 0
        pad = self.lm.tokenizer.pad_token_id
        for index, decoded in decode_batch(
            self.lm.model, rows, batch_size=self.rows, pad_token_id=pad, max_new_tokens=BUDGET
        ):
            reader = plans[index].reader()
            reader.feed(decoded.token_ids)
            reader.end("stop")
            tokens += len(decoded.token_ids)
        return tokens


def spec_of(body: dict[str, Any]) -> Any:
    """Return the spec that a request asks for, an object of its own as in each request."""
    import schemagen

    if "guided_regex" in body:
        return schemagen.Regex(body["guided_regex"])
    if "guided_choice" in body:
        return schemagen.Choice(body["guided_choice"])
    return copy.deepcopy(body.get("guided_json") or body["response_format"]["json_schema"]["schema"])


def tokens_written(url: str) -> float:
    """Return how many tokens a server has written, those of dropped requests included."""
    text = httpx.get(f"{url}/metrics").text
    return float(re.search(r"^schemagen_completion_tokens_total ([0-9.e+]+)$", text, re.MULTILINE)[1])


def started_server(rows: int, waiting: int) -> tuple[subprocess.Popen[str], str]:
    """Start a server, and return it with its address."""
    command = [sys.executable, "-m", "schemagen", "serve", "--bundled", "--port", "0", "--max-rows", str(rows),
               "--max-waiting", str(waiting)]  # fmt: skip
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=one_thread)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"http://\S+:\d+", line):
            return process, found[0]
    raise SystemExit("the server did not start")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--waiting", type=int, default=256)
    parser.add_argument(
        "--plain", action="store_true", help="only the requests that lm.batch writes, too, and none dropped"
    )
    parser.add_argument("--batch", action="store_true", help="compare with lm.batch")
    options = parser.parse_args()
    batch = Batch(options.rows, plain=options.plain) if options.batch else None
    rates = [] if batch is None else [batch.rate()]
    process, url = started_server(options.rows, options.waiting)
    server = psutil.Process(process.pid)
    try:
        print("warm-up")
        asyncio.run(load(url, options.clients, 5, lambda: server.memory_info().rss >> 20, plain=options.plain))
        begun = time.monotonic()
        before, known = sum(server.cpu_times()[:2]), tokens_written(url)
        print(f"{options.clients} clients for {options.seconds:.0f} s")
        tally = asyncio.run(
            load(url, options.clients, options.seconds, lambda: server.memory_info().rss >> 20, plain=options.plain)
        )
        seconds = time.monotonic() - begun
        cpu = sum(server.cpu_times()[:2]) - before
        written = tokens_written(url) - known
    finally:
        process.terminate()
        process.wait(30)
    waits = sorted(tally.seconds)
    print(f"{sum(tally.done.values())} requests in {seconds:.0f} s: {dict(tally.done)}")
    print(
        f"{written / seconds:.0f} tokens/s written, the server had {cpu / seconds:.0%} of a core: {written / cpu:.0f} tokens "
        "per second of a core"
    )
    if batch is not None:
        rates.append(batch.rate())
        print(f"{written / cpu / (sum(rates) / 2):.2f} of lm.batch per second of a core")
    print(f"seconds of an answer: median {waits[len(waits) // 2]:.2f}, 95 % {waits[int(len(waits) * 0.95)]:.2f}")
    print("\n".join(["WRONG:", *tally.wrong[:20]]) if tally.wrong else "every answer valid, or a typed error")
    sys.exit(bool(tally.wrong))


if __name__ == "__main__":
    main()
