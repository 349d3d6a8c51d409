"""Flats to rent, as data/listings.csv describes them."""

from pydantic import BaseModel, Field


class Contact(BaseModel):
    """The person to ask."""

    name: str = Field(max_length=40)
    phone: str | None = Field(pattern="^[0-9]{3} [0-9]{4}$")


class Listing(BaseModel):
    """The facts of an advertisement."""

    rooms: int = Field(ge=1, le=12)
    rent: int = Field(le=9999, description="EUR a month")
    furnished: bool
    contact: Contact
