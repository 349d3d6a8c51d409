"""JSON as our engine of schemas reads it, beside JSON as a grammar: mask for mask along random texts."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import schemagen
from schemagen import Vocabulary
from schemagen.engine.protocol import Matcher
from tests import corpora

#: Any value of JSON, as the page of supported schemas says: numbers have the digits of its caps. `\u` escapes are characters: half a surrogate pair is none. Keys are spelt
#: in one way, that of `json.dumps`.
JSON = r"""
root   ::= ws value ws
value  ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws "}" | "{" ws member ("," ws member)* "}"
member ::= key ws ":" ws value ws
array  ::= "[" ws "]" | "[" ws value ws ("," ws value ws)* "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" code))* "\""
key    ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\bfnrt] | "u000" [0-7bef] | "u001" [0-9a-f]))* "\""
code   ::= [0-9a-cA-CefEF] hex hex hex | [dD] [0-7] hex hex | [dD] [89abAB] hex hex "\\u" [dD] [c-fC-F] hex hex
hex    ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]{0,59}) ("." [0-9]{1,22})? ([eE] [+-]? "0"{0,16} [01]? [0-9]{1,3})?
"""
#: Policy of whitespace -> whitespace in one place.
WHITESPACE = {"compact": 'ws ::= ""', "any": r"ws ::= [ \t\r\n]{0,64}"}
WALKS, MORE_WALKS = 4, 150
_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[-0-9][-+0-9.eE]*|[\[\]{},:]')


def keys_and_numbers(text: str) -> Iterator[tuple[str, Any, bool]]:
    """Yield ("key", key, whether its object has it already) and ("number", text, whether more may come) of a beginning of JSON."""
    text = "".join(_strings_apart(text))
    stack: list[set[str] | None] = []
    is_key = False
    for part in _PART.finditer(text):
        sign = part[0]
        if sign in ("{", "["):
            stack.append(set() if sign == "{" else None)
        elif sign in ("}", "]"):
            stack.pop()
        elif sign[0] == '"' and is_key and stack and stack[-1] is not None:
            key = json.loads(sign)
            yield "key", key, key in stack[-1]
            stack[-1].add(key)
        elif sign[0] in "-0123456789":
            yield "number", sign, part.end() == len(text)
        is_key = sign == "{" or (sign == "," and bool(stack) and stack[-1] is not None)


def _strings_apart(text: str) -> Iterator[str]:
    """Yield the text; a string that is open at its end is left out."""
    at = 0
    for found in re.finditer(r'"(?:[^"\\]|\\.)*("|\\?\Z)', text, re.DOTALL):
        yield text[at : found.start()]
        at = found.end()
        if found[1] == '"':
            yield found[0]
    yield text[at:]


def is_left_out(text: bytes) -> bool:
    """Whether our engine leaves a beginning of JSON out: a key that stands twice, or a number that no double is near."""
    for kind, value, flag in keys_and_numbers(text.decode(errors="ignore")):
        if kind == "key" and flag:
            return True
        if kind == "number" and not flag and abs(float(value)) == float("inf"):
            return True
        if kind == "number" and re.search(r"[eE]\+?[0-9]+\Z", value) and abs(float(value)) == float("inf"):
            return True
    return False


def words_of(matcher: Matcher, vocabulary: Vocabulary, budget: int | None = None) -> np.ndarray:
    """The mask, a bit for each token."""
    words = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    matcher.fill_next_token_bitmask(words, 0, budget=budget)
    return words[0]


def ids_of(words: np.ndarray) -> list[int]:
    """The tokens of a mask."""
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


def compare(vocabulary: Vocabulary, policy: Any, seeds: range, max_tokens: int) -> int:
    """Walk over the masks of the one, compare those of the other, and return how many were compared."""
    native = schemagen.compile(Any, vocabulary, whitespace=policy)
    grammar = schemagen.compile(schemagen.GBNF(JSON + WHITESPACE[policy]), vocabulary)
    tokens, count = vocabulary.tokens, 0
    for seed in seeds:
        choose, one, other, text = random.Random(seed), native.matcher(), grammar.matcher(), b""
        for left in range(max_tokens, -1, -1):
            ours, theirs = words_of(one, vocabulary), words_of(other, vocabulary)
            count += 1
            assert not (ours & ~theirs).any(), (text, [tokens[each] for each in ids_of(ours & ~theirs)[:10]])
            wrong = [tokens[each] for each in ids_of(theirs & ~ours) if not is_left_out(text + tokens[each])]
            assert not wrong, (text, wrong[:10])
            assert not is_left_out(text), text
            if not left:
                assert one.is_accepting()
                break
            token = drawn(ids_of(words_of(one, vocabulary, left)), tokens, choose)
            if token in vocabulary.eos_token_ids:
                break
            assert one.accept_token(token)
            assert other.accept_token(token)
            text += tokens[token]
        json.loads(text)
    return count


def drawn(allowed: list[int], tokens: Any, choose: random.Random) -> int:
    """A token, more often one that begins with a sign."""
    some = [choose.choice(allowed) for _ in range(8)]
    return next((each for each in some if not tokens[each][:1].isalnum()), some[0])


@pytest.mark.parametrize("policy", WHITESPACE)
@pytest.mark.parametrize("kind", corpora.kinds())
def test_native_json_is_the_grammar_of_json(kind: str, policy: str, request: pytest.FixtureRequest) -> None:
    """But for keys that stand twice and numbers beyond a double, which a grammar cannot tell."""
    vocabulary = request.getfixturevalue(f"{kind}_vocabulary")
    assert compare(vocabulary, policy, range(WALKS), 30) > WALKS


@pytest.mark.slow
@pytest.mark.parametrize("policy", WHITESPACE)
@pytest.mark.parametrize("kind", corpora.kinds())
def test_native_json_is_the_grammar_of_json_in_long(kind: str, policy: str, request: pytest.FixtureRequest) -> None:
    """More and longer texts."""
    vocabulary = request.getfixturevalue(f"{kind}_vocabulary")
    assert compare(vocabulary, policy, range(1000, 1000 + MORE_WALKS), 100) > MORE_WALKS
