"""`Lark`: grammars of lark as specs."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from schemagen.checks import kind_of
from schemagen.context_free.lark.source import LarkSource, imported_lark, is_lark, source_of
from schemagen.context_free.syntax import Guest
from schemagen.errors import LimitError, OptionError, OptionTypeError, UnsupportedGrammarError, ValidationFailed
from schemagen.grammar.context_free_specs import GrammarText
from schemagen.grammar.languages import expression_of, regex_of
from schemagen.grammar.reading import mistyped
from schemagen.grammar.specs import Choice, JsonSchema, frozen_spec, given_spec
from schemagen.schema.layouts import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    import lark

    from schemagen import _core
    from schemagen.context_free.dialect.guidance import JsonLayout
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression

LarkParser = Literal["earley", "lalr"]
LarkLexer = Literal["dynamic", "dynamic_complete", "contextual", "basic"]
LarkDialect = Literal["lark", "llguidance", "xgrammar"]
LarkImports = Literal["files", "library"]

#: Parser -> the lexers that it works with, lark's default first.
_LEXERS = {"earley": ("dynamic", "dynamic_complete", "basic"), "lalr": ("contextual", "basic")}
_IMPORTS = ("files", "library")
_DIALECTS = ("lark", "llguidance", "xgrammar")
#: Dialect -> which match of a terminal is taken, in those that lark does not read.
_MATCHES: dict[str, Literal["longest", "any"]] = {"llguidance": "longest", "xgrammar": "any"}


@dataclass(frozen=True, init=False, repr=False)
class Lark(GrammarText):
    r"""Text that a grammar of lark derives: exactly what ``lark.Lark`` with the same options parses.

    ``Lark('start: NAME "=" NUMBER\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/')``. Lark itself, an extra, is only needed for
    `parse`, for ``parser="lalr"`` and ``lexer="basic"``, and for imports from its library (``%import common.INT``).

    Args:
        grammar: The text, the path of a file (relative imports are found from there), or a ``lark.Lark``, which brings its
            options along: an ``Indenter`` as ``postlex``, import paths, flags of patterns. Of it the text and options are
            kept, by which two of these specs are compared and pickled.
        start: The rule whose texts are meant; "start" if None.
        parser: "earley" reads any grammar, "lalr" those without conflicts, at less cost for a token; "earley" if None.
        lexer: How terminals are found, see "Lexers and keywords" in the guide on grammars. For Earley "dynamic" (if None),
            "dynamic_complete" or "basic"; for LALR "contextual" (if None) or "basic".
        bind: For terminals that the grammar declares (``%declare NAME``) what their texts are: a `Regex`, a `Choice`, a type,
            a JSON Schema, or another grammar. Only for Earley with a dynamic lexer, which reads them without looking for
            their end.
        dialect: "lark"; or the notation that llguidance and xgrammar's ``from_lark`` share, read as "llguidance" does, where a
            terminal takes its longest match, or as "xgrammar" does, where it takes any. A dialect and no ``lexer``, because a
            grammar is written for one of the two, which is what users know of it, and ``lexer`` names lexers of lark.
            ``parser``, ``lexer``, ``bind`` and ``keywords`` are for dialect "lark" alone.
        grammars: In the other dialects what ``@name`` in the grammar stands for, by name: the text of another grammar in the
            same dialect, which may use these names, too; a JSON Schema, a type, a `Regex`, a `Choice`, or another grammar.
        keywords: "reserved": a terminal such as ``NAME: /[a-z]+/`` takes no literal of the grammar, and none is read at the
            beginning of a longer name. Only for Earley's lexer "dynamic", which has no reserved words.
        imports: "files": ``%import`` looks for files and in lark's own library, as lark does. "library": in the library alone,
            for grammars from strangers.

    Attributes:
        text: The grammar.
        start: The rule whose texts are meant.
        parser: "earley" or "lalr".
        lexer: The lexer, by its name.
        bind: The specs by the names that they are bound to.
        grammars: The texts and specs by the names that the grammar refers to.
        dialect: "lark", "llguidance" or "xgrammar".
        keywords: "reserved" or None.
        imports: "files" or "library".
        path: The file that the grammar is from, or None.
        options: More options of the ``lark.Lark`` that was given.

    Raises:
        OptionError: An option is none of these, does not go with another one, or is given beside a ``lark.Lark``.
        UnsupportedGrammarError: A ``lark.Lark`` has an option by which its texts are known to lark alone.
        SchemagenError: Lark is needed, and not installed.
    """

    start: str
    parser: LarkParser
    lexer: LarkLexer
    bind: tuple[tuple[str, Any], ...]
    grammars: tuple[tuple[str, Any], ...]
    dialect: LarkDialect
    keywords: Literal["reserved"] | None
    imports: LarkImports
    path: str | tuple[str, str] | None
    options: tuple[tuple[str, Any], ...]

    def __init__(  # noqa: PLR0913 - every option is a parameter
        self,
        grammar: str | os.PathLike[str] | lark.Lark,
        *,
        start: str | None = None,
        parser: LarkParser | None = None,
        lexer: LarkLexer | None = None,
        bind: Mapping[str, Any] | None = None,
        grammars: Mapping[str, Any] | None = None,
        dialect: LarkDialect = "lark",
        keywords: Literal["reserved"] | None = None,
        imports: LarkImports = "files",
    ) -> None:
        _check_words(dialect, keywords, imports)
        given: dict[str, Any] = {"start": start, "parser": parser, "lexer": lexer}
        source = _instance(grammar, given, dialect, imports) if is_lark(grammar) else _text(grammar, given)
        fields = {
            "text": source.text,
            "start": source.start,
            "parser": source.parser,
            "lexer": source.lexer,
            "bind": _bindings(bind),
            "grammars": _grammars(grammars),
            "dialect": dialect,
            "keywords": keywords,
            "imports": imports,
            "path": source.path,
            "options": source.options,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if is_lark(grammar):
            object.__setattr__(self, "_given", grammar)
        if dialect == "lark":
            if grammars:
                fix = "bind terminals, with bind=, or use dialect='llguidance'"
                raise OptionError("grammars= with dialect='lark'", why="lark has no @name", fix=fix)
            if self._source.needs_lark:
                imported_lark()
        elif parser is not None or lexer is not None or bind or keywords is not None:
            raise OptionError(
                f"dialect={dialect!r} with parser=, lexer=, bind= or keywords=",
                why="in this dialect there is one way to read a text",
                fix="leave them out, or use dialect='lark'",
            )
        if keywords is not None and source.lexer != "dynamic":
            raise OptionError(
                f"keywords='reserved' with lexer={source.lexer!r}",
                why="basic and contextual lexers reserve words in their own way, and dynamic_complete takes any part of a name",
                fix="use parser='earley' with lexer='dynamic', or leave keywords= out",
            )

    def rules(self) -> ContextFreeGrammar:
        """Return the rules that the text is read as; see `ContextFree.rules`."""
        if self.dialect in _MATCHES:
            from schemagen.context_free.dialect.rules import read_dialect

            text, arguments = self._dialect_arguments
            return read_dialect(text, **arguments)
        from schemagen.context_free.lark.reader import grammar_of, grammar_of_rules

        if self._needs_lark:
            return grammar_of(self._parser, self._bound, reserve_words=self.keywords is not None)
        return grammar_of_rules(self._source.rules(), self._bound, reserve_words=self.keywords is not None)

    def read(self, languages: _core.Languages) -> _core.Rules | ContextFreeGrammar:
        """Return the rules as the core has them, if rules are all there is; see `ContextFree.read`."""
        if self.dialect in _MATCHES:
            from schemagen.context_free.dialect.rules import rules_or_grammar

            text, arguments = self._dialect_arguments
            return rules_or_grammar(languages, text, **arguments)
        if self.bind:
            return self.rules()
        from schemagen.context_free.lark.reader import core_rules_of, read_dynamic

        if self._needs_lark:
            return core_rules_of(self._parser, reserve_words=self.keywords is not None) or self.rules()
        return read_dynamic(self._source.rules(), reserve_words=self.keywords is not None)

    @property
    def _dialect_arguments(self) -> tuple[str, dict[str, Any]]:
        text, others = self._parts
        return text, {"start": self.start, "value": _json_of, "lexer": _MATCHES[self.dialect], "others": others}

    @property
    def _needs_lark(self) -> bool:
        return "_given" in self.__dict__ or self._source.needs_lark

    @property
    def _bound(self) -> dict[str, Callable[[], Expression]]:
        return {name: partial(expression_of, spec) for name, spec in self.bind}

    @property
    def _parts(self) -> tuple[str, dict[str, Any]]:
        """The text of the grammar, and what ``@name`` in it stands for, for `read_dialect`."""
        from schemagen.context_free.dialect.json_form import is_json_form, read_json_form

        is_json = self.dialect == "llguidance" and is_json_form(self.text)
        text, others = read_json_form(self.text) if is_json else (self.text, {})
        for name, spec in self.grammars:
            if name in others:
                raise OptionError(f"grammars={{{name!r}: ...}}", why="the grammar defines it, too", fix="rename one")
            others[name] = _other(spec)
        return text, others

    def check_regular(self) -> None:
        """Refuse a grammar of lark with a lexer; see `ContextFree.check_regular`."""
        if self.dialect not in _MATCHES:
            raise UnsupportedGrammarError(
                "a grammar of lark is no regular expression",
                why="where a terminal ends depends on the text after it",
                fix="draw 'mask'; as a pattern, write it as GBNF",
            )

    def parse(self, text: str) -> Any:
        """Return lark's tree of a text.

        It is what ``lark.Lark(...).parse`` returns. A terminal that something is bound to is found by the regular expression
        of that: under the lexer "dynamic" it takes what `re` finds, mostly the longest match, also where a shorter one would
        have to do. Keywords are not reserved here: lark has no such option.

        Raises:
            ValidationFailed: Lark does not parse it; ``error`` is lark's exception.
            UnsupportedGrammarError: The dialect is not lark's, or a bound spec is too large for a regular expression.
            GrammarError: Lark does not take the grammar.

        Cost: lark's, in Python; once for the parser, too, which is kept.
        """
        if not isinstance(text, str):
            raise OptionTypeError(f"parse() got {kind_of(text)}", why="texts are characters", fix="give a str")
        reader = self._reader
        try:
            return reader.parse(text)
        except (imported_lark().LarkError, IndexError) as error:  # its Indenter, of a comment at the end of the text
            told = str(error).strip().splitlines() or [type(error).__name__]
            raise ValidationFailed(
                f"lark does not parse the text: {told[0]}",
                text=text,
                error=error,
                why=self._why_not(text),
                fix="give a whole text of this grammar",
            ) from error

    def _why_not(self, text: str) -> str:
        if self.bind and self.lexer == "dynamic":
            names = ", ".join(name for name, _ in self.bind)
            return f"to lark {names} is a pattern, which takes the longest match; lexer='dynamic_complete' takes any"
        return "" if text else "the text is empty"

    @cached_property
    def has_conflicts(self) -> bool:
        """Whether an LALR parser of the rules has to choose: then it reads fewer texts than the rules derive, or may do so.

        False says that each text has one tree. What rules with priorities lose is not told from a choice.

        Raises:
            GrammarError: Lark does not take the grammar.

        Cost: lark's, of making the tables once more.
        """
        from schemagen.context_free.lark.source import has_conflicts

        return self.parser != "lalr" or has_conflicts(self._parser)

    @property
    def _source(self) -> LarkSource:
        return LarkSource(self.text, self.start, self.parser, self.lexer, self.path, self.options, self.imports)

    @property
    def _parser(self) -> Any:
        """Lark's parser, without the bound specs.

        Only one that was given is kept: the objects of lark are larger than the grammar that is compiled from them.
        """
        given = self.__dict__.get("_given")
        return self._source.parser_of() if given is None else given

    @cached_property
    def _reader(self) -> Any:
        """The parser of `parse`."""
        if self.dialect != "lark":
            raise UnsupportedGrammarError(
                f"parse() with dialect={self.dialect!r}",
                why="lark does not read this dialect",
                fix="parse the text yourself",
            )
        if not self.bind:
            return self._parser
        return self._source.parser_of("\n".join(_definition(name, spec) for name, spec in self.bind))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: parsers are made again."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_given", "_reader")}

    def __repr__(self) -> str:
        """Return the call that makes it, as far as its arguments can be written."""
        default = _LEXERS.get(self.parser, ("",))[0]
        said = {
            "start": self.start != "start",
            "parser": self.parser != "earley",
            "lexer": self.lexer != default,
            "bind": bool(self.bind),
            "grammars": bool(self.grammars),
            "dialect": self.dialect != "lark",
            "keywords": self.keywords is not None,
            "imports": self.imports != "files",
            "path": self.path is not None,
            "options": bool(self.options),
        }
        shown = [f"{name}={getattr(self, name)!r}" for name, is_said in said.items() if is_said]
        return f"Lark({', '.join([repr(self.text), *shown])})"


def _json_of(schema: dict[str, Any] | bool, layout: JsonLayout | None) -> Expression:
    """Return what ``%json`` stands for, in the layout that it asks for, if any; whitespace "any" is within the value only."""
    found = expression_of(schema)
    if not isinstance(found, Guest):
        return found
    whitespace = layout if layout is None or layout == "any" else Layout(separators=layout)
    return Guest(replace(found.spec, whitespace=whitespace, around=False))


def _other(spec: Any) -> Any:
    """Return what ``@name`` stands for as the reader takes it: a text, a schema, or what makes an expression."""
    if isinstance(spec, str | JsonSchema):
        return given_spec(spec)
    return partial(expression_of, spec)


def _grammars(given: Any) -> tuple[tuple[str, Any], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise OptionTypeError(
            f"grammars={given!r:.80}", why=f"it is {kind_of(given)}", fix="give a dict: grammars={'call': {...}}"
        )
    for name in given:
        if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name, re.ASCII):
            raise OptionError(
                f"grammars={{{name!r:.80}: ...}}", why="it is no name for @name", fix="use letters and digits"
            )
    return tuple((name, frozen_spec(spec)) for name, spec in given.items())


def _check_words(dialect: Any, keywords: Any, imports: Any) -> None:
    if imports not in _IMPORTS:
        raise mistyped("imports", imports, _IMPORTS)
    if dialect not in _DIALECTS:
        raise mistyped("dialect", dialect, _DIALECTS)
    if keywords not in (None, "reserved"):
        raise OptionError(f"keywords={keywords!r:.80}", fix="choose 'reserved' or None")


def _instance(parser: Any, given: dict[str, Any], dialect: str, imports: str) -> LarkSource:
    """Return what a parser of lark was made of; no option may be given beside it."""
    others = {"dialect": None if dialect == "lark" else dialect, "imports": None if imports == "files" else imports}
    for name, value in {**given, **others}.items():
        if value is not None:
            raise OptionError(
                f"{name}={value!r:.80} beside a lark.Lark",
                why="it has its own options",
                fix=f"give {name}= to lark.Lark(...), or give its text here",
            )
    return source_of(parser)


def _text(grammar: Any, given: dict[str, Any]) -> LarkSource:
    """Return a text, or that of a file, with its options."""
    path = None
    if isinstance(grammar, os.PathLike):
        path = Path(grammar)
        try:
            grammar = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"cannot read {str(path)!r}: {error}", fix="give the path of a grammar") from error
    if not isinstance(grammar, str):
        raise OptionTypeError(
            f"the grammar of a Lark is {kind_of(grammar)}",
            why="a grammar is a str, a pathlib.Path, or a lark.Lark",
            fix="give one of these",
        )
    start, parser = given["start"] or "start", given["parser"] or "earley"
    if not isinstance(start, str):
        raise OptionTypeError(f"start={start!r:.80}", why=f"it is {kind_of(start)}", fix="give a name")
    if parser not in _LEXERS:
        raise mistyped("parser", parser, tuple(_LEXERS))
    lexers = _LEXERS[parser]
    lexer = lexers[0] if given["lexer"] is None else given["lexer"]
    if lexer not in lexers:
        raise OptionError(
            f"lexer={lexer!r:.80}",
            why=f"parser={parser!r} does not work with it",
            fix=f"choose one of {', '.join(map(repr, lexers))}",
        )
    return LarkSource(grammar, start, parser, lexer, None if path is None else str(path.resolve()))


def _bindings(bind: Any) -> tuple[tuple[str, Any], ...]:
    if bind is None:
        return ()
    if not isinstance(bind, Mapping):
        raise OptionTypeError(
            f"bind={bind!r:.80}", why=f"it is {kind_of(bind)}", fix="give a dict: bind={'NAME': Regex(...)}"
        )
    for name in bind:
        if not isinstance(name, str) or not name.isidentifier() or name != name.upper():
            raise OptionError(
                f"bind={{{name!r:.80}: ...}}", why="lark's terminals have names of capital letters", fix="use one"
            )
    return tuple((name, frozen_spec(spec)) for name, spec in bind.items())


def _definition(name: str, spec: Any) -> str:
    """Return a line by which lark reads a terminal as the spec bound to it."""
    from schemagen.regex.printing import to_python_re

    if isinstance(spec, Choice | tuple):
        texts = spec.options if isinstance(spec, Choice) else spec
        longest_first = sorted(texts, key=len, reverse=True)  # re takes the first that matches
        pattern = "|".join(map(_escaped, longest_first))
    else:
        try:
            pattern = to_python_re(regex_of(spec))
        except (LimitError, RecursionError) as error:
            raise _unreadable(name, "they cannot be written as one pattern", "lower its bounds") from error
    if re.fullmatch(pattern, ""):
        why = "the empty text is one of them, and lark has no empty terminals"
        raise _unreadable(name, why, f"leave it out, and write [{name}] in the grammar")
    written = pattern.replace("/", "\\/").replace("\n", "\\n")
    return f"%override {name}: /{written}/"


def _unreadable(name: str, why: str, fix: str) -> UnsupportedGrammarError:
    return UnsupportedGrammarError(f"lark cannot read the value bound to {name}", why=why, fix=fix)


def _escaped(text: str) -> str:
    return "".join("\\n" if character == "\n" else re.escape(character) for character in text)
