"""Writes the tables of the families of models into docs/guides/families.md; tests hold the page against the data.

python tools/families_page.py            # rewrites the tables
python tools/families_page.py --check    # exits with 1 if they are not those of the code
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from schemagen.calling import profiles
from schemagen.calling.answer_format import write_calls
from schemagen.prompts.reasoning_grammar import THOUGHT_MARKERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.calling import Profile

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "families.md"
TABLE = re.compile(r"(<!-- table (\w+): tools/families_page\.py -->\n).*?(<!-- end -->)", re.DOTALL)
HISTORY = {"argument": "`tools=`", "system": "the system message", "prompt": "the prompt, by schemagen"}


def page() -> str:
    """Return the page with the tables of today."""
    tables = {"calls": _calls(), "details": _details(), "thoughts": _thoughts()}
    return TABLE.sub(lambda found: f"{found[1]}\n{tables[found[2]]}\n{found[3]}", PAGE.read_text(encoding="utf-8"))


def _calls() -> str:
    rows = (
        (f"`{name}`", profile.models, _code(write_calls(profile, [("get", '{"city": "Paris"}')])))
        for name, profile in profiles().items()
    )
    return _table(("profile", "models", "a call of `get(city)`"), rows)


def _details() -> str:
    rows = (
        (f"`{name}`", _several(profile), _ids(profile), HISTORY[profile.tools_in], profile.arguments_in_history)
        for name, profile in profiles().items()
    )
    return _table(("profile", "several calls", "ids", "the template takes tools from", "past arguments"), rows)


def _thoughts() -> str:
    rows = ((each.models, _code(each.begin), _code(each.end)) for each in THOUGHT_MARKERS)
    return _table(("models", "thoughts begin with", "and end with"), rows)


def _several(profile: Profile) -> str:
    if profile.separator is None:
        return "one in an answer"
    if profile.repeats:
        return "one after another, with words between"
    return f"a list, {_code(profile.separator)} between" if profile.separator else "a list"


def _ids(profile: Profile) -> str:
    if profile.id:
        return f"counted: {_code(profile.id.replace('{index}', '0').replace('{name}', 'get'))}"
    return "nine letters and digits" if "{id}" in profile.head else "made up by schemagen"


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    shown = text.replace("\n", "⏎")
    return f"{fence} {shown} {fence}" if "`" in text or not shown.strip() else f"`{shown}`"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = [tuple(head)]
    lines = [cells[0], ("---",) * len(cells[0]), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Rewrite the tables, or check them."""
    text = page()
    if "--check" in sys.argv:
        sys.exit(int(text != PAGE.read_text(encoding="utf-8")))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
