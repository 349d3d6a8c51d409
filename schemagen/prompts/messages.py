"""From a prompt and a schema to the exact text that a model reads.

The schema is part of the prompt by default. The grammar alone makes every other text impossible, but only a model that has
seen the shape puts the right values into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from schemagen.checks import kind_of
from schemagen.errors import GenerationError
from schemagen.prompts.shapes import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.options import ShowSchema
    from schemagen.prompts.reasoning_grammar import ReasoningFormat

    Message = Mapping[str, Any]


def as_messages(prompt: str | Sequence[Message]) -> list[dict[str, Any]]:
    """Return the prompt as a chat: a text is one message of the user.

    Raises:
        GenerationError: The prompt has no messages, or an entry is not a message.
    """
    if isinstance(prompt, str):
        _check_text(prompt, "")
        return [{"role": "user", "content": prompt}]
    given: Any = prompt
    if isinstance(given, (bytes, Mapping, type)) or not isinstance(given, Iterable):
        raise _no_prompt(
            f"the prompt is {kind_of(given)}",
            why="a prompt is a text, or a list of messages",
            fix=_fix_of_prompt(given),
        )
    messages = [_message(message, f"/{index}") for index, message in enumerate(given)]
    if not messages:
        raise GenerationError(
            "the prompt has no messages",
            fix="give a text or at least one message",
            code="empty-prompt",
        )
    return messages


def with_system(prompt: Any, text: str) -> Any:
    """Return a prompt with a system message before it, unless it has one of its own."""
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    has_own = not prompt or prompt[0].get("role") == "system"
    return prompt if has_own else [{"role": "system", "content": text}, *prompt]


def _fix_of_prompt(given: Any) -> str:
    if isinstance(given, type):
        return f"the prompt comes first: lm(prompt, {given.__name__})"
    return "put a single message into a list" if isinstance(given, Mapping) else "give a str, or a list of messages"


def _message(message: Any, at: str) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        raise _no_prompt(
            f"a message is {kind_of(message)}: {message!r:.60}",
            at=at,
            why="a message is a dict, and a batch of texts is for lm.batch",
            fix='write {"role": "user", "content": "..."}',
        )
    if not isinstance(message.get("role"), str):
        raise _no_prompt(
            f"a message has the role {message.get('role')!r}",
            at=f"{at}/role",
            why="chat templates distinguish messages by their role",
            fix='write {"role": "user", "content": "..."}',
        )
    content = message.get("content")
    if isinstance(content, str):
        _check_text(content, f"{at}/content")
    elif isinstance(content, Iterable) and not isinstance(content, (bytes, Mapping)):
        parts = [*content]
        for index, part in enumerate(parts):
            _check_part(part, f"{at}/content/{index}")
        return {**message, "content": parts}
    elif content is not None or not message.get("tool_calls"):
        raise _no_prompt(
            f"the content of a message is {content!r:.60}",
            at=f"{at}/content",
            why="a content is a text, or a list of parts that are texts",
            fix='give a str, or a list of parts: {"type": "text", "text": "..."}',
        )
    return dict(message)


def _check_part(part: Any, at: str) -> None:
    is_text = isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
    if not is_text:
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        raise _no_prompt(
            f"a part of a message is of type {kind!r}",
            at=at,
            why="only texts are read here; images and sounds have no tokens in a prompt",
            fix='write {"type": "text", "text": "..."}, or generate yourself with schemagen.LogitsProcessor',
        )
    _check_text(part["text"], f"{at}/text")


def _check_text(text: str, at: str) -> None:
    """Refuse half of a surrogate pair, which tokenizers reject."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _no_prompt(
            f"the prompt holds {text[error.start]!a}, half of a surrogate pair, as character {error.start}",
            at=at,
            why="it is not a character, so it has no UTF-8",
            fix='replace it: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")',
        ) from None


def _no_prompt(fact: str, *, why: str, fix: str, at: str = "") -> GenerationError:
    return GenerationError(fact, at=at, why=why, fix=fix, code="invalid-prompt")


