"""Functions for the command line; in this folder: `schemagen call weather:get_weather "What is it like in Paris?"`."""

from typing import Literal


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather is like.

    Args:
        city: Where, by its English name.
        unit: Of the temperature.
    """
    degrees = 21 if unit == "celsius" else 70
    return f"sunny in {city}, {degrees} degrees {unit}"


def get_time(city: str) -> str:
    """Say what time it is.

    Args:
        city: Where, by its English name.
    """
    return f"half past nine in {city}"
