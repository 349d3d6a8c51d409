"""Lark itself: parsers made of a grammar text and options, the sources of a parser, and lark's errors as ours.

A parser of lark holds functions and automata that cannot be compared or pickled. Its sources can be: its text, and
those of its options that differ from their defaults (`LarkSource`). From these the same parser is made again.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from schemagen.context_free.dialect.nodes import COMMON
from schemagen.context_free.lark.work import check_text, check_work
from schemagen.context_free.scanner import check_length
from schemagen.errors import (
    GrammarError,
    GrammarSyntaxError,
    LimitError,
    OptionError,
    SchemagenError,
    UnsupportedGrammarError,
)
from schemagen.errors.installing import install_command
from schemagen.threads.clock import polled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from lark import Lark

#: Options of lark that change neither texts nor trees.
_INDIFFERENT = {"cache", "cache_grammar", "debug", "_plugins"}
#: Those that `LarkSource` has by name.
_NAMED = {"start", "parser", "lexer", "source_path"}
_PLACE = re.compile(r",? at line (?P<line>\d+),? column (?P<column>\d+)(?: in [^\n]*?)?:?\s*(?:\n|$)")
_MISSING = re.compile(r"(?:Rule|Terminal|Template) '(?P<name>\w+)' used but not defined")
_START = re.compile(r"Using an undefined rule: NonTerminal\('(?P<name>.*)'\)")
#: A definition as other notations have it.
_EQUALS = re.compile(r"[ \t]*[?!]{0,2}(?P<name>\w+)(?:\.-?[0-9]+)?[ \t]*(?P<sign>::=|:=|=)")
_COLLISION = re.compile(r"(?:Reduce/Reduce|Shift/Reduce) collision")
#: The assertion of lark where the only grammar of a name lies in the working directory, in which it does not look.
_ELSEWHERE = re.compile(r"Couldn't import grammar \(.*\), but")
_TOKEN = re.compile(r"Token\('\w+', '(\w+)'\)")
_INVALID_TEXT = "it is not a grammar in lark's language"


class Indents(NamedTuple):
    """The settings of an `Indenter` of lark."""

    newline: str
    opening: tuple[str, ...]
    closing: tuple[str, ...]
    indent: str
    dedent: str
    tab: int


#: The same settings by lark's names.
_INDENTER = ("NL_type", "OPEN_PAREN_types", "CLOSE_PAREN_types", "INDENT_type", "DEDENT_type", "tab_len")


class PackageImports(NamedTuple):
    """Where lark's `FromPackageLoader` finds grammars that are imported."""

    package: str
    folders: tuple[str, ...]


@dataclass(frozen=True)
class LarkSource:
    """The sources of a parser of lark.

    Attributes:
        text: The grammar.
        start: The start rule.
        parser: "earley" or "lalr".
        lexer: The lexer, by lark's name.
        path: The file of the grammar, from which relative imports are found; for one in a package its name, too.
        options: Lark's other options that were given.
        imports: "files" or "library": whether grammars are imported from files too, or from lark's own library alone.
    """

    text: str
    start: str
    parser: str
    lexer: str
    path: str | tuple[str, str] | None = None
    options: tuple[tuple[str, Any], ...] = ()
    imports: Literal["files", "library"] = "files"

    def parser_of(self, definitions: str = "", *, parses: bool = True, **options: Any) -> Lark:
        r"""Return the parser.

        Args:
            definitions: More lines of the grammar.
            parses: Whether it is to parse texts. If not, and only its rules and terminals are needed (Earley with
                a dynamic lexer), it has no ``parser``: making that takes lark 40 % of the time.
            options: Options of lark that count before those of the source.

        Raises:
            GrammarError: Lark does not take the grammar; ``line`` and ``column`` say where, as far as lark does.
            LimitError: It is too long, or nested too deep.
            SchemagenError: Lark is not installed.

        Cost: lark's, about 1 ms for a line; for LALR more than linear in the rules.
        """
        check_length(self.text)
        check_text(self.text)
        lark, reader = imported_lark(), imported_lark("lark.load_grammar")
        path: Any = reader.PackageResource(*self.path) if isinstance(self.path, tuple) else self.path
        given = {name: _theirs(value) for name, value in self.options}
        given.update(start=self.start, parser=self.parser, lexer=self.lexer, source_path=path)
        text = f"{self.text}\n{definitions}" if definitions else self.text
        keep = given.get("keep_all_tokens", False)
        parses = parses or self.parser != "earley" or not self.lexer.startswith("dynamic")
        try:
            builder = (reader.GrammarBuilder if self.imports == "files" else _library_builder())(
                keep, given.get("import_paths", [])
            )
            builder.load_grammar(text, path or "<string>")
            grammar = builder.build()
            check_work(grammar, lalr=self.parser == "lalr")
            if parses:
                given["_plugins"] = _watched()
            made: Lark = (lark.Lark if parses else _without_parser())(grammar, **{**given, **options})
            made.source_grammar = text
        except SchemagenError:
            raise
        except RecursionError:
            raise LimitError(
                "the grammar is nested deeper than lark can read it", fix="use rules for parts of it"
            ) from None
        except Exception as error:  # lark also raises errors of its own bugs, such as an IndexError for `x: x`
            raise translated(error, self.text) from error
        return made


