"""The matches of Python's `re.match`, as a language of `lexeme MARK rest`: the texts with a mark at the end of the match.

A backtracking matcher tries alternatives in order and takes the first way that works, so which prefix of a text it takes
depends on the text after it. That is regular all the same: an alternative is taken where those before it would fail, which a
negative look-ahead expresses; a greedy repetition ends where one more round would fail, a lazy one goes on where the rest
would. With the rest of the expression written into these look-aheads, a text with a mark in it is of the language exactly
if `re` would end its match at the mark. Inside a look-ahead the mark may be anywhere, since it is not part of the text.

    x|y rest     ->  x | (?!x rest) y
    x* rest      ->  x* (?! x x* rest)
    x*? rest     ->  ((?! rest) x)*

Source: of this project; the order of alternatives as negative look-ahead is that of parsing expression grammars (Ford 2004).

Invariants: the result is a pattern for `schemagen.regex.parse_python`, whose assertions are exact; for each text there is at
most one place for the mark.
"""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen import _core
from schemagen.context_free.regular import goes_on_as, only_text
from schemagen.context_free.syntax import MARK, Lexeme
from schemagen.errors import LimitError, UnsupportedPatternError
from schemagen.regex import ast, parse_python
from schemagen.regex.edges import first_characters
from schemagen.threads.clock import poll

if sys.version_info >= (3, 11):
    from re import (
        _constants as codes,  # what `re` reads patterns with, under other names before 3.11
        _parser as parser,
    )
else:
    import sre_constants as codes
    import sre_parse as parser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The classes in the compiled pattern of `re`.
_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_PLAIN = {codes.SUBPATTERN, codes.BRANCH, codes.MAX_REPEAT, codes.MIN_REPEAT}
_ONE_CHARACTER = {codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN}
_LITERAL = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^0-9A-Za-z])+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
#: A pattern within a group that gives it flags other than x, in which blanks and comments count.
_FLAGGED = re.compile(r"(?P<begin>\(\?[aimsu]+:)(?P<inner>.*)\)", re.DOTALL)
#: Escaped signs, sets, brackets and bars.
_SIGNS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)
#: Repetitions with an end are written out, up to this many copies.
MAX_COPIES = 200
MAX_WRITTEN = 100_000
#: Characters of a branch that are compared with other branches.
MAX_BEGINNING = 32
#: Where widths stop; those of `re` do at different numbers in different versions of Python.
MAX_WIDTH = 2**63
#: Texts without the mark, and with it.
_UNMARKED = ast.star(ast.Chars(ast.invert_ranges(((ord(MARK), ord(MARK)),))))
_MARKED = ast.concat(ast.ANY_STRING, ast.literal(MARK), ast.ANY_STRING)


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> Any:
    """Return the tree that `re` reads a pattern as; callers leave it unchanged."""
    return parser.parse(pattern)


@lru_cache(maxsize=1024)
def is_simple(pattern: str) -> bool:
    """Whether `re` takes the longest text of a pattern's language, wherever it is tried.

    It does if it never has to choose; if no text begins with another one, so that there is one match at most; and if it takes
    the first of some branches, none of which has a longer text where an earlier one matches.
    """
    if _literal(pattern) is not None or _core.longest_match(pattern) is not None:
        return True
    tree = _parsed(pattern)
    if not _has_choices(tree) and not _prefers_nothing(tree) and _is_deterministic(parse_python(pattern)):
        return True
    if not _is_plain(tree):
        return False
    branches = branches_of(pattern)
    languages = [language_of(each) for each in branches]
    try:
        if len(branches) == 1:
            return not goes_on_as(languages[0], languages[0])
        return all(map(is_simple, branches)) and not _one_goes_on(languages)
    except LimitError:
        return False


def _one_goes_on(languages: list[ast.Regex]) -> bool:
    """Whether some text of a language begins with a text of an earlier one, and is longer.

    Cost: of languages with one text, its length; of others, a look at each pair.
    """
    texts = [only_text(each) for each in languages]
    earlier: set[str] = set()
    for text in filter(None, texts):
        if any(text[:length] in earlier for length in range(1, len(text))):
            return True
        earlier.add(text)
    if None not in texts:
        return False
    pairs = itertools.combinations(zip(languages, texts, strict=True), 2)
    return any(goes_on_as(one, other) for (one, text), (other, longer) in pairs if text is None or longer is None)


