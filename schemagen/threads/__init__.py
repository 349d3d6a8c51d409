"""Locks that a forked process finds free, and the special cases of Python without the interpreter lock."""
