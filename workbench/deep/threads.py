"""How many threads torch computes in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread: on networks this small a second one only waits, and beside a busy core it is slower.

    Measured on two cores that other work kept busy: 1,024 scattered images took 3.5 s in one thread and 41 to 70 s in
    two.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
