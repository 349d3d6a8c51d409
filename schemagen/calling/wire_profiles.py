"""The formats in which families of models (hermes, llama, mistral, ...) write calls: profiles, a registry, and detection.

The family's own chat template writes a call in the history as one text; the profile has its pieces: the opening of a list of
calls, the texts before and after the arguments of a call, the separator, and the end of the list. ``{name}`` is the name of
the tool, ``{id}`` an id that the model makes up; it may leave the id out, together with the marker before it.

    begin  head(name) ARGUMENTS tail  [separator head(name) ARGUMENTS tail]*  end
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from schemagen.errors import ToolError
from schemagen.prompts.messages import template_text
from schemagen.structural_tags.parameters import STYLES, Style

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = "{name}"
#: The styles of structural tags in which arguments can be written; others write objects and lists as tags, too.
TagStyle = Literal["qwen_xml", "minimax_xml", "deepseek_xml", "deepseek_v4_1_xml", "glm_xml", "kimi_k3_xml"]


@dataclass(frozen=True, slots=True)
class Profile:
    """The wire format of a family of models.

    Attributes:
        name: Its name in the registry and in ``profile=``.
        head: The text before the arguments of a call.
        tail: The text after them.
        begin: The text before the first call.
        end: The text after the last call.
        separator: The text between two calls; ignored if a call may follow any text (``begin`` empty, ``markers`` given).
        markers: The atomic parts of these texts: each may be a special token of the tokenizer, or text. The first one ends free
            text. Without markers, an answer is a call if it begins like one.
        arguments: "json" for an object, "python" for the keyword arguments of a call in Python's syntax, "tagged" for each
            argument between tags, strings as they are and other values as JSON; or the style of structural tags that says
            what these tags are.
        argument_head: The text before the value of a tagged argument, with ``{key}`` for its name.
        argument_tail: The text after the value; without surrounding whitespace it cannot occur in a value.
        signs: Substrings of a chat template; a template with all of them belongs to this family.
        not_signs: Substrings that a template of this family does not have.
        tools_in: The place from which the template takes the tools: "argument" (``tools=``), "system" (the key ``tools`` of
            the system message), or "prompt" (the template does not support tools, so the prompt describes them).
        arguments_in_history: Whether templates take the arguments of past calls as an "object" or as "text".
    """

    name: str
    head: str
    tail: str = ""
    begin: str = ""
    end: str = ""
    separator: str = ""
    markers: tuple[str, ...] = ()
    arguments: Literal["json", "python", "tagged"] | TagStyle = "json"
    argument_head: str = ""
    argument_tail: str = ""
    signs: tuple[str, ...] = ()
    not_signs: tuple[str, ...] = ()
    tools_in: Literal["argument", "system", "prompt"] = "argument"
    arguments_in_history: Literal["object", "text"] = "object"

    def __post_init__(self) -> None:
        """Refuse a format that could not be read back.

        Raises:
            ToolError: The head does not name the tool, or free text would run into it.
        """
        if self.head.count(_NAME) != 1:
            raise ToolError(
                f"the head {self.head!r} of profile {self.name!r} has no single {{name}}",
                why="a call must say which tool is called",
                fix="write {name} in the place of the name of the tool",
                code="wrong-profile",
            )
        if self.arguments == "python" and not (self.head.endswith("(") and self.tail.startswith(")")):
            raise ToolError(
                f"profile {self.name!r} does not put Python's arguments in parentheses",
                fix="end the head with ( and begin the tail with )",
                code="wrong-profile",
            )
        if self.arguments in get_args(TagStyle):
            if self.argument_head or self.argument_tail:
                raise ToolError(
                    f"profile {self.name!r} has the style {self.arguments!r} and tags of its own",
                    fix='leave `argument_head` and `argument_tail` out, or write arguments="tagged"',
                    code="wrong-profile",
                )
            object.__setattr__(self, "argument_tail", f"{STYLES[self.arguments].end}\n")
        if self.arguments == "tagged" and not (self.argument_head.count("{key}") == 1 and self.argument_tail.strip()):
            raise ToolError(
                f"profile {self.name!r} does not tag its arguments",
                fix="name the argument by {key} in `argument_head`, and end it with `argument_tail`",
                code="wrong-profile",
            )
        opening = self.begin + self.head
        if self.markers and not opening.startswith(self.markers[0]):
            raise ToolError(
                f"the calls of profile {self.name!r} begin with {opening[:20]!r}, not with {self.markers[0]!r}",
                why="free text ends at the first marker",
                fix="name the text that opens a call first in `markers`",
                code="wrong-profile",
            )
        if not self.markers and not opening.startswith(("{", "[")):
            raise ToolError(
                f"the calls of profile {self.name!r} begin with {opening[:20]!r}",
                why="without a marker an answer is a call if it begins with { or [",
                fix="name a marker",
                code="wrong-profile",
            )

    @property
    def style(self) -> Style | None:
        """How an argument is written between tags; None if arguments are not."""
        if self.arguments in STYLES:
            return replace(STYLES[self.arguments], has_exact_strings=True)
        if self.arguments != "tagged":
            return None
        before, _, after = self.argument_head.partition("{key}")
        apart = after.endswith("\n") and self.argument_tail.startswith("\n")
        texts, end = (after.removesuffix("\n") if apart else after,), self.argument_tail.strip()
        return Style(before, texts, texts, end, has_exact_strings=True, is_set_apart=apart, has_python_words=True)

    @property
    def is_anchored(self) -> bool:
        """Whether an answer is either text or calls, distinguished by its first character."""
        return not self.markers

    @property
    def repeats(self) -> bool:
        """Whether calls appear in the text one by one, without a list around them."""
        return bool(self.markers) and not self.begin

    def matches(self, template: str) -> bool:
        """Whether a chat template is of this family."""
        if not self.signs or any(sign in template for sign in self.not_signs):
            return False
        return all(sign in template for sign in self.signs)


#: The text before the arguments of a call that is a JSON object.
_OBJECT_HEAD = '{"name": "{name}", "arguments": '
#: Our own format, for models whose template has none.
PLAIN = Profile("plain", head=_OBJECT_HEAD, tail="}", separator="\n", tools_in="prompt")

_DEEPSEEK_MARKERS = (
    "<｜tool▁calls▁begin｜>",  # noqa: RUF001 - the markers have full-width bars
    "<｜tool▁call▁begin｜>",  # noqa: RUF001
    "<｜tool▁sep｜>",  # noqa: RUF001
    "<｜tool▁call▁end｜>",  # noqa: RUF001
    "<｜tool▁calls▁end｜>",  # noqa: RUF001
)
_CALLS_BEGIN, _CALL_BEGIN, _SEPARATOR, _CALL_END, _CALLS_END = _DEEPSEEK_MARKERS

_BUILT_IN = (
    Profile(
        "deepseek",  # V3, R1
        begin=_CALLS_BEGIN,
        head=f"{_CALL_BEGIN}function{_SEPARATOR}{_NAME}\n```json\n",
        tail=f"\n```{_CALL_END}",
        separator="\n",
        end=_CALLS_END,
        markers=_DEEPSEEK_MARKERS,
        signs=(_CALLS_BEGIN, "```json"),
        arguments_in_history="text",
    ),
    Profile(
        "deepseek-v3.1",
        begin=_CALLS_BEGIN,
        head=f"{_CALL_BEGIN}{_NAME}{_SEPARATOR}",
        tail=_CALL_END,
        end=_CALLS_END,
        markers=_DEEPSEEK_MARKERS,
        signs=(_CALLS_BEGIN,),
        arguments_in_history="text",
    ),
    Profile(
        "mistral-ids",  # tokenizer v11, as in Mistral Small 3.2
        head="[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]",
        markers=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
        signs=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
    ),
    Profile(
        "mistral-args",  # tokenizer v13 and later
        head="[TOOL_CALLS]{name}[ARGS]",
        markers=("[TOOL_CALLS]", "[ARGS]"),
        signs=("[TOOL_CALLS]", "[ARGS]"),
        not_signs=("[CALL_ID]",),
    ),
    Profile(
        "mistral",
        begin="[TOOL_CALLS] [",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]",
        markers=("[TOOL_CALLS]",),
        signs=("[TOOL_CALLS]",),
        not_signs=("[ARGS]",),
    ),
    Profile(
        "granite",  # 3.x; 4 writes as Hermes does
        begin="<|tool_call|>[",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]",
        markers=("<|tool_call|>",),
        signs=("<|start_of_role|>", "<|tool_call|>"),
    ),
    Profile(
        "phi",  # 4-mini
        begin="<|tool_call|>[",
        head=_OBJECT_HEAD,
        tail="}",
        separator=", ",
        end="]<|/tool_call|>",
        markers=("<|tool_call|>", "<|/tool_call|>"),
        signs=("<|tool|>",),
        tools_in="system",
    ),
    Profile(
        "qwen-coder",  # Qwen 3 Coder
        head="<tool_call>\n<function={name}>\n",
        tail="</function>\n</tool_call>",
        markers=("<tool_call>", "</tool_call>"),
        arguments="tagged",
        argument_head="<parameter={key}>\n",
        argument_tail="\n</parameter>\n",
        signs=("<tool_call>", "<function=", "<parameter="),
    ),
    Profile(
        "glm",  # 4.5 and later
        head="<tool_call>{name}\n",
        tail="</tool_call>",
        markers=("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
        arguments="tagged",
        argument_head="<arg_key>{key}</arg_key>\n<arg_value>",
        argument_tail="</arg_value>\n",
        signs=("<tool_call>", "<arg_key>", "<arg_value>"),
    ),
    Profile(
        "hermes",  # and Qwen 2.5, Qwen 3, Granite 4
        head='<tool_call>\n{"name": "{name}", "arguments": ',
        tail="}\n</tool_call>",
        markers=("<tool_call>", "</tool_call>"),
        signs=("<tool_call>", "</tool_call>", "arguments"),
        not_signs=("<function=", "<arg_key>"),
    ),
    Profile(
        "llama-pythonic",  # 3.2 and 4, where the template asks for it
        begin="[",
        head="{name}(",
        tail=")",
        separator=", ",
        end="]",
        arguments="python",
        signs=("[func_name1(params_name1=",),
    ),
    Profile(
        "llama",  # 3.1 to 3.3
        head='{"name": "{name}", "parameters": ',
        tail="}",
        separator="; ",
        signs=("<|start_header_id|>", '"parameters":'),
    ),
    Profile(
        "gemma",  # 3; its template does not support tools
        begin="```tool_code\n",
        head="{name}(",
        tail=")",
        separator="\n",
        end="\n```",
        markers=("```tool_code", "```"),
        arguments="python",
        signs=("<start_of_turn>",),
        not_signs=("<start_function_call>",),
        tools_in="prompt",
    ),
    PLAIN,
)
_registry: list[Profile] = list(_BUILT_IN)


def register_profile(profile: Profile) -> None:
    """Add a format, for `find_profile` and `detect_profile`.

    It takes precedence over the known formats, and replaces one of the same name.

    Args:
        profile: The format, with ``signs`` if `detect_profile` should recognise its templates.
    """
    _registry[:] = [profile, *(known for known in _registry if known.name != profile.name)]


def profiles() -> Mapping[str, Profile]:
    """Return the known formats by name, in the order in which `detect_profile` tries them."""
    return {profile.name: profile for profile in _registry}


def find_profile(name: str) -> Profile:
    """Return a format by its name.

    Raises:
        ToolError: No format has this name.
    """
    known = profiles()
    if name not in known:
        raise ToolError(
            f"no profile {name!r}",
            why=f"known are {', '.join(known)}",
            fix="choose one of these, or register_profile() your own",
            code="wrong-profile",
        )
    return known[name]


def detect_profile(tokenizer: Any) -> Profile:
    """Return the format of the tokenizer's chat template; `PLAIN` if it has no template, or an unknown one."""
    template = template_text(tokenizer)
    return next((profile for profile in _registry if profile.matches(template)), PLAIN)
