"""`schemagen demo`: nine sentences, seven types, one small model, no network.

Each prompt is generated twice by the same model from the same rendered prompt: with the constraint, and without it.
Nothing in the output is canned. The first six sentences are of the kind that the model was
trained on, and it writes an instance of the type by itself. The last three are chosen because it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date  # noqa: TC003 - pydantic reads the annotation when the class is made
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field, ValidationError
from rich.panel import Panel
from rich.pretty import Pretty
from rich.table import Table
from rich.text import Text

import schemagen
from schemagen.cli.console import busy, cost_of, error_panel, output
from schemagen.errors import SchemagenError

if TYPE_CHECKING:
    from schemagen import Generation, LanguageModel


class Person(BaseModel):
    """A flat object."""

    name: str
    age: int
    city: str


class Item(BaseModel):
    """One line of an order."""

    product: str
    quantity: int


class Order(BaseModel):
    """An object with a list of objects."""

    customer: str
    items: list[Item]
    paid: bool


class Ticket(BaseModel):
    """Classification: every field is a choice."""

    category: Literal["billing", "bug", "feature"]
    priority: Literal["low", "high"]


class Contact(BaseModel):
    """Fields that may be null."""

    name: str
    email: str | None
    phone: str | None


class Booking(BaseModel):
    """Bounded numbers and a date."""

    guest: str
    guests: Annotated[int, Field(ge=1, le=8)]
    check_in: date
    nights: Annotated[int, Field(ge=1, le=30)]
    price: float


class Review(BaseModel):
    """A choice and a bounded number."""

    sentiment: Literal["positive", "negative"]
    stars: Annotated[int, Field(ge=1, le=5)]


class Event(BaseModel):
    """A date that has to exist."""

    title: str
    date: date


@dataclass(frozen=True, slots=True)
class Case:
    """One prompt of the demo and the type that it becomes."""

    target: type[BaseModel]
    prompt: str


CASES = (
    Case(Person, "Ada Lovelace, 36, London"),
    Case(Order, "Maria Silva ordered 2 lamps and 3 chairs, already paid."),
    Case(Ticket, "The app crashes when I click save, please fix it urgently!"),
    Case(Contact, "Reach Tom Baker at tom@example.org."),
    Case(Booking, "Book a room for Lena Fischer, 2 guests, from 3 May 2024 for 4 nights at 129.50 per night."),
    Case(Review, "Terrible phone, one star."),
)

#: Chosen, out of about twenty candidates, because the model alone does not write an instance.
CHOSEN = (
    Case(Event, "Concert on 31 February 2024"),
    Case(Review, "Great phone, 9 stars."),
    Case(Ticket, "How are you?"),
)


def run_demo() -> bool:
    """Run every case and print it; return whether each gave an instance."""
    with busy("loading the bundled model"):
        lm = schemagen.load_bundled()
    results = [run_case(lm, number, case) for number, case in enumerate(CASES, start=1)]
    output().print(Text(CHOSEN_ON_PURPOSE, style="bold"))
    results += [run_case(lm, number, case) for number, case in enumerate(CHOSEN, start=1 + len(CASES))]
    done = [result for result in results if result is not None]
    tokens = sum(result.generation.new_tokens for result in done)
    seconds = sum(result.generation.seconds for result in done)
    alone = sum(result.would_do_alone for result in done)
    output().print(
        Text(
            f"{len(done)} of {len(results)} are validated instances; {tokens} tokens in {seconds:.2f} s.", style="bold"
        ),
        Text(f"Without the constraint, {alone} of {len(results)} are.", style="bold"),
        sep="\n",
    )
    return len(done) == len(results)


CHOSEN_ON_PURPOSE = (
    "\nThree more sentences, chosen because the model alone does not write an instance here. The constraint makes sure of the "
    "form. If the sentence does not state a value, the model still guesses it.\n"
)


class Result(NamedTuple):
    """The result of a case.

    Attributes:
        generation: The generation with the constraint.
        would_do_alone: Whether the text without it is an instance, too.
    """

    generation: Generation[BaseModel]
    would_do_alone: bool


def run_case(lm: LanguageModel, number: int, case: Case) -> Result | None:
    """Generate and print one case; return its result, or None if there was an error."""
    title = Text(f" {number}. {case.target.__name__} ", style="bold")
    try:
        with busy(f"{case.target.__name__}: generating with the constraint, then without"):
            generation = lm.run(case.prompt, case.target)
            free_text = lm.generate_text(case.prompt, case.target)
    except SchemagenError as error:
        output().print(error_panel(error))
        return None
    complaint = complaint_about(case.target, free_text)
    rows = Table.grid(padding=(0, 1))
    rows.add_row(Text("prompt", style="dim"), Text(case.prompt))
    rows.add_row(Text("instance", style="green"), Pretty(generation.value))
    rows.add_row(Text("unconstrained", style="yellow"), verdict(free_text, complaint))
    rows.add_row(Text("cost", style="dim"), Text(cost_of(generation), style="dim"))
    output().print(Panel(rows, title=title, title_align="left"))
    return Result(generation, would_do_alone=complaint is None)


def complaint_about(target: type[BaseModel], text: str) -> str | None:
    """Return why a text is not an instance of the type; None if it is one."""
    try:
        target.model_validate_json(text)
    except ValidationError as error:
        return error.errors()[0]["msg"]
    return None


def verdict(text: str, complaint: str | None) -> Text:
    """Return the text without the constraint, and whether it is an instance of the type."""
    if complaint is None:
        return Text.assemble(text.strip(), ("\nalso an instance, this time", "dim"))
    return Text.assemble(text.strip() or "(nothing)", (f"\nnot an instance: {complaint}", "red"))
