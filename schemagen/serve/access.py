"""Access checks: the key, the content type, the size of a body; and the security headers of the server's pages."""

from __future__ import annotations

import hmac
import re
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from schemagen.serve.errors import RequestError

if TYPE_CHECKING:
    from fastapi import Request

#: Sent with each page: no guessing of its type, no embedding in frames, no referrer.
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


def content_policy(page: str) -> str:
    """Return the Content-Security-Policy that lets a page run its own scripts and styles, and nothing else.

    It names them by their hashes. The page may send requests to this server, and load nothing.
    """
    sources = {
        kind: [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in _inside(kind, page)]
        for kind in ("script", "style")
    }
    return "; ".join(
        [
            "default-src 'none'",
            *(f"{kind}-src {' '.join(hashes)}" for kind, hashes in sources.items()),
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def _inside(kind: str, page: str) -> list[str]:
    return re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)


def check_key(request: Request, key: str | None) -> None:
    """Refuse a request without the key.

    Raises:
        RequestError: The key is missing or wrong (401).
    """
    given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    if key is None or hmac.compare_digest(given.encode(), key.encode()):
        return
    raise RequestError(
        "the API key is wrong" if given else "there is no API key",
        status=401,
        headers={"WWW-Authenticate": "Bearer"},
        fix="send the header Authorization: Bearer KEY, with the key that the server was started with",
        code="invalid-api-key",
    )


def check_kind(request: Request) -> None:
    """Refuse requests that a web page of another origin could send without a CORS preflight: forms, and plain text.

    Raises:
        RequestError: The content is not declared as JSON (415).
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(
            f"the content type is {kind[:60]!r}", status=415, fix="send Content-Type: application/json", code="not-json"
        )


async def read_bytes(request: Request, most: int) -> bytes:
    """Return the body of a request.

    Raises:
        RequestError: It is larger than allowed (413); the rest of it is not read.
    """
    stated = request.headers.get("content-length", "")
    if stated.isdigit() and int(stated) > most:
        raise _too_large(int(stated), most)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise _too_large(len(body), most)
    return bytes(body)


def _too_large(size: int, most: int) -> RequestError:
    return RequestError(
        f"a body of {size} bytes or more, and at most {most} are read",
        status=413,
        headers={"Connection": "close"},
        fix="send less, or start the server with a higher limit",
        code="body-too-large",
    )
