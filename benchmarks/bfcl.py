"""The Berkeley Function-Calling benchmark, offline: a model alone, with the constraint, and with a draft before the call.

    python tools/corpora.py bfcl            # questions and checker: bfcl-eval, a wheel of PyPI, Apache-2.0; not installed
    make real-model
    python benchmarks/bfcl.py --count 60    # so many questions of each category, drawn by --seed; goes on where it stopped

Questions, right answers, the prompt of the way "alone" and the checker (`ast_checker`) are those of the package. Its registry
of vendors' models is replaced, and so are libraries that it imports for other things. The results are partial evaluations: a
sample of each category, in one turn.

    alone         the benchmark's own prompt; the model writes ``[function(name=value)]``, read by the package
    schemagen     ``lm.call``; in the parallel categories with ``parallel=True``; where no function may fit, a call or words
    draft         the same after a draft of at most 64 tokens

    decoded       the text has calls at all; where no function fits, that is the mistake
    function      the functions are the right ones, each as often as it should be called
    right         the checker finds the calls right

Java and JavaScript are asked with all arguments as texts in the syntax of the language, as the package asks every model. To
read what a model alone writes in them, the package needs tree_sitter 0.21 with both grammars; without it, these questions are
left out. All decode greedily. A question whose prompt has more than ``--longest`` tokens is left out, and counted.
"""

from __future__ import annotations

import copy
import importlib
import json
import random
import sys
import types
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from real_methods import Unconstrained

from schemagen.errors import SchemaError
from schemagen.events import Completed
from schemagen.prompts.messages import render

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from schemagen import LanguageModel

from tests import corpora

CATEGORIES = (
    "simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple", "irrelevance",
    "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple", "live_irrelevance", "live_relevance",
)  # fmt: skip
WAYS = ("alone", "schemagen", "draft")
#: The record of an answer, in this order.
MARKS = ("decoded", "function", "right", "tokens", "passes")
DRAFT, BUDGET = 64, 128
#: Questions that the model alone answers together.
TOGETHER = 12
#: Combinations of right values that are looked at.
MOST_VALUES = 100


@dataclass(frozen=True)
class Question:
    """A question of the benchmark.

    Attributes:
        id: Its name there.
        category: Its category.
        messages: The chat.
        functions: The functions that may be called, as the benchmark describes them.
        shown: The same as models are shown them: with hints, and all arguments of Java and JavaScript as texts.
        gold: The right calls, each a function and the values that are right for each parameter; none where no function fits.
    """

    id: str
    category: str
    messages: list[dict[str, Any]]
    functions: list[dict[str, Any]]
    shown: list[dict[str, Any]]
    gold: list[dict[str, Any]]

    @property
    def may_decline(self) -> bool:
        """Whether the model may answer without a call."""
        return "relevance" in self.category

    @property
    def is_parallel(self) -> bool:
        """Whether there may be several calls."""
        return "parallel" in self.category


