"""Choosing one of six tools, and its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from tasks import words
from tasks.base import Example, Split, Task

if TYPE_CHECKING:
    import random


class Weather(BaseModel):
    """Arguments of get_weather."""

    city: str


class Timer(BaseModel):
    """Arguments of set_timer."""

    minutes: int


class Message(BaseModel):
    """Arguments of send_message."""

    recipient: str
    text: str


class Money(BaseModel):
    """Arguments of convert_currency."""

    amount: int
    source: Literal["USD", "EUR", "GBP", "JPY"]
    target: Literal["USD", "EUR", "GBP", "JPY"]


class Music(BaseModel):
    """Arguments of play_music."""

    artist: str


class Event(BaseModel):
    """Arguments of create_event."""

    title: str
    date: str


class WeatherCall(BaseModel):
    """A call of get_weather."""

    name: Literal["get_weather"]
    arguments: Weather


class TimerCall(BaseModel):
    """A call of set_timer."""

    name: Literal["set_timer"]
    arguments: Timer


class MessageCall(BaseModel):
    """A call of send_message."""

    name: Literal["send_message"]
    arguments: Message


class MoneyCall(BaseModel):
    """A call of convert_currency."""

    name: Literal["convert_currency"]
    arguments: Money


class MusicCall(BaseModel):
    """A call of play_music."""

    name: Literal["play_music"]
    arguments: Music


class EventCall(BaseModel):
    """A call of create_event."""

    name: Literal["create_event"]
    arguments: Event


#: Split -> tool -> requests.
_REQUESTS: dict[str, dict[str, tuple[str, ...]]] = {
    "tune": {
        "get_weather": ("What is the weather in {city}?", "Does it rain in {city} now?"),
        "set_timer": ("Set a timer for {minutes} minutes.", "Wake me up in {minutes} minutes."),
        "send_message": ('Tell {recipient}: "{text}"', 'Write "{text}" to {recipient}.'),
        "convert_currency": ("How much is {amount} {source} in {target}?",),
        "play_music": ("Play something by {artist}.",),
        "create_event": ('Add "{title}" to my calendar on {date}.',),
    },
    "test": {
        "get_weather": (
            "Is it sunny in {city} today?",
            "Do I need an umbrella in {city}?",
            "How warm is it in {city}?",
        ),
        "set_timer": ("Remind me when {minutes} minutes are over.", "Count down {minutes} minutes for the eggs."),
        "send_message": ('Text {recipient} the words "{text}".', 'Please let {recipient} know: "{text}"'),
        "convert_currency": (
            "Convert {amount} {source} to {target}.",
            "I have {amount} {source}. What is it in {target}?",
        ),
        "play_music": ("I want to listen to {artist}.", "Put on some songs of {artist}, please."),
        "create_event": ('Schedule "{title}" for {date}.', 'On {date} I have "{title}", put it in my calendar.'),
    },
}
_TEXTS = {
    "tune": ("I am on my way", "Happy birthday", "The meeting is cancelled"),
    "test": ("I will be late", "Dinner is ready", "Call me back", "See you tomorrow", "The train is delayed"),
}
_TITLES = {
    "tune": ("team lunch", "dentist", "piano lesson"),
    "test": ("project review", "parents evening", "car inspection", "yoga class", "budget meeting"),
}
_TOLD = """You can use these tools:
- get_weather(city): the weather in a city
- set_timer(minutes): a timer
- send_message(recipient, text): sends a text message to a person
- convert_currency(amount, source, target): converts money between currencies
- play_music(artist): plays music of an artist
- create_event(title, date): puts an event into the calendar

Choose the tool and its arguments for this request."""


def _call(source: random.Random, split: Split) -> Example:
    tool = source.choice(list(_REQUESTS[split]))
    from_currency, to_currency = source.sample(("USD", "EUR", "GBP", "JPY"), 2)
    year = 2023 if split == "tune" else 2025
    arguments: dict[str, dict[str, Any]] = {
        "get_weather": {"city": source.choice(words.CITIES[split])},
        "set_timer": {"minutes": source.randrange(3, 60)},
        "send_message": {
            "recipient": source.choice(words.FIRST_NAMES[split]),
            "text": source.choice(_TEXTS[split]),
        },
        "convert_currency": {"amount": source.randrange(10, 990), "source": from_currency, "target": to_currency},
        "play_music": {"artist": source.choice(words.ARTISTS[split])},
        "create_event": {
            "title": source.choice(_TITLES[split]),
            "date": f"{year}-{source.randrange(1, 13):02}-{source.randrange(1, 29):02}",
        },
    }
    request = source.choice(_REQUESTS[split][tool]).format(**arguments[tool])
    return Example(f"{_TOLD}\n\nRequest: {request}", {"name": tool, "arguments": arguments[tool]})


CALL = Task(
    "tools",
    "choice of a tool",
    WeatherCall | TimerCall | MessageCall | MoneyCall | MusicCall | EventCall,
    _call,
    max_new_tokens=96,
)
