"""Random programs in the languages of `examples/grammars` and in Python: tokens drawn from masks with a budget, so that each ends."""

import ast
import bisect
import itertools
import keyword
import random
import re
import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import schemagen
from schemagen import Vocabulary
from schemagen.engine.protocol import Matcher
from schemagen.testing import brute_force_mask, mask_of
from tests.docs.test_example_grammars import ACCEPTED, FOLDER

#: Name -> options of the file, and whether lark then reads the same texts and no others.
FILES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "c": ("c.lark", {"parser": "lalr"}, True),
    "go": ("go.lark", {"keywords": "reserved"}, False),
    "java": ("java.lark", {"keywords": "reserved"}, False),
    "java, lalr": ("java.lark", {"parser": "lalr", "lexer": "basic"}, True),
    "json": ("json.lark", {}, True),
    "sql": ("sql_select.lark", {"keywords": "reserved"}, False),
    "sql, lalr": ("sql_select.lark", {"parser": "lalr", "lexer": "basic"}, True),
}
LANGUAGES = [*FILES, "python"]
#: Tokens that are left to end a text, beside those that its shortest end takes, when the budget begins to count.
SLACK = 8
#: Of which every language writes one; the ends of lexemes lie within and between them.
_PIECES = re.compile(r" ?[A-Za-z_]+|[0-9]+| ?[^A-Za-z_0-9\s]+|\s+")


class Language(NamedTuple):
    """A grammar, as it is compiled and as lark reads it."""

    grammar: schemagen.Grammar
    spec: schemagen.Lark
    is_exact: bool


class Walk(NamedTuple):
    """What a walk has written, and whether each token of it was in a mask that was compared with brute force."""

    tokens: list[int]
    text: bytes
    masks: int


@cache
def vocabulary() -> Vocabulary:
    """What ASCII prints, both bytes of a longer character, and pieces of programs, single and in pairs."""
    programs = [*(text for texts in ACCEPTED.values() for text in texts), Path(bisect.__file__).read_text("utf-8")]
    words = {"∫", "≥"}
    words.update(
        keyword.kwlist, (f" {word} " for word in keyword.kwlist), (f"\n{' ' * width}" for width in (0, 2, 4, 8))
    )
    for text in programs:
        pieces = _PIECES.findall(text)
        words.update(pieces, map("".join, itertools.pairwise(pieces)))
    single = [bytes([byte]) for byte in (9, 10, 13, *range(32, 127), *"é".encode())]
    longer = {word.encode() for word in words} - set(single)
    return Vocabulary([b"", *single, *sorted(longer)], eos_token_ids=[0])


@cache
def language(name: str) -> Language:
    """Compile a language over the vocabulary."""
    if name == "python":
        spec, is_exact = schemagen.Lark(_python()), True
    else:
        file, options, is_exact = FILES[name]
        spec = schemagen.Lark(FOLDER / file, **options)
    return Language(
        schemagen.compile(spec, vocabulary(), cache=None, limits=schemagen.Limits(max_seconds=600)), spec, is_exact
    )


@cache
def _python() -> Any:
    import lark
    from lark.indenter import PythonIndenter

    return lark.Lark.open_from_package(
        "lark", "python.lark", ("grammars",), parser="lalr", start="file_input", postlex=PythonIndenter()
    )


