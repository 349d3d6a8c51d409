"""`compile`: from a type, a schema, a pattern or a list of choices to a `Grammar` over a vocabulary."""

from __future__ import annotations

import gc
import json
import marshal
import os
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, EnumMeta
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast, overload

from schemagen.arguments import PatternDialect, check_dialect, check_flag, check_folder, kind_of
from schemagen.engine.options import (
    DEFAULT_LIMITS,
    DEFAULT_STYLE,
    Deadline,
    Limits,
    Options,
    PropertyOrder,
    WhitespacePolicy,
)
from schemagen.errors import (
    InvalidSchemaError,
    LimitError,
    OptionError,
    PatternError,
    SchemagenError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
    ValidationFailed,
    VocabularyError,
)
from schemagen.grammar.memory_cache import CacheInfo, GrammarMemory
from schemagen.grammar.refusals import not_json, refused_by_type
from schemagen.grammar.schema_size import check_size
from schemagen.grammar.schema_values import check_values, warn_of_names
from schemagen.grammar.specs import choices_of, list_of_others, no_spec, pattern_text, type_of_adapter
from schemagen.regex.hashing import HashedOnce, hashed_once
from schemagen.schema.layouts import POLICIES, Layout
from schemagen.schema.numbers.rules import MAX_EXPONENT
from schemagen.schema.report import Entry, Report
from schemagen.threads.forking import without_property_locks
from schemagen.threads.free_threading import HAS_LOCK, LARGE, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from schemagen import _core
    from schemagen.draw import Drawing
    from schemagen.engine.native.fast_reader import CorePass
    from schemagen.engine.native.lowering import JsonLowering
    from schemagen.engine.native.program import Recorder
    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.engine.reference.index import ReferenceEngine
    from schemagen.grammar.file_cache import GrammarEntry
    from schemagen.regex import ast
    from schemagen.schema.normalise import Dialect, Normaliser
    from schemagen.types.reflection import Target
    from schemagen.vocabulary import Vocabulary

__all__ = [
    "CacheInfo",
    "Choice",
    "Grammar",
    "Layout",
    "Limits",
    "Regex",
    "cache_info",
    "clear_cache",
    "compile",
    "to_regex",
]

#: Its automaton is built whole, in Python: more states would take minutes.
MAX_REFERENCE_STATES = 20_000
#: What the sources of the core have, and no installed package.
SOURCE_OF_CORE = "core/python/module.cpp"
#: From so many texts on, those of a Choice are no expressions.
MANY_CHOICES = 1_000

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

EngineName = Literal["auto", "native", "reference"]
Picture = Literal["automaton", "pushdown", "index", "mask"]
#: "memory", None or the path of a folder.
Cache: TypeAlias = "str | os.PathLike[str] | None"


@dataclass(frozen=True, slots=True)
class Regex:
    """Text that matches ``pattern`` as a whole.

    Args:
        pattern: For example ``r"[A-Z]{3}-[0-9]+"``. Back-references have no finite automaton and are refused.
        dialect: Whose syntax the pattern is in: that of Python's `re`, of ECMA-262 with the `u` flag (as in JSON Schema), or of
            Rust's `regex` crate (as in pydantic's `Field(pattern=...)`).
    """

    pattern: str
    dialect: PatternDialect = "python"

    def __post_init__(self) -> None:
        """Refuse what is no text, and unknown dialects, at once."""
        if not isinstance(self.pattern, str):
            raise OptionError(
                f"the pattern of a Regex is {kind_of(self.pattern)}",
                why="a pattern is a str",
                fix="a compiled pattern of re is a spec as it is: lm(prompt, re.compile(...))",
            )
        check_dialect(self.dialect)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        dialect = "" if self.dialect == "python" else f", dialect={self.dialect!r}"
        return f"Regex(pattern={self.pattern!r}{dialect})"


@hashed_once
@dataclass(frozen=True, slots=True, init=False)
class Choice(HashedOnce, Generic[T]):
    """One of a few texts, as they are (not as JSON strings).

    ``Choice("yes", "no")``, ``Choice(["yes", "no"])``, or ``Choice(Answer)`` of an `Enum` whose values are texts: there the
    value is the member.

    Args:
        options: The texts, a list of them, or an enum.

    Attributes:
        options: The texts.
        enum: The enum, if there is one.

    Raises:
        OptionError: An option is no text, or there is none.
    """

    options: tuple[str, ...]
    enum: type[Enum] | None

    @overload
    def __init__(self: Choice[E], options: type[E], /) -> None: ...
    @overload
    def __init__(self: Choice[str], options: Iterable[str], /) -> None: ...
    @overload
    def __init__(self: Choice[str], *options: str) -> None: ...
    def __init__(self, *options: Any) -> None:
        if not options:
            raise OptionError(
                "Choice() has no options", why="there is nothing to choose", fix='give the texts: Choice("yes", "no")'
            )
        only: Any = options[0] if len(options) == 1 else None
        enum = cast("type[Enum]", only) if isinstance(only, EnumMeta) else None
        texts = choices_of(options if enum is None else tuple(member.value for member in enum), enum)
        object.__setattr__(self, "options", texts)
        object.__setattr__(self, "enum", enum)

    def value_of(self, text: str) -> str | Enum:
        """Return what one of the texts stands for: itself, or the member of the enum.

        Raises:
            ValidationFailed: It is none of the texts.
        """
        if text not in self.options:
            raise ValidationFailed(
                f"{text!r:.80} is none of the options", text=text, fix="validate a text of this grammar"
            )
        return text if self.enum is None else next(member for member in self.enum if member.value == text)


