"""`compile`: from a type, a schema, a pattern, a list of choices or a grammar text to a `Grammar` over a vocabulary."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar, overload

from schemagen.checks import check_flag, kind_of
from schemagen.engine.native.builder import require_core
from schemagen.engine.options import DEFAULT_LIMITS, Limits, Options, PropertyOrder, WhitespacePolicy
from schemagen.errors import LimitError, OptionError, UnsatisfiableSchemaError, VocabularyError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.grammar import Grammar
from schemagen.grammar.languages import to_regex, unwritable
from schemagen.grammar.memory_cache import CacheInfo, FrozenSpec, GrammarMemory, freeze
from schemagen.grammar.pipeline import context_free_engine, json_engine, pattern_engine
from schemagen.grammar.reading import check_layout, read_source, styled, target_of, understood
from schemagen.grammar.schema_values import frames_inside, warn_of_names
from schemagen.grammar.specs import Choice, Regex
from schemagen.schema.layouts import Layout
from schemagen.threads.clock import Deadline
from schemagen.threads.free_threading import HAS_LOCK, LARGE
from schemagen.writers import check_format

if TYPE_CHECKING:
    import re

    from pydantic import TypeAdapter
    from typing_extensions import TypeForm, Unpack

    from schemagen.grammar.json_texts import Json
    from schemagen.grammar.written import Written
    from schemagen.vocabulary import Vocabulary
    from schemagen.writers import TextFormat

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


Cache: TypeAlias = Literal["memory"] | None
T = TypeVar("T")


class LayoutOptions(TypedDict, total=False):
    """The options of `LanguageModel.compile`, for type checkers."""

    property_order: PropertyOrder
    whitespace: WhitespacePolicy
    strict: bool
    as_: TextFormat


class CompileOptions(LayoutOptions, total=False):
    """The options of `compile`, for type checkers."""

    resources: Mapping[str, Any] | None
    limits: Limits | None
    cache: Cache


_NOTHING = FrozenSpec(None, (None,))
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
    """Forget the grammars that `compile` keeps in memory and give free memory back; those in use are not touched."""
    _memory.clear()


@overload
def compile(  # noqa: A001
    spec: type[T] | Choice[T] | TypeAdapter[T] | ContextFree[T],
    vocabulary: Vocabulary,
    **options: Unpack[CompileOptions],
) -> Grammar[T]: ...
@overload
def compile(  # noqa: A001
    spec: Regex | re.Pattern[str] | list[str] | tuple[str, ...],
    vocabulary: Vocabulary,
    **options: Unpack[CompileOptions],
) -> Grammar[str]: ...
@overload
def compile(  # noqa: A001
    spec: Mapping[str, Any] | bool | Json, vocabulary: Vocabulary, **options: Unpack[CompileOptions]
) -> Grammar: ...
@overload
def compile(spec: TypeForm[T], vocabulary: Vocabulary, **options: Unpack[CompileOptions]) -> Grammar[T]: ...  # noqa: A001
@overload
def compile(spec: Any, vocabulary: Vocabulary, **options: Unpack[CompileOptions]) -> Grammar: ...  # noqa: A001
def compile(  # noqa: A001, PLR0913 - the field's verb, as in re.compile; options are keywords
    spec: Any,
    vocabulary: Vocabulary = None,  # type: ignore[assignment] # left out it is an error that says what to give
    *,
    property_order: PropertyOrder = "schema",
    whitespace: WhitespacePolicy = "flexible",
    strict: bool = True,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cache: Cache = "memory",
    engine: str | None = None,
    as_: TextFormat = "json",
) -> Grammar:
    """Return the grammar of a type, JSON Schema, `Regex`, `Choice`, `GBNF`, `EBNF` or `Lark` over a vocabulary.

    Args:
        spec: Any type that pydantic's TypeAdapter takes (or a TypeAdapter), a JSON Schema (dict or bool), a `Regex`, a
            `Choice`, or a grammar (`GBNF`, `EBNF`, `Lark`). A list of texts means a `Choice` of them, a compiled pattern of
            `re` a `Regex` with its flags. Of a ``response_format`` of
            OpenAI the schema in it is taken. A dict may be changed afterwards, but not by another thread in the meantime.
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
            microseconds (`cache_info`, `clear_cache`). None keeps nothing.
        engine: Deprecated and ignored: the compiled core does all masks. `schemagen.reference` has the engine in Python.
        as_: How a value is written: "json"; "python", a constructor call; "yaml"; "xml"; and "csv" or "markdown", a table of a
            ``list[Row]``. The value is the same. Other than "json" is for types, and but for "python" for schemas, too;
            ``property_order``, ``whitespace`` and ``resources`` are for JSON.

    Raises:
        SchemaError: The spec is no type and no schema, is invalid, cannot be enforced, or has no instance.
        OptionError: An argument cannot be meant.
        PatternError: A pattern is invalid or not regular.
        GrammarError: A grammar cannot be read, or a part of it cannot be enforced.
        LimitError: A limit stopped the work.
        VocabularyError: The vocabulary has no token with which a text can begin.

    Warns:
        UserWarning: A schema has no keyword of JSON Schema, which is valid, and allows any value.

    Cost: about 0.1 ms and 20 us per sub-schema; automaton states are made when they are first needed.
    """
    check_layout(property_order, whitespace)
    if engine is not None:
        _warn_of_engine(engine)
    _check_arguments(vocabulary, strict, resources, limits, cache)
    spec = understood(spec)
    if as_ != "json":
        spec = _written(spec, as_, property_order=property_order, whitespace=whitespace, resources=resources)
    options = Options(property_order=property_order, whitespace=whitespace, limits=limits or DEFAULT_LIMITS)
    frozen = freeze(spec)
    documents = _NOTHING if resources is None else freeze(dict(resources))
    key = None
    if cache is not None and frozen.key is not None and documents.key is not None:
        reading = (property_order, whitespace, options.limits, strict, documents.key)
        key = (frozen.key, vocabulary.fingerprint, reading)
        known = _memory.get(key)
        if known is not None:
            return known
    arguments = {
        "property_order": property_order,
        "whitespace": whitespace,
        "strict": strict,
        "resources": documents.copy(),
        "limits": options.limits,
    }
    grammar = _compile_without_collector(frozen, vocabulary, options, arguments)
    _refuse_unwritable(grammar)
    return grammar if key is None else _memory.put(key, grammar)


def _written(spec: Any, as_: TextFormat, **of_json: Any) -> Written[Any]:
    """Return the spec of a format other than JSON."""
    from schemagen.grammar.written import written

    check_format(as_)
    for name, given in of_json.items():
        if given not in ("schema", "flexible", None):
            raise OptionError(
                f"{name}={given!r:.80} with as_={as_!r}",
                why="it is for texts in JSON; members are written in the order of declaration, in one fixed layout",
                fix=f"leave {name} out",
            )
    return written(spec, as_)


def _compile_without_collector(
    frozen: FrozenSpec, vocabulary: Vocabulary, options: Options, arguments: dict[str, Any]
) -> Grammar:
    """Compile with the garbage collector turned off.

    Compiling allocates many short-lived, acyclic objects. A collection in the middle promotes them, and can trigger a full
    one, 0.1 s with transformers loaded, at one in some 500 schemas. The switch is global: of several compilations side by
    side the first to end turns collection on again, so it is never off for long. A thread that turns it off itself in this
    short time may find it on again. An interpreter without the global lock has no generations, and nothing to gain.
    """
    collecting = HAS_LOCK and gc.isenabled()
    try:
        if collecting:
            gc.disable()
            _pauses.append(True)
        with Deadline(options.limits.max_seconds):
            return _compile(frozen, vocabulary, options, arguments)
    except RecursionError as error:
        raise LimitError(
            "the schema is nested deeper than Python's recursion limit",
            fix="flatten it, or raise sys.setrecursionlimit",
        ) from error
    finally:
        if collecting:
            gc.enable()
            del _pauses[-1:]


def _refuse_unwritable(grammar: Grammar) -> None:
    """Refuse a vocabulary with which no text of a grammar can begin.

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


