"""Constraints that are not JSON: one of a few texts, and text that matches a pattern."""

import re

import schemagen

lm = schemagen.load_bundled()

category = lm("My invoice is wrong and I want my money back.", schemagen.Choice(["billing", "bug", "feature"]))
print("category:", category)

pattern = r"[A-Z]{2}[0-9]{4}"
code = lm("My code is AB1234.", schemagen.Regex(pattern))
print("code:", code)

assert category in {"billing", "bug", "feature"}
assert re.fullmatch(pattern, code)
