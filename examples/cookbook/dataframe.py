"""Turns a column of a pandas data frame into new columns with types."""

import argparse
from pathlib import Path
from typing import Literal, get_args

import pandas as pd
from pydantic import BaseModel, Field

import schemagen


# --8<-- [start:class]
class Ad(BaseModel):
    """What somebody sells, for how much."""

    item: str = Field(max_length=30)
    price: int = Field(ge=0, le=9999)
    condition: Literal["new", "used"]


CONDITIONS = get_args(Ad.model_fields["condition"].annotation)
DTYPES = {
    "item": "string",
    "price": "Int64",
    "condition": pd.CategoricalDtype(CONDITIONS),
    "error": "string",
}
# --8<-- [end:class]


# --8<-- [start:run]
DATA = Path(__file__).parents[1] / "data" / "ads.csv"


def columns_of(found, index):
    """Return a column for each field, and one for errors."""
    cells = [
        {"error": one.error.code}
        if isinstance(one, schemagen.Failure)
        else one.model_dump()
        for one in found
    ]
    return pd.DataFrame(cells, index, columns=[*DTYPES]).astype(DTYPES)


def main(lm):
    frame = pd.read_csv(DATA)
    found = lm.map(frame["text"], Ad, window=4, max_new_tokens=40)
    new = columns_of(found, frame.index)
    print(new.to_string())
    print(new.dtypes.to_string())
    print(new.groupby("condition", observed=True)["price"].mean())
    known = new["error"].isna()
    for name in Ad.model_fields:
        right = (new[name].astype(object) == frame[name])[known].sum()
        print(f"{name}: {right} of {known.sum()} right")


# --8<-- [end:run]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a name or a path; default: bundled")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
