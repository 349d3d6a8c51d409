"""The engine in pure Python: the FSM index of Willard & Louf as an executable specification.

`index.py` is the engine and its matcher, with the algorithms of the paper; `fsm.py` makes the automaton over bytes that it
walks, and `utf8.py` the byte ranges that are its alphabet.
"""
