"""The routes of the server and their handlers."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from schemagen.errors import LimitError
from schemagen.serve.access import SECURITY_HEADERS, check_key, check_kind, content_policy, read_bytes
from schemagen.serve.compiling import CompileLine, client_of
from schemagen.serve.completions import Completion
from schemagen.serve.constraints import Compiler, compiled_fields
from schemagen.serve.continuous import ContinuousBatches, can_be_continuous
from schemagen.serve.errors import RequestError, about, body_of, log_fault, status_of
from schemagen.serve.jobs import Outbox
from schemagen.serve.metrics import Metrics
from schemagen.serve.micro_batches import MicroBatches
from schemagen.serve.planning import Planner
from schemagen.serve.requests import ChatRequest, CompletionRequest, read_body
from schemagen.serve.response_items import ResponseShape
from schemagen.serve.response_requests import IN_RESPONSES, ResponsesRequest
from schemagen.serve.scheduling import timed_out
from schemagen.serve.shapes import CompletionShape

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from schemagen.lm.language_model import LanguageModel
    from schemagen.serve.limits import ServerLimits
    from schemagen.serve.planning import Plan
    from schemagen.serve.scheduling import Scheduler
    from schemagen.serve.shapes import Shape

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerParts:
    """The objects that the routes use.

    Attributes:
        lm: The model.
        name: The name of the model.
        limits: Bounds on requests.
        planner: Turns requests into plans.
        scheduler: Writes texts.
        metrics: Counts requests and texts.
        readers: The threads that read requests, and plan those that compile nothing.
        compilers: The queue of requests that compile.
    """

    lm: LanguageModel
    name: str
    limits: ServerLimits
    planner: Planner
    scheduler: Scheduler
    metrics: Metrics
    readers: ThreadPoolExecutor
    compilers: CompileLine

    @classmethod
    def of(
        cls, lm: LanguageModel, *, name: str, limits: ServerLimits, show_schema: bool, continuous: bool | None
    ) -> ServerParts:
        """Make all parts; the thread of the model starts here."""
        scheduler = _scheduler(lm, limits, continuous=continuous)
        compilers = CompileLine(limits.compilers, limits.max_waiting, limits.compile.max_seconds)
        metrics = Metrics(scheduler.counts, compilers.left_behind)
        scheduler.on_rows = metrics.rows.observe
        compiler = Compiler(lm.vocabulary, limits.compile, metrics.compile_seconds.observe)
        readers = ThreadPoolExecutor(limits.compilers, thread_name_prefix="schemagen-read")
        known = name or str(getattr(lm.model.config, "name_or_path", "")) or "schemagen"
        return cls(
            lm, known, limits, Planner(lm, compiler, limits, show_schema), scheduler, metrics, readers, compilers
        )

    def close(self) -> None:
        """End the threads; unfinished texts end with an error."""
        self.scheduler.close()
        self.compilers.close()
        self.readers.shutdown(wait=False, cancel_futures=True)


def _scheduler(lm: LanguageModel, limits: ServerLimits, *, continuous: bool | None) -> Any:
    """Return the scheduler for this model."""
    if continuous is None:
        continuous = lm.model.device.type != "cpu" and can_be_continuous(lm)
    made = ContinuousBatches if continuous else MicroBatches
    return made(lm, max_rows=limits.max_rows, max_waiting=limits.max_waiting)


def build_app(
    parts: ServerParts, *, api_key: str | None, allowed_hosts: Sequence[str] | None, docs: bool = False
) -> FastAPI:
    """Return the app; arguments as for `schemagen.serve.create_app`."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(parts.close)

    app = FastAPI(title="schemagen serve", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.schemagen = parts
    if allowed_hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*allowed_hosts])
    _add_errors(app, parts)
    _add_information(app, parts, api_key)
    _add_completions(app, parts, api_key)
    if docs:
        _add_docs(app, api_key)
    return app


def _add_errors(app: FastAPI, parts: ServerParts) -> None:
    """Answer every error in the form of OpenAI."""

    @app.exception_handler(HTTPException)
    async def of_route(request: Request, error: HTTPException) -> Response:
        refused = RequestError(
            f"{request.method} {request.url.path}: {error.detail}",
            status=error.status_code,
            fix="the routes are /v1/chat/completions, /v1/responses, /v1/completions, /v1/models, /health, /metrics and /",
            code="no-route",
        )
        return _refusal(refused, parts, "other")

    @app.exception_handler(RequestError)
    async def of_request(request: Request, error: RequestError) -> Response:
        return _refusal(error, parts, request.url.path)

    @app.exception_handler(Exception)
    async def of_server(request: Request, error: Exception) -> Response:
        return _refusal(error, parts, request.url.path)


def _refusal(error: Exception, parts: ServerParts, path: str, names: Mapping[str, str] | None = None) -> JSONResponse:
    """Return the response to a request that cannot be answered; `names` as for `body_of`."""
    status = status_of(error)
    log_fault(error)
    parts.metrics.requests.labels(path, status).inc()
    return JSONResponse(body_of(error, names), status, headers=getattr(error, "headers", None))


