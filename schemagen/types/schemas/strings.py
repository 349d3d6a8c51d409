"""`StringSchemas`: strings, bytes, JSON inside a string, and URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.types.schemas.notes import CAP, NotedSchemas, noted, without_notes
from schemagen.types.value_patterns import (
    ANY_JSON,
    MAX_ANY_DEPTH,
    TRIMMED_PATTERN,
    bytes_schema,
    json_text_pattern,
    pattern_keywords,
    scheme_pattern,
)

if TYPE_CHECKING:
    from schemagen.types.schemas.notes import Json


class StringSchemas(NotedSchemas):
    """Schemas of strings: patterns without look-arounds, and lengths as validation counts them."""

    def str_schema(self, schema: Any) -> Json:
        """A string; where spaces at its ends are cut off before its length is checked it has none."""
        result = super().str_schema(schema)
        if "pattern" in result:
            engine = schema.get("regex_engine", self.configuration.regex_engine)
            result.update(pattern_keywords(schema["pattern"], engine))
        strips = schema.get("strip_whitespace", self.configuration.str_strip_whitespace)
        if strips and result.keys() & {"minLength", "pattern"}:
            result["allOf"] = [{"pattern": TRIMMED_PATTERN}]
        return result

    def bytes_schema(self, schema: Any) -> Json:
        """Bytes: UTF-8 text, base64 or hexadecimal, as the configuration reads them; lengths count bytes."""
        return bytes_schema(self.configuration.val_json_bytes, schema.get("min_length"), schema.get("max_length"))

    def json_schema(self, schema: Any) -> Json:
        """A string that holds JSON: the compact texts of the inner type, as a pattern."""
        before = len(self.unsaid)
        result = super().json_schema(schema)
        content = without_notes(result["contentSchema"])
        pattern = json_text_pattern(content, lambda part: without_notes(self.inlined(part)))
        if pattern is None:
            what = "JSON inside a string, of a type that no pattern describes"
            return self.handle_invalid_for_json_schema(schema, what)
        kept: Json = {"contentMediaType": "application/json", "contentSchema": content}
        said: Json = {"type": "string", **kept, "pattern": f"^(?:{pattern})$"}
        if ANY_JSON in pattern:
            said[CAP] = [f"JSON of any form inside a string: arrays and objects nested at most {MAX_ANY_DEPTH} deep"]
        return noted(said, self.unsaid[before:])

    def url_schema(self, schema: Any) -> Json:
        """A URL with its schemes."""
        return self._located(schema, super().url_schema(schema))

    def multi_host_url_schema(self, schema: Any) -> Json:
        """A URL that may name several hosts; one is written."""
        return self._located(schema, {**super().multi_host_url_schema(schema), "format": "uri"})

    def _located(self, schema: Any, result: Json) -> Json:
        schemes = schema.get("allowed_schemes")
        if schemes:
            result["pattern"] = scheme_pattern(schemes)
        return result
