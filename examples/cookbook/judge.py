"""Judges replies to customers with a rubric, beside the scores of people."""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

import schemagen


# --8<-- [start:class]
RUBRIC = """Score a reply to a customer.
3: it names a step that solves the problem
2: it is polite, but names no step
1: it refuses or blames the customer"""


class Verdict(BaseModel):
    """What the judge thinks of a reply."""

    # The reason comes first, so that the score can depend on it.
    reason: str = Field(max_length=80)
    score: Literal[1, 2, 3]


# --8<-- [end:class]


# --8<-- [start:run]
DATA = Path(__file__).parents[1] / "data" / "replies.jsonl"
SOLVED = {
    "You should have read the manual.": Verdict(
        reason="It blames the customer.", score=1
    ),
    "Thank you for telling us.": Verdict(
        reason="It is polite, but names no step.", score=2
    ),
    "Sorry! Please restart the app.": Verdict(
        reason="It names a step: restart it.", score=3
    ),
}


def prompt(reply, *, reason=True):
    """Return a chat with the rubric and a judged reply for each score."""
    chat = [{"role": "system", "content": RUBRIC}]
    for solved, verdict in SOLVED.items():
        answer = verdict.model_dump_json() if reason else f"{verdict.score}"
        chat.append({"role": "user", "content": solved})
        chat.append({"role": "assistant", "content": answer})
    return [*chat, {"role": "user", "content": reply}]


def chances(lm, chat, verdict):
    """Return the probability of each score after the reason."""
    at = verdict.text.rindex(str(verdict.value.score))
    found = []
    for score in "123":
        text = verdict.text[:at] + score
        scored = lm.score(chat, text)
        found.append(scored.own_perplexity ** -len(scored.own_token_ids))
    return [chance / sum(found) for chance in found]


def main(lm):
    lines = DATA.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    chats = [prompt(row["reply"]) for row in rows]
    found = lm.run_batch(chats, Verdict, show_schema=False)
    short = [prompt(row["reply"], reason=False) for row in rows]
    alone = lm.batch(short, Literal[1, 2, 3], show_schema=False)
    print("person, judge, judge without a reason")
    for row, one, score in zip(rows, found, alone, strict=True):
        print(row["score"], one.value.score, score, row["reply"])
        print(f"      {one.value.reason}")
    print("chances of 1, 2 and 3 after the reason")
    for row, chat, one in list(zip(rows, chats, found, strict=True))[:3]:
        sure = " ".join(f"{each:.2f}" for each in chances(lm, chat, one))
        print(f"{sure} {row['reply']}")
    people = [row["score"] for row in rows]
    judged = [one.value.score for one in found]
    for title, scores in (("reason first", judged), ("no reason", alone)):
        agreed = sum(map(int.__eq__, people, scores))
        given = dict(sorted(Counter(scores).items()))
        print(f"{title}: agrees on {agreed} of {len(rows)}, gave {given}")


# --8<-- [end:run]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a name or a path; default: bundled")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
