"""Finds named entities: persons, organisations and places in sentences."""

# --8<-- [start:class]
import argparse
import json
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, create_model

import schemagen


KINDS = ("person", "organisation", "place")


def entities_of(sentence):
    """Return a class whose values are runs of 1 to 3 words of a sentence."""
    words = re.findall(r"[\w'-]+", sentence)
    runs = {
        " ".join(words[first : first + length])
        for first in range(len(words))
        for length in (1, 2, 3)
    }
    run = Literal[tuple(sorted(each for each in runs if each in sentence))]
    some = Annotated[list[run], Field(max_length=3)]
    return create_model("Entities", **dict.fromkeys(KINDS, (some, ...)))


# --8<-- [end:class]


# --8<-- [start:prompt]
SOLVED = {
    "Apple hired Tim Cook in Houston.": '{"person": ["Tim Cook"], '
    '"organisation": ["Apple"], "place": ["Houston"]}',
    "Rome and Oslo were sunny.": '{"person": [], "organisation": [], '
    '"place": ["Rome", "Oslo"]}',
}


def prompt(sentence):
    """Return a chat that has read two sentences and gets the next."""
    chat = []
    for solved, answer in SOLVED.items():
        chat.append({"role": "user", "content": solved})
        chat.append({"role": "assistant", "content": answer})
    return [*chat, {"role": "user", "content": sentence}]


# --8<-- [end:prompt]


# --8<-- [start:main]
DATA = Path(__file__).parents[1] / "data" / "news.jsonl"


def main(lm):
    """Find the entities of each sentence, and compare with the right ones."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    given, wanted = set(), set()
    for number, row in enumerate(rows):
        sentence = row["text"]
        kind_of = entities_of(sentence)
        found = lm(prompt(sentence), kind_of, show_schema=False)
        print(sentence)
        for kind, names in found:
            if names:
                print(f"    {kind}: {', '.join(names)}")
            given |= {(number, kind, name) for name in names}
            wanted |= {(number, kind, name) for name in row["expected"][kind]}
    right = len(given & wanted)
    print(f"{right} of {len(given)} answers are right (precision)")
    print(f"{right} of {len(wanted)} entities were found (recall)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="name or path, else the bundled one")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
# --8<-- [end:main]
