"""Facts out of a text: a person in five fields, an order in fifteen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from tasks import words
from tasks.base import Example, Split, Task

if TYPE_CHECKING:
    import random


class Person(BaseModel):
    """What the first kind of text says."""

    name: str
    age: int
    city: str
    occupation: str
    email: str | None


class Order(BaseModel):
    """What the second kind of text says."""

    order_number: str
    order_date: str
    customer_name: str
    customer_email: str
    street: str
    city: str
    postal_code: str
    country: str
    product: str
    quantity: int
    unit_price: float
    currency: Literal["USD", "EUR", "GBP"]
    payment_method: Literal["credit card", "bank transfer", "cash"]
    gift: bool
    discount_code: str | None


#: By split; the tune half and the test half share no sentence.
_PERSONS = {
    "tune": (
        "{name} is {age} years old, lives in {city} and works as {a} {job}.{mail}",
        "Our new colleague from {city} is {name}, {a} {job} aged {age}.{mail}",
        "At {age}, {name} is {a} {job} in {city}.{mail}",
    ),
    "test": (
        "{name}, {age}, moved to {city} last spring and found work as {a} {job}.{mail}",
        "Meet {name}: {a} {job} from {city} who turned {age} this year.{mail}",
        "The {job} {name} ({age}) has lived in {city} for ten years.{mail}",
        "I am {name}. I have been {a} {job} in {city} since my studies, and I am {age} now.{mail}",
        "Yesterday we spoke with {name} from {city}, who is {age} and still likes being {a} {job}.{mail}",
    ),
}
_MAILS = {
    "tune": (" Write to {mail}.", " Mail: {mail}"),
    "test": (" You can reach them at {mail}.", " Contact: {mail}", " The address is {mail}."),
}
_ORDERS = {
    "tune": (
        """Order {order_number} of {order_date}: {customer_name} ({customer_email}), {street}, {postal_code} {city}, \
{country}, wants {quantity} x {product} at {unit_price:.2f} {currency} each, paid by {payment_method}.\
{gift_words}{code_words}""",
    ),
    "test": (
        """On {order_date} we received order {order_number} from {customer_name}, e-mail {customer_email}. Please ship \
{quantity} pieces of the {product} at {unit_price:.2f} {currency} each to {street}, {postal_code} {city}, {country}. \
Payment: {payment_method}.{gift_words}{code_words}""",
        """{customer_name} of {street}, {postal_code} {city}, {country} placed order {order_number} ({order_date}). The order \
is for {quantity} of our {product}, price {unit_price:.2f} {currency} per piece, to be paid by {payment_method}. \
Questions go to {customer_email}.{gift_words}{code_words}""",
    ),
}


def _person(source: random.Random, split: Split) -> Example:
    first, last = source.choice(words.FIRST_NAMES[split]), source.choice(words.LAST_NAMES[split])
    job, city = source.choice(words.JOBS[split]), source.choice(words.CITIES[split])
    mail = _mail(source, split, first, last) if source.random() < 2 / 3 else None
    age = source.randrange(20, 70)
    said = source.choice(_MAILS[split]).format(mail=mail) if mail else ""
    text = source.choice(_PERSONS[split]).format(
        name=f"{first} {last}", age=age, city=city, job=job, a="an" if job[0] in "aeiou" else "a", mail=said
    )
    answer = {"name": f"{first} {last}", "age": age, "city": city, "occupation": job, "email": mail}
    return Example(f"Extract the facts about the person from this text.\n\nText: {text}", answer)


def _order(source: random.Random, split: Split) -> Example:
    first, last = source.choice(words.FIRST_NAMES[split]), source.choice(words.LAST_NAMES[split])
    code = (
        f"{source.choice(('SAVE', 'SPRING', 'HELLO'))}{source.randrange(10, 60, 5)}" if source.random() < 0.5 else None
    )
    year = 2023 if split == "tune" else 2024
    answer = {
        "order_number": f"{source.choice('ABCDEFGH')}-{source.randrange(10_000, 99_999)}",
        "order_date": f"{year}-{source.randrange(1, 13):02}-{source.randrange(1, 29):02}",
        "customer_name": f"{first} {last}",
        "customer_email": _mail(source, split, first, last),
        "street": f"{source.randrange(1, 99)} {source.choice(words.STREETS[split])}",
        "city": source.choice(words.CITIES[split]),
        "postal_code": str(source.randrange(10_000, 99_999)),
        "country": source.choice(words.COUNTRIES[split]),
        "product": source.choice(words.PRODUCTS[split]),
        "quantity": source.randrange(2, 30),
        "unit_price": source.randrange(500, 9_900, 5) / 100,
        "currency": source.choice(("USD", "EUR", "GBP")),
        "payment_method": source.choice(("credit card", "bank transfer", "cash")),
        "gift": source.random() < 0.5,
        "discount_code": code,
    }
    gift = " It is a gift." if answer["gift"] else ""
    said = f" Discount code: {code}." if code else ""
    text = source.choice(_ORDERS[split]).format(**answer, gift_words=gift, code_words=said)
    return Example(f"Read the order and fill in the form.\n\nText: {text}", answer)


def _mail(source: random.Random, split: Split, first: str, last: str) -> str:
    user = source.choice((f"{first}.{last}", f"{first[0]}{last}", first)).lower()
    return f"{user}@{source.choice(words.DOMAINS[split])}"


PERSON = Task("extraction_5", "extraction, 5 fields", Person, _person, max_new_tokens=128)
ORDER = Task("extraction_15", "extraction, 15 fields", Order, _order, max_new_tokens=320)
