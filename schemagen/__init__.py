"""Turn a Python type into a guarantee: constrained decoding from a type to a validated instance of it.

    import schemagen
    from pydantic import BaseModel

    @schemagen.structured
    class Person(BaseModel):
        name: str
        age: int

    Person.generate("Ada Lovelace, 36, London")     # -> Person

Everything public is named here. Names other than the exceptions are imported when they are first used, so that
`import schemagen` loads neither torch nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from schemagen import errors, events
from schemagen.errors import (
    BitmaskShapeError,
    BudgetError,
    DeadEndError,
    GenerationError,
    GrammarError,
    GrammarSyntaxError,
    InvalidPatternError,
    InvalidSchemaError,
    LimitError,
    LogitsError,
    MatcherError,
    MatcherTerminatedError,
    MissingPackageError,
    ModelError,
    ModelWarning,
    OptionError,
    OptionTypeError,
    PatternError,
    SchemaError,
    SchemagenError,
    ToolError,
    ToolRetry,
    UnsatisfiableSchemaError,
    UnsupportedGrammarError,
    UnsupportedPatternError,
    UnsupportedSchemaError,
    UnsupportedTypeError,
    ValidationFailed,
    VocabularyError,
)

if TYPE_CHECKING:
    from schemagen import text
    from schemagen.calling import Tool, ToolCall, tool
    from schemagen.calling.chat import Chat
    from schemagen.calling.stream import CallStream
    from schemagen.databases import sql
    from schemagen.decode import LogitsProcessor
    from schemagen.decorator import Structured, set_default_lm, structured
    from schemagen.engine.protocol import Matcher
    from schemagen.generation import Failure, Generation
    from schemagen.grammar.combinators import concat, repeat, union
    from schemagen.grammar.compiler import (
        CacheInfo,
        Layout,
        Limits,
        cache_info,
        clear_cache,
        compile,  # noqa: A004 - the field's verb
        to_regex,
    )
    from schemagen.grammar.context_free_specs import EBNF, GBNF
    from schemagen.grammar.grammar import Grammar
    from schemagen.grammar.json_texts import Json
    from schemagen.grammar.lark_spec import Lark
    from schemagen.grammar.specs import Choice, Regex
    from schemagen.lm.generator import Generator
    from schemagen.lm.language_model import LanguageModel
    from schemagen.lm.load import from_transformers, load, load_bundled
    from schemagen.lm.scoring import Score
    from schemagen.lm.stream import Stream
    from schemagen.masks.bitmask import (
        allocate_token_bitmask,
        apply_token_bitmask_inplace,
        fill_next_token_bitmasks,
    )
    from schemagen.rows.callable import Rows
    from schemagen.schema.report import Entry, Report
    from schemagen.streaming.partial import Partial
    from schemagen.structural_tags.spec import StructuralTag
    from schemagen.templates import Template, gen
    from schemagen.vocabulary import Vocabulary

__version__ = "0.1.0"

#: Public name -> the module that defines it; "schemagen" for a package. The TYPE_CHECKING block above declares the same
#: for type checkers.
_HOMES = {
    "CacheInfo": "schemagen.grammar.compiler",
    "CallStream": "schemagen.calling.stream",
    "Chat": "schemagen.calling.chat",
    "Choice": "schemagen.grammar.specs",
    "EBNF": "schemagen.grammar.context_free_specs",
    "Entry": "schemagen.schema.report",
    "Failure": "schemagen.generation",
    "GBNF": "schemagen.grammar.context_free_specs",
    "Generation": "schemagen.generation",
    "Generator": "schemagen.lm.generator",
    "Grammar": "schemagen.grammar.grammar",
    "Json": "schemagen.grammar.json_texts",
    "LanguageModel": "schemagen.lm.language_model",
    "Lark": "schemagen.grammar.lark_spec",
    "Layout": "schemagen.grammar.compiler",
    "Limits": "schemagen.grammar.compiler",
    "LogitsProcessor": "schemagen.decode",
    "Matcher": "schemagen.engine.protocol",
    "Partial": "schemagen.streaming.partial",
    "Regex": "schemagen.grammar.specs",
    "Report": "schemagen.schema.report",
    "Rows": "schemagen.rows.callable",
    "Score": "schemagen.lm.scoring",
    "Stream": "schemagen.lm.stream",
    "StructuralTag": "schemagen.structural_tags.spec",
    "Structured": "schemagen.decorator",
    "Template": "schemagen.templates",
    "Tool": "schemagen.calling",
    "ToolCall": "schemagen.calling",
    "Vocabulary": "schemagen.vocabulary",
    "allocate_token_bitmask": "schemagen.masks.bitmask",
    "apply_token_bitmask_inplace": "schemagen.masks.bitmask",
    "cache_info": "schemagen.grammar.compiler",
    "clear_cache": "schemagen.grammar.compiler",
    "compile": "schemagen.grammar.compiler",
    "concat": "schemagen.grammar.combinators",
    "fill_next_token_bitmasks": "schemagen.masks.bitmask",
    "from_transformers": "schemagen.lm.load",
    "gen": "schemagen.templates",
    "load": "schemagen.lm.load",
    "load_bundled": "schemagen.lm.load",
    "repeat": "schemagen.grammar.combinators",
    "set_default_lm": "schemagen.decorator",
    "sql": "schemagen.databases",
    "structured": "schemagen.decorator",
    "text": "schemagen",
    "to_regex": "schemagen.grammar.compiler",
    "tool": "schemagen.calling",
    "union": "schemagen.grammar.combinators",
}

_ASKED = "call the model with the prompt and the type: lm(prompt, Person)"
_LOADED = "schemagen.load(name) or schemagen.from_transformers(model, tokenizer)"
#: Names in the modules of other libraries -> the advice for users who look for them here. Python looks up
#: submodules here, too, before it imports them, so the lookup imports nothing.
_ELSEWHERE = {
    **dict.fromkeys(("generate", "json", "json_schema", "regex", "choice", "either", "format", "select"), _ASKED),
    **dict.fromkeys(("models", "from_openai", "from_provider", "from_litellm", "patch"), _LOADED),
    **dict.fromkeys(("cfg", "CFG"), "a grammar is schemagen.Lark(text), schemagen.GBNF(text) or schemagen.EBNF(text)"),
    "Maybe": "write Person | None",
    "Mode": "there is one way to enforce a type, so leave it out",
}

#: Importing `Vocabulary` also imports the compiler, which is needed next, so that the first call does not have to.
_FRONT_END = ("schemagen.grammar.compiler", "schemagen.schema.normalise", "schemagen.engine.native.lowering")

__all__ = [
    "EBNF",
    "GBNF",
    "BitmaskShapeError",
    "BudgetError",
    "CacheInfo",
    "CallStream",
    "Chat",
    "Choice",
    "DeadEndError",
    "Entry",
    "Failure",
    "Generation",
    "GenerationError",
    "Generator",
    "Grammar",
    "GrammarError",
    "GrammarSyntaxError",
    "InvalidPatternError",
    "InvalidSchemaError",
    "Json",
    "LanguageModel",
    "Lark",
    "Layout",
    "LimitError",
    "Limits",
    "LogitsError",
    "LogitsProcessor",
    "Matcher",
    "MatcherError",
    "MatcherTerminatedError",
    "MissingPackageError",
    "ModelError",
    "ModelWarning",
    "OptionError",
    "OptionTypeError",
    "Partial",
    "PatternError",
    "Regex",
    "Report",
    "Rows",
    "SchemaError",
    "SchemagenError",
    "Score",
    "Stream",
    "StructuralTag",
    "Structured",
    "Template",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolRetry",
    "UnsatisfiableSchemaError",
    "UnsupportedGrammarError",
    "UnsupportedPatternError",
    "UnsupportedSchemaError",
    "UnsupportedTypeError",
    "ValidationFailed",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "cache_info",
    "clear_cache",
    "compile",
    "concat",
    "errors",
    "events",
    "fill_next_token_bitmasks",
    "from_transformers",
    "gen",
    "load",
    "load_bundled",
    "repeat",
    "set_default_lm",
    "sql",
    "structured",
    "text",
    "to_regex",
    "tool",
    "union",
]


#: Plug-ins, reached as `schemagen.NAME` if they are installed -> their module.
_PLUG_INS = {"sglang": "schemagen_sglang", "vllm": "schemagen_vllm"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562) and keep it."""
    home = _HOMES.get(name)
    if name in _PLUG_INS:
        return _plug_in(name)
    if name == "_core":
        return _compiled_core()
    if home is None:
        advice = _ELSEWHERE.get(name, "")
        raise AttributeError(f"module 'schemagen' has no attribute {name!r}{advice and ': '}{advice}")
    if home == __name__:
        return import_module(f"{home}.{name}")
    value = getattr(import_module(home), name)
    if name == "Vocabulary":
        for module in _FRONT_END:
            import_module(module)
    globals()[name] = value
    return value


def _compiled_core() -> Any:
    """Import the compiled core.

    Raises:
        SchemagenError: It is not installed.
    """
    try:
        return import_module("schemagen._core")
    except ImportError:
        from schemagen.engine.native.builder import require_core

        require_core()
        raise


def _plug_in(name: str) -> Any:
    """Import the module of a plug-in.

    Raises:
        AttributeError: It is not installed; the text names the command that installs it.
    """
    try:
        return import_module(_PLUG_INS[name])
    except ModuleNotFoundError as error:
        if error.name != _PLUG_INS[name]:
            raise
        from schemagen.errors.installing import plug_in_command

        raise AttributeError(f"schemagen.{name} is a plug-in: {plug_in_command(name)}") from None


def __dir__() -> list[str]:
    """Return the public names, whether they are loaded yet or not."""
    return sorted({*globals(), *__all__})
