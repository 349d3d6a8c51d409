"""Answers that are not JSON: one person in four formats, and in a sentence with holes.

A model that has seen these formats writes `Person` in each of them (`--model`). The bundled one reads English into JSON and
has never seen another format. So here it gets a class with one instance, the person that it has found, and can write no other.
"""

import argparse
from typing import Any, Literal, cast

from pydantic import BaseModel, create_model

import schemagen
from schemagen import Template


class Person(BaseModel):
    """Somebody, as far as one line of text tells."""

    name: str
    age: int
    city: str


def only(found: BaseModel) -> type[BaseModel]:
    """Return a class of the same name whose one instance has the values of this one."""
    members: dict[str, Any] = {name: (Literal[value], ...) for name, value in found}
    return cast("type[BaseModel]", create_model(type(found).__name__, **members))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("line", nargs="?", default="Ada Lovelace, 36, London")
parser.add_argument("--model", help="name or folder of a transformers model; without it, the bundled one")
args = parser.parse_args()
lm = schemagen.load(args.model) if args.model else schemagen.load_bundled()

person = lm(args.line, Person)
kind = Person if args.model else only(person)
for as_ in ("json", "yaml", "python", "xml"):
    answer = lm.run(args.line, kind, as_=as_)
    print(f"{as_}:\n{answer.text}\n")  # answer.value is a Person, whatever the format

sentence = Template("{name} is {age} years old and lives in {city}.", kind)
print(lm.run(args.line, sentence).text)
