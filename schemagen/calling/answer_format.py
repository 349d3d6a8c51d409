"""The graph of an answer, made from a profile, the tools and the allowed kinds of answers; and the text of past calls.

    answer = text                                  tool_choice "auto", "none"
           | value                                 instead, if the answer has a type
           | text? begin call (separator call)* end      "auto"; without text "required"
           | (text? call)+ text?                   if the format has calls one by one in the text

If at most one call is allowed, the answer ends after it; otherwise text may follow, if the format allows it. A typed answer is
calls or a value, without other text: free text before the value could not be told from the value. Where the text of a value is
also a call, as it can be in a format without markers, the answer is the call. The head of each
tool is a part of its own, so the name decides which arguments follow, and the model can write no other name.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from schemagen.calling.calls import ID_LENGTH
from schemagen.calling.free_text import text_not_opening, words
from schemagen.calling.labels import Arguments, Begin, CallId, Reading, TaggedValue, Text, Value
from schemagen.calling.parameters import (
    WrittenArguments,
    as_keywords,
    as_tagged,
    keyword_arguments,
    parameters_of,
)
from schemagen.engine.native.lowering import compile_language
from schemagen.errors import ToolError, UnsupportedSchemaError
from schemagen.grammar.compiler import compile as compile_grammar
from schemagen.grammar.grammar import Grammar
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.regex import ast
from schemagen.regex.wildcards import text_up_to, text_without
from schemagen.vocabulary.adapters import special_tokens
from schemagen.vocabulary.marks import without_marks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.calling.labels import Answer
    from schemagen.calling.parameters import Language, Way
    from schemagen.calling.tools import Tool
    from schemagen.calling.wire_profiles import Profile
    from schemagen.engine.options import Limits
    from schemagen.structural_tags.parameters import Style
    from schemagen.vocabulary import Vocabulary

_OPENINGS = "{["
_IDS = ast.repeat(ast.char_set(string.ascii_letters + string.digits), ID_LENGTH, ID_LENGTH)


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
        reader = self.graph.reader()
        for token_id in token_ids:
            if not reader.accept_token(token_id):
                break
        reading = Reading()
        for part, start, end in reader.spans():
            reading.add(part.label, without_marks(bytes(reader.data[start:end])).decode("utf-8"))
        return reading.answer()


def write_calls(profile: Profile, calls: Iterable[tuple[str, str]]) -> str:
    """Return calls, given as names and JSON arguments, in the format of a family of models; ids are consecutive numbers."""
    style, write = profile.style, as_keywords if profile.arguments == "python" else str
    if style is not None:
        write = partial(as_tagged, style, profile.argument_tail)
    written = [
        profile.head.replace("{name}", name).replace("{id}", f"{index:0{ID_LENGTH}}") + write(text) + profile.tail
        for index, (name, text) in enumerate(calls)
    ]
    separator = profile.separator or ("\n" if profile.repeats else "")
    return profile.begin + separator.join(written) + profile.end


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
    returns: Grammar | None = None,
    limits: Limits | None = None,
) -> Wire:
    """Return the grammar of the answers that a model may give.

    ``specials`` are the markers of the profile that are special tokens, with their ids; ``returns`` is the grammar of an answer
    without calls, None for free text.

    Raises:
        SchemaError: The arguments of a tool cannot be compiled.
        ToolError: A tool cannot be written in this format, or calls are requested without tools.
    """
    if may_call and not tools:
        raise ToolError("a call is requested, and there are no tools", fix="pass tools=[...]")
    graph = _Graph(profile, vocabulary, dict(specials), limits)
    starts: list[int] = []
    if may_call:
        starts += graph.calls(tools, with_text=may_answer and returns is None, parallel=parallel)
    if may_answer:
        starts += graph.only_text() if returns is None else graph.only_value(returns)
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
        heads = [start for tool in tools for start in self.head(tool, tail, cut=profile.repeats)]
        # 3) the opening of the first call
        opening = heads if profile.repeats else self.fixed(self._without_marker(profile.begin), heads)
        starts = self.triggered(opening, with_text=with_text)
        # 4) the way back: another call, after a separator or after text
        if profile.repeats:
            back = self.triggered(opening, with_text=with_text, spaced=True)
        else:
            back = self.fixed(profile.separator, heads)
        self.parts[again] = replace(self.parts[again], following=tuple(back))
        return starts

    def head(self, tool: Tool[..., Any], following: list[int], *, cut: bool) -> list[int]:
        """Return the starts of a call: its head, without the marker that ended the text before if ``cut``."""
        text = self.profile.head
        text = (self._without_marker(text) if cut else text).replace("{name}", tool.name)
        before, has_id, after = text.partition("{id}")
        starts = self.fixed(after if has_id else before, self.arguments(tool, following))
        if has_id:
            marker = next((marker for marker in self.profile.markers if before.endswith(marker)), "")
            named = self.fixed(marker, [self.add(Part(_IDS, following=tuple(starts), label=CallId()))])
            starts = self.fixed(before.removesuffix(marker), [*named, *starts])
        return starts

    def arguments(self, tool: Tool[..., Any], following: list[int]) -> list[int]:
        """Return the starts of the arguments of a tool."""
        if self.profile.arguments == "json":
            language: Any = compile_grammar(tool.spec, self.vocabulary, limits=self.limits)
            return [self.add(Part(language, tuple(following), label=Arguments(tool, is_python=False)))]
        try:
            if self.profile.style is not None:
                return self.parameters(tool, self.profile.style, following)
            language = self.compiled(keyword_arguments(tool.spec, self.profile.tail[:1]))
        except UnsupportedSchemaError as error:
            raise UnsupportedSchemaError(
                f"the arguments of {tool.name} cannot be written in the format {self.profile.name!r}",
                at=error.at,
                why=error.fact,
                fix="choose a profile with JSON arguments, such as profile='plain', or change the type",
                code=error.code,
            ) from error
        return [self.add(Part(language, tuple(following), label=Arguments(tool, is_python=True)))]

    def compiled(self, language: Language) -> ast.Regex | Grammar:
        """Return texts for a part: a regular expression as it is, rules as a grammar."""
        if not isinstance(language, WrittenArguments):
            return language
        return compile_grammar(language, self.vocabulary, limits=self.limits, cache=None)

    def parameters(self, tool: Tool[..., Any], style: Style, following: list[int]) -> list[int]:
        """Return the start of the tagged parameters of a tool."""
        starts: list[int] = []
        first = self._pieces(style.end)[0]
        stop, end = (first, "") if first in self.specials else (style.end, style.end)
        for parameters in parameters_of(tool.spec, style, stop=stop, end=end):
            rest = following
            for parameter in reversed(parameters):
                after = self.fixed(self.profile.argument_tail.partition(stop)[2], rest)
                ways = [self.way(parameter.key, way, style, stop, after) for way in parameter.ways]
                taken = [start for starts_of_way in ways for start in starts_of_way]
                rest = taken if parameter.required else [*taken, *rest]
            starts += rest
        return [self.add(Part(None, following=tuple(starts), label=Begin(tool)))]

    def way(self, key: str, way: Way, style: Style, stop: str, after: list[int]) -> list[int]:
        """Return the starts of a tagged parameter that is written in one of its ways."""
        given = None if way.others is None else self.compiled(way.others)
        others = given if given is None or isinstance(given, Grammar) else compile_language(given, self.vocabulary)
        end = "" if stop in self.specials else style.end
        label = TaggedValue(key, others, way.has_strings, end, style.is_set_apart)
        language = self.compiled(way.language)
        if end:
            part = Part(language, tuple(after), label=label)
        else:
            part = Part(language, special={self.specials[stop]: tuple(after)}, label=label)
        return self.fixed(way.before, [self.add(part)])

    def triggered(self, following: list[int], *, with_text: bool, spaced: bool = False) -> list[int]:
        """Return the starts of text and the marker of a call, or of the marker alone."""
        if self.profile.is_anchored:
            return self.fixed(" ", following)
        marker = self.profile.markers[0]
        if marker in self.specials:
            text = text_without([marker]) if with_text else words(" ") if spaced else ast.EPSILON
            special = {self.specials[marker]: tuple(following)}
            return [self.add(Part(text, special=special, label=Text()))]
        language = text_up_to(marker) if with_text else words((" " if spaced else "") + marker, [marker])
        return [self.add(Part(language, tuple(following), label=Text(marker)))]

    def only_text(self) -> list[int]:
        """Return the start of a text without calls."""
        profile = self.profile
        language = text_not_opening(_OPENINGS) if profile.is_anchored else text_without(profile.markers[:1])
        return [self.add(Part(language, final=True, label=Text()))]

    def only_value(self, grammar: Grammar) -> list[int]:
        """Return the start of a typed answer."""
        return [self.add(Part(grammar, final=True, label=Value(grammar)))]

    def fixed(self, text: str, following: list[int]) -> list[int]:
        """Return the starts of a fixed text, which may hold markers and leads to the parts ``following``."""
        for piece in reversed(self._pieces(text)):
            if piece in self.specials:
                edge = {self.specials[piece]: tuple(following)}
                following = [self.add(Part(None, special=edge, label=f"{piece!r}"))]
            else:
                language = words(piece, self.profile.markers, is_json=self.profile.arguments == "json")
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

    def _without_marker(self, text: str) -> str:
        return text.removeprefix(self.profile.markers[0]) if self.profile.markers else text
