"""The index of Willard & Louf (2023, arXiv:2307.09702, section 3), as a drawing: the tokens that lead from state to state.

The states are those of the automaton over bytes, for a token may end inside of a character. The edges that leave a node are its
entry in the index, which maps a state to the tokens that it allows.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from schemagen.draw.drawing import Drawing, Edge, Node
from schemagen.draw.labels import token_list

if TYPE_CHECKING:
    from schemagen.draw.byte_automaton import ByteAutomaton
    from schemagen.vocabulary import Vocabulary


def draw_index(machine: ByteAutomaton, vocabulary: Vocabulary, *, max_states: int, max_tokens: int) -> Drawing:
    """Return the states that tokens lead to, and the tokens.

    Args:
        machine: The automaton over bytes.
        vocabulary: The tokens.
        max_states: Most states to draw, those nearest to the start; one node replaces all others.
        max_tokens: Most tokens written at one edge; the number of all tokens follows them.

    Cost: O(V) for each state that is drawn.
    """
    tokens_at = _Index(machine, vocabulary)
    names = {0: "s0"}
    waiting = deque(names)
    nodes, edges = [Node("start", "", "start")], [Edge("start", "s0")]
    beyond: set[int] = set()
    while waiting:
        state = waiting.popleft()
        following = tokens_at.following(state)
        count = sum(map(len, following.values()))
        label = f"{names[state][1:]}\n{count:,} {'token' if count == 1 else 'tokens'}"
        nodes.append(Node(names[state], label, "accepting" if state in machine.finals else "state"))
        for target, tokens in following.items():
            if target not in names and len(names) < max_states:
                names[target] = f"s{len(names)}"
                waiting.append(target)
            elif target not in names:
                beyond.add(target)
            label = token_list(tokens, max_tokens)
            edges.append(Edge(names[state], names.get(target, "more"), label, "reads" if target in names else "more"))
    caption = f"what each state allows of {vocabulary.size:,} tokens; the text may end in states that are double"
    if beyond:
        nodes.append(Node("more", "…", "more"))
        caption += f"; {len(machine.rows):,} states, {len(names)} of them are drawn"
    return Drawing(tuple(nodes), tuple(edges), caption)


class _Index:
    """The index sigma of the paper, one state at a time: the tokens that a state allows.

    Cost: O(V) a state; only tokens that begin with a byte of the state are read.
    """

    def __init__(self, machine: ByteAutomaton, vocabulary: Vocabulary) -> None:
        self._machine = machine
        self._by_first_byte: defaultdict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for token_id, token in enumerate(vocabulary.tokens):
            if token:
                self._by_first_byte[token[0]].append((token_id, token))

    def following(self, state: int) -> dict[int, list[bytes]]:
        """Return the tokens that a state allows, without EOS, by their target state and in the order of their ids."""
        found: dict[int, list[bytes]] = {}
        row = self._machine.rows[state]
        for _, token in sorted(pair for byte in row for pair in self._by_first_byte[byte]):
            target = self._machine.read(state, token)
            if target is not None:
                found.setdefault(target, []).append(token)
        return found
