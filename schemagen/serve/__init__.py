"""A server with the API of OpenAI, on this machine's own model: ``schemagen serve``, or `create_app` within another app.

It needs the extra ``schemagen[serve]``: FastAPI, uvicorn and prometheus-client, which are imported when an app is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.serve.limits import ServerLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import FastAPI

    from schemagen.lm.language_model import LanguageModel

__all__ = ["ServerLimits", "create_app"]


def create_app(  # noqa: PLR0913 - every option is a parameter
    lm: LanguageModel,
    *,
    name: str = "",
    limits: ServerLimits | None = None,
    api_key: str | None = None,
    allowed_hosts: Sequence[str] | None = None,
    show_schema: bool = True,
    continuous: bool | None = None,
    docs: bool = False,
) -> FastAPI:
    """Return a FastAPI app that answers as OpenAI's API does; mount it in your own, or run it with uvicorn.

    Args:
        lm: The model.
        name: The name in ``GET /v1/models``; by default the name that the model was loaded by. Requests may name any
            model.
        limits: Bounds for requests from outside.
        api_key: The key that clients have to send as ``Authorization: Bearer ...``; None if clients need none.
        allowed_hosts: Accepted names in the header ``Host``; None to accept any. A server without a key that listens on
            this machine alone should not accept others, or web pages reach it under a name of their own.
        show_schema: Whether the shape of an answer is appended to the prompts of chats, as `LanguageModel.run` does.
        continuous: Whether requests go through the continuous batching of transformers; None to use it if the model is
            on an accelerator and supports it.
        docs: Whether ``/docs`` and ``/openapi.json`` are served, to clients with the key if there is one. The page
            loads its scripts from a CDN.

    Raises:
        OptionError: An argument is invalid, or a package is missing.
        MissingPackageError: torch or transformers is not installed.
    """
    from schemagen.errors import OptionError
    from schemagen.errors.installing import check_packages, install_command

    check_packages("schemagen.serve", "torch", "transformers")
    try:
        from schemagen.serve.app import ServerParts, build_app
    except ImportError as error:
        name_of: Any = getattr(error, "name", None)
        if name_of not in {"fastapi", "starlette", "prometheus_client"}:
            raise
        raise OptionError(
            f"the server needs {name_of}, which is not installed",
            fix=install_command("serve"),
            code="no-server",
        ) from error
    parts = ServerParts.of(
        lm, name=name, limits=limits or ServerLimits(), show_schema=show_schema, continuous=continuous
    )
    return build_app(parts, api_key=api_key, allowed_hosts=allowed_hosts, docs=docs)
