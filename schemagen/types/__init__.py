"""Python types to JSON Schema, and texts back to instances."""
