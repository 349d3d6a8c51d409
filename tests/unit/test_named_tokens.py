"""Tokens that grammars name: in each notation, EOS among them, by each engine, and what cannot be."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import pytest

import schemagen
from schemagen import EBNF, GBNF, Lark, Vocabulary
from schemagen.context_free.syntax import Token, tokens_in
from schemagen.errors import GrammarSyntaxError, UnsupportedGrammarError
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.prompts.healing import after_text
from schemagen.prompts.reasoning_grammar import ReasoningFormat
from schemagen.testing import brute_force_mask, check_masks, mask_of
from schemagen.vocabulary.adapters import special_tokens
from tests.grammars import ENGINES, compiled_by

#: Ids 0 to 255 are bytes; then tokens by name.
NAMES = {256: "<|eos|>", 257: "<|eom|>", 258: "<|x|>", 259: "<|y|>", 260: "<tool>", 261: "<|same|>", 262: "<|same|>"}
EOS, EOM, X, Y, TOOL, HOLE = 256, 257, 258, 259, 260, 263
VOCABULARY = Vocabulary.from_tokens(
    [*(bytes([byte]) for byte in range(256)), None, None, None, None, "<tool>", None, None, None],
    eos_token_ids=[EOS, EOM],
    special_token_ids=[X, Y, 261, 262],
    token_names=NAMES,
)


def compiled(spec: Any, engine: Any = "native", vocabulary: Vocabulary = VOCABULARY) -> Any:
    """Return a fresh grammar."""
    return compiled_by(engine, spec, vocabulary)


def reads(grammar: Any, *steps: bytes | int) -> bool:
    """Whether texts and tokens one after the other are a whole text."""
    matcher = grammar.matcher()
    taken = all(matcher.accept_token(s) if isinstance(s, int) else matcher.accept_bytes(s) for s in steps)
    return taken and matcher.is_accepting()


NOTATIONS = [
    EBNF('root ::= "a" Token("<|x|>", 259) "b"'),
    GBNF('root ::= "a" (<|x|> | <[259]>) "b"'),
    Lark('start: "a" (<|x|> | <[259]>) "b"', dialect="llguidance"),
    Lark('start: "a" <[258-259]> "b"', dialect="llguidance"),
    Lark('start: "a" x "b"\nx: <[258,259]>', dialect="xgrammar"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("spec", NOTATIONS, ids=repr)
def test_a_token_is_itself_and_not_its_text(spec: Any, engine: str) -> None:
    """In each notation, by name and by id."""
    grammar = compiled(spec, engine)
    assert reads(grammar, b"a", X, b"b")
    assert reads(grammar, b"a", Y, b"b")
    assert not reads(grammar, b"a<|x|>b")
    assert not reads(grammar, b"ab")
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b"a")
    assert mask_of(matcher, VOCABULARY) == {X, Y}
    assert matcher.tokens_to_finish() == 2
    assert matcher.shortest_completion() == b"b"
    check_masks(grammar, walks=2)


@pytest.mark.parametrize("engine", ENGINES)
def test_tokens_with_bytes_that_no_text_has(engine: str) -> None:
    """The byte tokens 0xC0, 0xC1 and from 0xF5 on are never taken for the beginning of a named token."""
    grammar = compiled(EBNF('root ::= [^a]* Token("<|x|>") [^a]*'), engine)
    matcher = grammar.matcher()
    for byte in (0xC0, 0xC1, *range(0xF5, 0x100)):
        assert not matcher.accept_bytes(bytes([byte]))
        assert not matcher.accept_token(byte)
        assert byte not in mask_of(matcher, VOCABULARY)
    assert mask_of(matcher, VOCABULARY) & set(NAMES) == {X, TOOL}


def test_negations_and_values_hold_no_named_token() -> None:
    """What any text is allowed in, such as a complement or a string of JSON, has no room for it."""
    grammar = compiled(Lark('start: T <|x|> %json {"type": "string"}\nT: ~/a/', dialect="xgrammar"))
    matcher = grammar.matcher()
    assert mask_of(matcher, VOCABULARY) & set(NAMES) == {X, TOOL}
    assert matcher.accept_token(X)
    assert matcher.accept_bytes(b'"b')
    assert mask_of(matcher, VOCABULARY) & set(NAMES) == {TOOL}
    assert not matcher.accept_token(X)
    assert matcher.accept_bytes(b'"')
    assert mask_of(matcher, VOCABULARY) == {EOS, EOM}


def test_a_token_of_text_that_is_named_is_no_text() -> None:
    """An added token that is not special stands for itself where a grammar names it; its text is written with others."""
    free = "root ::= [^|]* "
    plain, named = compiled(EBNF(free)), compiled(EBNF(f'{free} Token("<tool>") "!"'))
    assert TOOL in mask_of(plain.matcher(), VOCABULARY)
    assert not plain.names_tokens
    assert reads(named, b"<tool>", TOOL, b"!")
    assert not reads(named, TOOL, TOOL, b"!")
    assert not reads(named, b"<tool>!")


def test_a_name_of_two_tokens_is_either() -> None:
    """Names need not be unique."""
    grammar = compiled(GBNF("root ::= <|same|>"))
    assert mask_of(grammar.matcher(), VOCABULARY) == {261, 262}


# --- EOS -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_an_eos_id_that_is_named_ends_the_text(engine: str) -> None:
    """Only that one is allowed there, and nothing follows."""
    grammar = compiled(GBNF('root ::= "a" (<|x|> <|eom|> | "b")'), engine)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b"a")
    assert not matcher.accept_token(EOM)
    assert matcher.accept_token(X)
    assert mask_of(matcher, VOCABULARY) == {EOM}
    assert matcher.forced_tokens() == []
    assert not matcher.accept_token(EOS)
    assert matcher.accept_token(EOM)
    assert matcher.is_accepting()
    assert matcher.is_terminated()
    matcher.rollback(2)
    assert not matcher.is_terminated()
    assert matcher.accept_bytes(b"b")
    assert mask_of(matcher, VOCABULARY) == {EOS, EOM}
    assert matcher.accept_token(EOM)
    assert matcher.is_terminated()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_eos_id_that_may_be_there_or_not(engine: str) -> None:
    """The text may end before it, and with it."""
    matcher = compiled(GBNF('root ::= "a" <|eos|>?'), engine).matcher()
    assert matcher.accept_bytes(b"a")
    assert mask_of(matcher, VOCABULARY) == {EOS, EOM}
    assert matcher.accept_token(EOS)
    assert matcher.is_terminated()


@pytest.mark.parametrize("engine", ENGINES)
def test_an_eos_id_within_the_text(engine: str) -> None:
    """As the grammar has it: a decoding loop stops there, one's own may go on."""
    grammar = compiled(GBNF('root ::= "a" <|eom|> "b"'), engine)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b"a")
    assert matcher.accept_token(EOM)
    assert not matcher.is_terminated()
    assert not matcher.is_accepting()
    assert reads(grammar, b"a", EOM, b"b")