@without_property_locks
class Grammar:
    """A compiled constraint over a vocabulary: immutable, without any per-sequence state, shared between threads.

    Attributes:
        vocabulary: The vocabulary it is a mask over.
        engine: "native" or "reference".
    """

    def __init__(
        self,
        frozen: _Frozen,
        vocabulary: Vocabulary,
        arguments: dict[str, Any],
        *,
        engine: str,
        implementation: Engine,
        target: Target[Any] | None = None,
        is_exact: bool = True,
    ) -> None:
        # A schema is kept as bytes: few need it again, and for the garbage collector it would be hundreds of objects.
        self._frozen = frozen if frozen.marshalled is None else frozen._replace(value=None)
        self.vocabulary = vocabulary
        self.engine = engine
        self._arguments = arguments
        self._implementation = implementation
        self._target = target
        self._is_exact = is_exact

    @cached_property
    def spec(self) -> Any:
        """What was compiled; a copy of it, if it was a JSON Schema."""
        return self._frozen.copy()

    @property
    def schema(self) -> Any:
        """The JSON Schema, None for patterns and choices."""
        if self._target is not None:
            return self._target.schema
        return None if isinstance(self.spec, Regex | Choice) else self.spec

    def __deepcopy__(self, memo: dict[int, Any]) -> Grammar:
        """Return this grammar: nothing in it ever changes (transformers copies the options of a request)."""
        return self

    def matcher(self) -> Matcher:
        """Return a cursor at the start of a text."""
        return self._implementation.matcher()

    @cached_property
    def report(self) -> Report:
        """What became of every keyword at every node.

        Cost: when it is first asked for, that of compiling; nothing is noted for it before.
        """
        if isinstance(self.spec, Regex | Choice):
            return Report((Entry("", type(self.spec).__name__.lower(), "enforced"),))
        return _report(self.schema, self._arguments, self._target, self.engine)

    @cached_property
    def min_new_tokens(self) -> int | None:
        """The smallest budget of tokens that always suffices for a whole text: see `Matcher.tokens_to_finish`.

        None where the vocabulary has no token for some byte of every text, or where the shortest text is not found in
        reasonable time (above 200,000 bytes it is not looked for).
        """
        return self.matcher().tokens_to_finish()

    @cached_property
    def _least_new_tokens(self) -> int:
        """A lower bound of the tokens of a text, known also where `min_new_tokens` is not."""
        least_bytes = getattr(self.matcher(), "least_bytes", None)
        least = 0 if least_bytes is None else least_bytes()
        return -(-least // max(1, *map(len, self.vocabulary.tokens)))

    @cached_property
    def token_table(self) -> _core.TokenTable | None:
        """This grammar as a table over tokens, for `schemagen.device`; None for the reference engine."""
        if self.engine != "native":
            return None
        from schemagen import _core

        return _core.TokenTable(cast("_core.Constraint", self._implementation))

    @property
    def memory_bytes(self) -> int:
        """Bytes held by the automaton now; it grows a little while it is used, up to `Limits`."""
        return int(getattr(self._implementation, "memory_bytes", 0))

    def draw(
        self, what: Picture | None = None, *, after: str | bytes = "", max_states: int = 40, max_tokens: int = 8
    ) -> Drawing:
        """Return a picture of this grammar: Mermaid or DOT text, SVG where Graphviz is installed. Notebooks show it.

        Args:
            what: "automaton" is the finite automaton of the language, over characters; "pushdown" the objects and arrays of a
                schema and how they nest; "index" the tokens that lead from state to state; "mask" the tokens that are allowed
                behind a text. None: the automaton of a pattern or choice, the pushdown of a schema or type.
            after: The text before the mask.
            max_states: Most states, or objects and arrays, to draw; the caption says what is left out.
            max_tokens: Most tokens to list in one place; there and in the caption they are counted.

        Raises:
            UnsupportedSchemaError: Of a recursive schema, or with keys in any order, there is no finite automaton and no index.
            LimitError: The automaton is too large to be built whole, which the reference engine does.
            MatcherError: No text begins with ``after``.
            OptionError: ``what`` is none of these, or "pushdown" of a pattern or choice, which is regular.

        Cost: of "automaton" and "index", building the automaton in Python, seconds at worst; an index O(V) for each state.
        """
        is_pattern = isinstance(self.spec, Regex | Choice)
        kind = what or ("automaton" if is_pattern else "pushdown")
        if kind not in _PICTURES:
            raise _mistyped("what", what, _PICTURES)
        if kind == "mask":
            from schemagen.draw.mask import draw_mask

            text = after if isinstance(after, bytes) else after.encode()
            return draw_mask(self.matcher(), self.vocabulary, text, max_tokens=max_tokens)
        if kind == "pushdown":
            if is_pattern:
                raise OptionError("what='pushdown'", why="a pattern or choice needs no stack", fix="choose 'automaton'")
            return self._pushdown(max_states)
        engine = self._as_reference()
        if kind == "automaton":
            from schemagen.draw.automaton import draw_automaton

            return draw_automaton(engine.fsm, max_states=max_states)
        from schemagen.draw.index import draw_index

        return draw_index(engine, max_states=max_states, max_tokens=max_tokens)

    def validate(self, text: str) -> Any:
        """Return the value that a complete text denotes: an instance of the type, parsed JSON, or the text itself.

        Raises:
            ValidationFailed: A validator of the type refuses it, or a keyword left to this check (``strict=False``); or the
                text is none of this grammar, such as half of one. ``error`` is the exception of pydantic, jsonschema or json.
        """
        if self._target is not None:
            return _validated(self._target, text)
        if self.schema is None:
            return self.spec.value_of(text) if isinstance(self.spec, Choice) else text
        try:
            value = json.loads(text)
        except ValueError as error:
            raise not_json(text, error, str(error)) from error
        if not self._is_exact:
            _check_afterwards(self.schema, value, text, self._arguments["resources"])
        return value

    def _read_again(self) -> tuple[Normaliser, Options]:
        """Return the schema, ready to be looked into, and the options that its texts were compiled with."""
        arguments = self._arguments
        options = Options(arguments["property_order"], arguments["whitespace"], limits=arguments["limits"])
        options = _styled(options, self._target)
        return _source(self.schema, arguments, self._target).normaliser(options), options

    def _pushdown(self, max_states: int) -> Drawing:
        from schemagen.draw.pushdown import draw_pushdown

        return draw_pushdown(self._read_again()[0], max_states=max_states)

    def _as_reference(self) -> ReferenceEngine:
        """Return the engine whose automaton is built whole."""
        if self.engine == "reference":
            return cast("ReferenceEngine", self._implementation)
        if self.schema is not None and self._arguments["property_order"] == "any":
            raise _unordered("no finite automaton of a picture has keys in any order", "draw 'pushdown' or 'mask'")
        try:
            regex = pattern_of(self.spec) if isinstance(self.spec, Regex | Choice) else _to_regex(*self._read_again())
            return cast("ReferenceEngine", _reference(regex, self.vocabulary, self._arguments["limits"]))
        except LimitError as error:
            raise LimitError(
                error.fact,
                why="a finite automaton is built whole before it is drawn",
                fix="lower the bounds of repetitions and lengths, or draw 'mask', of a schema 'pushdown', instead",
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as what it was made of: it is compiled again where it is unpickled."""
        return (_recompile, (self.spec, self.vocabulary, self._arguments))

    def __repr__(self) -> str:
        """Show what was compiled and by which engine."""
        return f"Grammar({self.spec!r:.80}, vocabulary={self.vocabulary.size}, engine={self.engine!r})"


def _validated(target: Target[Any], text: str) -> Any:
    """Return an instance of a type.

    Raises:
        ValidationFailed: pydantic refuses the text.
    """
    from pydantic import ValidationError

    try:
        return target.validate(text)
    except ValidationError as error:
        raise refused_by_type(text, error) from error


def _check_afterwards(schema: Any, value: Any, text: str, resources: Mapping[str, Any] | None) -> None:
    """Check a finished value by jsonschema, with the given documents only and patterns read as ECMA-262."""
    from jsonschema import ValidationError

    from schemagen.schema.checks import validator
    from schemagen.schema.document import pointer_of

    try:
        validator(schema, resources).validate(value)
    except ValidationError as error:
        raise ValidationFailed(
            f"the text breaks a keyword that is only checked afterwards: {error.message}",
            at=pointer_of(tuple(error.absolute_path)),
            text=text,
            error=error,
        ) from error


_memory = GrammarMemory()
#: Compilations that have turned the garbage collector off: one of another thread never ends in a process that is forked.
_pauses: list[bool] = []


def _collect_again() -> None:
    if _pauses:
        _pauses.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_again)


def cache_info() -> CacheInfo:
    """Return what the memory of `compile` holds, and how often it had the grammar.

    Cost: asks each grammar for its bytes, about 1 us each.
    """
    return _memory.info()


def clear_cache() -> None:
    """Forget the grammars that `compile` keeps in memory; grammars in use and files are not touched."""
    _memory.clear()


def compile(  # noqa: A001, PLR0913 - the field's verb, as in re.compile; options are keywords
    spec: Any,
    vocabulary: Vocabulary,
    *,
    property_order: PropertyOrder = "schema",
    whitespace: WhitespacePolicy = "flexible",
    strict: bool = True,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cache: Cache = "memory",
    engine: EngineName = "auto",
) -> Grammar:
    """Return the grammar of a type, JSON Schema, `Regex` or `Choice` over a vocabulary.

    Args:
        spec: Any type that pydantic's TypeAdapter takes (or a TypeAdapter), a JSON Schema (dict or bool), a `Regex` or a
            `Choice`. A list of texts means a `Choice` of them, a compiled pattern of `re` a `Regex` with its flags. A dict may
            be changed afterwards, but not by another thread in the meantime.
        vocabulary: The tokens of the model.
        property_order: "schema" keeps keys in the order of declaration, additional keys last; "any" takes any order.
        whitespace: "flexible" takes compact, spaced and indented JSON, mixed; "compact" none; "spaced" the layout of
            json.dumps; "any" whitespace wherever JSON has it, also around the value, up to 64 characters in one place; a
            `Layout` exactly what json.dumps writes with these arguments.
        strict: Whether a keyword that cannot be enforced is an error. If False it is checked on the finished value and
            listed as such in `Grammar.report`.
        resources: Documents by URI that `$ref` may lead to; nothing is ever fetched.
        limits: Bounds on the work; the defaults stop hostile schemas in seconds.
        cache: "memory" keeps the last grammars, up to 256 MB and 1024 of them, so that compiling the same thing again costs
            microseconds (`cache_info`, `clear_cache`). A path is a folder, made where it is missing, in which the next process
            finds the grammar, too: one file for each schema, for all vocabularies. Nobody else should be able to write to it; a
            leading ``~`` is the home directory. A str is a path if it holds a separator or names a folder that is there. None
            keeps nothing. The reference engine writes no files.
        engine: "native" is the compiled core, "reference" pure Python without recursion, "auto" native where it is installed.

    Raises:
        SchemaError: The spec is no type and no schema, is invalid, cannot be enforced, or has no instance.
        OptionError: An argument cannot be meant.
        PatternError: A pattern is invalid or not regular.
        LimitError: A limit stopped the work.
        VocabularyError: The vocabulary has no token with which a text can begin.

    Warns:
        UserWarning: A schema has no keyword of JSON Schema, which is valid, and allows any value.
        RuntimeWarning: The folder of the cache cannot be written; the grammar is compiled all the same.

    Cost: about 0.1 ms and 20 us per sub-schema; automaton states are made when they are first needed.
    """
    check_layout(property_order, whitespace)
    _check_arguments(vocabulary, engine, strict, resources, limits)
    spec = _understood(spec)
    folder = _folder_of(cache)
    options = Options(property_order=property_order, whitespace=whitespace, limits=limits or DEFAULT_LIMITS)
    frozen = _freeze(spec)
    documents = _NOTHING if resources is None else _freeze(dict(resources))
    key = (
        (
            frozen.key,
            vocabulary.fingerprint,
            property_order,
            whitespace,
            options.limits,
            strict,
            documents.key,
            engine,
            folder,
        )
        if cache is not None and frozen.key is not None and documents.key is not None
        else None
    )
    if key is not None:
        known = _memory.get(key)
        if known is not None:
            return known
    arguments = {
        "property_order": property_order,
        "whitespace": whitespace,
        "strict": strict,
        "resources": documents.copy(),
        "limits": options.limits,
        "engine": engine,
    }
    # What is made on the way has no cycles and is gone in the end, but a collector that looks in between counts it as old
    # and soon looks through all objects of the process: 0.1 s where transformers is loaded, at one in some 500 schemas. The
    # switch is one for all threads: of several compilations the first to end turns it on again, so that it is never off for
    # long; a thread that turns it in this short time, too, may find it turned back. Without the interpreter's lock there is
    # nothing to gain: that collector has no old objects, and looks only when there are a quarter more of them.
    collecting = HAS_LOCK and gc.isenabled()
    try:
        if collecting:
            gc.disable()
            _pauses.append(True)
        grammar = _compile(frozen, vocabulary, options, arguments, None if key is None else folder)
    except RecursionError as error:
        raise LimitError(
            "the schema is nested deeper than Python's recursion limit",
            fix="flatten it, or raise sys.setrecursionlimit",
        ) from error
    finally:
        if collecting:
            gc.enable()
            del _pauses[-1:]
    _refuse_unwritable(grammar)
    return grammar if key is None else _memory.put(key, grammar)


def _refuse_unwritable(grammar: Grammar) -> None:
    """Refuse a vocabulary with which no text of a grammar can begin.

    Raises:
        VocabularyError: The first mask is empty.

    Cost: nothing for a vocabulary that can spell ASCII byte by byte; else the first mask.
    """
    if grammar.vocabulary.spells_ascii:
        return
    matcher = grammar.matcher()
    if not matcher.allowed_tokens() and not matcher.is_accepting():
        raise VocabularyError(
            f"no token of {grammar.vocabulary!r} can begin a text of {grammar.spec!r:.80}",
            why="the vocabulary has no token for any byte with which such a text begins",
            fix="use a vocabulary with every byte as a token, or check that the tokens were read as they are meant",
        )


def _understood(spec: Any) -> Any:
    """Return a spec in the form that is compiled: lists of texts and patterns of `re` are other names for ours.

    Raises:
        SchemagenError: It is no spec, or one with parts that would be lost.
    """
    if isinstance(spec, (dict, type, Regex, Choice)):
        return spec
    if isinstance(spec, re.Pattern):
        return Regex(pattern_text(spec))
    if isinstance(spec, (list, tuple)):
        if not all(isinstance(text, str) for text in spec):
            raise list_of_others(spec)
        return Choice(spec)
    return type_of_adapter(spec)


def _recompile(spec: Any, vocabulary: Vocabulary, arguments: dict[str, Any]) -> Grammar:
    return compile(spec, vocabulary, **arguments)


_ORDERS = ("schema", "any")
_ENGINES = ("auto", "native", "reference")
_PICTURES = ("automaton", "pushdown", "index", "mask")


def check_layout(property_order: Any, whitespace: Any) -> None:
    """Refuse a mistyped layout: taken for its default it would change the language without a word.

    Raises:
        OptionError: One is not known.
    """
    if property_order not in _ORDERS:
        raise _mistyped("property_order", property_order, _ORDERS)
    _check_whitespace(whitespace)


def _check_arguments(vocabulary: Any, engine: Any, strict: Any, resources: Any, limits: Any) -> None:
    """Refuse what is no argument of `compile`."""
    if engine not in _ENGINES:
        raise _mistyped("engine", engine, _ENGINES)
    check_flag("strict", strict)
    if limits is not None and not isinstance(limits, Limits):
        fix = "give schemagen.Limits(max_states=...)"
        if isinstance(limits, dict) and limits and all(isinstance(name, str) for name in limits):
            fix = f"give schemagen.Limits({', '.join(f'{name}={value!r}' for name, value in limits.items())})"
        raise OptionError(f"limits={limits!r:.80}", why=f"it is {kind_of(limits)}", fix=fix)
    if resources is not None and not isinstance(resources, Mapping):
        raise OptionError(
            f"resources={resources!r:.80}",
            why=f"it is {kind_of(resources)}",
            fix="give a dict from URIs to documents",
        )
    if not hasattr(type(vocabulary), "fingerprint"):
        raise _no_vocabulary(vocabulary)


def _no_vocabulary(given: Any) -> VocabularyError:
    """Return the error of something that is no vocabulary, with what to give instead of it."""
    fix = "pass lm.vocabulary, or schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=...)"
    if hasattr(type(given), "vocabulary"):
        fix = "it has one: pass its .vocabulary, schemagen.compile(spec, lm.vocabulary), or call lm.compile(spec)"
    elif callable(getattr(given, "get_vocab", None)):
        fix = (
            "pass schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=...), with the width of the model's logits"
        )
    elif isinstance(given, (type, dict, Regex, Choice)):
        fix = "the spec comes first: schemagen.compile(spec, vocabulary)"
    return VocabularyError(f"compile() got {kind_of(given)} instead of a Vocabulary", fix=fix)


def _check_whitespace(whitespace: Any) -> None:
    if isinstance(whitespace, Layout) or whitespace in POLICIES:
        return
    choices = ", ".join(map(repr, POLICIES))
    raise OptionError(f"whitespace={whitespace!r:.80}", fix=f"choose one of {choices}, or give a schemagen.Layout")


def _mistyped(name: str, value: Any, choices: tuple[Any, ...]) -> OptionError:
    return OptionError(f"{name}={value!r:.80}", fix=f"choose one of {', '.join(map(repr, choices))}")


def _folder_of(cache: Any) -> str | None:
    """Return the folder that files are kept in, None for none."""
    if cache is None or cache == "memory":
        return None
    check_folder(cache)
    folder: str = os.fspath(cache)
    if folder[0] == "~":
        from pathlib import Path

        return str(Path(folder).expanduser())
    return folder


class _Frozen(NamedTuple):
    """Something given, and what of it the caller cannot change any more.

    Attributes:
        value: The thing itself, to be read while the call lasts.
        key: What it is remembered by; None if it is not.
        marshalled: What `marshal` makes of it, if it is a dict.
    """

    value: Any
    key: Any
    marshalled: bytes | None = None

    def copy(self) -> Any:
        """Return the thing, or a copy of it if the caller can change it."""
        return self.value if self.marshalled is None else marshal.loads(self.marshalled)  # noqa: S302 - see _freeze


_NOTHING = _Frozen(None, (None,))


def _freeze(spec: Any) -> _Frozen:
    """Return what is given with a copy that the caller cannot change any more.

    `marshal` copies plain JSON values faster than anything else and, unlike JSON, tells 1 from "1" and lists from tuples. The
    copy stays what `marshal` made of it until somebody asks: few schemas are read again once they are compiled.
    """
    if isinstance(spec, dict):
        if not HAS_LOCK:
            spec = snapshot(spec)
        check_size(spec)
        try:
            text = marshal.dumps(spec, 2)
            return _Frozen(spec, ("schema", text), text)
        except ValueError:  # something that is no JSON, or nested very deep: compile says what is wrong with it
            check_values(spec)
            return _Frozen(spec, None)
    if isinstance(spec, bool | Regex | Choice) or spec is None:
        return _Frozen(spec, (type(spec), spec))
    key = ("type", spec, _arguments_of(spec))
    try:
        hash(key)
    except TypeError:
        return _Frozen(spec, None)
    return _Frozen(spec, key)


def _arguments_of(tp: Any) -> tuple[Any, ...] | None:
    """Return the arguments of a type, and theirs, in order: ``A | B`` equals ``B | A``, but pydantic tries them in turn."""
    given = getattr(tp, "__args__", None)
    return tuple((each, _arguments_of(each)) for each in given) if isinstance(given, tuple) else None


def _compile(
    frozen: _Frozen, vocabulary: Vocabulary, options: Options, arguments: dict[str, Any], folder: str | None
) -> Grammar:
    spec, chosen = frozen.value, _choose(arguments["engine"])
    folder = folder if chosen == "native" else None
    if isinstance(spec, Regex | Choice):
        try:
            made = _pattern_engine(spec, vocabulary, options, chosen, folder)
        except UnsatisfiableSchemaError as error:
            raise _unwritable(spec) or error from error
        return Grammar(frozen, vocabulary, arguments, engine=chosen, implementation=made)

    target = _target_of(spec)
    if target is None and isinstance(spec, dict):
        warn_of_names(spec)
    if HAS_LOCK and frozen.marshalled is not None and len(frozen.marshalled) > LARGE:
        spec = snapshot(spec)
    source = _source(spec if target is None else target.schema, arguments, target, frozen.marshalled)
    made, is_exact = _json_engine(source, _styled(options, target), vocabulary, chosen, folder)
    return Grammar(
        frozen,
        vocabulary,
        arguments,
        engine=chosen,
        implementation=made,
        target=target,
        is_exact=is_exact or target is not None,  # a type checks its values itself
    )


def _target_of(spec: Any) -> Target[Any] | None:
    """Return what pydantic knows of a type; None for a JSON Schema, which needs no pydantic."""
    if isinstance(spec, dict | bool):
        return None
    from schemagen.types.reflection import is_type, reflect

    if not is_type(spec):
        raise no_spec(spec)
    return reflect(spec)


class _Source(NamedTuple):
    """A schema and how it is read.

    Attributes:
        schema: The JSON Schema.
        dialect: Whose reading of patterns and formats counts.
        strict: As for `compile`.
        resources: As for `compile`.
        marshalled: What `marshal` makes of the schema, if that is at hand.
    """

    schema: Any
    dialect: Dialect
    strict: bool
    resources: Any
    marshalled: bytes | None

    def normaliser(self, options: Options) -> Normaliser:
        """Return a fresh one within the limits of the options."""
        return _front_end().Normaliser(
            self.schema,
            resources=self.resources,
            strict=self.strict,
            dialect=self.dialect,
            max_depth=options.limits.max_depth,
            max_alternatives=options.limits.max_alternatives,
            check_time=Deadline(options.limits.max_seconds).check,
            marshalled=self.marshalled,
        )


def _source(
    schema: Any, arguments: dict[str, Any], target: Target[Any] | None, marshalled: bytes | None = None
) -> _Source:
    dialect: Dialect = "json-schema" if target is None else "python"
    return _Source(schema, dialect, arguments["strict"], arguments["resources"], marshalled)


class _FrontEnd(NamedTuple):
    """What reads a schema and spells it for the core."""

    Normaliser: type[Normaliser]
    JsonLowering: type[JsonLowering]
    begin: Callable[..., CorePass | None]
    constraint_of: Callable[[CorePass, Vocabulary], Engine]


@lru_cache(maxsize=1)
def _front_end() -> _FrontEnd:
    """Import it when it is first needed, for a grammar from a file does without; once, for importing has its price, too."""
    from schemagen.engine.native.lowering import JsonLowering, begin, constraint_of
    from schemagen.schema.normalise import Normaliser

    return _FrontEnd(Normaliser, JsonLowering, begin, constraint_of)


def _json_engine(
    source: _Source, options: Options, vocabulary: Vocabulary, engine: str, folder: str | None
) -> tuple[Engine, bool]:
    """Return the engine of a schema, and whether nothing is left to a check of the finished value."""
    entry = None
    if folder is not None:
        documents = [source.schema, source.resources]
        tables = _rust_tables() if _has_pattern_dialect(documents) else ""
        entry = _cache_entry(folder, documents, options, "schema", source.dialect, source.strict, tables)
        kept = _load_cached(entry, options, vocabulary)
        if kept is not None:
            return kept
    try:
        if engine == "native" and entry is None and source.strict and source.resources is None:
            begun = _compile_in_core(source, options, vocabulary)
            if begun is not None:
                return begun
        recorder = _recorder(entry, options) if engine == "native" else None
        made, is_exact = _compile_in_python(source, options, vocabulary, engine, recorder)
    except UnsatisfiableSchemaError as error:
        from schemagen.engine.native.unsatisfiable import explained

        circumstances = {"dialect": source.dialect, "resources": source.resources, "native": engine == "native"}
        raise explained(error, source.schema, options, **circumstances) from None
    _store(entry, recorder, is_exact=is_exact)
    return made, is_exact


def _compile_in_core(source: _Source, options: Options, vocabulary: Vocabulary) -> tuple[Engine, bool] | None:
    """Return the engine of a schema that the core begins to read, None where the front end has to read all of it.

    The front end drops alternatives that lie inside others, with all that is below, before the core would know. So what is
    wrong with a schema, and whether anything is, only the front end can tell.
    """
    begun = _front_end().begin(source.schema, source.marshalled, source.dialect, options)
    if begun is None:
        return None
    if begun.is_whole:
        return _front_end().constraint_of(begun, vocabulary), True
    try:
        return _compile_in_python(source, options, vocabulary, "native", begun=begun)
    except (InvalidSchemaError, UnsupportedSchemaError, PatternError):
        return None


def _compile_in_python(
    source: _Source,
    options: Options,
    vocabulary: Vocabulary,
    engine: str,
    recorder: Recorder | None = None,
    begun: CorePass | None = None,
) -> tuple[Engine, bool]:
    normaliser = source.normaliser(options)
    made: Engine
    try:
        if engine == "native":
            made = _front_end().JsonLowering(normaliser, options, recorder, begun).compile(vocabulary)
        else:
            if options.property_order == "any":
                raise _unordered("no finite automaton of this engine has keys in any order", "use engine='native'")
            made = _reference(_to_regex(normaliser, options), vocabulary, options.limits)
        return made, normaliser.is_exact
    finally:
        normaliser.forget()


def _unordered(fact: str, instead: str) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(
        fact,
        why="it would have to remember which keys there were, in a state for each set of them",
        fix=f"compile with property_order='schema', or {instead}",
        code="not-regular",
    )


def _to_regex(normaliser: Normaliser, options: Options) -> ast.Regex:
    from schemagen.schema.text import json_text, page_of

    return json_text(normaliser, page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style))


def _rust_tables() -> str:
    """Return which tables decide what a pattern of Rust's means: those of the installed pydantic-core."""
    from schemagen.regex.rust_sets import unicode_version

    return unicode_version()


def _has_pattern_dialect(documents: Any) -> bool:
    """Whether a document names the dialect of a pattern somewhere."""
    try:
        return b"x-pattern-dialect" in marshal.dumps(documents, 2)
    except ValueError:  # no plain values: there is no file for it either
        return False


def _cache_entry(folder: str | None, source: Any, options: Options, *reading: Any) -> GrammarEntry | None:
    """Return the place of a grammar in the folder of the cache, if there is one."""
    if folder is None:
        return None
    from schemagen.grammar.file_cache import entry_of

    return entry_of(folder, source, options, *reading)


def _load_cached(entry: GrammarEntry | None, options: Options, vocabulary: Vocabulary) -> tuple[Engine, bool] | None:
    """Return the engine that a file holds and whether it is exact, None without such a file."""
    program = None if entry is None else entry.read()
    if program is None:
        return None
    from schemagen.engine.native.program import builder_of, replay

    return replay(program, builder_of(options), vocabulary)


def _recorder(entry: GrammarEntry | None, options: Options) -> Recorder | None:
    if entry is None:
        return None
    from schemagen.engine.native.lowering import recorder_of

    return recorder_of(options)


def _store(entry: GrammarEntry | None, recorder: Recorder | None, *, is_exact: bool) -> None:
    if entry is not None and recorder is not None:
        entry.write(recorder.program(is_exact=is_exact))


def _reference(regex: ast.Regex, vocabulary: Vocabulary, limits: Limits) -> Engine:
    from schemagen.engine.reference.index import ReferenceEngine

    states = min(limits.max_states, MAX_REFERENCE_STATES)
    return ReferenceEngine(regex, vocabulary, max_states=states, max_seconds=limits.max_seconds)


_PYTHON_STYLE = replace(DEFAULT_STYLE, integer_fraction=False)


def _styled(options: Options, target: Target[Any] | None) -> Options:
    """Python's int is written without a fraction; a JSON Schema integer may be 1.0, as is the default."""
    return options if target is None else options._replace(number_style=_PYTHON_STYLE)


def _report(schema: Any, arguments: dict[str, Any], target: Target[Any] | None, engine: str) -> Report:
    """Return the report of the keywords, then what pydantic checks, then the soft caps: the schema is read for it."""
    options = Options(arguments["property_order"], arguments["whitespace"], limits=arguments["limits"])
    options = _styled(options, target)
    normaliser = _source(schema, arguments, target).normaliser(options)
    if engine == "native":
        _front_end().JsonLowering(normaliser, options).has_values()
    else:
        _to_regex(normaliser, options)
    style = options.number_style
    checked, capped = ((), ()) if target is None else (target.checked, target.capped)
    return Report(
        (
            *normaliser.report().entries,
            *(Entry(at, what, "checked_after", "by pydantic, on the finished value") for at, what in checked),
            *(Entry(at, "depth", "enforced", f"soft cap: {what}") for at, what in capped),
            Entry(
                "",
                "whitespace",
                "enforced",
                options.layout_note,
            ),
            Entry(
                "",
                "digits",
                "enforced",
                f"soft cap: {style.max_integer_digits} before and {style.max_fraction_digits} after the point, or what "
                f"the bounds need; exponents up to {MAX_EXPONENT:,}",
            ),
        )
    )


def _choose(engine: EngineName) -> Literal["native", "reference"]:
    if engine == "reference":
        return "reference"
    # An import statement takes longer, though it does nothing. A module that another thread is just importing is there
    # already, without what it defines last.
    if hasattr(sys.modules.get("schemagen._core"), "fill_rows"):
        return "native"
    try:
        import schemagen._core  # noqa: F401 - only to see whether it is there
    except ImportError as error:
        if engine == "native":
            raise SchemagenError(
                "the compiled core is not installed",
                why=_core_missing(str(error))[0],
                fix=f"{_core_missing()[1]}, or use engine='reference'",
                code="no-compiled-core",
            ) from error
        _warn_slow()
        return "reference"
    return "native"


@lru_cache(maxsize=1)
def _warn_slow() -> None:
    """Say once that the compiled core is missing."""
    why, fix = _core_missing("it was installed without one")
    warnings.warn(
        f"schemagen runs without its compiled core ({why}): the pure-Python engine is slow and knows no recursion. To mend "
        f"it, {fix}.",
        RuntimeWarning,
        stacklevel=4,
    )


def _core_missing(reason: str = "") -> tuple[str, str]:
    """Return why there is no compiled core, and what to do: sources that were never built are no broken installation."""
    from pathlib import Path

    tree = Path(__file__).resolve().parents[2]
    if not (tree / SOURCE_OF_CORE).is_file():
        return reason, "install a C++20 compiler and reinstall schemagen"
    return (
        f"Python imports it from the sources in {tree}, where the core has not been built",
        "run `make core` there, or start Python in another folder if schemagen is installed as well",
    )


def pattern_of(spec: Regex | Choice[Any]) -> ast.Regex:
    """Return the language of a pattern or a list of choices."""
    from schemagen.regex import ast, parse_pattern

    if isinstance(spec, Regex):
        return parse_pattern(spec.pattern, spec.dialect, search=False)
    if not spec.options:
        raise UnsatisfiableSchemaError(
            "a Choice without options", why="there is nothing to choose", fix="give at least one text"
        )
    return ast.union(*(ast.literal(option) for option in spec.options))


def _unwritable(spec: Regex | Choice[Any]) -> UnsatisfiableSchemaError | None:
    """Return the error of a pattern or choice that no text matches because it asks for what no text contains."""
    from schemagen.regex.surrogates import surrogate_words

    why = surrogate_words(*((spec.pattern,) if isinstance(spec, Regex) else spec.options))
    if not why:
        return None
    fix = "write the character that the pair stands for, or leave it out"
    return UnsatisfiableSchemaError("no text can match the pattern", why=why, fix=fix)


def _pattern_engine(
    spec: Regex | Choice[Any], vocabulary: Vocabulary, options: Options, engine: str, folder: str | None
) -> Engine:
    if engine != "native":
        return _reference(pattern_of(spec), vocabulary, options.limits)
    from schemagen.engine.native.lowering import compile_choices, compile_pattern

    source, dialect = (spec.pattern, spec.dialect) if isinstance(spec, Regex) else (list(spec.options), "")
    tables = _rust_tables() if folder is not None and dialect == "rust" else ""
    entry = _cache_entry(folder, source, options, type(spec).__name__, dialect, tables)
    kept = _load_cached(entry, options, vocabulary)
    if kept is not None:
        return kept[0]
    recorder = _recorder(entry, options)
    made = None
    if isinstance(spec, Choice) and len(spec.options) > MANY_CHOICES:
        made = compile_choices(spec.options, vocabulary, options, recorder)
    if made is None:
        made = compile_pattern(pattern_of(spec), vocabulary, options, recorder)
    _store(entry, recorder, is_exact=True)
    return made


def to_regex(
    spec: Any,
    *,
    whitespace: WhitespacePolicy = "flexible",
    resources: Mapping[str, Any] | None = None,
    depth: int | None = None,
) -> str:
    """Return a pattern for Python's `re.fullmatch` with the same language as the constraint, keys in schema order.

    Args:
        spec: As for `compile`.
        whitespace: As for `compile`.
        resources: As for `compile`.
        depth: How often a recursive schema may contain itself; without it recursion is an error.

    Raises:
        UnsupportedSchemaError: The schema is recursive and no depth was given.
        LimitError: The pattern would be nested too deep.
    """
    from schemagen.regex.text import to_python_re

    spec = _understood(spec)
    if isinstance(spec, Regex | Choice):
        return to_python_re(pattern_of(spec))
    from schemagen.schema.normalise import Normaliser
    from schemagen.schema.text import json_text, page_of

    target = _target_of(spec)
    normaliser = Normaliser(
        _freeze(spec).value if target is None else target.schema,
        resources=resources,
        dialect="json-schema" if target is None else "python",
    )
    _check_whitespace(whitespace)
    options = _styled(Options(whitespace=whitespace), target)
    page = page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style)
    try:
        return to_python_re(json_text(normaliser, page, depth=depth))
    except RecursionError as error:
        raise LimitError(
            "the pattern is nested deeper than Python's recursion limit",
            why="a bound of hundreds of digits is spelled out digit by digit",
            fix="lower the bounds, or raise sys.setrecursionlimit; compile() needs no such pattern",
        ) from error
