"""A list of objects inside an object; the total is computed from typed fields."""

from pydantic import BaseModel

import schemagen


class Item(BaseModel):
    """One line of an order."""

    product: str
    quantity: int


class Order(BaseModel):
    """Who ordered what, and whether it is paid."""

    customer: str
    items: list[Item]
    paid: bool


lm = schemagen.load_bundled()
order = lm("Maria Silva ordered 2 lamps and 3 chairs, already paid.", Order)

for item in order.items:
    print(f"{item.quantity} x {item.product}")
print(
    f"{sum(item.quantity for item in order.items)} pieces for {order.customer}, {'paid' if order.paid else 'not paid'}"
)
