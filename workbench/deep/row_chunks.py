"""A batch cut into parts that fit into memory."""

from __future__ import annotations

from itertools import pairwise

TABLE_ROWS = 384
"""Most rows that the engine for tables holds: what rounding takes from C grows with their square (1.8 % here)."""

IMAGE_ROWS = 96
"""Most rows that the engine for images holds: more leave the processor's cache, and rounding takes .11 % of C here."""


def chunks(rows: int, most: int) -> list[slice]:
    """Return as few parts of at most ``most`` rows as possible, all of nearly the same size."""
    count = -(-rows // most)
    edges = [rows * k // max(1, count) for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]
