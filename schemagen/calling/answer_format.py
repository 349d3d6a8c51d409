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
from schemagen.calling.labels import Arguments, Begin, CallId, Reading, TaggedValue, Text, ToolName, Value
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
from schemagen.vocabulary.adapters import special_tokens, split_at
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
_DIGITS = ast.char_set(string.digits)
_NUMBERS = ast.union(ast.literal("0"), ast.concat(ast.char_set("123456789"), ast.repeat(_DIGITS, 0, 5)))
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
        reader = self.graph.reader()
        for token_id in token_ids:
            if not reader.accept_token(token_id):
                break
        reading = Reading()
        for part, start, end in reader.spans():
            reading.add(part.label, without_marks(bytes(reader.data[start:end])).decode("utf-8"))
        return reading.answer()


def write_calls(profile: Profile, calls: Iterable[tuple[str, str]]) -> str:
    """Return calls, given as names and JSON arguments, in the format of a family of models; ids are consecutive numbers.

    Raises:
        ToolError: There are several calls, and the format has one in an answer.
    """
    style, write = profile.style, as_keywords if profile.arguments == "python" else str
    if style is not None:
        write = partial(as_tagged, style, profile.argument_tail)
    return profile.write(calls, write)


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
            following = [self.add(Part(ast.literal(name), tuple(following), label=ToolName(name)))]
            text = before
        return self.fixed(text, following, quoted=quoted)

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
        end, special, after = self._at_special(style.end)
        tail = after + self.profile.argument_tail.partition(style.end)[2]
        for parameters in parameters_of(tool.spec, style, stop=special or style.end, end=end):
            rest = following
            for parameter in reversed(parameters):
                ended = self.fixed(tail, rest)
                ways = [self.way(parameter.key, way, style, ended) for way in parameter.ways]
                taken = [start for starts_of_way in ways for start in starts_of_way]
                rest = taken if parameter.required else [*taken, *rest]
            starts += rest
        return [self.add(Part(None, following=tuple(starts), label=Begin(tool)))]

    def way(self, key: str, way: Way, style: Style, following: list[int]) -> list[int]:
        """Return the starts of a tagged parameter that is written in one of its ways."""
        given = self.compiled(way.others) if way.has_strings and way.others is not None else None
        others = given if given is None or isinstance(given, Grammar) else compile_language(given, self.vocabulary)
        end, special, _ = self._at_special(style.end)
        part = Part(
            self.compiled(way.language), label=TaggedValue(key, others, way.has_strings, end, style.is_set_apart)
        )
        if special:
            part = replace(part, special={self.specials[special]: tuple(following)})
        else:
            part = replace(part, following=tuple(following))
        return self.fixed(way.before, [self.add(part)])

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

    def only_value(self, grammar: Grammar) -> list[int]:
        """Return the starts of a typed answer, which stands in the place of words."""
        before, after = self.profile.words
        value = Part(grammar, final=not after, label=Value(grammar))
        if after:
            done = self.add(Part(None, final=True, label="the end of the answer"))
            value = replace(value, following=tuple(self.fixed(after, [done])))
        return self.fixed(before, [self.add(value)])

    def fixed(self, text: str, following: list[int], *, quoted: bool = False) -> list[int]:
        """Return the starts of a fixed text, which may hold markers and leads to the parts ``following``.

        ``quoted`` tells whether it begins inside of quotes.
        """
        pieces = split_at(text, self.specials)
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

    def _at_special(self, text: str) -> tuple[str, str, str]:
        """Split a text at its first special token; the last two parts are empty if it has none."""
        pieces = split_at(text, self.specials)
        place = next((index for index, piece in enumerate(pieces) if piece in self.specials), len(pieces))
        return "".join(pieces[:place]), "".join(pieces[place : place + 1]), "".join(pieces[place + 1 :])

    def _without_marker(self, text: str) -> str:
        return text if self.profile.is_anchored else text.removeprefix(self.profile.markers[0])
