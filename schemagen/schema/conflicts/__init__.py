"""Why no instance satisfies a schema."""