def test_the_table_of_a_device_ends_with_a_named_eos() -> None:
    """Its class leads to the end wherever the mask has it."""
    table = compiled(GBNF('root ::= "a" <|eom|>')).token_table
    assert table is not None
    while table.expand(100):
        pass
    plain = compiled(GBNF('root ::= "a"')).token_table
    assert plain is not None
    while plain.expand(100):
        pass
    matcher = compiled(GBNF('root ::= "a" <|eom|>')).matcher()
    assert matcher.accept_bytes(b"a")
    rows = table.transitions(list(range(len(table))))
    columns = table.classes()
    over = plain.transitions(list(range(len(plain))))[-1][plain.classes()[EOS]]
    assert over in {row[columns[EOM]] for row in rows}


# --- what matchers tell ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_forced_tokens_are_tokens(engine: str) -> None:
    """What follows without a choice, special tokens among it."""
    matcher = compiled(EBNF('root ::= "a" Token("<|x|>") "b" Token("<|y|>") [cd]'), engine).matcher()
    assert matcher.forced_tokens() == [ord("a"), X, ord("b"), Y]
    if engine == "native":
        assert matcher.forced_run() == [ord("a"), X, ord("b"), Y]  # type: ignore[attr-defined]


@pytest.mark.parametrize("engine", ENGINES)
def test_explanations_name_no_bytes(engine: str) -> None:
    """A token that is named has none."""
    matcher = compiled(EBNF('root ::= "a" | Token("<|x|>")'), engine).matcher()
    assert matcher.explain(X) == f"token {X} is allowed: the grammar names it here"
    said = matcher.explain(Y)
    assert said.startswith(f"token {Y} is not allowed: ")
    assert "0x" not in said
    assert "\\x" not in said