@lru_cache(maxsize=1)
def _library_builder() -> type[Any]:
    """Return a class of builders that import from lark's own library alone, and never look for a file."""
    reader = imported_lark("lark.load_grammar")

    class LibraryBuilder(reader.GrammarBuilder):  # type: ignore[misc, name-defined]
        def do_import(self, dotted_path: Any, base_path: Any, aliases: Any, base_mangle: Any = None) -> None:
            if base_path is not None or not _is_in_library(dotted_path):
                raise GrammarSyntaxError(
                    f"the grammar {'/'.join(dotted_path) + '.lark'!r:.80} is imported, which is not in lark's library",
                    why="with imports='library' no file is looked for",
                    fix="write the rules into the grammar itself, or import from common",
                )
            super().do_import(dotted_path, base_path, aliases, base_mangle)

    return LibraryBuilder


def _is_in_library(dotted_path: Sequence[str]) -> bool:
    try:
        imported_lark("lark.load_grammar").stdlib_loader(None, "/".join(dotted_path) + ".lark")
    except OSError:
        return False
    return True


@lru_cache(maxsize=1)
def _watched() -> dict[str, type[Any]]:
    """Return the parts of lark that may take minutes over a short grammar, changed so that they stop in time."""
    lexers, parsers = imported_lark("lark.lexer"), imported_lark("lark.parsers.lalr_parser")
    parts = (parsers.LALR_Parser, lexers.BasicLexer, lexers.ContextualLexer)
    return {part.__name__: _watched_part(part) for part in parts}


def _watched_part(base: Any) -> type[Any]:
    class Watched(base):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            with polled():
                super().__init__(*arguments, **options)

    return Watched


@lru_cache(maxsize=1)
def _without_parser() -> type[Lark]:
    """Return a class of parsers that know their rules and terminals, and refuse what lark's own do, but cannot parse."""
    lark = imported_lark()

    class WithoutParser(lark.Lark):  # type: ignore[misc, name-defined]
        def _build_parser(self) -> None:
            for start in self.options.start:
                if not any(rule.origin.name == start for rule in self.rules):
                    raise lark.GrammarError(f"Using an undefined rule: NonTerminal({str(start)!r})")
            for terminal in self.terminals:
                _check_terminal(terminal, self.options.g_regex_flags)

    return WithoutParser


def _check_terminal(terminal: Any, flags: int) -> None:
    """Refuse a terminal that lark's dynamic lexer refuses."""
    error = imported_lark().GrammarError
    pattern = terminal.pattern.to_regexp()
    try:
        width = terminal.pattern.min_width
    except ValueError:
        raise error(f"Bad regexp in token {terminal.name}: {pattern}") from None
    if width == 0:
        raise error("Dynamic Earley doesn't allow zero-width regexps", terminal)
    if "(?<" in pattern or flags:  # these only show when a pattern is compiled
        re.compile(pattern, flags)


def imported_lark(name: str = "lark") -> ModuleType:
    """Return a module of lark.

    Raises:
        SchemagenError: Lark is not installed.
    """
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise SchemagenError(
            "lark is not installed",
            why="it reads the grammars of schemagen.Lark",
            fix=install_command("lark"),
            code="no-lark",
        ) from error


def is_lark(value: Any) -> bool:
    """Whether something is a parser of lark; lark is not imported for it."""
    return any(base.__name__ == "Lark" and base.__module__ == "lark.lark" for base in type(value).__mro__)


