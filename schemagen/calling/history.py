"""The messages of a chat with tools, and the text that the model reads.

Messages are those of OpenAI's API, which chat templates take: calls are the key ``tool_calls`` of a message of the assistant,
results are messages with the role ``tool``. The profile has the differences between templates. If a template does not support
tools, these messages become text in the model's own wire format, and the first message of the user describes the tools.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schemagen.calling.answer_format import write_calls
from schemagen.calling.parameters import as_tagged
from schemagen.prompts.messages import as_messages, plain_text, render, with_shape, with_text
from schemagen.prompts.shapes import shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemagen.calling.tools import Tool
    from schemagen.calling.wire_profiles import Profile
    from schemagen.prompts.reasoning_grammar import ReasoningFormat

    Message = Mapping[str, Any]


def render_chat(  # noqa: PLR0913 - all that the text depends on
    tokenizer: Any,
    prompt: str | Sequence[Message],
    tools: Sequence[Tool[..., Any]],
    profile: Profile,
    *,
    must_call: bool = False,
    parallel: bool = False,
    typed: bool = False,
    thinker: ReasoningFormat | None = None,
) -> tuple[str, bool]:
    """Return the text that the model reads, and whether a chat template wrote it.

    ``must_call`` tells whether the answer will be a call, ``parallel`` whether it may have several, ``typed`` whether the
    messages describe an answer without one. They are used only if the chat template does not support tools.
    """
    messages = [_normalised(message, profile) for message in as_messages(prompt)]
    messages = _one_by_one(messages) if profile.separator is None else messages
    messages = _with_ids(messages, profile) if profile.id else messages
    described = [tool.to_dict() for tool in tools]
    if profile.tools_in == "prompt":
        messages = _joined([_as_text(message, profile) for message in messages])
        if tools:
            messages = _described(messages, tools, profile, must_call=must_call, parallel=parallel, typed=typed)
    elif profile.tools_in == "system" and tools:
        messages = _in_system(messages, described)
    given = described if profile.tools_in == "argument" and described else None
    return render(tokenizer, messages, thinker=thinker, tools=given)


def call_message(calls: Sequence[tuple[str, str, str]], content: str = "", *, as_text: bool = False) -> dict[str, Any]:
    """Return the message of the assistant that made some calls, each given as its id, its name and JSON arguments."""
    entries = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": text if as_text else json.loads(text)}}
        for i, name, text in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": entries}


def _normalised(message: Message, profile: Profile) -> dict[str, Any]:
    """Give the arguments of past calls the form that the template takes."""
    if not message.get("tool_calls"):
        return dict(message)
    calls = [
        (str(entry.get("id", "")), entry["function"]["name"], _json(entry["function"].get("arguments") or {}))
        for entry in message["tool_calls"]
    ]
    changed = call_message(calls, message.get("content") or "", as_text=profile.arguments_in_history == "text")
    return {**message, **changed}


def _one_by_one(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give each call a message of its own, its result directly after it, for a format with one call in an answer."""
    results = {message.get("tool_call_id"): message for message in messages if message.get("role") == "tool"}
    found: list[dict[str, Any]] = []
    moved: set[int] = set()
    for message in messages:
        calls = message.get("tool_calls") or ()
        for index, entry in enumerate(calls):
            found.append({**message, "content": "" if index else message["content"], "tool_calls": [entry]})
            result = results.get(entry["id"])
            if len(calls) > 1 and result is not None:
                moved.add(id(result))
                found.append(result)
        if not calls and id(message) not in moved:
            found.append(message)
    return found


def _with_ids(messages: list[dict[str, Any]], profile: Profile) -> list[dict[str, Any]]:
    """Give past calls, and their results, ids in the form of the format, counted through the chat."""
    found: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    count = 0
    for message in messages:
        calls = []
        for entry in message.get("tool_calls") or ():
            ids[entry["id"]] = profile.counted(profile.id, entry["function"]["name"], count)
            calls.append({**entry, "id": ids[entry["id"]]})
            count += 1
        changed: dict[str, Any] = {"tool_calls": calls} if calls else {}
        if message.get("role") == "tool" and message.get("tool_call_id") in ids:
            changed = {"tool_call_id": ids[message["tool_call_id"]]}
        found.append({**message, **changed})
    return found


def _json(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _as_text(message: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """Write calls and results as text, for a template that does not support them."""
    if message.get("tool_calls"):
        functions = [entry["function"] for entry in message["tool_calls"]]
        written = write_calls(profile, ((entry["name"], _json(entry["arguments"])) for entry in functions))
        return {"role": "assistant", "content": "\n".join(filter(None, [plain_text(message), written]))}
    if message.get("role") == "tool":
        return {"role": "user", "content": f"Result of {message.get('name', 'the call')}:\n{plain_text(message)}"}
    return message


def _joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join consecutive messages of the user (results are some here): these templates require alternating roles."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if found and message.get("role") == found[-1].get("role") == "user":
            found[-1] = {**found[-1], "content": f"{plain_text(found[-1])}\n\n{plain_text(message)}"}
        else:
            found.append(message)
    return found


def _described(
    messages: list[dict[str, Any]],
    tools: Sequence[Tool[..., Any]],
    profile: Profile,
    *,
    must_call: bool,
    parallel: bool,
    typed: bool,
) -> list[dict[str, Any]]:
    place = next((i for i, message in enumerate(messages) if message.get("role") == "user"), 0)
    several = "\nIf several calls are needed, write one after the other, each on its own line." if parallel else ""
    if must_call and profile.arguments == "json" and not profile.markers:
        found = [*with_shape(messages[: place + 1], _envelope(tools)), *messages[place + 1 :]]
        return [*found[:place], with_text(found[place], several), *found[place + 1 :]] if several else found
    inside = "..." if profile.style is None else as_tagged(profile.style, profile.argument_tail, '{"KEY": "..."}')
    example = profile.begin + profile.head.replace("{name}", "NAME") + inside + profile.tail + profile.end
    lines = [
        f"- {tool.name}: {' '.join(tool.description.split())}\n  arguments: {shape_text(tool.parameters)}"
        for tool in tools
    ]
    otherwise = f"Otherwise answer {'as described' if typed else 'in words'}."
    told = ["", "", "You may call these tools:", *lines, "To call one, write only:", f"{example}{several}", otherwise]
    return [*messages[:place], with_text(messages[place], "\n".join(told)), *messages[place + 1 :]]


def _envelope(tools: Sequence[Tool[..., Any]]) -> dict[str, Any]:
    """The schema of a call, for its shape in the prompt."""
    definitions: dict[str, Any] = {}
    branches = []
    for tool in tools:
        parameters = dict(tool.parameters)
        definitions.update(parameters.pop("$defs", {}))
        properties = {"name": {"const": tool.name, "type": "string"}, "arguments": parameters}
        branch: dict[str, Any] = {"type": "object", "properties": properties, "required": ["name", "arguments"]}
        if tool.description:
            branch["description"] = " ".join(tool.description.split())
        branches.append(branch)
    schema = branches[0] if len(branches) == 1 else {"anyOf": branches}
    return {**schema, "$defs": definitions} if definitions else schema


def _in_system(messages: list[dict[str, Any]], described: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the tools, as JSON, into the system message, for a template that takes them from there."""
    tools = json.dumps([entry["function"] for entry in described], ensure_ascii=False)
    if messages[0].get("role") == "system":
        return [{**messages[0], "tools": tools}, *messages[1:]]
    return [{"role": "system", "content": "", "tools": tools}, *messages]
