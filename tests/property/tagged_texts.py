"""Parameters between tags, written and read by the tests alone: nothing here knows grammars or schemas."""

import html
import json
import re
from collections.abc import Callable
from typing import Any

Members = list[tuple[str, Any]]
KINDS = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
    dict: "object",
    list: "array",
}
_DSML = "\uff5cDSML\uff5c"
#: Style -> what stands before a string, before another value, and after both; with the name, and the JSON type of the value.
PLAIN = {
    "qwen_xml": ("<parameter={name}>", "<parameter={name}>", "</parameter>"),
    "minimax_xml": ('<parameter name="{name}">', '<parameter name="{name}">', "</parameter>"),
    "deepseek_xml": (
        f'<{_DSML}parameter name="{{name}}" string="true">',
        f'<{_DSML}parameter name="{{name}}" string="false">',
        f"</{_DSML}parameter>",
    ),
    "deepseek_v4_1_xml": (
        f'<{_DSML} parameter name="{{name}}" string="true">',
        f'<{_DSML} parameter name="{{name}}" string="false">',
        f"</{_DSML} parameter>",
    ),
    "glm_xml": (
        "<arg_key>{name}</arg_key><arg_value>",
        "<arg_key>{name}</arg_key><arg_value>",
        "</arg_value>",
    ),
    "kimi_k3_xml": (
        '<|open|>argument key="{name}" type="string"<|sep|>',
        '<|open|>argument key="{name}" type="{kind}"<|sep|>',
        "<|close|>argument<|sep|>",
    ),
}
NESTED = ("cohere_xml", "minimax_m3_xml")
STYLES = (*PLAIN, *NESTED)
ESCAPED = ("cohere_xml", "kimi_k3_xml")


def written(style: str, members: Members) -> str:
    """Write members in the order in which they are given."""
    return "".join(_parameter(style, name, value) for name, value in members)


def _parameter(style: str, name: str, value: Any) -> str:
    name = html.escape(name, quote=False).replace('"', "&quot;") if style in ESCAPED else name
    text = value if isinstance(value, str) else json.dumps(value)
    if style not in NESTED:
        string, other, end = PLAIN[style]
        begin = string if isinstance(value, str) else other
        return begin.replace("{name}", name).replace("{kind}", KINDS[type(value)]) + text + end
    if isinstance(value, dict):
        text = written(style, list(value.items()))
    elif isinstance(value, list):
        text = "".join(_item(style, each) for each in value)
    return _tag(style, name, text, value)


def _item(style: str, value: Any) -> str:
    whole = _parameter(style, "item", value)
    return whole.replace(' name="item"', "", 1) if style == "cohere_xml" else whole


def _tag(style: str, name: str, text: str, value: Any) -> str:
    if style == "minimax_m3_xml":
        return f"]<]minimax[>[<{name}>{text}]<]minimax[>[</{name}>"
    kind = {str: "raw", dict: "dict", list: "list"}.get(type(value), "json")
    return f'<cofl:value name="{name}" type="{kind}">{text}</cofl:value>'


def read(style: str, text: str, is_string: Callable[[str, str], bool]) -> Members:
    """Read the members of a text of a style that writes no objects as tags.

    Args:
        style: The style.
        text: The text.
        is_string: Whether the text of the value of a parameter is a string, where the style does not say so.
    """
    string, other, end = PLAIN[style]
    name = '(?P<name>[^"]*)' if '="{name}"' in string or '="{name}"' in other else "(?P<name>.*?)"
    patterns = [
        (re.escape(begin).replace(re.escape("{name}"), name).replace(re.escape("{kind}"), r"\w+"), says)
        for begin, says in ([(string, True), (other, False)] if string != other else [(string, None)])
    ]
    found: Members = []
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        match, says = next(
            (match, says)
            for pattern, says in patterns
            if (match := re.compile(_spaced(pattern), re.DOTALL).match(text, at))
        )
        stop = text.index(end, match.end())
        name, value = html.unescape(match["name"]) if style in ESCAPED else match["name"], text[match.end() : stop]
        is_text = is_string(name, value) if says is None else says
        found.append((name, value if is_text else json.loads(value)))
        at = stop + len(end)
    return found


def _spaced(pattern: str) -> str:
    """Let whitespace stand between the two tags of a parameter of GLM."""
    return pattern.replace("</arg_key><arg_value>", r"</arg_key>\s*<arg_value>")
