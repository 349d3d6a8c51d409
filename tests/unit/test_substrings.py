"""Substrings of a text: the automata, the leaf of regular expressions in every engine, and the spec, against `in`."""

import itertools
import random
import re
from dataclasses import dataclass
from typing import Any

import pytest

import schemagen
from schemagen import reference
from schemagen.context_free.syntax import ContextFreeGrammar, Rule, Text, alternatives, sequence
from schemagen.engine.native.builder import builder_of
from schemagen.engine.native.lowering import compile_pattern
from schemagen.engine.options import Options
from schemagen.errors import LimitError, OptionError, OptionTypeError, UnsatisfiableSchemaError, UnsupportedPatternError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.reference.fsm import MAX_TEXT
from schemagen.regex import ast, to_python_re
from schemagen.regex.automaton import eliminate_booleans
from schemagen.regex.edges import first_characters, restrict_first, restrict_last, reverse
from schemagen.regex.language import is_empty, is_subset, matches
from schemagen.regex.lowering import CANONICAL, PatternLowering
from schemagen.regex.printing import MAX_SUBSTRING
from schemagen.regex.substrings import suffix_automaton
from schemagen.testing import brute_force_mask, check_masks, mask_of, random_text
from schemagen.text import substring_of
from schemagen.text.wildcards import MAX_BYTES, SubstringOf
from tests.grammars import BYTES, PIECES, compiled_by, derives

pytestmark = pytest.mark.sampled(3)

ALPHABET = "aé€"
WORDS = ["".join(word) for length in range(5) for word in itertools.product(ALPHABET, repeat=length)]


def random_texts(count: int, length: int, letters: str = "ab€é😀") -> list[str]:
    """Texts with repeats, of characters of one to four bytes."""
    found = []
    for seed in range(count):
        source = random.Random(seed)
        pieces = ["".join(source.choices(letters, k=source.randint(1, 4))) for _ in range(3)]
        text = ""
        while len(text) < length:
            text += source.choice(pieces)
        found.append(text[: source.randint(1, length)])
    return found


def substrings(text: str) -> set[str]:
    """All of them but the empty one."""
    return {text[low:high] for low in range(len(text)) for high in range(low + 1, len(text) + 1)}


def has(regex: ast.Regex, word: str) -> bool:
    """Whether a word belongs to a language, by the definition of each operator."""
    if isinstance(regex, ast.Substring):
        return bool(word) and word in regex.text
    if isinstance(regex, ast.Chars):
        return len(word) == 1 and any(low <= ord(word) <= high for low, high in regex.ranges)
    if isinstance(regex, ast.Alternation):
        return any(has(part, word) for part in regex.parts)
    if isinstance(regex, ast.Conjunction):
        return all(has(part, word) for part in regex.parts)
    if isinstance(regex, ast.Complement):
        return not has(regex.inner, word)
    if isinstance(regex, ast.Concat):
        if not regex.parts:
            return not word
        head, rest = regex.parts[0], ast.Concat(regex.parts[1:])
        return any(has(head, word[:cut]) and has(rest, word[cut:]) for cut in range(len(word) + 1))
    if regex.low == 0 and not word:
        return True
    if regex.high == 0:
        return False
    again = ast.Repeat(regex.inner, max(regex.low - 1, 0), None if regex.high is None else regex.high - 1)
    least = 0 if regex.low else 1
    return any(
        has(regex.inner, word[:cut]) and has(again, word[cut:])
        for cut in range(least, len(word) + 1)
        if cut or regex.low
    )


def composed(source: random.Random, depth: int) -> ast.Regex:
    """A random expression with substrings for leaves."""
    if depth == 0 or source.random() < 0.2:
        text = "".join(source.choices(ALPHABET, k=source.randint(1, 6)))
        return source.choice([ast.substring(text), ast.substring(text), ast.literal(text[:2]), ast.char_set(text[0])])
    parts = [composed(source, depth - 1) for _ in range(2)]
    low = source.randint(0, 2)
    return source.choice(
        [
            ast.concat(*parts),
            ast.union(*parts),
            ast.conjunction(*parts),
            ast.repeat(parts[0], low, source.choice([None, low + 1])),
            ast.conjunction(parts[0], ast.complement(parts[1])),
        ]
    )


@dataclass(frozen=True)
class Language(ContextFree[str]):
    """The texts of an expression: the ways that specs go to the engines."""

    language: ast.Regex

    instruction = "Answer only with a text of this language:"

    def rules(self) -> ContextFreeGrammar:
        return ContextFreeGrammar("text", {"text": Text(self.language)})

    def value_of(self, text: str) -> str:
        return text

    def shown(self) -> str:
        return "a text"


