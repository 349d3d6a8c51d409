"""Messages of customers: their topics, and whether they cannot wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from tasks import words
from tasks.base import Example, Split, Task

if TYPE_CHECKING:
    import random


class Ticket(BaseModel):
    """What a message is."""

    category: Literal["billing", "shipping", "technical", "account", "praise"]
    urgent: bool


#: Split -> category -> messages.
_MESSAGES = {
    "tune": {
        "billing": (
            "I was charged twice for the {product}.",
            "The invoice for my {product} shows the wrong amount.",
            "Please refund the money for the {product} that I returned.",
        ),
        "shipping": (
            "My {product} has not arrived yet.",
            "The parcel with the {product} went to {city} instead of my house.",
            "When will the {product} be delivered?",
        ),
        "technical": (
            "The {product} does not turn on anymore.",
            "Your app crashes whenever I open the page of the {product}.",
            "The {product} makes a strange noise and then stops.",
        ),
        "account": (
            "I cannot log in to my profile anymore.",
            "How do I change the password of my account? My name is {name}.",
            "Please delete my account, {name}.",
        ),
        "praise": (
            "The {product} is wonderful, thank you so much!",
            "I love my new {product}. Great work, everyone!",
            "Best {product} that I have ever bought.",
        ),
    },
    "test": {
        "billing": (
            "My credit card statement lists the {product} two times, but I ordered it once.",
            "Why does the bill say {price} dollars? The {product} was on sale for less.",
            "I have returned the {product} and still wait for my refund of {price} dollars.",
            "There is a fee of {price} dollars on my invoice that nobody explained.",
        ),
        "shipping": (
            "The package with my {product} is stuck in {city} since last week.",
            "The courier left my {product} at the wrong address in {city}.",
            "The tracking page says that the {product} was delivered, but there is no parcel.",
            "Can you send the {product} to {city} instead of my home address?",
        ),
        "technical": (
            "The screen of your app stays black after the update.",
            "My {product} stopped working after two days.",
            "I get error {price} when I open the website on my phone.",
            "The {product} will not connect to my computer.",
        ),
        "account": (
            "I forgot my password and the reset link does not come.",
            "Please change the e-mail address of my account. My user name is {name}.",
            "Someone else has logged in to my account from {city}.",
            "How can I close my user account? I am {name}.",
        ),
        "praise": (
            "What a great {product}! My whole family in {city} loves it.",
            "I just want to say thank you, {name} was so helpful on the phone.",
            "Five stars for the {product}. I am very happy with it.",
            "Your team is fantastic. The {product} is even better than I hoped.",
        ),
    },
}
_URGENT = {
    "tune": (" I need help right now!", " This is an emergency, answer at once."),
    "test": (
        " This is urgent, please reply today!",
        " I need this solved immediately.",
        " Please hurry, it cannot wait!",
    ),
}
_PATIENT = {
    "tune": ("", " There is no hurry."),
    "test": ("", "", " Take your time, it is not urgent.", " No rush."),
}


def _ticket(source: random.Random, split: Split) -> Example:
    category = source.choice(list(_MESSAGES[split]))
    text = source.choice(_MESSAGES[split][category]).format(
        product=source.choice(words.PRODUCTS[split]),
        city=source.choice(words.CITIES[split]),
        name=f"{source.choice(words.FIRST_NAMES[split])} {source.choice(words.LAST_NAMES[split])}",
        price=source.randrange(12, 90),
    )
    urgent = category != "praise" and source.random() < 0.5
    text += source.choice((_URGENT if urgent else _PATIENT)[split])
    asked = "Classify the message of a customer: what it is about, and whether it is urgent."
    return Example(f"{asked}\n\nMessage: {text}", {"category": category, "urgent": urgent})


TICKET = Task("classification", "classification", Ticket, _ticket, max_new_tokens=48)
