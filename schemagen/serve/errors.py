"""Errors as OpenAI's API writes them: ``{"error": {message, type, param, code}}``, and the status of each.

A request that asks for something impossible gets 400, with the code of `schemagen.errors`; so does a field that this
server does not support, with the code "unsupported" and the alternative. Faults of the model get 500. ``at``, ``why``
and ``fix`` accompany the four fields of OpenAI, and are in the message, which is all that most clients show.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, ClassVar

from schemagen.errors import LogitsError, MatcherError, ModelError, SchemagenError, VocabularyError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOGGER = logging.getLogger("schemagen.serve")
#: Errors about the server, not the request.
_OF_SERVER = (LogitsError, ModelError, MatcherError, VocabularyError)


class RequestError(SchemagenError):
    """A request that is refused.

    Args:
        fact: The defect.
        param: The field with the error.
        status: The status of the response.
        headers: The headers of the response.
        parts: As for `SchemagenError`.
    """

    default_code: ClassVar[str] = "invalid-request"

    def __init__(
        self, fact: str, *, param: str = "", status: int = 400, headers: dict[str, str] | None = None, **parts: str
    ) -> None:
        super().__init__(fact, **parts)
        self.param = param
        self.status = status
        self.headers = headers or {}


def unsupported(param: str, told: str, fix: str) -> RequestError:
    """Return the error of a field that this server does not act on; `told` is the field with its value."""
    return RequestError(
        f"{told} is not supported",
        param=param,
        why="schemagen serve does not act on it, and does not ignore what would change the answer",
        fix=fix,
        code="unsupported",
    )


def about(error: SchemagenError, param: str) -> None:
    """Record the field that an error is about, unless it names one."""
    if not getattr(error, "param", ""):
        error.__dict__["param"] = param


def log_fault(error: Exception) -> None:
    """Write faults of the server to the log, for its operator; clients see only the class of the error."""
    if status_of(error) >= 500 and not isinstance(error, RequestError):
        _LOGGER.error("a request failed: %s", error, exc_info=error)


def status_of(error: Exception) -> int:
    """Return the status of a response with an error."""
    if isinstance(error, RequestError):
        return error.status
    return 400 if isinstance(error, SchemagenError) and not isinstance(error, _OF_SERVER) else 500


def body_of(error: Exception, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the body of a response with an error; of a foreign error it names only the class.

    Args:
        error: The error.
        names: Fields of chats, and their names in the API of the request, if it has others.
    """
    status = status_of(error)
    if not isinstance(error, SchemagenError):
        return {"error": {"message": f"{type(error).__name__} in the server", "type": "server_error", "param": None,
                          "code": "internal-error"}}  # fmt: skip
    names, param = names or {}, getattr(error, "param", "")
    parts = {name: _renamed(in_http(getattr(error, name)), names) for name in ("at", "why", "fix")}
    told = (("", _renamed(in_http(error.fact), names)), ("Why: ", parts["why"]), ("Fix: ", parts["fix"]))
    message = ". ".join(label + text.rstrip(".") for label, text in told if text)
    found: dict[str, Any] = {
        "message": _printable(message),
        "type": _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error"),
        "param": names.get(param, param) or None,
        "code": error.code,
    }
    return {"error": found | {name: _printable(text) for name, text in parts.items() if text}}


#: Options of Python in errors of the package -> the alternative for clients of HTTP.
_IN_HTTP = [
    (re.compile(pattern), meant)
    for pattern, meant in (
        (r"\bshow_schema=False\b", '"schemagen": {"show_schema": false}'),
        (r"\bproperty_order='schema'", '"schemagen": {"property_order": "schema"}'),
        (r"\bmax_new_tokens=", '"max_tokens": '),
        (r"\bmax_new_tokens\b", "max_tokens"),
        (r"\btool_choice='(\w+)'", r'"tool_choice": "\1"'),
        (r"\braise (?:schemagen\.)?Limits\((\w+)=\.\.\.\)", r"start the server with a higher \1"),
        (r",? or compile with strict=False[^.;]*", ""),
        (r"\bpass the document: compile\(.*\)", "put the document into $defs"),
        (r",? or (?:generate yourself with schemagen\.LogitsProcessor|chat_template=False)", ""),
        (r",? or choose a profile .*", ""),
        (
            r"name the markers: schemagen\.lm\.Reasoning\(.*\)",
            'name them: "schemagen": {"reasoning": {"begin": "...", "end": "..."}}',
        ),
        (r"\bwrite draft=True in place of reasoning", 'ask for a draft: "schemagen": {"draft": true}'),
        (r"\bleave `reasoning` out", "ask for no thoughts"),
        (r"\bgive start=", "name the first rule start"),
        (r"\bgive bind=\{.*\}, a pattern, a type or another spec", "write its definition into the grammar"),
        (r"\bwith imports='library' ", ""),
    )
]


def in_http(text: str) -> str:
    """Return the text of an error in the words of HTTP."""
    for pattern, meant in _IN_HTTP:
        text = pattern.sub(meant, text)
    return text.strip()


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the names of fields that are no words of English."""
    for name in names:
        text = re.sub(rf"\b{re.escape(name)}\b", names[name], text) if "_" in name else text
    return text


_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
