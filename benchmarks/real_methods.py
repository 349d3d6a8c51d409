"""Ways to get a structured answer from a model of transformers: without a constraint, with ours, with the peers'."""

from __future__ import annotations

import importlib.util
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from harness import clock

from schemagen.decode.generate import inputs_of
from schemagen.prompts.messages import render, with_correction, with_shape
from schemagen.request.settings import token_ids_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasks import Task

    from schemagen import LanguageModel

#: Extra attempts if an answer without a constraint is not JSON of the schema.
RETRIES = 3
#: Most tokens of a draft, and tokens that the question after it may take.
DRAFT, ASKING = 160, 64


@dataclass(frozen=True, slots=True)
class Written:
    """The answer of a model.

    Attributes:
        text: The last attempt.
        tokens: Of all attempts.
        attempts: How many there were.
        seconds: The time it took, if the caller's clock would count more.
    """

    text: str
    tokens: int
    attempts: int = 1
    seconds: float | None = None


class Method(ABC):
    """A way to get answers.

    Args:
        name: In results.
        lm: The model.
    """

    is_ours = True

    def __init__(self, name: str, lm: LanguageModel) -> None:
        self.name, self.lm = name, lm

    @abstractmethod
    def answer(self, task: Task, prompts: Sequence[str]) -> list[Written]:
        """Answer questions, in a batch if there are several; the first call of a task does all one-time work."""

    def prompt(self, task: Task, prompt: str) -> list[dict[str, Any]]:
        """Return the messages that every way sends."""
        return with_shape(task.chat(prompt), task.schema)

    def generate(
        self, task: Task, chats: Sequence[list[dict[str, Any]]], processors: Sequence[Any], exactly: int | None = None
    ) -> list[Written]:
        """Run ``model.generate``, greedily, for exactly the given number of tokens if there is one."""
        lm = self.lm
        rendered = [render(lm.tokenizer, messages) for messages in chats]
        prompts = [token_ids_of(lm, text, templated=templated) for text, templated in rendered]
        ends = lm.vocabulary.eos_token_ids
        inputs = inputs_of(prompts, ends[0], lm.model.device)
        output = lm.model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=exactly or task.max_new_tokens,
            min_new_tokens=exactly,
            eos_token_id=list(ends),
            pad_token_id=ends[0],
            logits_processor=list(processors),
        )
        width = inputs["input_ids"].shape[1]
        return [self._written(row[width:].tolist(), ends) for row in output]

    def _written(self, token_ids: list[int], ends: Sequence[int]) -> Written:
        used = next((place + 1 for place, token_id in enumerate(token_ids) if token_id in ends), len(token_ids))
        return Written(self.lm.tokenizer.decode(token_ids[:used], skip_special_tokens=True), used)


class Unconstrained(Method):
    """The model alone."""

    def answer(self, task: Task, prompts: Sequence[str]) -> list[Written]:
        """Answer."""
        return self.generate(task, [self.prompt(task, prompt) for prompt in prompts], [])


class SameLength(Method):
    """The model alone, as many tokens as the constrained answer has: what speeds are compared with.

    A prompt takes its time however short the answer is, so tokens per second of answers of different lengths say little.
    """

    def answer(self, task: Task, prompts: Sequence[str]) -> list[Written]:
        """Answer; the constrained answer is written before, token by token, and not timed."""
        constrained = Processor("length", self.lm, _schemagen, is_ours=True)
        found = []
        for prompt in prompts:
            (written,) = constrained.answer(task, [prompt])
            started = clock()
            (free,) = self.generate(task, [self.prompt(task, prompt)], [], exactly=written.tokens)
            found.append(Written(free.text, written.tokens, seconds=clock() - started))
        return found


class Retries(Method):
    """The model alone, told its mistake and asked again."""

    def answer(self, task: Task, prompts: Sequence[str]) -> list[Written]:
        """Answer."""
        chats = [self.prompt(task, prompt) for prompt in prompts]
        found = self.generate(task, chats, [])
        for _ in range(RETRIES):
            reasons = [_reason(one.text, task.schema) for one in found]
            open_rows = [row for row, reason in enumerate(reasons) if reason]
            if not open_rows:
                break
            chats = [
                with_correction(chat, one.text, reason) if reason else chat
                for chat, one, reason in zip(chats, found, reasons, strict=True)
            ]
            again = self.generate(task, [chats[row] for row in open_rows], [])
            for row, one in zip(open_rows, again, strict=True):
                found[row] = Written(one.text, found[row].tokens + one.tokens, found[row].attempts + 1)
        return found


def _reason(text: str, schema: dict[str, Any]) -> str:
    """Return why a text is not JSON of a schema; "" if it is."""
    from jsonschema import Draft202012Validator

    try:
        errors = list(Draft202012Validator(schema).iter_errors(json.loads(text)))
    except (ValueError, RecursionError) as error:
        return str(error)
    return "; ".join(f"{error.json_path}: {error.message}" for error in errors)[:500]


