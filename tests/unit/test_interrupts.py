"""Long calls end at Ctrl-C, keep to `Limits.max_seconds`, and let other threads run."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest

import schemagen

pytest.importorskip("schemagen._core", reason="the calls of the compiled core")

NESTED = "((((a{1,10}){1,10}){1,10}){1,10}){1,10}"
#: Each takes many seconds where nothing stops it.
CALLS = {
    "compile": "schemagen.compile(schemagen.Regex('|'.join(str(random.random()) for _ in range(150_000))), V, limits=L)",
    "accept_bytes": "schemagen.compile(schemagen.Regex(NESTED), V, limits=L).matcher().accept_bytes(b'a' * 1000)",
    "min_new_tokens": "schemagen.compile(schemagen.Regex('(a{2,3}b?){20000}c'), V, limits=L).min_new_tokens",
    "lark": "[schemagen.compile(schemagen.Lark('start: ' + ' '.join(chr(34) + str(n) + chr(34) for n in range(k, k + 350))), V,"
    " limits=L) for k in range(1000)]",
    "fill": "schemagen.compile(schemagen.Regex(NESTED), LONG, limits=L).matcher()"
    ".fill_next_token_bitmask(np.zeros((1, 9), np.int32))",
    "fill of many rows": "schemagen.fill_next_token_bitmasks([m.matcher() for m in [schemagen.compile("
    "schemagen.Regex(NESTED), LONG, limits=L)] * 32], np.zeros((32, 9), np.int32), threads=3)",
}
PROGRAM = """
import json, os, random, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import numpy as np
import schemagen
NESTED = {nested!r}
V, L = schemagen.Vocabulary.byte_vocabulary(), schemagen.Limits(max_seconds=300)
LONG = schemagen.Vocabulary(tuple(b"a" * length for length in range(1, 257)) + (b"",), (256,))
ticks, sent, stop = 0, [], threading.Event()
def tick():
    global ticks
    while not stop.wait(0.001):
        ticks += 1
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=tick, daemon=True).start()
threading.Timer(0.5, send).start()
try:
    {call}
    ended = "nothing"
except BaseException as error:
    ended = type(error).__name__
stop.set()
print(json.dumps([ended, time.monotonic() - sent[0] if sent else None, ticks]))
"""


@pytest.mark.parametrize("name", list(CALLS))
def test_ctrl_c_ends_a_long_call(name):
    """SIGINT surfaces as KeyboardInterrupt within seconds at worst, and other threads have run meanwhile."""
    program = PROGRAM.format(nested=NESTED, call=CALLS[name])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    ended, after, ticks = json.loads(done.stdout)
    assert ended == "KeyboardInterrupt"
    assert after < 5  # 0.02 to 0.1 s on an idle machine
    assert ticks > 20


def test_an_interrupt_while_an_error_is_made_is_no_other_error():
    """A KeyboardInterrupt that comes while the core makes a LimitError stays a KeyboardInterrupt."""
    program = """
import schemagen, schemagen.errors, signal, os
signal.signal(signal.SIGINT, signal.default_int_handler)
def init(self, *args, **kwargs):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): pass
schemagen.errors.LimitError.__init__ = init
matcher = schemagen.compile(schemagen.Regex("(a|b)*a(a|b){30}"), schemagen.Vocabulary.byte_vocabulary(),
                            limits=schemagen.Limits(max_states=5)).matcher()
try:
    matcher.accept_bytes(b"ababbabaabbababbabbbabababab")
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "KeyboardInterrupt", done.stderr[-2000:]


