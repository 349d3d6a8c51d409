"""The reference engine: its automata, its index and its matchers, against oracles that share no code with it."""

import itertools
import random
import re

import interegular
import numpy as np
import pytest
from pydantic import BaseModel

import schemagen
from schemagen import reference
from schemagen.engine.protocol import MAX_FORCED, Engine, Matcher
from schemagen.errors import (
    BitmaskShapeError,
    DeadEndError,
    LimitError,
    MatcherError,
    MatcherTerminatedError,
    UnsatisfiableSchemaError,
)
from schemagen.reference.fsm import byte_fsm, utf8_ranges
from schemagen.reference.index import (
    ReferenceEngine,
    find_sub_sequences,
    map_states_to_vocab,
)
from schemagen.reference.matcher import show_bytes
from schemagen.regex import ast
from schemagen.regex.dialects import parse_python
from schemagen.vocabulary import Vocabulary

#: Every text over four characters of different UTF-8 length, up to three of them.
TEXTS = ["".join(chars) for n in range(4) for chars in itertools.product("aé€😀", repeat=n)]


def accepts(fsm, text: str) -> bool:
    """Whether the byte FSM accepts a text."""
    return fsm.accepts(text.encode().decode("latin-1"))


def ends(regex, text: str, start: int) -> set[int]:
    """Return where a match of `regex` from `start` can end: the definition of the expressions, without automata."""
    if isinstance(regex, ast.Chars):
        return {start + 1} if start < len(text) and any(a <= ord(text[start]) <= b for a, b in regex.ranges) else set()
    if isinstance(regex, ast.Alternation):
        return set().union(*(ends(part, text, start) for part in regex.parts))
    if isinstance(regex, ast.Conjunction):
        return set.intersection(*(ends(part, text, start) for part in regex.parts))
    if isinstance(regex, ast.Complement):
        return set(range(start, len(text) + 1)) - ends(regex.inner, text, start)
    here = {start}
    if isinstance(regex, ast.Concat):
        for part in regex.parts:
            here = {end for middle in here for end in ends(part, text, middle)}
        return here
    reached = here if regex.low == 0 else set()
    # Without an end, repetitions beyond the length of the text can only be empty ones.
    for n in range(1, (regex.low + len(text) + 1 if regex.high is None else regex.high) + 1):
        here = {end for middle in here for end in ends(regex.inner, text, middle)}
        reached = reached | here if n >= regex.low else reached
    return reached


def random_regex(rng: random.Random, depth: int):
    """A random expression, boolean operators included."""
    if depth == 0 or rng.random() < 0.2:
        ranges = [(0x61, 0x61), (0x61, 0xE9), (0xE9, 0x20AC), (0x20AC, 0x1F600), (0, 0x10FFFF), (0xD000, 0xE001)]
        return rng.choice([*map(ast.chars, ranges), ast.EPSILON, ast.EMPTY])
    kind = rng.choice([ast.Concat, ast.Alternation, ast.Conjunction, ast.Complement, ast.Repeat])
    if kind is ast.Complement:
        return ast.Complement(random_regex(rng, depth - 1))
    if kind is ast.Repeat:
        low = rng.randint(0, 2)
        return ast.Repeat(random_regex(rng, depth - 1), low, rng.choice([None, low, low + 1, low + 2]))
    return kind(tuple(random_regex(rng, depth - 1) for _ in range(rng.randint(1, 3))))


