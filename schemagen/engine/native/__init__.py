"""The engine whose automata are in the compiled core: schemas are lowered to it here."""