class Package:
    """The unpacked wheel.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "bfcl_eval"
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        registry: Any = types.ModuleType("bfcl_eval.constants.model_config")
        registry.MODEL_CONFIG_MAPPING = {"own": types.SimpleNamespace(underscore_to_dot=False)}
        sys.modules.setdefault(registry.__name__, registry)
        for name in ("tenacity", "filelock"):
            if importlib.util.find_spec(name) is None:
                sys.modules[name] = _anything(name)

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"bfcl_eval.{name}")

    @cached_property
    def reads_languages(self) -> bool:
        """Whether the parsers of Java and JavaScript can be imported."""
        return all(importlib.util.find_spec(f"tree_sitter{name}") for name in ("", "_java", "_javascript"))

    @cached_property
    def utils(self) -> Any:
        """The helpers of the package for prompts and answers."""
        if not self.reads_languages:
            for name in ("java", "js"):
                parser = f"bfcl_eval.model_handler.parser.{name}_parser"
                sys.modules.setdefault(parser, _anything(parser))
        return self._module("model_handler.utils")

    def questions(self, category: str) -> list[Question]:
        """Return the questions of a category."""
        lines = _lines(self.folder / "data" / f"BFCL_v4_{category}.json")
        place = self.folder / "data" / "possible_answer" / f"BFCL_v4_{category}.json"
        gold = {each["id"]: each["ground_truth"] for each in _lines(place)} if place.is_file() else {}
        hinted = self._module("utils").add_language_specific_hint_to_function_doc(copy.deepcopy(lines))
        return [
            Question(
                each["id"], category, each["question"][0], each["function"], hint["function"], gold.get(each["id"], [])
            )
            for each, hint in zip(lines, hinted, strict=True)
        ]

    def tools(self, question: Question) -> list[dict[str, Any]]:
        """Return the functions of a question as tools in the style of OpenAI."""
        kinds = self._module("constants.type_mappings").GORILLA_TO_OPENAPI
        return [
            {"type": "function", "function": {**each, "parameters": as_schema(each["parameters"], kinds)}}
            for each in question.shown
        ]

    def prompted(self, question: Question) -> list[dict[str, Any]]:
        """Return the chat with the benchmark's own instruction."""
        chat = copy.deepcopy(question.messages)
        return list(self.utils.system_prompt_pre_processing_chat_model(chat, question.shown, question.id))

    def read(self, question: Question, text: str) -> list[dict[str, Any]]:
        """Return the calls in a text that the model wrote alone; none if the package reads none."""
        language = self._module("constants.enums").ReturnFormat
        kind = {"simple_java": language.JAVA, "simple_javascript": language.JAVASCRIPT}.get(
            question.category, language.PYTHON
        )
        try:
            found = self.utils.default_decode_ast_prompting(text, kind)
        except Exception:  # noqa: BLE001 - whatever the package raises, it has read nothing
            return []
        checks = self._module("utils")
        is_calls = checks.is_function_calling_format_output(found) and not checks.is_empty_output(found)
        return found if is_calls else []

    def is_right(self, question: Question, calls: list[dict[str, Any]]) -> bool:
        """Whether the checker finds calls right."""
        language = self._module("constants.enums").Language
        kinds = {"simple_java": language.JAVA, "simple_javascript": language.JAVASCRIPT}
        kind = kinds.get(question.category, language.PYTHON)
        check = self._module("eval_checker.ast_eval.ast_checker").ast_checker
        try:
            return bool(check(question.functions, calls, question.gold, kind, question.category, "own")["valid"])
        except Exception:  # noqa: BLE001 - it raises for calls of some wrong types
            return False

    def judge(self, question: Question, calls: list[dict[str, Any]]) -> tuple[bool, bool, bool]:
        """Return whether there are calls, of the right functions, and right."""
        if question.may_decline:
            is_right = bool(calls) == (question.category == "live_relevance")
            return bool(calls), is_right, is_right
        wanted = Counter(name for each in question.gold for name in each)
        return bool(calls), Counter(name for each in calls for name in each) == wanted, self.is_right(question, calls)


