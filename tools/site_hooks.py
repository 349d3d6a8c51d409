"""Hooks of mkdocs: the changelog as a page of the site, and the notebook as a file to download."""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTEBOOK = "first_steps.ipynb"


def on_files(files: Any, *, config: Any) -> Any:
    """Add the notebook of the examples, at the root of the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, NOTEBOOK, abs_src_path=str(ROOT / "examples" / NOTEBOOK)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Append the changelog to its page; its links start at the root of the repository, those of a page in docs/."""
    if page.file.src_uri != "changelog.md":
        return markdown
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return markdown + changelog.replace("](docs/", "](").replace(f"](examples/{NOTEBOOK})", f"]({NOTEBOOK})")