def test_many_named_tokens() -> None:
    """More than there are bytes that no text has: the mark of a token takes several."""
    ids = range(256, 256 + 200)
    vocabulary = Vocabulary.from_tokens(
        [*(bytes([byte]) for byte in range(256)), *[None] * 200],
        eos_token_ids=[256],
        special_token_ids=list(ids),
        token_names={each: f"<|{each}|>" for each in ids},
    )
    grammar = compiled(
        Lark("start: (<[257-300]> /[a-z]/)* <|400|> <|401|>", dialect="llguidance"), "native", vocabulary
    )
    matcher = grammar.matcher()
    assert mask_of(matcher, vocabulary) == {*range(257, 301), 400}
    assert grammar.min_new_tokens == 2
    assert grammar.least_new_tokens <= 2
    assert mask_of(matcher, vocabulary, budget=2) == {400}
    check_masks(grammar, walks=3)


def test_the_longest_match_ends_at_a_token() -> None:
    """No terminal competes with one, and what is ignored stands around it."""
    grammar = compiled(Lark('start: (NAME | <|x|> "b")* \nNAME: /[a-z]+/\n%ignore / +/', dialect="llguidance"))
    assert reads(grammar, b"abc", X, b"b", X, b" b")
    assert reads(grammar, b"abc ", X, b"  b c")
    assert not reads(grammar, X, b"abc", X)
    check_masks(grammar, walks=3)


def test_a_lazy_rule_of_xgrammar_ends_at_a_token() -> None:
    """Any text and the first such token; llguidance has no tokens in what it reads as a terminal."""
    text = 'start: tool* TEXT\ntool: head /[0-9]+/ "."\nhead[lazy]: TEXT <|x|>\nTEXT: /(.|\\n)*/'
    grammar = compiled(Lark(text, dialect="xgrammar"))
    assert reads(grammar, b"ab\n")
    assert reads(grammar, X, b"1.")
    assert reads(grammar, b"a", X, b"1.b", X, b"23.c")
    assert not reads(grammar, b"a", X, b"b")
    assert not reads(grammar, b"a", X, X, b"1.")
    check_masks(grammar, walks=3)
    with pytest.raises(GrammarSyntaxError, match="a token in a terminal, or in a rule that is one"):
        compiled(Lark(text, dialect="llguidance"))
    with pytest.raises(GrammarSyntaxError, match="%json in a terminal, or in a rule that is one"):
        compiled(Lark("start[lazy]: %json true <|x|>", dialect="xgrammar"))


ANY_BUT = [
    EBNF("root ::= ExcludeToken(97, 258)+ Token(258)"),
    GBNF("root ::= !<[97]>+ <|x|>"),
]


@pytest.mark.parametrize("spec", ANY_BUT, ids=repr)
def test_any_token_but_some_is_one_of_text(spec: Any) -> None:
    """Special tokens come where they are named, and a token of text is counted as a whole."""
    grammar = compiled(spec)
    assert reads(grammar, *b"b", X)
    assert reads(grammar, *b"bcd", TOOL, *b"(", X)
    assert not reads(grammar, X)
    assert not reads(grammar, *b"ba", X)
    assert not reads(grammar, Y, X)
    matcher = grammar.matcher()
    assert mask_of(matcher, VOCABULARY) == {*range(128), TOOL} - {97}
    check_masks(grammar, walks=3)


def test_tokens_hand_over_to_rules() -> None:
    """Any text, and a rule behind each token that is named; no text holds one of them."""
    spec = EBNF('root ::= TokenTagDispatch((258, t), ("<tool>", u), excludes=(259,))\nt ::= "1" | "(" t ")"\nu ::= "2"')
    grammar = compiled(spec)
    assert reads(grammar, b"any\n")
    assert reads(grammar, b"a", X, b"((1))b", TOOL, b"2", X, b"1")
    assert not reads(grammar, X, b"2")
    assert not reads(grammar, b"a", TOOL)
    assert not reads(grammar, Y)
    check_masks(grammar, walks=3)
    once = compiled(EBNF('root ::= TokenTagDispatch((258, t), loop_after_dispatch=false) "."\nt ::= "1"'))
    assert reads(once, b"a.")
    assert reads(once, b"a.b", X, b"1.")
    assert not reads(once, X, b"1a.")


