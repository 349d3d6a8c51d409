"""An endpoint that answers with a typed object: `pip install ".[examples]"`, then `python examples/11_fastapi_app.py`.

curl -s localhost:8000/bookings -H 'content-type: application/json' \
    -d '{"text": "Reservation for Tom Baker, 1 guest, from 12 June 2024 for 2 nights at 89 per night."}'
"""

from datetime import date
from typing import Annotated

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

import schemagen


class Message(BaseModel):
    """The request."""

    text: Annotated[str, Field(min_length=1, max_length=500)]


class Booking(BaseModel):
    """The answer; FastAPI puts its schema into /docs."""

    guest: str
    guests: Annotated[int, Field(ge=1, le=8)]
    check_in: date
    nights: Annotated[int, Field(ge=1, le=30)]
    price: float


app = FastAPI()
lm = schemagen.load_bundled()  # or schemagen.load("Qwen/Qwen3-0.6B", device_map="auto")
lm.compile(Booking)  # before the first request, not in it


@app.post("/bookings")
async def book(message: Message) -> Booking:
    """Read a booking out of a message; the event loop stays free while the model works."""
    try:
        return await lm.agenerate(message.text, Booking, max_new_tokens=120)
    except schemagen.GenerationError as error:
        raise HTTPException(422, detail={"code": error.code, "fact": error.fact}) from error


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=8000)
