"""The engine in pure Python, and the constructions of the papers as executable specifications.

`index.py` is the engine of regular languages, with the algorithms of Willard & Louf; `fsm.py` makes the automaton over bytes
that it walks, and `utf8.py` the byte ranges that are its alphabet. `context_free.py` is the engine of grammars over the parser
in `frames.py`. `matcher.py` is the cursor over both.

Beside them, for tests and for reading: the automata over tokens of Koo, Liu & He (`transducers.py`, `pushdown.py`), the
pushdown index of Willard & Louf (`pushdown_index.py`), and DOMINO (`subterminals.py`).
"""
