"""Quotes the complaint in a review: the words must occur in the review."""

# --8<-- [start:class]
import argparse
import json
import re
from collections import Counter
from pathlib import Path

import schemagen
from schemagen import text


def any_words(review):
    """Allow any passage of the review."""
    return text.substring_of(review)


def one_sentence(review):
    """Allow one whole sentence of the review."""
    return text.one_of_lines(re.sub(r"(?<=\.) ", "\n", review))


# --8<-- [end:class]


# --8<-- [start:prompt]
QUESTION = "\n\nQuote the words that complain about something."
SOLVED = "The soup was cold. The waiter was kind." + QUESTION


def prompt(review):
    """Show the model one solved review before the one that it has to read."""
    return [
        {"role": "user", "content": SOLVED},
        {"role": "assistant", "content": "The soup was cold."},
        {"role": "user", "content": review + QUESTION},
    ]


# --8<-- [end:prompt]


# --8<-- [start:main]
DATA = Path(__file__).parents[1] / "data" / "reviews.jsonl"


def main(lm):
    """Ask in three ways, and count real quotations and right ones."""
    lines = DATA.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    real, right = Counter(), Counter()
    for row in rows:
        review = row["text"]
        asked = prompt(review)
        quoted = {
            "alone": lm.generate_text(asked, max_new_tokens=24).strip(),
            "any words": lm(asked, any_words(review), show_schema=False),
            "sentence": lm(asked, one_sentence(review), show_schema=False),
        }
        print(review)
        for way, words in quoted.items():
            print(f"    {way}: {words}")
            real[way] += words in review
            right[way] += words == row["complaint"]
    print(f"of {len(rows)} answers, occur in the review:", dict(real))
    print(f"of {len(rows)} answers, are the complaint:", dict(right))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="name or path, else the bundled one")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
# --8<-- [end:main]
