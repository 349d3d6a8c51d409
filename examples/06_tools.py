"""Functions that a model calls: one call, then a chat of two steps.

The call is made by the bundled model. It cannot hold a conversation, so the chat is spoken by a model that is
*scripted*: it wants to say the lines below, under the same constraint as any other. With a model from the hub, the call
would be the same: `schemagen.load("Qwen/Qwen3-0.6B").chat("...", [find_trains, price_of])`.
"""

from typing import Any, Literal

import torch

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


def price_of(trains: list[str], ticket: Literal["single", "return"] = "single") -> dict[str, float]:
    """Look up the price of some trains."""
    return {train: PRICES[train] * (2 if ticket == "return" else 1) for train in trains}


def set_timer(minutes: int) -> str:
    """Set a timer."""
    return f"a timer of {minutes} minutes is set"


class ScriptedModel:
    """Stands in for a language model: it wants to say some lines, one per answer, and the mask decides."""

    def __init__(self, lm: schemagen.LanguageModel, lines: list[str]) -> None:
        self.model, self.tokenizer, self.lines = lm.model, lm.tokenizer, iter(lines)

    def __getattr__(self, name: str) -> Any:
        """Be the bundled model in everything else."""
        return getattr(self.model, name)

    def generate(self, input_ids: torch.Tensor, logits_processor: list[Any], **_: Any) -> torch.Tensor:
        """Take the next line's tokens, each if it is allowed."""
        wanted = self.tokenizer.encode(next(self.lines), add_special_tokens=False)
        for token in [*wanted, self.tokenizer.eos_token_id]:
            scores = torch.zeros(1, self.config.vocab_size)
            scores[0, token] = 1
            for processor in logits_processor:
                scores = processor(input_ids, scores)
            input_ids = torch.cat([input_ids, scores.argmax(dim=-1, keepdim=True)], dim=1)
        return input_ids


lm = schemagen.load_bundled()
call = lm.call("Set a timer for 10 minutes", [find_trains, set_timer], tool_choice="required")
print(f"{call.name}({call.arguments!r})")
print(call())

scripted = schemagen.from_transformers(
    ScriptedModel(
        lm,
        [
            '{"name": "find_trains", "arguments": {"start": "Muenchen", "to": "Wien"}}',
            '{"name": "find_trains", "arguments": {"start": "Munich", "to": "Vienna"}}',
            '{"name": "price_of", "arguments": {"trains": ["RJX 61", "RJX 65"]}}',
            "The cheapest is RJX 65, for 39.90.",
        ],
    ),
    lm.tokenizer,
)
chat = scripted.chat("What is the cheapest train from Munich to Vienna?", [find_trains, price_of])
for result in chat.results:
    print(f"{result.call} -> {result.text.splitlines()[0]}")
print(chat.text)
