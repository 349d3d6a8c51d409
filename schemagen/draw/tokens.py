"""The tokens of an automaton as drawings: its index, and the mask at one place of a text.

The index is that of Willard & Louf (2023, arXiv:2307.09702, section 3): the tokens that lead from state to state. The states
are those of the automaton over bytes, for a token may end inside a character. The edges that leave a node are its entry in
the index, which maps a state to the tokens that it allows.

The mask of a small vocabulary is drawn token by token, as in Figure 1 of the paper. For a large one, the
drawing groups the allowed tokens by the kind of their first byte, counts them, and lists the first ones.
"""

from __future__ import annotations

import string
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from schemagen.draw.drawing import Drawing, Edge, Node, token_label, token_list
from schemagen.errors import MatcherError

if TYPE_CHECKING:
    from schemagen.draw.byte_automaton import ByteAutomaton
    from schemagen.engine.protocol import Matcher
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


#: Vocabularies up to this size are drawn token by token.
SMALL = 24
#: Longest text that is written in full, in characters; of a longer one only the end is shown.
MAX_TEXT = 40
_KINDS = (
    ("digits", frozenset(string.digits.encode())),
    ("letters", frozenset(string.ascii_letters.encode())),
    ("spaces", frozenset(string.whitespace.encode())),
    ("signs", frozenset(string.punctuation.encode())),
)
_OTHERS = "other characters"
_NAMED = "tokens that are named"
_END = "the end of the text"


def draw_mask(matcher: Matcher, vocabulary: Vocabulary, after: bytes, *, max_tokens: int) -> Drawing:
    """Return a drawing of the tokens that are allowed after a text.

    Args:
        matcher: A matcher at the start of a text.
        vocabulary: The vocabulary of the grammar.
        after: The text so far.
        max_tokens: Most tokens written in one node.

    Raises:
        MatcherError: No text of the grammar begins with ``after``.
    """
    if not matcher.accept_bytes(after):
        raise MatcherError(
            f"no text begins with {after.decode(errors='backslashreplace')!r}",
            why="a text that the masks do not allow has no next mask",
            fix="give the beginning of a text that the grammar allows",
        )
    allowed = matcher.allowed_tokens()
    text = token_label(after)
    shown = text if len(text) <= MAX_TEXT else "…" + text[-MAX_TEXT:]
    start = Node("text", shown or "the start", "text")
    draw = _each if vocabulary.size <= SMALL else _kinds
    nodes = draw(vocabulary, allowed, max_tokens)
    edges = [Edge("text", node.name, kind="reads" if node.kind == "allowed" else "beside") for node in nodes]
    masked = vocabulary.size - len(allowed)
    caption = f"{len(allowed):,} of {vocabulary.size:,} tokens are allowed, {masked:,} are masked"
    return Drawing((start, *nodes), tuple(edges), caption)


def _each(vocabulary: Vocabulary, allowed: list[int], _max_tokens: int) -> list[Node]:
    """Return a node for each token."""
    nodes = []
    for token_id, token in enumerate(vocabulary.tokens):
        label = _END if token_id in vocabulary.eos_token_ids else token_label(token)
        label = label or vocabulary.token_names.get(token_id, "(no text)")
        nodes.append(Node(f"t{token_id}", label, "allowed" if token_id in allowed else "masked"))
    return nodes


def _kinds(vocabulary: Vocabulary, allowed: list[int], max_tokens: int) -> list[Node]:
    """Return a node for each kind of allowed tokens, and one for all others."""
    found: dict[str, list[bytes]] = {name: [] for name in (*(name for name, _ in _KINDS), _OTHERS, _NAMED)}
    ends = 0
    for token_id in allowed:
        token = vocabulary.tokens[token_id]
        if token_id in vocabulary.eos_token_ids:
            ends += 1
        elif token:
            found[next((name for name, first in _KINDS if token[0] in first), _OTHERS)].append(token)
        else:
            found[_NAMED].append(vocabulary.token_names.get(token_id, f"<[{token_id}]>").encode())
    nodes = [
        Node(f"k{i}", f"{name}\n{token_list(tokens, max_tokens)}", "allowed")
        for i, (name, tokens) in enumerate(found.items())
        if tokens
    ]
    if ends:
        nodes.append(Node("eos", _END, "allowed"))
    masked = vocabulary.size - len(allowed)
    return [*nodes, Node("masked", f"{masked:,} tokens are masked", "masked")] if masked else nodes
