"""Redacts names, e-mails, phone numbers and addresses in letters."""

# --8<-- [start:class]
import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Literal

import schemagen
from schemagen import Template, text


KIND = Literal["name", "email", "phone", "address"]


def passages_of(letter):
    """Return a list of lines, each with a kind and words of the letter."""
    words = text.substring_of(letter)
    line = Template("{kind}: {words}", kind=KIND, words=words)
    return text.list_of(line, sep="\n", min=0, max=6)


# --8<-- [end:class]


# --8<-- [start:prompt]
SOLVED = {
    "Ask Joe Lund, joe@example.org, or Ann Bell, 555-0142.": (
        "name: Joe Lund\nemail: joe@example.org\n"
        "name: Ann Bell\nphone: 555-0142"
    ),
    "See you at noon on Friday.": "",
    "We met Tim Hall at 5 Oak Road, Bath.": (
        "name: Tim Hall\naddress: 5 Oak Road, Bath"
    ),
}


def prompt(letter):
    """Return a chat that has read three letters and gets the next."""
    chat = []
    for solved, answer in SOLVED.items():
        chat.append({"role": "user", "content": solved})
        chat.append({"role": "assistant", "content": answer})
    return [*chat, {"role": "user", "content": letter}]


# --8<-- [end:prompt]


# --8<-- [start:main]
DATA = Path(__file__).parents[1] / "data" / "letters.jsonl"
EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def redacted(letter, found):
    """Replace whole words, the longest passages first."""
    for each in sorted(found, key=lambda each: -len(each.words)):
        pattern = rf"(?<!\w){re.escape(each.words.strip())}(?!\w)"
        letter = re.sub(pattern, f"[{each.kind}]", letter)
    return letter


def main(lm):
    """Redact each letter, and count the leaks."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    total, left, left_by_pattern = Counter(), Counter(), 0
    for row in rows:
        letter = row["text"]
        spec = passages_of(letter)
        found = lm(prompt(letter), spec, show_schema=False, max_new_tokens=80)
        result = redacted(letter, found)
        print(result)
        for kind, passages in row["expected"].items():
            total[kind] += len(passages)
            # A passage leaks if one of its words is still there.
            left[kind] += sum(
                any(word in result for word in each.split())
                for each in passages
            )
        left_by_pattern += EMAIL.findall(letter) != row["expected"]["email"]
    for kind, count in total.items():
        print(f"{kind}: {left[kind]} of {count} still there")
    print(f"letters whose e-mails a pattern misses: {left_by_pattern}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="name or path, else the bundled one")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
# --8<-- [end:main]