def _is_deterministic(regex: ast.Regex) -> bool:
    """Whether the next character alone tells which position of an expression it belongs to (core/rules/longest_match.hpp)."""
    trees = _core.RegexTrees()
    return trees.is_deterministic(trees.tree_of(regex))


def branches_of(pattern: str) -> list[str]:
    """Return the branches of a pattern, in the order in which `re` tries them; flags around all of it stay around each."""
    while pattern.startswith("(?:") and _bars(pattern[3:-1]) is not None:  # a group around all of it
        pattern = pattern[3:-1]
    flagged = _FLAGGED.fullmatch(pattern)
    bars = None if flagged is None else _bars(flagged["inner"])
    if flagged is None or bars is None:
        inner, begin, bars = pattern, "(?:", _bars(pattern) or []
    else:
        inner, begin = flagged["inner"], flagged["begin"]
    parts = [inner[low + 1 : high] for low, high in itertools.pairwise([-1, *bars, len(inner)])]
    return [f"{begin}{part})" for part in parts] if bars else [pattern]


def _bars(pattern: str) -> list[int] | None:
    """Return where the bars between branches are; None if a bracket closes more than was opened."""
    bars, depth = [], 0
    for found in _SIGNS.finditer(pattern):
        depth += (found[0] == "(") - (found[0] == ")")
        if depth < 0:
            return None
        if found[0] == "|" and not depth:
            bars.append(found.start())
    return bars


