"""Thoughts before an answer: the markers around them, the grammar of thoughts and answer, and how to split a text into both.

    thoughts marker answer

The thoughts are any text without the marker that ends them, with a limited number of tokens; at the limit only the marker is
allowed. The answer is the same as without thoughts. Both are parts of one grammar. So the marker may be a special token, a
token of text or several, and a token may hold the end of the marker and the beginning of the answer; and the budget of the
whole text ends the thoughts in time for the shortest answer.

The opening of the thoughts belongs to the prompt: chat templates of models that always think write it, and for others it is
appended. Rejected: to leave it to the model, which may begin with its answer instead, outside of the grammar.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from schemagen.engine.native.lowering import compile_language
from schemagen.errors import OptionError
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.options.reasoning import Reasoning, as_reasoning
from schemagen.prompts.messages import template_text
from schemagen.regex import ast
from schemagen.regex.wildcards import text_up_to, text_without
from schemagen.vocabulary.adapters import special_tokens, split_at
from schemagen.vocabulary.marks import without_marks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.grammar.grammar import Grammar
    from schemagen.graph.reader import PartReader
    from schemagen.vocabulary import Vocabulary

_THOUGHTS, _ANSWER = "the thoughts", "the answer"


class ThoughtMarkers(NamedTuple):
    """The markers around the thoughts of a family of models.

    Attributes:
        signs: Substrings of its chat templates; a template with all of them belongs to the family.
        begin: The opening of the thoughts.
        end: The text between the thoughts and the answer.
        models: The models that write them.
    """

    signs: tuple[str, ...]
    begin: str
    end: str
    models: str


_HARMONY = ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>")
_KIMI = ("<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>")
_COHERE = ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>")
#: The families, in the order in which their signs are looked for.
THOUGHT_MARKERS = (
    ThoughtMarkers(("<|channel|>analysis",), *_HARMONY, "gpt-oss"),
    ThoughtMarkers(("<|open|>", "<|sep|>"), *_KIMI, "Kimi K3"),
    ThoughtMarkers(("<|END_THINKING|>",), *_COHERE, "Command R7B, Command A"),
    ThoughtMarkers(("<|channel>thought",), "<|channel>thought\n", "<channel|>", "Gemma 4"),
    ThoughtMarkers(("[/THINK]",), "[THINK]", "[/THINK]", "Magistral"),
    ThoughtMarkers(("</seed:think>",), "<seed:think>", "</seed:think>", "Seed-OSS"),
    ThoughtMarkers(("</mm:think>",), "<mm:think>", "</mm:think>", "MiniMax M3"),
    ThoughtMarkers(("<|inner_suffix|>",), "<|inner_prefix|>", "<|inner_suffix|>", "Apertus"),
    ThoughtMarkers(("</thought>",), "<thought>\n", "</thought>\n\n", "EXAONE Deep"),
    ThoughtMarkers(("</think>", "<|tool_calls_section_begin|>"), "<think>", "</think>", "Kimi K2"),
    ThoughtMarkers(("</think>", "\uff5cDSML\uff5c"), "<think>", "</think>", "DeepSeek V3.2 and V4"),
    ThoughtMarkers(("</think>", "</arg_key><arg_value>"), "<think>", "</think>", "GLM 4.7 and 5"),
    ThoughtMarkers(("</think>", "<tool_call><function="), "<think>", "</think>", "MiMo V2.6"),
    ThoughtMarkers(
        ("</think>",),
        "<think>\n",
        "</think>\n\n",
        "DeepSeek R1, Qwen 3, QwQ, GLM 4.5, MiniMax M2, EXAONE 4, SmolLM 3 and most others",
    ),
)


@dataclass(frozen=True, slots=True)
class ReasoningFormat:
    """The format of a model's thoughts.

    Attributes:
        begin: The opening of the thoughts.
        end: The text between the thoughts and the answer.
        max_tokens: Most tokens of thoughts.
        specials: The special tokens in ``end``, with their ids.
        ends: Tokens that end the thoughts before ``end``; if there are none, the first piece of ``end`` does.
        instruction: The sentence in the prompt that asks for the thoughts; empty for none.
        temperature: The temperature of the thoughts; None for that of the call.
        best_of: How many thoughts to write, each with its answer, of which the likeliest counts.
    """

    begin: str
    end: str
    max_tokens: int
    specials: tuple[tuple[str, int], ...]
    ends: tuple[int, ...] = ()
    instruction: str = ""
    temperature: float | None = None
    best_of: int = 1

    @property
    def pieces(self) -> list[tuple[str, int | None]]:
        """The pieces of ``end``: the marker and the texts after it, each with its id if it is a special token, else None."""
        ids = dict(self.specials)
        pieces = split_at(self.end, ids) if self.ends else _pieces(self.end, ids)
        return [(piece, ids.get(piece)) for piece in pieces]

    @property
    def end_ids(self) -> tuple[int, ...]:
        """The tokens that end the thoughts; empty if a marker of text does."""
        marker_id = self.pieces[0][1]
        return self.ends or (() if marker_id is None else (marker_id,))

    @property
    def after(self) -> list[tuple[str, int | None]]:
        """The pieces that come after the end of the thoughts."""
        return self.pieces[0 if self.ends else 1 :]

    @classmethod
    def of(
        cls, given: bool | int | Reasoning | None, tokenizer: Any, vocabulary: Vocabulary, **more: Any
    ) -> ReasoningFormat | None:
        """Read the argument ``reasoning`` of `LanguageModel.run`; return None for no thoughts.

        Args:
            given: The argument.
            tokenizer: The tokenizer of the model.
            vocabulary: Its vocabulary.
            more: Other attributes.

        Raises:
            OptionError: The value is wrong, or the model's chat template does not support thoughts.
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
                    fix="name a marker after which the model goes on",
                )
        return cls(begin, end, reasoning.max_tokens, tuple(specials), **more)

    def before(self, grammar: Grammar) -> ReasoningGrammar:
        """Return the grammar of thoughts followed by a text of a grammar.

        Raises:
            OptionError: The vocabulary cannot write the end of the thoughts.
        """
        return _think_before(grammar, self)

    def before_parts(self, answer: GrammarGraph) -> ReasoningGrammar:
        """Return the grammar of thoughts followed by a text of a graph, such as words and calls; errors as for `before`."""
        return _think_before_parts(answer, self)

    def before_opening(self, opening: str) -> ReasoningFormat:
        """Return the format for answers that hold their opening, which ``end`` may end with, such as a channel's."""
        return replace(self, end=self.end.removesuffix(opening)) if opening else self

    def opened(self, prompt: str) -> str:
        """Return a rendered prompt with the opening of the thoughts, if the chat template has not written it.

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
    """Return the opening and the end of the thoughts: those in the options, or those of the tokenizer's chat template."""
    if reasoning.end:
        return reasoning.begin, reasoning.end
    markers = markers_of(tokenizer)
    if markers is not None:
        return markers.begin, markers.end
    has_template = bool(template_text(tokenizer))
    raise OptionError(
        "this model has no known way to think before it answers",
        why="its chat template has no marker of thoughts" if has_template else "its tokenizer has no chat template",
        fix="write draft=True in place of reasoning, or name the markers: schemagen.lm.Reasoning(begin=..., end=...)",
    )


