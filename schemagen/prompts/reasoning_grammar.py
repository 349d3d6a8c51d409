"""Thoughts before an answer: how a model marks them, the grammar of both, and how to take them apart.

    thoughts marker answer

The thoughts are any text without the marker that ends them, at most so many tokens of it; then the marker is all that is
left. The answer is what it would be without thoughts. Both are parts of one grammar, so that the marker may be a special
token, a token of text or several, and a token may hold its end and the beginning of the answer; and so that the budget of
the whole ends the thoughts in time for the shortest answer. How many tokens they take counts a `ThoughtMatcher`.

What opens the thoughts belongs to the prompt: chat templates of models that always think write it, and for others it is
appended. Rejected: to leave it to the model, which may begin with its answer instead, outside of the grammar.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from schemagen.engine.native.lowering import compile_language
from schemagen.errors import OptionError
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.parts import Part
from schemagen.prompts.messages import template_text
from schemagen.prompts.reasoning import Reasoning, as_reasoning
from schemagen.prompts.thought_matcher import ThoughtBounds, ThoughtMatcher
from schemagen.regex import ast
from schemagen.regex.wildcards import text_up_to, text_without
from schemagen.vocabulary.adapters import special_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.engine.protocol import Matcher
    from schemagen.grammar.grammar import Grammar
    from schemagen.graph.reader import GraphReader
    from schemagen.vocabulary import Vocabulary

_THOUGHTS, _ANSWER = "the thoughts", "the answer"
#: Bytes that may be missing of a character.
_MOST_OF_CHARACTER = 3
#: By family: what its chat templates hold, what opens the thoughts, and what ends them.
_FAMILIES = (
    # gpt-oss
    ("<|channel|>analysis", "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("[/THINK]", "[THINK]", "[/THINK]"),  # Magistral
    ("</seed:think>", "<seed:think>", "</seed:think>"),  # Seed-OSS
    ("</think>", "<think>\n", "</think>\n\n"),  # DeepSeek R1, Qwen 3, QwQ, GLM 4.5, SmolLM 3 and most others
)


@dataclass(frozen=True, slots=True)
class ReasoningFormat:
    """How a model thinks, for all its answers.

    Attributes:
        begin: What opens the thoughts.
        end: What stands between them and the answer.
        max_tokens: Of thoughts.
        specials: The special tokens in ``end``, with their ids.
    """

    begin: str
    end: str
    max_tokens: int
    specials: tuple[tuple[str, int], ...]

    @property
    def pieces(self) -> list[tuple[str, int | None]]:
        """``end``, cut: the marker and what is behind it, each with its id if it is a special token, None if it is text."""
        ids = dict(self.specials)
        return [(piece, ids.get(piece)) for piece in _pieces(self.end, ids)]

    @classmethod
    def of(cls, given: bool | int | Reasoning | None, tokenizer: Any, vocabulary: Vocabulary) -> ReasoningFormat | None:
        """Read the argument ``reasoning`` of `LanguageModel.run`; None: no thoughts.

        Raises:
            OptionError: It cannot be meant, or the model's chat template knows no thoughts.
        """
        reasoning = as_reasoning(given)
        if reasoning is None:
            return None
        begin, end = _markers(reasoning, tokenizer)
        specials = sorted(each for each in special_tokens(tokenizer, vocabulary).items() if each[0] in end)
        for text, token_id in specials:
            if token_id in vocabulary.eos_token_ids:
                raise OptionError(
                    f"thoughts end with {end!r}, and {text!r} ends every text of this model",
                    why="no answer could follow",
                    fix="name a marker that the model goes on after",
                )
        return cls(begin, end, reasoning.max_tokens, tuple(specials))

    def before(self, grammar: Grammar) -> ReasoningGrammar:
        """Return thoughts and then a text of a grammar.

        Raises:
            OptionError: The vocabulary cannot write what ends the thoughts.
        """
        return _think_before(grammar, self)

    def before_parts(self, answer: GrammarGraph) -> ReasoningGrammar:
        """Return thoughts and then a text of some parts, as words and calls are; errors as for `before`."""
        return _think_before_parts(answer, self)

    def opened(self, prompt: str) -> str:
        """Return a rendered prompt with the thoughts opened, if the chat template has not done that.

        Raises:
            OptionError: The chat template has closed them already.
        """
        tail, begin, end = prompt.rstrip(), self.begin.rstrip(), self.end.rstrip()
        if begin and tail.endswith(begin):
            return prompt
        if begin and tail.endswith(end):
            raise OptionError(
                f"the chat template ends the prompt with {end!r}: the thoughts are over before they begin",
                at=f"...{tail[-40:]}",
                why="it does not know `enable_thinking`, or something in the messages switches thinking off",
                fix="change the messages, leave `reasoning` out, or use chat_template=False",
            )
        return prompt + self.begin


def _markers(reasoning: Reasoning, tokenizer: Any) -> tuple[str, str]:
    """Return what opens the thoughts, and what ends them: as it is stated, or as in the tokenizer's chat template."""
    if reasoning.end:
        return reasoning.begin, reasoning.end
    template = template_text(tokenizer)
    for sign, begin, end in _FAMILIES:
        if sign in template:
            return begin, end
    raise OptionError(
        "this model has no known way to think before it answers",
        why="its chat template has no marker of thoughts" if template else "its tokenizer has no chat template",
        fix="leave `reasoning` out, or name the markers: schemagen.lm.Reasoning(begin=..., end=...)",
    )


