"""The command line: `schemagen demo | generate | batch | call | serve | compile | regex`.

Exit status: 0 success, 1 a schemagen error (shown with where, why and what to do), 2 wrong usage.
"""

from __future__ import annotations

from schemagen.cli.app import main

__all__ = ["main"]