@lru_cache(maxsize=1024)
def widths_of(pattern: str) -> tuple[int, int]:
    """Return the least and most characters of the texts of a pattern, as `re` knows them; `MAX_WIDTH` stands for more.

    Raises:
        re.error: It is no pattern of `re`.
        LimitError: It is nested deeper than `re` can read it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if "(?<" in pattern:  # mistakes in these only show when they are compiled
                re.compile(pattern)
            least, most = _parsed(pattern).getwidth()
    except OverflowError as error:
        raise re.error(str(error)) from None
    except RecursionError:
        raise LimitError(
            "a pattern is nested deeper than re can read it", fix="use terminals for parts of it"
        ) from None
    return min(least, MAX_WIDTH), min(most, MAX_WIDTH)


def _literal(pattern: str) -> str | None:
    """Return the text of a pattern that is one, signs escaped: most terminals are keywords and operators."""
    return _ESCAPED.sub(r"\1", pattern) if _LITERAL.fullmatch(pattern) else None


@lru_cache(maxsize=1024)
def language_of(pattern: str) -> ast.Regex:
    """Return the texts of a pattern, of one that is a text at once."""
    text = _literal(pattern)
    return parse_python(pattern) if text is None else ast.literal(text)


@lru_cache(maxsize=1024)
def before_assertion(pattern: str) -> ast.Regex:
    """Return texts that those of a pattern are among: those of the part before an assertion at its end."""
    if _literal(pattern) is None and _looks_ahead(pattern):
        return _Marked(pattern).before_assertion() or language_of(pattern)
    return language_of(pattern)


def _prefers_nothing(tree: Iterable[tuple[Any, Any]]) -> bool:
    """Whether a branch that may be empty comes before others, which are then tried only if nothing else can follow it."""
    return any(
        (code is codes.BRANCH and any(each.getwidth()[0] == 0 for each in argument[1][:-1]))
        or any(map(_prefers_nothing, _parts(code, argument)))
        for code, argument in tree
    )


def _is_plain(tree: Iterable[tuple[Any, Any]]) -> bool:
    """Whether a pattern is made of characters, groups, branches and repetitions, and has no flag that hides some of it."""
    if getattr(getattr(tree, "state", None), "flags", 0) & re.VERBOSE:
        return False
    return all(
        code in _ONE_CHARACTER or (code in _PLAIN and all(map(_is_plain, _parts(code, argument))))
        for code, argument in tree
    )


def _has_choices(tree: Iterable[tuple[Any, Any]], *, lazy: bool = True) -> bool:
    """Whether there is an assertion, an anchor or, on request, a lazy repetition."""
    for code, argument in tree:
        if code in (codes.ASSERT, codes.ASSERT_NOT, codes.AT) or (lazy and code is codes.MIN_REPEAT):
            return True
        if any(_has_choices(each, lazy=lazy) for each in _parts(code, argument)):
            return True
    return False


def matched(
    pattern: str, *, before: Iterable[str] = (), only: str | None = None, but_not: Iterable[str] = ()
) -> Lexeme:
    """Return what `re` takes of a text at the place where a pattern is tried.

    Args:
        pattern: As for `re`; its flags are written into it.
        before: Patterns that must not match there. Those that cannot (`alike`) are
            better left out.
        only: Its match has to be a text of this pattern.
        but_not: Its match must not be a text of any of these.

    Raises:
        UnsupportedPatternError: It depends on the text before it, or has no regular language.
        PatternError: It is invalid.
    """
    return _matched(pattern, tuple(before), only, tuple(but_not))


@lru_cache(maxsize=1024)
def _matched(pattern: str, rivals: tuple[str, ...], only: str | None, but_not: tuple[str, ...]) -> Lexeme:
    if is_simple(pattern) and not any(_looks_ahead(each) for each in rivals):
        own = language_of(pattern)
        text = ast.conjunction(
            own if only is None else ast.conjunction(own, language_of(only)),
            *([ast.complement(ast.union(*map(language_of, but_not)))] if but_not else []),
            *map(_not_begun, rivals),
        )
        return Lexeme(text, longer=ast.union(own, *map(language_of, rivals)))
    claims = [] if only is None else [_marked_text(only)]
    claims += [ast.complement(_marked_text(each)) for each in reversed(but_not)]
    claims += map(_not_matched, reversed(rivals))
    return Lexeme(ast.conjunction(_taken(pattern), *claims), marked=True)


# The parts of lexemes, each cached: in a grammar hundreds of lexemes differ in their rivals only.


@lru_cache(maxsize=1024)
def _not_begun(pattern: str) -> ast.Regex:
    """Return the texts that do not begin with one of a pattern without assertions."""
    return ast.complement(ast.concat(language_of(pattern), ast.ANY_STRING))


@lru_cache(maxsize=1024)
def _not_matched(pattern: str) -> ast.Regex:
    """Return the texts, a mark anywhere in them, that do not begin with a match of a pattern."""
    return parse_python(f"(?!{_Marked(pattern).plain_whole()})(?s:.)*")


@lru_cache(maxsize=1024)
def _marked_text(pattern: str) -> ast.Regex:
    """Return the texts of a pattern, the mark, and any text after it."""
    return parse_python(f"(?=(?:{pattern}){MARK})(?s:.)*")


@lru_cache(maxsize=1024)
def _taken(pattern: str) -> ast.Regex:
    """Return the match of `re` for a pattern, the mark, and any text that gives this match when it follows."""
    marked = _Marked(pattern)
    longest = marked.longest_before_assertion()
    return parse_python(f"(?:{marked.whole()}){MARK}[^{MARK}]*") if longest is None else longest


def matched_whole(pattern: str) -> Lexeme:
    """Return the texts that `re` takes as a whole when no text follows.

    Raises:
        UnsupportedPatternError: It looks at the text after them.
    """
    if is_simple(pattern):
        return Lexeme(language_of(pattern))
    if _looks_ahead(pattern):
        raise UnsupportedPatternError(
            f"the terminal /{pattern}/ has an assertion, and the lexer takes any part of its match",
            why="whether a part is taken depends on the match of the whole terminal, and that on the text after it",
            fix="use lexer='dynamic', or write the terminal without it",
        )
    return Lexeme(parse_python(_Marked(pattern).whole()))


def _looks_before(tree: Any) -> bool:
    """Whether the pattern may begin with an assertion about the text before the terminal."""
    for at, (code, argument) in enumerate(tree):
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            direction, inner = argument
            if direction < 0 or _looks_before(inner):
                return True
            continue
        if any(_looks_before(inner) for inner in _parts(code, argument)):
            return True
        if tree[at : at + 1].getwidth()[0]:
            return False
    return False


def _parts(code: Any, argument: Any) -> Iterable[Any]:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return (argument[2],)
    if code is codes.SUBPATTERN:
        return (argument[3],)
    return argument[1] if code is codes.BRANCH else ()


@lru_cache(maxsize=1024)
def _looks_ahead(pattern: str) -> bool:
    """Whether a pattern has assertions, so that its texts do not tell where it matches."""
    if _literal(pattern) is not None:
        return False
    tree = _parsed(pattern)
    return _has_choices(tree, lazy=False)


def alike(patterns: list[str]) -> list[int]:
    """Return for each pattern, as a bit set, those that can match at the same place; all where that is not seen at once.

    Cost: of literals, that of reading them; of others, a look at each pattern.
    """
    firsts = [_first(pattern) for pattern in patterns]
    everything = (1 << len(patterns)) - 1
    out = [everything if first is None else 1 << number for number, first in enumerate(firsts)]
    unknown = sum(1 << number for number, first in enumerate(firsts) if first is None)
    beginnings = _beginnings(firsts)
    for number, first in enumerate(firsts):
        out[number] |= unknown
        poll()
        if first is None:
            continue
        if isinstance(first, str):
            out[number] |= beginnings.longer.get(first, 0)
            for length in range(1, len(first)):
                out[number] |= beginnings.texts.get(first[:length], 0)
            continue
        for other, its in enumerate(firsts):
            if its is not None and ast.intersect_ranges(first, _characters(its)):
                out[number] |= 1 << other
                out[other] |= 1 << number
    return out


class _Beginnings(NamedTuple):
    """Literals by text, and by their beginnings, as bit sets."""

    texts: dict[str, int]
    longer: dict[str, int]


def _beginnings(firsts: list[str | ast.Ranges | None]) -> _Beginnings:
    out = _Beginnings({}, {})
    for number, first in enumerate(firsts):
        if isinstance(first, str):
            out.texts[first] = out.texts.get(first, 0) | 1 << number
    for text, numbers in out.texts.items():
        for length in range(1, len(text) + 1):
            if text[:length] in out.texts:
                out.longer[text[:length]] = out.longer.get(text[:length], 0) | numbers
    return out


def _characters(first: str | ast.Ranges) -> ast.Ranges:
    return ((ord(first[0]), ord(first[0])),) if isinstance(first, str) else first


def _first(pattern: str) -> str | ast.Ranges | None:
    """Return the only text of a pattern, or the characters that its texts begin with; None if neither is clear."""
    text = _literal(pattern)
    if text is not None or _looks_ahead(pattern):
        return text
    regex = parse_python(pattern)
    text = only_text(regex)
    return first_characters(regex) if text is None else text


class _Marked:
    """One pattern being rewritten."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        parsed = _parsed(pattern)
        self._tree: list[tuple[Any, Any]] = list(parsed)
        self._flags: int = parsed.state.flags
        if _looks_before(parsed):
            raise self._refused("a look-behind where it begins")

    def whole(self) -> str:
        return self._sequence(self._tree, "", self._flags)

    def before_assertion(self) -> ast.Regex | None:
        """Return the texts of what is before a look-ahead at the end; None if there is none, or there are other assertions."""
        *begin, (code, argument) = self._tree or [(None, None)]
        if code not in (codes.ASSERT, codes.ASSERT_NOT) or argument[0] < 0 or _has_choices(begin, lazy=False):
            return None
        return parse_python(self._plain(begin, self._flags, mark=""))

    def longest_before_assertion(self) -> ast.Regex | None:
        """Return what `_taken` does for a deterministic pattern with one assertion, at its end; None for others.

        Greedy repetitions that never choose give the longer matches first, so `re` takes the longest that the assertion allows.
        """
        *begin, (code, argument) = self._tree or [(None, None)]
        own = self.before_assertion()
        if own is None or _has_choices(argument[1], lazy=False):
            return None
        if _has_choices(begin) or _prefers_nothing(begin) or not _is_deterministic(own):
            return None
        ahead = parse_python(f"(?:{self._plain(argument[1], self._flags, mark='')})(?s:.)*")
        follows = ast.conjunction(_UNMARKED, ahead if code is codes.ASSERT else ast.complement(ahead))
        longer = ast.conjunction(parse_python(self._plain(begin, self._flags)), _MARKED)
        return ast.conjunction(ast.concat(own, ast.literal(MARK), follows), ast.complement(ast.concat(longer, follows)))

    def plain_whole(self) -> str:
        return self._plain(self._tree, self._flags)

    def _refused(self, what: str) -> UnsupportedPatternError:
        return UnsupportedPatternError(
            f"the terminal /{self._pattern}/ has {what}",
            why="its match depends on the text before it, or is beyond an automaton",
            fix="write the terminal without it",
        )

    def _check(self, written: str) -> None:
        if len(written) > MAX_WRITTEN:
            raise self._refused("repetitions that take too long to be written out")

    # --- the parts, with a mark anywhere in them -----------------------------------------------------------------------

    def _plain(self, tree: Iterable[tuple[Any, Any]], flags: int, mark: str = f"{MARK}?") -> str:
        """Return a pattern of the same texts, with the mark anywhere in them, or without it."""
        return "".join(self._plain_one(code, argument, flags, mark) for code, argument in tree)

    def _plain_one(self, code: Any, argument: Any, flags: int, mark: str) -> str:
        if code in _ONE_CHARACTER:
            return f"{mark}{_character(code, argument, flags)}"
        if code is codes.SUBPATTERN:
            return f"(?:{self._plain(argument[3], (flags | argument[1]) & ~argument[2], mark)})"
        if code is codes.BRANCH:
            return f"(?:{'|'.join(self._plain(each, flags, mark) for each in argument[1])})"
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            low, high, inner = argument
            return f"(?:{self._plain(inner, flags, mark)}){_bounds(low, high)}"
        return self._assertion(code, argument, flags)

    def _assertion(self, code: Any, argument: Any, flags: int) -> str:
        if code not in (codes.ASSERT, codes.ASSERT_NOT):
            raise self._refused("an anchor" if code is codes.AT else "a back-reference or a condition")
        direction, inner = argument
        sign = "=" if code is codes.ASSERT else "!"
        if direction > 0:
            return f"(?{sign}{self._plain(inner, flags)})"
        if len(inner) != 1 or inner[0][0] not in _ONE_CHARACTER:
            raise self._refused("a look-behind of more than one character")
        # The mark, if it is there, is read with the character after it, so it is never right before this place.
        return f"(?<{sign}{_character(inner[0][0], inner[0][1], flags, guarded=False)})"

    # --- the parts without a mark, before one ---------------------------------------------------------------------------

    def _sequence(self, tree: list[tuple[Any, Any]], rest: str, flags: int) -> str:
        """Return the match of some parts, `rest` being all that the matcher still has to match after them."""
        out = []
        for at, (code, argument) in enumerate(tree):
            after = self._plain(tree[at + 1 :], flags) + rest
            out.append(self._one(code, argument, after, flags))
        return "".join(out)

    def _one(self, code: Any, argument: Any, rest: str, flags: int) -> str:
        if code in _ONE_CHARACTER:
            return _character(code, argument, flags)
        if code is codes.SUBPATTERN:
            return f"(?:{self._sequence(list(argument[3]), rest, (flags | argument[1]) & ~argument[2])})"
        if code is codes.BRANCH:
            return self._branch(argument[1], rest, flags)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            return self._repeat(argument, rest, flags, greedy=code is codes.MAX_REPEAT)
        return self._assertion(code, argument, flags)

    def _branch(self, branches: list[Any], rest: str, flags: int) -> str:
        ways = []
        plain = [f"{self._plain(each, flags)}{rest}" for each in branches]
        for branch, earlier in zip(branches, _rivals([_beginning(each, flags) for each in branches]), strict=True):
            poll()
            others = f"(?!{'|'.join(plain[each] for each in earlier)})" if earlier else ""
            ways.append(others + self._sequence(list(branch), rest, flags))
        return f"(?:{'|'.join(ways)})"

    def _repeat(self, argument: Any, rest: str, flags: int, *, greedy: bool) -> str:
        low, high, inner = argument
        endless = high is codes.MAXREPEAT
        if max(low, 0 if endless else high) > MAX_COPIES:
            raise self._refused(f"a repetition of more than {MAX_COPIES} rounds whose end depends on the text after it")
        plain = f"(?:{self._plain(inner, flags)})"

        def one(after: str) -> str:
            return f"(?:{self._sequence(list(inner), after + rest, flags)})"

        out = ""
        for k in range(low):
            out += one(plain + _bounds(low - k - 1, high if endless else high - k - 1))
            self._check(out)
        if endless:
            again = one(plain + "*")
            return out + (f"{again}*(?!{plain}{plain}*{rest})" if greedy else f"(?:(?!{rest}){again})*")
        more = ""
        for k in range(high - low):  # innermost first
            bounds = _bounds(0, k)
            once = one(plain + bounds) + more
            more = f"(?:{once}|(?!{plain}{plain}{bounds}{rest}))" if greedy else f"(?:|(?!{rest}){once})"
            self._check(more)
        return out + more


