"""Random cases: a spec, a vocabulary, texts and a seed, all of them JSON, so that a case can be kept and made smaller."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schemagen import Vocabulary
from tests.property.pattern_texts import PythonPatterns
from tests.property.random_lark import CHARACTERS, random_grammar, random_ignoring_grammar
from tools.fuzz.schemas import Schemas

if TYPE_CHECKING:
    import random

#: A case, or a part of it, as JSON has it.
Case = dict[str, Any]

#: Parser and lexer, as lark calls them.
WAYS = [
    ["earley", "dynamic"],
    ["earley", "dynamic"],
    ["earley", "dynamic_complete"],
    ["earley", "basic"],
    ["lalr", "basic"],
    ["lalr", "contextual"],
]
_PIECES = ['{"', '":', '": ', '",', '", "', '"}', '"]', "},", "}}", "]]", "[]", "{}", "null", "tr", "e,", "10", ".5"]
_MORE_PIECES = ["\n  ", '\\"', "\\u00", "\\\\", "é", '":[', "1e", "-0", "0.", "false", ', "', "00", '"a":', "ab", '"é']
_SMALL_ASSERTIONS = ["(?=b)", "(?!a)", "(?<=a)", "(?<!b)", r"\b", "^", "$"]
_SMALL_ATOMS = [*"aabbcc-", "[ab]", "[^a]", ".", "ab", "ba", "[a-c]", r"\w", r"\n"]
_SMALL_REPEATS = ["", "", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}", "*?", "+?", "{2,}"]
#: Names and bodies of terminals of random grammars.
_TERMINALS = {
    "WORD": ["/[ab]+/", "/[a-c]+/", "/a|ab|b/", "/[ab]+?c?/", '"a".."c"'],
    "NUM": ["/[0-9]+/", "/[01]/", '("0" | "1")+', "/0|1[01]*/", "/[01](?![01])/"],
    "OP": ['"+"', '"+" | "-"', "/[+-]/", '"++" | "+"', "/[+]+/"],
}
_LITERALS = ['"a"', '"b"', '"ab"', '"("', '")"', '"+"', '"A"i', '"0"', '","', '"if"']
_IGNORED = ['%ignore " "', "%ignore / +/", "%ignore /_+ ?/", "%ignore /#[^a]*/"]


def vocabulary_of(case: Case) -> Vocabulary:
    """Return the vocabulary of a case: EOS, every byte, and the tokens of the case (each character is a byte)."""
    longer = [token.encode("latin-1") for token in case["tokens"]]
    return Vocabulary([b"", *(bytes([byte]) for byte in range(256)), *longer], eos_token_ids=[0])


def json_case(rng: random.Random) -> Case:
    """Return a schema with instances, and how its texts are laid out."""
    schemas = Schemas(rng)
    schema = schemas.document()
    instances = [schemas.value() for _ in range(6)]
    texts = [*_PIECES, *_MORE_PIECES, *(json.dumps(each, ensure_ascii=False) for each in [*instances, schema])]
    return {
        "schema": schema,
        "instances": instances,
        "order": rng.choice(["schema", "schema", "any"]),
        "whitespace": rng.choice(["flexible", "flexible", "compact", "spaced", "any"]),
        "tokens": _tokens(rng, texts),
        "seed": rng.getrandbits(32),
    }


def regex_case(rng: random.Random) -> Case:
    """Return a pattern with random texts: one of all the syntax, or one over few letters, whose matches are many."""
    pattern = PythonPatterns(rng).draw() if rng.random() < 0.4 else _small_pattern(rng, 3)
    texts = ["".join(rng.choices("aabbc-\n", k=rng.randint(0, 7))) for _ in range(20)]
    return {"pattern": pattern, "texts": texts, "tokens": _tokens(rng, [*texts, pattern]), "seed": rng.getrandbits(32)}


def grammar_case(rng: random.Random) -> Case:
    """Return a grammar of lark with random texts."""
    kind = rng.random()
    if kind < 0.5:
        source, characters = _wide_grammar(rng), "aabbc01+-(), _#if"
    else:
        made = random_grammar if kind < 0.75 else random_ignoring_grammar
        source, characters = made(rng.getrandbits(32)), CHARACTERS
    texts = ["".join(rng.choices(characters, k=rng.randint(0, 7))) for _ in range(30)]
    tokens = _tokens(rng, [*texts, *texts, source])
    return {"grammar": source, "way": rng.choice(WAYS), "texts": texts, "tokens": tokens, "seed": rng.getrandbits(32)}


def _tokens(rng: random.Random, texts: list[str]) -> list[str]:
    """Return random tokens: pieces of texts, which may end within a character, several of them joined, and any bytes."""
    found = []
    for _ in range(rng.choice([0, 8, 25, 25])):
        data = rng.choice(texts).encode("utf-8", "replace")
        at = rng.randint(0, len(data))
        piece = data[at : at + rng.randint(1, 8)]
        if rng.random() < 0.2:
            piece += rng.choice(texts).encode("utf-8", "replace")[:4]
        if rng.random() < 0.05:
            piece = rng.randbytes(rng.randint(1, 3))
        # Two tokens may be equal, but none is empty.
        found += [piece.decode("latin-1")] if piece else []
    return found


def _small_pattern(rng: random.Random, depth: int) -> str:
    if not depth or rng.random() < 0.2:
        return str(rng.choice(_SMALL_ASSERTIONS if rng.random() < 0.12 else _SMALL_ATOMS))
    kind = rng.random()
    if kind < 0.45:
        return "".join(_small_pattern(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    inner = _small_pattern(rng, depth - 1)
    if kind < 0.65:
        return f"(?:{inner}|{_small_pattern(rng, depth - 1)})"
    opening = rng.choice(["(?:", "(?:", "(?:", "(", "(?=", "(?!", "(?s:", "(?i:", "(?m:"])
    return f"{opening}{inner})" + ("" if opening in {"(?=", "(?!"} else rng.choice(_SMALL_REPEATS))


def _wide_grammar(rng: random.Random) -> str:
    """Return a grammar of most that lark has: terminals, groups, repetitions, templates, priorities, recursion.

    Groups are not nested, since lark writes out all alternatives of a rule.
    """
    rules = ["start", "x", "?y", "_z"][: rng.randint(1, 4)]
    names = [rule.strip("?") for rule in rules]
    terminals = rng.sample(sorted(_TERMINALS), rng.randint(1, 3))
    symbols = [*names, *terminals, *terminals, *_LITERALS[: rng.randint(2, len(_LITERALS))]]
    uses_template = rng.random() < 0.2
    if uses_template:
        symbols += [f"_list{{{rng.choice(terminals)}, {rng.choice(_LITERALS)}}}"]
    priority = {rule: rng.choice(["", "", "", "", ".1", ".-1"]) for rule in rules}
    lines = [f"{rule}{priority[rule]}: {_alternatives(rng, symbols, 1)}" for rule in rules]
    lines += ["_list{item, sep}: item (sep item)*"] * uses_template
    lines += [f"{name}{rng.choice(['', '', '', '.1', '.-1'])}: {rng.choice(_TERMINALS[name])}" for name in terminals]
    return "\n".join([*lines, *rng.sample(_IGNORED, rng.choice([0, 0, 1, 1, 2]))])


def _alternatives(rng: random.Random, symbols: list[str], depth: int) -> str:
    return " | ".join(_sequence(rng, symbols, depth) for _ in range(rng.choice([1, 2, 2, 3])))


def _sequence(rng: random.Random, symbols: list[str], depth: int) -> str:
    parts = []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
        if rng.random() < 0.25 and depth:
            inner = _alternatives(rng, symbols, depth - 1)
            parts.append(rng.choice(["({})", "[{}]", "({})?", "({})+", "({})*", "({}) ~ 1..2"]).format(inner))
        else:
            parts.append(rng.choice(symbols) + rng.choice(["", "", "", "", "?", "+", "*", "~2", "~0..2"]))
    return " ".join(parts)
