"""Regular expressions as nodes of the compiled core, whose kernel works out their derivatives (core/regex/nodes.hpp)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from schemagen.errors import LimitError
from schemagen.regex.ast import Alternation, Chars, Complement, Concat, Regex, Repeat, Substring, char_set
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from schemagen import _core

EMPTY_NODE, EPSILON_NODE = 0, 1
#: The ways in which the characters of a language are spelled; in `TEXT` halves of surrogate pairs are characters, too.
UTF8, JSON, CANONICAL, TEXT = 0, 1, 2, 3
#: From so many parts on, such as the characters of a long text, equal objects are looked up once.
_MANY_PARTS = 256
#: Counters of the core have 32 bits, and the highest number stands for no end.
_MOST_COUNTED = 2**32 - 1
_SURROGATES = re.compile("[\ud800-\udfff]+")


def surrogate_words(*texts: str) -> str:
    """Return in words that a text has half of a surrogate pair, which `str` can hold; empty if none has."""
    found = next((half.group() for text in texts if (half := _SURROGATES.search(text))), None)
    return (
        "" if found is None else f"U+{ord(found[0]):04X} is half of a surrogate pair, which UTF-8 text cannot contain"
    )


def has_surrogates(text: str) -> bool:
    """Whether a text has half of a surrogate pair."""
    return _SURROGATES.search(text) is not None


def _counts_of(regex: Repeat) -> tuple[int, int]:
    """Return least and most, in the numbers of the core; -1 for no end.

    Raises:
        LimitError: The least is beyond them.
    """
    if regex.low >= _MOST_COUNTED:
        raise LimitError(f"a part of a pattern comes {regex.low} times or more, limit {_MOST_COUNTED - 1}")
    return regex.low, -1 if regex.high is None or regex.high >= _MOST_COUNTED else regex.high


class PatternLowering:
    """Regular expressions to nodes of one kernel.

    Args:
        languages: The kernel.
        known: Nodes that were made in it before, by encoding and expression; new ones are added.
    """

    def __init__(self, languages: _core.Languages, known: dict[tuple[int, Regex], int]) -> None:
        self._languages = languages
        self._known = known

    def lower(self, regex: Regex, encoding: int) -> int:
        """Return the node of a regex over code points, spelled in an encoding."""
        key = (encoding, regex)
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = self._lower(regex, encoding)
        return node

    def _parts(self, parts: tuple[Regex, ...], encoding: int) -> list[int]:
        """Return the nodes of parts; of very many, such as the characters of a long text, each object once."""
        if len(parts) < _MANY_PARTS:
            return [self.lower(part, encoding) for part in parts]
        distinct = {id(part): part for part in parts}
        nodes = {key: self.lower(part, encoding) for key, part in distinct.items()}
        return [nodes[id(part)] for part in parts]

    def _lower(self, regex: Regex, encoding: int) -> int:
        poll()
        make = self._languages
        if isinstance(regex, Chars):
            return make.chars(encoding, [end for pair in regex.ranges for end in pair])
        if isinstance(regex, Repeat):
            return make.repeat(self.lower(regex.inner, encoding), *_counts_of(regex))
        if isinstance(regex, Complement):
            inner = make.complement(self.lower(regex.inner, encoding))
            return make.conjunction([make.any_string(encoding), inner])
        if isinstance(regex, Substring):
            return self._substring(regex.text, encoding)
        parts = self._parts(regex.parts, encoding)
        if isinstance(regex, Concat):
            return make.concat(parts)
        return make.alternation(parts) if isinstance(regex, Alternation) else make.conjunction(parts)

    def _substring(self, text: str, encoding: int) -> int:
        """Return the node of the substrings of a text; in a JSON string they are written out, which takes a short text."""
        make = self._languages
        if encoding == TEXT:
            return make.substring(text.encode(errors="surrogatepass"))
        if encoding == UTF8:
            pieces = [piece for piece in _SURROGATES.split(text) if piece]  # a lone surrogate cannot be written
            return make.alternation([make.substring(piece.encode()) for piece in pieces])
        ways, rest = [], EPSILON_NODE
        for character in reversed(text):
            ways.append(make.concat([self.lower(char_set(character), encoding), rest]))
            rest = make.alternation([EPSILON_NODE, ways[-1]])
        return make.alternation(ways)
