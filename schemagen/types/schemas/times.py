"""`TimeSchemas`: dates, times of day and durations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.types.schemas.notes import BOUNDS, NotedSchemas, noted
from schemagen.types.value_patterns import date_bounds_pattern, zone_schema

if TYPE_CHECKING:
    from schemagen.types.schemas.notes import Json

_NOW = {"past": "in the past", "future": "in the future"}
_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


class TimeSchemas(NotedSchemas):
    """Schemas of times: zones as patterns, bounds as notes where no keyword has them."""

    def date_schema(self, schema: Any) -> Json:
        """A date; its bounds become a pattern, as dates are ordered like their text."""
        result = super().date_schema(schema)
        pattern = date_bounds_pattern(schema)
        if pattern:
            result["pattern"] = pattern
        return noted(result, self._time(schema, ("now_op",)))

    def datetime_schema(self, schema: Any) -> Json:
        """A datetime, with or without time zone as it demands."""
        result = super().datetime_schema(schema)
        result = noted(result, self._time(schema, (*BOUNDS, "now_op")))
        return {**result, **zone_schema(schema.get("tz_constraint"), with_date=True)}

    def time_schema(self, schema: Any) -> Json:
        """A time of day, with or without time zone as it demands."""
        result = super().time_schema(schema)
        result = noted(result, self._time(schema, BOUNDS))
        return {**result, **zone_schema(schema.get("tz_constraint"), with_date=False)}

    def timedelta_schema(self, schema: Any) -> Json:
        """A duration."""
        result = super().timedelta_schema(schema)
        return noted(result, self._time(schema, BOUNDS))

    def _time(self, schema: Any, keys: tuple[str, ...]) -> list[str]:
        """Return the demands on a time that no keyword of JSON Schema can state."""
        given = ((key, schema[key]) for key in keys if schema.get(key) is not None)
        return self.note(
            [f"{schema['type']} {_NOW[v] if key == 'now_op' else f'{_SIGNS[key]} {v}'}" for key, v in given]
        )
