"""The spans of a text: which rule of a grammar, which hole of a template, which group of a pattern is where in it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.context_free.names import is_made
from schemagen.context_free.pattern_groups import rules_of_pattern
from schemagen.context_free.spans import Span, spans_of
from schemagen.errors import OptionError, ValidationFailed
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.specs import Choice, Regex, given_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from schemagen.context_free.syntax import Guest
    from schemagen.engine.protocol import Engine
    from schemagen.vocabulary import Vocabulary

#: Layouts of values to read a text with, where it is not known with which one it was written.
LAYOUTS: tuple[dict[str, Any], ...] = ({}, {"whitespace": "any", "property_order": "any"})


def spans_in(spec: Any, text: str, compiled: Callable[[Any, Vocabulary], Engine]) -> list[Span]:
    """Return the named parts of a complete text, outer ones first.

    Args:
        spec: The spec that was compiled.
        text: One of its texts.
        compiled: Compiles a value that is embedded, in the layout of the text.

    Raises:
        ValidationFailed: It is none of its texts.
        OptionError: The spec names no parts: a type or schema, or a pattern that is not one of Python's.
        UnsupportedGrammarError: As `schemagen.context_free.spans.spans_of`.
        LimitError: The grammar is too ambiguous there.
    """
    if isinstance(spec, ContextFree):
        found = spans_of(spec.rules(), text, guest_ends(text, compiled))
        if found is not None:
            return _without_made(found)
    elif isinstance(spec, Choice):
        if text in spec.options:
            return []
    elif isinstance(spec, Regex) and spec.dialect == "python":
        groups = _groups(spec.pattern, text)
        if groups is not None:
            return groups
    else:
        raise OptionError(
            f"spans of {spec!r:.80}",
            why="only rules of grammars, holes of templates and named groups of Python's patterns have names",
            fix="validate the text and look into its value",
        )
    raise ValidationFailed(
        f"{text!r:.80} is no text of this grammar", text=text, fix="ask for the spans of a complete text"
    )


def _groups(pattern: str, text: str) -> list[Span] | None:
    """Return the named groups that took part in a match; None if there is no match.

    `re` says where they are, but for text groups, which it does not have.
    """
    rules = rules_of_pattern(pattern)
    if rules is not None:
        spans = spans_of(rules, text, lambda _guest, _start: [])
        return spans and [each._replace(name=each.name.partition("#")[0], depth=each.depth - 1) for each in spans[1:]]
    match = re.fullmatch(pattern, text)
    if match is None:
        return None
    found = [Span(name, *match.span(name)) for name in match.re.groupindex if match.span(name) != (-1, -1)]
    found.sort(key=lambda span: (span.start, -span.end))
    depths = [
        sum(outer.start <= span.start and span.end <= outer.end for outer in found[:at])
        for at, span in enumerate(found)
    ]
    return [span._replace(depth=depth) for span, depth in zip(found, depths, strict=True)]


def _without_made(spans: list[Span]) -> list[Span]:
    """Return the spans without those of generated rules."""
    found: list[Span] = []
    skipped: list[int] = []  # depths of the made rules that stand around
    for span in spans:
        while skipped and skipped[-1] >= span.depth:
            skipped.pop()
        if is_made(span.name):
            skipped.append(span.depth)
        else:
            found.append(span._replace(depth=span.depth - len(skipped)))
    return found


@lru_cache(maxsize=1)
def byte_vocabulary() -> Vocabulary:
    """Return the vocabulary with a token for each byte."""
    from schemagen.vocabulary import Vocabulary

    return Vocabulary.byte_vocabulary()


def ends_of(engine: Engine, text: str, start: int) -> Iterator[int]:
    """Yield where a text of an engine may end that begins at a place of another text, the nearest first.

    Args:
        engine: Over `byte_vocabulary`.
        text: The other text.
        start: The place.
    """
    matcher = engine.matcher()
    if matcher.is_accepting():
        yield start
    for at in range(start, len(text)):
        if not matcher.accept_bytes(text[at].encode("utf-8", "surrogatepass")):
            return
        if matcher.is_accepting():
            yield at + 1


def guest_ends(text: str, compiled: Callable[[Any, Vocabulary], Engine]) -> Callable[[Guest, int], list[int]]:
    """Return the function that finds where a value which is embedded may end, by where it begins.

    Args:
        text: The text.
        compiled: Compiles the value, in the layout of the text.
    """
    return lambda guest, start: list(ends_of(compiled(given_spec(guest.spec), byte_vocabulary()), text, start))
