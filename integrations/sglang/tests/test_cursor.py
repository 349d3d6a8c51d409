"""The verbs of a request over a matcher: what SGLang's scheduler may ask, without SGLang."""

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import schemagen
from schemagen.errors import LimitError, SchemagenError
from schemagen_sglang.cursor import RequestGrammar
from schemagen_sglang.requests import ANY_OBJECT, compile_request

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
EOS = 256


class Entry(NamedTuple):
    """What SGLang's batched filling is given."""

    row: int
    grammar: Any


def cursor(spec):
    """Return the cursor of a request."""
    return RequestGrammar(schemagen.compile(spec, VOCABULARY))


def row_of(mask, row):
    """Return the tokens that a row allows."""
    bits = np.unpackbits(mask[row].numpy().view(np.uint8), bitorder="little")
    return np.flatnonzero(bits[: VOCABULARY.size]).tolist()


def allowed(grammar):
    """Return the tokens that a cursor allows."""
    mask = grammar.allocate_vocab_mask(VOCABULARY.size, 2, "cpu")
    grammar.fill_vocab_mask(mask, 1)
    assert (mask[0] == -1).all()
    return row_of(mask, 1)


def test_tokens_are_accepted_up_to_the_end():
    """Each mask is that of the matcher; after EOS nothing changes."""
    grammar = cursor(schemagen.Regex("ab?"))
    assert allowed(grammar) == [ord("a")]
    grammar.accept_token(ord("a"))
    assert grammar.current_token == ord("a")
    assert allowed(grammar) == [ord("b"), EOS]
    grammar.accept_token(EOS)
    assert grammar.is_terminated()
    grammar.accept_token(ord("z"))
    assert allowed(grammar) == [EOS]


def test_a_token_that_is_not_allowed_is_an_error():
    """It says why, and changes nothing."""
    grammar = cursor(schemagen.Regex("ab"))
    with pytest.raises(ValueError, match="token 122 is not allowed"):
        grammar.accept_token(ord("z"))
    assert allowed(grammar) == [ord("a")]


def test_a_tree_of_drafts_is_walked_and_left_as_it_was():
    """Depth first: accept, fill, go on, roll back by one, as trees of drafts are walked."""
    grammar = cursor({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 1})

    def walk(depth):
        here = allowed(grammar)
        for token in here if depth else []:
            grammar.accept_token(token)
            walk(depth - 1)
            grammar.rollback(1)
        assert allowed(grammar) == here

    walk(4)
    assert allowed(grammar) == [ord("[")]


def test_a_copy_begins_anew():
    """Requests of one cached grammar share nothing but the grammar."""
    grammar = cursor(schemagen.Regex("ab"))
    grammar.accept_token(ord("a"))
    other = grammar.copy()
    assert type(other) is RequestGrammar
    assert allowed(other) == [ord("a")]
    assert allowed(grammar) == [ord("b")]
    assert other.grammar is grammar.grammar


class Wrapped:
    """Stands for SGLang's wrapper of a grammar of a model that thinks."""

    def fill_vocab_mask(self, mask, row):
        mask[row] = 7


class Broken:
    """Stands for a matcher whose work a limit stops."""

    eos_token_ids = (3, 40)

    def is_terminated(self):
        return False

    def fill_next_token_bitmask(self, bitmask, row, *, budget=None):
        raise LimitError("2.0 seconds were not enough")


def test_a_batch_is_filled_at_once():
    """Rows in any order, wrapped grammars by their own verb, rows that are not named untouched."""
    first, second = cursor(schemagen.Regex("a")), cursor(schemagen.Regex("b"))
    mask = first.allocate_vocab_mask(VOCABULARY.size, 5, "cpu")
    RequestGrammar.fill_vocab_mask_batched([Entry(3, first), Entry(1, second), Entry(4, Wrapped())], mask)
    assert [row_of(mask, 3), row_of(mask, 1)] == [[ord("a")], [ord("b")]]
    assert (mask[4] == 7).all()
    assert (mask[[0, 2]] == -1).all()
    RequestGrammar.fill_vocab_mask_batched([], mask)
    RequestGrammar.reset_vocab_mask(mask)
    assert (mask == -1).all()