class TestUtf8:
    @pytest.mark.parametrize(
        "low_high", [(0, 0x10FFFF), (0x7F, 0x80), (0xE9, 0x20AC), (0x7FF, 0x800), (0xD7FF, 0xE000), (0xFFFF, 0x10000)]
    )
    def test_ranges_are_the_encodings(self, low_high):
        """A code point is in the byte ranges exactly if it is in the class; surrogates never are."""
        low, high = low_high
        sequences = list(utf8_ranges(((low, high),)))
        points = {0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF, *range(low, high, 997)}
        for point in points - set(range(0xD800, 0xE000)):
            data = chr(point).encode()
            hits = [
                s
                for s in sequences
                if len(s) == len(data) and all(a <= b <= c for b, (a, c) in zip(data, s, strict=True))
            ]
            assert len(hits) == (low <= point <= high), hex(point)

    def test_only_valid_utf8(self):
        """Byte strings that are no UTF-8 are in no range: overlong forms, surrogates, beyond U+10FFFF."""
        fsm = byte_fsm(ast.ANY_CHAR)
        for data in (b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xe0\x80\x80", b"\xff"):
            assert not fsm.accepts(data.decode("latin-1"))
        assert len(list(utf8_ranges(((0, 0x10FFFF),)))) == 9


class TestByteFsm:
    def test_random_expressions(self):
        """The automaton accepts what the definition of the expression says."""
        rng = random.Random(1)
        for _ in range(150):
            regex = random_regex(rng, 3)
            fsm = byte_fsm(regex)
            for text in TEXTS:
                assert accepts(fsm, text) == (len(text) in ends(regex, text, 0)), (regex, text)

    @pytest.mark.parametrize(
        "pattern",
        ["(a|b)*abb", "a{2,5}b?", "[a-f0-9]{4}(-[a-f0-9]{2})+", "(ab|a)(bc|c)?", "x*y*z*", "(a*b*){2}", "a?" * 4],
    )
    def test_equals_interegular(self, pattern):
        """On ASCII patterns the automaton is equivalent to interegular's own, and as small as its reduced one."""
        ours = byte_fsm(parse_python(pattern))
        theirs = interegular.parse_pattern(pattern).to_fsm().reduce()
        assert ours.equivalent(theirs)
        live = [state for state in theirs.states if theirs.islive(state)]
        assert len(ours.states) == len(live)

    @pytest.mark.parametrize(
        "pattern", [r"\w+\d{2,3}", r"[^\x00-\x1f\"\\]*", r"(?:é|€|😀)+", r"\s?[à-ÿ]{0,2}.", "(a|é)*?€", ""]
    )
    def test_equals_python(self, pattern):
        """The automaton accepts what `re.fullmatch` does."""
        fsm = byte_fsm(parse_python(pattern))
        for text in [*TEXTS, "a12", "é123", "\n", '"', " ÿx", "ÿ😀"]:
            assert accepts(fsm, text) == bool(re.fullmatch(pattern, text)), text

    def test_states_are_live(self):
        """From every state a final one can be reached."""
        regex = ast.conjunction(parse_python("(ab|ac)*"), ast.complement(parse_python(".*aba.*")))
        fsm = byte_fsm(regex)
        assert all(fsm.islive(state) for state in fsm.states)

    def test_empty_language(self):
        """The empty language is a start state and nothing else."""
        fsm = byte_fsm(ast.conjunction(parse_python("a+"), parse_python("b+")))
        assert (fsm.states, fsm.finals, fsm.map) == ({0}, set(), {0: {}})

    def test_thousands_of_states(self):
        """Long counters are workable: one state for each count and each byte inside a character."""
        assert len(byte_fsm(parse_python("[a-z]{0,3000}")).states) == 3001
        assert len(byte_fsm(parse_python("(?s:.){0,300}")).states) == 300 * 8 + 1

    @pytest.mark.parametrize("pattern", ["a{0,100000}", "(a|b)*a(a|b){20}", "(a{0,500}b){0,500}"])
    def test_limit(self, pattern):
        """Too many states stop the work with both numbers and the knob."""
        with pytest.raises(LimitError, match=r"has \d+ states, limit (2000|80000)") as raised:
            byte_fsm(parse_python(pattern), max_states=2000)
        assert "max_states" in raised.value.fix

    def test_time_limit(self):
        """Time stops the work too."""
        with pytest.raises(LimitError, match=r"for more than -1 s") as raised:
            byte_fsm(parse_python("[a-z]{0,3000}"), max_seconds=-1)
        assert "max_seconds" in raised.value.fix

    def test_deep_nesting(self):
        """An expression deeper than Python's stack is a limit, not a crash."""
        regex = ast.char_set("a")
        for _ in range(5000):
            regex = ast.Alternation((regex, ast.EPSILON))
        with pytest.raises(LimitError, match="nested too deep"):
            byte_fsm(regex)


class TestIndex:
    def test_find_sub_sequences(self):
        """The sequences of section 4 of the paper: the state before each symbol and the one after the last."""
        fsm = byte_fsm(parse_python("(?a:[a-z][a-z0-9]*)"))
        assert [len(s) for s in find_sub_sequences(fsm, b"f")] == [2, 2]
        assert find_sub_sequences(fsm, b"f") == [(0, 1), (1, 1)]
        assert find_sub_sequences(fsm, b"7f") == [(1, 1, 1)]
        assert find_sub_sequences(fsm, b"f-") == []
        assert find_sub_sequences(fsm, b"") == []

    def test_map_states_to_vocab(self):
        """The index holds every token at every state that reads it, duplicates apart."""
        fsm = byte_fsm(parse_python("ab?"))
        sigma = map_states_to_vocab(fsm, [b"a", b"ab", b"b", b"", b"abc", b"b"])
        after_a = fsm.map[0][fsm.alphabet["a"]]
        end = fsm.map[after_a][fsm.alphabet["b"]]
        assert sigma == {0: {0, 1}, after_a: {2, 5}, end: set()}

    def test_lazy_masks_equal_the_index(self):
        """A state asked for on its own has the tokens of Algorithm 4, and EOS where it is final."""
        tokens = ["a", "b", "ab", "ba", "é", b"\xc3", b"\xa9", "bé", None, "abab"]
        engine = ReferenceEngine(parse_python("(ab)*é?b*"), Vocabulary.from_tokens(tokens, eos_token_ids=[8]))
        for state, ids in engine.token_index.items():
            assert engine.mask(state).ids == tuple(sorted(ids | ({8} if engine.is_final(state) else set())))


def continuations(pattern: str, alphabet: str, length: int) -> list[bytes]:
    """Return every text over the alphabet, up to a length, that the pattern matches."""
    texts = ("".join(chars) for n in range(length + 1) for chars in itertools.product(alphabet, repeat=n))
    return [text.encode() for text in texts if re.fullmatch(pattern, text)]


class TestMasks:
    TOKENS = ("a", "b", "é", "ab", "ba", "aab", b"\xc3", b"\xa9", b"a\xc3", b"\xa9b", "bb", "éé", "c", None, "a")

    @pytest.mark.parametrize(
        "pattern", ["(ab|ba){1,2}", "a{0,3}é?", "[aé]{2}b|b{3}", "(a|b|é){0,3}", "(aa?b|éé)?b", "(?!ab)[ab]{1,3}"]
    )
    def test_brute_force(self, pattern):
        """A token is allowed exactly if some text of the language continues with it; EOS exactly at its end."""
        vocabulary = Vocabulary.from_tokens(self.TOKENS, eos_token_ids=[13])
        language = continuations(pattern, "abéc", 4)
        matcher = ReferenceEngine(parse_python(pattern), vocabulary).matcher()
        waiting, seen = [(matcher, b"")], {b""}
        while waiting:
            cursor, prefix = waiting.pop()
            allowed = {
                i for i, t in enumerate(vocabulary.tokens) if t and any(w.startswith(prefix + t) for w in language)
            }
            allowed |= {13} if prefix in language else set()
            assert set(cursor.allowed_tokens()) == allowed, prefix
            for token_id in allowed - {13}:
                text = prefix + vocabulary.tokens[token_id]
                following = cursor.fork()
                assert following.accept_token(token_id)
                if text not in seen:
                    seen.add(text)
                    waiting.append((following, text))
        assert set(language) <= seen

    def test_equals_the_compiled_engine(self):
        """Masks along random walks are those of the compiled engine."""
        pytest.importorskip("schemagen._core")
        from schemagen.engine.native.lowering import compile_pattern
        from schemagen.engine.options import Options

        rng = random.Random(5)
        tokens = [bytes([i]) for i in range(256)] + ["ab", "é", "a€", b"\x82\xac", "aaa", "\n\n", None]
        vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=[len(tokens) - 1])
        for pattern in [r"(a|é|€)*b?", r"\w{2,4}\s", r'"[^"\\]*"', r"(?!aa)[a-c]{0,5}", ".*(ab)+", r"-?\d+(\.\d+)?"]:
            regex = parse_python(pattern)
            native, ours = (
                compile_pattern(regex, vocabulary, Options()).matcher(),
                ReferenceEngine(regex, vocabulary).matcher(),
            )
            for _ in range(30):
                allowed = ours.allowed_tokens()
                assert allowed == native.allowed_tokens(), pattern
                assert ours.is_accepting() == native.is_accepting()
                token_id = rng.choice(allowed)
                assert ours.accept_token(token_id) == native.accept_token(token_id) is True
                if ours.is_terminated():
                    ours.reset()
                    native.reset()


