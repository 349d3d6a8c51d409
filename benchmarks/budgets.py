"""Masks within a budget: their cost compared with masks without one, where much is required or much is open.

    python benchmarks/budgets.py --window 500

Each text is written twice over a vocabulary of single bytes, from a new grammar each time: once with masks within a
budget, once without. The budgets are `ample`, twice the tokens of the text, and `own`, exactly its tokens, so
that the mask always has to look at the end of the text. Long texts are measured in windows: at their beginning,
in the middle and at the end; between them tokens are accepted and no mask is made.

Then come random texts over the vocabulary of a tokenizer, within budgets that only just suffice: the CPU time of each mask,
from which a random token is accepted.

    python benchmarks/budgets.py --only random --tokenizer llama3

Then texts of schemas that grow, written in exactly their tokens:

    python benchmarks/budgets.py --only size

Then come texts of schemas, those of `--data` or of `schemas.py`, each read by a new grammar, within budgets of a multiple of
their tokens:

    python benchmarks/budgets.py --only schemas --data maskbench.jsonl.gz --sample 500 --tokenizer llama3

Large texts of schemas that require much follow, within the same budgets:

    python benchmarks/budgets.py --only large --tokenizer llama3

At last come texts of grammars over the same vocabulary, in the dialect of llguidance, each read by a new grammar: without a
budget, within twice the tokens of the text, and within exactly its tokens.

    python benchmarks/budgets.py --only grammar --tokenizer llama3
"""

from __future__ import annotations

import contextlib
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import grammars
import harness
import numpy as np
from harness import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import schemagen

_INTEGER = {"type": "integer"}


def _required(count: int) -> dict[str, Any]:
    names = [f"p{k}" for k in range(count)]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, _INTEGER),
        "required": names,
        "additionalProperties": False,
    }


def _members(count: int, rng: random.Random, *, shuffled: bool) -> str:
    order = list(range(count))
    if shuffled:
        rng.shuffle(order)
    return "{" + ",".join(f'"p{k}":{rng.randint(0, 999)}' for k in order) + "}"


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = _INTEGER
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": False}
    return schema


def _tree() -> dict[str, Any]:
    children = {"type": "array", "items": {"$ref": "#/$defs/node"}}
    node = {
        "type": "object",
        "properties": {"v": _INTEGER, "children": children},
        "required": ["v", "children"],
        "additionalProperties": False,
    }
    return {"$ref": "#/$defs/node", "$defs": {"node": node}}


#: Name -> order of keys, what makes the schema, and what makes a text of it.
CASES: dict[str, tuple[str, Callable[[], Any], Callable[[random.Random], str]]] = {
    "300 required, any order": ("any", lambda: _required(300), lambda rng: _members(300, rng, shuffled=True)),
    "3,000 required, any order": ("any", lambda: _required(3000), lambda rng: _members(3000, rng, shuffled=True)),
    "2,000 required, in order": ("schema", lambda: _required(2000), lambda rng: _members(2000, rng, shuffled=False)),
    "100 nested objects": ("schema", lambda: _nested(100), lambda _: '{"a":' * 100 + "17" + "}" * 100),
    "400 nested objects": ("schema", lambda: _nested(400), lambda _: '{"a":' * 400 + "17" + "}" * 400),
    "10,000 nested objects": ("schema", lambda: _nested(10_000), lambda _: '{"a":' * 10_000 + "17" + "}" * 10_000),
    "tree, 1,000 levels deep": (
        "schema",
        _tree,
        lambda rng: "".join(f'{{"v":{rng.randint(0, 99)},"children":[' for _ in range(1000)) + "]}" * 1000,
    ),
}
#: What grows -> order of keys, the schema of a size, and a text of it.
GROWING: dict[str, tuple[str, Callable[[int], Any], Callable[[random.Random, int], str]]] = {
    "required keys in any order": ("any", _required, lambda rng, n: _members(n, rng, shuffled=True)),
    "nested objects": ("schema", _nested, lambda _, n: '{"a":' * n + "17" + "}" * n),
    "minItems": (
        "schema",
        lambda n: {"type": "array", "items": {"type": "string"}, "minItems": n},
        lambda _, n: "[" + ",".join(['""'] * n) + "]",
    ),
}
SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000)
#: Budgets: name -> how many tokens may come before a text of `size` tokens; None if there is no budget.
BUDGETS: dict[str, Callable[[int], int] | None] = {
    "without": None,
    "ample": lambda size: 2 * size,
    "own": lambda size: size,
}