def walk(grammar: schemagen.Grammar, seed: int, max_tokens: int, *, compare: bool) -> Walk:
    """Write a random text.

    Tokens are drawn from masks, far from the end without a budget, near it with one, which has to be kept.

    Args:
        grammar: The grammar.
        seed: Of the text.
        max_tokens: How many tokens the text may have; it has more if `SLACK` were not enough to end it, or nothing is so short.
        compare: Whether each mask, without a budget, is compared with brute force.

    Raises:
        AssertionError: A mask is empty or wrong, a token of a mask is refused, or a budget is not kept.
    """
    choose, matcher, written, masks = random.Random(seed), grammar.matcher(), list[int](), 0
    vocabulary, left = grammar.vocabulary, max_tokens
    is_near = False
    while True:
        text = b"".join(vocabulary.tokens[each] for each in written)
        if compare:
            masks += 1
            assert mask_of(matcher, vocabulary) == brute_force_mask(matcher, vocabulary), text
        needed = matcher.tokens_to_finish()
        assert needed is not None, text
        if not is_near and needed + SLACK >= left:
            is_near, left = True, max(left, needed)
        assert needed <= left, text
        allowed = mask_of(matcher, vocabulary, budget=left if is_near else None) if left else {0}
        assert allowed, text
        token = _drawn(sorted(allowed), vocabulary.tokens, choose)
        if token in vocabulary.eos_token_ids:
            assert matcher.is_accepting(), text
            return Walk(written, text, masks)
        assert matcher.accept_token(token), (text, vocabulary.tokens[token])
        written.append(token)
        left -= 1


def _drawn(allowed: list[int], tokens: Any, choose: random.Random) -> int:
    """Return a token: first how it begins is drawn, then one of those, so that signs are as many as words."""
    kinds = defaultdict[bytes, list[int]](list)
    for token in allowed:
        start = tokens[token].lstrip(b" ")[:1]
        kinds[b"a" if start.isalnum() or start == b"_" else b" " if start.isspace() else start].append(token)
    if len(kinds) > 1 and choose.random() < 0.95:
        kinds.pop(b"", None)  # the end is rarely drawn, or most texts would be short
    return choose.choice(kinds[choose.choice(sorted(kinds))])


def mutated(text: str, choose: random.Random) -> str:
    """Return a text with a piece left out, doubled, or exchanged for another one."""
    pieces = _PIECES.findall(text)
    if not pieces:
        return choose.choice([";", "1"])
    at, other = choose.randrange(len(pieces)), choose.choice(pieces)
    new = choose.choice(["", pieces[at] * 2, other, pieces[at][:1], choose.choice("();{},=.\"' \n")])
    return "".join([*pieces[:at], new, *pieces[at + 1 :]])


def reads(start: Matcher, text: str) -> bool:
    """Whether a matcher takes a whole text."""
    matcher = start.fork()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def written_anew(text: str) -> str:
    """Return a program with its terminals apart: as Python would write what lark has read.

    Blanks between words, which lark does not ask for; names that are keywords, which its contextual lexer reads where it
    expects none, with a sign more; strings without content; line breaks and indentation without comments, tabulators, and
    blanks before the first line; no continued lines.
    """
    parser: Any = _python().parse_interactive(text)
    out = ""
    for token in parser.exhaust_lexer():
        if token.type == "_NEWLINE":
            indentation = token.rsplit("\n", 1)[1]
            out += "\n" + " " * (indentation.count(" ") + 8 * indentation.count("\t"))
        elif token.type == "NAME":
            out += f"{token}_ " if keyword.iskeyword(token) else f"{token} "
        elif token.type in ("STRING", "LONG_STRING"):
            out += '"" '
        elif token.type not in ("_INDENT", "_DEDENT"):
            out += f"{token} "
    return out.lstrip()


def assigns_to_no_target(error: str) -> bool:
    """Whether Python refuses a line in which something is assigned, or looped over, that is no target: no matter of the grammar."""
    line = error.partition(": ")[2]
    pieces = [
        re.findall(r"\bfor (.*?) in\b", line[start:]) for start in range(len(line)) if line.startswith("for ", start)
    ]
    looped = {target for found in pieces for target in found[:1]}
    assigned = {
        part for statement in line.split(" ; ") for part in re.split(r"(?<![=!<>:+\-*/%&|^@])=(?!=)", statement)[:-1]
    }
    return any(map(_is_no_target, looped | assigned))


def _is_no_target(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(f"{text.strip()} = 0")
        except SyntaxError:
            return True
    return False


def error_of_python(text: str) -> str | None:
    """What Python's own parser says against a program, and the line; None: nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as "\d" in a string, or 1if
            ast.parse(text)
    except SyntaxError as error:
        return f"{error.msg}: {text.splitlines()[(error.lineno or 1) - 1]}"
    return None
