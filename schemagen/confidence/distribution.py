"""`Distribution`: the probabilities of the options of a type with few values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, isinf, log, pow  # noqa: A004 - that of float, which overflows with an error
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from schemagen.checks import as_text, check_number
from schemagen.errors import OptionError
from schemagen.notebook import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        return self.probabilities[self.rank(option)]

    def rank(self, option: Any) -> int:
        """Return the rank of an option, 0 for the likeliest. True is not 1.

        Raises:
            OptionError: It is none of them.
        """
        for rank, each in enumerate(self.options):
            if each == option and type(each) is type(option):
                return rank
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
        if temperature == 1:
            return self
        laws = (self.probabilities, self.masked_probabilities)
        probabilities, masked = (_tempered(law, temperature) for law in laws)
        error = max(_tempered_error(law, self.error, temperature) for law in laws) if self.error else 0.0
        return replace(self, probabilities=probabilities, masked_probabilities=masked, error=error)

    def __str__(self) -> str:
        """Show a bar for each option."""
        names = [as_text(option) for option in self.options]
        width = max(map(len, names))
        rows = zip(names, self.probabilities, strict=True)
        return "\n".join(f"{name:<{width}}  {chance:6.1%}  {_bar(chance)}".rstrip() for name, chance in rows)

    def _repr_html_(self) -> str:
        """Show the options and both distributions as a table in a notebook, with a bar for each option."""
        rows = zip(self.options, self.probabilities, self.masked_probabilities, strict=True)
        shown = [(option, f"{chance:.1%}", _bar(chance), f"{masked:.1%}") for option, chance, masked in rows]
        return html_table(shown, ("option", "probability", "", "under the mask"))


def _bar(chance: float) -> str:
    return "█" * round(chance * _WIDTH)


def _tempered(probabilities: tuple[float, ...], temperature: float) -> tuple[float, ...]:
    best = max(probabilities)
    powers = [exp(log(chance / best) / temperature) if chance > 0 else 0.0 for chance in probabilities]
    return tuple(power / sum(powers) for power in powers)


def _tempered_error(probabilities: tuple[float, ...], error: float, temperature: float) -> float:
    """Return how far probabilities at a temperature may be from their exact values.

    Before they are scaled, each exact probability is between the one that is known and that with all of the rest added, so the
    exact share of an option is between those where it has none of the rest and the others all of it, and the other way round.
    """
    best = max(probabilities)
    rest = error / (1 - error) if error < 1 else inf
    try:
        low, high = ([pow((p + more) / best, 1 / temperature) for p in probabilities] for more in (0.0, rest))
    except OverflowError:
        return 1.0
    known, most = sum(low), sum(high)
    if isinf(most):
        return 1.0
    return max(
        max(above / (known - below + above) - below / known, below / known - below / (most - above + below))
        for below, above in zip(low, high, strict=True)
    )


def distribution_of(
    options: dict[Any, tuple[float, float]], *, unread: float = 0.0, unread_masked: float = 0.0
) -> Distribution[Any]:
    """Return the distribution of options.

    Args:
        options: Option -> the probabilities of all its texts, by the model and under the mask.
        unread: The probability, by the model, of texts that were not read to their end.
        unread_masked: The same under the mask.

    Raises:
        OptionError: There is no option, or the model gives none of them any probability.
    """
    if not options:
        raise OptionError(
            "there is no option", why="validators refuse all values of the type", fix="allow some of them"
        )
    ordered = sorted(options.items(), key=lambda item: -item[1][0])
    mass, masked = (sum(pair[place] for _, pair in ordered) for place in (0, 1))
    if mass <= 0 and unread <= 0:
        raise OptionError(
            "the model gives no option any probability",
            why="all of them are below the smallest number",
            fix="write into the prompt which answers there are",
        )
    return Distribution(
        tuple(option for option, _ in ordered),
        _shares([pair[0] for _, pair in ordered], mass),
        _shares([pair[1] for _, pair in ordered], masked),
        mass,
        max(_unknown(unread, mass), _unknown(unread_masked, masked)),
    )


def _shares(chances: Sequence[float], total: float) -> tuple[float, ...]:
    """Return probabilities that add up to 1: equal ones if the walk was cut before it reached an option."""
    return tuple(chance / total if total > 0 else 1 / len(chances) for chance in chances)


def _unknown(unread: float, total: float) -> float:
    """Return how far probabilities may be from their exact values if some paths were not read."""
    return unread / (total + unread) if total > 0 else 1.0
