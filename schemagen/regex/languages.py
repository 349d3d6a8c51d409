"""The language of a parsed pattern: the algebraic translation first, the automaton where that does not apply."""

from __future__ import annotations

from schemagen.regex.assertions import NotAlgebraicError, Translator, join, top_level_look_behinds
from schemagen.regex.ast import ANY_STRING, EPSILON, Regex, union
from schemagen.regex.automaton import pattern_language
from schemagen.regex.edges import absorb_right
from schemagen.regex.syntax import PLAIN, Choice, Syntax, sequence


def denote(syntax: Syntax, *, search: bool) -> Regex:
    """Return the language of the texts in which a pattern matches: somewhere (``search``), or as a whole.

    Raises:
        UnsupportedPatternError: A look-behind whose inside looks at the text after it.
        LimitError: The assertions of the pattern multiply beyond the limits.
    """
    if isinstance(syntax, PLAIN):
        return join(ANY_STRING, absorb_right(syntax)) if search else syntax
    alternatives = syntax.parts if isinstance(syntax, Choice) else (syntax,)
    whole = [sequence((ANY_STRING, part)) if search else part for part in alternatives]
    end = ANY_STRING if search else EPSILON
    return union(*(_denote_one(part, end) for part in whole))


def _denote_one(syntax: Syntax, end: Regex) -> Regex:
    """Return the language of one top-level alternative followed by ``end``."""
    try:
        translator = Translator(syntax)
        return translator.translate(top_level_look_behinds(syntax), translator.same(end))[0]
    except NotAlgebraicError:
        return pattern_language(syntax, end)