# --- the sources of a parser ---------------------------------------------------------------------------------------------


def source_of(parser: Lark) -> LarkSource:
    """Return the sources of a parser.

    Raises:
        OptionError: It does not know its text, or has several starts.
        UnsupportedGrammarError: Its options make it something that no automaton reads.
    """
    text = getattr(parser, "source_grammar", None)
    if text is None:
        raise OptionError(
            f"{parser!r:.80} does not know its text",
            why="it was loaded, or made of a Grammar",
            fix="give a lark.Lark that was made of a text or file",
        )
    options: dict[str, Any] = parser.options.options
    if len(options["start"]) != 1:
        raise OptionError(
            f"the parser starts from {', '.join(options['start'])}",
            why="the texts of one rule are meant",
            fix="give a lark.Lark with one start",
        )
    _refuse_options(options)
    return LarkSource(
        text,
        options["start"][0],
        options["parser"],
        options["lexer"],
        _path_of(options["source_path"] or parser.source_path),
        tuple((name, _ours(name, value)) for name, value in sorted(options.items()) if _says_something(name, value)),
    )


def _refuse_options(options: dict[str, Any]) -> None:
    """Refuse what changes the language in a way that is known to lark alone."""
    refused = {
        f"parser={options['parser']!r}": options["parser"] not in ("earley", "lalr"),
        f"lexer={options['lexer']!r:.80}": not isinstance(options["lexer"], str),
        "lexer_callbacks": bool(options["lexer_callbacks"]),
        "regex=True": options["regex"],
        "use_bytes": options["use_bytes"],
    }
    for name, is_refused in refused.items():
        if is_refused:
            raise UnsupportedGrammarError(
                f"the parser has the option {name}",
                why="its texts are known to lark alone: functions of yours, and other patterns than those of re, read them",
                fix="leave the option out of the parser that is given here; Earley and LALR read texts of characters",
            )


def _path_of(path: Any) -> str | tuple[str, str] | None:
    if path in (None, "<string>"):
        return None
    return (path[0], path[1]) if isinstance(path, tuple) else str(path)


def _says_something(name: str, value: Any) -> bool:
    defaults: dict[str, Any] = imported_lark("lark.lark").LarkOptions({}).options
    resolved = {"ambiguity": "resolve", "priority": "normal"}
    return name not in _INDIFFERENT | _NAMED and value not in (defaults[name], resolved.get(name, defaults[name]))


def _ours(name: str, value: Any) -> Any:
    """Return an option as something that can be compared and pickled, where it is of lark itself."""
    if name == "postlex":
        return indents_of(value)
    if name != "import_paths":
        return value
    loader = imported_lark("lark.load_grammar").FromPackageLoader
    return tuple(
        PackageImports(each.pkg_name, tuple(each.search_paths)) if isinstance(each, loader) else each for each in value
    )


def _theirs(value: Any) -> Any:
    if isinstance(value, Indents):
        return _indenter(value)
    if isinstance(value, tuple):
        loader = imported_lark("lark.load_grammar").FromPackageLoader
        return [loader(*each) if isinstance(each, PackageImports) else each for each in value]
    return value


def has_conflicts(parser: Lark) -> bool:
    """Whether the LALR tables of a parser had conflicts that lark resolved, or may have had: rules have priorities."""
    conf: Any = parser.parser.parser_conf
    if any(rule.options.priority for rule in conf.rules):
        return True
    try:
        imported_lark("lark.parsers.lalr_analysis").LALR_Analyzer(conf, strict=True).compute_lalr()
    except imported_lark().GrammarError:
        return True
    return False


def indents_of(indenter: Any) -> Indents:
    """Return the settings of an `Indenter` of lark.

    Raises:
        UnsupportedGrammarError: It is something else, or does more than an `Indenter` does.
    """
    base = imported_lark("lark.indenter").Indenter
    own = type(indenter)
    if not isinstance(indenter, base) or any(
        getattr(own, name) is not getattr(base, name) for name in ("process", "handle_NL", "_process", "always_accept")
    ):
        raise UnsupportedGrammarError(
            f"postlex={indenter!r:.80}",
            why="its effect on the tokens cannot be compiled",
            fix="use an Indenter of lark as it is, or write the grammar without postlex",
        )
    settings = (getattr(indenter, name) for name in _INDENTER)
    return Indents._make(tuple(each) if isinstance(each, list | tuple) else each for each in settings)


