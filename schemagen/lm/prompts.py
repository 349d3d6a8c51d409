"""From a prompt and a schema to the exact text that a model reads.

The schema is part of the prompt by default: a grammar makes every other text impossible, but only a model that has seen
the shape puts the right values into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.errors import GenerationError
from schemagen.lm.shape import SHAPE_INSTRUCTION, shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Message = Mapping[str, Any]


def as_messages(prompt: str | Sequence[Message]) -> list[dict[str, Any]]:
    """Return the prompt as a chat: a text is one message of the user.

    Raises:
        GenerationError: There is no message at all.
    """
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    messages = [dict(message) for message in prompt]
    if not messages:
        raise GenerationError(
            "the prompt has no messages",
            fix="give a text or at least one message",
            code="empty-prompt",
        )
    return messages


def with_shape(messages: list[dict[str, Any]], schema: Any) -> list[dict[str, Any]]:
    """Append the shape of a schema to the last message of the user (to the last one, if the user said nothing)."""
    spoken = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    place = spoken[-1] if spoken else len(messages) - 1
    addition = f"\n\n{SHAPE_INSTRUCTION}\n{shape_text(schema)}"
    content = messages[place]["content"]
    if isinstance(content, str):
        extended: Any = content + addition
    else:
        extended = [*content, {"type": "text", "text": addition.lstrip("\n")}]
    return [*messages[:place], {**messages[place], "content": extended}, *messages[place + 1 :]]


def with_correction(messages: list[dict[str, Any]], answer: str, reasons: str) -> list[dict[str, Any]]:
    """Append a refused answer and the reasons, so that the model can correct it."""
    correction = f"That answer is not valid:\n{reasons}\nAnswer again with the corrected JSON only."
    return [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": correction}]


def render(tokenizer: Any, messages: list[dict[str, Any]], *, chat_template: bool = True) -> tuple[str, bool]:
    """Return the text that the model reads, and whether it is a chat template that wrote it.

    A template writes its own special tokens, so nothing may be added to its text; thinking is switched off where the
    template knows ``enable_thinking``, because the answer is constrained from its first token. Without a template the
    contents stand one after the other, a blank line between them and a line break at the end.

    Args:
        tokenizer: Of transformers.
        messages: The chat.
        chat_template: Whether to use the tokenizer's template, if it has one.
    """
    if chat_template and getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
        return text, True
    return "\n\n".join(_plain(message["content"]) for message in messages) + "\n", False


def _plain(content: Any) -> str:
    """The text of a message, also of one in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
