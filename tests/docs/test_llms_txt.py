"""llms.txt, the index for language models (llmstxt.org), knows every page."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "llms.txt").read_text(encoding="utf-8")
LINKS = re.findall(r"^- \[([^\]]+)\]\(([^)]+)\): \S", TEXT, flags=re.MULTILINE)


def navigation() -> dict[str, str]:
    """Title by address, from the section `nav` of mkdocs.yml, of which the rest is not plain YAML."""
    config = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    nav = config[config.index("\nnav:") : config.index("\nvalidation:")]
    pages = re.findall(r"- (.+): (\S+)\.md$", nav, flags=re.MULTILINE)
    return {f"{page}/".removesuffix("index/") + "index.html": title for title, page in pages}


def test_form() -> None:
    """A title, a summary as a quotation, then sections of links and nothing else."""
    title, summary, _, *sections = [block for block in TEXT.split("\n\n") if block]
    assert title == "# schemagen"
    assert summary.startswith("> ")
    for heading, links in zip(sections[::2], sections[1::2], strict=True):
        assert heading.startswith("## ")
        assert all(line.startswith("- [") for line in links.strip().splitlines())


def test_every_page_is_in_it() -> None:
    """The pages of the navigation, each once and by its title."""
    assert len(LINKS) == len(set(LINKS))
    assert {page: title for title, page in LINKS} == navigation()


def test_every_link_leads_somewhere(site: Path) -> None:
    """Beside the file, at the root of the site, is each page that it names."""
    assert (site / "llms.txt").read_text(encoding="utf-8") == TEXT
    assert [page for _, page in LINKS if not (site / page).is_file()] == []
