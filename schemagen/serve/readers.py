"""Tokens as the parts of an answer: thoughts, text, and calls of tools, as the chunks of a stream name them.

Streamed or not, an answer goes through the same readers, so both give the same result.
"""

from __future__ import annotations

import codecs
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.calling.answer_stream import AnswerReader
from schemagen.calling.calls import ToolCall, new_id
from schemagen.decode.generate import finish
from schemagen.events import CallCompleted, CallStarted, TextDelta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.calling.labels import RawCall
    from schemagen.calling.request import CallRequest
    from schemagen.engine.protocol import Constraint
    from schemagen.prompts.reasoning_grammar import ReasoningGrammar
    from schemagen.serve.jobs import FinishReason
    from schemagen.serve.logprobs import ContentTokens
    from schemagen.vocabulary import Vocabulary

#: The key ``delta`` of a chunk; ``logprobs``, a list of `schemagen.serve.logprobs.Logprob`, comes beside ``content``.
Delta: TypeAlias = "dict[str, Any]"


class Reader(ABC):
    """Reads one answer.

    Args:
        vocabulary: The vocabulary of the tokens.
        thinking: The grammar of thoughts and answer; None without thoughts.

    Attributes:
        token_ids: All tokens read so far.
    """

    def __init__(self, vocabulary: Vocabulary, thinking: ReasoningGrammar | None) -> None:
        self.token_ids: list[int] = []
        self._vocabulary = vocabulary
        self._thoughts = None if thinking is None else thinking.thought_reader()
        self._held: list[int] = []  # tokens of thoughts, until the answer begins

    @property
    def reasoning_tokens(self) -> int | None:
        """The number of tokens that are thoughts; None if there are none in this answer."""
        return None if self._thoughts is None else self._thoughts.thought_tokens

    def feed(self, token_ids: Sequence[int]) -> list[Delta]:
        """Return the deltas of some tokens."""
        self.token_ids += token_ids
        if self._thoughts is None:
            ends = self._vocabulary.eos_token_ids
            return self._read(token_ids, self._vocabulary.decode([token for token in token_ids if token not in ends]))
        thought, data = self._thoughts.feed(token_ids)
        told: list[Delta] = [{"reasoning_content": thought, "reasoning": thought}] if thought else []
        self._held += token_ids
        if not self._thoughts.is_over:
            return told
        answer, self._held = self._held, []
        return told + self._read(answer, data)

    @abstractmethod
    def _read(self, token_ids: Sequence[int], data: bytes) -> list[Delta]:
        """Return the deltas of the next tokens, thoughts included, and of the bytes of the answer among them."""

    @abstractmethod
    def end(self, reason: FinishReason) -> tuple[list[Delta], str]:
        """Return the last deltas, and the ``finish_reason``.

        Raises:
            GenerationError: The answer is not complete.
        """


