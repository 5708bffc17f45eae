"""Split rows into training and held-out rows."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from workbench.params import InputError

HELD_OUT = 0.2


def seed_of(*parts: object) -> int:
    """Return a 128-bit seed that belongs to these parts alone.

    It does not depend on the position of a task in a list, so that a longer list repeats a shorter one's draws.
    """
    text = "|".join(f"{type(part).__name__}:{part!r}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def stratified_split(classes: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (training rows, held-out rows), each class divided 80/20 at random.

    The held-out fifth of all rows is shared over the classes by largest remainder, so that its size is exact and
    each class is within one row of its fifth.

    Args:
        classes: class code of each row (n,).
        seed: repeats the split.

    Raises:
        InputError: there are too few rows to hold any out and train on the rest.
    """
    rows = len(classes)
    codes, sizes = np.unique(classes, return_counts=True)
    held, generator = _held_out(sizes, seed)
    out = np.sort(
        np.concatenate(
            [generator.permutation(np.flatnonzero(classes == c))[:k] for c, k in zip(codes, held, strict=True)]
        )
    )
    training = np.ones(rows, dtype=bool)
    training[out] = False
    return np.flatnonzero(training), out


def held_out_sizes(sizes: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return how many rows of each class :func:`stratified_split` holds out, without looking for the rows.

    Args:
        sizes: number of rows of each class that has any (k,).
        seed: as there.

    Raises:
        InputError: there are too few rows to hold any out and train on the rest.
    """
    return _held_out(sizes, seed)[0]


def _held_out(sizes: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], np.random.Generator]:
    rows = int(sizes.sum())
    total = round(rows * HELD_OUT)
    if not 1 <= total < rows:
        raise InputError(f"{rows} rows are too few to hold a fifth of them out", hint="use a table of 5 rows or more")
    generator = np.random.Generator(np.random.PCG64(seed))
    quota = sizes * (total / rows)
    held = np.floor(quota).astype(np.int64)
    # A random order among equal remainders: otherwise the first class would always give the odd row.
    shuffled = generator.permutation(len(sizes))
    by_remainder = shuffled[np.argsort(-(quota - held)[shuffled], kind="stable")]
    held[by_remainder[: total - held.sum()]] += 1
    return held, generator
