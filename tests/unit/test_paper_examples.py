"""The examples of Willard & Louf (2023, arXiv:2307.09702v4), on the reference engine that follows its algorithms."""

import random
import re

import pytest

from schemagen.reference.fsm import byte_fsm
from schemagen.reference.index import ReferenceEngine, find_sub_sequences
from schemagen.regex.dialects import parse_python
from schemagen.vocabulary import Vocabulary
from tests import corpora

FLOAT = r"([0-9]*)?\.?[0-9]*"
TOKENS = ("A", ".", "42", ".2", "1")

YES_OR_NO = r"\s*([Yy]es|[Nn]o|[Nn]ever|[Aa]lways)"
YEAR = r"\s*19[0-9]{2}"
#: As printed in Listing 3.1: the last alternative asks for a letter "d", where `\d` is meant.
IP_ADDRESS_PRINTED = r"((25[0-5]|2[0-4]\d|[01]?d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?d\d?)"
IP_ADDRESS = r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)"


@pytest.fixture
def matcher():
    """Example 1: floating-point numbers over five tokens, and EOS, which the example leaves out."""
    vocabulary = Vocabulary.from_tokens([*TOKENS, None], eos_token_ids=[5])
    return ReferenceEngine(parse_python(FLOAT), vocabulary).matcher()


def allowed(matcher) -> set[str]:
    """The texts of the allowed tokens; the text may end in every state of Example 1."""
    ids = matcher.allowed_tokens()
    assert ids[-1] == 5
    return {TOKENS[i] for i in ids[:-1]}


class TestExample1:
    def test_start(self, matcher):
        """State 0 masks only "A"."""
        assert allowed(matcher) == {".", "42", ".2", "1"}

    def test_after_point_two(self, matcher):
        """After ".2" only "42" and "1" are left, as the text says.

        The description of Figure 1 blackens "1" and leaves ".2" white there. Then two points could follow each
        other, which the expression does not match; the text is right.
        """
        assert matcher.accept_token(TOKENS.index(".2"))
        assert allowed(matcher) == {"42", "1"}
        assert not re.fullmatch(FLOAT, ".2.2")
        assert re.fullmatch(FLOAT, ".21")

    def test_after_one(self, matcher):
        """After "1" the mask is that of the start."""
        assert matcher.accept_token(TOKENS.index("1"))
        assert allowed(matcher) == {".", "42", ".2", "1"}

    def test_states(self):
        """Before and after the point: the minimal machine merges states 0 and 1 of Figure 1, and 2 and 3."""
        fsm = byte_fsm(parse_python(FLOAT))
        assert fsm.states == fsm.finals == {0, 1}
        assert find_sub_sequences(fsm, b".2") == [(0, 1, 1)]
        assert find_sub_sequences(fsm, b"42") == [(0, 0, 0), (1, 1, 1)]


class TestSection4:
    def test_name(self):
        """The NAME symbol reads "f" in every state; it ends in the state behind a complete character."""
        engine = ReferenceEngine(parse_python(r"(?a:[^\W\d]\w*)"), Vocabulary.byte_vocabulary())
        assert find_sub_sequences(engine.fsm, b"f") == [(0, 1), (1, 1)]
        assert find_sub_sequences(engine.fsm, b"):") == []


def walk(matcher, vocabulary, rng: random.Random, max_tokens: int = 400) -> str | None:
    """Sample uniformly from the masks (Algorithm 2) until EOS; None if that takes too long."""
    ids = []
    while len(ids) < max_tokens:
        ids.append(rng.choice(matcher.allowed_tokens()))
        assert matcher.accept_token(ids[-1])
        if matcher.is_terminated():
            return vocabulary.decode(ids).decode("utf-8")
    return None


@pytest.mark.parametrize("name", ["byte", *corpora.kinds()])
@pytest.mark.parametrize("pattern", [YES_OR_NO, YEAR, IP_ADDRESS], ids=["yes-or-no", "year", "ip-address"])
def test_masked_walks_match(pattern, name, request):
    """Every text sampled under the masks of section 3.1's expressions is matched by them."""
    vocabulary = request.getfixturevalue(f"{name}_vocabulary")
    engine = ReferenceEngine(parse_python(pattern), vocabulary)
    rng = random.Random(7)
    texts = [text for _ in range(25) if (text := walk(engine.matcher(), vocabulary, rng)) is not None]
    assert len(texts) >= 20
    assert all(re.fullmatch(pattern, text) for text in texts)
    assert len(set(texts)) > 10


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(YES_OR_NO, "Always"), (YEAR, "1952"), (IP_ADDRESS, "2.2.6.1")],
    ids=["yes-or-no", "year", "ip"],
)
def test_printed_outputs(pattern, text, byte_vocabulary):
    """The outputs that the paper prints are accepted."""
    matcher = ReferenceEngine(parse_python(pattern), byte_vocabulary).matcher()
    assert matcher.accept_bytes(text.encode())
    assert matcher.is_accepting()


def test_printed_ip_expression(byte_vocabulary):
    """The expression for IP addresses as printed does not match the output printed below it."""
    matcher = ReferenceEngine(parse_python(IP_ADDRESS_PRINTED), byte_vocabulary).matcher()
    assert not matcher.accept_bytes(b"2.2.6.1")
    assert matcher.accept_bytes(b"d2.d.1d9.255")
    assert matcher.is_accepting()
