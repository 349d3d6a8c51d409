"""From a sentence to an instance of a class, with the model that comes with the package."""

from pydantic import BaseModel

import schemagen


@schemagen.structured
class Person(BaseModel):
    """Somebody, as far as one line of text tells."""

    name: str
    age: int
    city: str


person = Person.generate("Ada Lovelace, 36, London")
print(repr(person))
print(f"{person.name} will be {person.age + 1} next year")
