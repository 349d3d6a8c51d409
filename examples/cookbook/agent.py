"""Lets a model answer questions about orders with three tools."""

import argparse
import json
from pathlib import Path

import schemagen


# --8<-- [start:tools]
ORDERS = {"A17": "shipped", "B20": "paid", "C31": "delivered"}
PRICES = {"lamp": 40, "desk": 200, "chair": 90}


def order_status(order: str) -> str:
    """Look up the status of an order."""
    if order not in ORDERS:
        raise schemagen.ToolRetry(f"no order {order}")
    return f"order {order} is {ORDERS[order]}"


def price_of(product: str) -> str:
    """Look up the price of a product."""
    if product not in PRICES:
        raise schemagen.ToolRetry(f"no product {product}")
    return f"a {product} costs {PRICES[product]} EUR"


def cancel_order(order: str) -> str:
    """Cancel an order."""
    return f"order {order} is cancelled"


def allowed(call):
    """Let the model cancel only an order that is not on its way."""
    if call.name != "cancel_order":
        return True
    return ORDERS.get(call.arguments.order) == "paid"


# --8<-- [end:tools]


# --8<-- [start:run]
DATA = Path(__file__).parents[1] / "data"
TOOLS = [order_status, price_of, cancel_order]
OPTIONS = {"max_steps": 3, "max_new_tokens": 40, "approve": allowed}


def read(name):
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def main(lm):
    right, rows, solved = 0, read("questions.jsonl"), read("solved.jsonl")
    for row in rows:
        prompt = [*solved, {"role": "user", "content": row["question"]}]
        chat = lm.chat(prompt, TOOLS, tool_choice="required", **OPTIONS)
        print(row["question"])
        for result in chat.results:
            print(f"  {result.call}\n    {result.text}")
        print(f"  {chat.text}")
        right += json.loads(str(chat.results[0].call)) == row["call"]
    print(f"first call right: {right} of {len(rows)}")


# --8<-- [end:run]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a name or a path; default: bundled")
    name = parser.parse_args().model
    main(schemagen.load(name) if name else schemagen.load_bundled())
