"""Examples about one thing with many facts: a person, an event, a product, a book, a car ..."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bundled_words as words
from bundled_world import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    STRING,
    TIME,
    Example,
    Field,
    Slot,
    World,
    as_field,
    build,
    choice,
    entity,
    enumerate_text,
    listed,
    nullable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def person_slots(w: World) -> list[Slot]:
    """Return what may be known about a person."""
    name, city, job = w.name(), w.city(), w.word(words.JOBS)
    country, hobbies = w.pick(words.COUNTRIES), w.several(words.HOBBIES, 1, 3)
    age, (born, born_iso), email, phone = w.between(1, 99), w.date(), w.email(name), w.phone()
    married, (kids, children) = w.chance(0.5), w.number(1, 6)
    age_schema = w.pick(
        [
            INTEGER,
            INTEGER,
            INTEGER,
            {"type": "integer", "minimum": 0},
            {"type": "integer", "minimum": 0, "maximum": 150},
        ]
    )
    interests = enumerate_text(w, hobbies)
    return [
        Slot(("name", "full_name", "person", "who"), STRING, name, name, (), note="The person's name"),
        Slot(("age", "years", "age_years"), age_schema, age, w.pick([str(age)] * 5 + [f"{age} years old", f"aged {age}", f"age {age}"]), (f"is {age}", f"is {age} years old", f"turned {age}", f"has the age of {age}"),
             note="Age in years"),
        Slot(("city", "town", "lives_in", "location", "home"), STRING, city, city,
             (f"lives in {city}", f"is from {city}", f"moved to {city}", f"comes from {city}", f"is based in {city}"), note="Where they live"),
        Slot(("job", "occupation", "profession", "role"), STRING, job, job, (f"works as a {job}", f"is a {job}", f"has a job as {job}", f"became a {job}")),
        Slot(("country", "nation"), STRING, country, "", (f"has a passport from {country}", f"is a citizen of {country}"), country),
        Slot(("born", "birth_date", "birthday", "date_of_birth"), DATE, born_iso, f"born {born}", (f"was born on {born}", f"has a birthday on {born}"), born),
        Slot(("email", "mail", "email_address"), STRING, email, email, (f"can be reached at {email}", f"uses {email}", f"has the email {email}")),
        Slot(("phone", "telephone", "phone_number", "mobile"), STRING, phone, "", (f"can be called at {phone}", f"has the phone number {phone}"), phone),
        Slot(("married", "is_married"), BOOLEAN, married, "married" if married else "single",
             ("is married", "has married") if married else ("is single", "is not married"), "yes" if married else "no"),
        Slot(("children", "kids", "number_of_children"), INTEGER, children, f"{kids} children", (f"has {kids} children", f"has {kids} kids"), kids),
        Slot(("hobbies", "interests", "likes"), listed(STRING), hobbies, "", (f"likes {interests}", f"enjoys {interests}", f"loves {interests}"), interests),
    ]  # fmt: skip


def person(w: World) -> Example:
    """Make an example about a person."""
    slots = person_slots(w)
    if w.chance(0.35):  # The most common request by far.
        slots = slots[:4]
    return entity(
        w, slots, w.pick([("He",), ("She",), ("They",)]), w.pick(["Person", "User", "Profile", "Employee"]), "person"
    )


def introduction(w: World) -> Example:
    """Make an example in which a person is introduced, or speaks."""
    name, age, city, job = w.name(), w.between(1, 99), w.city(), w.word(words.JOBS)
    text, slots = w.pick([
        (f"{age}-year-old {name} from {city}", "nac"), (f"{name} ({age}) lives in {city}", "nac"), (f"{name} ({age}), {job}", "naj"),
        (f"I am {name}, {age} years old, from {city}", "nac"), (f"My name is {name}, I'm {age} and I live in {city}", "nac"),
        (f"Hi, I'm {name} and I work as a {job} in {city}", "ncj"), (f"{name}, a {age}-year-old {job} from {city}", "nacj"),
        (f"In {city} lives a {job} called {name}", "ncj"), (f"The {job} {name} turned {age} today", "naj"), (f"{name} from {city}, {job}, {age}", "nacj"),
        (f"{name}, {age}, is a {job} from {city}", "nacj"), (f"At {age}, {name} moved to {city}", "nac"), (f"My name is {name} and I am {age}", "na"),
        (f"A {job} from {city}: {name}", "ncj"), (f"{name}, {age}", "na"), (f"{name}, {age}, {city}", "nac"), (f"{name}, {age}, {city}", "na"), (f"{name}, {city}, {age}", "nac"), (f"{name}, {city}", "nc"), (f"{name} from {city}", "nc"),
    ])  # fmt: skip
    known = {"n": (("name", "full_name", "person", "who"), STRING, name), "a": (("age", "years"), INTEGER, age),
             "c": (("city", "town", "location", "home"), STRING, city), "j": (("job", "occupation", "profession", "role"), STRING, job)}  # fmt: skip
    fields = [Field(w.key(known[slot][0]), *known[slot][1:]) for slot in slots if w.chance(0.9)] or [
        Field("name", STRING, name)
    ]
    if w.chance(0.25):
        w.rng.shuffle(fields)
    schema, value = build(fields, w.pick(["Person", "User", "Profile"]))
    return Example(w.shout(text), schema, value, "person")


def point(w: World) -> Example:
    """Make an example of coordinates: an object, a tuple or a list of them."""
    decimal = w.chance(0.4)
    kind, names = (NUMBER if decimal else INTEGER), w.pick(["xy", "xy", "xyz", "ab"])
    said = [f"{w.between(-9, 99)}.{w.between(1, 9)}" if decimal else str(w.between(-9, 120)) for _ in names]
    values = [float(number) if decimal else int(number) for number in said]
    listing = ", ".join(said)
    named = enumerate_text(
        w, [w.pick(["{} is {}", "{} = {}", "{}={}"]).format(*pair) for pair in zip(names, said, strict=True)]
    )
    if w.chance(0.4):
        size = len(said)
        schema = {"maxItems": size, "minItems": size, "prefixItems": [kind] * size, "type": "array"}
        schema = schema if w.chance(0.6) else listed(kind)
        return Example(
            w.pick(
                [f"({listing})", f"The point is at ({listing})", f"Go to {listing}", f"Coordinates: {listing}", named]
            ),
            schema,
            values,
            "point",
        )
    built, value = build([Field(*field) for field in zip(names, [kind] * len(said), values, strict=True)], "Point")
    return Example(
        w.pick([named, named, f"The point is at ({listing})", f"({listing})", f"Go to {listing}"]) + w.pick(["", "."]),
        built,
        value,
        "point",
    )


def contact(w: World) -> Example:
    """Make an example about how to reach somebody."""
    name, email, phone = w.name(), w.email(), w.phone()
    email = w.email(name) if w.chance(0.7) else email
    has_email, has_phone = w.pick([(True, False), (False, True), (True, True), (True, True), (False, False)])
    ways = [*([email] if has_email else []), *([phone] if has_phone else [])]
    if w.chance(0.3):
        ways.reverse()
    way = w.pick([" or ", " and ", ", "]).join(ways)
    if ways:
        text = w.pick([f"Reach {name} at {way}", f"Contact {name}: {way}", f"{name}, {way}", f"You can reach {name} at {way}", f"Write to {name} at {way}",
                       f"Call {name} on {way}", f"{name} ({way})", f"My name is {name} and you can find me at {way}", f"{way} is the contact of {name}",
                       f"{name} <{way}>", f"Please get in touch with {name}, {way}", f"Ask {name} ({way})", f"Send it to {name} at {way}",
                       f"The best way to contact {name} is {way}", f"Name: {name}, contact: {way}"])  # fmt: skip
    else:
        text = w.pick(
            [
                f"Please ask {name}",
                f"{name} has no phone and no email",
                f"I met {name} yesterday",
                f"{name}, address unknown",
                name,
            ]
        )
    optional = w.chance(0.75) or not (has_email and has_phone)
    wrap = nullable if optional else dict
    fields = [
        Field(w.key(("name", "full_name", "person", "contact")), STRING, name),
        Field(
            w.key(("email", "mail", "email_address")),
            wrap(STRING),
            email if has_email else None,
            not optional or w.chance(0.5),
        ),
        Field(
            w.key(("phone", "telephone", "phone_number")),
            wrap(STRING),
            phone if has_phone else None,
            not optional or w.chance(0.5),
        ),
    ]
    if w.chance(0.3):
        w.rng.shuffle(fields)
    schema, value = build(fields[: w.pick([2, 3, 3, 3])], "Contact")
    return Example(text + w.pick([".", ".", ""]), schema, value, "contact")


def event(w: World) -> Example:
    """Make an example about an event."""
    kind, topic, city = w.pick(words.EVENTS), w.word(words.TOPIC_WORDS), w.city()
    title = w.pick(
        [f"{topic.capitalize()} {kind}", f"{kind.capitalize()}", f"{w.last()} {kind}", f"{topic.capitalize()} {kind}"]
    )
    (day, iso), (clock, hhmm), people = w.date(), w.time(), [w.first() for _ in range(w.between(1, 3))]
    (seats, places), online = w.number(2, 300), w.chance(0.5)
    with_ = enumerate_text(w, people)
    clock_schema, clock_value = w.pick([(STRING, hhmm), (TIME, f"{hhmm}:00")])
    slots = [
        Slot(("title", "event", "name", "what"), STRING, title, title, ()),
        Slot(("date", "day", "when", "on"), DATE, iso, day, (f"takes place on {day}", f"is on {day}", f"starts on {day}", f"was moved to {day}"), note="The day"),
        Slot(("city", "place", "location", "where", "venue"), STRING, city, city, (f"takes place in {city}", f"is held in {city}", f"will be in {city}")),
        Slot(("time", "start", "start_time"), clock_schema, clock_value, f"at {clock}", (f"begins at {clock}", f"starts at {clock}", f"is at {clock}"), clock),
        Slot(("attendees", "people", "participants", "guests", "with"), listed(STRING), people, f"with {with_}", (f"is with {with_}", f"is for {with_}"), with_),
        Slot(("seats", "capacity", "places", "max_people"), INTEGER, places, f"{seats} seats", (f"has {seats} seats", f"has room for {seats} people"), seats),
        Slot(("online", "remote", "virtual"), BOOLEAN, online, "online" if online else "in person",
             ("is online", "is held online") if online else ("is in person", "is not online"), "yes" if online else "no"),
    ]  # fmt: skip
    if w.chance(0.4):
        return meeting(w, title, slots)
    return entity(w, slots, ("It", "The event"), "Event", "event")


def meeting(w: World, title: str, slots: Sequence[Slot]) -> Example:
    """Make an example of an appointment: 'Meeting with Ann and Bob on 3 May 2024 at 14:30 in Rome'."""
    told = [slot for slot in slots[1:5] if w.chance(0.7)] or [slots[1]]
    lead = {1: "on", 2: "in", 3: "", 4: ""}
    parts = [f"{lead[slots.index(slot)]} {slot.terse}".strip() for slot in told]
    w.rng.shuffle(parts)
    text = w.pick(["", "", "Schedule: ", "Plan ", "Add to the calendar: ", "Remember: "]) + " ".join([title, *parts])
    fields = [as_field(w, slot) for slot in [slots[0], *told]]
    schema, value = build(fields, "Meeting")
    return Example(text + w.pick(["", ".", "."]), schema, value, "event")


def product(w: World) -> Example:
    """Make an example about a product."""
    name, color, brand = w.thing(), w.pick(words.COLORS), w.company()
    (cost, price), stock, (left, count) = w.price(), w.chance(0.5), w.number(1, 200)
    weight, kilos = w.amount(20)
    tags = w.several(words.ADJECTIVES, 1, 3)
    tag_text = enumerate_text(w, tags)
    price_schema = w.pick([NUMBER, NUMBER, {"type": "number", "minimum": 0}, {"type": "number", "exclusiveMinimum": 0}])
    slots = [
        Slot(("name", "product", "title", "item"), STRING, name, name, ()),
        Slot(("price", "cost", "amount", "unit_price"), price_schema, price, cost, (f"costs {cost}", f"is sold for {cost}", f"has a price of {cost}")),
        Slot(("color", "colour"), w.pick([STRING, choice(sorted({color, *w.some(words.COLORS, 1, 4)}))]), color, color,
             (f"comes in {color}", f"has the color {color}")),
        Slot(("brand", "maker", "manufacturer", "company"), STRING, brand, brand, (f"is made by {brand}", f"comes from {brand}")),
        Slot(("in_stock", "available", "is_available"), BOOLEAN, stock, "in stock" if stock else "sold out",
             ("is in stock", "is available") if stock else ("is sold out", "is out of stock", "is not available"), "yes" if stock else "no"),
        Slot(("quantity", "stock", "count", "units"), INTEGER, count, f"{left} left", (f"has {left} units left", f"has a stock of {left}"), left),
        Slot(("weight", "weight_kg", "kg"), NUMBER, kilos, f"{weight} kg", (f"weighs {weight} kg",), f"{weight} kg"),
        Slot(("tags", "keywords", "labels"), listed(STRING), tags, "", (f"is tagged {tag_text}", f"has the tags {tag_text}"), tag_text),
    ]  # fmt: skip
    return entity(w, slots, ("It", "The product"), "Product", "product")


def work(w: World) -> Example:
    """Make an example about a book or a film."""
    title, author, year = w.title(), w.name(), w.between(1900, 2026)
    genre, pages = w.pick(words.GENRES), w.between(40, 1200)
    text, stars = w.number(1, 5)
    rating = f"{w.between(1, 9)}.{w.between(1, 9)}"
    rated = float(rating)
    genre_schema = w.pick([STRING, choice(sorted({genre, *w.some(words.GENRES, 1, 4)}))])
    slots = [
        Slot(("title", "name", "book", "movie", "film"), STRING, title, title, ()),
        Slot(("author", "director", "writer", "by"), STRING, author, f"by {author}", (f"was written by {author}", f"is by {author}", f"was made by {author}"), author),
        Slot(("year", "released", "published"), INTEGER, year, str(year), (f"came out in {year}", f"is from {year}", f"was published in {year}")),
        Slot(("genre", "kind", "type", "category"), genre_schema, genre, genre, (f"is a {genre}", f"belongs to {genre}")),
        Slot(("pages", "length", "page_count"), INTEGER, pages, f"{pages} pages", (f"has {pages} pages",)),
        Slot(("rating", "score"), NUMBER, rated, f"rated {rating}", (f"has a rating of {rating}", f"is rated {rating}"), rating),
        Slot(("stars",), {"type": "integer", "minimum": 1, "maximum": 5}, stars, f"{text} stars", (f"got {text} stars", f"has {text} stars"), text),
    ]  # fmt: skip
    return entity(w, slots, ("It", "The work"), w.pick(["Book", "Movie"]), "work")


def various(w: World) -> Example:
    """Make an example about a pet, a flight, a recipe, a company, a city or the weather."""
    return w.pick([_pet, _flight, _recipe, _company, _weather, _car])(w)


def _pet(w: World) -> Example:
    name, kind, (age, years), owner = w.first(), w.pick(words.PETS), w.number(1, 19), w.name()
    color, kind_options = w.pick(words.COLORS), w.some(words.PETS, 1, 4)
    slots = [
        Slot(("name", "pet", "pet_name"), STRING, name, name, ()),
        Slot(
            ("species", "kind", "animal", "type"),
            w.pick([STRING, choice(sorted({kind, *kind_options}))]),
            kind,
            kind,
            (f"is a {kind}",),
        ),
        Slot(("age", "years"), INTEGER, years, f"{age} years", (f"is {age} years old", f"is {age}"), age),
        Slot(
            ("owner", "keeper"),
            STRING,
            owner,
            f"owned by {owner}",
            (f"belongs to {owner}", f"lives with {owner}"),
            owner,
        ),
        Slot(("color", "colour"), STRING, color, color, (f"has {color} fur", f"is {color}")),
    ]
    return entity(w, slots, ("It", "He", "She"), "Pet", "various")


def _flight(w: World) -> Example:
    origin, target, (day, iso), (price_text, price) = w.city(), w.city(), w.date(), w.price()
    number = f"{w.pick('ABKLSU')}{w.pick('ABFHXZ')}{w.digits(3)}"
    parts = [
        f"from {origin} to {target}",
        *([f"on {day}"] if (dated := w.chance(0.7)) else []),
        *([f"for {price_text}"] if (priced := w.chance(0.4)) else []),
    ]
    coded = w.chance(0.3)
    head = w.pick(["Flight", "Train", "Bus", "Trip", "A flight"]) if not coded else f"Flight {number}"
    text = w.pick(["", "", "I need a ticket: ", "Book: ", "Please book: "]) + " ".join([head, *parts])
    fields = [
        Field(w.key(("origin", "from_city", "departure", "start")), STRING, origin),
        Field(w.key(("destination", "to_city", "arrival", "target")), STRING, target),
        *([Field(w.key(("date", "day", "departure_date")), DATE, iso)] if dated else []),
        *([Field(w.key(("price", "fare", "cost")), NUMBER, price)] if priced else []),
        *([Field(w.key(("flight", "number", "flight_number", "code")), STRING, number)] if coded else []),
    ]
    if w.chance(0.3):
        w.rng.shuffle(fields)
    schema, value = build(fields, w.pick(["Flight", "Trip", "Route"]))
    return Example(text + w.pick([".", ""]), schema, value, "various")


def _recipe(w: World) -> Example:
    foods, title = (
        w.several(words.FOODS, 2, 5),
        f"{w.word(words.FOODS)} {w.pick(['soup', 'cake', 'salad', 'pie', 'stew', 'bread', 'curry'])}",
    )
    (minutes_text, minutes), (people_text, people), vegan = w.number(5, 120), w.number(1, 12), w.chance(0.5)
    listing = enumerate_text(w, foods)
    slots = [
        Slot(("title", "name", "dish", "recipe"), STRING, title, title, ()),
        Slot(("ingredients", "needs", "foods"), listed(STRING), foods, "", (f"needs {listing}", f"is made with {listing}", f"contains {listing}"), listing),
        Slot(("minutes", "time_minutes", "duration"), INTEGER, minutes, f"{minutes_text} minutes", (f"takes {minutes_text} minutes", f"is ready in {minutes_text} minutes")),
        Slot(("servings", "serves", "people"), INTEGER, people, f"serves {people_text}", (f"serves {people_text}", f"is enough for {people_text} people"), people_text),
        Slot(("vegan", "is_vegan"), BOOLEAN, vegan, "vegan" if vegan else "not vegan", ("is vegan",) if vegan else ("is not vegan",), "yes" if vegan else "no"),
    ]  # fmt: skip
    return entity(w, slots, ("It", "The dish"), "Recipe", "various")


def _company(w: World) -> Example:
    name, city, boss, year, (staff_text, staff) = (
        w.company(),
        w.city(),
        w.name(),
        w.between(1850, 2026),
        w.number(2, 5000),
    )
    slots = [
        Slot(("name", "company", "organization", "firm"), STRING, name, name, ()),
        Slot(("city", "headquarters", "location", "based_in"), STRING, city, city, (f"is based in {city}", f"has its office in {city}")),
        Slot(("ceo", "founder", "boss", "head"), STRING, boss, f"led by {boss}", (f"is led by {boss}", f"was founded by {boss}"), boss),
        Slot(("founded", "year", "since"), INTEGER, year, f"founded {year}", (f"was founded in {year}", f"exists since {year}"), str(year)),
        Slot(("employees", "staff", "headcount"), INTEGER, staff, f"{staff_text} employees", (f"has {staff_text} employees", f"employs {staff_text} people"), staff_text),
    ]  # fmt: skip
    return entity(w, slots, ("It", "The company"), "Company", "various")


def _weather(w: World) -> Example:
    city, degrees, sky, wind = (
        w.city(),
        w.between(-25, 42),
        w.pick(["sunny", "cloudy", "rainy", "snowy", "foggy", "stormy", "windy"]),
        w.between(1, 90),
    )
    slots = [
        Slot(("city", "place", "location"), STRING, city, city, ()),
        Slot(("temperature", "degrees", "celsius", "temp"), w.pick([INTEGER, NUMBER]), degrees, f"{degrees} degrees", (f"has {degrees} degrees", f"is at {degrees} degrees")),
        Slot(("condition", "sky", "weather"), w.pick([STRING, choice(sorted({sky, *w.some(["sunny", "cloudy", "rainy", "snowy", "foggy"], 1, 3)}))]),
             sky, sky, (f"is {sky}", f"will be {sky}")),
        Slot(("wind", "wind_kmh", "wind_speed"), INTEGER, wind, f"wind {wind} km/h", (f"has wind of {wind} km/h",), f"{wind} km/h"),
    ]  # fmt: skip
    slots = [
        slot if slot.schema != NUMBER else Slot(slot.keys, NUMBER, float(degrees), slot.terse, slot.clauses)
        for slot in slots
    ]
    return entity(w, slots, ("It", "The city"), "Weather", "various")


def _car(w: World) -> Example:
    brand, year, color, (cost, price), electric, km = (
        w.pick(words.CARS),
        w.between(1960, 2026),
        w.pick(words.COLORS),
        w.price(),
        w.chance(0.5),
        w.between(10, 200000),
    )
    slots = [
        Slot(("brand", "make", "car", "model"), STRING, brand, brand, ()),
        Slot(("year", "built"), INTEGER, year, str(year), (f"was built in {year}", f"is from {year}")),
        Slot(("color", "colour"), STRING, color, color, (f"is {color}",)),
        Slot(("price", "cost"), NUMBER, price, "", (f"costs {cost}", f"is for sale at {cost}"), cost),
        Slot(("electric", "is_electric"), BOOLEAN, electric, "electric" if electric else "diesel", ("is electric",) if electric else ("is a diesel", "is not electric"),
             "yes" if electric else "no"),
        Slot(("mileage", "kilometers", "km"), INTEGER, km, f"{km} km", (f"has {km} km on the clock", f"drove {km} km")),
    ]  # fmt: skip
    return entity(w, slots, ("It", "The car"), "Car", "various")
