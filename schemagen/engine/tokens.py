"""Which tokens of a vocabulary a grammar names, and which are the members of a run of tokens."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from schemagen.context_free.syntax import TokenRun, alternatives, substituted, tokens_in
from schemagen.errors import UnsupportedGrammarError
from schemagen.regex import ast
from schemagen.regex.ast import normalise_ranges
from schemagen.regex.wildcards import LINE_ENDS
from schemagen.vocabulary.marks import is_marked

if TYPE_CHECKING:
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression, Token
    from schemagen.vocabulary import Vocabulary

#: Names of tokens in an error.
_SHOWN = 8

#: Of so many tokens at most the texts are spelled.
_MOST_SPELLED = 1_000


def marked_for(grammar: ContextFreeGrammar, vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary that a grammar is compiled over: with marks for the tokens that it names, if it names any.

    Args:
        grammar: Its rules.
        vocabulary: Of the model.

    Raises:
        UnsupportedGrammarError: The vocabulary does not have one of them, or it is an ordinary token of text.
    """
    named = {token_id for token in tokens_in(grammar) for token_id in ids_of(token, vocabulary)}
    if not named:
        return vocabulary
    return vocabulary.marked(frozenset(token_id for token_id in named if vocabulary.tokens[token_id]))


def has_inner_ends(grammar: ContextFreeGrammar, vocabulary: Vocabulary) -> bool:
    """Whether a grammar names an EOS token of a vocabulary, which then may stand inside a text."""
    ends = {*vocabulary.eos_token_ids}
    return any(not ends.isdisjoint(any_ids_of(token, vocabulary)) for token in tokens_in(grammar))


def with_text_tokens(grammar: ContextFreeGrammar, vocabulary: Vocabulary) -> ContextFreeGrammar:
    """Return a grammar that counts the ordinary tokens of text which it names by their ids, if it names any.

    Args:
        grammar: Its rules.
        vocabulary: Of the model, which tells ordinary tokens from special and added ones.

    Raises:
        UnsupportedGrammarError: An id is outside the vocabulary.
    """
    known: dict[Expression, Expression] = {}
    for token in tokens_in(grammar):
        text = _text_ids(token, vocabulary) if token.may_be_text else []
        if not text:
            continue
        run = TokenRun(1, 1, only=replace(token, wanted=normalise_ranges((each, each) for each in text)))
        others = replace(token, wanted=_without(token.wanted, text))
        known[token] = alternatives(others, run) if others.wanted else run
    if not known:
        return grammar
    rules, marked = (
        {name: substituted(body, known) for name, body in bodies.items()} for bodies in (grammar.rules, grammar.marked)
    )
    return replace(grammar, rules=rules, marked=marked)


def _text_ids(token: Token, vocabulary: Vocabulary) -> list[int]:
    """Return the ids of ordinary tokens that a token of a grammar names by id."""
    found: set[int] = set()
    for wanted in token.wanted:
        if not isinstance(wanted, str):
            _check_size(token, wanted[1], vocabulary)
            found.update(range(wanted[0], wanted[1] + 1))
    marked = {*vocabulary.token_names, *vocabulary.special_token_ids, *vocabulary.eos_token_ids}
    return sorted(each for each in found - marked if vocabulary.tokens[each])


def _without(wanted: tuple[str | tuple[int, int], ...], ids: list[int]) -> tuple[str | tuple[int, int], ...]:
    """Return names, and ids except some."""
    names = [each for each in wanted if isinstance(each, str)]
    ranges = (range(each[0], each[1] + 1) for each in wanted if not isinstance(each, str))
    left = set(chain.from_iterable(ranges)).difference(ids)
    return (*names, *normalise_ranges((each, each) for each in left))


def ids_of(token: Token, vocabulary: Vocabulary) -> list[int]:
    """Return the ids that a token of a grammar stands for, ascending.

    Raises:
        UnsupportedGrammarError: As `marked_for`.
    """
    found: set[int] = set()
    for wanted in token.wanted:
        if isinstance(wanted, str):
            found.update(_named(token, wanted, vocabulary))
        else:
            found.update(_within(token, *wanted, vocabulary))
    return sorted(found)


def any_ids_of(token: Token, vocabulary: Vocabulary) -> list[int]:
    """Return the ids that a token of a grammar stands for, ordinary tokens of text among them, ascending.

    Raises:
        UnsupportedGrammarError: The vocabulary does not have one.
    """
    found: set[int] = set()
    for wanted in token.wanted:
        if isinstance(wanted, str):
            written = {each for each, data in enumerate(vocabulary.tokens) if data == wanted.encode()}
            found.update(written or _named(token, wanted, vocabulary))
        else:
            _check_size(token, wanted[1], vocabulary)
            found.update(range(wanted[0], wanted[1] + 1))
    return sorted(found)