def markers_of(tokenizer: Any) -> ThoughtMarkers | None:
    """Return the markers of thoughts that the chat template of a tokenizer has; None if it has none that are known."""
    template = template_text(tokenizer)
    return next((each for each in THOUGHT_MARKERS if all(sign in template for sign in each.signs)), None)


class ReasoningGrammar(GrammarGraph):
    """Thoughts and an answer as one grammar.

    Raises:
        OptionError: The vocabulary cannot write the end of the thoughts.

    Attributes:
        marker: The marker that ends the thoughts; empty if it is a special token.
        thought_tokens: Most tokens of the thoughts and the text between them and the answer.
    """

    def __init__(self, answer: GrammarGraph, thinker: ReasoningFormat) -> None:
        vocabulary = answer.vocabulary
        parts = _thinking([*answer.parts, Part(None, answer.starts, label=_ANSWER)], thinker, vocabulary)
        language = compile_language(cast("ast.Regex", parts[-1].language), vocabulary)
        most = thinker.max_tokens + (language.matcher().tokens_to_finish() or 0)
        parts[-1] = replace(parts[-1], most_tokens=most, temperature=thinker.temperature)
        super().__init__(parts, [len(parts) - 1], vocabulary, answer.limits)
        self.marker = b"" if thinker.end_ids else thinker.pieces[0][0].encode()
        self.thought_tokens = most + _most_tokens(thinker)

    def thought_reader(self) -> ThoughtReader:
        """Return a reader of one generation."""
        return ThoughtReader(self.reader(), self.vocabulary, self.marker)

    def split(self, token_ids: Iterable[int]) -> tuple[str, str, int]:
        """Return the text of the answer, the thoughts, and the number of tokens of the thoughts including their end.

        The token ids are those of a complete text, with or without EOS.
        """
        reader = self.thought_reader()
        thoughts, answer = reader.feed(token_ids)
        return answer.decode(), thoughts.strip(), reader.thought_tokens


