"""Pictures as text, compared in full. `make golden` rewrites `drawings.txt`; the diff is for a human to review."""

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import schemagen
from schemagen import GBNF, Choice, Regex, Vocabulary
from schemagen.draw import Drawing

GOLDEN = Path(__file__).with_name("drawings.txt")
PAPER = Vocabulary.from_tokens(["A", ".", "42", ".2", "1", None], eos_token_ids=[5])
BYTES = Vocabulary.byte_vocabulary()
FLOAT = Regex(r"([0-9]*)?\.?[0-9]*")


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


def drawn(spec: Any, vocabulary: Vocabulary = BYTES, what: Any = None, **options: Any) -> Drawing:
    """Compile and draw."""
    return schemagen.compile(spec, vocabulary).draw(what, **options)


def cases() -> dict[str, Drawing]:
    """One picture of each kind, and one that is cut."""
    return {
        "automaton of Example 1": drawn(FLOAT, PAPER),
        "automaton of a choice": drawn(Choice(["billing", "bug", "feature request"])),
        "automaton that is cut": drawn(Regex("[ab]{100}"), max_states=2),
        "pushdown of a tree": drawn(Tree),
        "rules of a list": drawn(GBNF('root ::= "(" item ("," item)* ")"\nitem ::= root | [0-9]+')),
        "index of Example 1": drawn(FLOAT, PAPER, "index"),
        "mask of Figure 1": drawn(FLOAT, PAPER, "mask", after=".2"),
        "mask of an integer": drawn(int, what="mask", after="-1", max_tokens=3),
    }


def rendered() -> str:
    """Every case: its name, its caption, Mermaid, DOT."""
    parts = [f"# {name}: {it.caption}\n\n{it.mermaid()}\n{it.dot()}" for name, it in cases().items()]
    return "\n".join(parts)


def test_drawings() -> None:
    """Each picture is the text that was reviewed."""
    text = rendered()
    if os.environ.get("SCHEMAGEN_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")