def measure(case: str, window: int, seed: int) -> dict[str, Any]:
    """Return the seconds of compiling and of the minimum budget, and the times of masks by budget."""
    import schemagen

    order, make_schema, make_text = CASES[case]
    schema, text = make_schema(), make_text(random.Random(seed)).encode()
    vocabulary = schemagen.Vocabulary.byte_vocabulary()

    def compiled() -> schemagen.Grammar:
        return schemagen.compile(schema, vocabulary, property_order=order, cache=None)

    start = clock()
    grammar = compiled()
    compile_s = clock() - start
    start = clock()
    least = grammar.min_new_tokens
    least_s = clock() - start
    found: dict[str, Any] = {
        "compile_s": round(compile_s, 4),
        "min_new_tokens": least,
        "min_new_tokens_s": round(least_s, 4),
    }
    times = {name: walk(compiled(), text, window, most) for name, most in BUDGETS.items()}
    for name, each in times.items():
        row = {"p50_us": statistics.median(each), "sum_us": sum(each), "max_us": max(each)}
        found[name] = {key: round(value, 2) for key, value in row.items()} | {"masks": len(each)}
    for name in times:
        if name != "without":
            for key in ("p50", "sum"):
                found[name][f"{key}_ratio"] = round(found[name][f"{key}_us"] / found["without"][f"{key}_us"], 3)
    return found


def measure_growth(case: str, seed: int) -> dict[int, dict[str, float]]:
    """Return for each size the microseconds of all masks of a text, in exactly its tokens and without a budget."""
    import schemagen

    order, schema_of, text_of = GROWING[case]
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    found = {}
    for size in SIZES:
        schema, text = schema_of(size), text_of(random.Random(seed), size).encode()
        sums = {
            name: sum(walk(schemagen.compile(schema, vocabulary, property_order=order, cache=None), text, 0, most))
            for name, most in BUDGETS.items()
            if name != "ample"
        }
        found[size] = {"masks": len(text), **{f"{name}_us": round(us, 1) for name, us in sums.items()}}
    return found


def tags(least: int) -> dict[str, Any]:
    """Return a schema that needs at least 31 tokens of Llama 3 if it asks for 50 tags."""
    array = {"type": "array", "items": {"type": "string"}} | ({"minItems": least} if least else {})
    return {"type": "object", "properties": {"name": {"type": "string"}, "tags": array}, "required": ["name", "tags"]}


#: Schema, tokens that a text may have, and whether the masks are told so.
RANDOM = {
    "50 tags, 48 tokens": (tags(50), 48, True),
    "50 tags, 48 tokens, no budget": (tags(50), 48, False),
    "50 tags, 110 tokens": (tags(50), 110, True),
    "any tags, 48 tokens": (tags(0), 48, True),
    "any tags, 48 tokens, no budget": (tags(0), 48, False),
}


