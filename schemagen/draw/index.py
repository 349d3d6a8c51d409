"""The index of Willard & Louf (2023, arXiv:2307.09702, section 3), as a drawing: the tokens that lead from state to state.

The states are those of the automaton over bytes, for a token may end inside of a character. The edges that leave a node are its
entry in the index, which maps a state to the tokens that it allows.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from schemagen.draw.drawing import Drawing, Edge, Node
from schemagen.draw.labels import token_list
from schemagen.reference.fsm import start_of

if TYPE_CHECKING:
    from schemagen.reference.index import ReferenceEngine


def draw_index(engine: ReferenceEngine, *, max_states: int, max_tokens: int) -> Drawing:
    """Return the states that tokens lead to, and the tokens.

    Args:
        engine: The automaton over bytes, and the vocabulary.
        max_states: Most states to draw, those nearest to the start; one node replaces all others.
        max_tokens: Most tokens written at one edge; the number of all tokens follows them.

    Cost: O(V) for each state that is drawn.
    """
    names = {start_of(engine.fsm): "s0"}
    waiting = deque(names)
    nodes, edges = [Node("start", "", "start")], [Edge("start", "s0")]
    beyond: set[int] = set()
    while waiting:
        state = waiting.popleft()
        following = tokens_by_target(engine, state)
        count = sum(map(len, following.values()))
        label = f"{names[state][1:]}\n{count:,} {'token' if count == 1 else 'tokens'}"
        nodes.append(Node(names[state], label, "accepting" if engine.is_final(state) else "state"))
        for target, tokens in following.items():
            if target not in names and len(names) < max_states:
                names[target] = f"s{len(names)}"
                waiting.append(target)
            elif target not in names:
                beyond.add(target)
            label = token_list(tokens, max_tokens)
            edges.append(Edge(names[state], names.get(target, "more"), label, "reads" if target in names else "more"))
    caption = f"what each state allows of {engine.vocabulary.size:,} tokens; the text may end in states that are double"
    if beyond:
        nodes.append(Node("more", "…", "more"))
        caption += f"; {engine.state_count:,} states, {len(names)} of them are drawn"
    return Drawing(tuple(nodes), tuple(edges), caption)


def tokens_by_target(engine: ReferenceEngine, state: int) -> dict[int, list[bytes]]:
    """Return the tokens that a state allows, by their target state, without the end of the text."""
    vocabulary = engine.vocabulary
    found: dict[int, list[bytes]] = {}
    for token_id in engine.mask(state).ids:
        token = vocabulary.tokens[token_id]
        target = engine.step(state, token) if token else None
        if target is not None:
            found.setdefault(target, []).append(token)
    return found
