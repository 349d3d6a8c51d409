"""The backend in SGLang's own registry, over its own base classes, without an engine. The README says how to install them.

python -m pytest integrations/sglang/tests -m engine -n 0
"""

import inspect
import json
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import schemagen

pytestmark = pytest.mark.engine

BUNDLED = Path(schemagen.__file__).parent / "lm" / "bundled"
SCHEMA = {"type": "integer", "minimum": 18, "maximum": 99}


@pytest.fixture(scope="module")
def base():
    """SGLang's module of base classes, with the plug-in registered."""
    pytest.importorskip("sglang")
    from sglang.srt.constrained import base_grammar_backend

    from schemagen_sglang.plugin import register

    register()
    register()
    return base_grammar_backend


@pytest.fixture(scope="module")
def tokenizer():
    """The tokenizer of the bundled model."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(BUNDLED)


def made(base, tokenizer, **arguments):
    """Return the backend that the registry makes."""
    options = {"reasoning_parser": None, "constrained_json_disable_any_whitespace": False, **arguments}
    create = base.GRAMMAR_BACKEND_REGISTRY["schemagen"]
    return create(SimpleNamespace(**options), tokenizer, len(tokenizer), {tokenizer.eos_token_id})


def compiled(backend, kind, text, *, reasoning=False):
    """Return the grammar of a request, as SGLang's manager gets it."""
    found, cached = backend.get_cached_or_future_value((kind, text), reasoning)
    assert isinstance(found, Future)
    assert not cached
    grammar = found.result()
    backend.set_cache((kind, text), grammar.copy())
    return grammar


def test_the_name_is_a_choice_once(base):
    """--grammar-backend schemagen is read, however often the plug-in was loaded."""
    from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES

    assert GRAMMAR_BACKEND_CHOICES.count("schemagen") == 1


def test_every_verb_has_the_parameters_of_the_base_class(base):
    """What the base class declares is there under the same names, and nothing is left unimplemented."""
    from schemagen_sglang.backend import SchemagenBackend, SchemagenGrammar

    for ours, theirs in ((SchemagenGrammar, base.BaseGrammarObject), (SchemagenBackend, base.BaseGrammarBackend)):
        for name, member in vars(theirs).items():
            if inspect.isfunction(member) and name != "__init__":
                expected = list(inspect.signature(member).parameters)
                assert list(inspect.signature(inspect.getattr_static(ours, name)).parameters) == expected, name
    for name, member in vars(base.BaseGrammarObject).items():
        if inspect.isfunction(member) and "NotImplementedError" in inspect.getsource(member):
            assert getattr(SchemagenGrammar, name) is not member, name


def test_a_batch_goes_through_the_classes_of_the_server(base, tokenizer):
    """Compile, fill by SGLang's rows, apply by SGLang's mask, accept, and take the copy from the cache."""
    backend = made(base, tokenizer)
    grammar = compiled(backend, "json", json.dumps(SCHEMA))
    mask = grammar.allocate_vocab_mask(len(tokenizer), 2, "cpu")
    grammar.fill_vocab_mask_batched([base.GrammarRow(1, grammar)], mask)
    logits = torch.zeros(2, len(tokenizer))
    base.GrammarMask(grammar, mask).apply(logits)
    assert torch.isfinite(logits[0]).all()
    allowed = {tokenizer.decode([i]) for i in torch.isfinite(logits[1]).nonzero().flatten().tolist()}
    assert "1" in allowed
    assert "a" not in allowed
    for token in [*tokenizer.encode("42", add_special_tokens=False), tokenizer.eos_token_id]:
        grammar.accept_token(token)
    assert grammar.is_terminated()
    again, cached = backend.get_cached_or_future_value(("json", json.dumps(SCHEMA)), False)
    assert cached
    assert not again.is_terminated()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", "$$ANY$$"),
        ("regex", "[a-z]+"),
        ("ebnf", 'root ::= "a" root?'),
        (
            "structural_tag",
            json.dumps({"structures": [{"begin": "<n>", "schema": SCHEMA, "end": "</n>"}], "triggers": ["<n"]}),
        ),
    ],
)
def test_each_kind_is_dispatched(base, tokenizer, kind, text):
    """By SGLang's own dispatch."""
    assert not isinstance(compiled(made(base, tokenizer), kind, text), base.InvalidGrammarObject)


@pytest.mark.parametrize(("kind", "text"), [("json", "{"), ("regex", "(a"), ("ebnf", "root ::= x")])
def test_a_bad_request_is_an_invalid_grammar(base, tokenizer, kind, text):
    """SGLang ends the request with the words of the error."""
    found = compiled(made(base, tokenizer), kind, text)
    assert isinstance(found, base.InvalidGrammarObject)
    assert "fix:" in found.error_message or "code:" in found.error_message


def test_a_tree_of_drafts_is_walked_by_the_server(base, tokenizer):
    """SGLang's own walk over a tree of drafts leaves the grammar as it was, and fills the rows that can be reached."""
    spec_utils = pytest.importorskip("sglang.srt.speculative.spec_utils")
    grammar = compiled(made(base, tokenizer), "regex", "ab?c")
    first, second, third = (tokenizer.encode(each, add_special_tokens=False)[-1] for each in ("a", "b", "c"))
    tokens = torch.tensor([0, first, second, third])
    children, siblings = torch.tensor([1, 2, -1, -1]), torch.tensor([-1, -1, 3, -1])
    mask = grammar.allocate_vocab_mask(len(tokenizer), 4, "cpu")
    spec_utils.traverse_tree(children, siblings, tokens, grammar, mask, len(tokenizer))
    before = grammar.allocate_vocab_mask(len(tokenizer), 1, "cpu")
    grammar.fill_vocab_mask(before, 0)
    assert torch.equal(mask[0], before[0])
    assert not torch.equal(mask[1], mask[0])


def test_the_grammar_begins_behind_the_thoughts(base, tokenizer):
    """With a parser of reasoning the backend is wrapped as SGLang wraps its own: rows are free until the thoughts end."""
    backend = made(base, tokenizer, reasoning_parser="deepseek-r1", enable_strict_thinking=False)
    assert type(backend).__name__ == "ReasonerGrammarBackend"
    grammar = compiled(backend, "json", json.dumps(SCHEMA), reasoning=True)
    mask = grammar.allocate_vocab_mask(len(tokenizer), 1, "cpu")
    thoughts = tokenizer.encode("hm", add_special_tokens=False)
    for token in [*thoughts, *backend.think_end_ids]:
        grammar.fill_vocab_mask(mask, 0)
        assert (mask == -1).all()
        grammar.accept_token(token)
    grammar.fill_vocab_mask(mask, 0)
    assert not (mask == -1).all()
    grammar.rollback(1)
    again = grammar.allocate_vocab_mask(len(tokenizer), 1, "cpu")
    grammar.fill_vocab_mask(again, 0)
    assert (again == -1).all()


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("reset", [True, False])
def test_tokens_are_filtered_as_the_server_does(base, tokenizer, allowed, reset):
    """The same bits as SGLang's own filter."""
    from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch

    backend = made(base, tokenizer)
    ours = torch.arange(-40, 40, dtype=torch.int32).repeat(2, 1)
    theirs = ours.clone()
    backend.set_token_filter(ours, [3, 31, 40, 63], 1, is_allowed=allowed, reset_vocab_mask=reset)
    set_token_filter_torch(theirs, [3, 31, 40, 63], 1, is_allowed=allowed, reset_vocab_mask=reset)
    assert torch.equal(ours, theirs)
