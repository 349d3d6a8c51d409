"""Every exception that schemagen raises, and the only place that renders them.

    SchemagenError
    ├── SchemaError                      the schema or type itself
    │   ├── InvalidSchemaError           not a JSON Schema, or a reference that leads nowhere
    │   ├── UnsupportedSchemaError       a keyword that cannot be enforced (strict=True)
    │   ├── UnsatisfiableSchemaError     no instance can exist
    │   └── UnsupportedTypeError         a Python type with no JSON form
    ├── PatternError
    │   ├── InvalidPatternError          not a regular expression in its dialect
    │   └── UnsupportedPatternError      not regular (back-references), or not in this dialect
    ├── GrammarError
    │   ├── GrammarSyntaxError           not a grammar in its language
    │   └── UnsupportedGrammarError      a construct of a grammar that cannot be enforced
    ├── LimitError                       a limit stopped the work; names both numbers and the knob
    ├── VocabularyError                  token bytes, widths or EOS ids that cannot be known
    ├── MatcherError
    │   ├── MatcherTerminatedError       EOS was already accepted
    │   ├── DeadEndError                 no token is allowed: an empty mask is never sampled
    │   └── BitmaskShapeError            dtype, device or width of a bitmask
    ├── OptionError                      an invalid argument; a ValueError, too
    │   └── OptionTypeError              an argument of the wrong type; a TypeError, too
    ├── ModelError                       no model can be loaded from there; an OSError, too
    │   └── LogitsError                  logits from which no token can be chosen; a GenerationError, too
    ├── MissingPackageError              a package that this call needs is not installed; an ImportError, too
    ├── ToolError                        a function that cannot be a tool, or a call that cannot be made
    ├── ToolRetry                        raised by tools themselves: the model shall call again
    └── GenerationError                  carries the text generated so far
        ├── BudgetError                  a budget of tokens or time ended the text before it was complete
        └── ValidationFailed             the text is valid JSON for the schema, a custom validator refused it

Each error states the fact with its values, then `at`, `why`, `fix`, and `code`, which is a heading of docs/errors.md.

`at` is a JSON pointer (RFC 6901) wherever it is a place in JSON: into the schema for a `SchemaError` or a pattern
within a schema, into a structural tag for a `GrammarError` of one, into the generated value for a `ValidationFailed`;
"" is the root of each. Elsewhere it names the subject of the error: a position of a pattern, a line and column of a
grammar, a field of a class, a parameter of a function, a row, a file.

There is one warning of our own, `ModelWarning`: a model does not fit its tokenizer or its options.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SchemagenError(Exception):
    """Base of every error of this package.

    Args:
        fact: The fact, with the values.
        at: The place: a JSON pointer into the schema or the value, or the subject of the error (see the module).
        why: The reason, in a sentence.
        fix: The remedy.
        code: A heading of docs/errors.md; the class has a default.
    """

    default_code: ClassVar[str] = "schemagen-error"

    def __init__(self, fact: str, *, at: str = "", why: str = "", fix: str = "", code: str = "") -> None:
        super().__init__(fact)
        self.fact = fact
        self.at = at
        self.why = why
        self.fix = fix
        self.code = code or self.default_code

    def __str__(self) -> str:
        """Render the fact, then one labelled line for each part that is known."""
        parts = (("at", self.at), ("why", self.why), ("fix", self.fix), ("code", self.code))
        text = "\n".join([self.fact, *(f"  {label + ':':<6}{text}" for label, text in parts if text)])
        return text.encode("utf-8", "backslashreplace").decode()  # half of a surrogate pair could not be printed


class SchemaError(SchemagenError):
    """A schema or a type that cannot become a constraint."""

    default_code = "schema-error"


class InvalidSchemaError(SchemaError):
    """The document is not a JSON Schema, or one of its references leads nowhere; `at` is a JSON pointer into it."""

    default_code = "invalid-schema"


class UnsupportedSchemaError(SchemaError):
    """A keyword that cannot be enforced; raised instead of weakening the constraint."""

    default_code = "unsupported-schema"


class UnsatisfiableSchemaError(SchemaError):
    """No JSON value can satisfy the schema."""

    default_code = "unsatisfiable-schema"


class UnsupportedTypeError(SchemaError):
    """A Python type that pydantic cannot describe as JSON."""

    default_code = "unsupported-type"


class PatternError(SchemagenError):
    """A regular expression that cannot be used; `pattern` and `position` (0-based) say where."""

    default_code = "pattern-error"

    def __init__(self, fact: str, *, pattern: str = "", position: int | None = None, **parts: str) -> None:
        if position is not None and not parts.get("at"):
            parts["at"] = f"position {position} of pattern {pattern!r}"
        super().__init__(fact, **parts)
        self.pattern = pattern
        self.position = position


class InvalidPatternError(PatternError):
    """Not a regular expression in its dialect."""

    default_code = "invalid-pattern"


class UnsupportedPatternError(PatternError):
    """A construct that no finite automaton can express, or that its dialect does not have."""

    default_code = "unsupported-pattern"


class GrammarError(SchemagenError):
    """A grammar (GBNF, EBNF, Lark) that cannot be used; `line` and `column` (both from 1) say where."""

    default_code = "grammar-error"

    def __init__(self, fact: str, *, line: int | None = None, column: int | None = None, **parts: str) -> None:
        if line is not None and not parts.get("at"):
            parts["at"] = f"line {line}, column {column}"
        super().__init__(fact, **parts)
        self.line = line
        self.column = column


class GrammarSyntaxError(GrammarError):
    """Not a grammar in its language: it cannot be parsed, or names an undefined rule."""

    default_code = "invalid-grammar"


class UnsupportedGrammarError(GrammarError):
    """A construct of a grammar that cannot be enforced; raised instead of weakening the constraint."""

    default_code = "unsupported-grammar"


class LimitError(SchemagenError):
    """A limit stopped the work: the text names the number reached, the limit and the knob."""

    default_code = "limit-reached"


class VocabularyError(SchemagenError):
    """A tokenizer whose token bytes, width or EOS ids cannot be known."""

    default_code = "vocabulary-error"


class MatcherError(SchemagenError):
    """Wrong use of a matcher, or a matcher that cannot continue."""

    default_code = "matcher-error"


class MatcherTerminatedError(MatcherError):
    """EOS was already accepted."""

    default_code = "matcher-terminated"


class DeadEndError(MatcherError):
    """No token of the vocabulary is allowed here; nothing is sampled from an empty mask."""

    default_code = "dead-end"


class BitmaskShapeError(MatcherError):
    """A bitmask or logits tensor of the wrong dtype, device or width."""

    default_code = "bitmask-shape"


class OptionError(SchemagenError, ValueError):
    """An invalid argument, such as a negative number of retries."""

    default_code = "invalid-option"


class OptionTypeError(OptionError, TypeError):
    """An argument of the wrong type, such as a text in the place of a token id."""

    default_code = "wrong-type"


class MissingPackageError(SchemagenError, ImportError):
    """A package that this call needs is not installed: torch with the engine alone, say."""

    default_code = "missing-package"


class ModelError(SchemagenError, OSError):
    """No model can be loaded: the folder does not exist, or transformers finds nothing of that name.

    A model that was loaded, and cannot be used, raises a subclass (`LogitsError`).
    """

    default_code = "no-model"


class ToolError(SchemagenError):
    """Something that cannot be a tool, an unknown format of calls, or a call that cannot be made."""

    default_code = "tool-error"


class ToolRetry(SchemagenError):  # noqa: N818 - it asks for something, as StopIteration does
    """Raise it in a tool to tell the model why its call does not help, so that it calls again.

    In `LanguageModel.chat` the text is the result of the call; a call that you make yourself raises it.
    """

    default_code = "tool-retry"


class GenerationError(SchemagenError):
    """A generation that gave no instance; `text` is the generated text."""

    default_code = "generation-error"

    def __init__(self, fact: str, *, text: str = "", **parts: str) -> None:
        super().__init__(fact, **parts)
        self.text = text


class BudgetError(GenerationError):
    """`max_new_tokens`, `max_time` or the like ended the text before it was complete; `text` holds the partial text."""

    default_code = "budget-exhausted"


class LogitsError(ModelError, GenerationError):
    """Logits from which no token can be chosen: NaN, ``inf``, or ``-inf`` for every token that may come next.

    Attributes:
        row: The row of the batch, from 0.
        step: How many tokens had been generated before.
        text: The text of these tokens.
    """

    default_code = "bad-logits"

    def __init__(self, fact: str, *, row: int = 0, step: int = 0, **parts: str) -> None:
        parts.setdefault("at", f"row {row}, step {step}")
        super().__init__(fact, **parts)
        self.row = row
        self.step = step


class ValidationFailed(GenerationError):  # noqa: N818 - the name users know from this field
    """The text satisfies the schema but a custom validator, or a keyword left to the check, refused it.

    `at` is the JSON pointer of the refused part of the value, "" for all of it; `text` is the raw text, `error` the
    exception of pydantic or jsonschema, `attempts` how many generations were tried, `refused` the values that validators
    refused while the text was written (`schemagen.generation.Refused`).
    """

    default_code = "validation-failed"

    def __init__(
        self,
        fact: str,
        *,
        text: str = "",
        error: Exception | None = None,
        attempts: int = 1,
        refused: tuple[Any, ...] = (),
        **parts: Any,
    ) -> None:
        super().__init__(fact, text=text, **parts)
        self.error = error
        self.attempts = attempts
        self.refused = refused


class ModelWarning(UserWarning):
    """A model, its tokenizer and its options do not fit together; the text names the change."""