@pytest.fixture
def vocabulary():
    """Letters, two EOS ids and a padding id."""
    return Vocabulary.from_tokens(["a", "b", "ab", "c", None, None, None], eos_token_ids=[4, 5], special_token_ids=[6])


@pytest.fixture
def matcher(vocabulary):
    """A matcher of `ab*`."""
    return ReferenceEngine(parse_python("ab*"), vocabulary).matcher()


class TestMatcher:
    def test_protocols(self, vocabulary, matcher):
        """The engine and its matcher offer the whole protocol."""
        assert isinstance(ReferenceEngine(ast.ANY_CHAR, vocabulary), Engine)
        assert isinstance(matcher, Matcher)

    def test_accept(self, matcher):
        """Allowed tokens advance; others change nothing."""
        assert matcher.allowed_tokens() == [0, 2]
        assert not any(map(matcher.accept_token, (1, 3, 4, 6, 7, -1)))
        assert matcher.allowed_tokens() == [0, 2]
        assert matcher.accept_token(2)
        assert matcher.is_accepting()
        assert matcher.allowed_tokens() == [1, 4, 5]

    def test_eos(self, matcher):
        """Any EOS id ends an accepting text; afterwards nothing is accepted and there is no mask."""
        assert not matcher.accept_token(5)
        assert matcher.accept_token(0)
        assert matcher.accept_token(5)
        assert matcher.is_terminated()
        assert matcher.is_accepting()
        assert not matcher.accept_token(4)
        assert not matcher.accept_bytes(b"b")
        assert matcher.forced_tokens() == []
        with pytest.raises(MatcherTerminatedError, match="accepted EOS"):
            matcher.allowed_tokens()
        with pytest.raises(MatcherTerminatedError):
            matcher.fill_next_token_bitmask(np.zeros((1, 1), dtype=np.int32))

    def test_only_eos(self, vocabulary):
        """Where nothing else is legal, EOS is the only choice."""
        matcher = ReferenceEngine(parse_python("a"), vocabulary).matcher()
        assert matcher.accept_token(0)
        assert matcher.allowed_tokens() == [4, 5]

    def test_rollback(self, matcher):
        """Steps are undone one by one, EOS and bytes included."""
        assert matcher.accept_token(0)
        assert matcher.accept_bytes(b"bbb")
        assert matcher.accept_token(4)
        matcher.rollback()
        assert not matcher.is_terminated()
        matcher.rollback(2)
        assert matcher.allowed_tokens() == [0, 2]
        matcher.rollback(0)
        for count in (1, -1):
            with pytest.raises(MatcherError, match=f"cannot undo {count} of 0 steps"):
                matcher.rollback(count)

    def test_accept_bytes(self, matcher):
        """Bytes are accepted as a whole or not at all, and the empty text is a step, too."""
        assert not matcher.accept_bytes(b"abx")
        assert not matcher.is_accepting()
        assert matcher.accept_bytes(b"")
        assert matcher.accept_bytes(b"abb")
        matcher.rollback(2)

    def test_fork_and_reset(self, matcher):
        """Copies do not know of each other."""
        assert matcher.accept_token(0)
        other = matcher.fork()
        assert other.accept_token(4)
        assert not matcher.is_terminated()
        matcher.reset()
        assert matcher.allowed_tokens() == [0, 2]
        other.rollback(2)
        assert other.allowed_tokens() == [0, 2]

    def test_forced_tokens(self, vocabulary):
        """Forced tokens stop where there is a choice, at the end, and at the limit; the matcher stays where it is."""
        bytes_only = Vocabulary.byte_vocabulary()
        matcher = ReferenceEngine(parse_python("key=[0-9]"), bytes_only).matcher()
        assert bytes(matcher.forced_tokens()) == b"key="
        assert matcher.allowed_tokens() == [ord("k")]
        assert ReferenceEngine(parse_python("ca?"), vocabulary).matcher().forced_tokens() == [3]
        endless = Vocabulary.from_tokens(["a", "", ""], eos_token_ids=[1, 2])
        forced = ReferenceEngine(parse_python("a{2000}"), endless).matcher().forced_tokens()
        assert forced == [0] * MAX_FORCED

    def test_dead_end(self):
        """A vocabulary that cannot write the text is an error, not an empty mask."""
        matcher = ReferenceEngine(parse_python("ab"), Vocabulary.from_tokens(["a", None], eos_token_ids=[1])).matcher()
        assert matcher.accept_token(0)
        with pytest.raises(DeadEndError, match="after 1 steps"):
            matcher.fill_next_token_bitmask(np.zeros((1, 1), dtype=np.int32))
        assert matcher.forced_tokens() == []

    def test_unsatisfiable(self, vocabulary):
        """An expression without texts is refused."""
        with pytest.raises(UnsatisfiableSchemaError):
            ReferenceEngine(ast.EMPTY, vocabulary)

    @pytest.mark.parametrize(
        ("token_id", "sentence"),
        [
            (0, "token 0 b'a' is allowed"),
            (1, "token 1 b'b' is not allowed: after 0 of its 1 bytes, 'a' is expected"),
            (7, "token 7 is not allowed: the vocabulary has 7 ids"),
            (6, "token 6 is not allowed: it is a special or padding id without text"),
            (4, "token 4 (EOS) is not allowed: the text is not complete"),
        ],
    )
    def test_explain(self, matcher, token_id, sentence):
        """Each verdict has its reason."""
        assert matcher.explain(token_id) == sentence

    def test_explain_ends(self, vocabulary):
        """The end of the text is explained, before and after EOS."""
        matcher = ReferenceEngine(parse_python("a"), vocabulary).matcher()
        assert (
            matcher.explain(2)
            == "token 2 b'ab' is not allowed: after 1 of its 2 bytes, the end of the text is expected"
        )
        assert matcher.accept_token(0)
        assert matcher.explain(4) == "token 4 (EOS) is allowed: the text may end here"
        assert matcher.accept_token(4)
        assert matcher.explain(0) == "token 0 is not allowed: EOS was already accepted"

    def test_show_bytes(self):
        """Sets of bytes are shown as ranges, long ones cut."""
        assert show_bytes([*b"abc", ord("x"), 0xC3]) == "'a'-'c' 'x' 0xC3"
        assert show_bytes(range(0, 40, 2)).endswith(" ...")
        assert show_bytes([]) == ""


