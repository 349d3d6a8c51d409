"""The automata, transducers and compositions of Koo, Liu & He (2024), on their own figures."""

import re
from itertools import product

from schemagen.reference.transducers import (
    EPSILON,
    ROOT,
    Fsa,
    Fst,
    adapted,
    composed,
    detokenizer,
    valid_tokens,
)

#: Figure 4.
TOKENS = ("f", "oo", "foo", "for", "food")
VOCABULARY = {token: token for token in TOKENS}


def fsa(edges, initial, *finals) -> Fsa:
    """An automaton whose edges are written as one text each, source, label and target."""
    return Fsa(frozenset((source, label, target) for source, label, target in edges), initial, frozenset(finals))


def words(alphabet, longest):
    """Every sequence of symbols up to a length."""
    return [word for length in range(longest + 1) for word in product(alphabet, repeat=length)]


def same(automaton: Fsa, pattern: str, alphabet: str = "ab", longest: int = 6) -> bool:
    """Whether an automaton accepts what an expression matches."""
    return all(
        automaton.accepts(word) == bool(re.fullmatch(pattern, "".join(word))) for word in words(alphabet, longest)
    )


class TestFigures1And2:
    def test_accepted_languages(self):
        """Figure 1: ab, odd numbers of a, and runs of a or of b."""
        assert same(fsa(["0a1", "1b2"], "0", "2"), "ab")
        assert same(fsa(["0a1", "1a0"], "0", "1"), "a(aa)*")
        either = {("0", EPSILON, "1"), ("0", EPSILON, "2"), ("1", "a", "1"), ("2", "b", "2")}
        assert same(Fsa(frozenset(either), "0", frozenset("12")), "a*|b*")

    def test_determinized(self):
        """Figure 2: a+|ab is one automaton with a choice in its first edge, and one without."""
        choice = fsa(["0a1", "1a1", "0a2", "2b3"], "0", "1", "3")
        certain = choice.determinized()
        assert same(choice, "a+|ab")
        assert same(certain, "a+|ab")
        assert len({(source, label) for source, label, _ in certain.edges}) == len(certain.edges)
        assert any(len(choice.outbound[state]) > len({label for label, _ in choice.outbound[state]}) for state in "0")


class TestFigure3:
    def test_ab_into_x(self):
        made = Fst(frozenset({("0", "a", "x", "1"), ("1", "b", EPSILON, "2")}), "0", frozenset("2"))
        assert made.transduce("ab") == {("x",)}
        assert made.transduce("a") == made.transduce("ba") == set()

    def test_alternation(self):
        """Odd numbers of a into xoxo...x."""
        made = Fst(frozenset({("0", "a", "x", "1"), ("1", "a", "o", "0")}), "0", frozenset("1"))
        assert made.transduce("aaaaa") == {tuple("xoxox")}
        assert made.transduce("aa") == set()


class TestFigure4:
    T_V = detokenizer(VOCABULARY)

    def test_states_are_the_trie(self):
        states = {source for source, _, _, _ in self.T_V.edges}
        assert states == {ROOT, ("f",), ("o",), ("f", "o"), ("f", "o", "o")}

    def test_one_cycle_for_each_token(self):
        assert sorted(read for _, read, _, target in self.T_V.edges if target == ROOT) == sorted(TOKENS)
        assert all(read == EPSILON for _, read, _, target in self.T_V.edges if target != ROOT)

    def test_it_detokenizes(self):
        for word in words(TOKENS, 3):
            assert self.T_V.transduce(word) == {tuple("".join(word))}


class TestFigure5:
    """(foo)+d over the tokens of Figure 4."""

    CHARACTERS = fsa(["0f1", "1o2", "2o3", "3f1", "3d4"], "0", "4")
    COMPOSED = adapted(CHARACTERS, VOCABULARY)

    def test_language(self):
        for word in words(TOKENS, 5):
            assert self.COMPOSED.accepts(word) == bool(re.fullmatch("(foo)+d", "".join(word)))

    def test_edges(self):
        """One state between two repeats, one behind "f", and the end: "d" alone is no token, so "food" comes last."""
        start = self.COMPOSED.initial
        assert valid_tokens(self.COMPOSED, start) == {"f", "foo", "food"}
        reached = dict(self.COMPOSED.outbound[start])
        assert valid_tokens(self.COMPOSED, reached["f"]) == {"oo"}
        assert valid_tokens(self.COMPOSED, reached["foo"]) == {"f", "foo", "food"}
        assert valid_tokens(self.COMPOSED, reached["food"]) == set()
        assert reached["food"] in self.COMPOSED.finals

    def test_many_tokenizations(self):
        """The same text in two ways, and a token over the border of two parts of the expression."""
        for word in (("foo", "food"), ("f", "oo", "food")):
            assert self.COMPOSED.accepts(word)

    def test_only_what_tokens_spell(self):
        """Section 2.4: a text of A that cannot be cut into tokens has no counterpart."""
        digits = adapted(fsa(["0a0", "090"], "0", "0"), {"9": "9"})
        assert digits.accepts(["9", "9"])
        assert valid_tokens(digits, digits.initial) == {"9"}

    def test_dead_ends_are_dropped(self):
        """Without the token "food" nothing can end, so nothing may begin."""
        stuck = composed(self.CHARACTERS, detokenizer({"f": "f", "oo": "oo"}))
        assert stuck.edges
        assert not stuck.trimmed().edges
