"""`Profile`: the format in which a family of models (hermes, llama, mistral, ...) writes calls, as data.

The family's own chat template writes a call in the history as one text; the profile has its pieces: the opening of a list of
calls, the texts before and after the arguments of a call, the separator, and the end of the list. ``{name}`` is the name of
the tool, ``{id}`` an id that the model makes up; it may leave the id out, together with the marker before it. ``{index}`` is
a number that the model counts up from 0, and ``{number}`` one that it counts up from 1.

    begin  head(name) ARGUMENTS tail  [separator head(name) ARGUMENTS tail]*  end

The table of the families is `schemagen.calling.families`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from schemagen.calling.calls import ID_LENGTH
from schemagen.errors import ToolError
from schemagen.structural_tags.parameters import STYLES, Style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
            None if the format has one call in an answer.
        markers: The atomic parts of these texts: each may be a special token of the tokenizer, or text. The first one ends free
            text. Without markers, an answer is a call if it begins like one.
        arguments: "json" for an object, "python" for the keyword arguments of a call in Python's syntax, "tagged" for each
            argument between tags, strings as they are and other values as JSON; or the style of structural tags that says
            what these tags are. With a style, a line break follows each argument if the head ends with one.
        argument_head: The text before the value of a tagged argument, with ``{key}`` for its name.
        argument_tail: The text after the value; without surrounding whitespace it cannot occur in a value.
        id: The part of the head that is the id of a call, such as ``functions.{name}:{index}``; ``{id}`` is one by itself.
        other_heads: Other texts that a model may write in place of the head.
        words: The texts before and after an answer in words. If there is a text before, an answer is either words or calls.
        signs: Substrings of a chat template; a template with all of them belongs to this family.
        not_signs: Substrings that a template of this family does not have.
        tools_in: The place from which the template takes the tools: "argument" (``tools=``), "system" (the key ``tools`` of
            the system message), or "prompt" (the template does not support tools, so the prompt describes them).
        arguments_in_history: Whether templates take the arguments of past calls as an "object" or as "text".
        models: The models that write it.
    """

    name: str
    head: str
    tail: str = ""
    begin: str = ""
    end: str = ""
    separator: str | None = ""
    markers: tuple[str, ...] = ()
    arguments: Literal["json", "python", "tagged"] | TagStyle = "json"
    argument_head: str = ""
    argument_tail: str = ""
    id: str = ""
    other_heads: tuple[str, ...] = ()
    words: tuple[str, str] = ("", "")
    signs: tuple[str, ...] = ()
    not_signs: tuple[str, ...] = ()
    tools_in: Literal["argument", "system", "prompt"] = "argument"
    arguments_in_history: Literal["object", "text"] = "object"
    models: str = ""

    def __post_init__(self) -> None:
        """Refuse a format that could not be read back.

        Raises:
            ToolError: A head does not name the tool, or free text would run into it.
        """
        for head in self.heads:
            self._check_head(head)
        self._check_tags()
        if self.id not in self.head:
            raise self._wrong(
                f"has no {self.id!r} in its head", fix="give the part of the head that is the id of a call"
            )
        before, after = self.words
        if (before and not before.startswith(self.markers)) or (after and not after.startswith(self.markers)):
            raise self._wrong(
                f"has the words between {before!r} and {after!r}",
                why="words end, and differ from calls, at a marker",
                fix="name the markers at which these texts begin",
            )

    def _check_head(self, head: str) -> None:
        if head.count(_NAME) != 1:
            raise self._wrong(
                f"has no single {{name}} in the head {head!r}",
                why="a call must say which tool is called",
                fix="write {name} in the place of the name of the tool",
            )
        if self.arguments == "python" and not (head.endswith("(") and self.tail.startswith(")")):
            raise self._wrong(
                "does not put Python's arguments in parentheses",
                fix="end the head with ( and begin the tail with )",
            )
        opening = self.begin + head
        if self.markers and not self.is_anchored and not opening.startswith(self.markers[0]):
            raise self._wrong(
                f"has calls that begin with {opening[:20]!r}, not with {self.markers[0]!r}",
                why="free text ends at the first marker",
                fix="name the text that opens a call first in `markers`",
            )
        if not self.markers and not opening.startswith(("{", "[")):
            raise self._wrong(
                f"has calls that begin with {opening[:20]!r}",
                why="without a marker an answer is a call if it begins with { or [",
                fix="name a marker",
            )

    def _check_tags(self) -> None:
        if self.arguments in get_args(TagStyle):
            if self.argument_head or self.argument_tail:
                raise self._wrong(
                    f"has the style {self.arguments!r} and tags of its own",
                    fix='leave `argument_head` and `argument_tail` out, or write arguments="tagged"',
                )
            line = "\n" if self.head.endswith("\n") else ""
            object.__setattr__(self, "argument_tail", STYLES[self.arguments].end + line)
        if self.arguments == "tagged" and not (self.argument_head.count("{key}") == 1 and self.argument_tail.strip()):
            raise self._wrong(
                "does not tag its arguments",
                fix="name the argument by {key} in `argument_head`, and end it with `argument_tail`",
            )

    def _wrong(self, fact: str, *, fix: str, why: str = "") -> ToolError:
        return ToolError(f"profile {self.name!r} {fact}", why=why, fix=fix, code="wrong-profile")

    @property
    def heads(self) -> tuple[str, ...]:
        """The texts before the arguments of a call, the one that is written first."""
        return (self.head, *self.other_heads)

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
        """Whether an answer is either text or calls, distinguished by its beginning."""
        return not self.markers or bool(self.words[0])

    @property
    def repeats(self) -> bool:
        """Whether calls appear in the text one by one, without a list around them."""
        return not self.is_anchored and not self.begin

    def write(self, calls: Iterable[tuple[str, str]], arguments: Callable[[str], str]) -> str:
        """Return calls, given as names and JSON arguments.

        Args:
            calls: The calls.
            arguments: Writes JSON arguments in this format.

        Raises:
            ToolError: There are several calls, and the format has one in an answer.
        """
        written = [
            self.counted(self.head, name, index) + arguments(text) + self.tail
            for index, (name, text) in enumerate(calls)
        ]
        if self.separator is None and len(written) > 1:
            raise self._wrong(f"cannot hold {len(written)} calls in an answer", fix="write one answer for each call")
        separator = self.separator or ("\n" if self.repeats else "")
        return self.begin + separator.join(written) + self.end

    def counted(self, text: str, name: str, index: int) -> str:
        """Return a head, or an id, of the call of a tool, with a number that counts the calls from 0."""
        numbers = {"{index}": str(index), "{number}": str(index + 1), "{id}": f"{index:0{ID_LENGTH}}"}
        for placeholder, number in numbers.items():
            text = text.replace(placeholder, number)
        return text.replace(_NAME, name)

    def matches(self, template: str) -> bool:
        """Whether a chat template is of this family."""
        if not self.signs or any(sign in template for sign in self.not_signs):
            return False
        return all(sign in template for sign in self.signs)
