"""`schemagen serve`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from schemagen.cli.console import busy
from schemagen.errors import OptionError
from schemagen.errors.installing import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.serve.limits import ServerLimits

#: Packages of the extra, by the names of their imports.
_PACKAGES = ("fastapi", "uvicorn", "prometheus_client")


def serve_model(
    model: str | None,
    *,
    name: str | None,
    address: Mapping[str, Any],
    limits: Mapping[str, Any],
    **options: Any,
) -> None:
    """Load a model and answer requests until the process is stopped.

    Args:
        model: Name or folder; None for the bundled model.
        name: The name of the model for clients; None for its own.
        address: Fields of `schemagen.serve.run.Address`.
        limits: Fields of `ServerLimits`, and ``compile_seconds``; those that are None keep their defaults.
        options: As for `schemagen.serve.create_app`.

    Raises:
        OptionError: A package of the extra is missing, or other machines could ask without a key.
        ModelError: The model cannot be loaded.
    """
    from importlib.util import find_spec

    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if missing:
        raise OptionError(
            f"the server needs {', '.join(missing)}, not installed here",
            fix=install_command("serve"),
            code="no-server",
        )
    import schemagen
    from schemagen.serve.run import Address, listen

    place = Address(**address)
    with busy("loading the model"):
        lm = schemagen.load_bundled() if model is None else schemagen.load(model)
    known = name or model or "bundled"
    app = place.app(lm, name=known, limits=_limits(limits), **options)
    listen(app, place, partial(typer.echo, err=True))


def _limits(given: Mapping[str, Any]) -> ServerLimits:
    from schemagen.serve import ServerLimits

    stated = {name: value for name, value in given.items() if value is not None}
    seconds = stated.pop("compile_seconds", None)
    found = ServerLimits(**stated)
    found = replace(found, default_new_tokens=min(found.default_new_tokens, found.max_new_tokens))
    return found if seconds is None else replace(found, compile=replace(found.compile, max_seconds=seconds))
