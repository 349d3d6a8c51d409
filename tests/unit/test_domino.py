"""DOMINO's construction gives the masks of its own example, and is minimally invasive without a bound on its lookahead."""

import pytest

from schemagen import Vocabulary
from schemagen.context_free.syntax import (
    ContextFreeGrammar,
    Lexeme,
    Rule,
    Terminal,
    alternatives,
    sequence,
)
from schemagen.engine.native.context_free import compile_context_free
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.errors import UnsupportedGrammarError
from schemagen.reference.fsm import byte_fsm
from schemagen.reference.subterminals import (
    BORDER,
    EOS,
    Domino,
    Scanner,
    Subterminal,
    constrained_decoding,
)
from schemagen.regex import parse_python

INT, WS, PLUS, LEFT, RIGHT = map(Terminal, ("int", "ws", "+", "(", ")"))
PATTERNS = {INT: r"([1-9][0-9]*)|(0+)", WS: " +", PLUS: r"\+", LEFT: r"\(", RIGHT: r"\)"}
#: Figure 3 (a), with the whitespace of (b).
FIGURE_3 = ContextFreeGrammar(
    "E",
    {"E": alternatives(Rule("E"), sequence(Rule("E"), PLUS, Rule("E")), sequence(LEFT, Rule("E"), RIGHT), INT)},
    {terminal.name: (Lexeme(parse_python(pattern)),) for terminal, pattern in PATTERNS.items()},
    ignored=frozenset(["ws"]),
)
#: Figure 3 (c), and the token that stands in the masks of (e) instead of "1 (".
TOKENS = ("0", "1", "2", "12", ")", "(", "+", "+1", "1 (", "1 +")
VOCABULARY = Vocabulary.from_tokens([*TOKENS, None], eos_token_ids=[len(TOKENS)])


def engine_mask(grammar, vocabulary, text: str) -> set[int]:
    """The mask of the compiled engine behind a text."""
    matcher = compile_context_free(grammar, vocabulary, Options(limits=DEFAULT_LIMITS)).matcher()
    assert matcher.accept_bytes(text.encode())
    return set(matcher.allowed_tokens())


def shown(mask: set[int], tokens=TOKENS) -> set[str]:
    """The tokens of a mask as texts."""
    return {"EOS" if token_id == len(tokens) else tokens[token_id] for token_id in mask}


def mask_behind(lookahead: int | None, *tokens: str) -> set[str]:
    """The mask of the construction behind some tokens, for a lookahead."""
    checker = Domino(FIGURE_3, VOCABULARY).checker(lookahead)
    for token in tokens:
        assert checker.update(TOKENS.index(token))
    return shown(checker.mask())


class TestFigure3:
    NUMBERS = frozenset(["0", "1", "2", "12"])

    @pytest.mark.parametrize(
        ("lookahead", "more"),
        [(0, set()), (1, {"+1"}), (2, {"+1", "1 +"}), (3, {"+1", "1 +"}), (None, {"+1", "1 +"})],
    )
    def test_masks(self, lookahead, more):
        """Behind "(12": with k = 0 the single subterminals, with k = 1 "+1", too; never "1 (", though section 3.4 says so."""
        assert mask_behind(lookahead, "(", "12") == self.NUMBERS | {"+", ")"} | more

    def test_the_engine_has_the_same_mask(self):
        assert shown(engine_mask(FIGURE_3, VOCABULARY, "(12")) == mask_behind(None, "(", "12")

    def test_no_text_has_an_int_before_a_bracket(self):
        """What the token "1 (" of section 3.4 would lead to cannot be finished."""
        matcher = compile_context_free(FIGURE_3, VOCABULARY, Options(limits=DEFAULT_LIMITS)).matcher()
        assert not matcher.accept_bytes(b"(121 (")
        assert matcher.accept_bytes(b"(121 ")

    def test_end(self):
        """Without an open bracket EOS is a terminal like any other."""
        assert mask_behind(0, "12") == self.NUMBERS | {"+", "EOS"}
        assert mask_behind(0) == self.NUMBERS | {"("}
        assert mask_behind(None) == self.NUMBERS | {"(", "1 +"}

    def test_tree(self):
        """Figure 3 (d): the tree of the state [0-9]* of int, before any parser has seen it."""
        domino = Domino(FIGURE_3, VOCABULARY)
        checker = domino.checker()
        assert checker.update(TOKENS.index("12"))
        (state,) = checker.states()
        tree = domino.trees[state]
        end, full = Subterminal("end", INT), lambda terminal: Subterminal("full", terminal)
        assert shown(tree.children[end].tokens) == self.NUMBERS
        assert shown(tree.children[full(LEFT)].tokens) == {"("}
        assert shown(tree.children[full(RIGHT)].tokens) == {")"}
        assert shown(tree.children[full(PLUS)].tokens) == {"+"}
        assert shown(tree.children[full(EOS)].tokens) == {"EOS"}
        assert shown(tree.children[full(PLUS)].children[full(INT)].tokens) == {"+1"}
        assert shown(tree.children[end].children[full(WS)].children[full(LEFT)].tokens) == {"1 ("}

    def test_tree_has_what_the_figure_leaves_out(self):
        """The regular expression R lets an int begin where another one ends; the paper ignores such cases in the figure."""
        domino = Domino(FIGURE_3, VOCABULARY)
        checker = domino.checker()
        assert checker.update(TOKENS.index("12"))
        (state,) = checker.states()
        beside = domino.trees[state].children[Subterminal("full", INT)]
        assert shown(beside.tokens) == self.NUMBERS

    def test_generated_texts_are_of_the_language(self):
        """Algorithm 1, with a model that would write this text, and ends it as soon as it may."""
        wanted = [TOKENS.index(token) for token in ("(", "12", "+", "1", ")", "+", "0")]

        def choose(output, mask):
            wish = [*wanted, len(TOKENS)][len(output)]
            assert wish in mask
            return wish

        assert constrained_decoding(Domino(FIGURE_3, VOCABULARY).checker(), choose) == wanted


