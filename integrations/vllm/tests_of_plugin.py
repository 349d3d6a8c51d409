"""What several tests of the plug-in share; not a part of the distribution."""

from pathlib import Path

import schemagen

BUNDLED = Path(schemagen.__file__).parent / "lm" / "bundled"

#: Grammar texts, with what vLLM's own detection says; the engine's test compares the two.
GRAMMARS = [
    ('root ::= "a"', False),
    ('start: "a"', True),
    ('// root ::= "a"\nstart: "a"', True),
    ('# x ::= y\nstart: "a"', True),
    ('start: "a"\nx ::= "b"', False),
    ('start: "::="', False),
    ("", True),
]
