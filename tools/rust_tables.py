r"""Write schemagen/regex/rust_tables.py: what `\d`, `\s` and `\w` hold in the `regex` crate of the installed pydantic-core.

    python tools/rust_tables.py

The sets are asked of the crate, so there is no other source to keep in step. `tests/unit/test_regex_rust.py` compares them.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from schemagen.regex import rust_sets

TARGET = Path(__file__).resolve().parents[1] / "schemagen" / "regex" / "rust_tables.py"
HEAD = r'''r"""What `\d`, `\s` and `\w` hold in Rust's `regex` crate, by the Unicode version of its tables.

Written by tools/rust_tables.py, which asks the crate. Each table lists inclusive ranges of hexadecimal code points.
"""

from __future__ import annotations

'''


def versions() -> tuple[str, str]:
    """Return the Unicode version of the crate, and the next one, which it does not know."""
    known = [f"{n}.0" for n in range(10, 40) if rust_sets.refusal(rf"\p{{age={n}.0}}") is None]
    return known[-1], f"{float(known[-1]) + 1:.1f}"


def table(item: str) -> str:
    """Return one entry of the tables, as Python text."""
    ranges = rust_sets._asked(item)  # noqa: SLF001 - not those that are shipped already
    assert ranges is not None
    text = " ".join(f"{low:X}" if low == high else f"{low:X}-{high:X}" for low, high in ranges)
    lines = textwrap.wrap(text, 100, break_on_hyphens=False)
    spelled = "\n".join(f'            "{line} "' for line in lines[:-1]) + f'\n            "{lines[-1]}"'
    return f'        r"{item}": ({spelled}\n        ),\n'


def main() -> int:
    """Write the file."""
    version, following = versions()
    tables = "".join(table(item) for item in (r"\d", r"\s", r"\w"))
    TARGET.write_text(
        f"{HEAD}#: Each version with the first that its crate does not know.\n"
        f'VERSIONS = {{"{version}": "{following}"}}\n\n'
        f'TABLES = {{\n    "{version}": {{\n{tables}    }},\n}}\n',
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
