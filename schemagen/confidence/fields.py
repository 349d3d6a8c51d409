"""`Confidence`: how sure the model was of each field of an answer, from its distribution at each token.

A field has the tokens that hold a character of its value, quotes included. Three things come apart:

- What the model chose: `FieldConfidence.log_probability`, of these tokens among the allowed ones. Tokens without a choice add
  nothing, so keys, brackets and the rest of an option that is certain make no field look sure.
- What the model wanted: `FieldConfidence.raw_log_probability`, of the chosen tokens among all tokens.
- What the constraint did: `FieldConfidence.removed_mass`.

All three are of the tokens that were written. The same value in other tokens adds to its probability; for a type with few
values `lm.classify` sums over all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import exp
from typing import TYPE_CHECKING, Any

from schemagen.confidence.rendering import html_of, lines_of, rich_of
from schemagen.errors import OptionError
from schemagen.streaming.json_spans import field_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from schemagen.confidence.distribution import Distribution
    from schemagen.decode.token_records import TokenRecord
    from schemagen.grammar.grammar import Grammar
    from schemagen.streaming.answer_text import AnswerText
    from schemagen.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class FieldConfidence:
    """How sure the model was of a field.

    Attributes:
        path: Its JSON pointer; "" for the whole answer. Of a grammar, the name of the rule, hole or group.
        text: Its text, as written.
        first: The index of its first token in `Confidence.tokens`.
        tokens: The records of its tokens.
    """

    path: str
    text: str
    first: int
    tokens: tuple[TokenRecord, ...]

    @property
    def log_probability(self) -> float:
        """The logarithm of the probability of its tokens under the constraint."""
        return sum(token.log_probability for token in self.tokens)

    @property
    def probability(self) -> float:
        """The probability of its tokens under the constraint."""
        return exp(self.log_probability)

    @property
    def raw_log_probability(self) -> float:
        """The logarithm of the probability that the model itself gave to the tokens it chose; forced ones are left out."""
        return sum(token.raw_log_probability or 0.0 for token in self.tokens if not token.is_forced)

    @property
    def forced_tokens(self) -> int:
        """How many of its tokens the constraint left no choice about."""
        return sum(token.is_forced for token in self.tokens)

    @property
    def removed_mass(self) -> float:
        """The largest probability that the constraint took from one of its tokens."""
        return max((token.removed_mass for token in self.tokens), default=0.0)


class Confidence(Mapping[str, FieldConfidence]):
    """How sure the model was of each field, by JSON pointer, outer fields first; in `schemagen.Generation.confidence`.

    Shown in a terminal or a notebook, it is the text of the answer, coloured by the probability of each token.

    Args:
        pieces: The text that each token adds to the answer.
        tokens: The records of the tokens of the answer.
        fields: The fields.
        vocabulary: The tokens.
        values_at: Returns the distribution over the values of a field, given its first token.

    Attributes:
        pieces: As given.
        tokens: As given.
        vocabulary: As given.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        tokens: Sequence[TokenRecord],
        fields: Sequence[FieldConfidence],
        vocabulary: Vocabulary,
        values_at: Callable[[str, int], Distribution[Any]] | None = None,
    ) -> None:
        self.pieces, self.tokens, self.vocabulary = tuple(pieces), tuple(tokens), vocabulary
        self._values_at = values_at
        self._fields = {field.path: field for field in fields}

    def __getitem__(self, path: str) -> FieldConfidence:
        """Return the confidence of a field.

        Raises:
            OptionError: There is no field of this name.
        """
        if path not in self._fields:
            raise OptionError(
                f"no field {path!r:.80}",
                why=f"there are {', '.join(map(repr, self._fields)):.300}",
                fix="give a JSON pointer, such as '/name' or '/items/0/price'; '' is the whole answer",
            )
        return self._fields[path]

    def __contains__(self, path: object) -> bool:
        """Whether there is such a field."""
        return path in self._fields

    def __iter__(self) -> Iterator[str]:
        """Iterate over the pointers."""
        return iter(self._fields)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(self._fields)

    def __repr__(self) -> str:
        """Show the fields with their probabilities."""
        return f"Confidence({', '.join(f'{path!r}: {field.probability:.3f}' for path, field in self._fields.items())})"

    def within(self, path: str) -> Confidence | None:
        """Return the confidence of a field as that of a whole: its pointers begin there. None if there is no such field.

        Args:
            path: The pointer of the field.
        """
        if path not in self._fields:
            return None
        whole = self._fields[path]
        inner = [
            replace(field, path=name[len(path) :], first=field.first - whole.first)
            for name, field in self._fields.items()
            if name == path or name.startswith(f"{path}/")
        ]
        last = whole.first + len(whole.tokens)
        return Confidence(self.pieces[whole.first : last], self.tokens[whole.first : last], inner, self.vocabulary)

    def explain(self, path: str = "") -> str:
        """Say token by token why a field has its value: its probability, the likeliest others, what the constraint removed.

        Args:
            path: As for ``confidence[path]``.

        Raises:
            OptionError: As ``confidence[path]``.
        """
        return "\n".join(lines_of(self, self[path]))

    def distribution(self, path: str) -> Distribution[Any]:
        """Return the distribution over the values that a field could have had after the text before it.

        All texts and tokens of each value count. For a field with few values it is exact; else it has the likeliest values,
        and its ``error`` bounds the rest.

        Args:
            path: As for ``confidence[path]``.

        Raises:
            OptionError: As ``confidence[path]``; or the generation was pickled, so that there is no model to ask.

        Cost: the model reads the prompt and the text before the field, then the beginnings of the values.
        """
        field = self[path]
        if self._values_at is None:
            raise OptionError(
                "there is no model to ask",
                why="this confidence was pickled, or not made by a model",
                fix="ask in the process that generated, before it is pickled",
            )
        return self._values_at(path, field.first)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle it without the model."""
        return {**self.__dict__, "_values_at": None}

    def __rich__(self) -> Any:
        """Show the text in colours in a terminal."""
        return rich_of(self)

    def _repr_html_(self) -> str:
        """Show the text in colours in a notebook; each token says more when pointed at."""
        return html_of(self)


def confidence_of(
    grammar: Grammar[Any],
    answer: AnswerText,
    token_ids: Sequence[int],
    records: Sequence[TokenRecord],
    ask: Callable[[str | None, int, str], Distribution[Any]] | None = None,
) -> Confidence:
    """Return how sure the model was of the fields of an answer.

    Args:
        grammar: The grammar of the answer.
        answer: An empty text of a generation; its tokens are added here.
        token_ids: The tokens of the generation, thoughts and EOS included.
        records: Of these tokens.
        ask: Returns the distribution over the values of a field, given its pointer, None where the text is no JSON, how many
            tokens come before it, and the text that these write.
    """
    is_json = grammar.schema is not None
    own = ask and (lambda path, before, text: ask(path if is_json else None, before, text))
    return confidence_at(grammar.vocabulary, answer, token_ids, records, lambda text: spans_of(grammar, text), own)


def confidence_at(
    vocabulary: Vocabulary,
    answer: AnswerText,
    token_ids: Sequence[int],
    records: Sequence[TokenRecord],
    spans: Callable[[str], Iterable[tuple[str, int, int]]],
    ask: Callable[[str, int, str], Distribution[Any]] | None = None,
) -> Confidence:
    """Return how sure the model was of some fields of an answer.

    Args:
        vocabulary: The tokens.
        answer: As for `confidence_of`.
        token_ids: As for `confidence_of`.
        records: As for `confidence_of`.
        spans: Returns the fields of the text of the answer: their names, and where they begin and end.
        ask: As for `confidence_of`, by the name of the field.
    """
    pieces = [answer.append(token_id) for token_id in token_ids]
    skipped = next((place for place, piece in enumerate(pieces) if piece), 0)
    fields = []
    for path, start, end in spans(answer.text):
        first, last = answer.token_at(start), answer.token_at(max(start, end - 1))
        tokens = tuple(records[first : last + 1])
        fields.append(FieldConfidence(path, answer.text[start:end], first - skipped, tokens))

    def values_at(path: str, first: int) -> Distribution[Any]:
        before = skipped + first
        assert ask is not None, "asked for below"
        return ask(path, before, "".join(pieces[:before]))

    own = None if ask is None else values_at
    return Confidence(pieces[skipped:], records[skipped:], fields, vocabulary, own)


def spans_of(grammar: Grammar[Any], text: str) -> list[tuple[str, int, int]]:
    """Return the fields of a text: their names, and where they begin and end."""
    whole = ("", 0, len(text))
    if grammar.schema is not None:
        return [whole, *json_spans(text)]
    try:
        return [whole, *((span.name, span.start, span.end) for span in grammar.spans(text))]
    except OptionError:
        return [whole]


def json_spans(text: str) -> list[tuple[str, int, int]]:
    """Return the fields of a JSON text inside the whole: their pointers, and where they begin and end; outer ones first."""
    found = ((str(path), start, end) for path, start, end in field_spans(text))
    return sorted(found, key=lambda span: (span[1], -span[2]))