class ThoughtReader:
    """Splits the tokens of one generation into thoughts and answer while the model generates them.

    Args:
        reader: The reader of thoughts and any answer.
        vocabulary: The tokens of the model.
        marker: The marker that ends the thoughts; empty if it is a special token.

    Attributes:
        thought_tokens: The number of tokens before the first one with a byte of the answer.
    """

    def __init__(self, reader: PartReader, vocabulary: Vocabulary, marker: bytes) -> None:
        self._reader = reader
        self._vocabulary = vocabulary
        self._marker = marker
        self._data = bytearray()  # with marks in the place of special tokens
        self._start: int | None = None  # of the answer
        self._end: int | None = None  # of the thoughts
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._told = 0  # bytes of thoughts returned so far
        self.thought_tokens = 0

    @property
    def is_over(self) -> bool:
        """Whether the thoughts and the text that ends them are over."""
        return self._start is not None

    @property
    def answer_start(self) -> int | None:
        """Offset of the first byte of the answer in the text without special tokens; None until it is certain."""
        return None if self._start is None else len(without_marks(bytes(self._data[: self._start])))

    def feed(self, token_ids: Iterable[int]) -> tuple[str, bytes]:
        """Read tokens; return the new text of the thoughts, as far as it is certain, and the new bytes of the answer.

        Reading stops at a token that cannot follow in the thoughts.
        """
        before = len(self._data)
        for token_id in token_ids:
            if self._start is not None:
                self._data += b"" if token_id in self._vocabulary.eos_token_ids else self._vocabulary.tokens[token_id]
                continue
            if not self._reader.accept_token(token_id):
                break
            self._data += self._reader.data[len(self._data) :]
            self._look()
        begin = len(self._data) if self._start is None else self._start
        return self._thoughts(), without_marks(bytes(self._data[max(before, begin) :]))

    def _look(self) -> None:
        """Look for the start of the answer, and count the token if it is one of the thoughts."""
        parts = self._reader.readings()[-1]
        self._start = next((start for part, start, _ in parts if part.label is _ANSWER), None)
        self._end = next((end for part, _, end in parts if part.label is _THOUGHTS), None)
        if self._start is None or len(self._data) == self._start:
            self.thought_tokens += 1

    def _thoughts(self) -> str:
        """Return the new text of the thoughts; bytes that may begin the marker are held back."""
        text = bytes(self._data[: self._end])
        hidden = _overlap(text, self._marker) if self._end is None else len(self._marker)
        text = text[: len(text) - hidden]
        new = text[self._told :]
        self._told += len(new)
        return self._characters.decode(new)


def _overlap(text: bytes, marker: bytes) -> int:
    """Return the length of the longest suffix of a text that is a proper prefix of a marker."""
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
    """Add the parts of the thoughts before the last part; the thoughts become the last one.

    Raises:
        OptionError: The vocabulary cannot write the end of the thoughts.
    """

    def add(language: ast.Regex, token_ids: tuple[int, ...], label: str) -> None:
        """Add a part that leads to the last one, across a special token or directly."""
        following = (len(parts) - 1,)
        if compile_language(language, vocabulary).matcher().tokens_to_finish() is None:
            raise _unwritable(thinker.end)
        special = dict.fromkeys(token_ids, following)
        parts.append(Part(language, () if special else following, special=special, label=label))

    for piece, token_id in reversed(thinker.after):
        language, ids = (ast.literal(piece), ()) if token_id is None else (ast.EPSILON, (token_id,))
        add(language, ids, f"{piece!r}")
    marker = thinker.pieces[0][0]
    language = ast.ANY_STRING if thinker.ends else text_without([marker]) if thinker.end_ids else text_up_to(marker)
    add(language, thinker.end_ids, _THOUGHTS)
    return parts


def _most_tokens(thinker: ReasoningFormat) -> int:
    return bool(thinker.end_ids) + sum(len(piece.encode()) if each is None else 1 for piece, each in thinker.after)


def _unwritable(end: str) -> OptionError:
    return OptionError(
        f"the vocabulary of the model cannot write {end!r}",
        why="it has no token for some byte of it, so the thoughts could not be ended",
        fix="name the marker that this model writes: schemagen.lm.Reasoning(begin=..., end=...)",
    )


def _pieces(end: str, specials: Iterable[str]) -> list[str]:
    """Cut the end of the thoughts into the marker and the texts after it; each special token is a piece of its own."""
    first, *rest = split_at(end, specials)
    if not first.strip():
        return rest
    marker = first.rstrip()
    return [piece for piece in (marker, first[len(marker) :], *rest) if piece]
