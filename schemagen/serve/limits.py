"""`ServerLimits`: the resources that one request, and all of them together, may use."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemagen.checks import check_count, check_seconds
from schemagen.engine.options import Limits


def _of_schemas() -> Limits:
    return Limits(max_states=50_000, max_alternatives=256, max_seconds=2.0, max_depth=100)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Bounds for requests from outside.

    Attributes:
        max_body_bytes: Largest body of a request.
        max_waiting: Maximum number of texts that wait for the model, and of requests that wait to be compiled; one more
            is answered with 429.
        max_rows: Maximum number of texts that the model writes at once; fewer if the memory of its device holds fewer.
        max_new_tokens: Maximum number of tokens that a request may ask for.
        default_new_tokens: Tokens of a request that does not say how many.
        max_choices: Maximum number of texts of one request: ``n`` for each prompt.
        max_tools: Maximum number of tools of one request.
        timeout: Seconds that a request may take from its body to its last token, waiting included; then it is ended
            with 504, or its stream with an error. None if unlimited.
        compilers: Maximum number of concurrent compilations; each client (an address) has at most one. As many threads
            read requests.
        compile: Bounds on each schema, pattern and grammar; ``max_seconds`` also bounds each later call on it. Planning
            that takes twice as long is abandoned.

    Raises:
        OptionError: A number is not a whole number above 0, or the timeout is not a number above 0.
    """

    max_body_bytes: int = 1_000_000
    max_waiting: int = 256
    max_rows: int = 64
    max_new_tokens: int = 4096
    default_new_tokens: int = 512
    max_choices: int = 16
    max_tools: int = 128
    timeout: float | None = None
    compilers: int = 4
    compile: Limits = field(default_factory=_of_schemas)

    def __post_init__(self) -> None:
        """Refuse limits that no request could meet."""
        for name in self.__slots__:
            if name not in ("compile", "timeout"):
                check_count(name, getattr(self, name))
        check_seconds("timeout", self.timeout)
