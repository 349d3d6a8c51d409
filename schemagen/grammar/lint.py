"""Advice about a type before it is used: choices that are valid, but make answers worse, longer or dearer.

A rule is a function from a compiled schema to the places that it is about, and a sentence that says why, with its source. The
nodes of a schema are those of its report (`Grammar.report`), so nothing here walks through schemas. Rules stay quiet where they
are not sure: advice that is wrong is not read a second time.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, unquote

from schemagen.errors import PatternError
from schemagen.errors.pointers import pointer_of, referred, resolved, steps_of
from schemagen.regex.graphs import reached
from schemagen.regex.language import has_longest_text
from schemagen.schema.keyword_table import SCHEMA_MAPS
from schemagen.schema.keywords import PATTERN_DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from schemagen.grammar.grammar import Grammar

#: Keys, each with its schema.
_Members: TypeAlias = "list[tuple[str, Mapping[str, Any]]]"
Level: TypeAlias = Literal["advice", "warning"]
#: Keys of reasons; those whose last word says it ("score_explanation"); and those that are reasons only beside an answer.
_REASONS = frozenset({"analysis", "evidence", "reason", "reasons"})
_REASON_WORDS = frozenset({"explanation", "justification", "rationale", "reasoning", "thinking", "thought", "thoughts"})
_WORKINGS = frozenset({"steps", "working"})
#: Last words of the keys that they are reasons for.
_ANSWERS = frozenset({
    "answer", "category", "class", "conclusion", "decision", "label", "rating", "result", "score", "sentiment", "verdict",
})  # fmt: skip
#: Options for everything that fits no other option.
_WAYS_OUT = frozenset({
    "", "-", "any", "missing", "n/a", "na", "neutral", "nil", "none", "not applicable", "not given", "not stated", "null",
    "other", "others", "unclear", "undefined", "unknown", "unspecified",
})  # fmt: skip
#: Options of scales, in which everything has a place.
_DEGREES = frozenset({
    "critical", "easy", "hard", "high", "highest", "large", "low", "lowest", "major", "medium", "minor", "normal", "small",
    "urgent",
})  # fmt: skip
_UNCLEAR = re.compile(
    r"[a-z]|data|value|val|tmp|temp|foo|bar|misc|stuff|thing|(arg|col|field|item|key|param|prop|val|value|var|x)_?\d+"
)
#: Names that are clear beside one of others.
_CLEAR_BESIDE = {"x": {"y"}, "y": {"x"}, "z": {"x"}, "value": {"key", "name", "unit"}}
#: Tokens that a key may take, and keys of an object that need no description.
_LONG_KEY, _FEW_FIELDS = 5, 3
_BOUND_IT = "give Field(max_length=...), generously: a large bound costs nothing"
#: Steps of pointers that lead to one of many values, and the words for it.
_PARTS = {"items": "items of ", "prefixItems": "items of ", "additionalProperties": "values of "}
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
        """The consequence."""
        return RULES[self.rule].why

    @property
    def source(self) -> str:
        """Where that was found out: a paper, a thread, or a page of the documentation."""
        return RULES[self.rule].source

    @property
    def level(self) -> Level:
        """How much it matters: "warning" if answers are likely to be wrong or cut short, "advice" if they may be better."""
        return RULES[self.rule].level

    def as_dict(self) -> dict[str, str]:
        """Return everything that it says, for JSON."""
        return {**asdict(self), "level": self.level, "why": self.why, "source": self.source}

    def __str__(self) -> str:
        """Render it as errors are."""
        why = f"{self.why} ({self.source})"
        return f"{self.fact}\n  at:   {self.at or '/'}\n  why:  {why}\n  fix:  {self.fix}\n  rule: {self.rule}, {self.level}"


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
        # A key may look as if it were encoded ("50%25"), and references are decoded.
        found = {entry.pointer: referred(f"#{quote(entry.pointer)}", self.schema) for entry in grammar.report}
        #: The schemas that the compiler reached, by their pointers; none if the grammar has no schema.
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
    """Return the key or the name of a schema, and which part of its value a pointer leads to."""
    name, part = "the answer", ""
    steps = iter(steps_of(pointer))
    for step in steps:
        if step in SCHEMA_MAPS:
            name, part = next(steps, name), ""
        else:
            part = _PARTS.get(step, part)
    return part + name


def _is(schema: Mapping[str, Any], *names: str) -> bool:
    """Whether a schema allows values of one of these types, and says so."""
    kinds = schema.get("type")
    return any(name == kinds or (isinstance(kinds, list) and name in kinds) for name in names)


def _last_word(key: str) -> str:
    """Return the last word of a key in any style: "answer" of final_answer and finalAnswer."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", key)
    return words[-1].lower() if words else ""


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


