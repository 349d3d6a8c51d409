"""JSON without a schema: `Json`, and its texts as a finite automaton where the depth is bounded.

A value of depth 0 is no array and no object; of one of depth n the values inside have depth n - 1 at most. So the texts of a
depth are a regular language, whose expression has that of the depth below twice, in an array and in an object. Without a bound
they are context-free: the rule of values calls itself.

That no key occurs twice in an object is not regular while any key may occur. So ``unique_keys=True``, the default, is compiled
as a JSON Schema, to a pushdown automaton that remembers keys; ``unique_keys=False`` is the automaton of the paper.

Source: Koo et al. 2024, section 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemagen.checks import check_count, check_flag
from schemagen.context_free.syntax import ContextFreeGrammar, Expression, Rule, Text, alternatives, separated, sequence
from schemagen.engine.options import Options
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.refusals import parsed
from schemagen.regex import ast

_SCALARS = {"type": ["null", "boolean", "number", "string"]}
#: The expression of a depth is twice as large as that of the depth below.
MAX_DEPTH = 8
#: Nothing, a blank, or a line break and blanks before the next part.
_GAP = ast.optional(ast.union(ast.literal(" "), ast.concat(ast.literal("\n"), ast.repeat(ast.literal(" "), 0, 40))))


@dataclass(frozen=True, slots=True)
class Json:
    """Any JSON value: ``lm(prompt, schemagen.Json(max_depth=2))`` is parsed JSON.

    Types that allow any value (``Any``, ``dict``, ``list``, pydantic's ``JsonValue``) are the same without a bound.

    Args:
        max_depth: How many arrays and objects may be inside one another. None sets no bound, 0 allows only scalars.
        unique_keys: Whether no object has a key twice. If not, the last one counts, as in RFC 8259; with a bound that
            is a finite automaton, of which there are pictures and a regular expression.

    Raises:
        OptionError: The depth is no number, or, where keys may be repeated, above 8.
    """

    max_depth: int | None = None
    unique_keys: bool = True

    def __post_init__(self) -> None:
        """Refuse a value that is not a depth."""
        check_flag("unique_keys", self.unique_keys)
        if self.max_depth is not None:
            check_count("max_depth", self.max_depth, least=0, most=200 if self.unique_keys else MAX_DEPTH)

    def as_spec(self) -> dict[str, Any] | JsonText:
        """Return a JSON Schema of these values, or a grammar of their texts if keys may be repeated."""
        if not self.unique_keys:
            return JsonText(self.max_depth)
        if self.max_depth is None:
            return {}
        levels: dict[str, Any] = {"depth0": _SCALARS}
        for depth in range(1, self.max_depth + 1):
            inner = {"$ref": f"#/$defs/depth{depth - 1}"}
            kinds = [*_SCALARS["type"], "array", "object"]
            levels[f"depth{depth}"] = {"type": kinds, "items": inner, "additionalProperties": inner}
        return {"$ref": f"#/$defs/depth{self.max_depth}", "$defs": levels}


@dataclass(frozen=True)
class JsonText(ContextFree[Any]):
    """Texts of JSON in which keys may be repeated.

    Args:
        max_depth: As for `Json`.
    """

    max_depth: int | None

    instruction = "Answer with JSON only."

    def rules(self) -> ContextFreeGrammar:
        """Return one expression, or rules that call one another; see `ContextFree.rules`."""
        scalar, key = _texts_of(_SCALARS), _texts_of({"type": "string"})
        if self.max_depth is None:
            value = Rule("value")
            body = alternatives(Text(scalar), _container("[]", value), _container("{}", value, key))
            return ContextFreeGrammar("value", {"value": body})
        regex = scalar
        for _ in range(self.max_depth):
            array, members = _container("[]", Text(regex)), _container("{}", Text(regex), key)
            regex = ast.union(scalar, *(each.regex for each in (array, members) if isinstance(each, Text)))
        return ContextFreeGrammar("value", {"value": Text(regex)})

    def value_of(self, text: str) -> Any:
        """Return the value, of a repeated key the last one.

        Raises:
            ValidationFailed: It is no JSON.
        """
        return parsed(text)

    def shown(self) -> str:
        """Return how deep it may be."""
        return "" if self.max_depth is None else f"At most {self.max_depth} arrays and objects inside one another."


def _texts_of(schema: dict[str, Any]) -> ast.Regex:
    """Return the JSON texts of scalars."""
    from schemagen.schema.normalise import Normaliser
    from schemagen.schema.to_regex import json_text, page_of

    options = Options()
    page = page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style)
    return json_text(Normaliser(schema), page)


def _container(brackets: str, value: Expression, key: ast.Regex | None = None) -> Expression:
    """Return an array of values, or an object of them."""
    gap = Text(_GAP)
    member = value if key is None else sequence(Text(key), _literal(":"), Text(ast.optional(ast.literal(" "))), value)
    members = separated(member, sequence(_literal(","), gap), 1, None)
    filled = sequence(_literal(brackets[0]), gap, members, gap, _literal(brackets[1]))
    return alternatives(_literal(brackets), filled)


def _literal(text: str) -> Expression:
    return Text(ast.literal(text))
