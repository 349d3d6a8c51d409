"""Pushdown automata over tokens, on the figures of Koo, Liu & He (section 3) and the example of Willard & Louf (section 4)."""

from itertools import product

import pytest

from schemagen import GBNF, Vocabulary
from schemagen.engine.native.context_free import compile_context_free
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.errors import LimitError, UnsupportedGrammarError
from schemagen.reference.fsm import byte_fsm
from schemagen.reference.index import find_sub_sequences as find_in_fsm, map_states_to_vocab as map_fsm_states
from schemagen.reference.pushdown import BOTTOM, FINISH, composed, pda_of
from schemagen.reference.pushdown_index import find_sub_sequences, map_states_to_vocab, mask
from schemagen.reference.transducers import detokenizer
from schemagen.regex import parse_python

#: Figure 6 and the tokens of Figure 7.
A_N_B_N = GBNF('root ::= "ab" | "a" root "b"').rules()
TOKENS = ("a", "b", "bb", "aaab")
#: The address behind the inner call, S -> a S . b, which is the only one.
(ADDRESS,) = {pushes[0] for _, _, _, _, pushes in pda_of(A_N_B_N, b"ab").edges if pushes}


class TestFigure6:
    PDA = pda_of(A_N_B_N, b"ab")

    def test_language(self):
        for length in range(9):
            for word in product(b"ab", repeat=length):
                wanted = length > 0 and word == tuple(b"a" * (length // 2) + b"b" * (length // 2))
                assert self.PDA.accepts(word) == wanted

    def test_stack(self):
        """A return address for each a but the first one, and beneath them the initial symbol."""
        configurations = self.PDA.start()
        for count in range(1, 5):
            configurations = self.PDA.read(configurations, ord("a"))
            assert max(len(stack) for _, stack in configurations) == count + 1
            assert {symbol for _, stack in configurations for symbol in stack} == {BOTTOM, ADDRESS}


class TestFigure7:
    PDA = composed(pda_of(A_N_B_N, b"ab"), detokenizer({token: token.encode() for token in TOKENS}))

    def behind(self, *tokens):
        configurations = self.PDA.start()
        for token in tokens:
            configurations = self.PDA.read(configurations, token)
        return configurations

    def test_language(self):
        for length in range(5):
            for word in product(TOKENS, repeat=length):
                text = "".join(word)
                half = len(text) // 2
                assert self.PDA.accepts(word) == (text == "a" * half + "b" * half and half > 0)

    @pytest.mark.parametrize(
        ("tokens", "allowed"),
        [
            ((), {"a", "aaab"}),
            (("a",), {"a", "b", "aaab"}),
            (("a", "a"), {"a", "b", "bb", "aaab"}),
            (("a", "a", "b"), {"b"}),
            (("aaab",), {"b", "bb"}),
            (("aaab", "bb"), set()),
        ],
    )
    def test_masks(self, tokens, allowed):
        """Tokens are filtered by what they pop."""
        assert self.PDA.readable(self.behind(*tokens)) == allowed

    def test_a_token_pushes_and_pops_several_symbols(self):
        """The token aaab calls the rule three times and returns once; bb returns twice."""
        pda = pda_of(A_N_B_N, b"ab")
        stacks = {stack for _, stack in self.behind("aaab")}
        assert (BOTTOM, ADDRESS, ADDRESS) in stacks
        ways = list(find_sub_sequences(pda, ADDRESS, b"bb"))
        assert {way.popped for way in ways} == {(ADDRESS,)}


#: A line of Python, as far as section 4 needs it.
PYTHON = GBNF(
    'root ::= "def " name " "* "(" list "):" " pass"\nname ::= [a-z_] [a-z0-9_]*\nlist ::= (name ("," list)?)?'
).rules()
PIECES = ("d", "ef", " f", "oo(", "):", " ", "pass")
NAMES = [ord(character) for character in "abcdefghijklmnopqrstuvwxyz_0123456789(),: "]


class TestSection4:
    """`def foo(): pass` in the tokens of the paper."""

    PDA = pda_of(PYTHON, NAMES)
    SIGMA = map_states_to_vocab(PDA, [piece.encode() for piece in PIECES])

    def behind(self, text):
        configurations = self.PDA.start()
        for byte in text.encode():
            configurations = self.PDA.read(configurations, byte)
        return configurations

    def allowed(self, text):
        return {PIECES[token_id] for token_id in mask(self.SIGMA, self.PDA, self.behind(text))}

    def test_the_sequence_of_the_paper(self):
        """Each token is in the mask that it is taken from."""
        for at, piece in enumerate(PIECES[:-2]):
            assert piece in self.allowed("".join(PIECES[:at]))
        assert self.PDA.accepts(b"def foo(): pass")

    def test_behind_def_f(self):
        """The name goes on, or ends before a bracket, within a token or between two; "):" would be invalid."""
        assert self.allowed("def f") == {"d", "ef", "oo(", "pass", " "}

    def test_stack_behind_def_f(self):
        """A rule for the name is open: where it was called from is on the stack, above the initial symbol."""
        stacks = {stack for _, stack in self.behind("def f")}
        (address,) = {stack[-1] for stack in stacks if len(stack) > 1}
        assert stacks == {(BOTTOM, address), (BOTTOM,)}
        assert address[0] == "root"

    def test_what_a_token_needs_of_the_stack(self):
        """The token "oo(" ends the name, so it needs the address behind it; "ef" does not look at the stack."""
        (state,) = {state for state, stack in self.behind("def f") if state[0] == "name" and len(state) > 2}
        (address,) = {stack[-1] for place, stack in self.behind("def f") if place == state}
        trie = self.SIGMA[state]
        assert {PIECES[token_id] for token_id in trie.tokens} == {"d", "ef", "pass"}
        assert PIECES.index("oo(") in trie.children[address].tokens
        assert {PIECES[token_id] for token_id in trie.readable((BOTTOM,))} == {"d", "ef", "pass"}

    def test_same_state_other_stack(self):
        """A name in the list of arguments is in the same state, and nothing but its stack says that no bracket may open."""
        assert self.allowed("def f(x") == {"d", "ef", "pass", "):"}
        states = [{state for state, _ in self.behind(text) if len(state) > 2} for text in ("def f", "def f(x")]
        assert states[0] & states[1]

    def test_the_masks_are_the_engine_s(self):
        vocabulary = Vocabulary.from_tokens([*PIECES, None], eos_token_ids=[len(PIECES)])
        for text in ("", "d", "def", "def f", "def foo(", "def foo(a,b"):
            matcher = compile_context_free(PYTHON, vocabulary, Options(limits=DEFAULT_LIMITS)).matcher()
            assert matcher.accept_bytes(text.encode())
            assert {PIECES[token_id] for token_id in matcher.allowed_tokens()} == self.allowed(text)

    def test_the_machine_of_name_alone(self):
        """What section 4 says of Algorithm 4, and what Algorithm 3 gives: neither " " nor "oo(" is read by NAME."""
        fsm = byte_fsm(parse_python(r"(?a:[^\W\d]\w*)"))
        sigma = map_fsm_states(fsm, [piece.encode() for piece in PIECES])
        assert all({PIECES[token_id] for token_id in ids} == {"d", "ef", "pass"} for ids in sigma.values())
        assert find_in_fsm(fsm, b"oo(") == find_in_fsm(fsm, b" ") == []


def test_left_recursion_is_refused():
    """It would push without reading."""
    with pytest.raises(UnsupportedGrammarError, match="'root' is left recursive"):
        pda_of(GBNF('root ::= root "a" | ""').rules())


def test_an_index_without_end_is_refused():
    """Any number of calls may end at once before the next b."""
    grammar = GBNF('root ::= "a" root "b"? | "c"').rules()
    pda = pda_of(grammar, b"abc")
    with pytest.raises(LimitError, match="pops more than"):
        map_states_to_vocab(pda, [b"b"])
    assert pda.accepts(b"aacb")


def test_right_recursion_leaves_the_stack_alone():
    """A call in last place hands on the address of its caller."""
    pda = pda_of(GBNF('root ::= "a" root | "b"').rules(), b"ab")
    configurations = pda.start()
    for byte in b"aaaaaaaab":
        configurations = pda.read(configurations, byte)
        assert {stack for state, stack in configurations if state != FINISH} == {(BOTTOM,)}
    assert pda.may_end(configurations)
