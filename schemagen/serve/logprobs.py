"""The log-probabilities of the tokens of a content, in step with its text.

A job notes what the model expects at each token, before the mask and after it (`schemagen.decode.token_records`). Its reader
says where in the content each token is, and takes the tokens of each piece of text that it sends. So a token goes with the
piece that has its first character: text that is held back, because a character or a marker is not complete, holds its tokens
back, too.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.decode.token_records import Alternative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.token_records import Records, TokenRecord
    from schemagen.vocabulary import Vocabulary

#: JSON has no infinity; OpenAI's API sends this for tokens that are as good as impossible.
_LEAST = -9999.0


@dataclass(frozen=True, slots=True)
class Logprob:
    """A token of a content.

    Attributes:
        start: Offset of its first character in the content.
        told: The token as chats write it: `token`, `bytes`, `logprob`, `top_logprobs`, and the extension `schemagen`.
    """

    start: int
    told: dict[str, Any]


class ContentTokens:
    """The tokens of one content, until their text is sent.

    Args:
        records: Of all tokens of the generation so far; the job adds to them.
        vocabulary: The bytes of the tokens.
        top: How many of the likeliest tokens each entry has.
    """

    def __init__(self, records: Records, vocabulary: Vocabulary, top: int) -> None:
        self._records, self._vocabulary, self._top = records, vocabulary, top
        self._waiting: deque[tuple[int, int, int]] = deque()

    def add(self, index: int, start: int, end: int) -> None:
        """Add a token.

        Args:
            index: Its index in the generation.
            start: Offset of its text, in units of the reader's choice.
            end: Offset after it; a token that completes no character has a part of the next one.
        """
        self._waiting.append((index, start, max(end, start + 1)))

    def take(self, start: int, end: int) -> list[Logprob]:
        """Return the tokens of a piece of the content that were not returned yet; those before it belong to no content."""
        found = []
        while self._waiting and self._waiting[0][1] < end:
            index, first, last = self._waiting.popleft()
            if last > start:
                found.append(Logprob(first, self._told(self._records.tokens[index])))
        return found

    def _told(self, record: TokenRecord) -> dict[str, Any]:
        """Return a token as chats write it."""
        raw, allowed = record.raw_log_probability, record.log_allowed
        assert raw is not None, "the server takes no templates, so that the model is asked for each token"
        assert allowed is not None, "as above"
        among = [Alternative(record.token_id, raw, allowed=True), *record.alternatives]
        among.sort(key=lambda each: -each.log_probability)
        top = [
            {
                **self._named(each.token_id, each.log_probability),
                "schemagen": {
                    "logprob": _shown(min(each.log_probability - allowed, 0.0)) if each.allowed else None,
                    "allowed": each.allowed,
                },
            }
            for each in among[: self._top]
        ]
        own = {"logprob": _shown(record.log_probability), "forced": record.is_forced}
        return {**self._named(record.token_id, raw), "top_logprobs": top, "schemagen": own}

    def _named(self, token_id: int, log_probability: float) -> dict[str, Any]:
        """Return a token with its log-probability; one without text by its name."""
        vocabulary = self._vocabulary
        data = vocabulary.decode([token_id]) if token_id < vocabulary.size else b""
        name = data.decode("utf-8", "backslashreplace") or vocabulary.token_names.get(token_id, f"<[{token_id}]>")
        return {"token": name, "bytes": [*data] if data else None, "logprob": _shown(log_probability)}


def _shown(log_probability: float) -> float:
    return max(log_probability, _LEAST)


def in_chat(logprobs: Sequence[Logprob]) -> dict[str, Any]:
    """Return the key ``logprobs`` of a choice of a chat."""
    return {"content": [each.told for each in logprobs], "refusal": None}


def in_completion(logprobs: Sequence[Logprob]) -> dict[str, Any]:
    """Return the key ``logprobs`` of a choice of a completion; the token itself is among the likeliest, as OpenAI has it."""
    told = [each.told for each in logprobs]
    likeliest: list[dict[str, float]] = [{} for _ in told]
    for found, each in zip(likeliest, told, strict=True):
        for other in [*each["top_logprobs"], each]:
            found.setdefault(other["token"], other["logprob"])
    return {
        "tokens": [each["token"] for each in told],
        "token_logprobs": [each["logprob"] for each in told],
        "top_logprobs": likeliest,
        "text_offset": [each.start for each in logprobs],
        "schemagen": [each["schemagen"] for each in told],
    }