def recompile(spec: Any, vocabulary: Vocabulary, arguments: dict[str, Any]) -> Grammar:
    return compile(spec, vocabulary, **arguments)


def _warn_of_engine(engine: Any) -> None:
    warnings.warn(
        f"engine={engine!r:.80} is deprecated and has no effect: every grammar runs in the compiled core. The engine in pure "
        "Python is schemagen.reference.compile(spec, vocabulary)",
        DeprecationWarning,
        stacklevel=frames_inside(),
    )


def _check_arguments(vocabulary: Any, strict: Any, resources: Any, limits: Any, cache: Any) -> None:
    check_flag("strict", strict)
    if cache is not None and cache != "memory":
        raise OptionError(
            f"cache={cache!r:.80}",
            why="grammars are kept in memory; what a folder keeps from process to process is a vocabulary",
            fix="choose 'memory' or None; give a folder to schemagen.load or Vocabulary.from_tokenizer",
        )
    if limits is not None and not isinstance(limits, Limits):
        fix = "give schemagen.Limits(max_states=...)"
        if isinstance(limits, dict) and limits and all(isinstance(name, str) for name in limits):
            fix = f"give schemagen.Limits({', '.join(f'{name}={value!r}' for name, value in limits.items())})"
        raise OptionError(f"limits={limits!r:.80}", why=f"it is {kind_of(limits)}", fix=fix)
    if resources is not None and not isinstance(resources, Mapping):
        raise OptionError(
            f"resources={resources!r:.80}", why=f"it is {kind_of(resources)}", fix="give a dict from URIs to documents"
        )
    if not hasattr(type(vocabulary), "fingerprint"):
        raise _no_vocabulary(vocabulary)


