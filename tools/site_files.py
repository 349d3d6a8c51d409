"""A hook of mkdocs: the site offers the notebook of the examples for download, from the one file in `examples/`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_steps.ipynb"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the notebook to the files that pages can link."""
    files.append(File.generated(config, NOTEBOOK.name, abs_src_path=str(NOTEBOOK)))
    return files
