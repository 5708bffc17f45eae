"""A batch cut into parts that fit into memory."""

from __future__ import annotations

from itertools import pairwise


def chunks(rows: int, most: int) -> list[slice]:
    """Return as few parts of at most ``most`` rows as possible, all of nearly the same size."""
    count = -(-rows // most)
    edges = [rows * k // max(1, count) for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]
