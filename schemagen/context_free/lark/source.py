"""The sources of a grammar of lark, its rules as the core reads them, and the parsers that lark makes of it.

A parser of lark holds functions and automata that cannot be compared or pickled. Its sources can be: its text, and
those of its options that differ from their defaults (`LarkSource`). From these the same parser is made again. Lark itself
is only needed for that: the core reads the text without it, and always before lark does, so that lark gets no
text that is wrong or would keep it busy.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from schemagen import _core
from schemagen.context_free.lark.host import Host, PackageImports, check_text, no_lark
from schemagen.errors import (
    GrammarError,
    GrammarSyntaxError,
    LimitError,
    OptionError,
    SchemagenError,
    UnsupportedGrammarError,
)
from schemagen.threads.clock import polled

if TYPE_CHECKING:
    from types import ModuleType

    from lark import Lark

#: Options of lark that change neither texts nor trees.
_INDIFFERENT = {"cache", "cache_grammar", "debug", "_plugins"}
#: Those that `LarkSource` has by name.
_NAMED = {"start", "parser", "lexer", "source_path"}
_COLLISION = re.compile(r"(?:Reduce/Reduce|Shift/Reduce) collision")
#: What the core is told about lark: whether it reads the text, too, and makes tables.
_NOT_AT_ALL, _READS, _MAKES_TABLES = range(3)


class LarkRules(NamedTuple):
    """A grammar of lark as plain rules over terminals.

    Attributes:
        start: The start rule.
        lexer: The lexer, by lark's name.
        text: The grammar.
        terminals: Name, pattern for `re`, and whether it is a literal, in lark's order.
        used: The terminals that rules name.
        rules: The rules, whose terminals are not told how to be read.
        ignored: The terminals that are ignored.
        declared: The terminals that are declared and have no texts.
    """

    start: str
    lexer: str
    text: str
    terminals: list[tuple[str, str, bool]]
    used: list[str]
    rules: _core.Rules
    ignored: list[str]
    declared: list[str]

    @property
    def written(self) -> dict[str, str]:
        """The patterns of terminals."""
        return {name: pattern for name, pattern, _ in self.terminals}


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

    @property
    def needs_lark(self) -> bool:
        """Whether the texts are those of a parser of lark, its tables, lexers or options, and not of the rules alone."""
        return self.parser != "earley" or not self.lexer.startswith("dynamic") or bool(self.options)

    def rules(self) -> LarkRules:
        """Return the rules, which are those that lark reads.

        Raises:
            GrammarSyntaxError: It is no grammar of lark; ``line`` and ``column`` say where.
            LimitError: It is too long, nested too deep, or grows too far when it is written out.
            SchemagenError: It imports from lark's library, and lark is not installed.

        Cost: 5 us for a line, and 30 us for each pattern that is new to the process, which `re` reads for its widths.
        """
        return self._read(self.text, _NOT_AT_ALL)

    def _read(self, text: str, lark: int) -> LarkRules:
        check_text(text)
        options = dict(self.options)
        host = Host(self.path, options.get("import_paths", ()), library_only=self.imports == "library")
        indents = options.get("postlex")
        kept = [] if indents is None else [indents.newline]
        keeps_all, takes_longest = options.get("keep_all_tokens", False), self.lexer == "dynamic"
        found = _core.rules_of_lark(text, self.start, host, keeps_all, kept, lark, takes_longest)
        return LarkRules(self.start, self.lexer, text, *found)

    def parser_of(self, definitions: str = "") -> Lark:
        r"""Return the parser that lark makes.

        Args:
            definitions: More lines of the grammar.

        Raises:
            GrammarError: Lark does not take the grammar.
            LimitError: It is too long, nested too deep, or lark would take long over it.
            SchemagenError: Lark is not installed.

        Cost: lark's, about 1 ms for a line; for LALR more than linear in the rules.
        """
        lark = imported_lark()
        text = f"{self.text}\n{definitions}" if definitions else self.text
        self._read(text, _MAKES_TABLES if self.parser == "lalr" else _READS)
        path = (
            imported_lark("lark.load_grammar").PackageResource(*self.path)
            if isinstance(self.path, tuple)
            else self.path
        )
        given = {name: _theirs(value) for name, value in self.options}
        given.update(start=self.start, parser=self.parser, lexer=self.lexer, source_path=path, _plugins=_watched())
        try:
            made: Lark = lark.Lark(text, **given)
        except SchemagenError:
            raise
        except RecursionError:
            raise LimitError(
                "the grammar is nested deeper than lark can read it", fix="use rules for parts of it"
            ) from None
        except Exception as error:  # lark also raises errors of its own bugs, such as an IndexError for `x: x`
            raise translated(error) from error
        return made


@lru_cache(maxsize=1)
def _watched() -> dict[str, type[Any]]:
    """Return the parts of lark that may take minutes over a short grammar, changed so that they stop in time."""
    lexers, parsers = imported_lark("lark.lexer"), imported_lark("lark.parsers.lalr_parser")
    parts = (parsers.LALR_Parser, lexers.BasicLexer, lexers.ContextualLexer)
    return {part.__name__: _watched_part(part) for part in parts}


def _watched_part(base: Any) -> type[Any]:
    class Watched(base):  # type: ignore[misc]
        def __init__(self, conf: Any, *arguments: Any, **options: Any) -> None:
            if hasattr(conf, "skip_validation") and not conf.strict:  # the core has read the terminals before
                conf = copy(conf)
                conf.skip_validation = True
            with polled():
                super().__init__(conf, *arguments, **options)

    return Watched


def imported_lark(name: str = "lark") -> ModuleType:
    """Return a module of lark.

    Raises:
        SchemagenError: Lark is not installed.
    """
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise no_lark() from error


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


def translated(error: Exception) -> GrammarError:
    """Return what lark raised for a grammar that has been read without an error: of its tables, lexers and options."""
    said = " ".join((str(error.args[0]) if error.args else "").split()) or type(error).__name__
    said = said if len(said) <= 300 else f"{said[:300]}..."
    if _COLLISION.search(said):
        return UnsupportedGrammarError(
            f"LALR cannot read the grammar: {said}",
            why="after some texts the next terminal does not decide between two rules",
            fix="use parser='earley', or write the grammar without this conflict",
        )
    return GrammarSyntaxError(
        f"lark fails over it: {said}", why="its text is right", fix="use the default parser, or look at lark's issues"
    )


def place_of(name: str, text: str) -> tuple[int | None, int | None]:
    """Return the line and column where a name is first used in a grammar, outside of comments and strings."""
    comments = r"//[^\n]*|#[^\n]*"
    strings = r'"(?:\\.|[^"\\\n])*"i?|/(?![/*])(?:\\.|[^/\\\n])+/[imslux]*'
    for found in re.finditer(rf"{strings}|{comments}|(?<!\w)(?P<name>{re.escape(name)})(?!\w)", text):
        if found["name"]:
            before = text[: found.start()]
            return before.count("\n") + 1, found.start() - before.rfind("\n")
    return None, None
