"""`schemagen serve`: load a model, and listen."""

from __future__ import annotations

import ipaddress
import socket
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.serve import create_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

    from schemagen.lm.language_model import LanguageModel

#: Names by which this machine reaches a server on itself.
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and its access key.

    Attributes:
        host: An address of this machine.
        port: Its port; 0 for any free one.
        api_key: The key that clients have to send; None if they need none.
        no_key: Whether other machines may use the server without a key.

    Raises:
        OptionError: Other machines could use the server, and there is no key.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    api_key: str | None = None
    no_key: bool = False

    def __post_init__(self) -> None:
        """Refuse to serve other machines without a key by mistake."""
        if not self.is_local and self.api_key is None and not self.no_key:
            raise OptionError(
                f"host {self.host!r} is open to other machines, and there is no API key",
                why="anybody who reaches it could use the model, and have schemas compiled",
                fix="give --api-key (or SCHEMAGEN_API_KEY), or say --no-key, or listen on 127.0.0.1",
                code="open-server",
            )
        if self.api_key is not None and not self.api_key.strip():
            raise OptionError(
                "the API key is empty", fix="give a long random text, or leave it out", code="open-server"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    def app(self, lm: LanguageModel, **options: Any) -> FastAPI:
        """Return the app for this address; options as for `schemagen.serve.create_app`."""
        hosts = _LOCAL_NAMES if self.is_local and self.api_key is None else None
        return create_app(lm, api_key=self.api_key, allowed_hosts=hosts, **options)


def listen(app: FastAPI, address: Address, tell: Callable[[str], None]) -> None:
    """Answer requests until the process is stopped.

    Args:
        app: As `Address.app` makes it.
        address: Where to listen.
        tell: Called with a sentence that names the address.

    Raises:
        OptionError: It cannot listen there.
    """
    import uvicorn

    # This warning is for the author of the schema, who is a client.
    warnings.filterwarnings("ignore", "the schema has no keyword", UserWarning)
    with socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((address.host.strip("[]"), address.port))
        except OSError as error:
            raise OptionError(
                f"cannot listen at {address.host}:{address.port}: {error.strerror or error}",
                why="the port is in use, or the address is not one of this machine",
                fix="give another --port (0 for any free one), or end the process that uses this one",
                code="no-port",
            ) from error
        port = found.getsockname()[1]
        found.listen()  # from here on clients may have to wait, but are not refused
        shown = f"[{address.host}]" if ":" in address.host else address.host
        tell(f"schemagen serves http://{shown}:{port}/v1 (a page to try it: http://{shown}:{port}/)")
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=10))
        server.run(sockets=[found])
