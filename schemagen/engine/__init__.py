"""Engines: a compiled one, its executable specification, and the protocol that both keep."""