def measure_random(vocabulary: schemagen.Vocabulary, case: str, texts: int, seed: int) -> dict[str, Any]:
    """Return the CPU microseconds of the masks of random texts."""
    import schemagen

    schema, tokens, budgeted = RANDOM[case]
    grammar = schemagen.compile(schema, vocabulary, cache=None)
    words = np.zeros((1, -(-vocabulary.size // 32)), dtype=np.int32)
    rng, times = np.random.default_rng(seed), list[float]()
    for _ in range(texts):
        matcher = grammar.matcher()
        for left in range(tokens, 0, -1):
            start = time.process_time_ns()
            matcher.fill_next_token_bitmask(words, 0, budget=left if budgeted else None)
            times.append((time.process_time_ns() - start) / 1e3)
            token = int(rng.choice(np.flatnonzero(np.unpackbits(words.view(np.uint8)[0], bitorder="little"))))
            if token in vocabulary.eos_token_ids or not matcher.accept_token(token):
                break
    return {"min_new_tokens": grammar.min_new_tokens, "masks": len(times), "us": harness.aggregate(times)}


#: How many times the tokens of a text its budget has; 0 for no budget.
SCHEMAS = {"schemas, no budget": 0.0, "schemas, 3 x": 3.0, "schemas, 1.5 x": 1.5, "schemas, its tokens": 1.0}


def measure_schemas(
    vocabulary: schemagen.Vocabulary, tokenizer: Any, cases: list[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the CPU microseconds of the masks along the first valid text of each schema that compiles, by budget.

    The budgets of a schema are measured one after the other, so that a drift of the machine touches all alike.
    """
    import schemagen

    times: dict[str, list[float]] = {name: [] for name in SCHEMAS}
    for case in cases:
        texts = (harness.text_of(test["data"]) for test in case["tests"] if test["valid"])
        with contextlib.suppress(schemagen.errors.SchemagenError, StopIteration):
            ids = harness.tokens_of(tokenizer, next(texts))
            for name, most in SCHEMAS.items():
                times[name] += walk_tokens(schemagen.compile(case["schema"], vocabulary, cache=None), ids, most)
    return {name: {"masks": len(each), "us": harness.aggregate(each)} for name, each in times.items()}


def walk_tokens(grammar: schemagen.Grammar, ids: list[int], most: float) -> list[float]:
    """Return the CPU microseconds of each mask along a text, as far as the grammar takes it."""
    matcher, times = grammar.matcher(), list[float]()
    words = np.zeros((1, -(-grammar.vocabulary.size // 32)), dtype=np.int32)
    for at, token in enumerate(ids):
        start = time.process_time_ns()
        matcher.fill_next_token_bitmask(words, 0, budget=int(len(ids) * most) - at if most else None)
        times.append((time.process_time_ns() - start) / 1e3)
        if not matcher.accept_token(token):
            break
    return times


_STRINGS = {"type": "array", "items": {"type": "string"}, "minItems": 5000}
#: Name -> order of keys, the schema, and a text of it.
LARGE: dict[str, tuple[str, dict[str, Any], str]] = {
    "2,000 keys, any order": ("any", _required(2000), _members(2000, random.Random(1), shuffled=True)),
    "10,000 nested objects": ("schema", _nested(10_000), '{"a":' * 10_000 + "17" + "}" * 10_000),
    "minItems 5,000": ("schema", _STRINGS, "[" + ",".join(['""'] * 5000) + "]"),
}


def large_cases() -> dict[str, tuple[str, float]]:
    """Return by name a large case, and how many times its tokens its budget has; 0 for no budget."""
    kinds = {"no budget": 0.0, "1.5 x": 1.5, "its tokens": 1.0}
    return {f"large, {name}, {kind}": (name, most) for name in LARGE for kind, most in kinds.items()}


def measure_large(vocabulary: schemagen.Vocabulary, tokenizer: Any, name: str, most: float) -> dict[str, Any]:
    """Return the CPU microseconds of the masks along a large text."""
    import schemagen

    order, schema, text = LARGE[name]
    grammar = schemagen.compile(schema, vocabulary, property_order=order, cache=None)
    times = walk_tokens(grammar, harness.tokens_of(tokenizer, text), most)
    return {"masks": len(times), "us": harness.aggregate(times)}


#: The grammars of `grammars.cases` whose masks are made within a budget.
GRAMMARS = ("C", "SQL", "JSON", "lines of Python")


def grammar_cases() -> dict[str, tuple[dict[str, Any], int]]:
    """Return by name a grammar and its texts, and how many times the tokens of a text may be written; 0: any number."""
    cases = {case["id"]: case for case in grammars.cases()}
    kinds = {"no budget": 0, "twice the tokens": 2, "its tokens": 1}
    return {f"grammar, {name}, {kind}": (cases[name], most) for name in GRAMMARS for kind, most in kinds.items()}


def measure_grammar(
    vocabulary: schemagen.Vocabulary, tokenizer: Any, case: dict[str, Any], most: int
) -> dict[str, Any]:
    """Return the CPU microseconds of the masks along the texts of a grammar."""
    import schemagen

    grammar = schemagen.compile(schemagen.Lark(case["grammar"], dialect="llguidance"), vocabulary, cache=None)
    times = list[float]()
    for text in case["texts"]:
        ids = harness.tokens_of(tokenizer, text)
        walked = walk_tokens(grammar, ids, most)
        if len(walked) < len(ids):
            raise AssertionError(f"{tokenizer.decode(ids[: len(walked)])!r} is not in the language")
        times += walked
    return {"masks": len(times), "us": harness.aggregate(times)}


def walk(grammar: schemagen.Grammar, text: bytes, window: int, most: Callable[[int], int] | None) -> list[float]:
    """Return the microseconds of each mask in the windows of a text, whose bytes are tokens."""
    matcher = grammar.matcher()
    words = np.zeros((1, -(-grammar.vocabulary.size // 32)), dtype=np.int32)
    ids = {token: k for k, token in enumerate(grammar.vocabulary.tokens) if token}
    middle = (len(text) - window) // 2
    measured = {*range(window), *range(middle, middle + window), *range(len(text) - window, len(text))}
    times: list[float] = []
    for at in range(len(text)):
        if at in measured or not window:
            budget = None if most is None else most(len(text)) - at
            start = clock()
            matcher.fill_next_token_bitmask(words, 0, budget=budget)
            times.append((clock() - start) * 1e6)
        if not matcher.accept_token(ids[text[at : at + 1]]):
            raise AssertionError(f"{text[:at]!r} does not continue with {text[at : at + 1]!r}")
    return times


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "budgets")
    made.add_argument("--window", type=int, default=0, help="masks in each of three windows; 0: all masks of the text")
    made.add_argument("--texts", type=int, default=20, help="random texts of each case")
    made.add_argument("--only", help="cases whose name contains this")
    harness.data_options(made)
    options = made.parse_args(arguments)

    def measured(cases: Iterable[str], measure_case: Callable[[str], Any], kind: str = "") -> dict[str, Any]:
        """Measure the cases that are asked for."""
        found: dict[str, Any] = {}
        for case in cases:
            if not options.only or options.only in f"{kind}{case}":
                found[case] = measure_case(case)
                print(f"{case}: {found[case]}", flush=True)
        return found

    found = measured(CASES, lambda case: measure(case, options.window, options.seed))
    growing = measured(GROWING, lambda case: measure_growth(case, options.seed), "size of ")
    import schemagen

    tokenizer = harness.load_tokenizer(options.tokenizer)
    vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer)
    found |= measured(
        RANDOM, lambda case: measure_random(vocabulary, case, options.texts, options.seed), kind="random "
    )
    schemas = harness.cases(options.data, options.sample, options.seed)
    found |= measured(["schemas"], lambda _: measure_schemas(vocabulary, tokenizer, schemas)).get("schemas", {})
    large = large_cases()
    found |= measured(large, lambda case: measure_large(vocabulary, tokenizer, *large[case]))
    kinds = grammar_cases()
    found |= measured(kinds, lambda case: measure_grammar(vocabulary, tokenizer, *kinds[case]))
    settings = {"window": options.window, **harness.data_settings(options, len(schemas))}
    harness.write_result(options.out, "budgets", settings, {"cases": found, "growing": growing})
    return 0


if __name__ == "__main__":
    sys.exit(main())
