"""Chat templates as texts, by which the family of a model is recognised."""

from __future__ import annotations

from typing import Any


def template_text(tokenizer: Any) -> str:
    """Return all chat templates of a tokenizer as one text; empty if it has none."""
    found = getattr(tokenizer, "chat_template", None) or ""
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        return "\n".join(map(str, found.values()))
    return "\n".join(str(entry.get("template", "")) for entry in found)