# --- the rules -----------------------------------------------------------------------------------------------------------


def _answers_before(members: _Members, reason: str) -> list[str]:
    """Return the keys of the answers before one that holds their reasons."""
    before = dict(members[: [key for key, _ in members].index(reason)])
    if reason.lower() in _WORKINGS:  # they may be those of a recipe, whatever flags and labels are before them
        return [key for key in before if key.lower() in _ANSWERS or _last_word(key) == "answer"]
    return [
        key for key, each in before.items() if _last_word(key) in _ANSWERS or _is(each, "boolean") or "enum" in each
    ]


def answer_before_reasons(subject: Subject) -> Iterator[Found]:
    """Find objects in which reasons come after the answer."""
    for pointer, _, members in subject.objects():
        for key, each in members:
            says_so = key.lower() in _REASONS | _WORKINGS or _last_word(key) in _REASON_WORDS
            if not says_so or "enum" in each or "const" in each or _is(each, "boolean", "integer", "number"):
                continue
            before = _answers_before(members, key)
            if before:
                yield Found(pointer, f"{key} comes after {_listed(before)}", f"declare {key} before {before[0]}")


def no_way_out(subject: Subject) -> Iterator[Found]:
    """Find required options without one for everything else; a scale needs none."""
    for pointer, node, members in subject.objects():
        for key, each in members:
            options = each.get("enum")
            if not isinstance(options, list) or len(options) < 2 or key not in node.get("required", ()):
                continue
            words = {str(option).strip().lower() for option in options if not isinstance(option, int | float)}
            if words <= _DEGREES or words & _WAYS_OUT or subject.has_null(each):
                continue
            fact = f"{key} must be one of {_listed([repr(option) for option in options])}"
            fix = 'add an option such as "other" and say when it applies, or allow None'
            yield Found(f"{pointer}/properties{pointer_of([key])}", fact, fix)


def _has_endless_pattern(node: Mapping[str, Any]) -> bool:
    """Whether a schema has a pattern that texts of any length match, as ".*" and "[a-z]" do."""
    if "pattern" not in node:
        return False
    from schemagen.regex import parse_pattern

    try:
        return not has_longest_text(parse_pattern(node["pattern"], node.get(PATTERN_DIALECT, "ecma-262"), search=True))
    except PatternError:  # checked afterwards, so nothing is known of it
        return False


def unbounded_string(subject: Subject) -> Iterator[Found]:
    """Find texts of any length: all without a pattern in one, and all whose pattern has no end in one."""
    idle = {entry.pointer for entry in subject.grammar.report.of_status("annotation") if entry.keyword == "format"}
    found = [
        at
        for at, node in subject.nodes.items()
        if _is(node, "string") and node.keys().isdisjoint({"maxLength", "enum", "const"})
        if "format" not in node or at in idle
    ]
    free = [at for at in found if "pattern" not in subject.nodes[at]]
    endless = [at for at in found if _has_endless_pattern(subject.nodes[at])]
    if free:
        yield Found(free[0], f"{_listed([*dict.fromkeys(map(_name, free))])} may be of any length", _BOUND_IT)
    if endless:
        shown = [f"{_name(at)} ({subject.nodes[at]['pattern']})" for at in endless]
        fix = "put ^ and $ around the pattern and bound its repetitions, or give Field(max_length=...)"
        yield Found(endless[0], f"patterns that texts of any length match: {_listed(shown)}", fix)


def _is_unbounded_list(subject: Subject, node: Mapping[str, Any]) -> bool:
    """Whether a schema allows lists of any length."""
    if not _is(node, "array") or "maxItems" in node or ("items" not in node and "prefixItems" in node):
        return False
    is_closed = node.get("items") is False or node.get("additionalItems") is False
    is_subset = node.get("uniqueItems") is True and "enum" in subject.resolved(node.get("items"))
    return not is_closed and not is_subset


