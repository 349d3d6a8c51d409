"""Anchors, word boundaries and look-arounds -> plain regular expressions, without approximation.

Idea: translate with a continuation. T(x, K) is the language of the rest of the text from the position where x starts,
given the language K of what remains after x:

    T(r, K)       = r K                      r has no assertion
    T(xy, K)      = T(x, T(y, K))
    T(x|y, K)     = T(x, K) | T(y, K)
    T($, K)       = K & {""}                 likewise for every assertion about the text after it
    T((?=x), K)   = K & T(x, anything)
    T((?!x), K)   = K & ~T(x, anything)

Since K is the whole rest of the text, intersecting with it is exactly the meaning of a look-ahead. The text on the left
enters through the previous character only: the alphabet is partitioned by the character sets that some `Before` of the
pattern names, and K becomes a tuple with one language per kind of previous character, the first for "none". An r without
assertions passes on the kind of its last character, and is split by it only where the continuations differ.

Repetitions of assertions: an unbounded one in front of "anything" needs only its lower bound; ``((?!x)c)*`` at the end
of the text is c* & ~(anything x anything); bounded ones are unrolled up to `MAX_UNROLL`. A look-behind of more than one
character in a top-level sequence is an intersection with the language of the text before it. Everything else (a word
boundary in a loop, a tempered dot before a terminator, a look-behind in a group) goes to `automaton.py`, which is
general, but gives larger expressions.

Invariant: each result is a language of complete rests of the text; nothing is approximated. Work is bounded by
`MAX_WORK` and `MAX_SIZE`, since T(x|y, K) repeats K.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.regex.alphabet import Alphabet
from schemagen.regex.ast import (
    ANY_STRING,
    EMPTY,
    EPSILON,
    Alternation,
    Chars,
    Concat,
    Conjunction,
    Ranges,
    Regex,
    Substring,
    chars,
    complement,
    concat,
    conjunction,
    intersect_ranges,
    repeat,
    star,
    union,
)
from schemagen.regex.edges import (
    absorb_left,
    absorb_right,
    intersect,
    nullable,
    optional_of,
    restrict_first,
    restrict_last,
)
from schemagen.regex.syntax import (
    PLAIN,
    After,
    Ahead,
    Before,
    Choice,
    LookAhead,
    LookBehind,
    Loop,
    Sequence,
    Syntax,
    sequence,
)
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_UNROLL = 64
#: Nodes that are made, and those of one expression when it is written out.
MAX_WORK, MAX_SIZE = 400_000, 200_000

#: One language per kind of previous character; index 0 is the start of the text.
Follow = tuple[Regex, ...]


class NotAlgebraicError(Exception):
    """The translation above does not cover a pattern; `automaton.py` has to."""


class Translator:
    """The translation of one pattern: knows the kinds of previous characters that the pattern tells apart."""

    def __init__(self, syntax: Syntax) -> None:
        alphabet = Alphabet(before_sets(syntax))
        #: The characters of each kind; kind 0, the start of the text, has none.
        self.kinds: tuple[Ranges, ...] = ((), *(alphabet.ranges(1 << number) for number in range(alphabet.size)))
        self._endings: dict[tuple[Regex, tuple[int, ...]], Regex] = {}
        self._holds: dict[int, tuple[bool, ...]] = {}
        self._sizes: dict[int, tuple[Regex, int]] = {}

    def same(self, language: Regex) -> Follow:
        """Return a continuation that does not depend on the previous character."""
        return (language,) * len(self.kinds)

    def translate(self, node: Syntax, follow: Follow) -> Follow:
        """Return T(node, follow)."""
        poll()
        result = self._dispatch(node, follow)
        if max(map(self._size, result)) > MAX_SIZE or len(self._sizes) > MAX_WORK:
            raise NotAlgebraicError
        return result

    def _dispatch(self, node: Syntax, follow: Follow) -> Follow:
        if isinstance(node, PLAIN):
            return self._plain(node, follow)
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                follow = self.translate(part, follow)
            return follow
        if isinstance(node, Choice):
            options = [self.translate(part, follow) for part in node.parts]
            return tuple(union(*languages) for languages in zip(*options, strict=True))
        if isinstance(node, Loop):
            return self._loop(node, follow)
        if isinstance(node, Before):
            return self._before(node, follow)
        return self._ahead(node, follow)

    def _before(self, node: Before, follow: Follow) -> Follow:
        """Keep the continuation where the previous character is one that the assertion asks for."""
        holds = self._holds.get(id(node))
        if holds is None:
            kinds = (bool(intersect_ranges(ranges, node.ranges)) for ranges in self.kinds[1:])
            holds = self._holds[id(node)] = (node.edge, *kinds)
        return tuple(language if here else EMPTY for here, language in zip(holds, follow, strict=True))

    def _ahead(self, node: Syntax, follow: Follow) -> Follow:
        """Intersect the continuation with the condition of the assertion on the rest of the text."""
        if isinstance(node, After):
            return self._map(follow, lambda language: restrict_first(language, node.ranges, edge=node.edge))
        if isinstance(node, Ahead):
            return self._map(follow, lambda language: intersect(language, node.language))
        if isinstance(node, LookAhead):
            found = self.translate(node.inner, self.same(ANY_STRING))
            claims = tuple(map(complement, found)) if node.negative else found
            return tuple(intersect(language, claim) for language, claim in zip(follow, claims, strict=True))
        raise NotAlgebraicError

    @staticmethod
    def _map(follow: Follow, change: Callable[[Regex], Regex]) -> Follow:
        """Apply ``change`` once per distinct language of a continuation."""
        known: dict[int, Regex] = {}
        for language in follow:
            if id(language) not in known:
                known[id(language)] = change(language)
        return tuple(known[id(language)] for language in follow)

    def _plain(self, node: Regex, follow: Follow) -> Follow:
        """Put a part without assertions before the continuation, split by its last character where that matters."""
        groups: dict[Regex, list[int]] = {}
        for kind, language in enumerate(follow[1:], 1):
            if language != EMPTY:
                groups.setdefault(language, []).append(kind)
        pieces = {language: self._ending(node, tuple(kinds)) for language, kinds in groups.items()}
        if not nullable(node):
            return self.same(union(*(join(piece, language) for language, piece in pieces.items())))
        known: dict[Regex, Regex] = {}
        for here in follow:
            if here not in known:
                known[here] = _stay_or_pass(here, pieces)
        return tuple(known[here] for here in follow)

    def _ending(self, node: Regex, kinds: tuple[int, ...]) -> Regex:
        """Return the texts of a part that end with a character of some kinds."""
        known = self._endings.get((node, kinds))
        if known is None:
            ranges = chars(*(pair for kind in kinds for pair in self.kinds[kind])).ranges
            known = self._endings[node, kinds] = restrict_last(node, ranges, edge=False)
        return known

    def _loop(self, node: Loop, follow: Follow) -> Follow:
        """Unroll, or use one of the closed forms."""
        low, high = node.low, node.high
        if follow == self.same(ANY_STRING):
            high = low
        elif follow == self.same(EPSILON) and (closed := self._tempered(node)) is not None:
            return self.same(closed)
        result = follow
        if high is None and _is_local(node.inner, covered=False):
            result = self._star(node.inner, follow)
        elif high is None or high > MAX_UNROLL or low > MAX_UNROLL:
            raise NotAlgebraicError
        else:
            for _ in range(high - low):
                once = self.translate(node.inner, result)
                result = tuple(union(stop, go) for stop, go in zip(follow, once, strict=True))
        for _ in range(low):
            result = self.translate(node.inner, result)
        return result

    def _star(self, inner: Syntax, follow: Follow) -> Follow:
        """Solve L = K | M L, where M[i][j] leads from kind i to kind j through one round (Arden 1961)."""
        count = len(self.kinds)
        columns = [
            self.translate(inner, tuple(EPSILON if row == column else EMPTY for row in range(count)))
            for column in range(count)
        ]
        step = [[columns[column][row] for column in range(count)] for row in range(count)]
        rest = list(follow)
        for pivot in reversed(range(count)):
            around = star(step[pivot][pivot])
            rest[pivot] = join(around, rest[pivot])
            step[pivot] = [join(around, path) for path in step[pivot]]
            for row in range(pivot):
                rest[row] = union(rest[row], join(step[row][pivot], rest[pivot]))
                for column in range(pivot):
                    step[row][column] = union(step[row][column], join(step[row][pivot], step[pivot][column]))
        for row in range(1, count):
            rest[row] = union(rest[row], *(join(step[row][column], rest[column]) for column in range(row)))
        return tuple(rest)

    def _tempered(self, node: Loop) -> Regex | None:
        """Return the closed form of ``((?!x)c){low,high}`` at the end of the text, or None if it is something else.

        Every round starts at another character of c{low,high}, and no position but the last, which is empty, is exempt
        from the claim: no suffix except the empty one may break it.
        """
        inner = node.inner
        if not isinstance(inner, Sequence) or len(inner.parts) != 2 or not isinstance(inner.parts[1], Chars):
            return None
        if not isinstance(inner.parts[0], (Ahead, LookAhead)):
            return None
        claims = self._ahead(inner.parts[0], self.same(ANY_STRING))
        if len(set(claims)) != 1:
            return None
        broken = complement(claims[0])
        if nullable(broken):
            broken = conjunction(broken, absorb_right(Chars(((0, 0x10FFFF),))))
        return intersect(repeat(inner.parts[1], node.low, node.high), complement(absorb_left(broken)))

    def _size(self, regex: Regex) -> int:
        """Return how many nodes an expression has when it is written out, each shared part as often as it occurs."""
        sizes = self._sizes
        known = sizes.get(id(regex))
        if known is not None:
            return known[1]
        size = 1
        if isinstance(regex, (Concat, Alternation, Conjunction)):
            for part in regex.parts:  # long ones have mostly parts of before
                known = sizes.get(id(part))
                size += self._size(part) if known is None else known[1]
        elif not isinstance(regex, (Chars, Substring)):
            size += self._size(regex.inner)
        self._sizes[id(regex)] = (regex, size)
        return size


def _stay_or_pass(here: Regex, pieces: dict[Regex, Regex]) -> Regex:
    """Return ``here | piece language | ...``, where a language contained in ``here`` makes its piece optional."""
    options = list(here.parts if isinstance(here, Alternation) else (here,))
    passed = []
    for language, piece in pieces.items():
        parts = language.parts if isinstance(language, Alternation) else (language,)
        if all(part in options for part in parts):
            options = [option for option in options if option not in parts]
            passed.append(join(optional_of(piece), language))
        else:
            passed.append(join(piece, language))
    return union(*options, *passed)


def before_sets(syntax: Syntax) -> list[Ranges]:
    """Return the character sets of every `Before` inside."""
    found: list[Ranges] = []
    stack: list[Syntax] = [syntax]
    while stack:
        node = stack.pop()
        if isinstance(node, Before):
            found.append(node.ranges)
        elif isinstance(node, (Sequence, Choice)):
            stack.extend(node.parts)
        elif isinstance(node, (Loop, LookAhead, LookBehind)):
            stack.append(node.inner)
    return found


def join(head: Regex, tail: Regex) -> Regex:
    """Return ``head`` then ``tail``, shortened where one of them can be anything."""
    if tail == ANY_STRING and head != EMPTY:
        return absorb_right(head)
    if head == ANY_STRING and tail != EMPTY:
        return absorb_left(tail)
    return concat(head, tail)


def top_level_look_behinds(syntax: Syntax) -> Syntax:
    """Turn the look-behinds of a top-level sequence into intersections with the text before them.

    Only where the text before them looks left alone; otherwise its language is not known without the text after it.
    """
    if not isinstance(syntax, Sequence):
        return syntax
    for index, part in enumerate(syntax.parts):
        if isinstance(part, LookBehind):
            prefix = prefix_language(sequence(syntax.parts[:index]))
            looked = prefix_language(sequence((ANY_STRING, part.inner)))
            if prefix is None or looked is None:
                raise NotAlgebraicError
            here = intersect(prefix, complement(looked) if part.negative else looked)
            return top_level_look_behinds(sequence((Before((), edge=True), here, *syntax.parts[index + 1 :])))
    return syntax


def prefix_language(syntax: Syntax) -> Regex | None:
    """Return the texts that ``syntax`` matches from start to end, whatever comes after them; None if it looks beyond."""
    if _looks_right(syntax):
        return None
    translator = Translator(syntax)
    return translator.translate(syntax, translator.same(EPSILON))[0]


def _is_local(node: Syntax, *, covered: bool) -> bool:
    """Return whether no claim inside ``node`` reaches the text after it.

    ``covered`` says that a character which does not belong to that text follows for sure.
    """
    if isinstance(node, After):
        return covered
    if isinstance(node, Sequence):
        for part in reversed(node.parts):
            if not _is_local(part, covered=covered):
                return False
            covered = covered or _consumes(part)
        return True
    if isinstance(node, Choice):
        return all(_is_local(part, covered=covered) for part in node.parts)
    if isinstance(node, Loop):
        return _is_local(node.inner, covered=covered and _consumes(node.inner))
    return isinstance(node, (*PLAIN, Before))


def _consumes(node: Syntax) -> bool:
    """Return whether every match has at least one character."""
    if isinstance(node, PLAIN):
        return not nullable(node)
    if isinstance(node, Sequence):
        return any(map(_consumes, node.parts))
    if isinstance(node, Choice):
        return all(map(_consumes, node.parts))
    return isinstance(node, Loop) and node.low > 0 and _consumes(node.inner)


def _looks_right(syntax: Syntax) -> bool:
    """Return whether a claim about the text after a position occurs anywhere inside."""
    stack: list[Syntax] = [syntax]
    while stack:
        node = stack.pop()
        if isinstance(node, (After, Ahead, LookAhead)):
            return True
        if isinstance(node, (Sequence, Choice)):
            stack.extend(node.parts)
        elif isinstance(node, (Loop, LookBehind)):
            stack.append(node.inner)
    return False
