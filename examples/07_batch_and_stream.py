"""Many prompts at once, and one answer while it is being written."""

import asyncio

from pydantic import BaseModel

import schemagen
from schemagen.events import Completed, Delta, FieldCompleted


class Item(BaseModel):
    """A product and how many of it."""

    product: str
    quantity: int


class Order(BaseModel):
    """What a customer wants."""

    customer: str
    items: list[Item]
    paid: bool


lm = schemagen.load_bundled()

# A batch: one result for each prompt, in order. The second prompt is longer than the context of the model: its row
# fails, and no other.
prompts = [
    "Maria Silva ordered 2 lamps and 3 chairs, already paid.",
    "word " * 2000,
    "Tom Baker ordered 1 table.",
]
for found in lm.batch(prompts, Order, batch_size=2):
    if isinstance(found, schemagen.Failure):
        print(f"row {found.index} failed: {found.error.code}")
    else:
        print(f"{found.customer}: {sum(item.quantity for item in found.items)} pieces")

# A stream: fields as they grow, and validated as soon as they are complete.
for event in lm.stream(prompts[0], Order):
    if isinstance(event, Delta) and event.path == ("customer",):
        print(event.text, end="|")
    elif isinstance(event, FieldCompleted):
        print(f"\n{event.path} = {event.value!r}", end="")
    elif isinstance(event, Completed):
        print(f"\npaid: {event.value.paid}")


async def first_product(prompt: str) -> str:
    """Return the first product of an order; the model stops as soon as it is there."""
    events = lm.astream(prompt, Order)
    try:
        async for event in events:
            if isinstance(event, FieldCompleted) and event.path == ("items", 0, "product"):
                return str(event.value)
    finally:
        await events.aclose()
    return ""


async def main() -> None:
    """Stream two answers at the same time."""
    print(*await asyncio.gather(first_product(prompts[0]), first_product(prompts[2])))


asyncio.run(main())