def unbounded_list(subject: Subject) -> Iterator[Found]:
    """Find lists of any length, all in one."""
    found = [at for at, node in subject.nodes.items() if _is_unbounded_list(subject, node)]
    if found:
        yield Found(found[0], f"{_listed([*dict.fromkeys(map(_name, found))])} may have any number of items", _BOUND_IT)


def unbounded_depth(subject: Subject) -> Iterator[Found]:
    """Find types that contain themselves, all in one."""
    references = {
        at: unquote(node["$ref"][1:])
        for at, node in subject.nodes.items()
        if isinstance(node.get("$ref"), str) and node["$ref"].startswith("#")
    }

    def within(target: str) -> list[str]:
        return [to for at, to in references.items() if at == target or at.startswith(f"{target}/")]

    found = [target for target in dict.fromkeys(references.values()) if target in reached(within(target), within)]
    if found:
        fix = "if you know the depth, declare a type for each level; otherwise ask for few levels in the prompt"
        yield Found(found[0], f"{_listed([*map(_name, found)])} may contain itself at any depth", fix)


def unclear_name(subject: Subject) -> Iterator[Found]:
    """Find keys that say nothing, without a description."""
    for pointer, _, members in subject.objects():
        keys = {key.lower() for key, _ in members}
        names = [
            key
            for key, each in members
            if _UNCLEAR.fullmatch(key.lower()) and not each.get("description")
            if _CLEAR_BESIDE.get(key.lower(), set()).isdisjoint(keys)
        ]
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
    """Find keywords that JSON Schema does not have, each once."""
    entries = subject.grammar.report.of_status("unknown")
    counts = Counter(entry.keyword for entry in entries)
    for entry in {entry.keyword: entry for entry in reversed(entries)}.values():
        places = f", in {counts[entry.keyword]} places" if counts[entry.keyword] > 1 else ""
        yield Found(
            entry.pointer,
            f"{entry.keyword} restricts nothing{places}: {entry.note}",
            "correct its spelling, or leave it out",
        )


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
        why: Why they matter.
        source: Where that was found out.
        level: How much they matter.
        counts_tokens: Whether its findings depend on the vocabulary.
    """

    find: Callable[[Subject], Iterator[Found]]
    why: str
    source: str
    level: Level = "advice"
    counts_tokens: bool = False


RULES: dict[str, Rule] = {
    "answer-before-reasons": Rule(
        answer_before_reasons,
        "a model writes fields in their order, so the reasons come too late to change the answer",
        "arXiv:2408.02442",
        "warning",
    ),
    "no-way-out": Rule(
        no_way_out,
        "if nothing fits, every answer is wrong; and models reject all options less often than they should",
        "arXiv:2503.01550",
    ),
    "unbounded-list": Rule(
        unbounded_list,
        "a model that does not end a list uses up the budget, and later fields get nothing",
        "vllm-project/vllm-ascend#13646",
    ),
    "unbounded-string": Rule(
        unbounded_string,
        "a text in a loop uses up the budget: a small model got in one in 14 of 30 answers with fifteen fields",
        "vllm-project/vllm#40080, docs/guides/performance.md",
    ),
    "unbounded-depth": Rule(
        unbounded_depth,
        "a model may open levels until the budget closes them",
        "docs/tutorials/nested-and-recursive.md",
    ),
    "unclear-name": Rule(
        unclear_name,
        "keys are part of the instruction: their wording alone changes how many mathematical problems a model solves",
        "arXiv:2604.14862",
    ),
    "no-description": Rule(
        no_description,
        "descriptions join the prompt; without them a model knows only the name and the type of a field",
        "docs/guides/prompts.md",
    ),
    "long-key": Rule(
        long_key,
        "every answer writes its keys; in a batch each token is a pass of the model",
        "docs/guides/performance.md",
        counts_tokens=True,
    ),
    "no-effect": Rule(
        no_effect,
        "a keyword that the schema's draft does not have is ignored, so values are not checked for it",
        "docs/supported-schema.md",
        "warning",
    ),
    "small-budget": Rule(
        small_budget,
        "the text that every answer has takes most of it, so strings and lists are cut short",
        "docs/troubleshooting.md",
        "warning",
        counts_tokens=True,
    ),
}


def lint(grammar: Grammar, max_new_tokens: int | None = None) -> tuple[Advice, ...]:
    """Return the advice about a grammar; see `Grammar.lint`."""
    subject = Subject(grammar, max_new_tokens)
    return tuple(Advice(name, *found) for name, rule in RULES.items() for found in rule.find(subject))
