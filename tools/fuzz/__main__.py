"""Fuzzes schemagen: random specs, vocabularies and texts, against jsonschema, `re`, lark, the reference engine and brute force.

    python tools/fuzz --seconds 60                      # all targets, from a random seed, which is printed
    python tools/fuzz --only regex --seed 1             # one of json, regex, grammar, budget
    python tools/fuzz --replay build/fuzz/findings.jsonl

A finding is printed, made smaller, and added to build/fuzz/findings.jsonl; the exit status is then 1. If the process itself
dies, the case is in build/fuzz/findings.running.
"""

import sys
from pathlib import Path

# The folder of this file, which Python puts there, would hide nothing of use.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from tools.fuzz.session import main

if __name__ == "__main__":
    sys.exit(main())