def test_recursion_over_tokens() -> None:
    """Rules call themselves between tokens; both engines agree."""
    spec = EBNF('root ::= Token("<|x|>") root Token("<|y|>") | "a" root?')
    for engine in ENGINES:
        grammar = compiled(spec, engine)
        assert reads(grammar, X, b"a", X, b"aa", Y, Y) == reads(grammar, X, X, b"a", Y, Y) is True
        assert not reads(grammar, X, X, b"a", Y)
    one, other = (compiled(spec, engine).matcher() for engine in ENGINES)
    for token in (X, X, ord("a"), X, ord("a"), Y, Y):
        assert mask_of(one, VOCABULARY) == mask_of(other, VOCABULARY)
        assert one.accept_token(token)
        assert other.accept_token(token)


def test_the_text_is_without_them() -> None:
    """As with skip_special_tokens of a tokenizer: special tokens are no text, added ones that are not special are."""
    grammar = compiled(EBNF('root ::= Token("<|x|>") "a" Token("<tool>") "b"'))
    assert VOCABULARY.decode([X, ord("a"), TOOL, ord("b")]) == b"a<tool>b"
    assert grammar.validate("a<tool>b") == "a<tool>b"


def test_special_and_ordinary_tokens_beside_each_other() -> None:
    """By their ids: each is the token and not its text, in any order."""
    grammar = compiled(Lark('start: "a" <[97-98,258,260]> "b"', dialect="xgrammar"), "native")
    assert all(reads(grammar, 97, each, 98) for each in (97, 98, X, TOOL))
    assert not any(reads(grammar, 97, each, 98) for each in (99, Y))
    matcher = grammar.matcher()
    assert matcher.accept_token(97)
    assert mask_of(matcher, VOCABULARY) == {97, 98, X, TOOL}


@pytest.mark.parametrize(
    "text",
    [
        'start: "x" <[1]> "x"',
        'start: <[0]>+ "y"',
        'start: "x"? <[^1-2,5]>{1,2} ">"',
        'start: (<[4]> | "x") ("y" | <[5]>)',
        "start: /[xy]>/ <[0,4]>",
        'start: a <[0]>\na: "x" | "y" "x"',
        'start: <[0,2]> "x"',
    ],
)
def test_tokens_by_id_as_xgrammar_reads_them(text: str) -> None:
    """All short sequences of tokens."""
    xgrammar = pytest.importorskip("xgrammar")
    info = xgrammar.TokenizerInfo(
        ["x", "y", "<t>", "</s>", "xx", ">"], vocab_type=xgrammar.VocabType.RAW, vocab_size=6, stop_token_ids=[3]
    )
    vocabulary = Vocabulary.from_tokens(
        ["x", "y", None, None, "xx", ">"], eos_token_ids=[3], special_token_ids=[2], token_names={2: "<t>"}
    )
    grammar = compiled(Lark(text, dialect="xgrammar"), "native", vocabulary)
    peer = xgrammar.GrammarCompiler(info).compile_grammar(xgrammar.Grammar.from_lark(text))
    for ids in itertools.chain.from_iterable(itertools.product([0, 1, 2, 4, 5], repeat=length) for length in range(5)):
        matcher = xgrammar.GrammarMatcher(peer)
        assert reads(grammar, *ids) == all(map(matcher.accept_token, [*ids, 3])), ids


def test_pictures_of_masks_have_their_names() -> None:
    """A small vocabulary is drawn token by token, a large one by kinds."""
    drawn = compiled(EBNF('root ::= Token("<|x|>") | Token("<|y|>") | "a"')).draw("mask")
    assert "tokens that are named\n<|x|>  <|y|>" in [node.label for node in drawn.nodes]
    small = Vocabulary.from_tokens(
        ["a", None, None], eos_token_ids=[1], special_token_ids=[2], token_names={2: "<|x|>"}
    )
    drawn = compiled(EBNF('root ::= Token("<|x|>") | "a"'), "native", small).draw("mask")
    assert [node.label for node in drawn.nodes] == ["the start", "a", "the end of the text", "<|x|>"]


