"""`schemagen serve`: what it refuses before a model is loaded, and that it answers, as a process, until it is told to stop."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import warnings

import pytest
import uvicorn
from typer.testing import CliRunner

import schemagen
from schemagen.cli.commands import app
from schemagen.serve.run import Address, listen
from tests.serve.conftest import chat_body

try:
    import httpx2 as httpx
except ImportError:  # Python 3.10
    import httpx


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "--bundled"),
        (["--bundled", "--model", "x"], 2, "--bundled"),
        (["--bundled", "--host", "192.0.2.1"], 1, "open-server"),
        (["--bundled", "--host", "192.0.2.1", "--api-key", "k"], 1, "no-port"),
        (["--model", "/no/such/folder"], 1, "no-model"),
    ],
)
def test_what_cannot_be_meant_is_refused(words, status, said):
    """No model and two, an open server without a key, an address of another machine, and no such model."""
    result = CliRunner().invoke(app, ["serve", *words], env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    assert said in result.output


@pytest.mark.parametrize(
    ("words", "continuous"),
    [
        ([], None),
        (["--batching", "auto"], None),
        (["--batching", "micro"], False),
        (["--batching", "continuous"], True),
    ],
)
def test_who_batches_is_passed_on(monkeypatch, words, continuous):
    """And the timeout is a limit, and --docs is passed on."""
    found = {}
    monkeypatch.setattr("schemagen.serve.run.create_app", lambda _, **given: found.update(given))
    monkeypatch.setattr("schemagen.serve.run.listen", lambda *_: None)
    result = CliRunner().invoke(app, ["serve", "--bundled", "--timeout", "2.5", "--docs", *words])
    assert result.exit_code == 0, result.output
    assert found["continuous"] is continuous
    assert found["limits"].timeout == 2.5
    assert found["docs"] is True


@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_the_process_answers_until_it_is_told_to_stop():
    """It says where it listens, answers there, and ends in peace."""
    command = [
        sys.executable,
        "-m",
        "schemagen",
        "serve",
        "--bundled",
        "--port",
        "0",
        "--api-key",
        "k",
        "--name",
        "mine",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(120, process.kill)  # so that a fault ends the test, and not the suite
        watchdog.start()
        told = next(line for line in process.stderr if "http://" in line)
        url = re.search(r"http://127.0.0.1:\d+/v1", told)[0]
        headers = {"Authorization": "Bearer k"}
        assert httpx.get(f"{url}/models", headers=headers).json()["data"][0]["id"] == "mine"
        answer = httpx.post(
            f"{url}/chat/completions", json=chat_body(guided_choice=["a", "b"]), headers=headers, timeout=60
        )
        assert answer.json()["choices"][0]["message"]["content"] in {"a", "b"}
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        watchdog.cancel()
    assert "Traceback" not in rest, rest


def test_a_schema_of_a_client_makes_no_warning(monkeypatch):
    """A warning of Python tells who wrote the schema, and that is not who reads the terminal of the server."""
    byte_vocabulary = schemagen.Vocabulary.byte_vocabulary()
    schema = {"nothing": 1}
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: schemagen.compile(schema, byte_vocabulary, cache=None))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        listen(app, Address(port=0), lambda _: None)
    assert not caught