class ReasoningGrammar(GrammarGraph):
    """Thoughts and an answer as one grammar.

    Args:
        answer: What is behind the thoughts.
        thinker: How the model thinks.

    Raises:
        OptionError: The vocabulary cannot write what ends the thoughts.

    Attributes:
        marker: What ends the thoughts, if it is text; empty: a special token.
        thought_tokens: Of thoughts and what stands between them and the answer, at most.
    """

    def __init__(self, answer: GrammarGraph, thinker: ReasoningFormat) -> None:
        vocabulary = answer.vocabulary
        parts = _thinking([*answer.parts, Part(None, answer.starts, label=_ANSWER)], thinker, vocabulary)
        super().__init__(parts, [len(parts) - 1], vocabulary, answer.limits)
        marker, marker_id = thinker.pieces[0]
        self.marker = marker.encode() if marker_id is None else b""
        self._thoughts = compile_language(cast("ast.Regex", parts[-1].language), vocabulary)
        self._bounds = self._bounds_of(thinker.max_tokens, marker_id)
        # Where thoughts end needs no look at what is behind them.
        split = _thinking([Part(ast.ANY_STRING, final=True, label=_ANSWER)], thinker, vocabulary)
        self._split = GrammarGraph(split, [len(split) - 1], vocabulary)
        self.thought_tokens = self._bounds.most + _most_tokens(thinker)

    def _bounds_of(self, max_tokens: int, marker_id: int | None) -> ThoughtBounds:
        """Return what is known of the thoughts; where they end as soon as they can, the rest tells what is behind them."""
        end = self._thoughts.matcher().tokens_to_finish() or 0
        over = super().matcher()
        is_over = over.accept_bytes(self.marker) if marker_id is None else over.accept_token(marker_id)
        assert is_over, "thoughts may end at once"
        behind = (over.tokens_to_finish() or 0) + (marker_id is not None)
        reach = len(self.marker) + _MOST_OF_CHARACTER
        return ThoughtBounds(max_tokens + end, reach, behind, self.vocabulary)

    @property
    def min_new_tokens(self) -> int:
        """The smallest budget of tokens that always suffices for a whole text: see `schemagen.Grammar.min_new_tokens`."""
        return (self._thoughts.matcher().tokens_to_finish() or 0) + self._bounds.behind

    @property
    def token_table(self) -> None:
        """There is none: the tokens of thoughts are counted beside the automaton."""
        return

    def matcher(self) -> Matcher:
        """Return a cursor at the start of a text."""
        return ThoughtMatcher(super().matcher(), self._thoughts.matcher(), self._bounds)

    def thought_reader(self) -> ThoughtReader:
        """Return a reader of one generation."""
        return ThoughtReader(self._split.reader(), self.vocabulary, self.marker)

    def split(self, token_ids: Iterable[int]) -> tuple[str, str, int]:
        """Return the text of the answer, the thoughts, and how many tokens these are, what ends them included.

        Args:
            token_ids: All of a complete text, with or without EOS.
        """
        reader = self.thought_reader()
        thoughts, answer = reader.feed(token_ids)
        return answer.decode(), thoughts.strip(), reader.thought_tokens