def test_grammars_are_remembered_and_pickled() -> None:
    """A copy allows the same tokens."""
    spec = EBNF('root ::= Token("<|x|>") "a"')
    grammar = schemagen.compile(spec, VOCABULARY)
    assert schemagen.compile(spec, VOCABULARY) is grammar
    assert grammar.vocabulary is VOCABULARY
    assert mask_of(pickle.loads(pickle.dumps(grammar)).matcher(), VOCABULARY) == {X}  # noqa: S301 - its own


def test_grammars_without_named_tokens_share_the_tables_of_the_vocabulary() -> None:
    """Nothing is made for them; those that name tokens share others."""
    vocabulary = Vocabulary.from_tokens(list(VOCABULARY.tokens), eos_token_ids=[EOS], token_names={X: "<|x|>"})
    compiled(EBNF('root ::= "a"+'), "native", vocabulary)
    assert "_marked" not in vocabulary.__dict__
    compiled(EBNF('root ::= "a"+ Token("<|x|>")'), "native", vocabulary)
    compiled(EBNF('root ::= "b"+ Token(258)'), "native", vocabulary)
    assert len(vocabulary.__dict__["_marked"]) == 1


# --- what cannot be --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "place", "fact", "more"),
    [
        (
            Lark("start: /a/\n  | <|z|>", dialect="xgrammar"),
            (2, 5),
            "no special or added token <|z|>",
            "<|y|> or <|x|>",
        ),
        (EBNF('root ::= Token("tool")'), (1, 10), "no special or added token tool", "did you mean <tool>"),
        (EBNF('root ::= Token("a")'), (1, 10), "no special or added token a", "name one of those"),
        (EBNF("root ::= Token(255)"), (1, 10), "the token id 255 is a part of a character: b'\\xff'", "as a literal"),
        (EBNF("root ::= TokenTagDispatch((97, a))\na ::= [0-9]"), (1, 10), "is an ordinary token, with the text b'a'", "write text as a literal"),
        (EBNF(f"root ::= Token({HOLE})"), (1, 10), "is no token of the tokenizer", ""),
        (EBNF("root ::= Token(264)"), (1, 10), "is outside the vocabulary of 264 ids", ""),
        (Lark("start: a\na[lazy]: /a*/ <[97]>", dialect="xgrammar"), (2, 15), "is an ordinary token, with the text b'a'", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("engine", ENGINES)
def test_tokens_that_the_vocabulary_does_not_have(
    spec: Any, place: tuple[int, int], fact: str, more: str, engine: str
) -> None:
    """The error names the place, and what there is instead."""
    if engine == "reference" and "a part of a character" in fact:
        pytest.skip("the reference counts no tokens")
    with pytest.raises(UnsupportedGrammarError) as caught:
        compiled(spec, engine)
    assert fact in caught.value.fact
    assert (caught.value.line, caught.value.column) == place
    assert more in str(caught.value)


def test_a_vocabulary_without_names() -> None:
    """It says how it gets some."""
    with pytest.raises(UnsupportedGrammarError, match="give it token_names"):
        compiled(GBNF("root ::= <|x|>"), "native", Vocabulary.byte_vocabulary())


@pytest.mark.parametrize("spec", [EBNF('root ::= Token("<|x|>")'), Lark("start: /a/ <|x|>", dialect="llguidance")])
def test_no_regular_expression_has_a_token(spec: Any) -> None:
    """Nor a picture of its automaton, which is over characters."""
    with pytest.raises(UnsupportedGrammarError, match="in a regular expression") as caught:
        schemagen.to_regex(spec)
    assert caught.value.line == 1
    with pytest.raises(UnsupportedGrammarError, match="in a regular expression"):
        compiled(spec).draw("automaton")


def test_no_grammar_within_another_has_a_token() -> None:
    """What is bound to a terminal is read as text."""
    pytest.importorskip("lark")
    spec = Lark("start: X\n%declare X", bind={"X": EBNF('root ::= "a" Token("<|x|>") root?')})
    with pytest.raises(UnsupportedGrammarError, match="inside another"):
        compiled(spec)


@pytest.mark.parametrize("marker", ["</t>", "<|y|>"])
def test_thoughts_before_tokens(marker: str) -> None:
    """Behind thoughts, which a text or a special token ends, a grammar may name tokens; the answer is what is behind them."""
    grammar = compiled(EBNF('root ::= "a" Token("<|x|>", "<tool>") [0-9]+'))
    specials = (("<|y|>", Y),) if marker == "<|y|>" else ()
    thinking = ReasoningFormat("", marker, 30, specials).before(grammar)
    end = [Y] if specials else [*marker.encode()]
    for named in (X, TOOL):
        matcher = thinking.matcher()
        for token in [*b"Hm, <a>", *end, *b"a", named, *b"17"]:
            assert mask_of(matcher, VOCABULARY) == {
                each for each in range(VOCABULARY.size) if reads_token(matcher, each)
            }
            assert matcher.accept_token(token)
        assert matcher.is_accepting()
        answer = "a<tool>17" if named == TOOL else "a17"
        assert thinking.split([*b"Hm, <a>", *end, *b"a", named, *b"17", EOS])[:2] == (answer, "Hm, <a>")


def test_a_prompt_before_tokens() -> None:
    """The end of a prompt that is written again may stand before a token that is named."""
    matcher = after_text("so", compiled(EBNF('root ::= Token("<|x|>") "b"'))).matcher()
    for token in [*b"so", X, *b"b"]:
        assert mask_of(matcher, VOCABULARY) == {token}
        assert matcher.accept_token(token)
    assert matcher.is_accepting()


def reads_token(matcher: Any, token_id: int) -> bool:
    """Whether a token can come next."""
    return bool(matcher.fork().accept_token(token_id))


def test_no_part_with_a_lexer_has_a_token() -> None:
    """A grammar with a lexer has an automaton of its own there."""
    pytest.importorskip("lark")
    grammar = compiled(Lark("start: A <|x|>\nA: /a+/", dialect="llguidance"))
    with pytest.raises(UnsupportedGrammarError, match="with a lexer, among other parts"):
        GrammarGraph([Part(grammar, final=True)], [0], VOCABULARY).matcher()


def test_rules_keep_where_a_token_stands() -> None:
    """Two of the same are one symbol, wherever they stand."""
    rules = EBNF('root ::= Token("<|x|>") "a" Token("<|x|>") Token(3, 4)').rules()
    assert tokens_in(rules) == [
        Token(("<|x|>",), may_be_text=True),
        Token(((3, 3), (4, 4)), may_be_text=True),
    ]
    assert [(token.line, token.column) for token in tokens_in(rules)] == [(1, 10), (1, 44)]
    assert [str(token) for token in tokens_in(rules)] == ["<|x|>", "<[3,4]>"]


def test_the_special_tokens_of_a_tokenizer(own_llama3_vocabulary: Vocabulary) -> None:
    """A call as Llama 3.1 writes it, over 256 special tokens; each mask is what is found by trying every token."""
    vocabulary = own_llama3_vocabulary
    ids = {name: token_id for token_id, name in vocabulary.token_names.items()}
    begin, end = sorted(name for name in ids if ids[name] not in vocabulary.eos_token_ids)[:2]
    text = f'start: TEXT | call\nTEXT: /[^{{](.|\\n)*/\ncall: {begin} %json {{"type": "integer", "minimum": 0}} {end}'
    grammar = compiled(Lark(text, dialect="llguidance"), "native", vocabulary)
    matcher = grammar.matcher()
    assert mask_of(matcher, vocabulary) & vocabulary.special_token_ids == {ids[begin]}
    for step in (ids[begin], b"1", b"2", ids[end]):
        assert mask_of(matcher, vocabulary) == brute_force_mask(matcher, vocabulary)
        assert matcher.accept_token(step) if isinstance(step, int) else matcher.accept_bytes(step)
    assert mask_of(matcher, vocabulary) == set(vocabulary.eos_token_ids)


class Named:
    """A tokenizer that knows names."""

    def get_vocab(self) -> dict[str, int]:
        """Return all of them."""
        return {"a": 97, "<|x|>": X, "<|other|>": Y}


def test_names_of_special_tokens() -> None:
    """Those of the vocabulary; the tokenizer is asked where it does not name all of them."""
    known = special_tokens(None, Vocabulary.from_tokens(["a", None], eos_token_ids=[1], token_names={1: "<eos>"}))
    assert known == {"<eos>": 1}
    some = Vocabulary.from_tokens(
        VOCABULARY.tokens, eos_token_ids=[EOS], special_token_ids=[X, Y], token_names={Y: "<|y|>"}
    )
    assert special_tokens(Named(), some) == {"<|x|>": X, "<|y|>": Y}
