"""Requests to a model, from the options of a call to its `Generation`; see `schemagen.request.attempts`."""
