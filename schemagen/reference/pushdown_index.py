"""Willard & Louf (2023, arXiv:2307.09702v4), section 4: the index of a pushdown automaton, by state and stack values.

For a regular expression the index has the tokens of each state. For a grammar they depend on the stack,
too, but only on its top: a token is read from a state if the symbols that it pops are there. So the index has for each
state a trie over stack values, top first, and the tokens stand where the last value that they pop does. The mask of a
configuration is the union of the tokens on the way down the trie along its stack.

The automaton is that of `pushdown.py`: Definition 2 with the items of rules as states and return addresses as stack
values. The paper has an LALR(1) parser in mind, whose REDUCE operations pop as many values as a rule has symbols; here
the end of a rule pops one, and chains of ends several. The FSM of a terminal is not beside the automaton but part of
it, so a parser configuration is a state.

Where the print needs care:

- The preimage in section 4.1 asks that delta(q, v, g) be an element of the power set of Q x Gamma, which the empty set
  is, too; meant are the g for which it is not empty.
- Section 4 says that Algorithm 4 maps the states of NAME to "d", "ef", "pass", " " and "oo(". Algorithm 3 on the
  machine of NAME reads neither " " nor "oo(" to the end. They follow a name in the grammar, which is what the index of
  this module has.
- The version v1 has the index map a state and the top of the stack to tokens, sigma: Q x Gamma -> P(V), and then asks
  for a trie, because a token may pop more than one value.

Limit: where a rule may end after a call of itself, a token can pop any number of values, and the trie has no end. That
is refused; the frames of `frames.py` have no such limit.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemagen.errors import LimitError
from schemagen.reference.transducers import EPSILON, State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from schemagen.reference.pushdown import Pda, Stack

#: Ways to read one token from one state.
MAX_WAYS = 20_000
#: Stack values that one token pops or pushes.
MAX_POPPED = 50


@dataclass(frozen=True)
class SubSequence:
    """A way to read a token, whatever else is on the stack.

    Attributes:
        states: The states on the way.
        popped: The stack values that have to be there, the top one first.
        pushed: The values on the stack in their place, the top one last.
    """

    states: tuple[State, ...]
    popped: Stack = ()
    pushed: Stack = ()


@dataclass
class StackTrie:
    """Tokens by the stack values that they need, top first.

    Attributes:
        children: The trie after a stack value.
        tokens: The tokens that need no more values than those so far.
    """

    children: defaultdict[State, StackTrie] = field(default_factory=lambda: defaultdict(StackTrie))
    tokens: set[int] = field(default_factory=set)

    def add(self, popped: Iterable[State], token_id: int) -> None:
        """Put a token after the values that it needs."""
        node = self
        for value in popped:
            node = node.children[value]
        node.tokens.add(token_id)

    def readable(self, stack: Stack) -> set[int]:
        """Return the tokens that can be read with this stack, its top last."""
        found, node = set(self.tokens), self
        for value in reversed(stack):
            if value not in node.children:
                break
            node = node.children[value]
            found |= node.tokens
        return found


def find_sub_sequences(pda: Pda, start: State, token: bytes) -> Iterator[SubSequence]:
    """Yield the ways to read a token from a state: Algorithm 3 for a pushdown automaton, for one of its states.

    The stack is not known; each value that an edge pops from beneath what the token itself pushed is noted.

    Raises:
        LimitError: A token can pop without end.
    """
    todo = [(0, SubSequence((start,)))]
    ways = 0
    while todo:
        read, way = todo.pop()
        ways += 1
        if ways > MAX_WAYS or len(way.popped) > MAX_POPPED:
            raise LimitError(
                f"a token pops more than {MAX_POPPED} stack values, or is read in more than {MAX_WAYS:,} ways",
                why="a rule that may end after a call of itself ends any number of times at once",
                fix="use frames instead of the index",
            )
        if read == len(token):
            yield way
            continue
        for _, label, pops, target, pushes in pda.outbound.get(way.states[-1], ()):
            if label not in (EPSILON, token[read]):
                continue
            popped, pushed = _edited(way, pops)
            if popped is not None:
                step = SubSequence((*way.states, target), popped, pushed + pushes)
                todo.append((read + (label != EPSILON), step))


def _edited(way: SubSequence, pops: Stack) -> tuple[Stack | None, Stack]:
    """Return what a way needs and has pushed when it pops one more value; None if another one is on top."""
    if not pops:
        return way.popped, way.pushed
    (value,) = pops
    if not way.pushed:
        return (*way.popped, value), ()
    return (way.popped, way.pushed[:-1]) if way.pushed[-1] == value else (None, ())


def map_states_to_vocab(pda: Pda, vocabulary: Sequence[bytes]) -> dict[State, StackTrie]:
    """Return sigma: for each state the tokens by the stack values that they need. Algorithm 4 for a pushdown automaton.

    Raises:
        LimitError: A token can pop without end.

    Cost: O(|Q| V), times the ways to read a token.
    """
    sigma: dict[State, StackTrie] = {}
    for state in {edge[0] for edge in pda.edges} | set(pda.finals):
        trie = sigma[state] = StackTrie()
        for token_id, token in enumerate(vocabulary):
            for way in find_sub_sequences(pda, state, token) if token else ():
                trie.add(way.popped, token_id)
    return sigma


def mask(
    sigma: Mapping[State, StackTrie], pda: Pda, configurations: Iterable[tuple[State, Stack]], eos: Iterable[int] = ()
) -> set[int]:
    """Return the tokens that may follow in some configurations, each looked up in the index."""
    configurations = list(configurations)
    allowed = set(eos) if pda.may_end(configurations) else set()
    for state, stack in configurations:
        allowed |= sigma[state].readable(stack)
    return allowed
