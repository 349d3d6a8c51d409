"""Advice about a type before it is used: choices that are valid, but make answers worse, longer or dearer.

A rule is a function from a compiled schema to the places that it is about, and a sentence that says why, with its source. The
nodes of a schema are those of its report (`Grammar.report`), so nothing here walks through schemas. Rules stay quiet where they
are not sure: advice that is wrong is not read a second time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from schemagen.errors.pointers import pointer_of, referred, resolved, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from schemagen.grammar.grammar import Grammar

#: Keys, each with its schema.
_Members: TypeAlias = "list[tuple[str, Mapping[str, Any]]]"
#: Keys of reasons, and keys of the answers that they are reasons for.
_REASONS = frozenset({
    "analysis", "chain_of_thought", "evidence", "explanation", "justification", "rationale", "reason", "reasoning", "reasons",
    "steps", "thinking", "thought", "thoughts", "working",
})  # fmt: skip
_ANSWERS = frozenset({
    "answer", "category", "class", "conclusion", "decision", "label", "rating", "result", "score", "sentiment", "verdict",
})  # fmt: skip
#: Options for everything that fits no other option.
_WAYS_OUT = frozenset({
    "", "-", "any", "missing", "n/a", "na", "neutral", "nil", "none", "not applicable", "not given", "not stated", "null",
    "other", "others", "unclear", "undefined", "unknown", "unspecified",
})  # fmt: skip
_UNCLEAR = re.compile(
    r"[a-z]|data|value|val|tmp|temp|foo|bar|misc|stuff|thing|(arg|col|field|item|key|param|prop|val|value|var|x)_?\d+"
)
#: Tokens that a key may take, and keys of an object that need no description.
_LONG_KEY, _FEW_FIELDS = 5, 3
_BOUND_IT = "give Field(max_length=...), generously: a large bound costs nothing"
#: Names that a sentence lists.
_LISTED = 4


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to consider.

    Attributes:
        rule: The name of the rule.
        at: The JSON pointer of the place in the schema; "" for the root.
        fact: The finding, with names and numbers.
        fix: The remedy.
    """

    rule: str
    at: str
    fact: str
    fix: str

    @property
    def why(self) -> str:
        """The consequence, with the source."""
        return RULES[self.rule].why

    def __str__(self) -> str:
        """Render it as errors are."""
        return f"{self.fact}\n  at:   {self.at or '/'}\n  why:  {self.why}\n  fix:  {self.fix}\n  rule: {self.rule}"


class Found(NamedTuple):
    """A finding of a rule: the place, the fact and the remedy."""

    at: str
    fact: str
    fix: str


class Subject:
    """A compiled type, for the rules.

    Args:
        grammar: The grammar.
        max_new_tokens: The budget of answers; None if it is not known.
    """

    def __init__(self, grammar: Grammar, max_new_tokens: int | None) -> None:
        self.grammar, self.budget = grammar, max_new_tokens
        self.schema = grammar.schema
        found = {entry.pointer: referred(f"#{entry.pointer}", self.schema) for entry in grammar.report}
        #: The schemas that the compiler reached, by their pointers.
        self.nodes = {pointer: node for pointer, node in found.items() if isinstance(node, dict)}

    def resolved(self, node: Any) -> Mapping[str, Any]:
        """Return a schema with its references followed."""
        return resolved(node, self.schema)

    def objects(self) -> Iterator[tuple[str, Mapping[str, Any], _Members]]:
        """Yield the schemas of objects with declared keys: pointer, schema, keys with their resolved schemas."""
        for pointer, node in self.nodes.items():
            properties = node.get("properties")
            if isinstance(properties, dict) and properties:
                yield pointer, node, [(key, self.resolved(each)) for key, each in properties.items()]

    def has_null(self, schema: Mapping[str, Any]) -> bool:
        """Whether null is one of the values that a schema names or has a branch for."""
        kinds = schema.get("type")
        if kinds == "null" or (isinstance(kinds, list) and "null" in kinds) or None in schema.get("enum", ()):
            return True
        branches = [each for key in ("anyOf", "oneOf") for each in schema.get(key, ())]
        return any(self.has_null(self.resolved(each)) for each in branches)

    def tokens_of(self, text: str) -> int | None:
        """Return the fewest tokens that write a text; None if none do."""
        from schemagen.grammar.compiler import compile  # noqa: A004 - the field's verb
        from schemagen.grammar.specs import Choice

        return compile(Choice([text]), self.grammar.vocabulary).min_new_tokens


def _name(pointer: str) -> str:
    """Return the key of the member that a schema belongs to."""
    keys = [key for before, key in pairwise(steps_of(pointer)) if before == "properties"]
    return keys[-1] if keys else "the answer"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


# --- the rules -----------------------------------------------------------------------------------------------------------


def answer_before_reasons(subject: Subject) -> Iterator[Found]:
    """Find objects in which reasons come after the answer."""
    for pointer, _, members in subject.objects():
        answers = [
            key for key, each in members if key.lower() in _ANSWERS or each.get("type") == "boolean" or "enum" in each
        ]
        keys = [key for key, _ in members]
        for reason in (key for key in keys if key.lower() in _REASONS):
            before = [key for key in answers if keys.index(key) < keys.index(reason)]
            if before:
                fact = f"{reason} comes after {_listed(before)}"
                yield Found(pointer, fact, f"declare {reason} before {before[0]}")


