"""Every line marked with an error must be one, for mypy and for pyright."""

from __future__ import annotations

from pydantic import BaseModel

import schemagen


class Person(schemagen.Structured, BaseModel):
    name: str


def wrong(lm: schemagen.LanguageModel) -> None:
    text: str = lm("", Person)  # error: a Person is no str
    Person(nme="Ada")  # error: no such field
    Person.generate(3)  # error: a prompt is a text or a chat
    lm("")  # error: what should it be?
    del text
