"""Hooks of mkdocs: the changelog as a page of the site."""

from pathlib import Path
from typing import Any

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Append the changelog to its page; its links start at the root of the repository, those of a page in docs/."""
    if page.file.src_uri != "changelog.md":
        return markdown
    return markdown + CHANGELOG.read_text(encoding="utf-8").replace("](docs/", "](")