class FrontDoor(Method):
    """``lm.run`` and ``lm.run_batch``, as users call them.

    Args:
        name: In results.
        lm: The model.
        draft: Most tokens of a free draft before each answer, which come on top of the budget of the task; 0 for none.
        options: Further options of the calls.
    """

    def __init__(self, name: str, lm: LanguageModel, draft: int = 0, **options: Any) -> None:
        super().__init__(name, lm)
        self._draft, self._options = draft, options

    def answer(self, task: Task, prompts: Sequence[str]) -> list[Written]:
        """Answer."""
        limits = {"max_new_tokens": task.max_new_tokens, **self._options}
        if self._draft:
            limits |= {"max_new_tokens": task.max_new_tokens + self._draft + ASKING, "draft": self._draft}
        chats = [task.chat(prompt) for prompt in prompts]
        if len(chats) == 1:
            found = [self.lm.run(chats[0], task.schema, **limits)]
        else:
            found = self.lm.run_batch(chats, task.schema, batch_size=len(prompts), progress=False, **limits)
        return [Written(one.text, getattr(one, "new_tokens", 0)) for one in found]


class Processor(Method):
    """A logits processor in ``model.generate``.

    Args:
        name: In results.
        lm: The model.
        compiler: From the model and a schema to what makes processors.
        is_ours: Whether its errors are ours.
    """

    def __init__(
        self,
        name: str,
        lm: LanguageModel,
        compiler: Callable[[LanguageModel, Any], Callable[[], Any]],
        *,
        is_ours: bool,
    ) -> None:
        super().__init__(name, lm)
        self.is_ours = is_ours
        self._compiler = compiler
        self._makers: dict[str, Callable[[], Any]] = {}

    def answer(self, task: Task, prompts: Sequence[str]) -> list[Written]:
        """Answer."""
        if task.name not in self._makers:
            self._makers[task.name] = self._compiler(self.lm, task.schema)
        chats = [self.prompt(task, prompt) for prompt in prompts]
        return self.generate(task, chats, [self._makers[task.name]()])


def _schemagen(lm: LanguageModel, schema: Any) -> Callable[[], Any]:
    import schemagen

    grammar = lm.compile(schema)
    return lambda: schemagen.LogitsProcessor(grammar)


def _xgrammar(lm: LanguageModel, schema: Any) -> Callable[[], Any]:
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor

    info = xgrammar.TokenizerInfo.from_huggingface(lm.tokenizer, vocab_size=lm.vocabulary.size)
    compiled = xgrammar.GrammarCompiler(info).compile_json_schema(json.dumps(schema))
    return lambda: LogitsProcessor(compiled)


def _llguidance(lm: LanguageModel, schema: Any) -> Callable[[], Any]:
    import llguidance.hf
    from decode_overhead import LlguidanceProcessor

    tokenizer = llguidance.hf.from_tokenizer(lm.tokenizer, n_vocab=lm.vocabulary.size)
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    return lambda: LlguidanceProcessor(tokenizer, grammar)


def _outlines(lm: LanguageModel, schema: Any) -> Callable[[], Any]:
    import outlines_core
    from outlines.backends.outlines_core import OutlinesCoreLogitsProcessor
    from outlines_core.json_schema import build_regex_from_schema

    # Its own reader asks the hub for the tokenizer by name; the bytes of the tokens are the same.
    ids: dict[bytes, list[int]] = {}
    for token_id, data in enumerate(lm.vocabulary.tokens):
        if data:
            ids.setdefault(data, []).append(token_id)
    vocabulary = outlines_core.Vocabulary(lm.tokenizer.eos_token_id, ids)
    index = outlines_core.Index(build_regex_from_schema(json.dumps(schema), None), vocabulary)
    return lambda: OutlinesCoreLogitsProcessor(index, "torch")


def _peer(compiler: Any) -> Any:
    return partial(Processor, compiler=compiler, is_ours=False)


#: Name -> what makes it of its name and a model, and the modules that it needs.
METHODS: dict[str, tuple[Callable[..., Method], tuple[str, ...]]] = {
    "unconstrained": (Unconstrained, ()),
    "unconstrained, same length": (SameLength, ()),
    "retries": (Retries, ()),
    "schemagen": (FrontDoor, ()),
    "schemagen with a draft": (partial(FrontDoor, draft=DRAFT), ()),
    "schemagen with the loop guard": (partial(FrontDoor, loop_guard=True), ()),
    "schemagen processor": (partial(Processor, compiler=_schemagen, is_ours=True), ()),
    "xgrammar": (_peer(_xgrammar), ("xgrammar",)),
    "llguidance": (_peer(_llguidance), ("llguidance",)),
    "outlines": (_peer(_outlines), ("outlines", "outlines_core")),
}


def available(lm: LanguageModel, asked: Sequence[str]) -> tuple[dict[str, Method], dict[str, str]]:
    """Return the ways that can be measured, and why the others cannot."""
    found, skipped = {}, {}
    for name in asked:
        make, modules = METHODS[name]
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            skipped[name] = f"{' and '.join(missing)} not installed"
        else:
            found[name] = make(name, lm)
    return found, skipped