def test_a_handler_that_comes_back_is_refused():
    """A signal handler that calls schemagen while it interrupts a call of it gets an error, no deadlock."""
    program = f"""
import schemagen, signal, threading, os
V = schemagen.Vocabulary.byte_vocabulary()
matcher = schemagen.compile(schemagen.Regex({NESTED!r}), V, limits=schemagen.Limits(max_seconds=60)).matcher()
def handler(number, frame):
    matcher.allowed_tokens()
signal.signal(signal.SIGINT, handler)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    matcher.accept_bytes(b"a" * 1000)
except schemagen.MatcherError as error:
    print(error.fact)
print(matcher.is_accepting(), matcher.accept_bytes(b"a"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert "same thread was inside a call" in done.stdout, done.stderr[-2000:]
    assert "False True" in done.stdout


@pytest.mark.parametrize(
    "ask",
    [
        lambda matcher: matcher.accept_bytes(b"a" * 100),
        lambda matcher: matcher.tokens_to_finish() and matcher.accept_bytes(b"a" * 100),
        lambda matcher: matcher.explain(ord("b")) and matcher.accept_bytes(b"a" * 100),
    ],
    ids=["accept_bytes", "tokens_to_finish", "explain"],
)
def test_max_seconds_bounds_every_call(ask):
    """A pattern of nested counts compiles at once, and a call that takes too long is a LimitError that names the knob."""
    grammar = schemagen.compile(
        schemagen.Regex(NESTED),
        schemagen.Vocabulary.byte_vocabulary(),
        limits=schemagen.Limits(max_seconds=0.2),
        cache=None,
    )
    with pytest.raises(schemagen.LimitError, match=r"limit 0\.2 s") as caught:
        ask(grammar.matcher())
    assert "max_seconds" in caught.value.fix
    assert grammar.matcher().accept_bytes(b"a")


def test_a_limit_of_states_is_told_as_it_was_given():
    """Whatever is counted below, the number that an error calls the limit is that of `Limits`."""
    grammar = schemagen.compile(
        schemagen.Regex(f"({NESTED}){{1,10}}"),
        schemagen.Vocabulary.byte_vocabulary(),
        limits=schemagen.Limits(max_states=2000),
        cache=None,
    )
    with pytest.raises(schemagen.LimitError, match="limit is 2000 states"):
        grammar.matcher().accept_bytes(b"a" * 100)


def _worst_share(call):
    """Return the longest that another thread had to wait, as a share of a call; in processor time of this thread."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    gaps, stop = [0.0], threading.Event()

    def watch():
        last = time.clock_gettime(clock)
        while not stop.is_set():
            now = time.clock_gettime(clock)
            gaps.append(now - last)
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.thread_time()
    call()
    whole = time.thread_time() - began
    stop.set()
    watcher.join()
    return max(gaps) / whole


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="no clock of a thread here")
def test_other_threads_run_while_many_texts_are_sorted():
    """Texts of an enum or a Choice are copied bit by bit, and sorted without the interpreter's lock."""
    from schemagen._core import Builder

    texts = [b"%06d" % (number * 7919 % 1_000_003) for number in range(400_000)]
    assert min(_worst_share(lambda: Builder(max_states=10**7).literals(texts)) for _ in range(3)) < 0.25


def test_a_choice_of_many_texts_is_cheap():
    """100,000 texts are made by the core at once: within the limits, where as many expressions would be beyond them."""
    texts = [f"{number * 7919 % 1_000_003:06d}é" for number in range(100_000)]
    grammar = schemagen.compile(schemagen.Choice(texts), schemagen.Vocabulary.byte_vocabulary(), cache=None)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(texts[5][:6].encode())
    assert matcher.allowed_tokens() == ["é".encode()[0]]
    assert matcher.accept_bytes("é".encode())
    assert matcher.is_accepting()
    assert not grammar.matcher().accept_bytes(b"99999a")


@pytest.mark.parametrize("odd", ["a" * 5000, "\ud800"])
def test_a_choice_of_many_texts_may_have_an_odd_one(odd):
    """A text that the core does not take as it is leaves the others what they are."""
    choice = schemagen.Choice([odd, *map(str, range(2000))])
    matcher = schemagen.compile(choice, schemagen.Vocabulary.byte_vocabulary(), cache=None).matcher()
    assert matcher.fork().accept_bytes(b"1999")
    assert not matcher.fork().accept_bytes(b"2000")
    assert matcher.accept_bytes(b"aaa") == odd.startswith("a")