def _beginning(branch: Iterable[tuple[Any, Any]], flags: int) -> str:
    """Return literal characters that every text of a branch begins with."""
    begun = ""
    for code, argument in branch:
        if code is not codes.LITERAL or flags & re.IGNORECASE or argument == ord(MARK) or len(begun) == MAX_BEGINNING:
            break
        begun += chr(argument)
    return begun


def _rivals(beginnings: list[str]) -> Iterator[list[int]]:
    """Yield for each branch those before it that can match where it does: of many keywords few begin with one another.

    Args:
        beginnings: The beginning of each branch.
    """
    ends: dict[str, list[int]] = {}  # the branches of a beginning
    longer: dict[str, list[int]] = {}  # the branches that go on after it
    for number, text in enumerate(beginnings):
        shorter = (ends.get(text[:length], ()) for length in range(len(text) + 1))
        yield sorted({*longer.get(text, ()), *itertools.chain.from_iterable(shorter)})
        ends.setdefault(text, []).append(number)
        for length in range(len(text)):
            longer.setdefault(text[:length], []).append(number)


def _bounds(low: int, high: Any) -> str:
    return f"{{{low},{'' if high is codes.MAXREPEAT else high}}}"


def _character(code: Any, argument: Any, flags: int, *, guarded: bool = True) -> str:
    """Return one character as a pattern, with the flags that count for it; none that is `guarded` is the mark.

    It is not a group of its own: a repetition puts it into one.
    """
    if code is codes.LITERAL:
        text = re.escape(chr(argument))
    elif code is codes.ANY:
        text = f"[^{MARK}]" if flags & re.DOTALL else rf"[^{MARK}\n]"
    elif code is codes.NOT_LITERAL:
        text = f"[^{MARK}{re.escape(chr(argument))}]"
    else:
        text = _set(argument, guarded=guarded)
    letters = ("i" if flags & re.IGNORECASE else "") + ("a" if flags & re.ASCII else "")
    return f"(?{letters}:{text})" if letters else text


def _set(parts: list[Any], *, guarded: bool) -> str:
    """Return a set as a pattern; the mark is none of one that is `guarded`."""
    negated = parts[0][0] is codes.NEGATE
    text = ""
    has_mark = False
    for code, argument in parts[negated:]:
        if code is codes.LITERAL:
            text += re.escape(chr(argument))
            has_mark = has_mark or argument == ord(MARK)
        elif code is codes.RANGE:
            text += f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
            has_mark = has_mark or argument[1] >= ord(MARK)
        else:
            text += _CATEGORIES[argument]
            has_mark = True  # of some categories
    if not guarded:
        return f"[{'^' if negated else ''}{text}]"
    if negated:
        return f"[^{MARK}{text}]"
    return f"(?!{MARK})[{text}]" if has_mark else f"[{text}]"
