"""Free text in which the first of some tags hands over, as `TagDispatch` of EBNF and structural tags have it.

Of nested tags the one that begins first counts, and a tag that has begun may go on as a longer one. Free text up to a
tag is regular (`schemagen.regex.wildcards.text_up_to`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.syntax import Text, alternatives, repeat, sequence
from schemagen.regex.wildcards import text_up_to

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.context_free.syntax import Expression


def dispatched(
    tags: Iterable[tuple[str, Expression]], literals: list[str], last: Expression, *, loop: bool
) -> Expression:
    """Return free text in which each tag is followed by its expression.

    Args:
        tags: The tags, each with the expression after it.
        literals: All that free text must not hold, the tags among them.
        last: The free text at the end.
        loop: Whether free text goes on after the expression of a tag.
    """
    taken = [sequence(Text(text_up_to(tag, literals)), after) for tag, after in tags]
    if loop:
        return sequence(repeat(alternatives(*taken), 0, None), last)
    return alternatives(last, *taken)
