"""The engine in pure Python, and the constructions of the papers as executable specifications: to read and to compare with.

`compile` returns a matcher with the interface of the compiled core's; `engine` the grammar that many matchers share. Both are
slow: every state is built before the first token, and recursion is for grammar texts alone. The library itself never uses
them. The tests hold every mask of the core against them.

`index.py` is the engine of regular languages, with the algorithms of Willard & Louf; `fsm.py` makes the automaton over bytes
that it walks. `context_free.py` is the engine of grammars over the parser
in `frames.py`. `matcher.py` is the cursor over both. The other modules are for reading and for tests: the automata over tokens
of Koo, Liu & He (`transducers.py`, `pushdown.py`), the pushdown index of Willard & Louf (`pushdown_index.py`), and DOMINO
(`subterminals.py`).
"""

from schemagen.reference.compiler import compile, engine  # noqa: A004 - the field's verb, as in re.compile

__all__ = ["compile", "engine"]
