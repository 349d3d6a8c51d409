"""The compared engines, with one interface: compile, reset, fill, accept, done.

A peer is measured if it is installed, and named as skipped if not. Each is used as its documentation says, with its
cache of grammars off, because every schema is compiled once here.
"""

from __future__ import annotations

import importlib.util
import json
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class MaskEngine(Protocol):
    """One engine over one tokenizer, with one grammar and one cursor at a time.

    Attributes:
        words: The last mask, int32 ``[ceil(V/32)]``, bit ``i % 32`` of word ``i // 32`` = token ``i``.
    """

    words: Any

    def compile(self, schema: Any) -> None:
        """Compile a JSON Schema and put the cursor at the start."""

    def reset(self) -> None:
        """Put the cursor at the start."""

    def fill(self) -> None:
        """Write the tokens allowed next into `words`."""

    def accept(self, token_id: int) -> None:
        """Advance by a token that is allowed."""

    def done(self) -> bool:
        """Whether the text may end here."""


class EngineError(Exception):
    """An engine reports an error without raising one."""


class Schemagen:
    """This package.

    Args:
        tokenizer: A transformers tokenizer.
        order: "schema" or "any".
        resources: Documents by URI.
    """

    def __init__(self, tokenizer: Any, *, order: str = "schema", resources: Mapping[str, Any] | None = None) -> None:
        import numpy as np

        import schemagen

        self._compile, self._options = schemagen.compile, {"property_order": order, "resources": resources}
        self.vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer)
        _ = self.vocabulary.tables
        self._mask = np.zeros((1, -(-self.vocabulary.size // 32)), dtype=np.int32)
        self.words = self._mask[0]

    def compile(self, schema: Any) -> None:
        """See `MaskEngine`."""
        self.grammar = self._compile(schema, self.vocabulary, cache=None, **self._options)
        self._matcher = self.grammar.matcher()

    def reset(self) -> None:
        """See `MaskEngine`."""
        self._matcher.reset()

    def fill(self) -> None:
        """See `MaskEngine`."""
        self._matcher.fill_next_token_bitmask(self._mask, 0)

    def accept(self, token_id: int) -> None:
        """See `MaskEngine`."""
        self._matcher.accept_token(token_id)

    def done(self) -> bool:
        """See `MaskEngine`."""
        return self._matcher.is_accepting()


class Llguidance:
    """llguidance, by its LLMatcher; keys in the order of the schema."""

    def __init__(self, tokenizer: Any, **_: Any) -> None:
        import llguidance
        import llguidance.hf
        from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask

        self._matcher_class, self._fill = llguidance.LLMatcher, fill_next_token_bitmask
        self._tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self._mask = allocate_token_bitmask(1, self._tokenizer.vocab_size)
        self.words = self._mask[0]

    def compile(self, schema: Any) -> None:
        """See `MaskEngine`."""
        grammar = self._matcher_class.grammar_from_json_schema(json.dumps(schema))
        self._start = self._matcher = self._matcher_class(self._tokenizer, grammar, log_level=0)
        self._check()

    def reset(self) -> None:
        """See `MaskEngine`."""
        self._matcher = self._start.deep_copy()

    def fill(self) -> None:
        """See `MaskEngine`."""
        self._fill(self._matcher, self._mask, 0)

    def accept(self, token_id: int) -> None:
        """See `MaskEngine`."""
        self._matcher.consume_token(token_id)
        self._check()

    def done(self) -> bool:
        """See `MaskEngine`."""
        return bool(self._matcher.is_accepting())

    def _check(self) -> None:
        if self._matcher.is_error():
            raise EngineError(self._matcher.get_error()[:300])


class Xgrammar:
    """xgrammar with free whitespace; properties that are not named may follow, as JSON Schema says."""

    def __init__(self, tokenizer: Any, **_: Any) -> None:
        import xgrammar

        self._xgrammar, self._eos = xgrammar, tokenizer.eos_token_id
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self._mask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
        self.words = self._mask.numpy()[0]
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, schema: Any) -> None:
        """See `MaskEngine`."""
        self._grammar = self._compiler.compile_json_schema(json.dumps(schema), any_whitespace=True, strict_mode=False)
        self.reset()

    def reset(self) -> None:
        """See `MaskEngine`."""
        self._matcher = self._xgrammar.GrammarMatcher(self._grammar)

    def fill(self) -> None:
        """See `MaskEngine`."""
        self._matcher.fill_next_token_bitmask(self._mask)

    def accept(self, token_id: int) -> None:
        """See `MaskEngine`."""
        self._matcher.accept_token(token_id)

    def done(self) -> bool:
        """See `MaskEngine`."""
        self.fill()
        return allows(self.words, self._eos)


class OutlinesCore:
    """outlines-core: schema to regular expression to an index over the vocabulary; flat whitespace, no recursion."""

    def __init__(self, tokenizer: Any, **_: Any) -> None:
        import numpy as np
        import outlines_core
        from outlines_core.json_schema import build_regex_from_schema

        import schemagen

        self._module, self._regex = outlines_core, build_regex_from_schema
        # Its own reader asks the hub for the tokenizer by name; the bytes of the tokens are the same.
        ids: dict[bytes, list[int]] = {}
        tokens = schemagen.Vocabulary.from_tokenizer(tokenizer).tokens
        for token_id, data in enumerate(tokens):
            if data:
                ids.setdefault(data, []).append(token_id)
        self._vocabulary = outlines_core.Vocabulary(tokenizer.eos_token_id, ids)
        self.words = np.zeros(-(-len(tokens) // 32), dtype=np.int32)

    def compile(self, schema: Any) -> None:
        """See `MaskEngine`."""
        index = self._module.Index(self._regex(json.dumps(schema)), self._vocabulary)
        self._guide = self._module.Guide(index)

    def reset(self) -> None:
        """See `MaskEngine`."""
        self._guide.reset()

    def fill(self) -> None:
        """See `MaskEngine`."""
        self._guide.write_mask_into(self.words.ctypes.data, self.words.size, self.words.itemsize)

    def accept(self, token_id: int) -> None:
        """See `MaskEngine`."""
        self._guide.advance(token_id, return_tokens=False)

    def done(self) -> bool:
        """See `MaskEngine`."""
        return bool(self._guide.is_finished())


#: Name -> class and the module it needs.
ENGINES: dict[str, tuple[Any, str]] = {
    "schemagen": (Schemagen, "schemagen"),
    "llguidance": (Llguidance, "llguidance"),
    "xgrammar": (Xgrammar, "xgrammar"),
    "outlines-core": (OutlinesCore, "outlines_core"),
}


def allows(words: Any, token_id: int) -> bool:
    """Whether a mask allows a token."""
    return bool((int(words[token_id >> 5]) >> (token_id & 31)) & 1)


def installed(asked: list[str] | None) -> list[str]:
    """Return the wanted engines (all if None) that are installed; the others are named on a line."""
    found = []
    for name in asked or ENGINES:
        if importlib.util.find_spec(ENGINES[name][1]) is None:
            print(f"skipped: {name} is not installed (benchmarks/README.md)")
        else:
            found.append(name)
    return found


def feed(engine: MaskEngine, ids: list[int], times: list[float], clock: Callable[[], float]) -> bool:
    """Feed one text, up to a token that is refused; append the microseconds of each token to `times`."""
    engine.reset()
    for token_id in ids:
        start = clock()
        engine.fill()
        allowed = allows(engine.words, token_id)
        if allowed:
            engine.accept(token_id)
        times.append((clock() - start) * 1e6)
        if not allowed:
            return False
    return True
