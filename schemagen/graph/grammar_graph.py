"""Grammars one after another, each starting at any byte: free text, markers and calls, thoughts and an answer.

A tool call in a model's answer is not one language but several: free text, a marker, the name, JSON arguments, a closing
marker, perhaps the next call. Each of them is a *part*; a `GrammarGraph` is a graph of parts. For decoding it is compiled into
one context-free grammar (`schemagen.graph.rules`). A `GraphReader`, the nondeterministic automaton of the graph itself, splits
an answer into its parts.

Alternative rejected: one JSON Schema for the envelope (``anyOf`` over tools). It covers only formats that are JSON from end to
end, and neither names outside of the JSON (DeepSeek, newer Mistral) nor Python syntax.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from schemagen.engine.counting import CountingEngine
from schemagen.engine.native.lowering import compile_language
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.engine.tokens import marked_for
from schemagen.grammar.grammar import Grammar
from schemagen.grammar.pipeline import engine_of_rules
from schemagen.graph.reader import GraphReader
from schemagen.graph.rules import Inside, rules_of
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen import _core
    from schemagen.engine.options import Limits
    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.graph.parts import Part
    from schemagen.vocabulary import Vocabulary


@without_property_locks
class GrammarGraph:
    """Parts in the order that their edges allow; immutable except for its tables, which threads may share.

    It is a `Constraint` and decodes like a `Grammar`.

    Args:
        parts: The graph.
        starts: Indices of the parts that a text may begin with.
        vocabulary: The tokens of the model; grammars among the parts must use the same vocabulary.
        limits: Bounds on the work, as for `schemagen.compile`.

    Cost: the first matcher compiles each grammar of the graph once more.
    """

    thought_tokens = 0
    forces_text = False

    def __init__(
        self, parts: Iterable[Part], starts: Iterable[int], vocabulary: Vocabulary, limits: Limits | None = None
    ) -> None:
        self.parts = tuple(parts)
        self.starts = tuple(starts)
        self.vocabulary = vocabulary
        self.limits = limits or DEFAULT_LIMITS

    def __repr__(self) -> str:
        """Show how large it is."""
        return f"{type(self).__name__}(parts={len(self.parts)}, vocabulary={self.vocabulary.size})"

    def matcher(self) -> Matcher:
        """Return a cursor at the start of a text.

        Raises:
            LimitError: A limit stopped the work.
            UnsupportedGrammarError: The graph counts tokens and can repeat a part without limit.
        """
        return self._engine.matcher()

    def reader(self) -> GraphReader:
        """Return a cursor at the start of a text, which finds the bytes of each part.

        It reads bytes, so grammars among the parts must neither name nor count tokens.
        """
        return GraphReader(self.parts, self._engines, self.starts, self.vocabulary)

    @property
    def token_table(self) -> _core.TokenTable | None:
        """The graph as a table over tokens, for `schemagen.device`; None if it counts tokens."""
        return self._token_table

    @cached_property
    def _token_table(self) -> _core.TokenTable | None:
        if isinstance(self._engine, CountingEngine):
            return None
        from schemagen import _core

        return _core.TokenTable(cast("_core.Constraint", self._engine))

    @property
    def least_new_tokens(self) -> int:
        """Equal to `min_new_tokens`, which a graph always knows."""
        return self.min_new_tokens

    @property
    def min_new_tokens(self) -> int:
        """The smallest budget of tokens that always suffices for a whole text: see `schemagen.Grammar.min_new_tokens`."""
        return self._min_new_tokens

    @cached_property
    def _min_new_tokens(self) -> int:
        return self._engine.matcher().tokens_to_finish() or 0

    @cached_property
    def _engine(self) -> Engine:
        """The graph as one automaton."""
        rules = rules_of(self.parts, self.starts)
        over, options = marked_for(rules, self.vocabulary), Options(limits=self.limits)
        return engine_of_rules(rules, over, options, embed=lambda inner: _embedded(inner, over))

    @cached_property
    def _engines(self) -> list[Engine | None]:
        """The engine of each part."""
        return [self._engine_of(part.language) for part in self.parts]

    def _engine_of(self, language: Any) -> Engine | None:
        if language is None or isinstance(language, Grammar):
            return cast("Engine | None", language)
        return compile_language(language, self.vocabulary)


def _embedded(spec: Grammar | Inside, vocabulary: Vocabulary) -> _core.Constraint:
    """Return the automaton of a part, or of a grammar embedded in one."""
    made = spec.grammar.engine_inside(spec.spec, vocabulary) if isinstance(spec, Inside) else spec.compiled_again()
    return cast("_core.Constraint", made)
