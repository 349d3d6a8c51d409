"""Examples with a structure of their own: orders, lists, bookings, invoices, classification, tools, plain labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bundled_classes as classes
import bundled_words as words
from bundled_world import (
    BOOLEAN,
    COUNT_WORDS,
    DATE,
    INTEGER,
    NUMBER,
    STRING,
    Example,
    Field,
    Schema,
    Slot,
    World,
    as_field,
    build,
    choice,
    enumerate_text,
    listed,
    nullable,
    referenced,
    tell,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def plural(noun: str) -> str:
    """Return the plural of an English noun, roughly."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


def counted(w: World) -> tuple[str, str, int]:
    """Return a counted product: the whole text, the name in it, and the number."""
    noun, (text, count) = w.thing(), w.number(1, w.pick([4, 12, 60]))
    if count == 1:
        return f"{w.pick(['a', 'one', '1'])} {noun}", noun, 1
    name = plural(noun)
    return w.pick([f"{text} {name}"] * 4 + [f"{count}x {name}", f"{count} x {name}"]), name, count


def item_objects(w: World, *, priced: bool) -> tuple[str, Schema, list[dict[str, Any]]]:
    """Return some counted items: their text, the schema of one, and their values."""
    name_key, count_key = (
        w.key(("product", "name", "item", "article")),
        w.key(("quantity", "count", "amount", "number", "qty")),
    )
    price_key, flip = w.key(("price", "unit_price", "cost")), w.chance(0.25)
    count_schema = w.pick(
        [INTEGER, INTEGER, {"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1, "maximum": 99}]
    )
    texts, values = [], []
    schema: Schema = {}
    for _ in range(w.pick([1, 2, 2, 2, 3, 3, 4])):
        text, name, count = counted(w)
        cost, price = w.price()
        fields = [Field(name_key, STRING, name), Field(count_key, count_schema, count)]
        fields = [*(reversed(fields) if flip else fields), *([Field(price_key, NUMBER, price)] if priced else [])]
        schema, value = build(fields, "Item")
        texts.append(f"{text} {w.pick(['at', 'for'])} {cost}" if priced else text)
        values.append(value)
    return enumerate_text(w, texts), schema, values


def order(w: World) -> Example:
    """Make an example of an order with nested items."""
    customer, (listing, item_schema, items) = w.name(), item_objects(w, priced=w.chance(0.2))
    paid, (day, iso), rush = w.pick([True, False, None]), w.date(), w.chance(0.15)
    verb = w.pick(["ordered", "ordered", "bought", "wants", "would like", "has ordered", "is buying", "needs"])
    text = w.pick([f"{customer} {verb} {listing}"] * 6 + [f"{listing} for {customer}", f"Order from {customer}: {listing}", f"{customer}: {listing}",
                  f"New order, customer {customer}, {listing}", f"Please send {listing} to {customer}", f"Customer: {customer}. Items: {listing}"])  # fmt: skip
    text += f" on {day}" if rush else ""
    paid_text = {True: [", already paid", ", paid", " and has paid", ". Paid", ", which is paid", " (paid)", ". It is already paid", ", paid by card"],
                 False: [", not paid yet", ", not paid", ", unpaid", ". Not yet paid", " (unpaid)", ", payment is open", " and will pay later", ", still to be paid"]}  # fmt: skip
    text += w.pick(paid_text[paid]) if paid is not None else ""
    reference = {"$ref": "#/$defs/Item"}
    fields = [
        Field(w.key(("customer", "name", "buyer", "client", "customer_name")), STRING, customer),
        Field(w.key(("items", "products", "lines", "articles", "positions")), listed(reference), items),
        *(
            [Field(w.key(("paid", "is_paid", "already_paid")), BOOLEAN, paid)]
            if paid is not None and w.chance(0.9)
            else []
        ),
        *([Field(w.key(("date", "order_date", "day")), DATE, iso)] if rush else []),
    ]
    if w.chance(0.2):
        w.rng.shuffle(fields)
    schema, value = build([field for field in fields if w.chance(0.95)] or fields, "Order")
    return Example(text + w.pick([".", ".", ""]), referenced(schema, "Item", item_schema), value, "order")


def top_items(w: World) -> Example:
    """Make an example of a top-level list of objects, or of a mapping."""
    listing, schema, values = item_objects(w, priced=w.chance(0.15))
    text = (
        w.pick(["", "", "Shopping list: ", "We need ", "Please buy ", "I want ", "List: ", "In the box: "])
        + listing
        + w.pick([".", ""])
    )
    if len(schema["properties"]) == 2 and w.chance(0.25):
        pairs = [sorted(value.values(), key=lambda part: isinstance(part, int)) for value in values]
        return Example(text, {"type": "object", "additionalProperties": INTEGER}, dict(pairs), "list")
    if w.chance(0.3):
        value = {w.key(("items", "list", "things")): values}
        return Example(text, build([Field(key, listed(schema), part) for key, part in value.items()])[0], value, "list")
    return Example(
        text, {"$defs": {"Item": schema}, "items": {"$ref": "#/$defs/Item"}, "type": "array"}, values, "list"
    )


def people_list(w: World) -> Example:
    """Make an example of a list of people."""
    use_age, use_city = w.pick([(True, False), (False, True), (True, True)])
    name_key, age_key, city_key = (
        w.key(("name", "full_name", "person")),
        w.key(("age", "years")),
        w.key(("city", "town", "location")),
    )
    style, texts, values = w.between(0, 2), [], []
    schema: Schema = {}
    for _ in range(w.between(1, 3)):
        name, age, city = w.name(), w.between(1, 99), w.city()
        facts = [
            *([(f", {age}", f" is {age}", f" ({age})")] if use_age else []),
            *([(f", {city}", f" lives in {city}", f" from {city}")] if use_city else []),
        ]
        texts.append(name + (" and" if style == 1 else "").join(fact[style] for fact in facts))
        fields = [
            Field(name_key, STRING, name),
            *([Field(age_key, INTEGER, age)] if use_age else []),
            *([Field(city_key, STRING, city)] if use_city else []),
        ]
        schema, value = build(fields, "Person")
        values.append(value)
    text = w.pick(["; ", ". ", "\n"]).join(texts) if style != 2 else enumerate_text(w, texts)
    if w.chance(0.3):
        key = w.key(("people", "persons", "users", "team", "members"))
        wrapped, value = build([Field(key, listed({"$ref": "#/$defs/Person"}), values)], "Team")
        return Example(text, referenced(wrapped, "Person", schema), value, "list")
    return Example(
        text, {"$defs": {"Person": schema}, "items": {"$ref": "#/$defs/Person"}, "type": "array"}, values, "list"
    )


def word_list(w: World) -> Example:
    """Make an example of a list of words or numbers."""
    kind = w.pick(["food", "food", "city", "name", "number", "thing", "syllables", "common", "common"])
    common = w.pick([words.COLORS, words.COLORS, words.PETS, words.HOBBIES, words.JOBS, COUNT_WORDS])
    makers: dict[str, Callable[[], Any]] = {
        "food": lambda: w.word(words.FOODS), "city": w.city, "name": w.name, "number": lambda: w.between(0, 999), "thing": w.thing, "common": lambda: w.pick(common),
        "syllables": lambda: w.own(lambda: w.syllables(1, 3)),
    }  # fmt: skip
    values = list(dict.fromkeys(makers[kind]() for _ in range(w.between(1, 6))))
    schema = listed(INTEGER if kind == "number" else STRING)
    if w.chance(0.15):
        schema["maxItems"] = w.between(len(values), 8)
    listing = enumerate_text(w, [str(value) for value in values])
    text = (
        w.pick(["", "", "List: ", "We need ", "The list has ", "I like ", "Here they are: ", "Pick out the words: "])
        + listing
        + w.pick([".", ""])
    )
    if w.chance(0.5):
        return Example(text, schema, values, "list")
    fields = [Field(w.key(("items", "words", "values", "tags", "names", "entries")), schema, values)]
    if w.chance(0.3):
        fields.append(Field(w.key(("count", "total", "number", "length")), INTEGER, len(values)))
    schema, value = build(fields, "List")
    return Example(text, schema, value, "list")


def address(w: World) -> Example:
    """Make an example of an address, often nested in a person."""
    (street, number), code, city, name, country = (
        w.street(),
        w.digits(w.pick([4, 5, 5])),
        w.city(),
        w.name(),
        w.pick(words.COUNTRIES),
    )
    whole = w.chance(0.5)
    abroad = w.chance(0.3)
    where = w.pick(
        [
            f"{number} {street}, {code} {city}",
            f"{street} {number}, {code} {city}",
            f"{number} {street}, {city} {code}",
            f"{number} {street}, {city}, {code}",
        ]
    )
    where += f", {country}" if abroad else ""
    fields = [
        Field(
            w.key(("street", "street_address", "road", "line")), STRING, street if not whole else where.split(", ")[0]
        ),
        *([] if whole else [Field(w.key(("number", "house_number", "house")), INTEGER, number)]),
        Field(w.key(("zip_code", "zip", "postal_code", "postcode")), STRING, code),
        Field(w.key(("city", "town")), STRING, city),
    ]
    if w.chance(0.25):
        fields.append(Field("country", STRING if abroad else nullable(STRING), country if abroad else None))
    fields = [field for field in fields if w.chance(0.85)] or fields
    inner, value = build(fields, "Address")
    if w.chance(0.35):
        return Example(
            w.pick(["", "", "Address: ", "Ship to ", "We moved to ", "The office is at "]) + where + w.pick([".", ""]),
            inner,
            value,
            "address",
        )
    key, who = w.key(("address", "home", "location", "ship_to")), w.key(("name", "customer", "person", "full_name"))
    schema, outer = build([Field(who, STRING, name), Field(key, {"$ref": "#/$defs/Address"}, value)], "Customer")
    text = w.pick(
        [
            f"{name} lives at {where}",
            f"{name}, {where}",
            f"Send it to {name}, {where}",
            f"{name}: {where}",
            f"The address of {name} is {where}",
        ]
    )
    return Example(text + w.pick([".", ""]), referenced(schema, "Address", inner), outer, "address")


def booking(w: World) -> Example:
    """Make an example of a booking: guest, number of guests, dates, nights, price."""
    guest, (guests_text, guests), (day, iso), (nights_text, nights) = (
        w.name(),
        w.number(1, 8),
        w.date(),
        w.number(1, 30),
    )
    (price_text, price), city = (w.amount(900) if w.chance(0.4) else w.price()), w.city()
    room = w.pick(["single", "double", "suite", "family"])
    people = (
        f"{guests_text} {w.pick(['guest', 'person', 'adult'])}"
        if guests == 1
        else f"{guests_text} {w.pick(['guests', 'guests', 'people', 'persons', 'adults'])}"
    )
    stay = f"{nights_text} {'night' if nights == 1 else 'nights'}"
    parts: list[tuple[str, Field]] = [
        (w.pick([f"{people}", f"for {people}", people]), Field(w.key(("guests", "people", "persons", "party_size", "number_of_guests")), w.pick(
            [INTEGER, {"type": "integer", "minimum": 1, "maximum": w.between(8, 12)}, {"type": "integer", "minimum": 1}]), guests)),
        (w.pick([f"from {day}", f"on {day}", f"arriving {day}", f"check-in {day}", f"starting {day}"]),
         Field(w.key(("check_in", "date", "arrival", "start", "start_date", "from_date")), DATE, iso)),
        (w.pick([f"for {stay}", f"{stay}", f"staying {stay}"]), Field(w.key(("nights", "number_of_nights", "duration", "stay")), w.pick(
            [INTEGER, {"type": "integer", "minimum": 1, "maximum": w.between(30, 60)}, {"type": "integer", "exclusiveMinimum": 0}]), nights)),
        (w.pick([f"at {price_text} per night", f"{price_text} per night", f"for {price_text} a night", f"price {price_text}", f"at {price_text} each night"]),
         Field(w.key(("price", "price_per_night", "rate", "cost")), w.pick([NUMBER, {"type": "number", "exclusiveMinimum": 0}]), price)),
        (f"in {city}", Field(w.key(("city", "place", "destination")), STRING, city)),
        (w.pick([f"{room} room", f"a {room} room"]), Field(w.key(("room", "room_type", "kind")), choice(["single", "double", "suite", "family"]), room)),
    ]  # fmt: skip
    told = [part for part in parts[:4] if w.chance(0.8)] + [part for part in parts[4:] if w.chance(0.15)]
    if w.chance(0.25):
        w.rng.shuffle(told)
    head = w.pick([f"Book a room for {guest}", f"Reserve a room for {guest}", f"{guest} books a room", f"Reservation for {guest}", f"Booking for {guest}",
                   f"{guest} would like to stay", f"Book a table for {guest}", f"Please book a hotel for {guest}", guest, f"Room for {guest}", f"{guest} reserves"])  # fmt: skip
    between = w.pick([", ", ", ", " ", ", "])
    text = head + "".join((w.pick([between, " "])) + said for said, _ in told)
    fields = [
        Field(w.key(("guest", "name", "guest_name", "customer")), STRING, guest),
        *(field for _, field in told if w.chance(0.93)),
    ]
    if w.chance(0.2):
        w.rng.shuffle(fields)
    schema, value = build(fields, w.pick(["Booking", "Reservation"]))
    return Example(text + w.pick([".", ".", ""]), schema, value, "booking")


def invoice(w: World) -> Example:
    """Make an example of an invoice."""
    number = w.pick([w.digits(4), f"INV-{w.digits(3)}", f"{w.digits(4)}-{w.digits(2)}", f"R{w.digits(5)}"])
    client, (day, iso), (due, due_iso), amount = w.pick([w.company, w.name])(), w.date(), w.date(), w.amount(2000)
    code, sign = w.pick([("EUR", "€"), ("USD", "$"), ("GBP", "£")])
    money = w.pick([f"{amount[0]} {code}", f"{sign}{amount[0]}", f"{code} {amount[0]}"])
    paid = w.chance(0.5)
    slots = [
        Slot(("number", "invoice_number", "invoice", "id"), STRING, number, f"Invoice {number}", (), number),
        Slot(("customer", "client", "company", "to", "billed_to"), STRING, client, f"to {client}", (f"is for {client}", f"was sent to {client}"), client),
        Slot(("total", "amount", "sum", "price"), NUMBER, amount[1], money, (f"is over {money}", f"has a total of {money}", f"amounts to {money}")),
        Slot(("currency",), choice(["EUR", "USD", "GBP"]), code, "", (), code),
        Slot(("date", "issued", "invoice_date"), DATE, iso, f"dated {day}", (f"was issued on {day}", f"is dated {day}"), day),
        Slot(("due", "due_date", "pay_by"), DATE, due_iso, f"due {due}", (f"is due on {due}", f"must be paid by {due}"), due),
        Slot(("paid", "is_paid"), BOOLEAN, paid, "paid" if paid else "unpaid", ("is paid", "has been paid") if paid else ("is not paid", "is unpaid", "is still open"), "yes" if paid else "no"),
    ]  # fmt: skip
    told = [slots[0], *w.some([slots[1], slots[2], slots[2], *slots[4:]], 1, 4)]
    told = _distinct(told)
    text = tell(w, told, ("It", "The invoice"))
    asked = [*told, slots[3]] if slots[2] in told and w.chance(0.4) else told
    schema, value = build([as_field(w, slot) for slot in asked], "Invoice")
    return Example(text, schema, value, "invoice")


def _distinct(slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots, each once, in order."""
    return list({slot.keys: slot for slot in slots}.values())


def label_names(w: World, labels: Sequence[classes.Label]) -> list[str]:
    """Name classes, mostly each by its plainest name."""
    names = [label.names[0] if w.chance(0.6) else w.pick(label.names) for label in labels]
    return names if len(set(names)) == len(names) else [label.names[0] for label in labels]


def classified(w: World, task: classes.Task) -> tuple[str, Schema, str]:
    """Return a text, an enum of class names and the right one."""
    labels = w.some(task.labels, 2, len(task.labels))
    names, index = label_names(w, labels), w.between(0, len(labels) - 1)
    return classes.fill(w.rng, w.pick(labels[index].texts)), choice(names), names[index]


QUESTIONS = [
    "",
    "",
    "",
    "",
    "Classify: ",
    "Classify the text: ",
    "Which class is it? ",
    "What kind of text is this? ",
    "Label this: ",
    "Text: ",
]


def classify(w: World) -> Example:
    """Make an example of a plain classification, bare or in an object."""
    task = w.pick(classes.TASKS)
    text, schema, value = classified(w, task)
    prompt = w.pick(QUESTIONS) + w.shout(text)
    if w.chance(0.35):
        return Example(prompt, schema, value, "classify")
    built, obj = build([Field(w.key(task.keys), {"$ref": "#/$defs/Label"}, value)], "Result")
    return Example(prompt, referenced(built, "Label", schema), obj, "classify")


def ticket(w: World) -> Example:
    """Make an example of a support ticket: category and priority."""
    labels = w.some(classes.CATEGORY.labels[:4], 2, 4) if w.chance(0.5) else list(classes.CATEGORY.labels[:3])
    w.rng.shuffle(labels)
    names, index = label_names(w, labels), w.between(0, len(labels) - 1)
    text = classes.fill(w.rng, w.pick(labels[index].texts))
    levels = [w.pick(options) for options in w.pick(classes.PRIORITY_NAMES)]
    urgent = w.pick([True, True, False, None])
    cue = "" if urgent is None else w.pick(classes.URGENT if urgent else classes.RELAXED)
    level = levels[-1] if urgent else levels[0] if urgent is False or len(levels) == 2 else levels[1]
    if w.chance(0.4):
        levels.reverse()
    joined = (
        w.pick(
            [
                f"{text}, {cue}",
                f"{text}. {cue.capitalize()}",
                f"{cue}: {text}",
                f"{text}! {cue.capitalize()}",
                f"{text} - {cue}",
            ]
        )
        if cue
        else text
    )
    fields = [
        Field(w.key(classes.CATEGORY.keys), choice(names), names[index]),
        Field(w.key(classes.PRIORITY_KEYS), choice(levels), level),
    ]
    if w.chance(0.15):
        urgent_field = Field(w.key(("urgent", "is_urgent")), BOOLEAN, urgent is True)
        fields = [fields[0], urgent_field]
    if w.chance(0.2):
        name = w.name()
        joined = w.pick([f"{joined}. {name}", f"{name}: {joined}", f"From {name}: {joined}"])
        fields.append(Field(w.key(("name", "customer", "user", "sender")), STRING, name))
    if w.chance(0.25):
        w.rng.shuffle(fields)
    schema, value = build(fields, "Ticket")
    return Example(w.shout(joined), schema, value, "ticket")


def review(w: World) -> Example:
    """Make an example of a review: sentiment, stars, item."""
    positive = w.chance(0.5)
    label = classes.SENTIMENT.labels[0 if positive else 1]
    item = w.pick(words.REVIEWED) if w.chance(0.7) else w.thing()
    text = classes.fill(w.rng, w.pick(label.texts).replace("{item}", item))
    mentions = item in text
    told = w.chance(0.8)
    stars = w.between(4, 5) if positive else w.between(1, 2)
    stars = stars if told else (5 if positive else 1)
    number, unit = w.pick([str(stars), COUNT_WORDS[stars]]), "star" if stars == 1 else "stars"
    said = w.pick([f"{number} {unit}", f"{number} {unit}", f"{number} out of {w.pick(['5', 'five'])}", f"{number} {unit} from me", f"I give it {number} {unit}",
                   f"{stars}/5", f"rating: {stars}"])  # fmt: skip
    joined = (
        w.pick([f"{text}, {said}", f"{text}. {said}", f"{said}. {text}", f"{said}: {text}", f"{text} - {said}"])
        if told
        else text
    )
    options = label_names(w, classes.SENTIMENT.labels[:2])
    sentiment, verdict = options[0 if positive else 1], choice(w.some(options, 2, 2))
    star_schema = w.pick(
        [INTEGER, {"type": "integer", "minimum": 1, "maximum": 5}, {"type": "integer", "minimum": 1, "maximum": 5}]
    )
    fields = [
        Field(w.key(classes.SENTIMENT.keys), verdict, sentiment),
        Field(w.key(("stars", "rating", "score", "stars_given")), star_schema, stars),
        *([Field(w.key(("product", "item", "subject", "about")), STRING, item)] if mentions and w.chance(0.3) else []),
        *([Field(w.key(("recommended", "recommend", "would_recommend")), BOOLEAN, positive)] if w.chance(0.1) else []),
    ]
    if w.chance(0.25):
        w.rng.shuffle(fields)
    schema, value = build([field for field in fields if w.chance(0.9)] or fields, "Review")
    return Example(w.shout(joined), schema, value, "review")


def tool(w: World) -> Example:
    """Make an example of tool selection: a union of calls, or a name with arguments."""
    calls = [
        make(w) for make in w.some([_weather_call, _mail_call, _search_call, _timer_call, _sum_call, _play_call], 2, 3)
    ]
    index, tag, nested = w.between(0, len(calls) - 1), w.key(("tool", "name", "function", "action")), w.chance(0.4)
    branches, values = [], []
    for name, _, fields in calls:
        inside = [Field("arguments", *build(fields, "Arguments"))] if nested else list(fields)
        schema, value = build(
            [Field(tag, {"const": name, "type": "string"}, name), *inside], name.title().replace("_", "")
        )
        branches.append(schema)
        values.append(value)
    if w.chance(0.3):
        names = [name for name, _, _ in calls]
        schema, value = build([Field(tag, choice(names), names[index])], "Choice")
        return Example(calls[index][1], schema, value, "tool")
    return Example(calls[index][1], {"anyOf": branches}, values[index], "tool")


Call = tuple[str, str, list[Field]]


def _weather_call(w: World) -> Call:
    city, unit = w.city(), w.pick(["celsius", "fahrenheit"])
    text = w.pick(
        [
            f"What is the weather in {city}?",
            f"How warm is it in {city}?",
            f"Will it rain in {city}?",
            f"Weather in {city}",
            f"Is it sunny in {city} today?",
        ]
    )
    fields = [Field(w.pick(["city", "location", "place"]), STRING, city)]
    if w.chance(0.2):
        text, fields = (
            f"{text.rstrip('?')} in {unit}?",
            [*fields, Field("unit", choice(["celsius", "fahrenheit"]), unit)],
        )
    return w.pick(["get_weather", "weather", "forecast"]), text, fields


def _mail_call(w: World) -> Call:
    to, subject = w.pick([w.email, w.first])(), f"{w.word(words.ADJECTIVES)} {w.word(words.TOPIC_WORDS)}"
    text = w.pick(
        [
            f"Send an email to {to} about {subject}",
            f"Write {to} a mail about {subject}",
            f"Mail {to} about {subject}",
            f"Email {to} about {subject}",
        ]
    )
    return w.pick(["send_email", "email", "send_mail"]), text + w.pick(["", "."]), [
        Field(w.pick(["to", "recipient"]), STRING, to), Field(w.pick(["subject", "about"]), STRING, subject)]  # fmt: skip


def _search_call(w: World) -> Call:
    query = w.pick([w.title(), f"{w.word(words.TOPIC_WORDS)} in {w.city()}", w.name(), w.company()])
    text = w.pick(
        [f"Search for {query}", f"Look up {query}", f"Find {query}", f"Search the web for {query}", f"Google {query}"]
    )
    return (
        w.pick(["search", "web_search", "search_web"]),
        text + w.pick(["", "."]),
        [Field(w.pick(["query", "q", "text"]), STRING, query)],
    )


def _timer_call(w: World) -> Call:
    text, minutes = w.number(1, 90)
    said = w.pick(
        [
            f"Set a timer for {text} minutes",
            f"Wake me in {text} minutes",
            f"Timer, {text} minutes",
            f"Remind me in {text} minutes",
        ]
    )
    return (
        w.pick(["set_timer", "timer", "start_timer"]),
        said + w.pick(["", "."]),
        [Field(w.pick(["minutes", "duration"]), INTEGER, minutes)],
    )


def _sum_call(w: World) -> Call:
    a, b = w.between(0, 999), w.between(0, 999)
    text = w.pick([f"What is {a} plus {b}?", f"Add {a} and {b}", f"Calculate {a} + {b}", f"How much is {a} + {b}?"])
    return (
        w.pick(["add", "calculator", "sum"]),
        text,
        [Field(w.pick(["a", "x"]), INTEGER, a), Field(w.pick(["b", "y"]), INTEGER, b)],
    )


def _play_call(w: World) -> Call:
    song, artist = w.title(), w.name()
    return w.pick(["play_music", "play", "play_song"]), w.pick([f"Play {song} by {artist}", f"Put on {song} by {artist}"]) + w.pick(["", "."]), [
        Field(w.pick(["song", "title", "track"]), STRING, song), Field("artist", STRING, artist)]  # fmt: skip


def yes_no(w: World) -> Example:
    """Make an example of a yes/no question about a short text, or of a bare answer."""
    yes, name, thing = w.chance(0.5), w.name(), w.thing()
    no = "" if yes else "not "
    facts = [
        (f"{name} is {no}married. Is {name} married?",), (f"The {thing} is {no}in stock. Is it available?",), (f"The order was {no}paid. Is it paid?",),
        (f"{'Yes' if yes else 'No'}, {w.pick(['I agree', 'that is right', 'go ahead']) if yes else w.pick(['I do not agree', 'that is wrong', 'stop'])}.",),
        (f"{w.pick(['Sure', 'Of course', 'Yes please', 'Yes', 'Absolutely', 'OK']) if yes else w.pick(['No thanks', 'No', 'Never', 'Not today', 'No way', 'Nope'])}!",),
        (f"{name} is {no}coming to the {w.pick(words.EVENTS)}. Is {name} coming?",), (f"The {thing} is {no}{w.pick(words.COLORS)}. Is that so?",),
    ]  # fmt: skip
    text = w.pick(facts)[0]
    form = w.between(0, 3)
    if form == 0:
        return Example(text, BOOLEAN, yes, "yes_no")
    if form == 1:
        options = w.pick([["yes", "no"], ["no", "yes"], ["Yes", "No"]])
        return Example(text, choice(options), next(o for o in options if (o.lower() == "yes") == yes), "yes_no")
    key = w.key(("answer", "result", "yes", "value", "ok", "confirmed", "agrees"))
    schema, value = build([Field(key, BOOLEAN, yes)], "Answer")
    return Example(text, schema, value, "yes_no")


def bare(w: World) -> Example:
    """Make an example of a bare string or number at the top level."""
    (text, value), name, city, thing = w.number(1, 99), w.name(), w.city(), w.thing()
    options: list[tuple[str, Schema, Any]] = [
        (f"{name} has {text} {plural(thing)}. How many?", INTEGER, value),
        (f"There are {text} {w.pick(['people', 'guests', 'chairs', 'rooms'])} in {city}.", INTEGER, value),
        (f"My name is {name}.", STRING, name), (f"Who is it? It is {name}.", STRING, name), (f"Which city? {name} lives in {city}.", STRING, city),
        (w.shout(f"the {thing} costs {(price := w.price())[0]}"), NUMBER, price[1]), ((day := w.date())[0], DATE, day[1]),
        (f"We meet on {(when := w.date())[0]}.", DATE, when[1]),
    ]  # fmt: skip
    prompt, schema, result = w.pick(options)
    return Example(prompt, schema, result, "bare")


_LABELS = sorted({*words.NOUNS, *words.EVENTS, *words.TOPIC_WORDS, *words.PRODUCTS, *words.PETS})


def _value(w: World) -> tuple[str, Schema, Any]:
    """Return a random value: its text, its schema and the value."""
    kind = w.between(0, 9)
    if kind <= 1:
        number = w.between(-20 if w.chance(0.1) else 0, w.pick([9, 99, 9999]))
        return str(number), INTEGER, number
    if kind == 2:
        return (amount := w.amount())[0], NUMBER, amount[1]
    if kind == 3:
        yes = w.chance(0.5)
        return (w.pick(["yes", "true"]) if yes else w.pick(["no", "false"])), BOOLEAN, yes
    if kind == 4:
        return (day := w.date())[0], DATE, day[1]
    if kind == 5:
        options = [w.own(lambda: w.syllables(1, 2)) for _ in range(w.between(2, 4))]
        picked = w.pick(options)
        return picked, choice(list(dict.fromkeys(options))), picked
    maker = w.pick([w.name, w.city, w.title, w.thing, lambda: w.own(lambda: w.syllables(1, 3)), w.email, w.company])
    text = maker()
    return text, STRING, text


def labelled(w: World) -> Example:
    """Make an example of arbitrary labels and values in one of several layouts."""
    count = w.pick([1, 2, 2, 3, 3, 4])
    pool = _LABELS if w.chance(0.7) else [w.own(lambda: w.syllables(1, 2)) for _ in range(8)] + list("abxyz")
    keys = w.some(list(dict.fromkeys(pool)), count, count)
    facts = [(key, *_value(w)) for key in keys]
    layout = w.pick(["{}: {}", "{}: {}", "{} = {}", "{} is {}", "the {} is {}", "{} {}", "- {}: {}"])
    between = "\n" if layout.startswith("-") else w.pick([", ", "; ", "\n", " and ", ", "])
    told = list(facts)
    w.rng.shuffle(told)
    text = w.pick(["", "", "", "Extract: "]) + between.join(layout.format(key, said) for key, said, _, _ in told)
    fields = [Field(key, schema, value) for key, _, schema, value in facts if w.chance(0.85)]
    schema, value = build(fields or [Field(facts[0][0], facts[0][2], facts[0][3])], w.syllables(1, 2).title())
    return Example(text + w.pick(["", "", "."]), schema, value, "labelled")


def pick_mentioned(w: World) -> Example:
    """Make an example in which the text names one of the allowed options, whatever they are."""
    pool: Sequence[str] = w.pick(
        [
            words.COLORS,
            words.CITIES,
            words.JOBS,
            words.LANGUAGES,
            words.PETS,
            words.COUNTRIES,
            words.HOBBIES,
            words.FOODS,
        ]
    )
    options = w.some(pool, 2, 5)
    said = w.pick(options)
    text = w.pick([f"I like {said} best", f"I choose {said}", f"The answer is {said}", f"{w.name()} prefers {said}", f"{said}, please", f"We talked about {said}",
                   f"Not sure, maybe {said}", f"It has to be {said}", said])  # fmt: skip
    schema = choice(options)
    if w.chance(0.3):
        return Example(w.shout(text), schema, said, "choice")
    built, value = build(
        [Field(w.key(("choice", "answer", "option", "pick", "favorite", "selected")), schema, said)], "Choice"
    )
    return Example(w.shout(text), built, value, "choice")
