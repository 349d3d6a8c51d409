"""Writes synthetic reviews: rows of a class, sampled with a seed."""

import argparse
from collections import Counter
from typing import Literal

from pydantic import BaseModel, Field, create_model

import schemagen


# --8<-- [start:class]
class Review(BaseModel):
    """A review of a product by a customer."""

    product: Literal["lamp", "desk", "chair"]
    stars: Literal[1, 2, 3, 4, 5]
    text: str = Field(min_length=10, max_length=100)


# --8<-- [end:class]


# --8<-- [start:run]
SAMPLING = {"temperature": 0.8, "seed": 7, "max_new_tokens": 64}
PLAN = [
    (each, stars)
    for each in ("lamp", "desk", "chair")
    for stars in range(1, 6)
]


def decided(product, stars):
    """Return the class with its first two fields decided."""
    kinds = {"product": Literal[product], "stars": Literal[stars]}
    fields = {name: (kind, ...) for name, kind in kinds.items()}
    return create_model("Decided", __base__=Review, **fields)


def show(title, reviews):
    """Print how many rows are new, whole and planned, and every fourth."""
    texts = Counter(review.text.lower() for review in reviews)
    whole = sum(review.text.endswith((".", "!")) for review in reviews)
    pairs = [(review.product, review.stars) for review in reviews]
    kept = sum(map(tuple.__eq__, pairs, PLAN))
    print(f"{title}: {len(texts)} of {len(PLAN)} texts are different,")
    print(f"  {whole} are whole, {kept} rows are as planned")
    for counts in zip(*pairs, strict=True):
        print(f"  {dict(sorted(Counter(counts).items()))}")
    for review in reviews[::4]:
        print(f"  {review.product} {review.stars}: {review.text}")


def main(lm):
    """Let the model choose product and stars, ask for them, decide them."""
    free = ["Write a short review of a product."] * len(PLAN)
    asked = [
        f"Write a short review of a {product} with {stars} of 5 stars."
        for product, stars in PLAN
    ]
    show("free", lm.batch(free, Review, **SAMPLING))
    show("asked", lm.batch(asked, Review, **SAMPLING))
    classes = [decided(*each) for each in PLAN]
    show("decided", lm.batch(asked, classes, **SAMPLING))


# --8<-- [end:run]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a name or a path; default: bundled")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