@dataclass(frozen=True)
class InBrackets(Language):
    """The texts of an expression in any number of brackets, which is not regular; next to a keyword."""

    def rules(self) -> ContextFreeGrammar:
        inner = alternatives(Text(self.language), Text(ast.literal("ab€b")), Rule("text"))
        bracketed = sequence(Text(ast.char_set("(")), inner, Text(ast.char_set(")")))
        return ContextFreeGrammar("text", {"text": bracketed})


# --- automata --------------------------------------------------------------------------------------------------------


def test_suffix_automata_have_all_runs_and_no_other() -> None:
    """Random lists over few symbols; at most twice as many states as symbols."""
    for seed in range(50):
        source = random.Random(seed)
        symbols = [source.choice("abc") for _ in range(source.randint(1, 12))]
        moves = suffix_automaton(symbols)
        assert len(moves) <= 2 * len(symbols)
        runs = {"".join(symbols[low:high]) for low in range(len(symbols) + 1) for high in range(low, len(symbols) + 1)}
        found = {("", 0)}
        layer = found
        while layer:
            layer = {(text + symbol, to) for text, state in layer for symbol, to in moves[state].items()}
            found |= layer
        assert {text for text, _ in found} == runs
        assert len(found) == len(runs)


# --- expressions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", random_texts(12, 14))
def test_every_substring_and_nothing_else(text: str) -> None:
    """Substrings, and each of them with one character more or another one, in all engines and in `re`."""
    inside = substrings(text)
    tried = inside | {word + c for word in inside for c in "ab€é😀c"} | {""}
    spec = substring_of(text)
    native, slow = (compiled_by(engine, spec, BYTES) for engine in ("native", "reference"))
    pattern = re.compile(to_python_re(ast.substring(text)))
    for word in tried:
        expected = word in inside
        assert matches(ast.substring(text), word) == expected, word
        assert bool(pattern.fullmatch(word)) == expected, word
        for grammar in (native, slow):
            matcher = grammar.matcher()
            assert (matcher.accept_bytes(word.encode()) and matcher.is_accepting()) == expected, (word, grammar)


@pytest.mark.parametrize("text", random_texts(8, 40))
def test_no_substring_begins_or_ends_within_a_character(text: str) -> None:
    """Byte by byte: what may follow, what may end, and how many bytes are missing."""
    data = text.encode()
    grammar = schemagen.compile(substring_of(text), BYTES)
    starts = [at for at in range(len(data)) if data[at] & 0xC0 != 0x80]
    for begin in starts:
        matcher = grammar.matcher()
        for end in range(begin, min(len(data), begin + 12)):
            read = data[begin:end]
            places = [at for at in starts if data.startswith(read, at)]
            following = {data[at + len(read)] for at in places if at + len(read) < len(data)}
            assert {token for token in range(256) if token in mask_of(matcher, BYTES)} == following
            whole = end > begin and (end in starts or end == len(data))
            assert matcher.is_accepting() == whole
            assert matcher.accept_token(data[end])


def test_compositions_equal_their_definition() -> None:
    """Random expressions with substrings inside, over all short words: the engine, and the questions of the front end."""
    for seed in range(60):
        regex = composed(random.Random(seed), 3)
        expected = {word for word in WORDS if has(regex, word)}
        assert {word for word in WORDS if matches(regex, word)} == expected, regex
        try:
            grammar = schemagen.compile(Language(regex), BYTES)
        except UnsatisfiableSchemaError:
            assert not expected, regex
            continue
        assert {word for word in WORDS if derives_by(grammar, word)} == expected, regex


