"""The graph of an answer, made from a profile, the tools and the allowed kinds of answers; and the text of past calls.

    answer = text                                  tool_choice "auto", "none"
           | text? begin call (separator call)* end      "auto"; without text "required"
           | (text? call)+ text?                   if the format has calls one by one in the text

If at most one call is allowed, the answer ends after it; otherwise text may follow, if the format allows it. The head of each
tool is a part of its own, so the name decides which arguments follow, and the model can write no other name.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.calling.calls import ID_LENGTH
from schemagen.calling.free_text import text_not_opening, words
from schemagen.calling.labels import Arguments, Begin, CallId, Reading, TaggedValue, Text
from schemagen.calling.parameters import as_keywords, end_tag, is_set_apart, keyword_arguments, parameters_of
from schemagen.engine.native.lowering import compile_language
from schemagen.errors import ToolError, UnsatisfiableSchemaError, UnsupportedSchemaError
from schemagen.grammar.compiler import compile as compile_grammar
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.regex import ast
from schemagen.regex.wildcards import text_up_to, text_without
from schemagen.vocabulary.adapters import special_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from schemagen.calling.labels import Answer
    from schemagen.calling.parameters import Parameter
    from schemagen.calling.tools import Tool
    from schemagen.calling.wire_profiles import Profile
    from schemagen.engine.options import Limits
    from schemagen.vocabulary import Vocabulary

_OPENINGS = "{["
_DIGITS = ast.char_set(string.digits)
_NUMBERS = ast.union(ast.literal("0"), ast.concat(ast.char_set("123456789"), ast.repeat(_DIGITS, 0, 5)))
#: The characters that a JSON value of each type may begin with.
_FIRST_CHARACTERS = {"number": "-0123456789", "boolean": "tfTF", "null": "nN", "object": "{", "array": "["}
#: The texts that stand for the placeholders of an id.
_COUNTS = {
    "{id}": ast.repeat(ast.char_set(string.ascii_letters + string.digits), ID_LENGTH, ID_LENGTH),
    "{index}": _NUMBERS,
    "{number}": _NUMBERS,
}


@dataclass(frozen=True, slots=True)
class Wire:
    """The allowed answers as a grammar, and a reader for them.

    Attributes:
        profile: The format.
        graph: The grammar; like every grammar it has a `vocabulary` and a `matcher`.
    """

    profile: Profile
    graph: GrammarGraph

    def read(self, token_ids: Iterable[int]) -> Answer:
        """Split an answer into text and calls.

        Raises:
            MatcherError: The answer is not complete.
        """
        matcher = self.graph.reader()
        data = b""
        for token_id in token_ids:
            if not matcher.accept_token(token_id):
                break
            data += self.graph.vocabulary.tokens[token_id]
        reading = Reading()
        for part, start, end in matcher.spans():
            reading.add(part.label, data[start:end].decode("utf-8"))
        return reading.answer()


def write_calls(profile: Profile, calls: Iterable[tuple[str, str]]) -> str:
    """Return calls, given as names and JSON arguments, in the format of a family of models; ids are consecutive numbers.

    Raises:
        ToolError: There are several calls, and the format has one in an answer.
    """
    writers: dict[str, Callable[[str], str]] = {"python": as_keywords, "tagged": profile.tagged, "json": str}
    return profile.write(calls, writers[profile.arguments])


@lru_cache(maxsize=64)
def build(  # noqa: PLR0913 - the ingredients of an answer
    profile: Profile,
    tools: tuple[Tool[..., Any], ...],
    vocabulary: Vocabulary,
    specials: tuple[tuple[str, int], ...],
    *,
    may_answer: bool = True,
    may_call: bool = True,
    parallel: bool = False,
    limits: Limits | None = None,
) -> Wire:
    """Return the grammar of the answers that a model may give.

    ``specials`` are the markers of the profile that are special tokens, with their ids.

    Raises:
        SchemaError: The arguments of a tool cannot be compiled.
        ToolError: A tool cannot be written in this format, or calls are requested without tools.
    """
    if may_call and not tools:
        raise ToolError("a call is requested, and there are no tools", fix="pass tools=[...]")
    graph = _Graph(profile, vocabulary, dict(specials), limits)
    starts: list[int] = []
    if may_call:
        starts += graph.calls(tools, with_text=may_answer, parallel=parallel)
    if may_answer:
        starts += graph.only_text()
    return Wire(profile, GrammarGraph(graph.parts, starts, vocabulary, limits))


def special_markers(profile: Profile, tokenizer: Any, vocabulary: Vocabulary) -> tuple[tuple[str, int], ...]:
    """Return the markers of a profile that are special tokens of a tokenizer, with their ids.

    A marker that is an ordinary token, or not a single token, is read as text.
    """
    known = special_tokens(tokenizer, vocabulary) if profile.markers else {}
    return tuple((marker, known[marker]) for marker in profile.markers if marker in known)


class _Graph:
    """The parts of an answer, built from the end to the beginning, because edges refer to parts by index.

    Free text never holds the marker. If the marker is a special token, text must not spell it out either: in the history of a
    chat the tokenizer would read it as that token.
    """

    def __init__(
        self, profile: Profile, vocabulary: Vocabulary, specials: dict[str, int], limits: Limits | None
    ) -> None:
        self.profile = profile
        self.limits = limits
        self.vocabulary = vocabulary
        self.specials = specials
        self.parts: list[Part] = []

    def calls(self, tools: tuple[Tool[..., Any], ...], *, with_text: bool, parallel: bool) -> list[int]:
        """Return the starts of the answers with calls."""
        profile = self.profile
        parallel = parallel and profile.separator is not None
        # 1) after a tail: the end, and a place for the next call, which is wired in step 4
        after = [self.add(Part(None, final=True, label="the end of the answer"))]
        if parallel and profile.repeats and with_text:
            after = self.only_text()
        close = self.fixed(profile.end, after)
        again = self.add(Part(None, label="the next call"))
        # In Python's syntax the first character of the tail, a parenthesis, belongs to the grammar of the arguments.
        text = profile.tail[1:] if profile.arguments == "python" else profile.tail
        tail = self.fixed(text, [*close, again] if parallel else close)
        # 2) arguments, and before them the head of each tool
        heads = self.heads(tools, tail, cut=profile.repeats)
        # 3) the opening of the first call
        opening = heads if profile.repeats else self.fixed(self._without_marker(profile.begin), heads)
        starts = self.triggered(opening, with_text=with_text)
        # 4) the way back: another call, after a separator or after text
        if profile.repeats:
            back = self.triggered(opening, with_text=with_text, spaced=True)
        else:
            back = self.fixed(profile.separator or "", heads)
        self.parts[again] = replace(self.parts[again], following=tuple(back))
        return starts

    def heads(self, tools: tuple[Tool[..., Any], ...], following: list[int], *, cut: bool) -> list[int]:
        """Return the starts of a call, without the marker that ended the text before if ``cut``.

        All tools share the text up to the first part that differs.
        """
        arguments = [(tool.name, self.arguments(tool, following)) for tool in tools]
        starts: list[int] = []
        for head in self.profile.heads:
            text = self._without_marker(head) if cut else head
            form = self.profile.id or next((placeholder for placeholder in _COUNTS if placeholder in text), "{name}")
            place = min(text.index(each) for each in ("{name}", form) if each in text)
            shared, own = text[:place], text[place:]
            quoted = shared.count('"') % 2 == 1
            of_tools = [self.head(own, name, after, form=form, quoted=quoted) for name, after in arguments]
            starts += self.fixed(shared, [start for of_tool in of_tools for start in of_tool])
        return starts

    def head(self, text: str, name: str, following: list[int], *, form: str, quoted: bool) -> list[int]:
        """Return the starts of a head, from the name or the number of the call on."""
        if form == "{name}" or form not in text:
            return self.named(text, name, following, quoted=quoted)
        before, _, after = text.partition(form)
        starts = self.named(after, name, following, quoted=quoted ^ (before.count('"') % 2 == 1))
        placeholder = next(each for each in _COUNTS if each in form)
        prefix, _, suffix = form.replace("{name}", name).partition(placeholder)
        counted = ast.concat(ast.literal(prefix), _COUNTS[placeholder], ast.literal(suffix))
        is_id = self.profile.id or placeholder == "{id}"
        label = CallId() if is_id else "the number of a call"
        number = self.add(Part(counted, following=tuple(starts), label=label))
        if self.profile.id or placeholder != "{id}":
            return self.named(before, name, [number], quoted=quoted)
        marker = next((marker for marker in self.profile.markers if before.endswith(marker)), "")
        starts = [*self.fixed(marker, [number]), *starts]
        return self.named(before.removesuffix(marker), name, starts, quoted=quoted)

    def named(self, text: str, name: str, following: list[int], *, quoted: bool) -> list[int]:
        """Return the starts of a fixed text that may hold the name of the tool."""
        before, has_name, after = text.partition("{name}")
        if has_name:
            after_is_quoted = quoted ^ (before.count('"') % 2 == 1)
            following = self.fixed(after, following, quoted=after_is_quoted)
            following = [self.add(Part(ast.literal(name), tuple(following), label=repr(name)))]
            text = before
        return self.fixed(text, following, quoted=quoted)

    def arguments(self, tool: Tool[..., Any], following: list[int]) -> list[int]:
        """Return the starts of the arguments of a tool."""
        try:
            return self._arguments(tool, following)
        except UnsupportedSchemaError as error:
            if self.profile.arguments == "json" or error.code != "not-regular":
                raise
            raise UnsupportedSchemaError(
                f"the arguments of {tool.name} cannot be written in the format {self.profile.name!r}",
                at=error.at,
                why=f"each is a regular expression there, and {error.fact.partition(': ')[2]}",
                fix="choose a profile with JSON arguments, such as profile='plain', or bound the types",
                code="not-regular",
            ) from error

    def _arguments(self, tool: Tool[..., Any], following: list[int]) -> list[int]:
        if self.profile.arguments == "tagged":
            return self.parameters(tool, following)
        is_python = self.profile.arguments == "python"
        if is_python:
            language: Any = ast.concat(keyword_arguments(tool.spec), ast.literal(self.profile.tail[:1]))
        else:
            language = compile_grammar(tool.spec, self.vocabulary, limits=self.limits)
        return [self.add(Part(language, tuple(following), label=Arguments(tool, is_python)))]

    def parameters(self, tool: Tool[..., Any], following: list[int]) -> list[int]:
        """Return the start of the tagged parameters of a tool."""
        starts: list[int] = []
        for parameters in parameters_of(tool.spec, self.profile):
            rest = following
            for parameter in reversed(parameters):
                taken = self.parameter(parameter, rest)
                rest = taken if parameter.required else [*taken, *rest]
            starts += rest
        return [self.add(Part(None, following=tuple(starts), label=Begin(tool)))]

    def parameter(self, parameter: Parameter, following: list[int]) -> list[int]:
        """Return the starts of a tagged parameter."""
        variants = _variants(self.profile, parameter)
        starts: list[int] = []
        for opening, variant in variants.items():
            try:
                value = self.value(variant, following)
            except UnsatisfiableSchemaError:
                if len(variants) == 1:
                    raise
                continue  # the parameter has no value of these types
            starts += self.fixed(opening.removesuffix("\n") if is_set_apart(self.profile) else opening, [value])
        if not starts:
            self.value(parameter, following)  # raises, because the parameter has no value
        return starts

    def value(self, parameter: Parameter, following: list[int]) -> int:
        """Return the start of the value of a tagged parameter, with its end tag."""
        profile, end = self.profile, end_tag(self.profile)
        before, special, after = self._at_special(end)
        closed = ast.concat(parameter.language(special), ast.literal(before)) if special else parameter.closed(end)
        compile_language(closed, self.vocabulary)  # raises if the parameter has no value
        label = TaggedValue(
            parameter.key,
            compile_language(parameter.others, self.vocabulary) if parameter.others != ast.EMPTY else None,
            parameter.strings != ast.EMPTY,
            before,
            is_set_apart(profile),
        )
        rest = self.fixed(after + profile.argument_tail.partition(end)[2], following)
        if special:
            return self.add(Part(closed, special={self.specials[special]: tuple(rest)}, label=label))
        return self.add(Part(closed, tuple(rest), label=label))

    def triggered(self, following: list[int], *, with_text: bool, spaced: bool = False) -> list[int]:
        """Return the starts of text and the marker of a call, or of the marker alone."""
        if self.profile.is_anchored:
            return self.fixed(" ", following)
        return self.until(self.profile.markers[0], following, with_text=with_text, spaced=spaced)

    def until(self, marker: str, following: list[int], *, with_text: bool, spaced: bool = False) -> list[int]:
        """Return the start of text that ends with a marker, or of the marker alone; it may have a special token in it."""
        before, special, after = self._at_special(marker)
        gap = " " if spaced else ""
        if special:
            free = ast.concat(text_without([special]), ast.literal(before))
            edge = {self.specials[special]: tuple(self.fixed(after, following))}
            return [self.add(Part(free if with_text else words(gap + before), special=edge, label=Text(before)))]
        language = text_up_to(marker) if with_text else words(gap + marker, [marker])
        return [self.add(Part(language, tuple(following), label=Text(marker)))]

    def only_text(self) -> list[int]:
        """Return the starts of an answer in words."""
        profile = self.profile
        before, after = profile.words
        if after:
            marker = next(marker for marker in profile.markers if after.startswith(marker))
            done = self.add(Part(None, final=True, label="the end of the answer"))
            text = self.until(marker, self.fixed(after.removeprefix(marker), [done]), with_text=True)
            return self.fixed(before, text)
        if profile.is_anchored and not before:
            language = text_not_opening(_OPENINGS)
        else:
            special = self._at_special(profile.markers[0])[1]
            language = text_without([special or profile.markers[0]])
        return self.fixed(before, [self.add(Part(language, final=True, label=Text()))])

    def fixed(self, text: str, following: list[int], *, quoted: bool = False) -> list[int]:
        """Return the starts of a fixed text, which may hold markers and leads to the parts ``following``.

        ``quoted`` tells whether it begins inside of quotes.
        """
        pieces = self._pieces(text)
        for index, piece in reversed([*enumerate(pieces)]):
            if piece in self.specials:
                edge = {self.specials[piece]: tuple(following)}
                following = [self.add(Part(None, special=edge, label=f"{piece!r}"))]
            else:
                loose = {"is_json": self.profile.arguments == "json", "quoted": quoted and index == 0}
                language = words(piece, self.profile.markers, **loose)
                following = [self.add(Part(language, tuple(following), label=f"{piece!r}"))]
        return following

    def add(self, part: Part) -> int:
        """Add a part and return its index."""
        self.parts.append(part)
        return len(self.parts) - 1

    def _pieces(self, text: str) -> list[str]:
        pieces = [text]
        for special in self.specials:
            cut: list[str] = []
            for piece in pieces:
                if piece in self.specials:
                    cut.append(piece)
                    continue
                for index, rest in enumerate(piece.split(special)):
                    cut += [special] if index else []
                    cut.append(rest)
            pieces = cut
        return [piece for piece in pieces if piece]

    def _at_special(self, text: str) -> tuple[str, str, str]:
        """Split a text at its first special token; the last two parts are empty if it has none."""
        pieces = self._pieces(text)
        place = next((index for index, piece in enumerate(pieces) if piece in self.specials), len(pieces))
        return "".join(pieces[:place]), "".join(pieces[place : place + 1]), "".join(pieces[place + 1 :])

    def _without_marker(self, text: str) -> str:
        return text if self.profile.is_anchored else text.removeprefix(self.profile.markers[0])


def _variants(profile: Profile, parameter: Parameter) -> dict[str, Parameter]:
    """Return the texts that may open a tagged parameter, each with the values that it may open.

    Raises:
        ToolError: The name of the parameter ends the quotes around it.
    """
    openings = profile.openings(parameter.key)
    if '"{key}"' in profile.argument_head and {'"', "&"} & {*parameter.key}:
        raise ToolError(
            f"parameter {parameter.key!r} cannot be written between tags",
            at=f"/properties/{parameter.key}",
            why="its name stands in quotes, and holds a quote or an ampersand",
            fix="rename it, or choose a profile with JSON arguments, such as profile='plain'",
        )
    if len(openings) == 1:
        return dict.fromkeys(openings, parameter)
    return {
        opening: replace(
            parameter,
            strings=parameter.strings if "string" in kinds else ast.EMPTY,
            others=ast.conjunction(parameter.others, _json_of(kinds)),
        )
        for opening, kinds in openings.items()
    }


def _json_of(kinds: Iterable[str]) -> ast.Regex:
    """Return the texts of JSON that begin like a value of one of some types other than string."""
    first = "".join(_FIRST_CHARACTERS.get(kind, "") for kind in kinds)
    return ast.concat(ast.star(ast.char_set(" \t\n\r")), ast.char_set(first), ast.ANY_STRING) if first else ast.EMPTY
