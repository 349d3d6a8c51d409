"""`python -m schemagen`, for where the console script is not on the path."""

from __future__ import annotations

from schemagen.cli.commands import main

if __name__ == "__main__":
    main()