def members_of(run: TokenRun, vocabulary: Vocabulary) -> list[int]:
    """Return the ids of the tokens that a run may consist of, ascending.

    Raises:
        UnsupportedGrammarError: The vocabulary does not have a token that it names, or that is a part of a character.
    """
    left_out = {token_id for token in run.but for token_id in any_ids_of(token, vocabulary)}
    found = [each for each in _text_tokens(vocabulary, run.has_lines, run.within is None) if each not in left_out]
    if run.only is None:
        return found
    wanted = any_ids_of(run.only, vocabulary)
    for token_id in sorted(set(wanted).difference(found)):
        raise unsupported(
            run.only,
            f"the token id {token_id} is a part of a character: {vocabulary.tokens[token_id]!r}",
            why="tokens are counted as text of whole characters",
            fix="write the character as a literal",
        )
    return wanted


def texts_of(run: TokenRun, vocabulary: Vocabulary) -> ast.Regex:
    """Return texts among which are all of a run: as few more as is cheap, for the search for its shortest one.

    Args:
        run: Some tokens.
        vocabulary: Of the model.

    Raises:
        UnsupportedGrammarError: As `members_of`.
    """
    every = ast.ANY_STRING if run.within is None else run.within
    if run.only is not None and run.within is None:
        members = members_of(run, vocabulary)
        if len(members) <= _MOST_SPELLED:
            spelled = ast.union(*(ast.literal(vocabulary.tokens[each].decode()) for each in members))
            return ast.repeat(spelled, run.low, None)
    left_out = {vocabulary.tokens[each] for token in run.but for each in any_ids_of(token, vocabulary)}
    characters = {each for each in left_out if len(each) == 1 and each.isascii()}  # others may have several spellings
    if characters:
        characters -= {vocabulary.tokens[each] for each in members_of(run, vocabulary)}
    spelled = ast.union(*(ast.literal(each.decode()) for each in sorted(characters)))
    return ast.conjunction(every, ast.complement(spelled))


@lru_cache(maxsize=8)
def _text_tokens(vocabulary: Vocabulary, has_lines: bool, are_whole: bool) -> tuple[int, ...]:
    """Return the tokens of text: with or without those that have line breaks, of whole characters or not."""
    ends = set(LINE_ENDS)
    found = []
    for token_id, token in enumerate(vocabulary.tokens):
        if not token or is_marked(token) or token_id in vocabulary.eos_token_ids:
            continue
        try:
            text = token.decode(errors="strict" if are_whole else "replace")
        except UnicodeDecodeError:
            continue
        if has_lines or ends.isdisjoint(text):
            found.append(token_id)
    return tuple(found)


def _named(token: Token, name: str, vocabulary: Vocabulary) -> list[int]:
    ids = [token_id for token_id, known in vocabulary.token_names.items() if known == name]
    if ids:
        return ids
    known = vocabulary.token_names.values()
    close = difflib.get_close_matches(name, known, 3)
    shown = ", ".join(list(known)[:_SHOWN])
    why = f"Vocabulary.token_names has {shown}{', ...' if len(known) > _SHOWN else ''}" if shown else "it names none"
    fix = "name one of those" if shown else "give it token_names, by Vocabulary.from_tokenizer or from_tokens"
    fix = f"did you mean {' or '.join(close)}?" if close else f"{fix}; or write the text as a literal"
    raise unsupported(token, f"the vocabulary has no special or added token {name}", why, fix)


def _within(token: Token, first: int, last: int, vocabulary: Vocabulary) -> list[int]:
    _check_size(token, last, vocabulary)
    ids = range(first, last + 1)
    for token_id in ids:
        if token_id not in vocabulary.token_names and token_id not in vocabulary.special_token_ids:
            text = vocabulary.tokens[token_id]
            what = f"an ordinary token, with the text {text!r:.40}" if text else "no token of the tokenizer"
            raise unsupported(
                token,
                f"the token id {token_id} is {what}",
                "text is read as characters, whichever tokens it is written with",
                "give ids of special or added tokens; write text as a literal",
            )
    return list(ids)


def _check_size(token: Token, last: int, vocabulary: Vocabulary) -> None:
    if last >= vocabulary.size:
        fact = f"the token id {last} is outside the vocabulary of {vocabulary.size} ids"
        raise unsupported(token, fact, "the model has no logit for it", "correct the id")


def unsupported(token: Token, fact: str, why: str, fix: str) -> UnsupportedGrammarError:
    """Return the error of a token that a grammar names, with where it stands."""
    return UnsupportedGrammarError(fact, line=token.line, column=token.column, at=token.place, why=why, fix=fix)
