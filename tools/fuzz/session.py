"""A session of fuzzing: cases of each target in turn until the time is over, with findings made smaller and kept."""

from __future__ import annotations

import argparse
import json
import random
import signal
import threading
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.fuzz.shrinking import shrunk
from tools.fuzz.targets import TARGETS
from tools.fuzz.walks import NothingToCheckError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.fuzz.cases import Case

ROOT = Path(__file__).parents[2]
#: Where findings go. The case in progress is in a file beside it, which remains if the process dies.
RECORD = ROOT / "build" / "fuzz" / "findings.jsonl"
SHRINKING_SECONDS = 5.0
#: For a case: lark and `re` may need exponential time, and schemagen has limits of its own.
CASE_SECONDS = 5.0


class Outcome(NamedTuple):
    """The result of a case.

    Attributes:
        failure: The message of what failed; None if nothing did.
        label: What fails alike has the same label; the reason where there was nothing to check; else empty.
    """

    failure: str | None
    label: str


def outcome_of(target: str, case: Case) -> Outcome:
    """Check a case.

    Args:
        target: A name in `TARGETS`.
        case: The case.
    """
    try:
        with _time_limit(CASE_SECONDS):
            TARGETS[target].check(case)
    except NothingToCheckError as reason:
        return Outcome(None, str(reason))
    except AssertionError as error:
        return Outcome(str(error), str(error).partition(":")[0])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        return Outcome(f"{type(error).__name__}: {error}", type(error).__name__)
    return Outcome(None, "")


def case_of(target: str, seed: str) -> Case:
    """Return the case of a seed.

    Args:
        target: A name in `TARGETS`.
        seed: As it is printed and recorded.
    """
    return TARGETS[target].case(random.Random(f"{target} {seed}"))


def replayed(lines: Iterator[str]) -> Iterator[tuple[dict[str, Any], Outcome]]:
    """Yield each entry of a file of findings with the outcome of today.

    Args:
        lines: JSON objects: `target`, and `case` or `seed`.
    """
    for line in lines:
        if line.strip():
            entry = json.loads(line)
            case = entry["case"] if "case" in entry else case_of(entry["target"], entry["seed"])
            yield entry, outcome_of(entry["target"], case)


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, or replay a file; return the exit status.

    Args:
        arguments: Of the command line.
    """
    given = _parser().parse_args(arguments)
    if given.replay:
        return _replay(given.replay)
    seed = given.seed if given.seed is not None else random.randrange(10**6)
    targets = [given.only] if given.only else list(TARGETS)
    print(f"seed {seed}, {given.seconds:g} s of {', '.join(targets)}", flush=True)
    given.seconds /= len(targets)
    findings = 0
    for target in targets:
        findings += _fuzz(target, seed, given)
    return 1 if findings else 0


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise `NothingToCheckError` if the block takes longer, where there are such signals, and this is the main thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise NothingToCheckError("out of time")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again each second, where somebody catches it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/fuzz", description="Fuzz schemagen against its oracles.")
    parser.add_argument("--seconds", type=float, default=60, help="how long, all targets together")
    parser.add_argument(
        "--seed", type=int, help="equal seeds draw equal cases (default: a random one, which is printed)"
    )
    parser.add_argument("--cases", type=int, default=10**9, help="how many of each target, at most")
    parser.add_argument("--only", choices=list(TARGETS), help="one target alone")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="check the cases of a file again instead")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file that findings are added to")
    return parser


def _replay(path: Path) -> int:
    failed = 0
    with path.open(encoding="utf-8") as lines:
        for number, (entry, outcome) in enumerate(replayed(lines), start=1):
            print(f"{path.name}:{number}: {entry['target']}: {outcome.failure or outcome.label or 'passes'}")
            failed += outcome.failure is not None
    return 1 if failed else 0


def _fuzz(target: str, seed: int, given: argparse.Namespace) -> int:
    """Check cases of one target, and return how many failed."""
    running = given.record.with_suffix(".running")
    running.parent.mkdir(parents=True, exist_ok=True)
    start, number, labels, reasons = time.monotonic(), 0, Counter[str](), defaultdict[str, list[str]](list)
    while time.monotonic() - start < given.seconds and number < given.cases:
        case_seed = f"{seed}/{number}"
        case = case_of(target, case_seed)
        running.write_text(json.dumps({"target": target, "seed": case_seed, "case": case}) + "\n", encoding="utf-8")
        outcome = outcome_of(target, case)
        number += 1
        if outcome.failure is None:
            reasons[outcome.label].append(case_seed)
            continue
        labels[outcome.label] += 1
        # More of the same are counted only, so that one mistake does not hide others.
        if labels[outcome.label] <= 3:
            _report(target, case_seed, case, outcome, given.record)
    running.unlink(missing_ok=True)
    rate = number / (time.monotonic() - start)
    print(
        f"{target}: {number} cases, {rate:.0f} a second, {sum(labels.values())} findings {dict(labels) or ''}",
        flush=True,
    )
    for reason, seeds in sorted(reasons.items(), key=lambda item: -len(item[1])):
        if reason:
            print(f"  nothing to check in {len(seeds)}: {reason} (such as seed {seeds[0]})")
    return sum(labels.values())


def _report(target: str, seed: str, case: Case, outcome: Outcome, record: Path) -> None:
    def fails(smaller: Case) -> bool:
        if smaller.keys() != case.keys():
            return False
        again = outcome_of(target, smaller)
        return again.failure is not None and again.label == outcome.label

    small = shrunk(case, fails, SHRINKING_SECONDS)
    message = outcome_of(target, small).failure or outcome.failure
    entry = {"target": target, "seed": seed, "case": small, "message": message}
    print(f"FINDING in {target}, seed {seed}: {message}\n  {json.dumps(small)}", flush=True)
    with record.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