def _add_information(app: FastAPI, parts: ServerParts, api_key: str | None) -> None:
    """Add the routes that do not use the model."""

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/metrics")
    async def metrics(request: Request) -> Response:
        check_key(request, api_key)
        return Response(parts.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v1/models")
    async def models(request: Request) -> Response:
        check_key(request, api_key)
        entry = {"id": parts.name, "object": "model", "created": 0, "owned_by": "schemagen"}
        return JSONResponse({"object": "list", "data": [entry]})

    page = resources.files("schemagen.serve").joinpath("page.html").read_text(encoding="utf-8")
    headers = {**SECURITY_HEADERS, "Content-Security-Policy": content_policy(page)}

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        return HTMLResponse(page, headers=headers)


def _add_docs(app: FastAPI, api_key: str | None) -> None:
    """Add the OpenAPI description of the routes, and FastAPI's page that shows it."""

    @app.get("/openapi.json", include_in_schema=False)
    async def description(request: Request) -> Response:
        check_key(request, api_key)
        return JSONResponse(app.openapi())

    @app.get("/docs", include_in_schema=False)
    async def page(request: Request) -> Response:
        check_key(request, api_key)
        found = get_swagger_ui_html(openapi_url="openapi.json", title=app.title)
        found.headers.update(SECURITY_HEADERS)
        return found


def _add_completions(app: FastAPI, parts: ServerParts, api_key: str | None) -> None:
    """Add the routes that use the model."""

    def add(path: str, api: Api) -> None:
        schema = api.kind.model_json_schema(ref_template="#/components/schemas/{model}")
        schema.pop("$defs", None)
        body = {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": True}}

        @app.post(path, openapi_extra=body, operation_id=path, name=path)
        async def answer(request: Request) -> Response:
            return await _answer(parts, request, api_key, api)

    add("/v1/chat/completions", Api(ChatRequest, parts.planner.chat, CompletionShape))
    add("/v1/completions", Api(CompletionRequest, parts.planner.completion, CompletionShape))
    add(
        "/v1/responses",
        Api(ResponsesRequest, parts.planner.chat, ResponseShape, lambda given: given.chat, IN_RESPONSES),
    )


@dataclass(frozen=True, slots=True)
class Api:
    """What a route takes and gives.

    Attributes:
        kind: The class of its requests.
        plan: Makes the plan of a request.
        shape: Makes the form of the response, of the request and the name of the model.
        asked: Returns the request for completions that a request stands for.
        names: As for `body_of`.
    """

    kind: type[BaseModel]
    plan: Callable[[Any], Plan]
    shape: Callable[[Any, str], Shape]
    asked: Callable[[Any], Any] = lambda given: given
    names: Mapping[str, str] | None = None

    def read(self, body: bytes) -> tuple[Any, Any]:
        """Return a request, and the request for completions that it stands for.

        Raises:
            RequestError: As `read_body`.
        """
        given = read_body(body, self.kind)
        return given, self.asked(given)


async def _answer(parts: ServerParts, request: Request, api_key: str | None, api: Api) -> Response:
    """Return the response to a request for completions."""
    path, names = request.url.path, None
    try:
        check_key(request, api_key)
        check_kind(request)
        body = await read_bytes(request, parts.limits.max_body_bytes)
        begun, allowed = time.monotonic(), parts.limits.timeout
        client = client_of(request.client.host if request.client else None)
        loop = asyncio.get_running_loop()
        given, asked = await _in_time(loop.run_in_executor(parts.readers, api.read, body), begun, allowed)
        names = api.names  # in errors about the chat that it asks for
        planned = await _in_time(_plan(parts, client, asked, api.plan), begun, allowed)
        shape = api.shape(given, planned.request.model or parts.name)
        completion = Completion(
            planned, shape, scheduler=parts.scheduler, lm=parts.lm, outbox=_outbox(request.app), metrics=parts.metrics,
            timeout=None if allowed is None else (allowed - (time.monotonic() - begun), allowed),
        )  # fmt: skip
        if planned.request.stream:
            parts.metrics.requests.labels(path, 200).inc()
            return StreamingResponse(completion.events(), media_type="text/event-stream", headers=_NOT_KEPT)
        found = await _unless_gone(request, completion)
    except ClientDisconnect:  # before the whole body arrived
        return Response(status_code=499)
    except Exception as error:  # noqa: BLE001 - a client is always answered
        return _refusal(error, parts, path, names)
    if found is None:
        return Response(status_code=499)
    parts.metrics.requests.labels(path, 200).inc()
    return JSONResponse(found)


async def _in_time(work: Awaitable[T], begun: float, allowed: float | None) -> T:
    """Wait for a step of a request that began at a time, as long as the request may take.

    Raises:
        RequestError: Its time is up.
    """
    try:
        return await asyncio.wait_for(work, None if allowed is None else allowed - (time.monotonic() - begun))
    except asyncio.TimeoutError:
        raise timed_out(allowed or 0.0) from None


async def _plan(parts: ServerParts, client: str, asked: Any, plan_of: Callable[[Any], Plan]) -> Plan:
    """Return the plan of a request; a request that compiles nothing does not wait for compilations."""
    compiled = compiled_fields(asked)
    if not compiled:
        return await asyncio.get_running_loop().run_in_executor(parts.readers, plan_of, asked)
    try:
        return await parts.compilers.run(client, partial(plan_of, asked))
    except LimitError as error:
        about(error, compiled[0])
        raise


def _outbox(app: FastAPI) -> Outbox:
    """Return the outbox of this event loop; an app in a test may see several loops, one after another."""
    loop, known = asyncio.get_running_loop(), getattr(app.state, "outbox", None)
    if known is None or known[0] is not loop:
        known = app.state.outbox = (loop, Outbox())
    found: Outbox = known[1]
    return found


_NOT_KEPT = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


async def _unless_gone(request: Request, completion: Completion) -> dict[str, Any] | None:
    """Return the body of a response; None as soon as the client has gone away."""
    answer = asyncio.create_task(completion.body())
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        completion.close()
        for task in (answer, gone):
            task.cancel()


async def _disconnected(request: Request) -> None:
    """Return when the client goes away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