class TestBitmask:
    def test_only_the_row_is_written(self, matcher):
        """One row is overwritten, the others keep their bits; the answer says that something is masked."""
        bitmask = np.full((3, 1), -1, dtype=np.int32)
        assert matcher.fill_next_token_bitmask(bitmask, 1) is True
        assert bitmask[:, 0].tolist() == [-1, 0b101, -1]

    def test_everything_allowed(self):
        """Nothing masked is answered with False."""
        matcher = ReferenceEngine(parse_python("[ab]*"), Vocabulary.from_tokens(["a", "b"], eos_token_ids=())).matcher()
        assert matcher.fill_next_token_bitmask(np.zeros((1, 1), dtype=np.int32)) is False

    def test_high_bits(self, byte_vocabulary):
        """Bit 31 of a word, and words beyond the first, are written."""
        matcher = ReferenceEngine(parse_python("[\x1f\x20ÿ]*"), byte_vocabulary).matcher()
        bitmask = np.zeros((1, 9), dtype=np.int32)
        matcher.fill_next_token_bitmask(bitmask)
        bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")
        assert np.flatnonzero(bits).tolist() == matcher.allowed_tokens() == [0x1F, 0x20, 0xC3, 256]

    def test_torch(self, matcher):
        """A torch tensor on the CPU is written in place."""
        torch = pytest.importorskip("torch")
        bitmask = torch.zeros((2, 1), dtype=torch.int32)
        matcher.fill_next_token_bitmask(bitmask, 1)
        assert bitmask.tolist() == [[0], [0b101]]

    @pytest.mark.parametrize(
        ("bitmask", "row", "message"),
        [
            (np.zeros((1, 1), dtype=np.int64), 0, "dtype int64"),
            (np.zeros((1, 1), dtype=np.uint32), 0, "dtype uint32"),
            (np.zeros((1, 2), dtype=np.int32), 0, r"shape \(1, 2\)"),
            (np.zeros(1, dtype=np.int32), 0, r"shape \(1,\)"),
            (np.zeros((1, 1), dtype=np.int32), 1, "row 1 of a bitmask with 1 rows"),
            (np.zeros((1, 1), dtype=np.int32), -1, "row -1"),
            ([[0]], 0, "dtype list"),
        ],
    )
    def test_wrong_bitmasks(self, matcher, bitmask, row, message):
        """A bitmask of another dtype or shape is named."""
        with pytest.raises(BitmaskShapeError, match=message):
            matcher.fill_next_token_bitmask(bitmask, row)


