"""The terminals of Lark grammars as regular languages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

from schemagen.context_free.dialect import nodes
from schemagen.context_free.dialect.nodes import is_terminal_name
from schemagen.context_free.regular import MAX_HEIGHT, MAX_SIZE, size_of
from schemagen.context_free.simplify import MAX_WRITTEN_OUT
from schemagen.errors import InvalidPatternError, LimitError, UnsupportedPatternError
from schemagen.regex import ast, parse_rust
from schemagen.regex.dialects import parse_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.checks import PatternDialect
    from schemagen.context_free.scanner import Scanner

_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~\-\s]")
#: By dialect: llguidance has patterns of Rust, xgrammar those of ECMA-262.
_FLAGS: dict[PatternDialect, str] = {"rust": "imsxu", "ecma-262": "imsu"}
#: The pieces of a pattern that matter here: an escape, a class, a lazy repetition.
_PIECES = re.compile(r"\\b|\\B|\\.|\[\^?\]?(?:\\.|\[:[^\]]*:\]|[^\]\\])*\]|(?:[*+?]|\{[0-9, ]*\})\?|.", re.DOTALL)
_ECMA_PIECES = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[=!]|.", re.DOTALL)


class Terminals:
    """The languages of the terminals of one grammar.

    Args:
        scanner: The text, for errors.
        grammar: The grammar.
        patterns: The dialect of patterns, "rust" or "ecma-262". Lazy repetitions of the latter are read like greedy ones: for a
            lexer that takes any text of a pattern they are the same.
    """

    def __init__(self, scanner: Scanner, grammar: nodes.Grammar, patterns: PatternDialect) -> None:
        self._scanner = scanner
        self._grammar = grammar
        self._patterns: PatternDialect = patterns
        self._known: dict[str, ast.Regex] = {}
        self._literals: dict[str, ast.Regex] = {}  # one object each, so that its hash is computed once
        self._written = 0

    def resolve(self) -> None:
        """Work out all terminals, those before the ones that they are used in.

        Raises:
            GrammarError: One of them cannot be read, or calls itself.
            LimitError: One of them is too large.
        """
        open_terminals: dict[str, None] = {}
        for root in self._grammar.terminals:
            todo = [root]
            while todo:
                name = todo[-1]
                definition = self._grammar.terminals[name]
                used = (each for each in names(definition.body) if each.name in self._grammar.terminals)
                missing = [each for each in used if each.name not in self._known]
                if name in self._known or not missing:
                    todo.pop()
                    open_terminals.pop(name, None)
                    if name not in self._known:
                        self._known[name] = self._checked(name, definition.body, definition.at)
                    continue
                open_terminals[name] = None
                for each in missing:
                    if each.name in open_terminals:
                        raise self._scanner.error(
                            f"the terminal {each.name!r} calls itself",
                            each.at,
                            why="a terminal is a regular expression",
                            fix="make it a rule, with a small letter",
                        )
                todo.append(missing[0].name)

    def _checked(self, name: str, body: nodes.Node, at: int) -> ast.Regex:
        regex = self.language(body)
        size, height = size_of(regex)
        self._written += size
        if size > MAX_SIZE or height > MAX_HEIGHT or self._written > MAX_WRITTEN_OUT:
            raise self._scanner.limit(
                f"the terminal {name!r} takes {size:,} operators, {height} deep, and all up to it {self._written:,}; the "
                f"limits are {MAX_SIZE:,}, {MAX_HEIGHT} and {MAX_WRITTEN_OUT:,}",
                at,
                why="terminals are written out where they are used",
                fix="make it smaller, or a rule",
            )
        return regex

    def language(self, node: nodes.Node) -> ast.Regex:
        """Return the language of an expression over terminals.

        Raises:
            GrammarError: It has something that no terminal can have.
        """
        if isinstance(node, nodes.Name):
            return self._called(node)
        if isinstance(node, nodes.Literal):
            return self._literal(node)
        if isinstance(node, nodes.Range):
            return ast.chars((ord(node.low), ord(node.high)))
        if isinstance(node, nodes.Pattern):
            return self._pattern(node)
        if isinstance(node, nodes.Substring):
            if all(len(chunk) == 1 for chunk in node.chunks):
                return ast.optional(ast.substring("".join(node.chunks)))
            return runs(node.chunks)
        if isinstance(node, nodes.Negation):
            return ast.complement(self.language(node.part))
        if isinstance(node, nodes.Repetition):
            return ast.repeat(self.language(node.part), node.low, node.high)
        if isinstance(node, nodes.Series | nodes.Choice | nodes.Conjunction):
            return self._joined(node)
        kinds = {nodes.Json: "%json", nodes.Embedded: "%lark", nodes.Reference: "@name", nodes.Token: "a token"}
        what = kinds[type(node)]
        raise self._scanner.error(
            f"{what} in a terminal, or in a rule that is one",
            node.at,
            why="a terminal is a regular expression",
            fix="use it in a rule without attributes",
        )

    def _joined(self, node: nodes.Series | nodes.Choice | nodes.Conjunction) -> ast.Regex:
        if isinstance(node, nodes.Series) and node.condition is not None:
            raise self._scanner.error(
                "a condition in a terminal, or in a rule that is one",
                node.condition.at,
                why="a terminal is a regular expression, whatever the parameter",
                fix="leave %if out, or make it a rule without attributes",
            )
        join = {nodes.Series: ast.concat, nodes.Choice: ast.union, nodes.Conjunction: ast.conjunction}[type(node)]
        return join(*map(self.language, node.parts))

    def _called(self, node: nodes.Name) -> ast.Regex:
        if is_terminal_name(node.name):
            return self._known[node.name]
        if node.name in self._grammar.imported:
            return self.language(self._grammar.rules[node.name].body)
        raise self._scanner.error(
            f"the rule {node.name!r} in a terminal, or in a rule that is one",
            node.at,
            why="a terminal is a regular expression",
            fix="use terminals only, whose names are in capitals",
        )

    def _literal(self, node: nodes.Literal) -> ast.Regex:
        if not node.ignore_case:
            if node.text not in self._literals:
                self._literals[node.text] = ast.literal(node.text)
            return self._literals[node.text]
        escaped = _SPECIAL.sub(lambda found: f"\\x{{{ord(found[0]):x}}}", node.text)
        return parse_rust(f"(?i){escaped}", search=False) if node.text else ast.EPSILON

    def _pattern(self, node: nodes.Pattern) -> ast.Regex:
        unknown = sorted(set(node.flags) - set(_FLAGS[self._patterns]))
        if unknown:
            known = ", ".join(_FLAGS[self._patterns])
            raise self._scanner.error(f"the flag {unknown[0]!r} of a pattern", node.at, fix=f"use some of {known}")
        self._check_pieces(node)
        flags = f"(?{''.join(sorted(set(node.flags)))})" if node.flags and self._patterns == "rust" else ""
        try:
            return parse_rust(flags + node.regex, search=False) if self._patterns == "rust" else _ecma(node)
        except InvalidPatternError as error:
            at = node.at + 1 + max(0, (error.position or 0) - len(flags))
            raise self._scanner.error(f"a pattern that cannot be read: {error.fact}", at, fix=error.fix) from error
        except UnsupportedPatternError as error:
            at = node.at + 1 + max(0, (error.position or 0) - len(flags))
            raise self._scanner.unsupported(f"a pattern: {error.fact}", at, why=error.why, fix=error.fix) from error
        except LimitError as error:
            raise self._scanner.limit(f"a pattern: {error.fact}", node.at, why=error.why, fix=error.fix) from error

    def _check_pieces(self, node: nodes.Pattern) -> None:
        """Refuse assertions about the text around the terminal, and pieces that would be read against their meaning."""
        is_rust = self._patterns == "rust"
        for piece in (_PIECES if is_rust else _ECMA_PIECES).finditer(node.regex):
            if piece[0] in (r"\b", r"\B"):
                self._unsupported(node, piece, "a word boundary", "it depends on the text around the terminal")
            if piece[0].startswith("(?"):
                self._unsupported(node, piece, "a look-around", "it depends on the text around the terminal")
            if is_rust and piece[0].endswith("?") and len(piece[0]) > 1 and piece[0][0] in "*+?{":
                why = "a terminal takes the longest match, whatever its repetitions say"
                self._unsupported(node, piece, "a lazy repetition", why)

    def _unsupported(self, node: nodes.Pattern, piece: re.Match[str], what: str, why: str) -> NoReturn:
        fix = "write the terminal without it; a rule with [lazy] takes the shortest match"
        raise self._scanner.unsupported(f"{what} {piece[0]!r}", node.at + 1 + piece.start(), why=why, fix=fix)


def _ecma(node: nodes.Pattern) -> ast.Regex:
    """Return the language of a pattern of xgrammar, where a dot is any character but a line feed."""
    whole = parse_pattern(node.regex, "ecma-262", search=False)  # by itself: a bracket too many must not close ours
    flags = "".join(sorted(set(node.flags) - {"u"}))
    dot = "." if "s" in flags else r"[^\n]"
    body = "".join(dot if piece == "." else piece for piece in _ECMA_PIECES.findall(node.regex))
    return parse_pattern(f"(?{flags}:{body})", "ecma-262", search=False) if flags or body != node.regex else whole


def names(node: nodes.Node) -> Iterator[nodes.Name]:
    """Yield the names in an expression, but those of grammars within it."""
    if isinstance(node, nodes.Name):
        yield node
    elif isinstance(node, nodes.Series | nodes.Choice | nodes.Conjunction):
        for part in node.parts:
            yield from names(part)
    elif isinstance(node, nodes.Negation | nodes.Repetition):
        yield from names(node.part)


@lru_cache(maxsize=64)
def runs(chunks: tuple[str, ...]) -> ast.Regex:
    """Return the language of all runs of some chunks, the empty one too: those of either half, and those over the middle."""
    if len(chunks) <= 1:
        return ast.optional(ast.literal("".join(chunks)))
    left, right = chunks[: len(chunks) // 2], chunks[len(chunks) // 2 :]
    return ast.union(runs(left), runs(right), ast.concat(_tails(left), _heads(right)))


@lru_cache(maxsize=4096)
def _heads(chunks: tuple[str, ...]) -> ast.Regex:
    """Return the runs from the first chunk on."""
    if len(chunks) <= 1:
        return ast.optional(ast.literal("".join(chunks)))
    left, right = chunks[: len(chunks) // 2], chunks[len(chunks) // 2 :]
    return ast.union(_heads(left), ast.concat(ast.literal("".join(left)), _heads(right)))


@lru_cache(maxsize=4096)
def _tails(chunks: tuple[str, ...]) -> ast.Regex:
    """Return the runs up to the last chunk."""
    if len(chunks) <= 1:
        return ast.optional(ast.literal("".join(chunks)))
    left, right = chunks[: len(chunks) // 2], chunks[len(chunks) // 2 :]
    return ast.union(_tails(right), ast.concat(_tails(left), ast.literal("".join(right))))