class TestSubterminals:
    """Section 3.3: what a part of a terminal is called."""

    TERMINAL = Terminal("t")
    SCANNER = Scanner({TERMINAL: byte_fsm(parse_python("(ab)+c?"))})

    def kinds(self, state, token):
        return {tuple(part.kind for part in sequence) for sequence, _ in self.SCANNER.traverse(state, token)}

    def behind(self, text):
        (state,) = {state for sequence, state in self.SCANNER.traverse(BORDER, text) if len(sequence) == 1}
        return state

    def test_from_the_border(self):
        assert self.kinds(BORDER, b"a") == {("start",)}
        assert self.kinds(BORDER, b"ab") == {("full",)}
        assert self.kinds(BORDER, b"abab") == {("full",), ("full", "full")}
        assert self.kinds(BORDER, b"b") == set()

    def test_from_within(self):
        assert self.kinds(self.behind(b"a"), b"b") == {("end",)}
        assert self.kinds(self.behind(b"a"), b"ba") == {("continuation",), ("end", "start")}
        assert self.kinds(self.behind(b"ab"), b"c") == {("end",)}
        assert self.kinds(self.behind(b"abc"), b"ab") == {("full",)}
        assert self.kinds(self.behind(b"abc"), b"c") == set()

    def test_a_terminal_may_end_without_a_character(self):
        """What follows then begins at q0, and the sequence does not say that something ended."""
        assert self.kinds(self.behind(b"ab"), b"ab") == {("end",), ("full",)}


def test_without_lookahead_there_may_be_a_dead_end():
    """Section 3.5 calls k = 0 sufficient for texts of the language; a text can still get stuck that has an end."""
    tokens = ("1", "+1")
    vocabulary = Vocabulary.from_tokens([*tokens, None], eos_token_ids=[2])
    grammar = ContextFreeGrammar("S", {"S": sequence(INT, PLUS, INT)}, FIGURE_3.terminals)
    bounded, exact = (Domino(grammar, vocabulary).checker(lookahead) for lookahead in (0, None))
    assert bounded.update(0)
    assert exact.update(0)
    assert shown(bounded.mask(), tokens) == {"1"}
    assert shown(exact.mask(), tokens) == {"1", "+1"}


class TestLongestMatch:
    """The paper's scanner lets a terminal end wherever it may; a lexer of the longest match does not."""

    NAME, IF = Terminal("name"), Terminal("if")

    def grammar(self, longest: bool) -> ContextFreeGrammar:
        name = parse_python("[a-z]+")
        lexeme = Lexeme(name, longer=name) if longest else Lexeme(name)
        rule = sequence(self.IF, self.NAME)
        return ContextFreeGrammar("S", {"S": rule}, {"name": (lexeme,), "if": (Lexeme(parse_python("if")),)})

    def test_names_end_anywhere(self):
        vocabulary = Vocabulary.byte_vocabulary()
        checker = Domino(self.grammar(longest=False), vocabulary).checker()
        for byte in b"ifx":
            assert checker.update(byte)
        assert checker.mask() == engine_mask(self.grammar(longest=False), vocabulary, "ifx")

    def test_a_lexer_is_refused(self):
        with pytest.raises(UnsupportedGrammarError, match="ends where a lexer says"):
            Domino(self.grammar(longest=True), VOCABULARY)

    def test_where_it_would_differ(self):
        """Behind "xif" the paper's scanner has a name and the keyword; under the longest match it is one name."""
        blank = Terminal("ws")
        tokens = ("x", "i", "f", " ")
        vocabulary = Vocabulary.from_tokens([*tokens, None], eos_token_ids=[4])
        name = parse_python("[a-z]+")

        def grammar(lexeme):
            return ContextFreeGrammar(
                "S",
                {"S": sequence(self.NAME, self.IF)},
                {"name": (lexeme,), "if": (Lexeme(parse_python("if")),), blank.name: (Lexeme(parse_python(" +")),)},
                ignored=frozenset([blank.name]),
            )

        checker = Domino(grammar(Lexeme(name)), vocabulary).checker()
        for token_id in (0, 1, 2):
            assert checker.update(token_id)
        assert shown(checker.mask(), tokens) == {"x", "i", "f", " ", "EOS"}
        assert checker.mask() == engine_mask(grammar(Lexeme(name)), vocabulary, "xif")
        longest = engine_mask(grammar(Lexeme(name, longer=name)), vocabulary, "xif")
        assert shown(longest, tokens) == {"x", "i", "f", " "}
