"""Locks that a forked process finds free, and what is done otherwise without the lock of the interpreter."""