def test_a_limit_ends_one_text_and_not_the_batch(caplog):
    """The row of a grammar that a limit stopped is EOS alone, the others are filled."""
    good, bad = cursor(schemagen.Regex("a")), cursor(schemagen.Regex("b"))
    bad.matcher = Broken()
    mask = good.allocate_vocab_mask(VOCABULARY.size, 3, "cpu")
    RequestGrammar.fill_vocab_mask_batched([Entry(0, bad), Entry(1, good)], mask)
    assert [row_of(mask, 0), row_of(mask, 1)] == [[3, 40], [ord("a")]]
    assert "2.0 seconds were not enough" in caplog.text


def test_logits_are_masked():
    """Tokens that are not allowed get -inf."""
    grammar = cursor(schemagen.Regex("a"))
    mask = grammar.allocate_vocab_mask(VOCABULARY.size, 1, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    logits = torch.zeros(1, VOCABULARY.size)
    grammar.apply_vocab_mask(logits, grammar.move_vocab_mask(mask, "cpu"))
    assert torch.isfinite(logits).nonzero().tolist() == [[0, ord("a")]]


def test_text_without_a_choice_is_jumped_over():
    """It comes as text; where there is a choice, at the end and inside a character, there is none."""
    grammar = cursor(schemagen.Regex("key=[0-9]é"))
    assert grammar.try_jump_forward(None) == ([], "key=")
    assert grammar.jump_forward_str_state(([], "key=")) == ("key=", -1)
    for token in b"key=":
        grammar.accept_token(token)
    assert grammar.try_jump_forward(None) is None
    grammar.accept_token(ord("7"))
    assert grammar.try_jump_forward(None) == ([], "é")
    for token in [*"é".encode(), EOS]:
        grammar.accept_token(token)
    assert grammar.try_jump_forward(None) is None


def test_a_jump_may_change_the_tokens_before_it():
    """The tokens that differ are rolled back and read anew; tokens of another text are an error."""
    vocabulary = schemagen.Vocabulary.from_tokens(["a", "b", "c", "ab", "bc", None], eos_token_ids=5)
    grammar = RequestGrammar(schemagen.compile(schemagen.Regex("abc"), vocabulary))
    grammar.accept_token(0)
    grammar.jump_and_retokenize([0], [3, 2], -1)
    assert grammar.matcher.is_accepting()
    grammar.jump_and_retokenize([3, 2], [0, 4], -1)
    assert grammar.matcher.is_accepting()
    with pytest.raises(ValueError, match="not allowed"):
        grammar.jump_and_retokenize([0, 4], [0, 2], -1)


@pytest.mark.parametrize(
    ("kind", "text", "good", "bad"),
    [
        ("json", '{"type": "integer", "minimum": 3}', "3", "2"),
        ("json", ANY_OBJECT, '{"a": [1]}', "[1]"),
        ("regex", "[a-c]+", "abc", "abd"),
        ("ebnf", 'root ::= "(" root? ")"', "(())", "(()"),
        ("full_assistant_ebnf", 'root ::= "a"', "a", "b"),
        (
            "structural_tag",
            '{"format": {"type": "tag", "begin": "<", "content": {"type": "regex", "pattern": "[0-9]"}, "end": ">"}}',
            "<1>",
            "<a>",
        ),
    ],
)
def test_a_request_means_what_it_says(kind, text, good, bad):
    """Its grammar takes the one text and not the other."""
    grammar = compile_request(kind, text, VOCABULARY)
    for sample, expected in ((good, True), (bad, False)):
        matcher = grammar.matcher()
        assert (matcher.accept_bytes(sample.encode()) and matcher.is_accepting()) is expected


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [("json", "{", "is not JSON"), ("regex", "(a", "never closed"), ("ebnf", "root ::= x", "'x' is not defined")],
)
def test_a_bad_request_is_an_error(kind, text, words):
    """Of schemagen, with the place."""
    with pytest.raises(SchemagenError, match=words):
        compile_request(kind, text, VOCABULARY)
