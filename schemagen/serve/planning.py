"""A request as work for the model: prompts in tokens, a grammar, a budget, and a reader of the answer.

Planning runs in a thread, for it may compile for seconds.
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import torch

from schemagen.calling.families import detect_profile
from schemagen.calling.history import render_chat
from schemagen.calling.request import CallForm, CallRequest, resolve
from schemagen.calling.tools import Tool
from schemagen.decode.brevity import Brevity
from schemagen.decode.budget import check_budget, context_of
from schemagen.decode.options import complete_options
from schemagen.decode.text import is_drawn
from schemagen.decode.token_records import ALTERNATIVES, Records
from schemagen.errors import GenerationError, SchemagenError
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.options.sampling import Sampling
from schemagen.prompts.messages import as_messages
from schemagen.regex import ast
from schemagen.request.answer_request import AnswerForm
from schemagen.request.settings import Settings, reasoning_format, token_ids_of
from schemagen.serve.constraints import check_room
from schemagen.serve.errors import RequestError, about, unsupported
from schemagen.serve.jobs import Job
from schemagen.serve.logprobs import ContentTokens
from schemagen.serve.readers import CallReader, Reader, TextReader
from schemagen.serve.requests import NamedTool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schemagen.engine.protocol import Constraint
    from schemagen.grammar.grammar import Grammar
    from schemagen.lm.language_model import LanguageModel
    from schemagen.prompts.reasoning_grammar import ReasoningFormat
    from schemagen.serve.constraints import Compiler
    from schemagen.serve.jobs import Outbox
    from schemagen.serve.limits import ServerLimits
    from schemagen.serve.requests import ChatRequest, CommonRequest, CompletionRequest, FunctionTool, Message
    from schemagen.vocabulary import Vocabulary

#: Tools that are cached by their JSON, so that the grammars of their calls are reused.
_MOST_TOOLS = 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a request.

    Attributes:
        request: The parsed request.
        prompts: The prompts, in tokens.
        constraint: The constraint of each text, thoughts included; None if it is free.
        budgets: Maximum number of tokens of the texts of each prompt.
        sampling: How tokens are drawn; None to take the likeliest.
        reader: Makes the reader of a text, with its tokens if log-probabilities are asked for.
        traced: The grammar whose masks and fields are reported; None for no trace, as with tools and thoughts.
    """

    request: CommonRequest
    prompts: list[tuple[int, ...]]
    constraint: Constraint | None
    budgets: list[int]
    sampling: Sampling | None
    reader: Callable[[ContentTokens | None], Reader]
    traced: Grammar | None = None

    def jobs(self, vocabulary: Vocabulary, outbox: Outbox) -> list[Job]:
        """Return the texts to write, `n` for each prompt.

        Args:
            vocabulary: The vocabulary of the model.
            outbox: The outbox of the event loop that will read them.
        """
        request, asked = self.request, self.request.extension
        brevity = Brevity(bool(asked.loop_guard), asked.prefer_length)
        most = None if request.likeliest is None else max(ALTERNATIVES, request.likeliest)
        found: list[Job] = []
        first = secrets.randbits(48) if request.seed is None else request.seed
        for prompt, budget in zip(self.prompts, self.budgets, strict=True):
            for _ in range(request.n):
                seed = (first + len(found)) % 2**63
                generator = torch.Generator().manual_seed(seed) if is_drawn(self.sampling, self.constraint) else None
                found.append(
                    Job(
                        prompt,
                        self.constraint,
                        vocabulary,
                        budget,
                        mailbox=outbox.mailbox(),
                        sampling=self.sampling,
                        generator=generator,
                        brevity=brevity,
                        records=None if most is None else Records(most),
                        stops=request.stops,
                        streams=request.stream,
                    )
                )
        return found

    def reader_of(self, job: Job) -> Reader:
        """Return the reader of a job."""
        top = self.request.likeliest
        if job.records is None or top is None:
            return self.reader(None)
        return self.reader(ContentTokens(job.records, job.vocabulary, top))