class Point(BaseModel):
    x: int


def test_the_door_takes_every_kind_of_spec(byte_vocabulary):
    """A matcher at the start of a text; formats other than JSON, and options that change the language, too."""
    for spec, options, text in (
        (int, {}, "12"),
        (list[bool], {"whitespace": "compact"}, "[true,false]"),
        ({"$ref": "urn:x"}, {"resources": {"urn:x": {"const": 1}}}, "1"),
        (schemagen.Regex("a+"), {}, "aa"),
        (["x", "y"], {}, "y"),
        (schemagen.GBNF('root ::= "(" root ")" | "x"'), {}, "((x))"),
        (Point, {"as_": "python"}, "Point(x=1)"),
    ):
        matcher = reference.compile(spec, byte_vocabulary, **options)
        assert isinstance(matcher, Matcher)
        assert matcher.accept_bytes(text.encode())
        assert matcher.is_accepting(), spec
        native = schemagen.compile(spec, byte_vocabulary, **options).matcher()
        assert native.accept_bytes(text.encode())
        assert matcher.allowed_tokens() == native.allowed_tokens()


def test_the_door_refuses_recursive_schemas(byte_vocabulary):
    """There is no finite automaton of them."""
    with pytest.raises(schemagen.errors.UnsupportedSchemaError, match="recursive"):
        reference.compile({"type": "array", "items": {"$ref": "#"}}, byte_vocabulary)
