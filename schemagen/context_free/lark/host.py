"""What the core asks while it reads a grammar of lark: imported texts, facts about patterns and names, errors.

Imports are looked for where lark does, and without lark: its own grammars are found beside it, and read as files.
"""

from __future__ import annotations

import difflib
import os
import pkgutil
import re
import sys
import unicodedata
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from schemagen.context_free.dialect.common import COMMON
from schemagen.context_free.lark.python_re import widths_of
from schemagen.context_free.scanner import check_length
from schemagen.errors import GrammarSyntaxError, LimitError, SchemagenError
from schemagen.errors.installing import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: A file, or the package and path of one in it, as `pkgutil.get_data` takes them.
Place = str | tuple[str, str]

_EXTENSION = ".lark"
#: Lark's own grammars.
_LIBRARY = "grammars"
#: Categories of the characters of a name, and of the digits that only stand after its first.
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Pc"})
_DIGITS = frozenset({"Nd", "Nl"})


class PackageImports(NamedTuple):
    """Where lark's `FromPackageLoader` finds grammars that are imported."""

    package: str
    folders: tuple[str, ...]


class Host:
    """What the core asks about one grammar.

    Args:
        path: The file of the grammar, from which relative imports are found; None for a text.
        folders: Where imports are looked for first: folders, packages, or functions, as ``import_paths`` of lark has them.
        library_only: Whether no grammar but those of lark's own library may be imported.
    """

    def __init__(self, path: Place | None, folders: Sequence[Any] = (), *, library_only: bool = False) -> None:
        self._places: list[Place | None] = [path]  # of the texts so far
        self._folders = folders
        self._library_only = library_only

    def text(self, path: Sequence[str], is_relative: bool, importer: int) -> tuple[str, str, str, str]:
        """Return the text of a grammar that is imported, then the mistake, why, and the way out, if there is none.

        Args:
            path: The names in its path.
            is_relative: Whether it is looked for beside the grammar that imports it.
            importer: The number of that grammar.

        Raises:
            LimitError: It is too long.
            SchemagenError: It may be in lark's library, and lark is not installed.
        """
        name = os.path.join(*path) + _EXTENSION  # noqa: PTH118 - the path may be of a package
        place = self._places[importer]
        folder = _folder_of(place) if is_relative else None
        has_lark = find_spec("lark") is not None
        is_foreign = is_relative or (has_lark and _library_text(name) is None)
        if self._library_only and is_foreign and not (importer and isinstance(place, tuple)):
            return (
                "",
                f"the grammar {'/'.join(path) + _EXTENSION!r:.80} is imported, which is not in lark's library",
                "with imports='library' no file is looked for",
                "write the rules into the grammar itself, or import from common",
            )
        try:
            found, text = next(self._found(name, folder))
        except UnicodeDecodeError as error:
            return "", f"the grammar {name!r} cannot be imported", str(error), "write it as UTF-8"
        except StopIteration:
            if folder is None and not has_lark:
                raise no_lark() from None
            return "", f"the grammar {name!r} cannot be imported", "there is no such file where lark looks", ""
        check_text(text)
        self._places.append(found)
        return text, "", "", ""

    def _found(self, name: str, folder: Place | None) -> Iterator[tuple[Place, str]]:
        """Yield the grammars of a name, in the order in which lark looks for them."""
        for each in () if self._library_only else (*self._folders, *(() if folder is None else (folder,))):
            with suppress(OSError):
                yield _read(each, folder, name)
        if folder is None and (text := _library_text(name)) is not None:
            yield ("lark", f"{_LIBRARY}/{name}"), text

    @staticmethod
    def width(pattern: str) -> tuple[int, int, str]:
        """Return the least and most characters that a pattern matches, and an error if it is none."""
        try:
            return *widths_of(pattern), ""
        except re.error as error:
            return 0, 0, str(error)

    @staticmethod
    def name_of(literal: str) -> str:
        """Return a literal in capital letters if that is a name, else nothing."""
        categories = [unicodedata.category(character) for character in literal]
        is_name = categories[0] in _LETTERS and _LETTERS.union(_DIGITS).issuperset(categories)
        return literal.upper() if is_name else ""

    @staticmethod
    def fix_of_missing(name: str, is_terminal: bool, defined: Sequence[str]) -> str:
        """Return the ways to define a rule or terminal that is missing."""
        alike = [each for each in defined if each.isupper() == name.isupper()]
        if close := difflib.get_close_matches(name, alike, 1):
            return f"did you mean {close[0]!r}?"
        written = f"define it: {name}: {'/.../' if is_terminal else '...'}"
        return f"{written}, or import it: %import common.{name}" if name in COMMON else written

    @staticmethod
    def error(is_limit: bool, fact: str, line: int | None, column: int | None, why: str, fix: str) -> SchemagenError:
        """Return an error of the core as one of ours."""
        if not is_limit:
            return GrammarSyntaxError(fact, line=line, column=column, why=why, fix=fix)
        return LimitError(fact, at="" if line is None else f"line {line}, column {column}", why=why, fix=fix)


def _read(source: Any, folder: Place | None, name: str) -> tuple[Place, str]:
    """Return where a grammar is found in one of the places in which it is looked for, and its text.

    Raises:
        OSError: It is not there.
    """
    if isinstance(source, PackageImports):
        if folder is None:
            return _first_of_package(source.package, source.folders, name)
        if not isinstance(folder, tuple) or folder[0] != source.package:
            raise FileNotFoundError(name)
        return _first_of_package(folder[0], folder[1:], name)
    if callable(source):
        return cast("tuple[Place, str]", source(folder, name))
    if isinstance(source, tuple):
        return _first_of_package(source[0], (source[1],), name)
    path = os.path.join(source, name)  # noqa: PTH118 - as lark does it
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return path, file.read()


def _first_of_package(package: str, folders: Sequence[str], name: str) -> tuple[Place, str]:
    for folder in folders:
        path = os.path.join(folder, name)  # noqa: PTH118 - of a package
        with suppress(OSError):
            return (package, path), (pkgutil.get_data(package, path) or b"").decode()
    raise FileNotFoundError(name)


def _folder_of(place: Place | None) -> Place:
    """Return the folder of a grammar; that of the script that runs, for a text."""
    if isinstance(place, tuple):
        return place[0], os.path.split(place[1])[0]
    if place is None:
        script = getattr(sys.modules["__main__"], "__file__", None)
        return os.path.split(os.path.abspath(script))[0] if script else os.path.abspath(os.curdir)  # noqa: PTH100
    return os.path.split(place)[0]


def _library_text(name: str) -> str | None:
    """Return one of lark's own grammars; None if there is none of the name, or no lark."""
    spec: Any = find_spec("lark")
    if spec is None:
        return None
    try:
        data: bytes = spec.loader.get_data(os.path.join(os.path.split(spec.origin)[0], _LIBRARY, name))  # noqa: PTH118
    except OSError:
        return None
    return data.decode()


def no_lark() -> SchemagenError:
    """Return the error that lark is not installed."""
    return SchemagenError(
        "lark is not installed",
        why="trees, LALR, the lexer 'basic' and lark's library need it",
        fix=install_command("lark"),
        code="no-lark",
    )


def check_text(text: str) -> None:
    """Refuse what cannot be the text of a grammar.

    Raises:
        GrammarSyntaxError: It has half of a surrogate pair.
        LimitError: It is too long.
    """
    check_length(text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        before = text[: error.start]
        raise GrammarSyntaxError(
            "half of a surrogate pair is not a character",
            line=before.count("\n") + 1,
            column=error.start - before.rfind("\n"),
            fix="write the character itself",
        ) from None
