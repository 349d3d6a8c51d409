"""Grammar texts, drawn at random: written in each notation and read back, and changed at random."""

import random

import pytest

import schemagen
from schemagen import EBNF, GBNF
from schemagen.context_free.syntax import Alternatives, ContextFreeGrammar, Expression, Repeat, Rule, Sequence, Text
from schemagen.engine.native.context_free import compile_context_free
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.regex import ast
from tests.grammars import BYTES
from tests.property.test_context_free import WORDS, random_grammar


class Writer:
    """Rules as text in one notation, with blanks, comments and parentheses where it may have them."""

    def __init__(self, notation: str, source: random.Random) -> None:
        self.notation = notation
        self.source = source

    def grammar(self, grammar: ContextFreeGrammar) -> str:
        rules = [f"{name} ::={self.blank(line_breaks=True)}{self.write(body)}" for name, body in grammar.rules.items()]
        if self.notation == "gbnf":
            rules.insert(self.source.randint(0, len(rules)), "root ::= S")
        comment = "/* a ::= */" if self.notation == "w3c" else '# a ::= "'
        return (
            self.source.choice(["", f"{comment}\n", "\n\n"])
            + "\n".join(rules)
            + self.source.choice(["", "\n", f" {comment}"])
        )

    def blank(self, *, line_breaks: bool = False) -> str:
        breaks = ["\n  ", "\t\n\n "] if line_breaks or self.notation != "gbnf" else []
        return self.source.choice([" ", "  ", "\t", *breaks])

    def write(self, expression: Expression) -> str:
        if isinstance(expression, Rule):
            return expression.name
        if isinstance(expression, Text):
            return self.literal(expression.regex)
        if isinstance(expression, Repeat):
            return self.repeated(f"({self.write(expression.inner)})", expression.low, expression.high)
        if isinstance(expression, Sequence):
            return self.blank().join(self.grouped(part) for part in expression.parts) if expression.parts else '""'
        assert isinstance(expression, Alternatives)
        return " | ".join(self.write(part) for part in expression.parts)

    def grouped(self, expression: Expression) -> str:
        text = self.write(expression)
        needed = isinstance(expression, Alternatives) or self.source.random() < 0.2
        return f"({text})" if needed else text

    def literal(self, regex: ast.Regex) -> str:
        if isinstance(regex, ast.Repeat):
            return self.repeated(self.literal(regex.inner), regex.low, regex.high)
        assert isinstance(regex, ast.Chars)
        code = regex.ranges[0][0]
        ways = [f'"{chr(code)}"', f"[{chr(code)}]"]
        coded = [f"#x{code:x}", f"[#x{code:X}]"] if self.notation == "w3c" else [f'"\\x{code:02x}"', f"[\\u{code:04x}]"]
        return self.source.choice(ways + coded)

    def repeated(self, text: str, low: int, high: int | None) -> str:
        if (low, high) in ((0, None), (1, None), (0, 1)):
            return text + {(0, None): "*", (1, None): "+", (0, 1): "?"}[low, high]
        if self.notation == "w3c":  # it has no counts
            rest = [f"{text}*"] if high is None else [f"{text}?"] * (high - low)
            return f"({' '.join([text] * low + rest)})"
        return text + (f"{{{low},{'' if high is None else high}}}" if low != high else f"{{{low}}}")


def spec_of(notation: str, text: str) -> ContextFree:
    """The text as a spec, whose start is S where it can be chosen."""
    return GBNF(text) if notation == "gbnf" else EBNF(text, "w3c" if notation == "w3c" else "xgrammar", "S")


def texts_of(constraint: schemagen.Grammar) -> set[str]:
    """Which of the short words a grammar derives."""
    found = set()
    for word in WORDS:
        matcher = constraint.matcher()
        if matcher.accept_bytes(word.encode()) and matcher.is_accepting():
            found.add(word)
    return found


@pytest.mark.parametrize("notation", ["gbnf", "xgrammar", "w3c"])
@pytest.mark.parametrize("seed", range(25))
def test_what_is_written_is_read_back(seed: int, notation: str) -> None:
    """A random grammar as a text derives what its rules derive."""
    grammar = random_grammar(seed)
    text = Writer(notation, random.Random(seed)).grammar(grammar)
    try:
        expected = texts_of(compile_context_free(grammar, BYTES, Options(limits=DEFAULT_LIMITS)))  # type: ignore[arg-type]
    except UnsatisfiableSchemaError:
        with pytest.raises(UnsatisfiableSchemaError):
            schemagen.compile(spec_of(notation, text), BYTES)
        return
    assert texts_of(schemagen.compile(spec_of(notation, text), BYTES)) == expected, text


def changed(text: str, source: random.Random) -> str:
    """The text with a few characters more, less or elsewhere."""
    for _ in range(source.randint(1, 6)):
        at = source.randrange(len(text) + 1)
        kind = source.random()
        if kind < 0.4:
            text = text[:at] + source.choice("()[]{}|*+?\"'\\#-=:<>.,~ \n\r\t0a^é\ud800/") + text[at:]
        elif kind < 0.7:
            text = text[:at] + text[at + source.randint(1, 5) :]
        else:
            begin = source.randrange(len(text) + 1)
            text = text[:at] + text[begin : begin + source.randint(1, 40)] + text[at:]
    return text


def check_place(text: str, line: int | None, column: int | None) -> None:
    """A line and column of the text, the one behind the last character included."""
    assert line is not None
    assert column is not None
    lines = text.split("\n")
    assert 1 <= line <= len(lines)
    assert 1 <= column <= len(lines[line - 1]) + 1


@pytest.mark.parametrize("notation", ["gbnf", "xgrammar", "w3c"])
def test_whatever_is_written_is_a_grammar_or_an_error_with_a_place(notation: str) -> None:
    """Grammars changed at random are read, or refused by an error of ours; its line and column lie in the text."""
    source = random.Random(7)
    read = 0
    for seed in range(400):
        text = changed(Writer(notation, source).grammar(random_grammar(seed)), source)
        try:
            schemagen.compile(spec_of(notation, text), BYTES, cache=None).matcher().allowed_tokens()
            read += 1
        except schemagen.GrammarError as error:
            check_place(text, error.line, error.column)
        except UnsatisfiableSchemaError:
            pass
    assert read > 10
