"""`Distribution`: the probabilities of the options of a type with few values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from schemagen.checks import as_text, check_number
from schemagen.errors import OptionError
from schemagen.notebook import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
#: Characters of the bar of an option that is certain.
_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Distribution(Generic[T]):
    """The probabilities of the options of a type, the likeliest first.

    Attributes:
        options: The values.
        probabilities: The probability of each by the model itself, given that the answer is one of them; they add up to 1.
            All texts and all tokens that write an option count.
        masked_probabilities: The probability that decoding under the mask writes each, at temperature 1: the mask gives the
            mass of forbidden tokens to the allowed ones at each token, and so may prefer another option
            (`schemagen.LanguageModel.sample` draws without that).
        mass: The probability that the model, without a constraint, writes one of the options here.
        error: No probability is further than this from its exact value; 0 if everything was read.
    """

    options: tuple[T, ...]
    probabilities: tuple[float, ...]
    masked_probabilities: tuple[float, ...]
    mass: float
    error: float = 0.0

    @property
    def value(self) -> T:
        """The likeliest option."""
        return self.options[0]

    @property
    def probability(self) -> float:
        """The probability of the likeliest option."""
        return self.probabilities[0]

    @property
    def margin(self) -> float:
        """How much likelier the likeliest option is than the second one."""
        return self.probabilities[0] - (self.probabilities[1] if len(self.probabilities) > 1 else 0.0)

    @property
    def entropy(self) -> float:
        """The entropy, in nats: 0 if one option is certain, the logarithm of their number if all are equally likely."""
        return -sum(chance * log(chance) for chance in self.probabilities if chance > 0)

    def __len__(self) -> int:
        """Return the number of options."""
        return len(self.options)

    def __iter__(self) -> Iterator[T]:
        """Iterate over the options, the likeliest first."""
        return iter(self.options)

    def __getitem__(self, option: T) -> float:
        """Return the probability of an option.

        Raises:
            OptionError: It is none of them.
        """
        for each, chance in zip(self.options, self.probabilities, strict=True):
            if each == option and type(each) is type(option):
                return chance
        raise OptionError(
            f"{as_text(option)} is no option",
            why=f"the options are {', '.join(map(as_text, self.options)):.200}",
            fix="give one of them",
        )

    def items(self) -> Iterator[tuple[T, float]]:
        """Iterate over the options with their probabilities."""
        return zip(self.options, self.probabilities, strict=True)

    def at_temperature(self, temperature: float) -> Distribution[T]:
        """Return the distribution with probabilities ``p ** (1 / temperature)``, scaled to add up to 1.

        Args:
            temperature: Above 1 less sure, below 1 surer; `schemagen.confidence.fit_temperature` fits one to examples.

        Raises:
            OptionError: It is not above 0.
        """
        check_number("temperature", temperature, above=0, fix="give a number above 0; 1 changes nothing")
        found = (_tempered(each, temperature) for each in (self.probabilities, self.masked_probabilities))
        probabilities, masked = found
        return replace(self, probabilities=probabilities, masked_probabilities=masked)

    def __str__(self) -> str:
        """Show a bar for each option."""
        names = [as_text(option) for option in self.options]
        width = max(map(len, names))
        rows = (
            f"{name:<{width}}  {chance:6.1%}  {'█' * round(chance * _WIDTH)}".rstrip()
            for name, chance in zip(names, self.probabilities, strict=True)
        )
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        """Show the options and both distributions as a table in a notebook."""
        rows = zip(self.options, self.probabilities, self.masked_probabilities, strict=True)
        shown = [(option, f"{chance:.1%}", f"{masked:.1%}") for option, chance, masked in rows]
        return html_table(shown, ("option", "probability", "under the mask"))


def _tempered(probabilities: tuple[float, ...], temperature: float) -> tuple[float, ...]:
    best = max(probabilities)
    powers = [exp(log(chance / best) / temperature) if chance > 0 else 0.0 for chance in probabilities]
    return tuple(power / sum(powers) for power in powers)


def distribution_of(
    options: dict[Any, tuple[float, float]], *, unread: float = 0.0, unread_masked: float = 0.0
) -> Distribution[Any]:
    """Return the distribution of options.

    Args:
        options: Option -> the probabilities of all its texts, by the model and under the mask.
        unread: The probability, by the model, of texts that were not read to their end.
        unread_masked: The same under the mask.
    """
    ordered = sorted(options.items(), key=lambda item: -item[1][0])
    mass, masked = (sum(pair[place] for _, pair in ordered) for place in (0, 1))
    if mass <= 0 < unread:  # the walk was cut before it reached an option
        equal = (1 / len(ordered),) * len(ordered)
        return Distribution(tuple(option for option, _ in ordered), equal, equal, 0.0, 1.0)
    if mass <= 0:
        raise OptionError(
            "the model gives no option any probability",
            why="all of them are below the smallest number",
            fix="write into the prompt which answers there are",
        )
    return Distribution(
        tuple(option for option, _ in ordered),
        tuple(pair[0] / mass for _, pair in ordered),
        tuple(pair[1] / masked if masked else 0.0 for _, pair in ordered),
        mass,
        max(unread / (mass + unread), unread_masked / (masked + unread_masked) if masked else 0.0),
    )
