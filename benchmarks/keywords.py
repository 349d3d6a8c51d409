"""How each engine treats each keyword: enforced, refused, ignored silently, or too strict.

    python benchmarks/keywords.py                the engines that are installed, the bundled tokenizer
    python benchmarks/keywords.py --page         write the table of the last result into docs/comparison.md

Each case is a schema with documents that it allows and documents that it forbids. A document counts as accepted if one of
its texts is: compact, with spaces or indented, keys in any order, so that no engine fails because of layout. Nothing is
generated; the question is whether the engine would let this text through to the end.

    enforced    all allowed documents are accepted, and no forbidden one
    refused     the schema is an error
    ignored     a forbidden document is accepted, with or without a warning in a log
    narrower    an allowed document is refused, and no forbidden one is accepted

We, the makers of one of the engines, chose the cases: rare keywords have as many lines as common ones.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import harness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    #: A schema -> whether a text is one of its documents.
    Compile = Callable[[Any], Callable[[str], bool]]

PAGE = harness.ROOT / "docs" / "comparison.md"
_BEGIN, _END = "<!-- keywords: begin -->\n", "<!-- keywords: end -->"


class Case(NamedTuple):
    """A keyword at work.

    Attributes:
        name: As the page shows it.
        schema: With the keyword.
        allowed: Documents of the schema.
        forbidden: Documents that break the keyword.
    """

    name: str
    schema: Any
    allowed: list[Any]
    forbidden: list[Any]


def _object(**keywords: Any) -> dict[str, Any]:
    """Return the schema of an object of integers `a` and `b`, and nothing else unless said so."""
    integers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    return {"type": "object", "properties": integers, "additionalProperties": False, **keywords}


def _string(**keywords: Any) -> dict[str, Any]:
    return {"type": "string", **keywords}


def _array(**keywords: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "integer"}, **keywords}


_NODE = _object(properties={"c": {"type": "array", "items": {"$ref": "#/$defs/n"}}}, required=["c"])
_LIST = _object(
    properties={"v": {"type": "integer"}, "n": {"$dynamicRef": "#T"}},
    required=["v"],
    **{"$id": "https://example.org/t", "$dynamicAnchor": "T"},
)
_MAP = {"type": "object", "additionalProperties": {"type": "integer"}}
_EITHER = {"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": {"minimum": 10}}}}
_TWO = [{"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"required": ["b"]}]

CASES = (
    Case("`minimum`, `maximum` of integers", {"type": "integer", "minimum": 3, "maximum": 17}, [5], [99, 2]),
    Case("`minimum`, `maximum` of numbers", {"type": "number", "minimum": 0.5, "maximum": 1.5}, [1.25], [9.5]),
    Case("`multipleOf: 3`", {"type": "integer", "multipleOf": 3}, [9], [10]),
    Case("`multipleOf: 0.01`", {"type": "number", "multipleOf": 0.01}, [1.25], [1.255]),
    Case("`minLength`, `maxLength`", _string(minLength=2, maxLength=3), ["ab", "abc"], ["a", "abcd"]),
    Case("`pattern`, anchored", _string(pattern="^[a-z]{2}$"), ["ab"], ["abc", "a1"]),
    Case("`pattern`, not anchored", _string(pattern="[0-9]"), ["a1b"], ["ab"]),
    Case("`pattern` and `maxLength`", _string(pattern="^[a-z]+$", maxLength=3), ["ab"], ["abcd", "a1"]),
    Case("`pattern` with a look-ahead", _string(pattern="^(?=.*[0-9])[a-z0-9]{3}$"), ["a1c"], ["abc"]),
    Case("`pattern` with a back-reference", _string(pattern=r"^(a|b)\1$"), ["aa"], ["ab"]),
    Case("`format: date`", _string(format="date"), ["2024-02-29"], ["2024-13-45", "hello"]),
    Case("`format: date`, 30 February", _string(format="date"), ["2024-02-29"], ["2024-02-30"]),
    Case("`format: date-time`", _string(format="date-time"), ["2024-02-29T10:00:00Z"], ["hello"]),
    Case("`format: email`", _string(format="email"), ["a@example.org"], ["hello"]),
    Case("`format: ipv4`", _string(format="ipv4"), ["10.0.0.1"], ["999.1.1.1", "hello"]),
    Case("`format: uuid`", _string(format="uuid"), ["123e4567-e89b-12d3-a456-426614174000"], ["hello"]),
    Case("`minItems`, `maxItems`", _array(minItems=1, maxItems=2), [[1], [1, 2]], [[], [1, 2, 3]]),
    Case("`uniqueItems`", _array(uniqueItems=True), [[1, 2]], [[1, 1]]),
    Case("`contains`", _array(contains={"const": 3}), [[1, 3]], [[1, 2]]),
    Case("`required`", _object(required=["a"]), [{"a": 1}, {"a": 1, "b": 2}], [{"b": 2}]),
    Case("objects left open", _object(additionalProperties=True), [{"a": 1, "z": "q"}], [{"a": "x"}]),
    Case(
        "`patternProperties`",
        {"type": "object", "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False},
        [{"x_a": 1}],
        [{"x_a": "b"}, {"y": 1}],
    ),
    Case("`propertyNames` of a mapping", {**_MAP, "propertyNames": {"maxLength": 2}}, [{"ab": 1}], [{"abc": 1}]),
    Case("`minProperties` of a mapping", {**_MAP, "minProperties": 2}, [{"a": 1, "b": 2}], [{"a": 1}]),
    Case("`dependentRequired`", _object(dependentRequired={"a": ["b"]}), [{"a": 1, "b": 2}, {"b": 1}], [{"a": 1}]),
    Case(
        "`unevaluatedProperties`",
        {"type": "object", "allOf": [{"properties": {"a": {"type": "integer"}}}], "unevaluatedProperties": False},
        [{"a": 1}],
        [{"a": 1, "c": 3}],
    ),
    Case("`enum` and `type`", {"type": "integer", "enum": [1, "a"]}, [1], ["a"]),
    Case("`allOf` of two objects", {"type": "object", "allOf": _TWO}, [{"a": 1, "b": 2}], [{"a": 1}, {"b": 2}]),
    Case(
        "`oneOf` that overlaps",
        {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 10}]},
        [-5, 20],
        [5],
    ),
    Case("`not`", _string(**{"not": {"const": "a"}}), ["b"], ["a"]),
    Case("`not` of `uniqueItems`", _array(**{"not": {"uniqueItems": True}}), [[1, 1]], [[1, 2]]),
    Case(
        "`if`, `then`",
        _object(required=["a", "b"], **_EITHER),
        [{"a": 0, "b": 1}, {"a": 1, "b": 12}],
        [{"a": 1, "b": 1}],
    ),
    Case(
        "recursion, 8 deep",
        {"$defs": {"n": _NODE}, "$ref": "#/$defs/n"},
        [json.loads('{"c": [' * 8 + "]}" * 8)],
        [{"c": [1]}],
    ),
    Case("`$ref` with a sibling", {"$defs": {"i": {"type": "integer"}}, "$ref": "#/$defs/i", "minimum": 5}, [7], [3]),
    Case("`$dynamicRef`", _LIST, [{"v": 1, "n": {"v": 2}}], [{"v": 1, "n": {"v": "x"}}]),
)


def texts(document: Any) -> Iterator[str]:
    """Yield a document in every order of its keys and in three layouts."""
    orders = [dict(items) for items in permutations(document.items())] if isinstance(document, dict) else [document]
    for each in orders:
        yield from (json.dumps(each), json.dumps(each, separators=(",", ":")), json.dumps(each, indent=2))


def judge(compile_schema: Compile, case: Case) -> str:
    """Return what becomes of the keyword of a case."""
    try:
        accepts = compile_schema(case.schema)
        allowed = [any(map(accepts, texts(document))) for document in case.allowed]
        forbidden = [any(map(accepts, texts(document))) for document in case.forbidden]
    except Exception:  # noqa: BLE001 - to refuse a schema is a verdict; some do so when it is first used
        return "refused"
    if any(forbidden):
        return "ignored"
    return "enforced" if all(allowed) else "narrower"


def schemagen_engine(tokenizer: Any) -> Compile:
    """Return what compiles with this package."""
    import schemagen

    vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer)

    def compile_schema(schema: Any) -> Callable[[str], bool]:
        grammar = schemagen.compile(schema, vocabulary)

        def accepts(text: str) -> bool:
            matcher = grammar.matcher()
            return matcher.accept_bytes(text.encode()) and matcher.is_accepting()

        return accepts

    return compile_schema


def llguidance_engine(tokenizer: Any) -> Compile:
    """Return what compiles with llguidance, without its option `lenient`."""
    import llguidance
    import llguidance.hf

    made = llguidance.hf.from_tokenizer(tokenizer)

    def compile_schema(schema: Any) -> Callable[[str], bool]:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
        if error := llguidance.LLMatcher.validate_grammar(grammar, made):
            raise ValueError(error)

        def accepts(text: str) -> bool:
            matcher = llguidance.LLMatcher(made, grammar, log_level=0)
            return all(matcher.consume_token(token) for token in made.tokenize_str(text)) and matcher.is_accepting()

        return accepts

    return compile_schema


def xgrammar_engine(tokenizer: Any) -> Compile:
    """Return what compiles with xgrammar, open objects left open as JSON Schema has it."""
    import xgrammar

    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
    compiler = xgrammar.GrammarCompiler(info)

    def compile_schema(schema: Any) -> Callable[[str], bool]:
        grammar = compiler.compile_json_schema(json.dumps(schema), strict_mode=False)

        def accepts(text: str) -> bool:
            matcher = xgrammar.GrammarMatcher(grammar)
            return matcher.accept_string(text) and matcher.accept_token(tokenizer.eos_token_id)

        return accepts

    return compile_schema


def outlines_engine(_: Any) -> Compile:
    """Return what compiles with outlines-core, the default back end of outlines, over a vocabulary of single bytes."""
    import outlines_core
    from outlines_core.json_schema import build_regex_from_schema

    end = 256
    vocabulary = outlines_core.Vocabulary(end, {bytes([byte]): [byte] for byte in range(end)})

    def compile_schema(schema: Any) -> Callable[[str], bool]:
        index = outlines_core.Index(build_regex_from_schema(json.dumps(schema)), vocabulary)

        def accepts(text: str) -> bool:
            guide = outlines_core.Guide(index)
            for byte in text.encode():
                if byte not in guide.get_tokens():
                    return False
                guide.advance(byte, return_tokens=False)
            return end in guide.get_tokens()

        return accepts

    return compile_schema


def enforcer_engine(_: Any) -> Compile:
    """Return what compiles with lm-format-enforcer: its parser of characters decides."""
    from lmformatenforcer import JsonSchemaParser

    def compile_schema(schema: Any) -> Callable[[str], bool]:
        start = JsonSchemaParser(schema)

        def accepts(text: str) -> bool:
            parser = start
            for character in text:
                if character not in parser.get_allowed_characters():
                    return False
                parser = parser.add_character(character)
            return parser.can_end()

        return accepts

    return compile_schema


#: Name of the distribution -> the maker of the engine, and the module it needs.
ENGINES: dict[str, tuple[Callable[[Any], Compile], str]] = {
    "schemagen": (schemagen_engine, "schemagen"),
    "llguidance": (llguidance_engine, "llguidance"),
    "xgrammar": (xgrammar_engine, "xgrammar"),
    "outlines-core": (outlines_engine, "outlines_core"),
    "lm-format-enforcer": (enforcer_engine, "lmformatenforcer"),
}


def table(record: dict[str, Any]) -> str:
    """Return a result as a table of Markdown."""
    verdicts = record["results"]["verdicts"]
    heads = [f"{name} {record['versions'].get(name, '')}".strip() for name in verdicts]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for case in record["results"]["cases"]:
        cells = [found[case] for found in verdicts.values()]
        lines.append(f"| {case} | {' | '.join(f'**{cell}**' if cell == 'ignored' else cell for cell in cells)} |")
    for word in ("enforced", "refused", "ignored", "narrower"):
        counts = [str(list(found.values()).count(word)) for found in verdicts.values()]
        lines.append(f"| *{word}, of {len(record['results']['cases'])}* | {' | '.join(counts)} |")
    return "\n".join(lines) + "\n"


def write_page(record: dict[str, Any]) -> str:
    """Return the page with the table of a result in its place."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(_BEGIN)
    return head + _BEGIN + table(record) + _END + rest.split(_END)[1]


def main(arguments: list[str] | None = None) -> int:
    """Judge every case with every engine, or write the page."""
    made = harness.parser(__doc__, "keywords")
    made.add_argument("--engines", nargs="+", choices=ENGINES, help="default: those installed")
    made.add_argument("--page", action="store_true", help="only write the table of the result into the page")
    options = made.parse_args(arguments)
    if options.page:
        PAGE.write_text(write_page(json.loads(options.out.read_text(encoding="utf-8"))), encoding="utf-8")
        return 0
    names = options.engines or [name for name, (_, module) in ENGINES.items() if importlib.util.find_spec(module)]
    tokenizer = harness.load_tokenizer(options.tokenizer)
    verdicts = {}
    for name in names:
        engine = ENGINES[name][0](tokenizer)
        verdicts[name] = {case.name: judge(engine, case) for case in CASES}
        print(name, verdicts[name])
    results = {"cases": [case.name for case in CASES], "verdicts": verdicts}
    harness.write_result(options.out, "keywords", {"tokenizer": options.tokenizer.name}, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
