"""pydantic's generator of JSON Schema, overridden method by method: a module for each kind of type."""
