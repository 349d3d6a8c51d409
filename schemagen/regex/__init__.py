"""Regular expressions: values (`ast`), pattern dialects that parse to them, and text and matching for them.

dialects -> parse -> syntax           pattern text, with its assertions
dialects -> assertions -> automaton   assertions -> intersection and complement
lowering -> language                  nodes of the compiled core; matching, emptiness
printing                              Python `re` text
"""

from schemagen.regex.dialects import parse_ecma, parse_pattern, parse_python, parse_rust
from schemagen.regex.language import Language, is_empty, is_subset, matches
from schemagen.regex.printing import to_python_re

__all__ = [
    "Language",
    "is_empty",
    "is_subset",
    "matches",
    "parse_ecma",
    "parse_pattern",
    "parse_python",
    "parse_rust",
    "to_python_re",
]
