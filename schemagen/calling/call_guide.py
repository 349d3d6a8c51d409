"""`CallGuide`: validators and checkers of the parameters of tools, run while the JSON arguments of a call are written.

Idea: a reader of the parts of the answer says when the arguments of a tool begin. From there to their end, a guide of their
type follows the text, as it does for any other JSON (`schemagen.steering.field_guide`).

Invariant: no token before the arguments, nor the one in which they begin, is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.calling.labels import Arguments
from schemagen.errors import ValidationFailed
from schemagen.steering.field_guide import FieldGuide
from schemagen.steering.plan import draws_fields, guide_of, is_steered
from schemagen.vocabulary.marks import without_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schemagen.calling.tools import Tool
    from schemagen.decode.guide import TakenBack
    from schemagen.decode.token_records import TokenRecord
    from schemagen.generation import Refused
    from schemagen.grammar.grammar import Grammar
    from schemagen.graph.grammar_graph import GrammarGraph
    from schemagen.options.sampling import Sampling


def call_guide(
    graph: GrammarGraph, tools: Sequence[Tool[..., Any]], grammar_of: Callable[[Tool[..., Any]], Grammar], tries: int
) -> CallGuide | None:
    """Return a guide for an answer that may call tools; None if nothing but the grammar has a say in their arguments.

    Args:
        graph: The grammar of the answer.
        tools: The tools.
        grammar_of: Returns the grammar of the arguments of a tool.
        tries: How many values validators may refuse in one field.
    """
    grammars = {tool: grammar for tool in tools if is_steered(grammar := grammar_of(tool), tries)}
    return CallGuide(graph, grammars, tries) if grammars else None


class CallGuide:
    """Follows an answer that may call tools; see `schemagen.decode.guide.Guide`.

    Args:
        graph: The grammar of the answer.
        grammars: The grammars of the arguments of the tools that validators, checkers or ways to draw a field have a say in.
        tries: As for `call_guide`.

    Attributes:
        draws: As in `Guide`.
    """

    def __init__(self, graph: GrammarGraph, grammars: Mapping[Tool[..., Any], Grammar], tries: int) -> None:
        self.draws = any(map(draws_fields, grammars.values()))
        self._reader, self._grammars, self._tries = graph.reader(), grammars, tries
        self._tokens: list[tuple[int, TokenRecord | None]] = []
        self._read = 0  # tokens that the reader of the parts has seen
        self._inner: FieldGuide | None = None
        self._known: tuple[Tool[..., Any], int] | None = None  # the arguments that a guide follows, or followed
        self._refused: list[Refused] = []

    @property
    def refused(self) -> Sequence[Refused]:
        """The arguments that validators refused, in order."""
        return self._refused if self._inner is None else [*self._refused, *self._inner.refused]

    def sampling(self, default: Sampling | None) -> Sampling | None:
        """Return how the next token is drawn; see `Guide`."""
        return default if self._inner is None else self._inner.sampling(default)

    def discounts(self) -> Mapping[int, float]:
        """Return what to add to the scores of some tokens; see `Guide`."""
        return {} if self._inner is None else self._inner.discounts()

    def wanted(self) -> int | None:
        """Return the token that has to come next; see `Guide`."""
        return None if self._inner is None else self._inner.wanted()

    def take(self, token_id: int, record: TokenRecord | None) -> TakenBack | None:
        """Read the next token; see `Guide`."""
        self._tokens.append((token_id, record))
        if self._inner is None:
            self._look_for_arguments()
            return None
        taken = self._told(lambda inner: inner.take(token_id, record))
        if taken is None and self._inner.is_over:
            self._refused += self._inner.refused
            self._inner = None
            self._look_for_arguments()
        return taken

    def close(self) -> TakenBack | None:
        """Judge the end of the text: arguments have been judged when they closed."""
        return None

    def exhausted(self) -> TakenBack:
        """Return the tokens to take back because all that are allowed here are banned; see `Guide`."""
        taken = self._told(lambda inner: inner.exhausted())
        assert taken is not None, "there are bans"
        return taken

    def _told(self, ask: Callable[[FieldGuide], TakenBack | None]) -> TakenBack | None:
        """Return what the guide of the arguments says, its errors with the name of the tool."""
        assert self._inner is not None, "only it bans tokens"
        assert self._known is not None, "it follows them"
        try:
            taken = ask(self._inner)
        except ValidationFailed as error:
            error.at = f"{self._known[0].name}{error.at}"
            raise
        if taken is not None:
            del self._tokens[taken.length :]
        return taken

    def _look_for_arguments(self) -> None:
        """Follow the arguments that begin in the last token, or right after it."""
        for token_id, _ in self._tokens[self._read :]:
            self._reader.accept_token(token_id)
        self._read = len(self._tokens)
        found = self._open_arguments()
        if found is None or found == self._known:
            return
        self._known = found
        tool, start = found
        inner = guide_of(self._grammars[tool], tries=self._tries, skipped=start) if tool in self._grammars else None
        if not isinstance(inner, FieldGuide):
            return
        for token_id, record in self._tokens:
            if inner.take(token_id, record) is not None:  # a token that holds all of the arguments
                return
        inner.text.first = len(self._tokens)
        self._inner = None if inner.is_over else inner

    def _open_arguments(self) -> tuple[Tool[..., Any], int] | None:
        """Return the tool whose JSON arguments are open in every reading of the text, and the bytes of text before them."""
        found = set()
        for spans in self._reader.readings():
            label = spans[-1].part.label if spans else None
            if not isinstance(label, Arguments) or label.is_python or spans[-1].end is not None:
                return None
            found.add((label.tool, spans[-1].start))
        if len(found) != 1:
            return None
        tool, start = found.pop()
        return tool, len(without_marks(bytes(self._reader.data[:start])))