@dataclass(slots=True)
class Planner:
    """Makes plans.

    Attributes:
        lm: The model.
        compiler: Compiles constraints.
        limits: Bounds on each request.
        show_schema: Whether the shape of an answer is appended to the prompt of a chat.
    """

    lm: LanguageModel
    compiler: Compiler
    limits: ServerLimits
    show_schema: bool = True
    _any_text: GrammarGraph = field(init=False)
    _tools: OrderedDict[str, Tool[..., Any]] = field(default_factory=OrderedDict)
    _lock: Any = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Make the graph of free text, which thoughts may precede."""
        self._any_text = GrammarGraph([Part(ast.ANY_STRING, final=True)], [0], self.lm.vocabulary)

    def chat(self, request: ChatRequest) -> Plan:
        """Return the plan of a chat.

        Raises:
            SchemagenError: The request cannot be answered.
        """
        grammar, _ = self.compiler.grammar_of(request)
        messages = _messages(request.messages)
        thinker = self._thinker(request)
        shown = request.extension.show_schema
        form = AnswerForm(show_schema=self.show_schema if shown is None else shown)
        has_tools = bool(request.tools) or request.tool_choice not in (None, "auto", "none")
        if has_tools and (grammar is None or request.tool_choice != "none"):
            return self._calls(request, messages, thinker, grammar, form)
        if grammar is not None:
            messages = form.messages(messages, grammar)
        profile = detect_profile(self.lm.tokenizer)
        text, templated = render_chat(self.lm.tokenizer, messages, (), profile, thinker=thinker)
        prompt = token_ids_of(self.lm, text, templated=templated)
        return self._text(request, [prompt], grammar, thinker)

    def _thinker(self, request: CommonRequest) -> ReasoningFormat | None:
        """Return how the model thinks before it answers.

        Raises:
            OptionError: The chat template of the model supports no thoughts.
        """
        try:
            return reasoning_format(
                self.lm, request.reasoning, request.draft, prefer_length=request.extension.prefer_length
            )
        except SchemagenError as error:
            about(error, "draft" if request.extension.draft else "reasoning")
            raise

    def completion(self, request: CompletionRequest) -> Plan:
        """Return the plan of a completion; errors as for `chat`."""
        grammar, _ = self.compiler.grammar_of(request)
        if request.reasoning:
            raise unsupported("schemagen.reasoning", "reasoning without a chat", "ask in a chat")
        if request.draft:
            raise unsupported("schemagen.draft", "a draft without a chat", "ask in a chat")
        prompts = request.prompts
        if not prompts or len(prompts) * request.n > self.limits.max_choices:
            raise _too_many("prompt and n", len(prompts) * request.n, self.limits.max_choices)
        return self._text(request, [self._tokens(prompt) for prompt in prompts], grammar)

    def _tokens(self, prompt: str | list[int]) -> tuple[int, ...]:
        """Return a prompt in tokens."""
        if isinstance(prompt, str):
            as_messages(prompt)  # refuses prompts that no tokenizer takes
            return token_ids_of(self.lm, prompt, templated=False)
        size = self.lm.vocabulary.size
        wrong = next((token for token in prompt if not 0 <= token < size), None)
        if wrong is not None:
            fix = f"give a text, or tokens from 0 to {size - 1}"
            raise RequestError(f"{wrong} is not a token of the model", fix=fix, param="prompt", code="invalid-field")
        return tuple(prompt)

    def _text(
        self,
        request: CommonRequest,
        prompts: list[tuple[int, ...]],
        grammar: Grammar | None,
        thinker: ReasoningFormat | None = None,
    ) -> Plan:
        """Return the plan of texts."""
        thinking = None
        if thinker is not None:
            thinking = thinker.before_parts(self._any_text) if grammar is None else thinker.before(grammar)
        constraint = grammar if thinking is None else thinking
        if constraint is not None and request.stops:
            raise unsupported(
                "stop",
                "stop beside a constraint or thoughts",
                "leave it out: such an answer ends by itself, and half an answer is not valid",
            )
        budgets = [self._budget(request, len(prompt), constraint) for prompt in prompts]
        if constraint is not None:
            for budget in budgets:
                check_room(constraint, budget, "max_tokens")
        traced = grammar if request.extension.trace and thinking is None else None

        def reader(tokens: ContentTokens | None) -> Reader:
            return TextReader(self.lm.vocabulary, constraint, request.stops, thinking, tokens=tokens)

        return Plan(request, prompts, constraint, budgets, self._sampling(request), reader, traced)

    def _calls(
        self,
        request: ChatRequest,
        messages: list[dict[str, Any]],
        thinker: ReasoningFormat | None,
        grammar: Grammar | None,
        answer: AnswerForm,
    ) -> Plan:
        """Return the plan of an answer that may call tools; its other texts are those of the grammar, if there is one."""
        if request.stops:
            raise unsupported("stop", "stop beside tools", "leave it out: calls end by themselves")
        given = request.tools or []
        if not given or len(given) > self.limits.max_tools:
            raise _too_many("tools", len(given), self.limits.max_tools)
        choice: Any = request.tool_choice or "auto"
        named = isinstance(choice, NamedTool)
        parallel = not named and request.parallel_tool_calls is not False
        tools = [self._tool(tool) for tool in given]
        limits = self.limits.compile
        form = CallForm.of(
            self.lm, tools, parallel=parallel, profile=None, limits=limits, returns=grammar, answer=answer
        )
        resolved = resolve(form.tools, [choice.function.name] if named else choice)
        asked = CallRequest.of(Settings(self.lm, {}, thinker), form, messages, resolved)
        prompt = asked.prepare().token_ids
        budget = self._budget(request, len(prompt), asked.constraint)
        check_budget(asked.constraint, budget)

        def reader(tokens: ContentTokens | None) -> Reader:
            return CallReader(asked, named=named, tokens=tokens)

        return Plan(request, [prompt], asked.constraint, [budget], self._sampling(request), reader)

    def _tool(self, tool: FunctionTool) -> Tool[..., Any]:
        """Return a tool; the same object for the same JSON, so that its grammar is reused."""
        given = tool.model_dump(exclude_unset=True)
        key = json.dumps(given)
        with self._lock:
            found = self._tools.pop(key, None) or Tool.from_dict(given)
            self._tools[key] = found
            if len(self._tools) > _MOST_TOOLS:
                self._tools.popitem(last=False)
        return found

    def _budget(self, request: CommonRequest, prompt_tokens: int, constraint: Constraint | None) -> int:
        """Return the token budget of a text: the requested number, limited by the context of the model.

        If none is requested, it is the default plus the tokens of thoughts, as far as the server gives as many.

        Raises:
            RequestError: The request asks for more than the server gives.
            GenerationError: The prompt is empty, or fills the context.
        """
        asked, most = request.most_tokens, self.limits.max_new_tokens
        if asked is not None and asked > most:
            raise RequestError(
                f"max_tokens={asked}, and this server gives {most} at most",
                param="max_tokens",
                fix=f"ask for {most} or fewer, or start the server with a higher limit",
                code="too-many-tokens",
            )
        thoughts = 0 if constraint is None else constraint.thought_tokens
        wanted = min(self.limits.default_new_tokens + thoughts, most) if asked is None else asked
        complete_options(self.lm.model, prompt_tokens, {"max_new_tokens": wanted})  # refuses prompts
        context = context_of(self.lm.model)
        return wanted if context is None else min(wanted, context - prompt_tokens)

    def _sampling(self, request: CommonRequest) -> Sampling | None:
        """Return the sampling options; None for greedy search unless the request samples or asks for several texts."""
        if request.n > self.limits.max_choices:
            raise _too_many("n", request.n, self.limits.max_choices)
        given = (request.top_p, request.top_k, request.min_p)
        is_sampled = request.temperature is not None or request.n > 1 or any(each is not None for each in given)
        if request.temperature == 0 or not is_sampled:
            return None
        top_k = request.top_k or 0
        top_p = 1.0 if request.top_p is None else request.top_p
        if top_p == 0:
            return None
        temperature = 1.0 if request.temperature is None else max(request.temperature, 1e-3)
        return Sampling(temperature, top_p=top_p, top_k=max(0, top_k), min_p=request.min_p or None)


def _too_many(param: str, given: int, most: int) -> RequestError:
    if not given:
        return RequestError(f"{param}: there is none", param=param, fix="give one", code="invalid-field")
    return RequestError(
        f"{param}: {given}, and this server takes {most} at most", param=param, fix="send fewer", code="too-many"
    )


def _messages(given: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages for chat templates: new names of roles become the usual ones, results get their tool's name.

    Raises:
        GenerationError: The list is empty, or a message has no text.
    """
    names = {call.id: call.function.name for each in given for call in each.tool_calls or ()}
    try:
        return as_messages([_message(message, names) for message in given])
    except GenerationError as error:
        about(error, "messages")
        raise


def _message(message: Message, names: Mapping[str | None, str]) -> dict[str, Any]:
    written = message.model_dump(exclude_unset=True)
    found = {key: value for key, value in written.items() if value is not None or key == "content"}
    if message.role == "developer":
        found["role"] = "system"
    if not message.tool_calls:
        found.pop("tool_calls", None)
    if message.role == "tool":
        found.setdefault("name", names.get(message.tool_call_id, "the call"))
    if message.role == "assistant" and message.content is None and not message.tool_calls:
        found["content"] = ""
    return found
