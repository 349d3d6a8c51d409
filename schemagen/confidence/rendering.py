"""The pictures of `Confidence`: lines of text, colours in a terminal, HTML in a notebook."""

from __future__ import annotations

from html import escape
from math import exp
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from schemagen.confidence.fields import Confidence, FieldConfidence
    from schemagen.decode.token_records import TokenRecord

#: From the least probability on: the colour of a token in a terminal, and its background in HTML. Green is sure.
_COLOURS = (
    (0.9, "green", "rgba(0, 158, 115, .25)"),
    (0.6, "yellow", "rgba(240, 228, 66, .45)"),
    (0.3, "dark_orange", "rgba(230, 159, 0, .45)"),
    (0.0, "red", "rgba(213, 94, 0, .5)"),
)
#: A constraint that removes more than this is worth a mark.
_MUCH = 0.01
#: Alternatives less likely than this are not worth a line.
_RARE = 0.001


def _colours(token: TokenRecord) -> tuple[str, str]:
    """Return the colours of a token; none where there was no choice."""
    if token.is_forced:
        return "", ""
    chance = exp(token.log_probability)
    return next((named, background) for least, named, background in _COLOURS if chance >= least)


def _shown(confidence: Confidence, token_id: int) -> str:
    """Return a token as people can read it."""
    vocabulary = confidence.vocabulary
    if token_id in vocabulary.eos_token_ids:
        return "the end"
    return repr(vocabulary.decode([token_id]).decode("utf-8", "replace"))


def _told(confidence: Confidence, token: TokenRecord) -> list[str]:
    """Return what there is to say about a token."""
    if token.raw_log_probability is None:
        return ["forced: the model was not asked"]
    chance = exp(token.log_probability)
    lines = ["forced: nothing else was allowed" if token.is_forced else f"{chance:.1%} among the allowed tokens"]
    if token.removed_mass > _MUCH:
        lines.append(f"the constraint removed {token.removed_mass:.1%} of what the model wanted")
    for other in token.alternatives:
        share = exp(other.log_probability - (token.log_allowed or 0)) if other.allowed else exp(other.log_probability)
        if share < _RARE:
            continue
        how = f"{share:.1%}" if other.allowed else "forbidden"
        lines.append(
            f"{_shown(confidence, other.token_id)}: {how} ({exp(other.log_probability):.1%} by the model itself)"
        )
    return lines


def lines_of(confidence: Confidence, field: FieldConfidence) -> list[str]:
    """Return the lines that explain a field, token by token."""
    name = field.path or "the answer"
    raw = exp(field.raw_log_probability)
    lines = [
        f"{name} = {field.text}",
        f"probability {field.probability:.3g} under the constraint, {raw:.3g} by the model itself",
        f"{field.forced_tokens} of {len(field.tokens)} tokens without a choice",
    ]
    for token in field.tokens:
        first, *others = _told(confidence, token)
        lines.append(f"  {_shown(confidence, token.token_id):<14} {first}")
        lines += [f"  {'':<14}   {other}" for other in others]
    return lines


def rich_of(confidence: Confidence) -> Any:
    """Return the coloured text, and a table of the fields, for rich."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    text = Text()
    for piece, token in zip(confidence.pieces, confidence.tokens, strict=True):
        text.append(piece, style=_colours(token)[0])
    table = Table("field", "text", "probability", "removed", box=None, pad_edge=False)
    for path, field in confidence.items():
        table.add_row(
            path or "(all)", Text(f"{field.text:.40}"), f"{field.probability:.3f}", f"{field.removed_mass:.3f}"
        )
    return Group(text, table)


def html_of(confidence: Confidence) -> str:
    """Return the coloured text as HTML; the title of each token has its alternatives."""
    spans = []
    for piece, token in zip(confidence.pieces, confidence.tokens, strict=True):
        title = escape("\n".join(_told(confidence, token)), quote=True)
        style = _colours(token)[1]
        removed = "; border-bottom: 2px dotted" if token.removed_mass > _MUCH else ""
        shown = escape(piece) if piece else ""
        if shown:
            spans.append(f'<span title="{title}" style="background: {style or "none"}{removed}">{shown}</span>')
    return f'<pre style="white-space: pre-wrap; text-align: left">{"".join(spans)}</pre>'
