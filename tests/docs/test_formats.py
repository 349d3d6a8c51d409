"""The page of formats says what the code does: its table is made of it."""

import importlib.util
import re
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import schemagen
from schemagen.writers import TEXT_FORMATS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "formats.md").read_text(encoding="utf-8")
#: The texts of the gallery, by their format.
GALLERY = dict(re.findall(r'^```\w+ title="(\w+)"\n(.*?)\n```$', PAGE, re.MULTILINE | re.DOTALL))


class Review(BaseModel):
    """The class of the gallery, as the page has it."""

    product: str
    stars: int = Field(ge=1, le=5)
    opinion: Literal["good", "bad"]
    advice: str | None = None


LAMP = Review(product="Lamp, small", stars=4, opinion="good", advice='Buy "warm" bulbs.')
BAG = Review(product="Bag", stars=1, opinion="bad")


def test_the_table_is_that_of_the_code() -> None:
    """Every row is what compiling the type in each format gives."""
    spec = importlib.util.spec_from_file_location("formats_tool", ROOT / "tools" / "formats.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written = (ROOT / "docs" / "guides" / "formats.md").read_text(encoding="utf-8")
    assert tool.page() == written, "run python tools/formats.py"


def test_the_gallery_has_every_format() -> None:
    """Each once."""
    assert sorted(GALLERY) == sorted(TEXT_FORMATS)


@pytest.mark.parametrize("as_", GALLERY)
def test_the_gallery_is_what_a_model_may_write(as_: Any) -> None:
    """Every text is one of its format, and stands for the value that the page names."""
    spec, value = (list[Review], [LAMP, BAG]) if as_ in ("csv", "markdown") else (Review, LAMP)
    grammar = schemagen.compile(spec, schemagen.Vocabulary.byte_vocabulary(), as_=as_)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(GALLERY[as_].encode())
    assert matcher.is_accepting()
    assert grammar.validate(GALLERY[as_]) == value