def with_shape(messages: list[dict[str, Any]], spec: Any, show: ShowSchema = True) -> list[dict[str, Any]]:
    """Append what `told` says of a spec to the last message of the user, or to the last message if none is the user's."""
    return with_instruction(messages, told(spec, show))


def with_instruction(messages: list[dict[str, Any]], instruction: str) -> list[dict[str, Any]]:
    """Append words to the last message of the user, or to the last message if none is the user's."""
    spoken = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    place = spoken[-1] if spoken else len(messages) - 1
    return [*messages[:place], with_text(messages[place], instruction, "\n\n"), *messages[place + 1 :]]


def with_text(message: dict[str, Any], text: str, separator: str = "") -> dict[str, Any]:
    """Append a text to a message: after a separator, or as a part of its own where the content is a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return {**message, "content": f"{content}{separator}{text}"}
    return {**message, "content": [*content, {"type": "text", "text": text}]}


def with_correction(
    messages: list[dict[str, Any]], answer: str, reasons: str, kind: str = "JSON"
) -> list[dict[str, Any]]:
    """Append a refused answer and the reasons, so that the model can correct it."""
    correction = f"That answer is not valid:\n{reasons}\nAnswer again with the corrected {kind} only."
    return [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": correction}]


def render(
    tokenizer: Any,
    messages: list[dict[str, Any]],
    *,
    chat_template: bool = True,
    thinker: ReasoningFormat | None = None,
    **options: Any,
) -> tuple[str, bool]:
    """Return the text that the model reads, and whether a chat template wrote it.

    A template writes its own special tokens, so only the opening of thoughts may be added to its text. Without thoughts the
    answer is constrained from its first token. Without a template the contents follow each other, with a blank line between
    them and a line break at the end. The options are those of the template.
    """
    templated = chat_template and bool(getattr(tokenizer, "chat_template", None))
    if thinker is not None and thinker.instruction:
        messages = with_instruction(messages, thinker.instruction)
    if templated:
        text = apply_template(tokenizer, messages, thinking=thinker is not None, **options)
    else:
        text = "\n\n".join(plain_text(message) for message in messages) + "\n"
    return text if thinker is None else thinker.opened(text), templated


def apply_template(tokenizer: Any, messages: list[dict[str, Any]], *, thinking: bool = False, **options: Any) -> str:
    """Return the chat as the tokenizer's chat template writes it, with the opening of an answer.

    If a template refuses contents in parts, they become texts.

    Args:
        tokenizer: A tokenizer of transformers.
        messages: The chat.
        thinking: Whether to switch thinking on, if the template supports ``enable_thinking`` (Qwen, GLM, SmolLM) or
            ``thinking`` (DeepSeek, Granite).
        options: Further options of the template.

    Raises:
        GenerationError: The template refuses the messages.
    """

    def written(messages: list[dict[str, Any]]) -> str:
        switches = {"enable_thinking": thinking, "thinking": thinking}
        text: str = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **switches, **options
        )
        return text

    has_parts = any(isinstance(message.get("content"), list) for message in messages)
    try:
        return written(messages)
    except Exception as error:  # templates are programs and may raise any exception
        if not has_parts:
            raise _no_prompt(
                f"the chat template refuses the messages: {error}",
                why=f"the roles are {', '.join(message['role'] for message in messages)}",
                fix="give the roles that the template of this model takes, in its order, or chat_template=False",
            ) from error
    texts = [{**message, "content": plain_text(message)} for message in messages]
    return apply_template(tokenizer, texts, thinking=thinking, **options)


def plain_text(message: Message) -> str:
    """Return the text of a message, joined if it has parts; empty if it has no content."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def template_text(tokenizer: Any) -> str:
    """Return all chat templates of a tokenizer as one text; empty if it has none."""
    found = getattr(tokenizer, "chat_template", None) or ""
    if isinstance(found, str):
        return found
    if isinstance(found, dict):
        return "\n".join(map(str, found.values()))
    return "\n".join(str(entry.get("template", "")) for entry in found)
