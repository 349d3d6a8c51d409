"""What users ask of tools, as tables: sentences, values, results, and the answers that restate them.

A `Skill` is something that a tool can do. The sentences of every skill, the ways to dress a request and the small talk are split
by a hash into a training and a held-out part (`share`), as the words of `bundled_world` are: training never sees a
held-out sentence, and the split is nobody's choice. A sentence that begins in lower case is an imperative, and may be
dressed (``Please ...``, ``Can you ...?``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

import bundled_words as words
from bundled_world import INTEGER, NUMBER, STRING, Schema, World, choice, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HELD_OUT_SHARE = 5
UNITS = choice(["celsius", "fahrenheit"])
SKIES = ["sunny", "rainy", "cloudy", "windy", "foggy", "snowing", "clear", "stormy", "dry", "warm"]


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a tool: names that it may have, the first that of `bundled_calls`; its type, and a description."""

    keys: tuple[str, ...]
    schema: Schema = field(default_factory=lambda: STRING)
    note: str = ""
    required: bool = True


@dataclass(frozen=True, eq=False)
class Skill:
    """What a tool does.

    Attributes:
        names: Names of the tool, the first that of `bundled_calls`.
        descriptions: Of the tool, the first that of `bundled_calls`.
        parameters: In order.
        requests: Sentences; ``{key}`` stands for a parameter, by the first of its names.
        values: Makes each parameter as it is said and as it is written, by the first of its names.
        results: What comes of it, and what is then answered; ``{key}`` as above, ``{x}`` what `more` makes.
        more: Makes what only the result tells.
        tails: Sentences' ends that state an optional parameter.
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    requests: tuple[str, ...]
    values: Callable[[World], dict[str, tuple[str, Any]]]
    results: tuple[tuple[str, str], ...]
    more: Callable[[World], str] = lambda _: ""
    tails: tuple[str, ...] = ()


OF_OBJECTS = frozenset(
    {
        "what is the weather in {city}", "how warm is it in {city}", "will it rain in {city}", "weather in {city}", "is it sunny in {city} today", "send an email to {to} about {subject}",
        "write {to} a mail about {subject}", "mail {to} about {subject}", "email {to} about {subject}", "search for {query}", "look up {query}", "find {query}", "search the web for {query}", "google {query}",
        "set a timer for {minutes} minutes", "wake me in {minutes} minutes", "timer, {minutes} minutes", "remind me in {minutes} minutes", "what is {a} plus {b}", "add {a} and {b}", "calculate {a} + {b}",
        "how much is {a} + {b}", "play {song} by {artist}", "put on {song} by {artist}",
    }
)  # fmt: skip
"""Sentences of the domain "tool" of `bundled_data`: those are trained on, so they are never held out."""


def is_held_out(sentence: str) -> bool:
    """Whether a sentence is never trained on."""
    return crc32(sentence.encode()) % HELD_OUT_SHARE == 0 and sentence.lower().rstrip("?.!") not in OF_OBJECTS


def share(sentences: Sequence[str], *, held_out: bool) -> list[str]:
    """Return the sentences of one side of the split."""
    return [sentence for sentence in sentences if is_held_out(sentence) == held_out]


def _same(value: str) -> tuple[str, str]:
    return value, value


def _weather(w: World) -> dict[str, tuple[str, Any]]:
    found = {"city": _same(w.city())}
    return found | {"unit": _same(w.pick(["celsius", "fahrenheit"]))} if w.chance(0.25) else found


def _mail(w: World) -> dict[str, tuple[str, Any]]:
    subject = w.pick(
        [
            f"{w.word(words.ADJECTIVES)} {w.word(words.TOPIC_WORDS)}",
            f"{w.word(words.ADJECTIVES)} {w.word(words.TOPIC_WORDS)}",
            w.word(words.TOPIC_WORDS),
            f"the {w.word(words.NOUNS)}",
            f"{w.word(words.TOPIC_WORDS)} and {w.word(words.TOPIC_WORDS)}",
        ]
    )
    return {"to": _same(w.pick([w.email, w.first, w.name])()), "subject": _same(subject)}


def _query(w: World) -> dict[str, tuple[str, Any]]:
    makers: list[Callable[[], str]] = [
        w.title,
        lambda: f"{w.word(words.TOPIC_WORDS)} in {w.city()}",
        w.name,
        w.company,
        lambda: f"{w.word(words.ADJECTIVES)} {w.word(words.PRODUCTS)}",
        lambda: f"{w.word(words.ADJECTIVES)} {w.word(words.NOUNS)} {w.word(words.TOPIC_WORDS)}",
    ]
    return {"query": _same(w.pick(makers)())}


def _counted(key: str, low: int, high: int) -> Callable[[World], dict[str, tuple[str, Any]]]:
    return lambda w: {key: w.number(low, high)}


def _two_numbers(w: World) -> dict[str, tuple[str, Any]]:
    high = w.pick([20, 99, 999, 999])
    a, b = w.between(0, high), w.between(0, high)
    return {"a": (str(a), a), "b": (str(b), b)}


def _degrees(w: World) -> str:
    return f"{w.pick(SKIES)}|{w.between(-9, 38)}"


WEATHER = Skill(
    ("get_weather", "weather", "forecast", "weather_in"),
    (
        "Say what the weather is like in a city.",
        "Say what the weather is like.",
        "The weather in a city.",
        "Get the current weather.",
        "",
    ),
    (
        Parameter(("city", "location", "place", "town"), STRING, "Where, by its English name."),
        Parameter(("unit",), UNITS, required=False),
    ),
    (
        "What is the weather in {city}?",
        "What's the weather like in {city}?",
        "What is the weather like in {city} today?",
        "How is the weather in {city}?",
        "How warm is it in {city}?",
        "How cold is it in {city} right now?",
        "How hot will it be in {city} tomorrow?",
        "Will it rain in {city}?",
        "Will it rain tomorrow in {city}?",
        "Will it snow in {city} this week?",
        "Weather in {city}",
        "Weather for {city}?",
        "{city} weather",
        "Is it sunny in {city} today?",
        "Is it raining in {city}?",
        "Is it windy in {city} now?",
        "Is it cold in {city}?",
        "Do I need an umbrella in {city}?",
        "Do I need a coat in {city} today?",
        "Should I take an umbrella to {city}?",
        "I am flying to {city}, how is the weather?",
        "I travel to {city} tomorrow. What is the weather there?",
        "tell me the weather in {city}",
        "tell me how warm it is in {city}",
        "check the weather in {city}",
        "give me the forecast for {city}",
        "look up the weather in {city}",
        "show me the weather for {city}",
        "What is the temperature in {city}?",
        "What's the temperature in {city} now?",
        "What is the forecast for {city}?",
        "Temperature in {city}?",
        "Forecast for {city}, please",
        "Any rain in {city} today?",
        "In {city}, what is the weather like?",
        "I would like to know the weather in {city}.",
        "I am in {city} today, do I need a jacket?",
        "Going to {city} tomorrow, will it be warm?",
        "How many degrees are there in {city}?",
        "How will the weather be in {city} on Sunday?",
        "Is there snow in {city}?",
        "say what the weather is like in {city}",
        "find out how the weather is in {city}",
        "I live in {city}. Is it going to rain?",
        "Weather report for {city}",
        "{city}: rain or sun?",
        "Can I go swimming in {city} today?",
        "What is it like outside in {city}?",
    ),
    _weather,
    (
        ("{x0} in {city}, {x1} degrees", "It is {x0} in {city}, {x1} degrees."),
        ("{x0} in {city}, {x1} degrees celsius", "It is {x0} in {city}, {x1} degrees celsius."),
        ("{x0} in {city}, {x1} degrees fahrenheit", "It is {x0} in {city}, {x1} degrees fahrenheit."),
        ("{x0}, {x1} degrees", "It is {x0} in {city}, {x1} degrees."),
        ("{x1} degrees and {x0}", "It is {x0} in {city}, {x1} degrees."),
        ('{{"sky": "{x0}", "temperature": {x1}}}', "It is {x0} in {city}, {x1} degrees."),
        ("{x0}", "It is {x0} in {city}."),
        ("{x1}", "It is {x1} degrees in {city}."),
    ),
    _degrees,
    (" in {unit}", ", in {unit}", " in degrees {unit}", " (in {unit})", " in {unit} please"),
)

MAIL = Skill(
    ("send_mail", "send_email", "email", "mail"),
    ("Send an email.", "Send a mail to somebody.", "Write an email.", "Send a message by mail.", ""),
    (
        Parameter(("to", "recipient", "receiver"), STRING, "Who gets it."),
        Parameter(("subject", "about", "topic"), STRING, "What it is about."),
    ),
    (
        "send an email to {to} about {subject}",
        "send {to} an email about {subject}",
        "send a mail to {to} about {subject}",
        "send a mail about {subject} to {to}",
        "send an email about {subject} to {to}",
        "write {to} a mail about {subject}",
        "write an email to {to} about {subject}",
        "write to {to} about {subject}",
        "mail {to} about {subject}",
        "email {to} about {subject}",
        "email {to} the subject {subject}",
        "send {to} a message about {subject}",
        "send a message about {subject} to {to}",
        "send a mail with the subject {subject} to {to}",
        "send {to} an email with the subject {subject}",
        "let {to} know about {subject} by mail",
        "let {to} know about {subject} by email",
        "tell {to} about {subject} by email",
        "inform {to} about {subject} by mail",
        "drop {to} a mail about {subject}",
        "drop {to} a line about {subject}",
        "write a short mail to {to}, subject {subject}",
        "compose an email to {to} about {subject}",
        "Mail to {to}: {subject}",
        "Email to {to}, subject: {subject}",
        "New mail to {to} about {subject}",
        "An email to {to} about {subject}, please",
        "I want to send {to} an email about {subject}.",
        "I want to write {to} about {subject}.",
        "I have to mail {to} about {subject}.",
        "{to} needs an email about {subject}.",
        "{to} should get a mail about {subject}.",
        "Mail for {to}: {subject}",
        "Message to {to}: {subject}",
        "Email for {to} about {subject}",
        "Subject {subject}, mail it to {to}",
        "{to} has to know about {subject}, send a mail.",
        "{to} is waiting for a mail about {subject}.",
        "send something about {subject} to {to} by mail",
        "contact {to} by email about {subject}",
        "tell {to} in a mail about {subject}",
        "I must write an email to {to} about {subject}.",
        "A mail about {subject} has to go to {to}.",
        "answer {to} by mail about {subject}",
        "write {to}: {subject}",
    ),
    _mail,
    (
        ("sent to {to}: {subject}", "Done, sent to {to}: {subject}."),
        ("sent", "I sent {to} the mail about {subject}."),
        ("ok", "I sent {to} the mail about {subject}."),
        ("mail to {to} sent", "Done, mail to {to} sent."),
        ("true", "I sent {to} the mail about {subject}."),
    ),
)

SEARCH = Skill(
    ("search", "web_search", "search_web", "find"),
    ("Search the web.", "Search the internet.", "Look something up on the web.", "Find pages.", ""),
    (Parameter(("query", "q", "text"), STRING, "What to look for."),),
    (
        "search for {query}",
        "look up {query}",
        "look for {query} on the web",
        "find {query}",
        "find {query} online",
        "find {query} on the web",
        "find something about {query}",
        "find out about {query}",
        "search the web for {query}",
        "search the internet for {query}",
        "search {query}",
        "google {query}",
        "do a web search for {query}",
        "run a search for {query}",
        "show me results for {query}",
        "show me pages about {query}",
        "find information about {query}",
        "look up {query} on the internet",
        "find me articles about {query}",
        "get me some information on {query}",
        "check the web for {query}",
        "What can you find about {query}?",
        "What does the web say about {query}?",
        "I am looking for {query}.",
        "I am looking for information about {query}.",
        "I want to know more about {query}.",
        "I need information on {query}.",
        "Web search: {query}",
        "Search: {query}",
        "show me what there is about {query}",
        "show me something about {query}",
        "show {query} on the web",
        "show me websites about {query}",
        "give me results about {query}",
        "get me pages about {query}",
        "search for pages about {query}",
        "look for articles about {query}",
        "find me pages on {query}",
        "read up on {query}",
        "What is there on the web about {query}?",
        "What do you know about {query}? Look it up.",
        "Is there anything online about {query}?",
        "Tell me more about {query}, search for it.",
        "Results for {query}",
        "I would like to read about {query}.",
        "Who or what is {query}? Search it.",
    ),
    _query,
    (
        ("no results for {query}", "There are no results for {query}."),
        ("found {x}", "I found {x}."),
        ("{x}", "I found {x}."),
        ('["{x}"]', "I found {x}."),
        ("3 results: {x}", "I found 3 results: {x}."),
    ),
    lambda w: w.title(),
)

TIMER = Skill(
    ("set_timer", "timer", "start_timer", "set_alarm"),
    ("Set a timer.", "Start a timer.", "Ring after some minutes.", "Set a timer for some minutes.", ""),
    (Parameter(("minutes", "duration", "time"), INTEGER, "How long."),),
    (
        "set a timer for {minutes} minutes",
        "set a timer to {minutes} minutes",
        "set the timer to {minutes} minutes",
        "set a {minutes} minute timer",
        "set an alarm in {minutes} minutes",
        "set an alarm for {minutes} minutes from now",
        "start a timer for {minutes} minutes",
        "start a timer of {minutes} minutes",
        "start a {minutes} minute timer",
        "start the timer, {minutes} minutes",
        "wake me in {minutes} minutes",
        "wake me up in {minutes} minutes",
        "remind me in {minutes} minutes",
        "ring in {minutes} minutes",
        "give me {minutes} minutes on the timer",
        "let me know when {minutes} minutes are over",
        "tell me when {minutes} minutes have passed",
        "count down {minutes} minutes",
        "put {minutes} minutes on the clock",
        "time {minutes} minutes",
        "Timer, {minutes} minutes",
        "Timer: {minutes} minutes",
        "Timer for {minutes} minutes",
        "{minutes} minutes timer",
        "A timer for {minutes} minutes, please",
        "I need a timer for {minutes} minutes.",
        "I want a timer of {minutes} minutes.",
        "The eggs need {minutes} minutes, set a timer.",
        "My tea takes {minutes} minutes, start a timer.",
        "Alarm in {minutes} minutes",
        "The cake is done in {minutes} minutes, remind me.",
        "In {minutes} minutes I must leave, set a timer.",
        "Countdown: {minutes} minutes",
        "beep in {minutes} minutes",
        "call me when {minutes} minutes are over",
        "measure {minutes} minutes",
        "My break is {minutes} minutes, tell me when it ends.",
        "Please wake me after {minutes} minutes",
        "stop me after {minutes} minutes",
    ),
    _counted("minutes", 1, 90),
    (
        ("{minutes} minutes from now", "The timer is set: {minutes} minutes from now."),
        ("timer set", "The timer is set for {minutes} minutes."),
        ("ok", "The timer is set for {minutes} minutes."),
        ("a timer of {minutes} minutes is set", "Done, a timer of {minutes} minutes is set."),
        ("{minutes} minutes", "The timer is set for {minutes} minutes."),
    ),
)

ADD = Skill(
    ("add", "sum", "calculator", "plus"),
    ("Add two numbers.", "The sum of two numbers.", "Calculate a + b.", "Add numbers.", ""),
    (Parameter(("a", "x", "left", "first"), INTEGER), Parameter(("b", "y", "right", "second"), INTEGER)),
    (
        "What is {a} plus {b}?",
        "What is {a} + {b}?",
        "What's {a} and {b} together?",
        "What is the sum of {a} and {b}?",
        "What do {a} and {b} add up to?",
        "What do you get for {a} plus {b}?",
        "How much is {a} + {b}?",
        "How much is {a} plus {b}?",
        "How much are {a} and {b} together?",
        "How much do {a} and {b} make?",
        "add {a} and {b}",
        "add {a} to {b}",
        "add the numbers {a} and {b}",
        "add up {a} and {b}",
        "sum {a} and {b}",
        "sum up {a} and {b}",
        "calculate {a} + {b}",
        "calculate {a} plus {b}",
        "calculate the sum of {a} and {b}",
        "compute {a} + {b}",
        "compute the sum of {a} and {b}",
        "work out {a} plus {b}",
        "tell me what {a} plus {b} is",
        "tell me the sum of {a} and {b}",
        "{a} + {b}",
        "{a} plus {b}",
        "{a} + {b} = ?",
        "Sum of {a} and {b}",
        "I need the sum of {a} and {b}.",
        "I have {a} and get {b} more. How many is that?",
        "{a} and {b}, how much is that?",
        "{a} + {b}, please",
        "plus: {a} and {b}",
        "put {a} and {b} together",
        "the sum of {a} and {b}",
        "If I add {b} to {a}, what do I get?",
        "Total of {a} and {b}?",
        "count {a} and {b} together",
        "What comes out of {a} + {b}?",
        "find the total of {a} and {b}",
    ),
    _two_numbers,
    (("{x}", "The sum is {x}."), ("{x}", "The sum is {x}."), ("{a} + {b} = {x}", "The sum is {x}.")),
    lambda w: str(w.between(0, 1998)),
)

PLAY = Skill(
    ("play_music", "play_song", "play", "music"),
    ("Play a song.", "Play music.", "Put on some music.", "Play a song by an artist.", ""),
    (
        Parameter(("song", "title", "track"), STRING, "What to play."),
        Parameter(("artist", "by", "band"), STRING, "Who plays it."),
    ),
    (
        "play {song} by {artist}",
        "play the song {song} by {artist}",
        "play {song} from {artist}",
        "play me {song} by {artist}",
        "play {artist} with {song}",
        "play the track {song} by {artist}",
        "play some music: {song} by {artist}",
        "put on {song} by {artist}",
        "put {song} by {artist} on",
        "start {song} by {artist}",
        "start playing {song} by {artist}",
        "turn on {song} by {artist}",
        "let me hear {song} by {artist}",
        "let us listen to {song} by {artist}",
        "queue {song} by {artist}",
        "I want to hear {song} by {artist}.",
        "I want to listen to {song} by {artist}.",
        "I would like to hear {song} by {artist}.",
        "I feel like {song} by {artist}.",
        "Music, please: {song} by {artist}",
        "Song: {song}, artist: {artist}",
        "Now {song} by {artist}!",
        "{song} by {artist}, please",
        "{song} by {artist}",
        "How about the song {song} by {artist}?",
        "Listen to {song} by {artist}",
        "I am in the mood for {song} by {artist}.",
        "play something: {song} by {artist}",
        "hear {song} by {artist}",
        "Music: {song} by {artist}",
        "Let us hear {song} by {artist}.",
        "Do you have {song} by {artist}? Play it.",
        "play the music of {artist}, the song {song}",
        "{artist} with {song}, please",
        "next song: {song} by {artist}",
    ),
    lambda w: {"song": _same(w.title()), "artist": _same(w.name())},
    (
        ("playing {song} by {artist}", "Now playing {song} by {artist}."),
        ("playing", "Now playing {song} by {artist}."),
        ("ok", "Now playing {song} by {artist}."),
        ("{song} starts", "Done, {song} starts."),
    ),
)

BASIC = (WEATHER, MAIL, SEARCH, TIMER, ADD, PLAY)
"""What the six tools of `bundled_calls` do, in that order."""


def _stay(w: World) -> dict[str, tuple[str, Any]]:
    return {"guest": _same(w.name()), "nights": w.number(1, 20)}


def _route(w: World) -> dict[str, tuple[str, Any]]:
    return {"start": _same(w.city()), "to": _same(w.city())}


def _purchase(w: World) -> dict[str, tuple[str, Any]]:
    return {"product": _same(w.thing()), "quantity": w.number(2, 60)}


def _appointment(w: World) -> dict[str, tuple[str, Any]]:
    return {"title": _same(f"{w.word(words.TOPIC_WORDS)} {w.pick(words.EVENTS)}"), "city": _same(w.city())}


def train_name(w: World) -> str:
    """Return the name of a train."""
    return f"{w.pick(['RJX', 'ICE', 'IC', 'EC', 'TGV', 'R', 'NJ', 'S'])} {w.between(1, 999)}"


TRAINS = Skill(
    ("find_trains", "trains", "search_trains", "train_times"),
    ("Find the trains between two cities.", "Find trains.", "Look up trains.", ""),
    (
        Parameter(("start", "origin", "source"), STRING, "A city, by its English name."),
        Parameter(("to", "destination", "end"), STRING, "A city, by its English name."),
    ),
    (
        "find the trains from {start} to {to}",
        "find a train from {start} to {to}",
        "which trains go from {start} to {to}?",
        "Is there a train from {start} to {to}?",
        "How do I get from {start} to {to} by train?",
        "I want to go from {start} to {to} by train.",
        "Trains from {start} to {to}",
        "show me the trains from {start} to {to}",
    ),
    _route,
    (('["{x}"]', "There is {x}."), ("{x}", "There is {x}."), ("[]", "There are no trains.")),
    train_name,
)
OTHERS = (
    TRAINS,
    Skill(
        ("price_of", "get_price", "price", "look_up_price"),
        ("Look up a price.", "Look up the price of a product.", "What something costs.", ""),
        (Parameter(("product", "item", "article"), STRING, "What to buy."),),
        (
            "What does a {product} cost?",
            "How much is the {product}?",
            "How expensive is a {product}?",
            "What is the price of the {product}?",
            "tell me the price of a {product}",
            "Price of {product}?",
        ),
        lambda w: {"product": _same(w.thing())},
        (("{x}", "The {product} costs {x}."), ("{x} euros", "The {product} costs {x} euros.")),
        lambda w: w.amount()[0],
    ),
    Skill(
        ("book_room", "reserve_room", "book_hotel", "make_booking"),
        ("Book a room.", "Book a hotel room for a guest.", "Make a reservation.", ""),
        (Parameter(("guest", "name", "customer"), STRING), Parameter(("nights", "stay", "duration"), INTEGER)),
        (
            "book a room for {guest} for {nights} nights",
            "reserve a room for {guest}, {nights} nights",
            "{guest} needs a room for {nights} nights.",
            "{guest} stays {nights} nights, please book.",
            "make a reservation for {guest} for {nights} nights",
            "book {nights} nights for {guest}",
        ),
        _stay,
        (("booked", "The room for {guest} is booked."), ("room {x}", "{guest} has room {x}.")),
        lambda w: str(w.between(1, 400)),
    ),
    Skill(
        ("order", "buy", "order_product", "add_to_cart"),
        ("Order a product.", "Buy something.", "Put products into the cart.", ""),
        (Parameter(("product", "item", "name"), STRING), Parameter(("quantity", "count", "amount"), INTEGER)),
        (
            "order {quantity} pieces of {product}",
            "buy {quantity} of the {product}",
            "We need {quantity} x {product}.",
            "put {quantity} x {product} into my cart",
            "I want to buy {product}, {quantity} of them.",
            "get me {quantity} units of {product}",
        ),
        _purchase,
        (("ordered", "I ordered {quantity} of {product}."), ("order {x}", "Done, the order is {x}.")),
        lambda w: w.digits(4),
    ),
    Skill(
        ("translate", "translate_text", "to_language"),
        ("Translate a text.", "Translate words into another language.", ""),
        (Parameter(("text", "words", "phrase"), STRING), Parameter(("language", "target", "into"), STRING)),
        (
            "translate {text} into {language}",
            "What is {text} in {language}?",
            "How do you say {text} in {language}?",
            "say {text} in {language}",
            "{text} in {language}, please",
        ),
        lambda w: {
            "text": _same(f"{w.word(words.ADJECTIVES)} {w.word(words.NOUNS)}"),
            "language": _same(w.pick(words.LANGUAGES)),
        },
        (("{x}", "In {language} it is {x}."),),
        lambda w: w.own(lambda: w.syllables(1, 3)),
    ),
    Skill(
        ("take_note", "remember", "add_note", "save_note"),
        ("Take a note.", "Remember something.", "Save a note.", ""),
        (Parameter(("text", "note", "content"), STRING),),
        (
            "note down {text}",
            "take a note: {text}",
            "remember {text}",
            "write down {text}",
            "Note: {text}",
            "save a note about {text}",
        ),
        lambda w: {"text": _same(f"the {w.word(words.ADJECTIVES)} {w.word(words.NOUNS)}")},
        (("saved", "I wrote down {text}."), ("note {x}", "Done, it is note {x}.")),
        lambda w: str(w.between(1, 99)),
    ),
    Skill(
        ("call_person", "phone", "dial", "make_call"),
        ("Call a person.", "Call somebody by phone.", ""),
        (Parameter(("person", "name", "who"), STRING),),
        (
            "call {person}",
            "phone {person}",
            "ring up {person}",
            "give {person} a call",
            "I have to talk to {person} on the phone.",
            "dial {person}",
        ),
        lambda w: {"person": _same(w.name())},
        (("calling {person}", "I am calling {person}."), ("busy", "{person} is busy.")),
    ),
    Skill(
        ("get_time", "time_in", "clock", "current_time"),
        ("Say what time it is in a city.", "The time in a city.", ""),
        (Parameter(("city", "place", "location"), STRING),),
        (
            "What time is it in {city}?",
            "How late is it in {city}?",
            "Time in {city}?",
            "tell me the time in {city}",
            "What is the time in {city} now?",
        ),
        lambda w: {"city": _same(w.city())},
        (("{x}", "It is {x} in {city}."),),
        lambda w: w.time()[1],
    ),
    Skill(
        ("create_event", "add_event", "plan_meeting", "schedule"),
        ("Create an event in the calendar.", "Plan a meeting.", ""),
        (Parameter(("title", "name", "event"), STRING), Parameter(("city", "place", "where"), STRING)),
        (
            "plan a {title} in {city}",
            "create the event {title} in {city}",
            "put the {title} in {city} into my calendar",
            "schedule a {title} in {city}",
            "There is a {title} in {city}, add it to the calendar.",
        ),
        _appointment,
        (("created", "The {title} is in your calendar."), ("event {x}", "Done, it is event {x}.")),
        lambda w: w.digits(3),
    ),
    Skill(
        ("convert", "convert_money", "to_dollars", "exchange"),
        ("Convert euros to dollars.", "Convert money.", ""),
        (Parameter(("amount", "euros", "value"), NUMBER),),
        (
            "How much are {amount} euros in dollars?",
            "convert {amount} euros to dollars",
            "change {amount} euros into dollars",
            "What are {amount} euros in dollars?",
        ),
        lambda w: {"amount": w.amount()},
        (("{x}", "That is {x} dollars."),),
        lambda w: w.amount()[0],
    ),
    Skill(
        ("turn_on", "switch_on", "lights_on", "power_on"),
        ("Turn on a device.", "Switch something on.", ""),
        (Parameter(("device", "name", "what"), STRING),),
        ("turn on the {device}", "switch the {device} on", "power up the {device}", "The {device} should be on."),
        lambda w: {"device": _same(w.word(words.PRODUCTS))},
        (("on", "The {device} is on."), ("ok", "The {device} is on.")),
    ),
    Skill(
        ("cancel_order", "cancel", "stop_order"),
        ("Cancel an order.", "Cancel an order by its number.", ""),
        (Parameter(("number", "order_number", "id"), INTEGER),),
        (
            "cancel order {number}",
            "cancel my order {number}",
            "I do not want order {number} any more.",
            "stop order number {number}",
        ),
        lambda w: {"number": (number := str(w.between(1, 99999)), int(number))},
        (("cancelled", "Order {number} is cancelled."), ("too late", "Sorry, it is too late.")),
    ),
)
"""What other tools do, whose sentences are also those that the six cannot help with."""

PRICES = Skill(
    ("price_of", "get_prices", "ticket_prices"),
    ("Look up the price of some trains.", "Look up prices.", ""),
    (Parameter(("trains", "names"), listed(STRING)),),
    (),
    lambda _: {},
    (),
)
JOURNEYS = (
    "What do the trains from {start} to {to} cost?",
    "What does a train from {start} to {to} cost?",
    "What is the cheapest train from {start} to {to}?",
    "How much is the train from {start} to {to}?",
    "How much do the trains from {start} to {to} cost?",
    "find the prices of the trains from {start} to {to}",
    "tell me what the trains from {start} to {to} cost",
    "I want to go from {start} to {to} by train. What does it cost?",
)
"""Requests that take `TRAINS` first, and `PRICES` of its result."""

DRESSES = (
    "please {}", "can you {}?", "could you {}?", "could you please {}?", "I want you to {}.", "I need you to {}.", "hey, {}", "hi, {}!", "{}, please",
    "{}, thanks", "now {}", "would you {}?", "go and {}.", "can you please {}?", "I would like you to {}.", "OK, {}", "{} for me", "just {}", "quickly {}!", "will you {}?",
)  # fmt: skip
SMALL_TALK = (
    ("Hello, I am {name}.", "Hello {name}, how can I help?"), ("Hi, my name is {name}.", "Hello {name}, how can I help?"), ("My name is {name}. What is my name?", "Your name is {name}."),
    ("I am {name}. Who am I?", "You are {name}."), ("Thank you, that is all for today. {name}", "You are welcome, {name}."), ("Thanks!", "You are welcome."),
    ("Thank you very much.", "You are welcome."), ("Thanks a lot, {name} here.", "You are welcome, {name}."), ("Good morning!", "Good morning, how can I help?"),
    ("Good evening, {name} speaking.", "Good evening {name}, how can I help?"), ("Hello!", "Hello, how can I help?"), ("Hi there", "Hello, how can I help?"), ("Hey, I am {name}", "Hello {name}, how can I help?"),
    ("Who are you?", "I am a small language model."), ("What are you?", "I am a small language model."), ("What can you do?", "I can answer in words or call tools."),
    ("How are you?", "I am fine, thank you."), ("How are you today, I am {name}", "I am fine, thank you, {name}."), ("Goodbye!", "Goodbye!"), ("Bye, {name}", "Goodbye, {name}!"), ("See you tomorrow", "Goodbye!"),
    ("That is all, thanks.", "You are welcome."), ("Good work!", "Thank you."), ("Well done, says {name}.", "Thank you, {name}."), ("I live in {city}.", "{city} is a nice place."),
    ("I come from {city}.", "{city} is a nice place."), ("I was born in {city}.", "{city} is a nice place."), ("My friend {name} lives in {city}.", "{city} is a nice place."), ("I like {thing}.", "I see, you like {thing}."),
    ("I love {thing}!", "I see, you like {thing}."), ("My favorite thing is a {thing}.", "I see, you like {thing}."), ("{name} is my sister.", "Nice, {name} is your sister."), ("{name} is my brother.", "Nice, {name} is your brother."),
    ("My dog is called {name}.", "{name} is a good name for a dog."), ("My cat is called {name}.", "{name} is a good name for a cat."), ("I am {age} years old.", "You are {age}, I see."), ("I have {age} books.", "You have {age} books, I see."),
    ("Are you a robot?", "I am a small language model."), ("I am tired.", "I am sorry to hear that."), ("I am sad today.", "I am sorry to hear that."), ("I am happy!", "I am glad to hear that."), ("What a nice day!", "I am glad to hear that."),
    ("I work in {city}.", "{city} is a nice place."), ("My parents live in {city}.", "{city} is a nice place."), ("We moved to {city} last year.", "{city} is a nice place."), ("{name} comes from {city}.", "{city} is a nice place."), ("My home is in {city}.", "{city} is a nice place."),
    ("I grew up in {city}", "{city} is a nice place."), ("Nice to meet you, I am {name}.", "Hello {name}, how can I help?"), ("It is me, {name}.", "Hello {name}, how can I help?"), ("You can call me {name}.", "Hello {name}, how can I help?"), ("Hi", "Hello, how can I help?"), ("Hello there, how are you?", "I am fine, thank you."),
    ("I hate {thing}.", "I see, you do not like {thing}."), ("I bought a {thing} yesterday.", "I see, you have a {thing}."), ("I have a new {thing}.", "I see, you have a {thing}."), ("{name} is my best friend.", "Nice, {name} is your friend."), ("I am a friend of {name}.", "Nice, {name} is your friend."),
    ("You are great!", "Thank you."), ("That was helpful, thank you.", "You are welcome."), ("I am bored.", "I am sorry to hear that."), ("I am hungry.", "I am sorry to hear that."), ("Good night, {name}", "Good night, {name}!"), ("Do you like {thing}?", "I am a small language model."),
)  # fmt: skip
NOT_POSSIBLE = (
    "tell me a joke", "sing a song for me", "write a poem about {city}", "write a story about {name}", "draw a picture of a {thing}", "clean my room", "wash my car", "cook dinner for {name}",
    "What is the meaning of life?", "Who will win the game in {city}?", "How old is {name}?", "repair my {thing}", "bring me a {thing}", "paint the {thing}", "take a photo of {name}", "do my homework",
    "drive me to {city}", "walk the dog of {name}", "explain how a {thing} works", "Where is my {thing}?", "What color is the {thing}?", "Why is the sky blue?", "tell me a story about {city}", "water the flowers",
    "What do you think about {thing}?", "Why is {name} late?", "Who is the king of {city}?", "What is the capital of France?", "How far is it to {city}?", "How big is {city}?", "When was {name} born?", "Is {name} at home?", "make me a coffee", "open the window", "close the door", "feed the cat of {name}",
    "build a {thing} for me", "What should I eat today?", "What does {name} want?", "Can pigs fly?", "read a book to {name}", "write a song about a {thing}", "buy flowers for {name}", "Which {thing} is the best?", "What is love?", "give {name} a hug", "carry the {thing}", "dance with {name}",
)  # fmt: skip
REFUSALS = ("Sorry, I have no tool for that.",)