def _anything(name: str) -> Any:
    """Return a module in which every name is a function, or a decorator, that does nothing."""

    def idle(asked: str) -> Any:
        if asked.startswith("__"):  # others look through all modules for their files
            raise AttributeError(asked)
        return lambda *_, **__: lambda function: function

    made: Any = types.ModuleType(name)
    made.__getattr__ = idle
    return made


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def as_schema(described: Any, kinds: Mapping[str, str]) -> Any:
    """Return the parameters that the benchmark describes as a JSON Schema.

    Args:
        described: A description, with the names of types that the benchmark has.
        kinds: From these names to those of JSON Schema; all others are strings, as in the package.
    """
    if not isinstance(described, dict):
        return described
    found = {key: value for key, value in described.items() if key not in ("optional", "format")}
    if "type" in found:
        found["type"] = kinds.get(found["type"], "string")
    if "properties" in found:  # the checker accepts no other
        found["properties"] = {name: as_schema(each, kinds) for name, each in found["properties"].items()}
        found["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(found.get(key), dict):
            found[key] = as_schema(found[key], kinds)
    return found


def right_values(gold: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return right arguments: for each parameter the first right value that its description accepts, or else the first one.

    A parameter may be left out if it is not required and "" is among its values; then it is, unless another one is accepted.
    """
    from jsonschema import Draft202012Validator

    found = {}
    for name, values in gold.items():
        described = Draft202012Validator(schema["properties"].get(name, False))
        is_optional = "" in values and name not in schema.get("required", ())
        given = [each for value in values for each in _meant(value) if not (is_optional and each == "")]
        accepted = [each for each in given if described.is_valid(each)]
        if accepted or (given and not is_optional):
            found[name] = (accepted or given)[0]
    return found


def _meant(value: Any) -> list[Any]:
    """Return the values that a right value stands for: in objects, each key has a list of right values, "" for no such key."""
    if isinstance(value, list):
        return [[*items] for items in islice(product(*map(_meant, value)), MOST_VALUES)]
    if not isinstance(value, dict):
        return [value]
    choices = []
    for key, values in value.items():
        given = values if isinstance(values, list) else [values]
        choices.append([(key, each) for one in given for each in (_meant(one) if one != "" else [None, ""])])
    made = islice(product(*choices), MOST_VALUES)
    return [{key: each for key, each in pairs if each is not None} for pairs in made]


def written_calls(found: Any) -> list[dict[str, Any]]:
    """Return the calls of ``lm.call`` as the checker takes them; none if the model answered in words."""
    calls = found if isinstance(found, list) else [found]
    return [{each.name: each.arguments} for each in calls if not isinstance(each, str)]


class Asker:
    """Asks a model the questions of the benchmark."""

    def __init__(self, lm: LanguageModel, package: Package) -> None:
        self._lm, self._package = lm, package

    def alone(self, questions: Sequence[Question]) -> Iterator[tuple[Any, ...]]:
        """Yield the marks of what the model alone answers, in a batch."""
        task: Any = types.SimpleNamespace(max_new_tokens=BUDGET)
        chats = [self._package.prompted(each) for each in questions]
        for question, one in zip(questions, Unconstrained("alone", self._lm).generate(task, chats, []), strict=True):
            marks = self._package.judge(question, self._package.read(question, one.text))
            yield (*marks, one.tokens, one.tokens)

    def call(self, question: Question, way: str) -> tuple[Any, ...]:
        """Return the marks of a call."""
        options: dict[str, Any] = {"max_new_tokens": BUDGET}
        if way == "draft":
            options = {"max_new_tokens": BUDGET + 2 * DRAFT, "draft": DRAFT}
        try:
            stream = self._lm.stream_call(
                question.messages,
                self._package.tools(question),
                tool_choice="auto" if question.may_decline else "required",
                parallel=question.is_parallel,
                **options,
            )
        except SchemaError:  # no value satisfies one of the functions: there is no answer, not even a call fewer
            return (False, False, False, 0, 0)
        *_, last = stream
        assert isinstance(last, Completed)
        made = last.generation
        marks = self._package.judge(question, written_calls(made.value))
        return (*marks, len(made.token_ids), made.passes)

    def prompt_tokens(self, question: Question) -> int:
        """Return how long the benchmark's own prompt is."""
        text, _ = render(self._lm.tokenizer, self._package.prompted(question))
        return len(self._lm.tokenizer(text, add_special_tokens=False)["input_ids"])


def sample(package: Package, options: argparse.Namespace) -> Iterator[Question]:
    """Yield the drawn questions, those of all categories in turns."""
    drawn = []
    for category in options.categories:
        questions = package.questions(category)
        random.Random(f"{category} {options.seed}").shuffle(questions)
        drawn.append(questions[: options.count])
    for place in range(options.count):
        yield from (questions[place] for questions in drawn if place < len(questions))


def measure(
    asker: Asker, questions: Sequence[Question], options: argparse.Namespace, results: dict[str, Any]
) -> Iterator[int]:
    """Ask the questions in each way that has no answer yet, some at a time; yield how many are done."""
    for start in range(0, len(questions), TOGETHER):
        rows = []
        for question in questions[start : start + TOGETHER]:
            if question.id in results["too_long"] or asker.prompt_tokens(question) > options.longest:
                results["too_long"] = sorted({*results["too_long"], question.id})
            else:
                rows.append(
                    (question, results["answers"].setdefault(question.category, {}).setdefault(question.id, {}))
                )
        for way in options.ways:
            missing = [(question, row) for question, row in rows if way not in row]
            asked = [question for question, _ in missing]
            found = asker.alone(asked) if way == "alone" else (asker.call(each, way) for each in asked)
            for (_, row), marks in zip(missing, found if missing else (), strict=True):
                row[way] = marks
        yield start + len(rows)


def main(arguments: list[str] | None = None) -> int:
    """Ask, write after every few questions."""
    made = harness.parser(__doc__, "bfcl")
    made.add_argument(
        "--package", type=Path, default=corpora.path("bfcl").parents[2], help="the folder of the unpacked wheel"
    )
    harness.model_options(made)
    made.add_argument("--count", type=int, default=60, help="questions of each category")
    made.add_argument("--longest", type=int, default=1500, help="tokens of the longest prompt that is asked")
    made.add_argument("--categories", nargs="*", choices=CATEGORIES, default=list(CATEGORIES))
    made.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    options = made.parse_args(arguments)
    lm = harness.load_model(options)
    package = Package(options.package)
    if not package.reads_languages:
        options.categories = [each for each in options.categories if each not in ("simple_java", "simple_javascript")]
    results: dict[str, Any] = {"answers": {}, "too_long": []}
    if options.out.is_file():
        results = json.loads(options.out.read_text(encoding="utf-8"))["results"]
    settings = {
        "model": options.label,
        **{name: getattr(options, name) for name in ("count", "seed", "longest", "threads")},
    }
    settings |= {"package": options.package.name, "draft": DRAFT, "budget": BUDGET}
    for done in measure(Asker(lm, package), list(sample(package, options)), options, results):
        harness.write_result(options.out, "bfcl", settings, results)
        print(f"{done} questions", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
