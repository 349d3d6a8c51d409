"""Specs that ask for much work in little text, of every kind, from a seeded generator."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import schemagen
from schemagen import EBNF, GBNF, Lark, Regex, StructuralTag, Template

if TYPE_CHECKING:
    from collections.abc import Callable

Drawn = tuple[str, "Callable[[], Any]"]


class Hostile:
    """Draws specs.

    Args:
        seed: Of the generator.
        largest: How large their numbers may be: 1 for those that take about what a test may, less for quick ones.
    """

    def __init__(self, seed: int, largest: float = 1.0) -> None:
        self._random = random.Random(seed)
        self._largest = largest
        self._kinds: dict[str, Callable[[], Any]] = {
            "pattern": lambda: Regex(self.pattern()),
            "schema": self.schema,
            "lark": lambda: Lark(self.lark(), lexer=self._random.choice(["dynamic", "dynamic_complete", "basic"])),
            "lalr": lambda: Lark(self.lark(), parser="lalr", lexer=self._random.choice(["basic", "contextual"])),
            "gbnf": lambda: GBNF(self.gbnf()),
            "ebnf": lambda: EBNF(self.gbnf()),
            "llguidance": lambda: Lark(self.dialect(), dialect="llguidance"),
            "xgrammar": lambda: Lark(self.dialect(), dialect="xgrammar"),
            "structural tag": self.structural_tag,
            "template": lambda: Template("{a}-{b}", a=Regex(self.pattern()), b=Regex(self.pattern())),
            "text group": lambda: Regex(self.text_group()),
        }

    def draw(self, count: int) -> list[Drawn]:
        """Return specs with what they are called; a spec is made when it is asked for, as that may refuse it."""
        kinds = list(self._kinds)
        drawn = []
        for number in range(count):
            kind, state = kinds[number % len(kinds)], self._random.getrandbits(64)
            drawn.append((f"{kind} {number}", lambda kind=kind, state=state: self._made(kind, state)))
        return drawn

    def _made(self, kind: str, state: int) -> Any:
        self._random = random.Random(state)
        return self._kinds[kind]()

    def many(self, most: int) -> int:
        """Return a number up to one, small and large ones alike often."""
        return max(2, int((most * self._largest) ** self._random.uniform(0.5, 1)))

    def pick(self, *ways: Callable[[], str]) -> str:
        """Return what one of some ways makes."""
        return self._random.choice(ways)()

    def nested(self, begin: str, inner: str, end: str) -> str:
        """Return something within many brackets."""
        depth = self.many(140)
        return begin * depth + inner + end * depth

    # --- patterns ----------------------------------------------------------------------------------------------------------

    def pattern(self) -> str:
        """Return a pattern: one part many times, or many alternatives, or counters within counters."""
        part = "".join(self._random.choices(self.PARTS, k=self._random.randint(1, 4)))
        return self.pick(
            lambda: part * self.many(1_000),
            lambda: f"(?:{part}){{{self.many(2_000)}}}",
            lambda: f"(?:(?:{part}){{1,{self.many(100)}}}x?){{2,{self.many(100)}}}",
            lambda: "|".join(f"{part}{number}" for number in range(self.many(20_000))),
            lambda: f"({'ab|' * self.many(300_000)})",
            lambda: "(?:a|b)*a" + "(?:a|b)" * self.many(300) + part,
            lambda: "".join(f"(?!.*{number}{part})" for number in range(self.many(300))) + ".*",
            lambda: self.nested("(?:", part, ")*"),
            lambda: (
                (r"\b(?:" + "|".join(f"w{number}" for number in range(self.many(5_000))) + r")\b.*") * self.many(20)
            ),
        )

    PARTS = (
        r"\b",
        r"\w+",
        ".*",
        r"\B",
        "a",
        "(?=b)",
        "(?!a)",
        "(?<=a)",
        "(?<!b)",
        r"\d{1,9}",
        "[^a]",
        "(?i:é)",
        r"\W?",
        "(?:a|ab)",
    )

    def text_group(self) -> str:
        """Return a pattern with groups that stand for kinds of texts."""
        words = " ".join(f"w{self._random.randint(0, 50)}" for _ in range(self.many(3_000)))
        stop = str(self._random.randint(0, 10**6)) * self.many(20)
        return self.pick(
            lambda: f"(?P<SUBSTRING_OF>{words})" * self.many(20),
            lambda: f"(?P<DELIMITED_SUBSEQUENCE_OF> |{words.replace(chr(32), chr(124))})" * self.many(20),
            lambda: f"(?P<TEXT_UNTIL>{stop})" * self.many(30),
            lambda: f"(?:(?P<TEXT_UNTIL>{stop}))*" + self.pattern(),
        )

    # --- schemas -----------------------------------------------------------------------------------------------------------

    def schema(self) -> Any:
        """Return a JSON Schema."""
        generator = self._random
        text = {"type": "string", "pattern": self.pattern()}
        parts = [
            {"required": [f"k{generator.randint(0, 40)}"]},
            {"properties": {f"k{generator.randint(0, 9)}": text}},
            {"multipleOf": generator.randint(2, 10**6)},
            {"maxLength": generator.randint(1, 10**6)},
            {"not": {"enum": list(range(self.many(500)))}},
            {"pattern": self.pattern()},
            {"patternProperties": {self.pattern(): {"type": "integer"}}},
        ]
        several = [
            {"anyOf": generator.choices(parts, k=3)} if generator.random() < 0.7 else generator.choice(parts)
            for _ in range(self.many(40))
        ]
        return generator.choice(
            [
                {"allOf": several},
                {"type": "object", "oneOf": several},
                {"type": "array", "uniqueItems": True, "items": {"enum": list(range(self.many(2_000)))}},
                {"not": {"anyOf": several}},
                {"type": "object", "properties": {f"k{at}": text for at in range(self.many(3_000))}},
                {"enum": [{"a": at, "b": [at] * 5} for at in range(self.many(30_000))]},
                {"type": "string", "pattern": self.pattern(), "minLength": self.many(10_000)},
                {"type": "integer", "minimum": 10 ** self.many(300), "multipleOf": 7 ** self.many(100)},
            ]
        )

    # --- grammars ----------------------------------------------------------------------------------------------------------

    def words(self, most: int, quote: str = '"') -> str:
        """Return many literals."""
        return " | ".join(f"{quote}kw{number}{quote}" for number in range(self.many(most)))

    def rules(self, sign: str) -> str:
        """Return rules that call one another, ambiguous and with empty texts."""
        count = self.many(300)
        names = [f"r{number}" for number in range(count)]
        lines = []
        for name in names:
            ways = [
                " ".join(self._random.choice([*self._random.choices(names, k=2), '"a"', '"b"']) for _ in range(4))
                for _ in range(3)
            ]
            lines.append(f'{name} {sign} {" | ".join(ways)} | "c"')
        return "\n".join(lines)

    def lark(self) -> str:
        """Return a grammar of lark."""
        patterns = "\n".join(
            f"T{number}: /{self._random.choice('abc')}[a-z{number % 10}]{{1,{number % 7 + 2}}}/"
            for number in range(self.many(150))
        )
        used = " | ".join(line.split(":")[0] for line in patterns.splitlines())
        return self.pick(
            lambda: f"start: (KW NAME)+\nKW: {self.words(4_000)}\nNAME: /[a-z]+/\n%ignore / +/",
            lambda: f"start: ({self.words(800)} | NAME)+\nNAME: /[a-z]+[0-9]*/\n%ignore / +/",
            lambda: f"start: r0\n{self.rules(':')}",
            lambda: f"start: ({used})+\n{patterns}\n%ignore / /",
            lambda: f"start: (A | B)+\nA: /{'(?:a|ab)' * self.many(40)}(?=b)/\nB: /b*?{'(?:b|a+)' * self.many(20)}c/",
            lambda: f"start: (A [B])~0..{self.many(40)} C\nA: /a|b/\nB: /b+/\nC: /[abc]{{1,{self.many(100)}}}/",
        )

    def gbnf(self) -> str:
        """Return a grammar in GBNF, which EBNF reads as well."""
        return self.pick(
            lambda: f"root ::= r0\n{self.rules('::=')}",
            lambda: f"root ::= ({self.words(5_000)})+",
            lambda: "root ::= " + self.nested("(", '"a"', ")*"),
            lambda: f"root ::= ([a-z]{{1,{self.many(400)}}} x){{1,{self.many(400)}}}\nx ::= [0-9]* | root",
            lambda: 'root ::= root root root | "a" | ""\n' + self.rules("::="),
        )

    def dialect(self) -> str:
        """Return a grammar in the dialect of llguidance and xgrammar."""
        schema = json.dumps(
            {"type": "object", "properties": {f"k{at}": {"type": "integer"} for at in range(self.many(300))}}
        )
        terminals = "\n".join(f"T{at}: /[a-z]{{{at % 9 + 1},{at + 2}}}/" for at in range(self.many(150)))
        used = " | ".join(line.split(":")[0] for line in terminals.splitlines())
        return self.pick(
            lambda: f"start: (KW NAME)+\nKW: {self.words(3_000)}\nNAME: /[a-z]+/\n%ignore / +/",
            lambda: f"start: ({used})+\n{terminals}\n%ignore / /",
            lambda: f"start: r0\n{self.rules(':')}",
            lambda: f"start: (X Y)*\nX: {' & '.join(f'/.*{at}.*/' for at in range(self.many(12)))}\nY: ~/.*a.*/",
            lambda: f"start: (%json {schema})*",
        )

    def structural_tag(self) -> StructuralTag:
        """Return a structural tag with many tags."""
        kinds: list[dict[str, Any]] = [
            {"type": "any_text"},
            {"type": "regex", "pattern": self.pattern()},
            {"type": "json_schema", "json_schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
            {"type": "grammar", "grammar": self.gbnf()},
        ]
        tags = [
            {
                "type": "tag",
                "begin": f"<f{number}>",
                "content": self._random.choice(kinds),
                "end": self._random.choice(["</f>", ">"]),
            }
            for number in range(self.many(150))
        ]
        triggers = self._random.choice([["<"], ["<f"], [f"<f{digit}" for digit in range(10)]])
        body = self._random.choice(
            [
                {"type": "triggered_tags", "triggers": triggers, "tags": tags},
                {"type": "tags_with_separator", "tags": tags, "separator": ", "},
                {"type": "or", "elements": tags},
                {"type": "sequence", "elements": tags},
            ]
        )
        return StructuralTag({"type": "structural_tag", "format": body})


def warm_up(vocabulary: schemagen.Vocabulary) -> None:
    """Import what the first spec of a kind imports, and build the tables of a vocabulary."""
    specs = [
        Lark('start: "a"'),
        Lark('start: "a"', dialect="llguidance"),
        GBNF('root ::= "a"'),
        EBNF('root ::= "a"'),
        Template("{a}", a=Regex("a")),
    ]
    for spec in [*specs, Regex(r"(?i)\w\W\d"), {"type": "object"}, {"type": "string", "pattern": r"\w\W\d"}]:
        schemagen.compile(spec, vocabulary, cache=None)
