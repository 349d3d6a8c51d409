"""`Settings`: the model of a request and the options of the call, read once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from typing_extensions import Self

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.grammar.grammar import Grammar
    from schemagen.options import Tokenization
    from schemagen.options.speculation import Speculation
    from schemagen.prompts.reasoning_grammar import ReasoningFormat
    from schemagen.types.checks import Checker
    from schemagen.vocabulary import Vocabulary
    from schemagen.vocabulary.canonical import CanonicalTokens
    from schemagen.writers import TextFormat


class ModelAccess(ABC):
    """The interface of a `LanguageModel` for requests, which its mixins share.

    Attributes:
        model: A model with the ``generate`` of transformers.
        tokenizer: Its tokenizer.
        speculation: The source of draft tokens, which let the model read several tokens at a time.
    """

    model: Any
    tokenizer: Any
    speculation: Speculation

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token."""

    @abstractmethod
    def compile(
        self,
        spec: Any,
        *,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        as_: TextFormat = "json",
        strict: bool = True,
    ) -> Grammar:
        """Return the grammar of a type, schema, `Regex` or `Choice` over this vocabulary."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that all attempts, rows and turns of a call share.

    Attributes:
        lm: The model.
        generate_kwargs: Options for ``model.generate``, checked.
        thinker: How the model thinks before it answers; None if it does not.
        retries: How often to ask again when a validator refuses an answer.
        seed: The seed of sampling; None if nothing need be reproducible.
        tries: How many values of a field validators may refuse while the text is written.
        checker: May refuse each token of an answer; None for none.
        canonical: The tokens that may spell an answer; None for any.
        confidence: Whether to record how sure the model is.
    """

    lm: ModelAccess
    generate_kwargs: Mapping[str, Any]
    thinker: ReasoningFormat | None = None
    retries: int = 0
    seed: int | None = None
    tries: int = 1
    checker: Checker | None = None
    canonical: CanonicalTokens | None = None
    confidence: bool = False

    @classmethod
    def of(
        cls,
        lm: ModelAccess,
        options: Mapping[str, Any],
        known: Collection[str],
        *,
        beside: Collection[str] = (),
        streamed: bool = False,
    ) -> Self:
        """Read the options of a call.

        Args:
            lm: The model.
            options: ``reasoning``, ``draft``, those of the settings, and those of ``model.generate``.
            known: Names that the method takes, besides those of transformers.
            beside: Other parameters of the method, which the user may have misspelt.
            streamed: Whether the answer is streamed, which rules out some options.

        Raises:
            OptionError: A name is unknown, a value is invalid, the model cannot be asked to think, or the tokenizer cannot say
                which tokens are canonical.
        """
        from schemagen.decode.options import check_names, check_options, check_streamed

        if streamed:
            check_streamed(options)
        check_names(options, lm.model, known, beside=beside)
        checked = check_options(options, lm.tokenizer)
        names = ("retries", "seed", "tries", "checker", "confidence")
        own = {name: checked.pop(name) for name in names if name in checked}
        own["canonical"] = canonical_tokens(lm, checked.pop("tokenization", "any"))
        wish = checked.get("prefer_length")
        thinker = reasoning_format(lm, checked.pop("reasoning", False), checked.pop("draft", False), prefer_length=wish)
        if streamed and thinker is not None and thinker.best_of > 1:
            raise OptionError(
                f"best_of={thinker.best_of} in a stream",
                why="which draft is the best is known at the end alone",
                fix="leave it out, or do not stream",
            )
        return cls(lm, checked, thinker, **own)


def canonical_tokens(lm: ModelAccess, tokenization: Tokenization) -> CanonicalTokens | None:
    """Return which tokens may spell an answer; None for any.

    Raises:
        OptionError: The tokenizer cannot say which of them it writes.
    """
    if tokenization == "any":
        return None
    from schemagen.vocabulary.canonical import CanonicalTokens

    return CanonicalTokens(lm.tokenizer, lm.vocabulary)


def reasoning_format(
    lm: ModelAccess, reasoning: Any, draft: Any = False, *, prefer_length: int | None = None
) -> ReasoningFormat | None:
    """Return how a model is to think, or to write a draft, before it answers; None if it does neither.

    Raises:
        OptionError: An option is invalid, both are given, one is beside a wished length, or the model's chat template
            supports no thoughts.
    """
    if not reasoning and not draft:
        return None
    if prefer_length is not None:
        raise OptionError(
            f"prefer_length={prefer_length} beside {'draft' if draft else 'reasoning'}=",
            why="it counts the tokens of the whole text, so a long draft would shorten the answer",
            fix="leave it out, and bound the draft or the thoughts with a number of tokens",
        )
    if reasoning and draft:
        raise OptionError(
            "reasoning= beside draft=",
            why="a draft is the thinking of a model that has no format for thoughts, and thoughts where it has one",
            fix="leave one of them out",
        )
    from schemagen.prompts.drafting import draft_format
    from schemagen.prompts.reasoning_grammar import ReasoningFormat

    if draft:
        return draft_format(draft, lm.tokenizer, lm.vocabulary)
    return ReasoningFormat.of(reasoning, lm.tokenizer, lm.vocabulary)


def token_ids_of(lm: ModelAccess, text: str, *, templated: bool) -> tuple[int, ...]:
    """Return the tokens of a prompt as the model reads it; a chat template has written its special tokens already."""
    from schemagen.decode.budget import context_of

    # For a prompt that is too long our error says more than the tokenizer's own warning.
    context, longest = context_of(lm.model), getattr(lm.tokenizer, "model_max_length", 0)
    quiet = {} if context is None or longest < context else {"verbose": False}
    return tuple(lm.tokenizer(text, add_special_tokens=not templated, **quiet)["input_ids"])
