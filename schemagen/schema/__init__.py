"""JSON Schema: from documents to the normal form that engines compile, and back to regular expressions."""
