"""Every line marked with an error must be one, for mypy and for pyright."""

from __future__ import annotations

from pydantic import BaseModel

import schemagen


class Person(schemagen.Structured, BaseModel):
    name: str


@schemagen.tool
def get_weather(city: str) -> str:
    return city


def wrong(lm: schemagen.LanguageModel) -> None:
    text: str = lm("", Person)  # error: a Person is no str
    Person(nme="Ada")  # error: no such field
    Person.generate(3)  # error: a prompt is a text or a chat
    lm("")  # error: what should it be?
    lm.batch([""])  # error: what should they be?
    lm.stream("")  # error: what should it be?
    lm.classify("")  # error: one of what?
    lm.classify("", bool, top_k=3)  # error: nothing is drawn
    lm.call("")  # error: a call of what?
    lm.acall("")  # error: a call of what?
    schemagen.Generator(lm)  # error: of what?
    lm("", Person, max_tokens=9)  # error: the name of another library
    Person.generate("", max_new_token=9)  # error: misspelt
    schemagen.structured(max_tokens=9)  # error: the name of another library
    lm.call("", [get_weather], tool_choise="none")  # error: misspelt
    lm.stream("", Person, retries=1)  # error: a stream has no retries
    person: Person = lm.run("", Person)  # error: it is a record
    get_weather(3)  # error: a city is a text
    call: schemagen.ToolCall = lm.call("", [get_weather])  # error: it may be words
    del text, call, person
