"""`StructuralTag`: structural tags as specs, also those of the older form.

The older form has structures with a begin, a schema and an end, and the triggers that they begin with. It means
``triggered_tags`` with JSON in each tag.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_flag, kind_of
from schemagen.errors import GrammarSyntaxError, LimitError, OptionError, OptionTypeError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.reading import check_layout
from schemagen.structural_tags.fields import Fields
from schemagen.structural_tags.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.engine.options import WhitespacePolicy


@dataclass(frozen=True, init=False, repr=False)
class StructuralTag(ContextFree[str]):
    """Text that a structural tag describes, the format that vLLM, SGLang and xgrammar share.

    ``StructuralTag({"type": "structural_tag", "format": {"type": "tag", "begin": "<a>", "content": {"type": "any_text"},
    "end": "</a>"}})``. Values are the texts.

    Args:
        tag: The tag as a dict, as JSON text, or as an object with ``model_dump``, such as xgrammar's. The older forms are
            read, too: ``{"structures": [{"begin": ..., "schema": ..., "end": ...}], "triggers": [...]}``, and a list of such
            structures.
        triggers: Of a list of structures: how they begin.
        whitespace: The layout of JSON in it, as for `schemagen.compile`. "any", as xgrammar has it: whitespace wherever JSON
            takes it inside the value, up to 64 characters in one place. ``compile(whitespace=...)`` says nothing here.
        closed: Whether an object has its declared keys alone, and a tuple its declared items, unless the schema says otherwise:
            so the engines that share this format read it. If not, everything is open, as JSON Schema says.

    Attributes:
        text: The tag, written as JSON in the form of today.
        whitespace: The layout of JSON in it.
        closed: As given.

    Raises:
        GrammarSyntaxError: It is no structural tag; ``at`` is a JSON pointer into it.
        UnsupportedGrammarError: A part of it cannot be enforced; ``at`` says which.
        LimitError: It is nested too deep, or counts too far.
        OptionError: An argument cannot be meant.
    """

    text: str
    whitespace: WhitespacePolicy
    closed: bool

    instruction = "Answer only with a text that this structural tag describes:"

    def __init__(
        self,
        tag: Mapping[str, Any] | str | Sequence[Any] | Any,
        *,
        triggers: Sequence[str] | None = None,
        whitespace: WhitespacePolicy = "any",
        closed: bool = True,
    ) -> None:
        check_layout("schema", whitespace)
        check_flag("closed", closed)
        value = _plain(tag, triggers)
        try:
            text = json.dumps(value)
        except RecursionError as error:
            raise LimitError("the structural tag is nested too deep", fix="nest fewer formats") from error
        except (TypeError, ValueError) as error:
            raise GrammarSyntaxError(
                f"the structural tag is no JSON: {error}", fix="give plain values of JSON"
            ) from error
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "whitespace", whitespace)
        object.__setattr__(self, "closed", closed)
        object.__setattr__(self, "_rules", Reader(whitespace, closes=closed).grammar(value))

    def rules(self) -> ContextFreeGrammar:
        """Return the rules that the tag is read as; see `ContextFree.rules`."""
        found = self.__dict__.get("_rules")
        if found is None:
            found = Reader(self.whitespace, closes=self.closed).grammar(json.loads(self.text))
            object.__setattr__(self, "_rules", found)
        return found

    def value_of(self, text: str) -> str:
        """Return the text."""
        return text

    def shown(self) -> str:
        """Return the tag, in lines."""
        return json.dumps(json.loads(self.text), indent=2, ensure_ascii=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: rules are read again."""
        return {name: value for name, value in self.__dict__.items() if name != "_rules"}

    def __repr__(self) -> str:
        """Return the call that makes it."""
        layout = "" if self.whitespace == "any" else f", whitespace={self.whitespace!r}"
        return f"StructuralTag({self.text!r}{layout}{'' if self.closed else ', closed=False'})"


def _plain(tag: Any, triggers: Any) -> dict[str, Any]:
    """Return a tag as a dict in the form of today."""
    if isinstance(tag, str):
        tag = _parsed(tag)
    elif callable(getattr(tag, "model_dump", None)):
        tag = tag.model_dump(by_alias=True)
    if is_legacy(tag):
        return converted(tag, triggers)
    if triggers is not None:
        raise OptionError("triggers= beside a whole structural tag", why="it has its own", fix="leave triggers= out")
    if not isinstance(tag, Mapping):
        raise OptionTypeError(
            f"a StructuralTag of {kind_of(tag)}",
            why="a structural tag is a dict, or JSON text",
            fix='give {"type": "structural_tag", "format": ...}',
        )
    return dict(tag)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise GrammarSyntaxError(
            f"the structural tag is no JSON: {error.msg}",
            line=error.lineno,
            column=error.colno,
            fix="give JSON text, or a dict",
        ) from error
    except RecursionError as error:
        raise LimitError("the structural tag is nested too deep", fix="nest fewer formats") from error


def is_legacy(tag: Any) -> bool:
    """Whether something is a structural tag of the older form: structures and triggers, or a list of structures."""
    return isinstance(tag, list | tuple) or (isinstance(tag, Mapping) and "structures" in tag)


def converted(tag: Any, triggers: Any) -> dict[str, Any]:
    """Return a structural tag of the older form in that of today.

    Args:
        tag: The tag.
        triggers: Of a list of structures.

    Raises:
        GrammarSyntaxError: It has parts of another kind.
        OptionError: There are no triggers, or two lists of them.
    """
    if isinstance(tag, list | tuple):
        if triggers is None:
            raise OptionError(
                "a list of structures without triggers=",
                why="nothing says where a structure begins",
                fix='give triggers=["<function="]',
            )
        tag = {"structures": list(tag), "triggers": list(triggers)}
    elif triggers is not None:
        raise OptionError("triggers= beside a whole structural tag", why="it has its own", fix="leave triggers= out")
    fields = Fields(dict(tag), "")
    fields.check_names("a structural tag with structures", "type", "structures", "triggers")
    tags = fields.some("structures", _tag)
    return {
        "type": fields.text("type", "structural_tag"),
        "format": {"type": "triggered_tags", "triggers": fields.value("triggers"), "tags": tags},
    }


def _tag(value: Any, at: str) -> dict[str, Any]:
    if callable(getattr(value, "model_dump", None)):
        value = {"begin": value.begin, "schema": getattr(value, "schema_", None), "end": value.end}
    fields = Fields(value, at)
    fields.check_names("a structure", "begin", "schema", "end")
    schema = fields.value("schema")
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise GrammarSyntaxError(
                f"the schema is no JSON: {error}", at=fields.place("schema"), fix="give a JSON Schema"
            ) from error
    elif isinstance(schema, type):
        from schemagen.grammar.reading import target_of

        target = target_of(schema)
        schema = schema if target is None else target.schema
    content = {"type": "json_schema", "json_schema": schema}
    return {"type": "tag", "begin": fields.value("begin"), "content": content, "end": fields.value("end")}
