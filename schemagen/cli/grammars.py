"""`schemagen grammar check`: the facts about a grammar, its likely mistakes, and some of its texts."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import typer

import schemagen
from schemagen.cli.console import busy, show_facts
from schemagen.cli.specs import GRAMMARS, read_text
from schemagen.context_free.simplify import called, components, productive
from schemagen.context_free.syntax import tokens_in
from schemagen.errors import ValidationFailed
from schemagen.grammar.lark_spec import Lark
from schemagen.testing import mask_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from schemagen import Grammar
    from schemagen.context_free.syntax import ContextFreeGrammar, Token
    from schemagen.grammar.context_free_specs import GrammarText

#: Maximum number of names, and of texts, to show.
_SHOWN_NAMES = 8
_SHOWN_TEXTS = 5
#: Number of random texts among which the shortest are shown, and their length in bytes.
_WALKS = 12
_LONGEST = 40


def check_one(path: Path, options: dict[str, Any]) -> bool:
    """Print facts about a grammar; return whether lark parses its texts, if it is one of lark.

    Raises:
        GrammarError: It cannot be read; ``line`` and ``column`` say where.
    """
    spec = _spec_of(path, {name: value for name, value in options.items() if value is not None})
    with busy("reading the grammar"):
        grammar = spec.rules()
        texts = examples_of(spec, tokens_in(grammar))
    refused = [text for text in texts if not _is_parsed(spec, text)]
    facts = [("file", str(path)), ("notation", _notation(spec)), *facts_of(grammar)]
    facts += [("" if at else "texts", json.dumps(text, ensure_ascii=False)) for at, text in enumerate(texts)]
    if isinstance(spec, Lark):
        parsed = f"{len(texts) - len(refused)} of {len(texts)} texts"
        facts.append(("lark parses", parsed if not refused else f"{parsed}, not {json.dumps(refused[0])}"))
    show_facts(facts)
    return not refused


def _spec_of(path: Path, options: dict[str, Any]) -> GrammarText:
    reader: Any = GRAMMARS.get(path.suffix)
    if reader is None:
        raise typer.BadParameter(f"{str(path)!r} is not a grammar file: {', '.join(sorted(GRAMMARS))}")
    if not path.is_file():
        raise typer.BadParameter(f"{str(path)!r} is {'not a file' if path.exists() else 'not there'}")
    if options and reader is not Lark:
        raise typer.BadParameter(f"--{next(iter(options))} is for grammars of lark")
    text = read_text(path)  # refuses binary files
    made: GrammarText = Lark(path, **options) if reader is Lark else reader(text)
    return made


def _notation(spec: GrammarText) -> str:
    if isinstance(spec, Lark):
        return f"lark, parser {spec.parser}, lexer {spec.lexer}"
    return f"{type(spec).__name__}, read character by character"


def facts_of(grammar: ContextFreeGrammar) -> list[tuple[str, str]]:
    """Return the rules and terminals of a grammar, and its likely mistakes."""
    groups = list(components(grammar.rules))
    # lark adds rules for repetitions, with names that grammars cannot have
    recursive = [
        name
        for group in groups
        for name in sorted(group)
        if (len(group) > 1 or name in called(grammar.rules[name])) and not name.startswith("__")
    ]
    written = [name for name in grammar.rules if not name.startswith("__")]
    facts = [
        ("start", grammar.start),
        ("rules", str(len(written))),
        ("recursive", _listed(recursive) if recursive else "no"),
    ]
    terminals = set(grammar.terminals)
    if grammar.tables is not None:
        terminals = {terminal.name for row in grammar.tables.expected for terminal, _ in row}
    if terminals:
        ignored = f", ignored: {_listed(sorted(grammar.ignored))}" if grammar.ignored else ""
        facts.append(("terminals", f"{len(terminals)}{ignored}"))
    named = tokens_in(grammar)
    if named:
        facts.append(("tokens", _listed(map(str, named))))
    return [*facts, ("problems", "; ".join(_problems(grammar, written)) or "none")]


def _problems(grammar: ContextFreeGrammar, written: list[str]) -> list[str]:
    """Return the parts that are allowed but are likely mistakes."""
    found, todo = {grammar.start}, [grammar.start]
    while todo:
        new = called(grammar.rules[todo.pop()]) - found
        found |= new
        todo.extend(new)
    alive = productive(grammar.rules)
    unused = [name for name in written if name not in found]
    empty = [name for name in written if name not in alive]
    problems = [f"no text can be derived from {_listed(empty)}"] if empty else []
    return problems + ([f"{grammar.start} does not need {_listed(unused)}"] if unused else [])


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    rest = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + rest


def examples_of(spec: Any, tokens: Iterable[Token] = ()) -> list[str]:
    """Return the shortest text of a grammar, and the shortest of some random ones.

    Ids depend on the vocabulary, so a grammar that names tokens by ids has no examples.
    """
    wanted = {each for token in tokens for each in token.wanted}
    names = sorted(each for each in wanted if isinstance(each, str))
    if len(names) < len(wanted):
        return []
    grammar = schemagen.compile(spec, _vocabulary_with(names))
    least = grammar.min_new_tokens or 0
    needs_tokens = bool(names) or grammar.counts_tokens
    first = _random_text(grammar, random.Random(0), least) if needs_tokens else grammar.matcher().shortest_completion()  # noqa: S311 - an example
    most = max(_LONGEST, least)
    walks = (_random_text(grammar, random.Random(seed), most) for seed in range(_WALKS))  # noqa: S311 - examples, no secrets
    texts = dict.fromkeys(text for text in (first, *walks) if text is not None)
    return [text.decode() for text in sorted(texts, key=len)[:_SHOWN_TEXTS]]


def _vocabulary_with(names: list[str]) -> schemagen.Vocabulary:
    bytes_alone = schemagen.Vocabulary.byte_vocabulary()
    ids = range(bytes_alone.size, bytes_alone.size + len(names))
    return schemagen.Vocabulary.from_tokens(
        [*bytes_alone.tokens, *[None] * len(names)],
        eos_token_ids=bytes_alone.eos_token_ids,
        special_token_ids=ids,
        token_names=dict(zip(ids, names, strict=True)),
    )


def _random_text(grammar: Grammar, choose: random.Random, most: int) -> bytes | None:
    """Return a random text of at most this many tokens, readable if possible; None if it does not end by then."""
    matcher, vocabulary = grammar.matcher(), grammar.vocabulary
    text = b""
    for left in range(most, 0, -1):
        allowed = sorted(mask_of(matcher, vocabulary, budget=left))
        named = [token_id for token_id in allowed if token_id in vocabulary.token_names]
        readable = [token_id for token_id in allowed if token_id < ord("\x7f") and chr(token_id).isprintable()]
        token_id = choose.choice([*readable, *named] or allowed)
        if token_id in vocabulary.eos_token_ids or (matcher.is_accepting() and choose.random() < 1 / 4):
            return text
        matcher.accept_token(token_id)
        text += vocabulary.tokens[token_id] or vocabulary.token_names[token_id].encode()
    return text if matcher.is_accepting() else None


def _is_parsed(spec: GrammarText, text: str) -> bool:
    if not isinstance(spec, Lark):
        return True
    try:
        spec.parse(text)
    except ValidationFailed:
        return False
    return True
