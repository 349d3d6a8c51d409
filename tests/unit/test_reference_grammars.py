"""`schemagen.reference` reads recursive grammars: masks, ends, completions and budgets are those of the compiled core."""

import pytest

import schemagen
from schemagen import EBNF, GBNF, Vocabulary, reference
from schemagen.context_free.syntax import ContextFreeGrammar, Lexeme, Rule, Terminal, alternatives, sequence
from schemagen.engine.native.context_free import compile_context_free
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.errors import MatcherTerminatedError, UnsatisfiableSchemaError, UnsupportedGrammarError
from schemagen.reference.context_free import ContextFreeEngine
from schemagen.regex import parse_python
from schemagen.testing import brute_force_mask, mask_of
from tests.grammars import BYTES, ENGINES, PIECES, compiled_by

ARITHMETIC = GBNF('root ::= root [-+] term | term\nterm ::= "(" root ")" | [1-9] [0-9]* | "0"')
JSON = EBNF(
    'root ::= "{" (pair ("," pair)*)? "}" | "[" (root ("," root)*)? "]" | "1" | "\\"" [^"]* "\\""\n'
    'pair ::= "\\"" [^"]* "\\":" root'
)
PALINDROMES = GBNF('root ::= "a" root "a" | "b" root "b" | [ab]?')
CASES = [
    (ARITHMETIC, ["1", "(1+", "((", "10-(0)", ""]),
    (JSON, ["", "[", '{"é', '{"a":[1,', "[[]", '{"":1}']),
    (PALINDROMES, ["", "a", "abba", "abab"]),
]


@pytest.mark.parametrize(("spec", "texts"), CASES, ids=["left-recursion", "json", "ambiguous"])
def test_it_agrees_with_the_core(spec, texts):
    """Masks over tokens that end anywhere, ends, completions and what a budget leaves."""
    grammars = [compiled_by(engine, spec, PIECES) for engine in ENGINES]
    for text in texts:
        native, slow = (grammar.matcher() for grammar in grammars)
        assert native.accept_bytes(text.encode())
        assert slow.accept_bytes(text.encode())
        assert mask_of(slow, PIECES) == mask_of(native, PIECES)
        assert slow.is_accepting() == native.is_accepting()
        assert slow.shortest_completion() == native.shortest_completion()
        assert slow.tokens_to_finish() == native.tokens_to_finish()
    few = [mask_of(grammar.matcher(), PIECES, budget=2) for grammar in grammars]
    assert few[0] == few[1]


def test_it_is_a_matcher_like_any_other():
    """Rollback, forks, refused texts and the end."""
    matcher = reference.engine(ARITHMETIC, BYTES).matcher()
    assert matcher.accept_bytes(b"(1")
    fork = matcher.fork()
    assert not matcher.accept_bytes(b"))")
    assert matcher.accept_bytes(b")")
    assert matcher.is_accepting()
    assert not fork.is_accepting()
    matcher.rollback()
    assert mask_of(matcher, BYTES) == mask_of(fork, BYTES) == brute_force_mask(matcher, BYTES)
    assert "')'" in matcher.explain(ord("("))
    assert matcher.accept_bytes(b")")
    assert matcher.accept_token(BYTES.eos_token_ids[0])
    with pytest.raises(MatcherTerminatedError):
        matcher.allowed_tokens()


def test_a_mask_can_be_drawn_and_explained():
    """Of a recursive grammar, too; an automaton cannot."""
    grammar = schemagen.compile(ARITHMETIC, BYTES)
    assert grammar.draw("mask", after="(1").caption
    with pytest.raises(UnsupportedGrammarError, match="is no regular expression"):
        grammar.draw("automaton")


def test_ignored_terminals():
    """They stand before, between and behind others, and the frame stays."""
    plus, number = map(Terminal, ("+", "number"))
    grammar = ContextFreeGrammar(
        "S",
        {"S": alternatives(number, sequence(Rule("S"), plus, number))},
        {
            "+": (Lexeme(parse_python(r"\+")),),
            "number": (Lexeme(parse_python("[0-9]+")),),
            "blank": (Lexeme(parse_python(" +")),),
        },
        ignored=frozenset(["blank"]),
    )
    tokens = ["1", "12", "+", " ", " +", "+ 1 ", "1 1", None]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_ids=[7])
    native = compile_context_free(grammar, vocabulary, Options(limits=DEFAULT_LIMITS))
    slow = ContextFreeEngine(grammar, vocabulary)
    for text in ("", " ", "1", " 1 ", "1 + ", "1+1"):
        theirs, ours = native.matcher(), slow.matcher()
        assert theirs.accept_bytes(text.encode())
        assert ours.accept_bytes(text.encode())
        assert set(ours.allowed_tokens()) == set(theirs.allowed_tokens())
        assert ours.shortest_completion() == theirs.shortest_completion()


def test_a_vocabulary_without_some_bytes():
    """The shortest completion is one that tokens can spell."""
    vocabulary = Vocabulary.from_tokens(["(", ")", "y", None], eos_token_ids=[3])
    spec = GBNF('root ::= "(" root ")" | "x" | "yy"')
    matcher = reference.engine(spec, vocabulary).matcher()
    assert matcher.accept_bytes(b"(")
    assert matcher.shortest_completion() == b"yy)"
    assert matcher.accept_bytes(b"x")
    assert matcher.shortest_completion() == b")"


def test_a_grammar_without_texts():
    """It is refused when it is compiled."""
    with pytest.raises(UnsatisfiableSchemaError, match="no text can be derived"):
        reference.engine(GBNF('root ::= "a" root'), BYTES)


def test_a_lexer_is_refused():
    """Where a terminal ends may depend on all that follows."""
    name = parse_python("[a-z]+")
    grammar = ContextFreeGrammar("S", {"S": Terminal("name")}, {"name": (Lexeme(name, longer=name),)})
    with pytest.raises(UnsupportedGrammarError, match="ends where a lexer says"):
        ContextFreeEngine(grammar, BYTES)