def derives_by(grammar: schemagen.Grammar, text: str) -> bool:
    """Whether a text is one of a grammar."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def test_questions_about_the_ends_and_the_inside() -> None:
    """Emptiness, inclusion, first and last characters, the reversed texts, and the automaton written out."""
    regex = ast.substring("aé€aé")
    assert not is_empty(regex)
    assert is_subset(ast.substring("aé€"), regex)
    assert not is_subset(regex, ast.substring("aé€"))
    assert is_empty(ast.conjunction(regex, ast.literal("€é")))
    assert is_empty(ast.conjunction(regex, ast.repeat(ast.ANY_CHAR, 6, None)))
    assert first_characters(regex) == ast.char_set("aé€").ranges
    written = eliminate_booleans(regex)
    for word in WORDS:
        inside = has(regex, word)
        assert matches(written, word) == inside
        assert matches(reverse(regex), word) == has(regex, word[::-1])
        assert matches(restrict_first(regex, ast.char_set("é").ranges, edge=False), word) == (inside and word[0] == "é")
        assert matches(restrict_last(regex, ast.char_set("é").ranges, edge=False), word) == (inside and word[-1] == "é")


def test_the_substrings_of_a_long_text_are_no_pattern_of_re() -> None:
    """They are written out only where that is short."""
    assert re.fullmatch(to_python_re(ast.substring("ab" * (MAX_SUBSTRING // 2))), "baba")
    with pytest.raises(UnsupportedPatternError, match="a text of 61 characters"):
        to_python_re(ast.substring("a" * (MAX_SUBSTRING + 1)))


def test_a_character_that_cannot_be_written_splits_the_text() -> None:
    """Half of a surrogate pair has no UTF-8 form; what stands on its two sides has."""
    grammar = schemagen.compile(Language(ast.substring("ab\ud800cd")), BYTES)
    assert [derives_by(grammar, text) for text in ("ab", "d", "bc")] == [True, True, False]
    assert matches(ast.substring("ab\ud800cd"), "b\ud800c")


def test_in_json_strings_they_are_spelled_with_escapes() -> None:
    """No spec leads there so far; the kernel node is that of the expression written out."""
    builder = builder_of(Options())
    regex = ast.concat(ast.char_set("<"), ast.substring('a"\nb'), ast.char_set(">"))
    node = PatternLowering(builder, {}).lower(regex, CANONICAL)
    matcher = builder.regex(node, BYTES.tables).matcher()
    assert matcher.accept_bytes(b'<a\\"\\n>')
    assert matcher.is_accepting()


# --- masks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", random_texts(6, 30, "ab1+(é-"))
@pytest.mark.parametrize("spec", [substring_of, lambda text: InBrackets(ast.substring(text))])
def test_masks_equal_brute_force(spec: Any, text: str) -> None:
    """Tokens that end inside characters and go beyond the substring."""
    grammar = schemagen.compile(spec(text), PIECES)
    assert check_masks(grammar, walks=4)


@pytest.mark.parametrize("closing", ['"', "b", "é", "ab", ""])
def test_masks_with_text_around(closing: str) -> None:
    """What is behind a substring may be told from it, or begin with one of its characters."""
    for text in random_texts(5, 20, "abé1+"):
        for body in (ast.substring(text), ast.optional(ast.substring(text)), ast.repeat(ast.substring(text), 1, 3)):
            regex = ast.concat(ast.char_set("a"), body, ast.literal(closing))
            assert check_masks(schemagen.compile(Language(regex), PIECES), walks=2)


def test_masks_beside_lengths_and_other_languages() -> None:
    """Intersections have states of their own, and no dead ends."""
    for text in random_texts(6, 20, "abé1+"):
        counted = ast.conjunction(ast.substring(text), ast.repeat(ast.ANY_CHAR, min(3, len(text)), 6))
        grammar = schemagen.compile(Language(counted), PIECES)
        check_masks(grammar, walks=2)
        for seed in range(5):
            found = random_text(grammar, seed=seed)
            assert found in text
            assert min(3, len(text)) <= len(found) <= 6


def test_a_long_text_is_compiled_and_followed() -> None:
    """Hundreds of thousands of characters, with no limit of states in the way; the passage may begin anywhere."""
    source = random.Random(0)
    words = ["".join(source.choices("abcdefghé ", k=source.randint(2, 9))) for _ in range(5000)]
    text = " ".join(source.choices(words, k=50_000))
    grammar = schemagen.compile(substring_of(text), PIECES, limits=schemagen.Limits(max_states=1000))
    for _ in range(20):
        begin = source.randrange(len(text) - 200)
        matcher = grammar.matcher()
        for character in text[begin : begin + 100]:
            assert mask_of(matcher, PIECES) == brute_force_mask(matcher, PIECES)
            assert matcher.accept_bytes(character.encode())
        assert matcher.is_accepting()
        assert matcher.shortest_completion() == b""


def prose(length: int) -> str:
    """Words of letters with repeats of all lengths."""
    source = random.Random(1)
    words = ["".join(source.choices("etaoinshrdlu", k=source.randint(1, 8))) for _ in range(300)]
    lines = [" ".join(source.choices(words, k=8)) + ".\n" for _ in range(60)]
    return "".join(source.choices(lines, k=length // 40))[:length]


@pytest.mark.parametrize(
    "text",
    [
        prose(20_000),
        "a" * 5000,
        "".join(random.Random(2).choices("ab", k=20_000)),
        "the «thé» in the the 😀" * 50 + "then",
    ],
    ids=["prose", "one letter", "two letters", "all lengths of characters"],
)
def test_masks_of_many_tokens(text: str, bundled_vocabulary: schemagen.Vocabulary) -> None:
    """At the first places of a passage, where most may follow, and at all ends of a text."""
    quoted = schemagen.compile(substring_of(text), bundled_vocabulary)
    closed = schemagen.compile(Language(ast.concat(ast.substring(text), ast.literal(" the end"))), bundled_vocabulary)
    for passage in ("", " ", text[:1], text[:3], text[100:103], text[400:420], text[-30:], text[-1:]):
        for grammar in (quoted, closed):
            matcher = grammar.matcher()
            if matcher.accept_bytes(passage.encode()):
                assert mask_of(matcher, bundled_vocabulary) == brute_force_mask(matcher, bundled_vocabulary)


def test_the_shortest_way_to_an_end() -> None:
    """From the start one character, inside one what is left of it; with more behind it, that too."""
    matcher = schemagen.compile(substring_of("€€é"), BYTES).matcher()
    assert (matcher.least_bytes(), matcher.shortest_completion()) == (2, "é".encode())
    assert matcher.accept_bytes("€".encode()[:1])
    assert matcher.least_bytes() == 2
    quoted = schemagen.compile(Language(ast.concat(ast.substring("ab"), ast.literal('"!'))), BYTES).matcher()
    assert quoted.least_bytes() == 3
    assert quoted.accept_bytes(b"a")
    assert quoted.least_bytes() == 2


# --- the spec --------------------------------------------------------------------------------------------------------


def test_what_a_prompt_says() -> None:
    """A short text in full, a long one by its ends, and no spec is shown by a megabyte."""
    assert substring_of("one two").shown() == "one two"
    long = substring_of("begin " + "x" * 100_000 + " end")
    assert len(long.shown()) < 400
    assert "'begin xxx" in long.shown()
    assert "100,010 characters" in long.shown()
    assert len(repr(long)) < 200
    assert repr(substring_of("ab")) == "substring_of('ab')"
    assert substring_of("ab") == SubstringOf("ab")
    assert substring_of("ab").value_of("b") == "b"


def test_what_cannot_be_quoted_is_an_error() -> None:
    """No text, an empty one, half of a surrogate pair, and more than the core takes."""
    with pytest.raises(OptionTypeError, match="given"):
        substring_of(b"ab")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="empty text"):
        substring_of("")
    with pytest.raises(OptionError, match="surrogate"):
        substring_of("a\ud800")
    with pytest.raises(LimitError, match="limit 8,388,608"):
        substring_of("é" * (MAX_BYTES // 2 + 1))
    with pytest.raises(LimitError, match="8388609 bytes whose substrings are meant, limit 8388608"):
        compile_pattern(ast.substring("a" * (MAX_BYTES + 1)), BYTES, Options())


def test_pure_python_is_for_shorter_texts() -> None:
    """What the reference cannot tell of a long text the core can: a terminal may go on as itself."""
    long = "one two " * (MAX_TEXT // 8 + 1)
    assert matches(ast.substring(long), "two")
    assert not matches(ast.substring(long), "twone")
    with pytest.raises(LimitError, match="20,008 characters in pure Python"):
        reference.engine(substring_of(long), BYTES)
    grammar = 'start: "<" Q ">"\nQ: %regex {"substring_chars": "' + long + '"}'
    assert derives(schemagen.Lark(grammar, dialect="llguidance"), "<two one>")


def test_the_time_limit_holds() -> None:
    """A text that takes longer is given up."""
    with pytest.raises(LimitError, match=r"(worked|compiled) for"):
        schemagen.compile(substring_of("ab" * 1_000_000), BYTES, limits=schemagen.Limits(max_seconds=0.01), cache=None)


def test_a_passage_names_itself() -> None:
    """In refusals and reports a long text is not repeated."""
    grammar = schemagen.compile(InBrackets(ast.substring("word " * 1000)), BYTES)
    assert len(str(grammar.report)) < 2000
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b"(")
    assert len(str(matcher.explain(ord("!")))) < 500
    assert derives(InBrackets(ast.substring("word " * 1000)), "((d wo))")


def test_tables_of_texts_are_given_back() -> None:
    """A process that quotes from ever new texts does not grow with them, and what is still used goes on."""
    source = random.Random(0)
    texts = ["".join(source.choices("abcdefgh ", k=250_000)) for _ in range(4)]
    kept = schemagen.compile(substring_of(texts[0]), BYTES, cache=None)
    before = most = schemagen.cache_info().shared_bytes
    for number in range(36):
        grammar = schemagen.compile(substring_of(texts[number % 4] + str(number)), BYTES, cache=None)
        assert derives_by(grammar, texts[number % 4][-20:] + str(number))
        assert derives_by(kept, texts[0][1000:1100])
        most = max(most, schemagen.cache_info().shared_bytes)
    assert most - before < 170 * 2**20
    assert kept.memory_bytes < 20 * 2**20
