"""The command line: `schemagen demo | generate | batch | call | serve | compile | regex`.

Exit status: 0 on success, 1 for a schemagen error (shown with its place, reason and fix), 2 for wrong usage.
"""

from __future__ import annotations

from schemagen.cli.commands import main

__all__ = ["main"]
