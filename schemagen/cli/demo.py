"""`schemagen demo`: six sentences, six types, one small model, no network.

Each prompt is generated twice by the same model from the same rendered prompt: with the constraint, and without it.
What is printed is what happened; nothing here is canned.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date  # noqa: TC003 - pydantic reads the annotation when the class is made
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from rich.panel import Panel
from rich.pretty import Pretty
from rich.table import Table
from rich.text import Text

import schemagen
from schemagen.cli.console import busy, cost_of, error_panel, output
from schemagen.errors import SchemagenError

if TYPE_CHECKING:
    from schemagen import LanguageModel


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


def run_demo() -> bool:
    """Run every case and print it; return whether each gave an instance."""
    with busy("loading the bundled model"):
        lm = schemagen.load_bundled()
    results = [run_case(lm, number, case) for number, case in enumerate(CASES, start=1)]
    done = [generation for generation in results if generation is not None]
    tokens = sum(generation.new_tokens for generation in done)
    seconds = sum(generation.seconds for generation in done)
    output().print(
        Text(f"{len(done)} of {len(CASES)} are validated instances; {tokens} tokens in {seconds:.2f} s.", style="bold")
    )
    return len(done) == len(CASES)


def run_case(lm: LanguageModel, number: int, case: Case) -> Any:
    """Generate and print one case; return its `Generation`, or None if there is none."""
    title = Text(f" {number}. {case.target.__name__} ", style="bold")
    try:
        with busy(f"{case.target.__name__}: generating with the constraint, then without"):
            generation = lm.run(case.prompt, case.target)
            free_text = lm.generate_text(as_shown(lm, case))
    except SchemagenError as error:
        output().print(error_panel(error))
        return None
    rows = Table.grid(padding=(0, 1))
    rows.add_row(Text("prompt", style="dim"), Text(case.prompt))
    rows.add_row(Text("instance", style="green"), Pretty(generation.value))
    rows.add_row(Text("unconstrained", style="yellow"), verdict(case.target, free_text))
    rows.add_row(Text("cost", style="dim"), Text(cost_of(generation), style="dim"))
    output().print(Panel(rows, title=title, title_align="left"))
    return generation


def as_shown(lm: LanguageModel, case: Case) -> str:
    """Return the prompt with the schema in it, so that both generations start from the same text."""
    return lm.render(case.prompt, case.target, chat_template=False).removesuffix("\n")


def verdict(target: type[BaseModel], text: str) -> Text:
    """Return what the model wrote without the constraint, and whether it is an instance of the type."""
    try:
        TypeAdapter(target).validate_json(text)
    except ValidationError as error:
        return Text.assemble(text.strip() or "(nothing)", (f"\nnot an instance: {error.errors()[0]['msg']}", "red"))
    return Text.assemble(text.strip(), ("\nan instance as well, this time", "dim"))
