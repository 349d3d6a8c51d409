"""DOT to SVG by the program `dot` of Graphviz, if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

from schemagen.errors import SchemagenError

#: A graph whose layout takes longer is too large to read.
MAX_SECONDS = 60
#: An image does not inherit the colour of the text around it, so it follows the colour scheme of the reader's system.
STYLE = "<style>@media (prefers-color-scheme: dark) { svg.schemagen { color: #dddddd } }</style>"


def svg_of(dot: str) -> str:
    """Return a graph in DOT as an SVG element.

    Raises:
        SchemagenError: `dot` is not installed, fails, or takes longer than `MAX_SECONDS`.
    """
    program = shutil.which("dot")
    if program is None:
        raise SchemagenError(
            "the program `dot` is not installed",
            why="it lays out drawings for SVG",
            fix="install Graphviz (apt install graphviz, brew install graphviz), or use `mermaid()` or `dot()`",
            code="no-graphviz",
        )
    try:
        run = subprocess.run(  # noqa: S603 - a fixed command
            [program, "-Tsvg"],
            input=dot.encode(),
            capture_output=True,
            timeout=MAX_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(f"it took longer than {MAX_SECONDS} s") from error
    except (subprocess.CalledProcessError, OSError) as error:
        raise _failed(getattr(error, "stderr", b"").decode(errors="replace").strip() or str(error)) from error
    return _adapted(run.stdout.decode())


def _failed(why: str) -> SchemagenError:
    return SchemagenError(
        "`dot` made no picture", why=why, fix="draw less: lower `max_states` or `max_tokens`", code="no-graphviz"
    )


def _adapted(svg: str) -> str:
    """Keep only the element, and draw in the colour of the text instead of black.

    Identifiers are removed, because several pictures in one page would share them.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' id="[^"]*"', "", svg)
    svg = re.sub(r'="(?:black|#000000)"', '="currentColor"', svg)
    svg = svg.replace("<text ", '<text fill="currentColor" ')
    return svg.replace("<svg ", '<svg class="schemagen" ', 1).replace(">", f">\n{STYLE}", 1)