class TextReader(Reader):
    """Reads text.

    Args:
        vocabulary: The vocabulary of the tokens.
        constraint: The constraint of the text, thoughts included; None if it is free.
        stops: Texts at which it stops; they are not part of it.
        thinking: As for `Reader`.
        tokens: Takes the tokens of the text; None without log-probabilities.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        constraint: Constraint | None,
        stops: Sequence[str] = (),
        thinking: ReasoningGrammar | None = None,
        *,
        tokens: ContentTokens | None = None,
    ) -> None:
        super().__init__(vocabulary, thinking)
        self._tokens = tokens
        self._said_length = self._read_length = 0  # characters
        self._constraint = constraint
        self._stops = stops
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""  # text that may be the beginning of a stop text

    def _read(self, token_ids: Sequence[int], data: bytes) -> list[Delta]:
        first = len(self.token_ids) - len(token_ids)
        for index, piece in enumerate(self._pieces(token_ids, data), start=first):
            text, begin = self._characters.decode(piece), self._read_length
            self._waiting += text
            self._read_length += len(text)
            if self._tokens is not None and piece:
                self._tokens.add(index, begin, self._read_length)
        return self._said(len(self._waiting) - self._doubtful())

    def _pieces(self, token_ids: Sequence[int], data: bytes) -> list[bytes]:
        """Return what each token adds to the bytes of the answer: nothing, if it is a thought or ends the text."""
        found = []
        for token_id in reversed(token_ids):
            ends = token_id in self._vocabulary.eos_token_ids
            length = 0 if ends else len(self._vocabulary.decode([token_id]))
            cut = max(0, len(data) - length)
            found.append(data[cut:])
            data = data[:cut]
        return found[::-1]

    def _doubtful(self) -> int:
        """How many characters at the end may belong to a stop text."""
        found = [self._waiting.find(stop) for stop in self._stops if stop in self._waiting]
        if found:
            return len(self._waiting) - min(found)
        longest = max((len(stop) for stop in self._stops), default=1) - 1
        sizes = range(min(longest, len(self._waiting)), 0, -1)
        return next((size for size in sizes if self._begins_stop(self._waiting[-size:])), 0)

    def _begins_stop(self, text: str) -> bool:
        return any(stop.startswith(text) for stop in self._stops)

    def _said(self, length: int) -> list[Delta]:
        said, self._waiting = self._waiting[:length], self._waiting[length:]
        begin, self._said_length = self._said_length, self._said_length + length
        if not said:
            return []
        tokens = {} if self._tokens is None else {"logprobs": self._tokens.take(begin, self._said_length)}
        return [{"content": said, **tokens}]

    def end(self, reason: FinishReason) -> tuple[list[Delta], str]:
        """Return the last deltas, and the ``finish_reason``; errors as for `Reader.end`."""
        if self._constraint is not None:
            finish(self._constraint, self.token_ids, {"max_new_tokens": len(self.token_ids)})
        self._waiting += self._characters.decode(b"", final=True)
        stopped = any(stop in self._waiting for stop in self._stops)
        return self._said(len(self._waiting) - (self._doubtful() if stopped else 0)), reason


class CallReader(Reader):
    """Reads text, or a value, and calls of tools.

    Args:
        request: The request with the format of calls.
        named: Whether a certain tool had to be called, for which OpenAI's API has the finish reason "stop".
        tokens: Takes the tokens of the text, not those of calls; None without log-probabilities.
    """

    def __init__(self, request: CallRequest, *, named: bool = False, tokens: ContentTokens | None = None) -> None:
        super().__init__(request.wire.graph.vocabulary, request.thinking)
        self._graph = request.wire.graph
        self._named = named
        self._reader = AnswerReader(self._graph, _unjudged, strict=False)
        self._grows = request.wire.profile.arguments == "json"
        self._tokens = tokens
        self._said = 0  # characters of the text
        self._said_pieces = 0  # pieces of it
        self._sent: list[int] = []  # characters of the arguments of each call

    def _read(self, token_ids: Sequence[int], data: bytes) -> list[Delta]:
        del data
        found: list[Delta] = []
        first = len(self.token_ids) - len(token_ids)
        for index, token_id in enumerate(token_ids, start=first):  # one by one, so that no call's arguments are skipped
            begin = self._reader.length
            self._reader.read([token_id])
            if self._tokens is not None and self._reader.length > begin:
                self._tokens.add(index, begin, self._reader.length)
            found += self._deltas()
        return found

    def _deltas(self) -> list[Delta]:
        found: list[Delta] = []
        for event in self._reader.events():
            if isinstance(event, TextDelta):
                found += self._content(event.text)
            elif isinstance(event, CallStarted):
                self._sent.append(0)
                function = {"name": event.tool.name, "arguments": ""}
                entry = {"index": event.index, "id": new_id(), "type": "function", "function": function}
                found.append({"tool_calls": [entry]})
            elif isinstance(event, CallCompleted):
                found += self._arguments(event.index, event.call.json)
        found += self._content(self._reader.text[self._said :])  # of a value, whose events are fields
        if self._tokens is not None and len(self._reader.pieces) > self._said_pieces:
            pieces, self._said_pieces = self._reader.pieces[self._said_pieces :], len(self._reader.pieces)
            taken = [each for start, end in pieces for each in self._tokens.take(start, end)]
            next(delta for delta in found if "content" in delta)["logprobs"] = taken
        index, written = self._reader.open_arguments
        if self._grows and 0 <= index == len(self._sent) - 1:
            found += self._arguments(index, written)
        return found

    def _content(self, text: str) -> list[Delta]:
        self._said += len(text)
        return [{"content": text}] if text else []

    def _arguments(self, index: int, text: str) -> list[Delta]:
        """Return the part of a call's arguments that was not sent yet."""
        rest = text[self._sent[index] :]
        self._sent[index] += len(rest)
        return [{"tool_calls": [{"index": index, "function": {"arguments": rest}}]}] if rest else []

    def end(self, reason: FinishReason) -> tuple[list[Delta], str]:
        """Return the last deltas, and the ``finish_reason``; errors as for `Reader.end`."""
        finish(self._graph, self.token_ids, {"max_new_tokens": len(self.token_ids)})
        self._reader.finish()
        deltas = self._deltas()
        return deltas, "tool_calls" if reason == "stop" and self._sent and not self._named else reason


def _unjudged(written: RawCall, content: str) -> ToolCall:
    """Return a call as it was written: its grammar has enforced its schema."""
    return ToolCall(written.tool, json.loads(written.json), written.json, content, written.id or new_id())


def joined(deltas: Sequence[Delta]) -> dict[str, Any]:
    """Return the message that the deltas of an answer add up to."""
    content = [delta["content"] for delta in deltas if "content" in delta]
    thoughts = "".join(delta.get("reasoning", "") for delta in deltas)
    calls: list[dict[str, Any]] = []
    for delta in deltas:
        for part in delta.get("tool_calls", ()):
            if "id" in part:
                calls.append({**{key: part[key] for key in ("id", "type")}, "function": dict(part["function"])})
            else:
                calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(content) if content or not calls else None}
    message |= {"reasoning_content": thoughts, "reasoning": thoughts} if thoughts else {}
    return message | ({"tool_calls": calls} if calls else {})
