"""A process may be forked while threads of it compile and fill: the child works."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("schemagen._core", reason="the compiled core")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")

PROGRAM = """
import faulthandler, os, random, signal, sys, threading, time, warnings
import schemagen
warnings.simplefilter("ignore")  # Python 3.12 and later warn of a fork beside threads
V = schemagen.Vocabulary.byte_vocabulary()
LONG = schemagen.Limits(max_seconds=100)  # a machine may be slow
HOST = schemagen.compile({"type": "string", "format": "idn-hostname"}, V, limits=LONG)
SLOW = schemagen.compile(schemagen.Regex("((((a{1,10}){1,10}){1,10}){1,10}){1,10}"), V, limits=LONG)
DEEP = {"type": "integer"}
for _ in range(100):
    DEEP = {"type": "object", "properties": {"a": DEEP}, "required": ["a"]}
DEEP = schemagen.compile(DEEP, V, limits=LONG)

def compiling(k):
    for i in range(10**9):
        schemagen.compile({"properties": {f"z{k}-{i}": {"type": "integer"}}}, V, limits=LONG)
def filling(k):
    rng = random.Random(k)
    while True:
        matcher = HOST.matcher()
        for _ in range(300):
            matcher.accept_token(rng.choice(matcher.allowed_tokens()))
            if matcher.is_terminated():
                break
def long_calls(k):
    while True:
        try:
            SLOW.matcher().accept_bytes(b"a" * 100)
        except schemagen.LimitError:
            pass
def asking(k):
    while True:
        DEEP.__dict__.pop("_min_new_tokens", None)
        DEEP.min_new_tokens

def work(i):
    schemagen.compile({"properties": {f"q{i}": {"type": "integer"}}}, V, limits=LONG).matcher().allowed_tokens()
    assert HOST.matcher().accept_bytes(b'"example.com"')
    assert SLOW.matcher().accept_bytes(b"a")
    DEEP.min_new_tokens
    schemagen.cache_info()
    schemagen.clear_cache()

def children(count):
    ended = []
    for i in range(count):
        pid = os.fork()
        if pid == 0:
            faulthandler.dump_traceback_later(60, exit=True)
            work(i)
            os._exit(0)
        ended.append(os.waitpid(pid, 0)[1])
        time.sleep(0.01)
    return ended
"""


def run(program: str) -> str:
    """Return what a process prints that runs the program behind `PROGRAM`."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("busy", ["compiling", "filling", "long_calls", "asking"])
def test_a_child_works_whatever_threads_of_its_parent_do(busy):
    """Children that are forked while four threads are at work compile, fill and end."""
    program = f"""
for k in range(4):
    threading.Thread(target={busy}, args=(k,), daemon=True).start()
time.sleep(0.3)
print(children(5))
"""
    assert run(program) == str([0] * 5)


def test_a_prefork_server():
    """A master that compiles in threads forks four workers, which serve in threads, and replaces one that ends."""
    program = """
for k in range(2):
    threading.Thread(target=compiling, args=(k,), daemon=True).start()
time.sleep(0.2)

def worker(number):
    def serve(k):
        for i in range(2):
            work(f"{number}-{k}-{i}")
    threads = [threading.Thread(target=serve, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def start(number):
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            worker(number)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return pid

waiting, started, ended = {start(k) for k in range(4)}, 4, []
while waiting:
    pid, status = os.wait()
    waiting.discard(pid)
    ended.append(status)
    if started < 5:
        waiting.add(start(started))
        started += 1
print(ended)
"""
    assert run(program) == str([0] * 5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "call", ['lm("Ada, 36", int)', 'lm.batch(["Ada, 36"] * 2, int)', 'lm.generate_text("Ada, 36")']
)
def test_a_process_decodes_after_a_fork(call):
    """The threads of torch are gone in a forked process; an operation that they share would wait for ever."""
    program = f"""
import os, signal, sys, torch, schemagen
torch.set_num_threads(2)
big = torch.ones(1 << 20)
big.cos()  # shared among the threads
lm = schemagen.load_bundled()
{call}
if os.fork() == 0:
    signal.alarm(120)
    {call}
    assert torch.get_num_threads() == 1
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


STREAMING = """
import faulthandler, os, threading, warnings
import schemagen
warnings.simplefilter("ignore")  # Python 3.12 and later warn of a fork beside threads
faulthandler.dump_traceback_later(120, exit=True)
texts = {"type": "array", "items": {"type": "string", "minLength": 3, "maxLength": 6}, "minItems": 60, "maxItems": 60}
stream = schemagen.load_bundled().stream("x", texts, max_new_tokens=500)
next(stream)
making = threading.Event()
inner, stream._tokens._next = stream._tokens._next, lambda: (making.set(), inner())[1]
other = threading.Thread(target=lambda: list(stream))
other.start()
making.wait()
pid = os.fork()
if pid == 0:
    stream.close()
    os._exit(0)
print(os.waitpid(pid, 0)[1])
other.join()
"""


def test_a_child_closes_a_stream_that_another_thread_was_stepping() -> None:
    """The lock of the step stays held in the child, where its thread is gone."""
    run = subprocess.run([sys.executable, "-c", STREAMING], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "0\n"), run.stderr
