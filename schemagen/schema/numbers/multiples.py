"""`multipleOf` as a regular expression over decimal digits.

Idea: write the divisor as ``divisor / 10**scale``; a decimal is a multiple iff its digits, padded to ``scale`` digits
after the point, form an integer that ``divisor`` divides. Split ``divisor = c * r`` with c made of 2s and 5s and r
coprime to 10:

- c depends on the last digits only (``10**s`` is a multiple of c), which is a suffix condition;
- r ignores the point and trailing zeros (10 is a unit modulo r), so it is the residue automaton of the digit string,
  turned into an expression by state elimination (Kleene 1956), one prime power at a time and then intersected.

Elimination grows exponentially with r, so it has a budget; when the range is known to hold few multiples they are
simply listed in a trie instead. `Multiple` is also what an engine needs to track the residue natively.

Invariants: the expressions constrain the digits only. Leading zeros, the form of sign and point and the digit caps are
the business of the range expression with which the result is intersected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.schema.numbers.ranges import DIGIT, MINUS, POINT

#: Most nodes of one expression; a larger one is slow to determinise.
MAX_NODES = 24_000
#: Ranges with up to this many multiples are listed.
MAX_LISTED = 512
#: Fraction digits that a text of a multiple may have at most.
MAX_SCALE = 40

_ZERO = ast.char_set("0")


@dataclass(frozen=True, slots=True)
class Multiple:
    """The multiples of ``divisor / 10**scale``, with the smallest scale that makes the divisor an integer.

    Attributes:
        divisor: Positive integer.
        scale: Number of fraction digits of the original divisor.
    """

    divisor: int
    scale: int

    @classmethod
    def of(cls, value: Decimal | Fraction | int) -> Multiple:
        """Describe the decimal multiples of ``value`` > 0.

        A factor of the denominator other than 2 and 5 is dropped: a decimal is a multiple of 2/3 iff it is one of 2.

        Raises:
            LimitError: ``value`` is not positive, or has absurdly many digits.
        """
        if value <= 0 or (isinstance(value, Decimal) and abs(value.adjusted()) > 10 * MAX_SCALE):
            raise LimitError(f"multipleOf {value} is out of range", why="it must be positive, with a modest exponent")
        exact = Fraction(value)
        twos, fives, rest = _factors(exact.denominator)
        scale = max(twos, fives)
        return cls(exact.numerator * 10**scale * rest // exact.denominator, scale)

    def of_integers(self) -> Multiple:
        """The multiples among the integers: of 1.5 those are the multiples of 3."""
        return Multiple(self.divisor // math.gcd(self.divisor, 10**self.scale), 0)

    def divides(self, value: Decimal | Fraction) -> bool:
        """Whether ``value`` is a multiple, exactly."""
        scaled: Fraction = Fraction(value) * 10**self.scale
        return scaled.denominator == 1 and scaled.numerator % self.divisor == 0

    def residues(self, residue: int) -> tuple[int, ...]:
        """The residues modulo ``divisor`` after appending each digit 0 to 9 to digits of this residue."""
        return tuple((10 * residue + digit) % self.divisor for digit in range(10))


def multiples_between(multiple: Multiple, low: Fraction | None, high: Fraction | None) -> ast.Regex:
    """A condition that, within a range expression from ``low`` to ``high``, leaves exactly the multiples.

    Args:
        multiple: The divisor.
        low: Lower end of the range or None.
        high: Upper end or None.

    Returns:
        A list of the multiples as a trie if there are at most `MAX_LISTED`, else `multiple_of_regex`.

    Raises:
        LimitError: As `multiple_of_regex`.
    """
    if low is not None and high is not None:
        unit = Fraction(multiple.divisor, 10**multiple.scale)
        first, last = math.ceil(low / unit), math.floor(high / unit)
        if last - first < MAX_LISTED:
            return _listed([_decimal_text(unit * count, multiple.scale) for count in range(first, last + 1)])
    return multiple_of_regex(multiple)


def multiple_of_regex(multiple: Multiple) -> ast.Regex:
    """Optional sign, digits and point whose value is a multiple; leading zeros are not ruled out.

    Args:
        multiple: The divisor.

    Returns:
        The condition, to be intersected with a number expression without exponent. Size O(`MAX_NODES`).

    Raises:
        LimitError: The expression would be too large.
    """
    twos, fives, rest = _factors(multiple.divisor)
    if multiple.scale > MAX_SCALE:
        if 10 ** (multiple.scale - MAX_SCALE) % multiple.divisor == 0:
            return ast.ANY_STRING
        raise _too_large(multiple, f"it has {multiple.scale} fraction digits, {MAX_SCALE} are supported")
    parts = [_suffix_condition(multiple, 2**twos * 5**fives)]
    parts += [_residue_condition(multiple, power) for power in _prime_powers(multiple, rest)]
    return ast.concat(ast.optional(MINUS), ast.conjunction(*parts))


def _too_large(multiple: Multiple, why: str) -> LimitError:
    value = Decimal(multiple.divisor).scaleb(-multiple.scale)
    return LimitError(
        f"multipleOf {value} needs an expression of more than {MAX_NODES} nodes",
        why=why,
        fix=f"use a smaller multipleOf, or a range with at most {MAX_LISTED} multiples",
    )


def _factors(value: int) -> tuple[int, int, int]:
    """Exponents of 2 and 5, and the rest."""
    counts = []
    for prime in (2, 5):
        count = 0
        while value % prime == 0:
            value //= prime
            count += 1
        counts.append(count)
    return counts[0], counts[1], value


def _prime_powers(multiple: Multiple, value: int) -> list[int]:
    """The prime powers whose product is ``value``, an odd number.

    Raises:
        LimitError: One of them is beyond what elimination could ever express.
    """
    powers: list[int] = []
    for prime in range(3, 100, 2):
        power = 1
        while value % prime == 0:
            value //= prime
            power *= prime
        if power > 1:
            powers.append(power)
    if value > 1:
        raise _too_large(multiple, "its residue automaton has more than 100 states")
    return powers


# 1) Factors 2 and 5: the last digits.


def _suffix_condition(multiple: Multiple, modulus: int) -> ast.Regex:
    """Digits and point whose value times ``10**scale`` is an integer that ``modulus``, made of 2s and 5s, divides."""
    builder = _Suffixes(multiple)
    forms: list[ast.Regex] = []
    whole = ast.repeat(DIGIT, 1, None)
    free = -1
    for written in range(multiple.scale + 1):
        needed = modulus // math.gcd(modulus, 10 ** (multiple.scale - written))
        if needed == 1:
            free = written
            continue
        tail = ast.star(_ZERO) if written == multiple.scale and written else ast.EPSILON
        forms.append(ast.concat(builder.numbers(needed, written), tail))
    if free >= 0:
        tail = ast.star(_ZERO) if free == multiple.scale else ast.EPSILON
        forms.append(ast.concat(whole, ast.optional(ast.concat(POINT, ast.repeat(DIGIT, 0, free), tail))))
    if multiple.scale == 0 and free < 0:
        forms = [ast.concat(form, ast.optional(ast.concat(POINT, ast.repeat(_ZERO, 1, None)))) for form in forms]
    return ast.union(*forms)


class _Suffixes:
    """Builds digit strings of a given residue from their last digit, within the node budget of one multiple."""

    def __init__(self, multiple: Multiple) -> None:
        self._multiple = multiple
        self._known: dict[tuple[int, int, int, int], tuple[ast.Regex, int]] = {}

    def numbers(self, modulus: int, written: int) -> ast.Regex:
        """Numbers with ``written`` fraction digits whose digits without the point are divisible by ``modulus``."""
        suffix = next(size for size in range(1, 1000) if 10**size % modulus == 0)
        point = written or -1
        if written >= suffix:
            free = ast.repeat(DIGIT, written - suffix, written - suffix)
            return ast.concat(ast.repeat(DIGIT, 1, None), POINT, free, self._strings(suffix, modulus, 0, -1)[0])
        short = [self._strings(size, modulus, 0, point)[0] for size in range(written + 1, suffix)]
        return ast.union(*short, ast.concat(ast.star(DIGIT), self._strings(suffix, modulus, 0, point)[0]))

    def _strings(self, size: int, modulus: int, residue: int, point: int) -> tuple[ast.Regex, int]:
        """Strings of ``size`` digits of that residue, the point before the last ``point`` (-1: none); node count."""
        key = (size, modulus, residue, point)
        if key not in self._known:
            self._known[key] = self._build(*key)
        return self._known[key]

    def _build(self, size: int, modulus: int, residue: int, point: int) -> tuple[ast.Regex, int]:
        if point == 0:
            left, count = self._strings(size, modulus, residue, -1)
            return ast.concat(left, POINT), count + 1
        if modulus == 1 and point < 0:
            return ast.repeat(DIGIT, size, size), 2
        if size == 0:
            return (ast.EPSILON if residue % modulus == 0 else ast.EMPTY), 1
        parts: list[ast.Regex] = []
        nodes = 1
        for left_residue, digits in self._last_digits(modulus, residue).items():
            smaller = modulus // math.gcd(10, modulus)
            left, count = self._strings(size - 1, smaller, left_residue, max(point - 1, -1))
            nodes += count + 2
            if nodes > MAX_NODES:
                raise _too_large(self._multiple, f"its last digits form too many groups modulo {modulus}")
            parts.append(ast.concat(left, ast.char_set(digits)))
        return ast.union(*parts), nodes

    def _last_digits(self, modulus: int, residue: int) -> dict[int, str]:
        """The last digits that ``residue`` permits, by what they demand of the digits before, modulo ``modulus / g``.

        10 * left + digit = residue (mod m): g = gcd(10, m) divides residue - digit, and 10 / g is a unit modulo m / g.
        """
        common = math.gcd(10, modulus)
        smaller = modulus // common
        inverse = pow(10 // common, -1, smaller) if smaller > 1 else 0
        groups: dict[int, str] = {}
        for digit in range(10):
            if (residue - digit) % common == 0:
                left = (residue - digit) // common * inverse % smaller
                groups[left] = groups.get(left, "") + str(digit)
        return groups


# 2) The rest: residue automaton and state elimination.


def _residue_condition(multiple: Multiple, modulus: int) -> ast.Regex:
    expression = _divisible(modulus)
    if expression is None:
        raise _too_large(multiple, f"its residue automaton modulo {modulus} has no small expression")
    return expression


@lru_cache(maxsize=64)
def _divisible(modulus: int) -> ast.Regex | None:
    """Digits with points among them, divisible by ``modulus`` once the points are dropped; None if over the budget."""
    edges: dict[tuple[int, int], tuple[ast.Regex, int]] = {}
    for state in range(modulus):
        for target in range(modulus):
            digits = "".join(str(digit) for digit in range(10) if (10 * state + digit) % modulus == target)
            if digits:
                edges[state, target] = ast.concat(ast.optional(POINT), ast.char_set(digits)), 4
    remaining = set(range(1, modulus))
    while remaining:
        state = min(remaining, key=lambda state: (_growth(edges, state), state))
        remaining.remove(state)
        if not _eliminate(edges, state):
            return None
    loop = edges.get((0, 0))
    return ast.EPSILON if loop is None else ast.concat(ast.star(loop[0]), ast.optional(POINT))


def _growth(edges: dict[tuple[int, int], tuple[ast.Regex, int]], state: int) -> int:
    """Nodes that eliminating ``state`` adds: each entry is copied once per exit, each exit once per entry."""
    entries = [nodes for (source, target), (_, nodes) in edges.items() if target == state != source]
    exits = [nodes for (source, target), (_, nodes) in edges.items() if source == state != target]
    loop = edges[state, state][1] if (state, state) in edges else 0
    added = sum(entries) * len(exits) + sum(exits) * len(entries) + loop * len(entries) * len(exits)
    return added - sum(entries) - sum(exits) - loop


def _eliminate(edges: dict[tuple[int, int], tuple[ast.Regex, int]], state: int) -> bool:
    """Replace every path through ``state`` by a direct edge; False if the expressions outgrow the budget."""
    loop, loop_nodes = edges.pop((state, state), (ast.EMPTY, 0))
    into = [(source, *edges.pop((source, state))) for source, target in list(edges) if target == state]
    out_of = [(target, *edges.pop((state, target))) for source, target in list(edges) if source == state]
    for source, before, before_nodes in into:
        for target, after, after_nodes in out_of:
            known, known_nodes = edges.get((source, target), (ast.EMPTY, 0))
            nodes = before_nodes + loop_nodes + after_nodes + known_nodes + 3
            if nodes > MAX_NODES:
                return False
            edges[source, target] = ast.union(known, ast.concat(before, ast.star(loop), after)), nodes
    return True


# 3) Few multiples: a trie.


def _decimal_text(value: Fraction, scale: int) -> str:
    """The shortest decimal text of a value with at most ``scale`` fraction digits."""
    digits = str(abs(int(value * 10**scale))).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :].rstrip("0")
    return ("-" if value < 0 else "") + whole + ("." + fraction if fraction else "")


def _listed(texts: list[str]) -> ast.Regex:
    """The texts, zeros after each, common prefixes shared; ``-0`` beside ``0``."""
    more = ["-0"] if "0" in texts else []
    return _trie(sorted({*texts, *more}), 0, in_fraction=False)


def _trie(texts: list[str], index: int, *, in_fraction: bool) -> ast.Regex:
    """Sorted texts that agree on their first ``index`` characters."""
    zeros = ast.star(_ZERO) if in_fraction else ast.optional(ast.concat(POINT, ast.repeat(_ZERO, 1, None)))
    here = zeros if texts and len(texts[0]) == index else ast.EMPTY
    groups: dict[str, list[str]] = {}
    for text in texts:
        if len(text) > index:
            groups.setdefault(text[index], []).append(text)
    by_rest: dict[ast.Regex, str] = {}
    for char, group in groups.items():
        rest = _trie(group, index + 1, in_fraction=in_fraction or char == ".")
        by_rest[rest] = by_rest.get(rest, "") + char
    return ast.union(here, *(ast.concat(ast.char_set(chars), rest) for rest, chars in by_rest.items()))