def _no_vocabulary(given: Any) -> VocabularyError:
    """Return the error of something that is no vocabulary, with what to give instead of it."""
    fix = "pass lm.vocabulary, or schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=...)"
    if given is None:
        fix += "; or call lm.compile(spec)"
    if hasattr(type(given), "vocabulary"):
        fix = "it has one: pass its .vocabulary, schemagen.compile(spec, lm.vocabulary), or call lm.compile(spec)"
    elif callable(getattr(given, "get_vocab", None)):
        fix = (
            "pass schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=...), with the width of the model's logits"
        )
    elif isinstance(given, (type, dict, Regex, Choice, ContextFree)):
        fix = "the spec comes first: schemagen.compile(spec, vocabulary)"
    return VocabularyError(f"compile() got {kind_of(given)} instead of a Vocabulary", fix=fix)


def _compile(frozen: FrozenSpec, vocabulary: Vocabulary, options: Options, arguments: dict[str, Any]) -> Grammar:
    # An import statement takes longer, though it does nothing. A module that another thread is importing is there already,
    # without the names that it defines last.
    if not hasattr(sys.modules.get("schemagen._core"), "fill_rows"):
        require_core()
    spec = frozen.value
    if isinstance(spec, Regex | Choice):
        try:
            made = pattern_engine(spec, vocabulary, options)
        except UnsatisfiableSchemaError as error:
            raise unwritable(spec) or error from error
        return Grammar(frozen, vocabulary, arguments, compiler=recompile, implementation=made)

    if isinstance(spec, ContextFree):
        made, over = context_free_engine(spec, vocabulary, options)
        return Grammar(frozen, vocabulary, arguments, compiler=recompile, implementation=made, over=over)

    target = target_of(spec)
    if target is None and isinstance(spec, dict):
        warn_of_names(spec)
    if HAS_LOCK and frozen.marshalled is not None and len(frozen.marshalled) > LARGE:
        spec = frozen.copy()
    source = read_source(spec if target is None else target.schema, arguments, target, frozen.marshalled)
    made, is_exact = json_engine(source, styled(options, target), vocabulary)
    return Grammar(
        frozen,
        vocabulary,
        arguments,
        compiler=recompile,
        implementation=made,
        target=target,
        is_exact=is_exact or target is not None,  # a type checks its values itself
    )
