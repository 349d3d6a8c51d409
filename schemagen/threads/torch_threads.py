"""Threads of torch in a process that was forked.

After a fork the threads that torch computes with are gone, and its OpenMP runtime does not know: the first operation
that is shared among them waits for ever. With one thread nothing is shared. So the first text that such a process
decodes leaves it one thread, if torch was imported before the fork; callers may call ``torch.set_num_threads``
afterwards.

There is no way to ask whether torch had used threads. A process that is forked before torch is imported, as those of
Spark are, keeps its threads.
"""

from __future__ import annotations

from schemagen.threads import forking


def settle_threads() -> None:
    """Leave torch one thread, once, if this process was forked from one that had imported torch."""
    if forking.was_forked_beside_torch():
        import torch

        if torch.get_num_threads() > 1:
            torch.set_num_threads(1)
