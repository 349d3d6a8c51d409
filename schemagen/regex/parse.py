r"""Pattern text -> `schemagen.regex.syntax`, for ECMA-262 and Python's `re`; `rust.py` builds on it for a third dialect.

Written by ourselves, because the parser of the standard library's `re` cannot read ECMA-262 (`\d` is another set,
``\/``, ``\cX``, ``\u{...}``, ``\p{...}``, ``(?<name>...)``, `$`) and is private. The open groups are kept on an explicit
stack instead of the Python stack, so that ten thousand opening brackets cost memory and nothing else.

Invariant: the result is at most `MAX_HEIGHT` operators high (brackets as such do not count), so that everything after
the parser may recurse over it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from schemagen.errors import LimitError
from schemagen.regex.ast import ANY_CHAR, Chars, Concat, Regex, concat, invert_ranges, literal, optional
from schemagen.regex.cursor import Cursor, Flags
from schemagen.regex.escapes import atom_escape, character_class, folded
from schemagen.regex.syntax import (
    ZERO_WIDTH,
    After,
    Ahead,
    Before,
    Named,
    Syntax,
    choice,
    look_ahead,
    look_behind,
    loop,
    sequence,
)
from schemagen.regex.text_groups import TEXT_GROUPS, TextGroup
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Callable

#: Operators inside one another. Python's own recursion limit is 1000 frames, and some stages use two per operator.
MAX_HEIGHT = 150
#: The largest counter of a repetition that the compiled core can hold.
MAX_COUNT = 2**31 - 1

#: ``{,n}`` is {0,n} in Python; ECMA-262 with the u flag refuses it, so that reading it in the same way contradicts nothing.
_COUNT = re.compile(r"\{([0-9]*)(?:(,)([0-9]*))?\}")
_GROUP_NAME = re.compile(r"([^\W\d]\w*)>")
_INLINE_FLAGS = re.compile(r"([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])")
_VERBOSE_SKIP = re.compile(r"[ \t\n\r\v\f]+|#[^\n]*")

#: Two or more characters that are literal in every dialect, the last of them not repeated.
_PLAIN_RUN = re.compile(r"[^\\^$.|?*+()\[\]{}\ud800-\uffff]{2,}(?![*+?{])")

_FLAG_FIELDS = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "x": "verbose", "a": "ascii"}

#: The text after "(?" -> the name of the group, and why no automaton or this dialect has it.
_REFUSED_GROUPS = {
    "P=": ("back-reference", "the match of a group has to be remembered, which no finite automaton can do"),
    "(": ("conditional group", "it depends on the match of a group, which no finite automaton remembers"),
    ">": ("atomic group", "it forbids backtracking, which changes what the rest of the pattern may match"),
    "|": ("branch-reset group", "it is part of Perl's dialect only"),
    "R": ("recursion", "a recursive pattern is not regular"),
    "&": ("recursion", "a recursive pattern is not regular"),
    "P>": ("recursion", "a recursive pattern is not regular"),
}


@dataclass(slots=True)
class _Item:
    """One element of a sequence with the height of its tree."""

    node: Syntax
    height: int
    position: int
    repeatable: bool = True


@dataclass(slots=True)
class Group:
    """A group that is still open."""

    kind: Literal["group", "ahead", "behind"]
    position: int
    flags: Flags
    negative: bool = False
    items: list[_Item] = field(default_factory=list)
    alternatives: list[_Item] = field(default_factory=list)
    repeated: bool = False
    text_group: str = ""
    name: str = ""


@lru_cache(maxsize=1024)
def _character(character: str) -> Chars:
    """Return one character as an expression; the same object each time, so that its hash is computed once."""
    return Chars(((ord(character), ord(character)),))


class Parser:
    """Reads one pattern from left to right."""

    #: White space and comments under the flag ``x``.
    _ignored = _VERBOSE_SKIP

    def __init__(
        self, pattern: str, *, python: bool, flags: Flags | None = None, text_groups: frozenset[str] = frozenset()
    ) -> None:
        self.cursor = Cursor(pattern, python, flags=flags or Flags())
        self._text_groups = text_groups
        self.keeps_names = False
        self.open_groups = [Group("group", 0, self.cursor.flags)]
        self._names: set[str] = set()

    def parse(self) -> Syntax:
        """Return the pattern as syntax.

        Raises:
            InvalidPatternError: Not a pattern of this dialect.
            UnsupportedPatternError: A construct that is not regular or belongs to another dialect.
            LimitError: Nested too deep, or a counter above `MAX_COUNT`.
        """
        cursor = self.cursor
        special: dict[str, Callable[[], None]] = {"|": self._next_alternative, "(": self._open_group, ")": self._close}
        special.update(dict.fromkeys("*+?{", self._quantifier))
        while cursor.position < len(cursor.pattern):
            poll()
            if self._literals():
                continue
            if cursor.flags.verbose and (skipped := self._ignored.match(cursor.pattern, cursor.position)):
                cursor.position = skipped.end()
                continue
            special.get(cursor.peek(), self._atom)()
        if len(self.open_groups) > 1:
            raise cursor.invalid(
                "group '(' is never closed", self.open_groups[-1].position, fix="add ')', or write '\\('"
            )
        return self._finish(self.open_groups[0]).node

    def push(self, node: Syntax, height: int, position: int, *, repeatable: bool = True) -> None:
        """Add a node to the innermost open group."""
        if height > MAX_HEIGHT:
            raise LimitError(
                f"the pattern nests {height} operators inside one another, limit {MAX_HEIGHT}",
                at=f"position {position} of a pattern of {len(self.cursor.pattern)} characters",
                fix="flatten the groups and repetitions of the pattern",
            )
        group = self.open_groups[-1]
        group.items.append(_Item(node, height, position, repeatable))
        group.repeated = False

    def _literals(self) -> bool:
        """Read a run of plain characters at once, which long patterns mostly consist of; say whether there was one."""
        cursor = self.cursor
        found = _PLAIN_RUN.match(cursor.pattern, cursor.position)
        if found is None or cursor.flags.ignore_case or cursor.flags.verbose:
            return False
        self.push(concat(*map(_character, found.group())), 0, cursor.position)
        cursor.position = found.end()
        return True

    def _atom(self) -> None:
        """Read one character, set, or anchor."""
        cursor = self.cursor
        start, character = cursor.position, cursor.peek()
        if character == "\\":
            node = atom_escape(cursor)
            is_anchor = cursor.pattern[start + 1] in "bBAzZ"
            self.push(node, 0, start, repeatable=not is_anchor)
            return
        if character == "[":
            self.push(character_class(cursor), 0, start)
            return
        cursor.position += 1
        if character in "^$":
            self.push(self._anchor(character), 0, start, repeatable=False)
        elif character == ".":
            self.push(ANY_CHAR if cursor.flags.dot_all else Chars(invert_ranges(cursor.line_ends)), 0, start)
        else:
            point = ord(character)
            self.push(Chars(folded(cursor, ((point, point),))), 0, start)

    def _anchor(self, character: str) -> Syntax:
        """Return `^` or `$` as an assertion."""
        cursor = self.cursor
        if cursor.flags.multiline:
            ends = cursor.line_ends
            return Before(ends, edge=True) if character == "^" else After(ends, edge=True)
        if character == "^":
            return Before((), edge=True)
        return Ahead(optional(literal("\n"))) if cursor.python else After((), edge=True)

    def _next_alternative(self) -> None:
        """Step over ``|``."""
        self.cursor.position += 1
        group = self.open_groups[-1]
        group.alternatives.append(self._sequence(group))
        group.items, group.repeated = [], False

    @staticmethod
    def _sequence(group: Group) -> _Item:
        """Return the items of a group's current alternative as one."""
        items = group.items
        if len(items) == 1 and (items[0].height or not isinstance(items[0].node, Concat)):
            return items[0]
        return _Item(sequence(i.node for i in items), 1 + max((i.height for i in items), default=-1), group.position)

    def _finish(self, group: Group) -> _Item:
        """Return a group's alternatives as one item."""
        last = self._sequence(group)
        if not group.alternatives:
            return last
        items = [*group.alternatives, last]
        return _Item(choice(i.node for i in items), 1 + max(i.height for i in items), group.position)

    def _close(self) -> None:
        """Step over ``)``."""
        cursor = self.cursor
        if len(self.open_groups) == 1:
            raise cursor.invalid("')' closes no group", cursor.position, fix="write '\\)' for ')'")
        cursor.position += 1
        group = self.open_groups.pop()
        cursor.flags = group.flags
        if group.text_group:
            self._push_text_group(group)
            return
        item = self._finish(group)
        if group.kind == "group":
            self.push(self._named(group, item.node), item.height, group.position)
            return
        build = look_ahead if group.kind == "ahead" else look_behind
        node = build(item.node, negative=group.negative, position=group.position)
        self.push(node, item.height + 2, group.position)

    def _push_text_group(self, group: Group) -> None:
        parts = [each.node for each in (*group.alternatives, self._sequence(group))]
        is_named = self.keeps_names and not any(outer.text_group for outer in self.open_groups)
        language, height = TextGroup(group.text_group, parts, group.position, self.cursor, is_named).language()
        self.push(self._named(group, language), height, group.position)

    def _named(self, group: Group, node: Syntax) -> Syntax:
        """Return a group by its name, if names are kept: not in a text group, whose parts are expressions."""
        is_kept = self.keeps_names and group.name and not any(outer.text_group for outer in self.open_groups)
        return Named(group.name, node) if is_kept else node

    def _open_group(self) -> None:
        """Step over ``(`` and what says which kind of group it is."""
        cursor = self.cursor
        start = cursor.position
        cursor.position += 1
        group = Group("group", start, cursor.flags)
        if cursor.skip("?") and not cursor.skip(":"):  # most groups are plain
            if cursor.skip("<=") or cursor.skip("<!"):
                group.kind, group.negative = "behind", cursor.pattern[cursor.position - 1] == "!"
            elif cursor.skip("=") or cursor.skip("!"):
                group.kind, group.negative = "ahead", cursor.pattern[cursor.position - 1] == "!"
            elif cursor.python and cursor.skip("#"):
                self._comment(start)
                return
            elif name := self._name(start):
                group.name, group.text_group = name, name if name in self._text_groups else ""
            elif not self._inline_flags(start):
                return
        self.open_groups.append(group)

    def _comment(self, start: int) -> None:
        end = self.cursor.pattern.find(")", self.cursor.position)
        if end < 0:
            raise self.cursor.invalid("comment '(?#' is never closed", start, fix="add ')'")
        self.cursor.position = end + 1

    def _name(self, start: int) -> str:
        """Step over ``P<name>``, or in ECMA-262 also ``<name>``, and return the name; "" if there is none."""
        cursor = self.cursor
        for prefix, (what, why) in _REFUSED_GROUPS.items():
            if cursor.pattern.startswith(prefix, cursor.position):
                raise cursor.unsupported(
                    f"{what} '(?{prefix}' cannot be compiled", start, why=why, fix="state the rule without it"
                )
        if not (cursor.skip("P<") or (not cursor.python and cursor.skip("<"))):
            return ""
        found = _GROUP_NAME.match(cursor.pattern, cursor.position)
        if found is None:
            raise cursor.invalid("group name is not an identifier followed by '>'", start)
        name = found.group(1)
        if cursor.python and name in self._names - self._text_groups:
            raise cursor.invalid(f"group name {name!r} is used twice", start)
        self._names.add(name)
        cursor.position = found.end()
        return name

    def _inline_flags(self, start: int) -> bool:
        """Step over ``i)`` or ``i-s:`` and the like, set the flags, and say whether a group opens.

        Flags without a group reach to the end of the enclosing group (Perl); Python has them at the start only.
        """
        cursor = self.cursor
        found = _INLINE_FLAGS.match(cursor.pattern, cursor.position)
        if found is None or not (found.group(1) or found.group(2)):
            text = cursor.pattern[start : start + 4]
            raise cursor.invalid(f"unknown group {text!r}", start, fix="write '(?:' for a group, '\\(' for a bracket")
        on, off, end = found.groups()
        known = "imsxau" if cursor.python else "ims"
        for letter in on + (off or ""):
            if letter not in known:
                raise cursor.unsupported(f"inline flag {letter!r} is not known", start, fix=f"use one of {known!r}")
        if end == ")" and cursor.python and not self._at_start():
            raise cursor.invalid(
                "flags are not at the start of the pattern", start, fix="write '(?i:...)' or move them"
            )
        changes = {_FLAG_FIELDS[letter]: True for letter in on if letter != "u"}
        changes.update({_FLAG_FIELDS[letter]: False for letter in off or "" if letter != "u"})
        if "u" in on:
            changes["ascii"] = False
        cursor.flags = replace(cursor.flags, **changes)
        cursor.position = found.end()
        return end == ":"

    def _at_start(self) -> bool:
        """Return whether nothing but flags and comments has been read."""
        return len(self.open_groups) == 1 and not self.open_groups[0].items and not self.open_groups[0].alternatives

    def _quantifier(self) -> None:
        """Step over a quantifier and repeat the last item."""
        cursor = self.cursor
        start = cursor.position
        bounds = self._bounds()
        if bounds is None:
            self._atom()
            return
        text = cursor.pattern[start : cursor.position]
        group = self.open_groups[-1]
        if not group.items or not group.items[-1].repeatable:
            raise cursor.invalid(
                f"nothing to repeat before {text!r}", start, fix=f"write '\\{text[0]}' for {text[0]!r}"
            )
        if group.repeated:
            raise cursor.invalid(f"multiple repeat {text!r}", start, fix="put the repeated part in a group '(?:...)'")
        if cursor.peek() == "+":
            raise cursor.unsupported(
                f"possessive quantifier '{text}+' cannot be compiled",
                start,
                why=_REFUSED_GROUPS[">"][1],
                fix=f"write '{text}'",
            )
        cursor.skip("?")  # a lazy quantifier prefers other matches, the language is the same
        item = group.items.pop()
        height = item.height if isinstance(item.node, ZERO_WIDTH) else item.height + 1
        self.push(loop(item.node, *bounds, item.position), height, item.position)
        group.repeated = True

    def _bounds(self) -> tuple[int, int | None] | None:
        """Step over the quantifier and return its bounds; None, without moving, if it is a literal ``{``."""
        cursor = self.cursor
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if cursor.peek() in simple:
            return simple[cursor.take()]
        found = _COUNT.match(cursor.pattern, cursor.position)
        if found is None or found.group() == "{}" or (found.group() == "{,}" and not cursor.python):
            return None
        low = self.count_of(found.group(1) or "0")
        high = low if found.group(2) is None else None
        if found.group(3):
            high = self.count_of(found.group(3))
        if high is not None and high < low:
            raise cursor.invalid(
                f"repetition {found.group()!r} is out of order", cursor.position, fix="swap its bounds"
            )
        cursor.position = found.end()
        return low, high

    def count_of(self, digits: str) -> int:
        """Return a counter as a number."""
        significant = digits.lstrip("0") or "0"
        if len(significant) > 10 or int(significant) > MAX_COUNT:
            raise LimitError(
                f"a repetition counts to {significant[:20]}, limit {MAX_COUNT}",
                at=f"position {self.cursor.position} of pattern {self.cursor.pattern[:100]!r}",
                fix="use an unbounded repetition such as '*', or a smaller bound",
            )
        return int(significant)


def parse_syntax(pattern: str, *, python: bool, text_groups: bool = False) -> Syntax:
    """Return a pattern as syntax, with its text groups expanded; see `Parser.parse`."""
    return Parser(pattern, python=python, text_groups=TEXT_GROUPS if text_groups else frozenset()).parse()


def parse_groups(pattern: str) -> Syntax:
    """Return a pattern of Python's dialect as syntax in which its named groups are."""
    parser = Parser(pattern, python=True, text_groups=TEXT_GROUPS)
    parser.keeps_names = True
    return parser.parse()


__all__ = ["MAX_COUNT", "MAX_HEIGHT", "Parser", "Regex", "parse_groups", "parse_syntax"]
