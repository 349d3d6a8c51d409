"""Which rule derived which part of a text: a chart parser, and the leftmost longest derivation of its chart.

The chart is Earley's (1970), over the items of `schemagen.context_free.items`: a state is a rule, an item in it, and where the
rule began. One step reads not a character but a whole text of a terminal: from where it begins to each of its ends. Rules that
may be empty are stepped over as soon as they are looked for (Aycock & Horspool 2002).

Of several derivations the leftmost longest is taken: at every item the symbol that reaches furthest, and of those the one that
is written first, if the rest can still be read. So the answer does not depend on how the text was found, and ``name`` in
``name ("," name)*`` is a whole name.

Invariants: a state is in the chart at most once for each place; `_Chart.ends` is complete before a derivation is looked for.

Cost: linear in the text for lists and left recursion, its square for right recursion, its cube at worst; all in Python, some
microseconds for each state.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from heapq import merge
from typing import TYPE_CHECKING, NamedTuple

from schemagen.context_free.items import Items, positions_of
from schemagen.context_free.simplify import nullable_rules
from schemagen.context_free.syntax import (
    MARK,
    Guest,
    Lexeme,
    Rule,
    Terminal,
    Text,
    TokenRun,
    refuse_tokens,
    without_bounds,
)
from schemagen.errors import LimitError, UnsupportedGrammarError
from schemagen.regex import ast
from schemagen.regex.language import Language
from schemagen.regex.wildcards import paragraph_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from schemagen.context_free.items import Readable, Symbol
    from schemagen.context_free.syntax import ContextFreeGrammar

#: States of a chart: an ambiguous grammar may have the square of the text, of each rule.
MAX_STATES = 1_000_000


class Span(NamedTuple):
    """A part of a text, and the rule that derived it.

    Attributes:
        name: Of the rule, hole or group.
        start: Where it begins, in characters.
        end: Where it ends, exclusive.
        depth: How many other spans it is in.
    """

    name: str
    start: int
    end: int
    depth: int = 0


class _State(NamedTuple):
    rule: str
    item: int
    origin: int


class _Part(NamedTuple):
    """The text that a rule derives; a terminal has no name here."""

    rule: str | None
    start: int
    end: int


class _Step(NamedTuple):
    """To an item and a place, over a symbol that derives a part."""

    item: int
    place: int
    part: _Part


@lru_cache(maxsize=256)
def _language(regex: ast.Regex) -> Language:
    return Language(regex)


class _Reader:
    """Where texts of terminals end.

    Args:
        grammar: The grammar of the terminals.
        text: The text to read.
        guest_ends: The same for an embedded spec: its spec, and where it begins.
    """

    def __init__(self, grammar: ContextFreeGrammar, text: str, guest_ends: Callable[[Guest, int], list[int]]) -> None:
        self._grammar = grammar
        self._text = text
        self._guest_ends = guest_ends
        self._known: dict[tuple[Readable, int], list[int]] = {}

    def ends(self, symbol: Readable, start: int) -> list[int]:
        """Return where a text of a symbol may end that begins at ``start`` and is not empty, in order."""
        key = (symbol, start)
        if key not in self._known:
            self._known[key] = [end for end in self._read(symbol, start) if end > start]
        return self._known[key]

    def _read(self, symbol: Readable, start: int) -> list[int]:
        if isinstance(symbol, Text):
            return _language(symbol.regex).ends(self._text, start)
        if isinstance(symbol, Guest):
            return self._guest_ends(symbol, start)
        if isinstance(symbol, Terminal):
            return sorted({end for way in self._grammar.terminals[symbol.name] for end in self._lexeme(way, start)})
        if isinstance(symbol, TokenRun):  # of tokens a text says nothing but that each has a character
            ends = [len(self._text)] if symbol.has_lines else _language(paragraph_text()).ends(self._text, start)
            return list(range(start + symbol.low, ends[-1] + 1)) if ends else []
        return []

    def _lexeme(self, lexeme: Lexeme, start: int) -> Iterator[int]:
        """Yield the places where a lexeme may end, given the text after it."""
        text = self._text
        if lexeme.marked:
            yield from _language(lexeme.text).ends_before(text, start, MARK)
            return
        longer = [] if lexeme.longer == ast.EMPTY else _language(lexeme.longer).ends(text, start)
        last = longer[-1] if longer else 0
        yield from (end for end in _language(lexeme.text).ends(text, start) if end >= last)


class _Chart:
    """Earley's chart of a text.

    Attributes:
        ends: For a rule and a place where it began, where it may have ended, and how many others were known by then.
    """

    def __init__(self, grammar: ContextFreeGrammar, text: str, reader: _Reader) -> None:
        self._items: dict[str, Items] = {name: positions_of(body) for name, body in grammar.rules.items()}
        self._nullable = nullable_rules(grammar.rules)
        self._reader = reader
        self.ends: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
        self._waiting: dict[tuple[str, int], list[_State]] = defaultdict(list)
        self._sets: dict[int, dict[_State, None]] = defaultdict(dict)
        self._sorted: dict[tuple[str, int], list[int]] = {}
        self._count = 0
        self._found = 0
        self._ignored = [Terminal(name) for name in sorted(grammar.ignored)]
        self._grammar, self._length = grammar, len(text)
        for place in self._without_ignored(0):
            self._add(place, _State(grammar.start, 0, place))
        for place in range(len(text) + 1):
            self._fill(place)

    def whole(self) -> _Part | None:
        """Return the text without surrounding ignored text as a part, or None if it is not derived."""
        start = self._grammar.start
        for begin in reversed(self._without_ignored(0)):
            for end in sorted(self.ends[start, begin]):
                if self._length in self._without_ignored(end):
                    return _Part(start, begin, end)
        return None

    def _fill(self, place: int) -> None:
        states = self._sets.pop(place, {})
        self._sets[place] = states
        todo = list(states)
        for state in todo:
            items = self._items[state.rule]
            if state.item in items.accepting:
                self._complete(state, place, todo)
            for symbol, to in items.edges[state.item]:
                after = _State(state.rule, to, state.origin)
                if isinstance(symbol, Rule):
                    self._predict(symbol.name, after, place, todo)
                    continue
                for end in self._reader.ends(symbol, place):
                    for begin in self._without_ignored(end):
                        self._add(begin, after)
        del self._sets[place]

    def _predict(self, rule: str, after: _State, place: int, todo: list[_State]) -> None:
        waiting = self._waiting[rule, place]
        waiting.append(after)
        if rule in self._nullable:
            self.ends[rule, place].setdefault(place, 0)
            self._add(place, after, todo)
        self._add(place, _State(rule, 0, place), todo)

    def _complete(self, state: _State, place: int, todo: list[_State]) -> None:
        ends = self.ends[state.rule, state.origin]
        if place in ends:
            return
        self._found += 1
        ends[place] = self._found
        for after in self._waiting[state.rule, state.origin]:
            self._add(place, after, todo)

    def _add(self, place: int, state: _State, todo: list[_State] | None = None) -> None:
        states = self._sets[place]
        if state in states:
            return
        states[state] = None
        if todo is not None:
            todo.append(state)
        self._count += 1
        if self._count > MAX_STATES:
            raise LimitError(
                f"the spans of this text take more than {MAX_STATES:,} states of a parser",
                why="the grammar is very ambiguous there",
                fix="ask for the spans of a shorter text",
            )

    def _without_ignored(self, place: int) -> list[int]:
        """Return a place and those after terminals that are allowed anywhere."""
        found = [place]
        for at in found:
            found.extend({end for each in self._ignored for end in self._reader.ends(each, at)} - {*found})
        return found

    # --- the leftmost longest derivation ---------------------------------------------------------------------------

    def parts(self, part: _Part) -> list[_Part]:
        """Return the parts that the symbols in the body of a rule derive, in order.

        An empty part is not taken apart. A rule derives all of a part for another one only if it was found to before that one
        was: so no rule derives a part for itself.
        """
        if part.rule is None or part.start == part.end:
            return []
        items = self._items[part.rule]
        seen = {(0, part.start)}
        path = [self._steps(part, items, 0, part.start)]
        taken: list[_Part] = []
        while True:
            step = next(path[-1], None)
            if step is None:
                path.pop()
                taken.pop()
                continue
            if step.item in items.accepting and step.place == part.end:
                return [*taken, step.part]
            if (step.item, step.place) not in seen:
                seen.add((step.item, step.place))
                path.append(self._steps(part, items, step.item, step.place))
                taken.append(step.part)

    def _steps(self, whole: _Part, items: Items, item: int, place: int) -> Iterator[_Step]:
        """Yield the ways on from an item, the longest symbol first, and of equals the one that is written first."""
        edges = items.edges[item]
        ways = [self._ends_within(whole, symbol, place, number) for number, (symbol, _) in enumerate(edges)]
        for minus_end, number in merge(*ways) if len(ways) > 1 else ways[0] if ways else ():
            (symbol, to), end = edges[number], -minus_end
            if isinstance(symbol, Rule):
                yield _Step(to, end, _Part(symbol.name, place, end))
                continue
            for begin in reversed(self._without_ignored(end)):
                yield _Step(to, begin, _Part(None, place, end))

    def _ends_within(self, whole: _Part, symbol: Symbol, place: int, number: int) -> Iterator[tuple[int, int]]:
        """Yield the ends of a symbol that begins at a place, the furthest first: the end, negated, and the number of the edge.

        They are computed on demand: a left recursive rule has as many as the text is long.
        """
        if not isinstance(symbol, Rule):
            yield from ((-end, number) for end in reversed(self._reader.ends(symbol, place)) if end <= whole.end)
            return
        ends = self.ends.get((symbol.name, place))
        if not ends:
            return
        before = self.ends[whole.rule or "", whole.start][whole.end]
        known = self._sorted_ends(symbol.name, place)
        for at in range(bisect_right(known, whole.end) - 1, -1, -1):
            end = known[at]
            covers = (place, end) == (whole.start, whole.end)
            if ends[end] < before or not covers:
                yield -end, number

    def _sorted_ends(self, rule: str, place: int) -> list[int]:
        """Return in order where a rule that began somewhere may have ended."""
        key = (rule, place)
        if key not in self._sorted:
            self._sorted[key] = sorted(self.ends[key])
        return self._sorted[key]


def spans_of(
    grammar: ContextFreeGrammar, text: str, guest_ends: Callable[[Guest, int], list[int]]
) -> list[Span] | None:
    """Return which rule derived which part of a text, outer ones first; None if the grammar does not derive it.

    Args:
        grammar: Its rules, as they were read.
        text: All of it.
        guest_ends: For a spec that is embedded and a place in the text: where a text of it may end that begins there.

    Raises:
        UnsupportedGrammarError: It names tokens, has blocks by indentation, or tables of a parser.
        LimitError: It is too ambiguous there.
    """
    refuse_tokens(grammar, "a grammar whose spans are asked for")
    if grammar.tables is not None or grammar.indentation is not None:
        raise UnsupportedGrammarError(
            "the spans of a grammar with an LALR parser or with blocks by indentation",
            why="only lark's own parser decides which rule derives which text",
            fix="use Lark.parse(text): its tree has the places of rules with propagate_positions",
        )
    grammar = replace(grammar, rules=without_bounds(grammar.rules))  # a text does not tell its tokens
    chart = _Chart(grammar, text, _Reader(grammar, text, guest_ends))
    whole = chart.whole()
    if whole is None:
        return None
    found: list[Span] = []
    read: list[_Part] = []
    todo = [(whole, 0)]
    while todo:
        part, depth = todo.pop()
        if part.rule is None:
            read.append(part)
            continue
        found.append(Span(part.rule, part.start, part.end, depth))
        todo.extend((inner, depth + 1) for inner in reversed(chart.parts(part)))
    return [_trimmed(span, read) for span in found] if grammar.ignored else found


def _trimmed(span: Span, read: list[_Part]) -> Span:
    """Return a span without the ignored text after its last terminal."""
    last = bisect_left(read, span.end, key=lambda part: part.start) - 1
    within = last >= 0 and read[last].start >= span.start and read[last].end < span.end
    return span._replace(end=read[last].end) if within else span
