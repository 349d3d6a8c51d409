"""An order for the command line; in this folder: `schemagen generate shop:Order "Maria Silva ordered 2 lamps."`."""

from pydantic import BaseModel


class Item(BaseModel):
    """One line of an order."""

    product: str
    quantity: int


class Order(BaseModel):
    """What a customer bought."""

    customer: str
    items: list[Item]
    paid: bool