class ThoughtReader:
    """Takes the tokens of one generation apart while they come.

    Args:
        reader: Of thoughts and any answer.
        vocabulary: The tokens of the model.
        marker: What ends the thoughts, if it is text.

    Attributes:
        answer_start: Offset of the first byte of the answer; None before it is certain.
        thought_tokens: How many tokens were read before the first one that holds something of the answer.
    """

    def __init__(self, reader: GraphReader, vocabulary: Vocabulary, marker: bytes) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        self._marker = marker
        self._data = b""
        self._end: int | None = None  # of the thoughts
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._told = 0  # bytes of thoughts
        self.answer_start: int | None = None
        self.thought_tokens = 0

    @property
    def is_over(self) -> bool:
        """Whether the thoughts are over, and what ends them as well."""
        return self.answer_start is not None

    def feed(self, token_ids: Iterable[int]) -> tuple[str, bytes]:
        """Read tokens; return what was thought, as far as that is certain, and what was answered.

        A token that cannot follow in the thoughts ends the reading.
        """
        before = len(self._data)
        for token_id in token_ids:
            if token_id in self._vocabulary.eos_token_ids:
                continue
            if self.answer_start is None and not self._reader.accept_token(token_id):
                break
            self._data += self._vocabulary.tokens[token_id]
            if self.answer_start is None:
                self._look()
        begin = len(self._data) if self.answer_start is None else self.answer_start
        return self._thoughts(), self._data[max(before, begin) :]

    def _look(self) -> None:
        """Find out where the answer begins, and count."""
        parts = self._reader.readings()[-1]
        self.answer_start = next((start for part, start, _ in parts if part.label is _ANSWER), None)
        self._end = next((end for part, _, end in parts if part.label is _THOUGHTS), None)
        if self.answer_start is None or len(self._data) == self.answer_start:
            self.thought_tokens += 1

    def _thoughts(self) -> str:
        """Return what was thought since the last time; what may be the beginning of the marker is held back."""
        text = self._data[: self._end]
        hidden = _overlap(text, self._marker) if self._end is None else len(self._marker)
        text = text[: len(text) - hidden]
        new = text[self._told :]
        self._told += len(new)
        return self._characters.decode(new)


def _overlap(text: bytes, marker: bytes) -> int:
    """Return how long the longest end of a text is that begins a marker."""
    longest = min(len(text), len(marker) - 1)
    return next((length for length in range(longest, 0, -1) if text.endswith(marker[:length])), 0)


@lru_cache(maxsize=32)
def _think_before(grammar: Grammar, thinker: ReasoningFormat) -> ReasoningGrammar:
    answer = Part(grammar, final=True, label=_ANSWER)
    return _think_before_parts(GrammarGraph([answer], [0], grammar.vocabulary), thinker)


@lru_cache(maxsize=32)
def _think_before_parts(answer: GrammarGraph, thinker: ReasoningFormat) -> ReasoningGrammar:
    return ReasoningGrammar(answer, thinker)


def _thinking(parts: list[Part], thinker: ReasoningFormat, vocabulary: Vocabulary) -> list[Part]:
    """Return parts with thoughts before the last of them; the thoughts are the last one then.

    Raises:
        OptionError: The vocabulary cannot write what ends the thoughts.
    """
    (marker, marker_id), *rest = thinker.pieces

    def add(language: ast.Regex, token_id: int | None, label: str) -> None:
        """Add a part that leads to the one added before, across a special token or directly."""
        behind = (len(parts) - 1,)
        if compile_language(language, vocabulary).matcher().tokens_to_finish() is None:
            raise _unwritable(thinker.end)
        if token_id is None:
            parts.append(Part(language, behind, label=label))
        else:
            parts.append(Part(language, special={token_id: behind}, label=label))

    for piece, token_id in reversed(rest):
        add(ast.literal(piece) if token_id is None else ast.EPSILON, token_id, f"{piece!r}")
    add(text_up_to(marker) if marker_id is None else text_without([marker]), marker_id, _THOUGHTS)
    return parts


def _most_tokens(thinker: ReasoningFormat) -> int:
    """Return how many tokens may stand between the text of thoughts and the answer, at most."""
    (_, marker_id), *rest = thinker.pieces
    return (marker_id is not None) + sum(len(piece.encode()) if each is None else 1 for piece, each in rest)


def _unwritable(end: str) -> OptionError:
    return OptionError(
        f"the vocabulary of the model cannot write {end!r}",
        why="it has no token for some byte of it, so the thoughts could not be ended",
        fix="name the marker that this model writes: schemagen.lm.Reasoning(begin=..., end=...)",
    )


def _pieces(end: str, specials: Iterable[str]) -> list[str]:
    """Cut what ends the thoughts: the marker, and what is written behind it; special tokens are pieces by themselves."""
    pattern = "|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    first, *rest = [piece for piece in (re.split(f"({pattern})", end) if pattern else [end]) if piece]
    if not first.strip():
        return rest
    marker = first.rstrip()
    return [piece for piece in (marker, first[len(marker) :], *rest) if piece]
