r"""Patterns in the syntax of Rust's `regex` crate, which pydantic checks `Field(pattern=...)` with.

Source: the documentation of the crate, version 1.11, and experiments with the crate inside pydantic-core.

The crate itself is asked first whether the text is a pattern (`rust_sets.refusal`), so nothing is read that it refuses. The
reader below then gives the meaning: the texts of a match, not the choice of one, for which lazy quantifiers and the flag ``U``
make no difference.

Differences from the other dialects: classes nest and have set operations (``[a-z&&[^aeiou]]``), which bind weaker than
standing side by side and from the left; the tables of `\d`, `\s`, `\w` and `\p{...}` are the crate's own; `$` is only the very
end of the text; `.` refuses the line feed alone; ``a**`` and ``^*`` repeat a repetition; without the flag ``u`` the class
escapes, `\b` and the flag ``i`` are ASCII.

Invariant: under the flag ``i`` a class is folded before it is negated, and so are both sides of a set operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from schemagen.errors import LimitError
from schemagen.regex.ast import (
    ANY_CHAR,
    MAX_CODE_POINT,
    Chars,
    Ranges,
    intersect_ranges,
    invert_ranges,
    normalise_ranges,
)
from schemagen.regex.cursor import NEWLINE, Cursor
from schemagen.regex.parse import Group, Parser
from schemagen.regex.rust_sets import POSIX, ascii_fold, refusal, rust_fold, rust_set, with_surrogates
from schemagen.regex.syntax import ZERO_WIDTH, After, Before, Syntax, choice, loop, sequence, word_boundary
from schemagen.regex.unicode import ASCII_DIGIT, ASCII_SPACE, ASCII_WORD

_RETURN: Ranges = ((0x0D, 0x0D),)
_EITHER_END: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D))
#: White_Space, and comments.
_IGNORED = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+|#[^\n]*")
_NAME = re.compile(r"\?P?<[^\W\d][\w.\[\]]*>")
_FLAGS = re.compile(r"\?([imsRUux]*)(?:-([imsRUux]+))?([:)])")
_COUNT = re.compile(r"\{\s*([0-9]+)\s*(?:(,)\s*(?:([0-9]+)\s*)?)?\}")
_BOUNDARY = re.compile(r"\\b\{(start|end|start-half|end-half)\}")
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_HEX = "0123456789abcdefABCDEF"
_FLAG_FIELDS = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "x": "verbose", "R": "crlf"}
_CONTROLS = {"a": 0x07, "f": 0x0C, "t": 0x09, "n": 0x0A, "r": 0x0D, "v": 0x0B}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_ASCII_SETS = {"d": ASCII_DIGIT, "s": ASCII_SPACE, "w": ASCII_WORD}
#: The beginnings of the crate's messages about constructs of other dialects.
_NEEDS_ANOTHER_DIALECT = ("look-around", "backreferences")


def parse_rust_syntax(pattern: str) -> Syntax:
    """Return a pattern of Rust's `regex` crate as syntax.

    Raises:
        InvalidPatternError: The crate refuses it; ``position`` says where.
        UnsupportedPatternError: The crate has no such construct, but other dialects have; or it is not read here.
        LimitError: Too large for the crate, nested too deep, or a counter above `MAX_COUNT`.
    """
    _check(pattern)
    return RustParser(pattern).parse()


def _check(pattern: str) -> None:
    """Refuse the patterns that the crate refuses."""
    cursor = Cursor(pattern, python=False)
    surrogate = re.search("[\ud800-\udfff]", pattern)
    if surrogate:
        raise cursor.invalid("the pattern has a lone surrogate", surrogate.start(), fix="remove it: no text has one")
    refused = refusal(pattern)
    if refused is None:
        return
    if refused.is_size:
        raise LimitError(
            f"Rust's regex crate refuses the pattern: {refused.fact}",
            at=f"pattern {pattern[:100]!r}",
            fix="use smaller counts, or maxLength for the length",
        )
    error = cursor.unsupported if refused.fact.startswith(_NEEDS_ANOTHER_DIALECT) else cursor.invalid
    raise error(
        f"Rust's regex crate refuses the pattern: {refused.fact}",
        refused.position,
        fix="correct it at this position, or use Python's dialect: regex_engine='python-re', Regex(dialect='python')",
    )


@dataclass(slots=True)
class _Set:
    """A class that is still open.

    Attributes:
        position: Of its bracket.
        negated: Whether ``^`` begins it.
        ranges: The items since the last operator.
        left: The operand before that operator, or None without any.
        operator: ``&``, ``-`` or ``~``.
    """

    position: int
    negated: bool = False
    ranges: list[tuple[int, int]] = field(default_factory=list)
    left: Ranges | None = None
    operator: str = ""


class RustParser(Parser):
    """Reads one pattern of the crate's syntax, which the crate has accepted."""

    _ignored = _IGNORED

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern, python=False)

    # --- atoms ------------------------------------------------------------------------------------------------------

    def _atom(self) -> None:
        """Read one character, class, or assertion."""
        cursor = self.cursor
        start, character = cursor.position, cursor.peek()
        if character == "\\":
            found = self._assertion() or self._escape()
            node = Chars(self._folded((with_surrogates(found, found),))) if isinstance(found, int) else found
            self.push(Chars(node) if isinstance(node, tuple) else node, 0, start)
            return
        if character == "[":
            self.push(Chars(self._class()), 0, start)
            return
        cursor.position += 1
        if character in "^$":
            self.push(self._anchor(character), 0, start)
        elif character == ".":
            ends = _EITHER_END if cursor.flags.crlf else NEWLINE
            self.push(ANY_CHAR if cursor.flags.dot_all else Chars(invert_ranges(ends)), 0, start)
        else:
            self.push(Chars(self._folded((with_surrogates(ord(character), ord(character)),))), 0, start)

    def _folded(self, ranges: Ranges) -> Ranges:
        """Return ``ranges`` as the flag ``i`` widens them here."""
        flags = self.cursor.flags
        if not flags.ignore_case:
            return ranges
        return ascii_fold(ranges) if flags.ascii else rust_fold(ranges)

    def _anchor(self, character: str) -> Syntax:
        """Return `^` or `$`; with ``m`` and ``R`` no line ends between the two characters of CRLF."""
        flags = self.cursor.flags
        start = character == "^"
        if not flags.multiline:
            return Before((), edge=True) if start else After((), edge=True)
        if not flags.crlf:
            return Before(NEWLINE, edge=True) if start else After(NEWLINE, edge=True)
        if start:
            inside = sequence((Before(_RETURN, edge=False), After(invert_ranges(NEWLINE), edge=True)))
            return choice((Before(NEWLINE, edge=True), inside))
        inside = sequence((Before(invert_ranges(_RETURN), edge=True), After(NEWLINE, edge=False)))
        return choice((After(_RETURN, edge=True), inside))

    def _assertion(self) -> Syntax | None:
        r"""Read `\A`, `\z` or a word boundary; None, without moving, if the escape is something else."""
        cursor = self.cursor
        letter = cursor.peek(1)
        if not letter or letter not in "AzbB<>":
            return None
        named = _BOUNDARY.match(cursor.pattern, cursor.position)
        cursor.position = named.end() if named else cursor.position + 2
        if letter in "Az":
            return Before((), edge=True) if letter == "A" else After((), edge=True)
        word = self._predefined("w")
        other = invert_ranges(word)
        kind = named.group(1) if named else {"<": "start", ">": "end"}.get(letter, "")
        if kind == "start":
            return sequence((Before(other, edge=True), After(word, edge=False)))
        if kind == "end":
            return sequence((Before(word, edge=False), After(other, edge=True)))
        if kind:
            return Before(other, edge=True) if kind == "start-half" else After(other, edge=True)
        return word_boundary(word, negative=letter == "B")

    def _predefined(self, letter: str) -> Ranges:
        found = _ASCII_SETS[letter] if self.cursor.flags.ascii else rust_set(f"\\{letter}")
        assert found is not None, "every version of the crate has these"
        return found

    # --- escapes ----------------------------------------------------------------------------------------------------

    def _escape(self) -> int | Ranges:
        """Read an escape that stands for a character or a set; the cursor is at the backslash."""
        cursor = self.cursor
        start, letter = cursor.position, cursor.peek(1)
        if letter in _DIGITS:
            return self._hexadecimal(_DIGITS[letter])
        if letter in {"p", "P"}:
            return self._property()
        cursor.position += 2
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter and letter in "dsw":
            return self._predefined(letter)
        if letter and letter in "DSW":
            return invert_ranges(self._predefined(letter.lower()))
        if not letter or not letter.isascii() or letter.isalnum() or letter in "<>":
            raise cursor.unsupported(f"escape '\\{letter}' is not known here", start, fix="write the characters meant")
        return ord(letter)

    def _step(self) -> str:
        """Step over one character, and the text after it that the flag ``x`` ignores; return the next character."""
        self.cursor.position += 1
        self._ignore()
        return self.cursor.peek()

    def _ignore(self) -> None:
        """Step over white space and comments under the flag ``x``."""
        cursor = self.cursor
        while cursor.flags.verbose and (skipped := _IGNORED.match(cursor.pattern, cursor.position)):
            cursor.position = skipped.end()

    def _hexadecimal(self, count: int) -> int:
        r"""Read `\x41`, `\u0041`, `\U00000041`, or one of the letters with digits in braces."""
        cursor = self.cursor
        start = cursor.position
        cursor.position += 1
        braced = self._step() == "{"
        digits = ""
        if braced:
            while (digit := self._step()) in _HEX and digit:
                digits += digit
            closed = cursor.skip("}")
        else:
            while len(digits) < count and cursor.peek() in _HEX and cursor.peek():
                digits += cursor.take()
                if len(digits) < count:
                    self._ignore()
            closed = len(digits) == count
        if not closed or not digits or int(digits, 16) > MAX_CODE_POINT:
            raise cursor.invalid("escape needs the hexadecimal digits of a code point", start)
        return int(digits, 16)

    def _property(self) -> Ranges:
        r"""Read `\pL`, `\p{Greek}`, `\p{sc=Greek}` and the like; the crate knows the names."""
        cursor = self.cursor
        start = cursor.position
        letter = cursor.peek(1)
        cursor.position += 1
        if self._step() == "{":
            end = cursor.pattern.find("}", cursor.position)
            name, cursor.position = cursor.pattern[cursor.position + 1 : end], end + 1
            if end < 0 or (cursor.flags.verbose and "#" in name):
                raise cursor.unsupported("property escape that is not read here", start, fix="write '\\p{L}' plainly")
            name = _IGNORED.sub("", name) if cursor.flags.verbose else name
        else:
            name = cursor.take()
        found = rust_set(rf"\p{{{name}}}")
        if found is None:
            raise cursor.unsupported(f"Unicode property {name!r} is not known", start, fix="write the code points")
        found = self._folded(found)
        return invert_ranges(found) if letter == "P" else found

    # --- classes ----------------------------------------------------------------------------------------------------

    def _class(self) -> Ranges:
        """Read ``[...]`` with all the classes in it; the cursor is at the opening bracket."""
        cursor = self.cursor
        still_open = [self._open_set()]
        while True:
            self._ignore()
            character, current = cursor.peek(), still_open[-1]
            if not character:
                raise cursor.invalid("character class '[' is never closed", current.position, fix="add ']'")
            if character == "]":
                cursor.position += 1
                done = self._closed_set(still_open.pop())
                if not still_open:
                    return done
                still_open[-1].ranges.extend(done)
            elif character == "[":
                if not self._posix(current):
                    still_open.append(self._open_set())
            elif character in "&-~" and cursor.peek(1) == character:
                cursor.position += 2
                current.left, current.ranges, current.operator = self._operand(current), [], character
            else:
                current.ranges.extend(self._class_item())

    def _open_set(self) -> _Set:
        """Step over ``[`` or ``[^``, and over a character that is literal only because it comes first."""
        cursor = self.cursor
        opened = _Set(cursor.position)
        if self._step() == "^":
            opened.negated = True
            self._step()
        while cursor.peek() == "-":
            opened.ranges = [(0x2D, 0x2D)]
            self._step()
        if not opened.ranges and cursor.peek() == "]":
            opened.ranges = [(0x5D, 0x5D)]
            cursor.position += 1
        return opened

    def _operand(self, current: _Set) -> Ranges:
        """Return the operand of a class read so far, its last operator applied."""
        right = normalise_ranges(current.ranges)
        if current.left is None:
            return right
        left, right = self._folded(current.left), self._folded(right)
        if current.operator == "&":
            return intersect_ranges(left, right)
        only_left = intersect_ranges(left, invert_ranges(right))
        if current.operator == "-":
            return only_left
        return normalise_ranges((*only_left, *intersect_ranges(right, invert_ranges(left))))

    def _closed_set(self, current: _Set) -> Ranges:
        found = self._folded(self._operand(current))
        return invert_ranges(found) if current.negated else found

    def _posix(self, current: _Set) -> bool:
        """Step over ``[:alpha:]`` inside a class; say whether there was one."""
        cursor = self.cursor
        found = _POSIX.match(cursor.pattern, cursor.position)
        if found is None or found.group(2) not in POSIX:
            return False
        cursor.position = found.end()
        ranges = self._folded(POSIX[found.group(2)])
        current.ranges.extend(invert_ranges(ranges) if found.group(1) else ranges)
        return True

    def _class_item(self) -> Ranges:
        """Read a character, a set, or a range of characters inside a class."""
        cursor = self.cursor
        start = cursor.position
        low = self._class_atom()
        self._ignore()
        if cursor.peek() != "-" or self._after_hyphen() in {"]", "-", ""}:
            return low if isinstance(low, tuple) else (with_surrogates(low, low),)
        self._step()
        high = self._class_atom()
        if isinstance(low, tuple) or isinstance(high, tuple) or low > high:
            text = cursor.pattern[start : cursor.position]
            raise cursor.invalid(f"character range {text!r} is out of order, or ends in a set", start)
        return (with_surrogates(low, high),)

    def _after_hyphen(self) -> str:
        """Return the character after the hyphen at the cursor, without moving."""
        cursor = self.cursor
        hyphen = cursor.position
        following = self._step()
        cursor.position = hyphen
        return following

    def _class_atom(self) -> int | Ranges:
        return self._escape() if self.cursor.peek() == "\\" else ord(self.cursor.take())

    # --- groups and quantifiers -------------------------------------------------------------------------------------

    def _open_group(self) -> None:
        """Step over ``(`` and a name or flags."""
        cursor = self.cursor
        group = Group("group", cursor.position, cursor.flags)
        is_special = self._step() == "?"
        named = _NAME.match(cursor.pattern, cursor.position)
        if named:
            cursor.position = named.end()
        elif is_special and not self._group_flags(group.position):
            return
        self.open_groups.append(group)

    def _group_flags(self, start: int) -> bool:
        """Step over ``?i-s:`` or ``?i)``, set the flags, and say whether a group opens."""
        cursor = self.cursor
        found = _FLAGS.match(cursor.pattern, cursor.position)
        if found is None:
            raise cursor.unsupported("a group that is not known here", start, fix="write '(?:' for a group")
        on, off, end = found.groups()
        changes = {_FLAG_FIELDS[letter]: True for letter in on if letter in _FLAG_FIELDS}
        changes.update({_FLAG_FIELDS[letter]: False for letter in off or "" if letter in _FLAG_FIELDS})
        if "u" in on + (off or ""):
            changes["ascii"] = "u" not in on
        cursor.flags = replace(cursor.flags, **changes)
        cursor.position = found.end()
        return end == ":"

    def _quantifier(self) -> None:
        """Step over a quantifier and repeat the last item, be it a repetition itself."""
        cursor = self.cursor
        start = cursor.position
        bounds = self._bounds()
        group = self.open_groups[-1]
        if bounds is None or not group.items:
            raise cursor.invalid(f"nothing to repeat, or no count, at {cursor.peek()!r}", start)
        cursor.skip("?")  # lazy, or with the flag U greedy: another match, the same language
        item = group.items.pop()
        height = item.height if isinstance(item.node, ZERO_WIDTH) else item.height + 1
        self.push(loop(item.node, *bounds, item.position), height, item.position)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Step over the quantifier and return its bounds; None if it is none."""
        cursor = self.cursor
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if cursor.peek() in simple:
            return simple[cursor.take()]
        found = _COUNT.match(cursor.pattern, cursor.position)
        if found is None:
            return None
        low = self.count_of(found.group(1))
        high = low if found.group(2) is None else None
        if found.group(3):
            high = self.count_of(found.group(3))
        cursor.position = found.end()
        return low, high