def _indenter(indents: Indents) -> Any:
    values = (list(each) if isinstance(each, tuple) else each for each in indents)
    return type("Indents", (imported_lark("lark.indenter").Indenter,), dict(zip(_INDENTER, values, strict=True)))()


# --- errors ----------------------------------------------------------------------------------------------------------------


def translated(error: Exception, text: str) -> GrammarError:
    """Return an error that lark raised for a grammar as one of ours."""
    said = str(error.args[0]) if error.args and isinstance(error.args[0], str) else str(error)
    missing, start = _MISSING.search(said), _START.search(said)
    if start is not None:
        return GrammarSyntaxError(
            f"the rule {start['name']!r} is not defined", why="the texts of this rule are meant", fix="give start="
        )
    if missing is not None:
        line, column = place_of(missing["name"], text)
        kind = "terminal" if missing["name"].isupper() else "rule"
        fix = _definition_of(missing["name"], kind, text)
        return GrammarSyntaxError(f"the {kind} {missing['name']!r} is not defined", line=line, column=column, fix=fix)
    if _COLLISION.search(said):
        return UnsupportedGrammarError(
            f"LALR cannot read the grammar: {_on_one_line(said)}",
            why="after some texts the next terminal does not decide between two rules",
            fix="use parser='earley', or write the grammar without this conflict",
        )
    elsewhere = _ELSEWHERE.search(said)
    if isinstance(error, FileNotFoundError) or elsewhere is not None:
        tokens = _TOKEN.findall(elsewhere[0]) if elsewhere is not None else []
        name = error.filename if isinstance(error, FileNotFoundError) else "/".join(tokens) + ".lark"
        return GrammarSyntaxError(
            f"the grammar {name!r} cannot be imported", why="there is no such file where lark looks"
        )
    place = _PLACE.search(said)
    line = int(place["line"]) if place else None
    column = int(place["column"]) if place else None
    fact = said[: place.start()] if place else _on_one_line(said)
    if not fact or isinstance(error, (AssertionError, LookupError, AttributeError, TypeError)):
        fact = f"lark fails over it {': ' if fact else ''}{fact}"
    fix = _colon_for_equals(text, line, column)
    return GrammarSyntaxError(f"{fact[:1].lower()}{fact[1:]}", line=line, column=column, why=_INVALID_TEXT, fix=fix)


def _definition_of(name: str, kind: str, text: str) -> str:
    """Return the ways to define a missing rule or terminal."""
    defined = re.findall(r"^[ \t]*[?!]{0,2}(\w+)", text, re.MULTILINE)
    if close := difflib.get_close_matches(name, [each for each in defined if each.isupper() == name.isupper()], 1):
        return f"did you mean {close[0]!r}?"
    written = f"define it: {name}: {'/.../' if kind == 'terminal' else '...'}"
    return f"{written}, or import it: %import common.{name}" if name in COMMON else written


def _colon_for_equals(text: str, line: int | None, column: int | None) -> str:
    """Return the way out of ``name = ...`` or ``name ::= ...`` where lark stops at the sign; none elsewhere."""
    lines = text.splitlines()
    if line is None or column is None or not 0 < line <= len(lines):
        return ""
    found = _EQUALS.match(lines[line - 1])
    if found is None or not found.start("sign") < column <= found.end("sign") + 1:
        return ""
    return f"write ':' instead of {found['sign']!r}: {found['name']}: ..."


def _on_one_line(said: str) -> str:
    said = " ".join(said.split())
    return said if len(said) <= 300 else f"{said[:300]}..."


def place_of(name: str, text: str) -> tuple[int | None, int | None]:
    """Return the line and column where a name is first used in a grammar, outside of comments and strings."""
    comments = r"//[^\n]*|#[^\n]*"
    strings = r'"(?:\\.|[^"\\\n])*"i?|/(?![/*])(?:\\.|[^/\\\n])+/[imslux]*'
    for found in re.finditer(rf"{strings}|{comments}|(?<!\w)(?P<name>{re.escape(name)})(?!\w)", text):
        if found["name"]:
            before = text[: found.start()]
            return before.count("\n") + 1, found.start() - before.rfind("\n")
    return None, None
