"""The verbs of a request over a matcher: what vLLM's scheduler may ask in any order, without vLLM."""

from types import SimpleNamespace

import numpy as np
import pytest

import schemagen
from schemagen.errors import BudgetError, LimitError
from schemagen_vllm.budget import budget_of, check_budget
from schemagen_vllm.cursor import BitmaskView, RequestGrammar
from schemagen_vllm.vocabularies import MOST, Vocabularies

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
EOS = 256


def cursor(spec, vocabulary=VOCABULARY):
    """Return the cursor of a request."""
    return RequestGrammar(schemagen.compile(spec, vocabulary), BitmaskView())


def allowed(grammar, vocabulary=VOCABULARY):
    """Return the tokens of the row that a cursor writes; the rows beside it are not touched."""
    bitmask = schemagen.allocate_token_bitmask(3, vocabulary.size)
    grammar.fill_bitmask(bitmask, 1)
    assert (bitmask[0] == -1).all()
    assert (bitmask[2] == -1).all()
    bits = np.unpackbits(bitmask[1].numpy().view(np.uint8), bitorder="little")
    return np.flatnonzero(bits[: vocabulary.size]).tolist()


def test_a_row_is_the_mask_of_the_matcher():
    """The row has the tokens that the grammar allows, from the start to EOS."""
    grammar = cursor(schemagen.Regex("ab?"))
    for token, tokens in ((ord("a"), [ord("a")]), (ord("b"), [ord("b"), EOS]), (EOS, [EOS])):
        assert allowed(grammar) == tokens
        assert grammar.accept_tokens("request", [token])
    assert grammar.is_terminated()


def test_tokens_behind_the_end_are_not_looked_at():
    """vLLM hands over whole blocks: tokens after EOS are accepted and change nothing, and the row is EOS alone."""
    grammar = cursor(schemagen.Regex("a"))
    assert grammar.accept_tokens("request", [ord("a"), EOS, ord("z"), 7])
    assert grammar.is_terminated()
    assert grammar.accept_tokens("request", [ord("z")])
    assert allowed(grammar) == [EOS]
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert allowed(grammar) == [EOS]


@pytest.mark.parametrize("wrong", [ord("z"), -1, 100_000])
def test_a_refused_block_changes_nothing(wrong):
    """One token that is not allowed refuses the block, and the cursor stands where it stood."""
    grammar = cursor(schemagen.Regex("abc"))
    assert grammar.accept_tokens("request", [ord("a")])
    assert not grammar.accept_tokens("request", [ord("b"), wrong])
    assert allowed(grammar) == [ord("b")]


@pytest.mark.parametrize(
    ("draft", "taken"),
    [("bc", "bc"), ("bz", "b"), ("z", ""), ("bcd", "bc"), ("", "")],
)
def test_a_draft_is_cut_where_it_leaves_the_grammar(draft, taken):
    """The prefix that is allowed is returned, and the cursor is where it was."""
    grammar = cursor(schemagen.Regex("abc"))
    grammar.accept_tokens("request", [ord("a")])
    assert bytes(grammar.validate_tokens([*draft.encode()])).decode() == taken
    assert allowed(grammar) == [ord("b")]


def test_a_draft_ends_with_the_text():
    """EOS is a part of the draft, the tokens after it are not; nor is padding."""
    grammar = cursor(schemagen.Regex("ab"))
    assert grammar.validate_tokens([ord("a"), ord("b"), EOS, EOS]) == [ord("a"), ord("b"), EOS]
    assert grammar.validate_tokens([ord("a"), -1, ord("b")]) == [ord("a")]
    grammar.accept_tokens("request", [ord("a"), ord("b"), EOS])
    assert grammar.validate_tokens([EOS]) == []


def test_speculation_fills_accepts_and_rolls_back():
    """What a step with drafts does: a row for each draft, then all of it undone."""
    grammar = cursor({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True})
    rows = []
    for token in b"[1":
        rows.append(allowed(grammar))
        assert grammar.accept_tokens("request", [token])
    inside = allowed(grammar)
    grammar.rollback(2)
    assert [allowed(grammar), rows[0]] == [rows[0], [ord("[")]]
    assert grammar.accept_tokens("request", [*b"[1"])
    assert allowed(grammar) == inside
    grammar.reset()
    assert allowed(grammar) == rows[0]


class Broken:
    """Stands for a matcher whose work a limit stops."""

    eos_token_ids = (3, 40)

    def is_terminated(self):
        return False

    def fill_next_token_bitmask(self, bitmask, row, *, budget=None):
        raise LimitError("2.0 seconds were not enough")

    def accept_token(self, token):
        raise LimitError("2.0 seconds were not enough")

    def fork(self):
        return self


