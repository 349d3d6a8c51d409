"""Functions that a model calls: one call, then a chat in which the model decides when to call and when to answer.

The chat takes two steps before the answer, and the second needs the result of the first: find the trains, then their prices.
With a model from the hub, everything is the same: `schemagen.load("Qwen/Qwen3-0.6B").chat("...", [find_trains, price_of])`.
"""

import schemagen

TRAINS = {("Munich", "Vienna"): ["RJX 61", "RJX 65"], ("Vienna", "Munich"): ["RJX 60"]}
PRICES = {"RJX 61": 59.90, "RJX 65": 39.90, "RJX 60": 49.90}


@schemagen.tool
def find_trains(start: str, to: str) -> list[str]:
    """Find the trains between two cities.

    Args:
        start: A city, by its English name.
        to: A city, by its English name.
    """
    if (start, to) not in TRAINS:
        raise schemagen.ToolRetry(f"no trains from {start} to {to}: use the English names")
    return TRAINS[start, to]


def price_of(trains: list[str]) -> dict[str, float]:
    """Look up the price of some trains."""
    return {train: PRICES[train] for train in trains}


def set_timer(minutes: int) -> str:
    """Set a timer."""
    return f"a timer of {minutes} minutes is set"


lm = schemagen.load_bundled()
call = lm.call("Set a timer for 10 minutes", [find_trains, set_timer], tool_choice="required")
print(repr(call.arguments))
print(call())

for prompt in ("What do the trains from Munich to Vienna cost?", "Set a timer for 5 minutes", "Hello, I am Ada."):
    chat = lm.chat(prompt, [find_trains, price_of, set_timer])
    print(f"\n{prompt}")
    for result in chat.results:
        print(f"  {result.call} -> {result.text}")
    print(f"  {chat.text}")
