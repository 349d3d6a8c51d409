"""Validators in the loop: valid answers, and their cost, on tasks whose fields have a checksum.

    python benchmarks/validators.py --model models/smollm2

No schema expresses a checksum, so each way has to get past a validator:

- `at the end`: the value is validated when it is complete, and refused.
- `retries`: the model is asked again with the reason, up to so many times (`retries=`).
- `tries`: the refused field is written again, up to so many values (`tries=`).
- `checker`: a `Checker` forbids the last digits that are wrong while they are written.

Tasks: copy a card number or an IBAN out of a made-up message, and invent a card number. Cost: tokens that the model read or
wrote, prompts included, for each valid answer. For copied numbers, a valid one is also compared with the one in the message: a
checksum cannot tell that the model made up another valid number.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Annotated, Any

import harness
from pydantic import BaseModel, Field

import schemagen
from schemagen import Check, Checker

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Of a random number one in ten passes the check of cards, one in 97 that of IBANs.
TRIES = {"copy a card": 16, "copy an IBAN": 50, "invent a card": 16}
RETRIES = 3


def luhn(digits: str) -> int:
    """Return the sum of a card number that has to be a multiple of ten (ISO/IEC 7812-1)."""
    doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(digits)] if len(digits) % 2 == 0 else []
    return sum(value - 9 if value > 9 else value for value in doubled)


def is_card(number: str) -> bool:
    """Whether a card number has the right check digit."""
    return len(number) == 16 and luhn(number) % 10 == 0


def is_iban(text: str) -> bool:
    """Whether an IBAN has the right check digits (ISO 13616: modulo 97)."""
    moved = text[4:] + text[:4]
    return int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


def _card(draw: random.Random) -> str:
    first = "4" + "".join(draw.choice("0123456789") for _ in range(14))
    return next(first + last for last in "0123456789" if is_card(first + last))


def _iban(draw: random.Random) -> str:
    account = "".join(draw.choice("0123456789") for _ in range(18))
    return next(iban for check in range(2, 99) if is_iban(iban := f"DE{check:02}{account}"))


def _card_prefix(text: str) -> str | None:
    return None if len(text) < 16 or is_card(text) else "the check digit is wrong"


def _iban_prefix(text: str) -> str | None:
    return None if len(text) < 22 or is_iban(text) else "the check digits are wrong"


CARD = Field(pattern=r"^[0-9]{16}$")
IBAN = Field(pattern=r"^DE[0-9]{20}$")
_VALID_CARD = Check(is_card, message="the check digit of the card number is wrong")
_VALID_IBAN = Check(is_iban, message="the check digits of the IBAN are wrong")


class Payment(BaseModel):
    """A payment by card."""

    name: str
    card: Annotated[str, CARD, _VALID_CARD]


class Transfer(BaseModel):
    """A transfer."""

    name: str
    iban: Annotated[str, IBAN, _VALID_IBAN]


class CheckedPayment(BaseModel):
    """A payment by card whose number is steered digit by digit."""

    name: str
    card: Annotated[str, CARD, Checker(_card_prefix)]


class CheckedTransfer(BaseModel):
    """A transfer whose IBAN is steered digit by digit."""

    name: str
    iban: Annotated[str, IBAN, Checker(_iban_prefix)]


NAMES = (
    "Ada Lovelace",
    "Alan Turing",
    "Grace Hopper",
    "Emmy Noether",
    "Kurt Goedel",
    "Sofia Kovalevskaya",
    "Mary Somerville",
)


def questions(task: str, count: int, seed: int) -> Iterator[tuple[str, str | None]]:
    """Yield prompts, and the number that each has in it."""
    draw = random.Random(f"{task} {seed}")
    for _ in range(count):
        name = draw.choice(NAMES)
        if task == "copy a card":
            card = _card(draw)
            spaced = " ".join(card[place : place + 4] for place in range(0, 16, 4))
            yield f"{name} wrote: Please charge my card {spaced}, it expires next year.", card
        elif task == "copy an IBAN":
            iban = _iban(draw)
            spaced = " ".join(iban[place : place + 4] for place in range(0, 22, 4))
            yield f"{name} wrote: Send the money to my account {spaced}, as always.", iban
        else:
            yield f"Invent a card number for {name} that passes the check of card numbers.", None


TASKS: dict[str, tuple[Any, Any, str]] = {
    "copy a card": (Payment, CheckedPayment, "card"),
    "copy an IBAN": (Transfer, CheckedTransfer, "iban"),
    "invent a card": (Payment, CheckedPayment, "card"),
}
WAYS: dict[str, dict[str, Any]] = {
    "at the end": {},
    "retries": {"retries": RETRIES},
    "tries": {},
    "tries, drawn": {"temperature": 0.7},
    "checker": {},
}


class Meter:
    """Counts the tokens that a model reads."""

    def __init__(self, model: Any) -> None:
        self.tokens = 0
        model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, args: Any, options: Any) -> None:
        ids = options["input_ids"] if "input_ids" in options else args[0]
        self.tokens += ids.numel()


def measure(lm: Any, meter: Meter, task: str, way: str, asked: list[tuple[str, str | None]]) -> dict[str, Any]:
    """Return the outcomes of some questions in one way."""
    plain, checked, name = TASKS[task]
    meter.tokens, valid, right, refused = 0, 0, 0, 0
    for index, (prompt, truth) in enumerate(asked):
        options: dict[str, Any] = dict(WAYS[way])
        if way.startswith("tries"):
            options["tries"] = TRIES[task]
        if "temperature" in options:
            options["seed"] = index
        try:
            found = lm.run(prompt, checked if way == "checker" else plain, max_new_tokens=96, **options)
        except schemagen.ValidationFailed as error:
            refused += len(error.refused)
            continue
        valid += 1
        refused += len(found.refused)
        right += truth is not None and getattr(found.value, name) == truth
    return {
        "asked": len(asked),
        "valid": valid,
        "right": right if asked[0][1] is not None else None,
        "refused": refused,
        "tokens": meter.tokens,
        "tokens_per_valid": round(meter.tokens / valid, 1) if valid else None,
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the result."""
    made = harness.parser(__doc__, "validators")
    harness.model_options(made)
    made.add_argument("--count", type=int, default=20, help="questions of each task")
    made.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    made.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    options = made.parse_args(arguments)
    lm = harness.load_model(options)
    meter = Meter(lm.model)
    results: dict[str, Any] = {}
    for task in options.tasks:
        asked = list(questions(task, options.count, options.seed))
        results[task] = {}
        for way in options.ways:
            results[task][way] = measure(lm, meter, task, way, asked)
            print(f"{task:14} {way:14} {results[task][way]}", flush=True)
        settings = {name: getattr(options, name) for name in ("label", "count", "threads", "seed")}
        settings |= {"tries": TRIES, "retries": RETRIES}
        harness.write_result(options.out, "validators", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