@pytest.mark.parametrize("first", ["fill", "accept", "validate"])
def test_a_limit_ends_one_request_and_not_the_engine(first, caplog):
    """No verb raises; afterwards the row is EOS alone and no token is accepted, which vLLM reports for this request."""
    grammar = RequestGrammar(SimpleNamespace(matcher=Broken), BitmaskView())
    if first == "accept":
        assert not grammar.accept_tokens("request-7", [5])
        assert "request-7" in caplog.text
    if first == "validate":
        assert grammar.validate_tokens([5]) == []
    assert allowed(grammar) == [3, 40]
    assert grammar.validate_tokens([3]) == []
    assert not grammar.accept_tokens("request-7", [3])
    assert "2.0 seconds were not enough" in caplog.text


class Request:
    """What a budget reads of vLLM's ``Request``."""

    def __init__(self, max_tokens, prompt=10):
        self.max_tokens, self.prompt, self.written = max_tokens, prompt, 0

    @property
    def num_output_tokens(self):
        return self.written

    @property
    def num_tokens(self):
        return self.prompt + self.written


def engine(speculative=None, length=1000):
    """Return what a budget reads of a ``VllmConfig``."""
    return SimpleNamespace(speculative_config=speculative, model_config=SimpleNamespace(max_model_len=length))


@pytest.mark.parametrize(
    ("max_tokens", "prompt", "written", "length", "left"),
    [(20, 10, 0, 1000, 20), (20, 10, 5, 1000, 15), (500, 90, 0, 100, 10), (500, 90, 4, 100, 6), (5, 10, 9, 1000, 0)],
)
def test_what_is_left_is_counted_from_the_request(max_tokens, prompt, written, length, left):
    """max_tokens and the length of the context bound a text, less the written tokens, thoughts included; never below 0."""
    request = Request(max_tokens, prompt)
    budget = budget_of(request, engine(length=length))
    request.written = written
    assert budget() == left
    del request
    assert budget() is None


@pytest.mark.parametrize(("request_", "config"), [(Request(20), engine(object())), (Request(None), engine())])
def test_no_budget_under_speculation_or_without_a_bound(request_, config):
    """Nothing is promised there, so nothing is kept."""
    assert budget_of(request_, config) is None


@pytest.mark.parametrize("thoughts", [0, 7])
def test_a_text_ends_within_its_budget(thoughts):
    """With exactly the tokens of the shortest text, after thoughts of any length, every walk ends whole."""
    grammar = schemagen.compile({"type": "array", "items": {"type": "string"}, "minItems": 2}, VOCABULARY)
    least = grammar.min_new_tokens
    request = Request(least + thoughts)
    request.written = thoughts
    made = RequestGrammar(grammar, BitmaskView())
    made.limit(budget_of(request, engine()))
    text = bytearray()
    while not made.is_terminated() and request.num_output_tokens < request.max_tokens:
        token = allowed(made)[-1]
        assert made.accept_tokens("request", [token])
        request.written += 1
        if token != EOS:
            text.append(token)
    assert len(grammar.validate(text.decode())) == 2


def test_stop_tokens_of_a_request_end_a_text(bundled):
    """They are EOS ids beside the tokenizer's own, made once for each set, and the last sets are kept."""
    vocabularies = Vocabularies(bundled, len(bundled))
    plain = vocabularies.of(None)
    assert vocabularies.of(plain.eos_token_ids) is plain
    assert vocabularies.of([-1, 10**6]) is plain
    stop = next(i for i, token in enumerate(plain.tokens) if token == b"}")
    more = vocabularies.of([stop, *plain.eos_token_ids])
    assert more.eos_token_ids == tuple(sorted({stop, *plain.eos_token_ids}))
    assert more.tokens[stop] == b""
    assert vocabularies.of({stop}) is more
    grammar = RequestGrammar(schemagen.compile(schemagen.Choice(["a"]), more), BitmaskView())
    assert grammar.accept_tokens("request", [plain.tokens.index(b"a")])
    assert allowed(grammar, more) == [*more.eos_token_ids]
    assert grammar.accept_tokens("request", [stop])
    assert grammar.is_terminated()
    for other in range(300, 300 + MOST):
        vocabularies.of([other])
    assert vocabularies.of([stop]) is not more


def test_a_bound_below_the_shortest_text_is_refused():
    """The error says how many tokens it takes; without a bound, or with just these, nothing is refused."""
    grammar = schemagen.compile(schemagen.Regex("[0-9]{40}"), VOCABULARY)
    for enough in (None, 40, 500):
        check_budget(grammar, enough)
    with pytest.raises(BudgetError, match="shortest text takes 40"):
        check_budget(grammar, 39)
