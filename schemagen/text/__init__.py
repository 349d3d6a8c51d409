"""Specs of texts that are not JSON: `substring_of`."""

from schemagen.text.substrings import SubstringOf, substring_of

__all__ = ["SubstringOf", "substring_of"]