def no_way_out(subject: Subject) -> Iterator[Found]:
    """Find required options without one for everything else."""
    for pointer, node, members in subject.objects():
        for key, each in members:
            options = each.get("enum")
            if not isinstance(options, list) or len(options) < 2 or key not in node.get("required", ()):
                continue
            if not subject.has_null(each) and not any(str(option).strip().lower() in _WAYS_OUT for option in options):
                fact = f"{key} must be one of {_listed([repr(option) for option in options])}"
                yield Found(
                    f"{pointer}/properties{pointer_of([key])}", fact, 'add an option such as "other", or allow None'
                )


def unbounded_string(subject: Subject) -> Iterator[Found]:
    """Find texts of any length, all in one."""
    kept = ("maxLength", "pattern", "format", "enum", "const")
    found = [
        at
        for at, node in subject.nodes.items()
        if node.get("type") == "string" and not any(key in node for key in kept)
    ]
    if found:
        names = [*dict.fromkeys(map(_name, found))]
        yield Found(
            found[0],
            f"{_listed(names)} may be of any length",
            _BOUND_IT,
        )


def unbounded_list(subject: Subject) -> Iterator[Found]:
    """Find lists of any length."""
    for at, node in subject.nodes.items():
        if node.get("type") == "array" and "maxItems" not in node and ("items" in node or "prefixItems" not in node):
            name = steps_of(at)[-1] if at else "the answer"
            yield Found(at, f"{name} may have any number of items", _BOUND_IT)


def unclear_name(subject: Subject) -> Iterator[Found]:
    """Find keys that say nothing, without a description."""
    for pointer, _, members in subject.objects():
        names = [key for key, each in members if _UNCLEAR.fullmatch(key.lower()) and not each.get("description")]
        if names:
            yield Found(pointer, f"{_listed(names)}: not clear what belongs there", "rename them, or describe them")


def no_description(subject: Subject) -> Iterator[Found]:
    """Find types with several fields of which none is described."""
    found = [
        (pointer, members)
        for pointer, _, members in subject.objects()
        if len(members) > _FEW_FIELDS and not any(each.get("description") for _, each in members)
    ]
    for pointer, members in found:
        fact = f"none of the {len(members)} fields has a description"
        yield Found(pointer, fact, "describe those whose names leave a question open: Field(description=...)")


def long_key(subject: Subject) -> Iterator[Found]:
    """Find keys of many tokens."""
    for pointer, _, members in subject.objects():
        costs = {key: subject.tokens_of(f'"{key}"') or 0 for key, _ in members}
        long = [f"{key} ({cost})" for key, cost in costs.items() if cost > _LONG_KEY]
        if long:
            yield Found(
                pointer, f"keys of more than {_LONG_KEY} tokens: {_listed(long)}", "shorten them, or use an alias"
            )


def no_effect(subject: Subject) -> Iterator[Found]:
    """Find keywords that JSON Schema does not have."""
    for entry in subject.grammar.report.of_status("unknown"):
        yield Found(entry.pointer, f"{entry.keyword} restricts nothing", "correct its spelling, or leave it out")


def small_budget(subject: Subject) -> Iterator[Found]:
    """Find a budget that leaves no room beside the text that every answer has."""
    needed = subject.grammar.min_new_tokens
    if subject.budget is not None and needed is not None and subject.budget < 2 * needed:
        fact = f"max_new_tokens={subject.budget}, and the shortest answer takes {needed}"
        yield Found("", fact, f"give {2 * needed} or more, or leave it out: an unused budget costs nothing")


class Rule(NamedTuple):
    """A rule.

    Attributes:
        find: Finds its places.
        why: Why they matter, with the source.
        counts_tokens: Whether its findings depend on the vocabulary.
    """

    find: Callable[[Subject], Iterator[Found]]
    why: str
    counts_tokens: bool = False


RULES: dict[str, Rule] = {
    "answer-before-reasons": Rule(
        answer_before_reasons,
        "a model writes fields in their order, so the reasons come too late to change the answer (arXiv:2408.02442)",
    ),
    "no-way-out": Rule(
        no_way_out,
        "if nothing fits, the model must choose all the same, and small ones take the first option (docs/evidence.md)",
    ),
    "unbounded-list": Rule(
        unbounded_list,
        "a model that goes on without end uses up the budget, and later fields get nothing (vllm-project/vllm#40080)",
    ),
    "unbounded-string": Rule(
        unbounded_string,
        "a text in a loop uses up the budget: 14 of 30 answers of a small model (docs/guides/performance.md)",
    ),
    "unclear-name": Rule(
        unclear_name,
        "keys are part of the instruction: their wording alone changes how many values are right (arXiv:2604.14862)",
    ),
    "no-description": Rule(
        no_description, "descriptions join the prompt; without them a model knows only the name and the type of a field"
    ),
    "long-key": Rule(
        long_key,
        "every answer writes its keys; in a batch each token is a pass of the model (docs/guides/performance.md)",
        counts_tokens=True,
    ),
    "no-effect": Rule(no_effect, "JSON Schema has no such keyword, so values are not checked for it"),
    "small-budget": Rule(
        small_budget,
        "keys and punctuation take most of it, so texts and lists are cut short (docs/troubleshooting.md)",
        counts_tokens=True,
    ),
}


def lint(grammar: Grammar, max_new_tokens: int | None = None) -> tuple[Advice, ...]:
    """Return the advice about a grammar; see `Grammar.lint`."""
    if grammar.schema is None:
        return ()
    subject = Subject(grammar, max_new_tokens)
    return tuple(Advice(name, *found) for name, rule in RULES.items() for found in rule.find(subject))
