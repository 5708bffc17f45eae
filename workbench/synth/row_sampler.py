"""Samples rows from a distribution on a tree, with less variance than independent draws.

Everything here is post-processing of a fitted model. Column after column, from the root outwards (a column's parent is
the combination of the earlier columns that it depends on):

1. *How many.* Of the m rows with one value of the parent, each value z of the child gets ⌊m·p(z)⌋ or ⌈m·p(z)⌉, by
   systematic sampling: one uniform offset, so that the expected number is m·p(z) exactly (Madow & Madow 1944).
2. *Which.* Independence of columns given their parent holds in expectation, but n rows drawn blindly show chance
   associations of the order of 1/√n. So those m rows are sorted by their values in the earlier columns, and each value
   is spread evenly over them. Where the table is small enough for more, rows take their turn in random order, and each
   takes the value, among those that its parent's cell has left, that is the most overdue beside the values it has in
   the earlier columns. Each expected number is that of columns independent given the parent.

The rows end in random order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.columns.grid import smallest_type
from workbench.privacy.entropy import Entropy, permutation
from workbench.signals.cancel import CancelToken
from workbench.synth.cliques import CliqueMarginals, Doubles
from workbench.synth.columns import Codes

MOST_DEALT = 60_000
"""Rows times columns up to which each row takes what is most overdue; for more it takes long."""

_BLOCK = 64  # rows of which it is worked out together how overdue each value is

_FEW_CODES = 1 << 16  # combinations of columns up to which the ones that occur are found by counting


def uniforms(count: int, entropy: Entropy) -> Doubles:
    """Return ``count`` uniform numbers in [0, 1)."""
    return (entropy.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sampled_rows(
    model: CliqueMarginals,
    rows: int,
    entropy: Entropy,
    cancel: CancelToken,
    on_column: Callable[[int], None] = lambda done: None,
) -> Codes:
    """Return (rows, d) coarse cells drawn from the fitted ``model``; the number of rows is public.

    The entropy is the operating system's for a release, a seeded stream for studies. ``on_column`` is called with the
    number of finished columns.
    """
    sizes = model.sizes
    out = np.zeros((rows, len(sizes)), dtype=smallest_type(max(sizes)))
    placed: list[int] = []
    evenly = rows * len(sizes) <= MOST_DEALT
    for before, child, chances in model.steps():
        cancel.check()
        on_column(len(placed))
        if not placed:
            first = rounded(chances[0], rows, entropy)
            out[:, child] = np.repeat(np.arange(len(first)), first)
            placed.append(child)
            continue
        code = np.zeros(rows, dtype=np.int64)
        for column in before:
            code = code * sizes[column] + out[:, column]
        # Only combinations of the columns before that some row has.
        found, above, held = _distinct(code, math.prod(sizes[column] for column in before))
        left = np.array([rounded(chances[c], int(m), entropy) for c, m in zip(found, held, strict=True)])
        left = left.reshape(len(found), sizes[child])
        beside = [column for column in placed if column not in before]
        if beside and evenly:
            out[:, child] = _dealt(left, above, out[:, beside], [sizes[c] for c in beside], entropy, cancel)
        else:
            out[:, child] = _interleaved(left, above, out[:, beside], [sizes[c] for c in beside], entropy)
        placed.append(child)
    return out.take(permutation(rows, entropy), axis=0)


def _distinct(
    code: NDArray[np.int64], codes: int
) -> tuple[NDArray[np.int64], NDArray[np.integer[Any]], NDArray[np.int64]]:
    """Return the codes that occur, the place of each row's among them, and how many rows each has."""
    if codes > _FEW_CODES:
        found, above, held = np.unique(code, return_inverse=True, return_counts=True)
        return found, above, held
    held = np.bincount(code, minlength=codes)
    found = np.flatnonzero(held)
    place = np.cumsum(held > 0) - 1
    return found, place.astype(np.uint16)[code], held[found]  # of 16 bits, which sort by far faster


def rounded(chances: Doubles, total: int, entropy: Entropy) -> NDArray[np.int64]:
    """Return whole numbers that sum to ``total``, each one of the two nearest its chance's part of it.

    The chances (k,) are not negative and not all 0. Over the offset, which ``entropy`` gives, the expected numbers are
    exact.
    """
    ends = np.cumsum(chances) * (total / chances.sum())
    ends[-1] = total
    stops = np.minimum(np.floor(ends + uniforms(1, entropy)[0]), total).astype(np.int64)
    stops[-1] = total
    # Behind the last value with a chance nothing may be given.
    stops[int(np.flatnonzero(chances)[-1]) :] = total
    counts: NDArray[np.int64] = np.diff(stops, prepend=0)
    return counts


def _interleaved(
    left: NDArray[np.int64], above: NDArray[np.integer[Any]], beside: Codes, sizes: list[int], entropy: Entropy
) -> Codes:
    """Return values (n,) of which ``left`` says how many each cell of the parent gets, spread evenly over its rows.

    Rows of a cell form a circle in the order of their values in the first columns ``beside`` (n, s), by chance among
    equals; each value is taken at even distances along it, from a random place within each. Where the circle begins is
    uniformly random: so each row of a cell gets each of its values with the probability of any other row.
    """
    code, codes = above.astype(np.int64), len(left)
    for column, size in enumerate(sizes):
        if codes * size > _FEW_CODES:
            break
        code, codes = code * size + permutation(size, entropy)[beside[:, column]], codes * size
    code = code.astype(smallest_type(codes))  # those of 16 bits sort by far faster
    order = permutation(len(above), entropy)
    order = order[np.argsort(code[order], kind="stable")]
    counts, held = left.ravel(), left.sum(axis=1)
    cell = np.repeat(np.arange(len(left)), held)
    place = uniforms(len(above), entropy)
    place += np.arange(len(above)) - np.repeat(np.cumsum(counts) - counts, counts)
    place /= np.repeat(counts, counts)
    place += cell
    kind = smallest_type(left.shape[1])
    out = np.empty(len(above), dtype=kind)
    first = np.cumsum(held) - held
    turned = np.arange(len(above)) + ((uniforms(len(left), entropy) * held).astype(np.int64) - first)[cell]
    turned %= held[cell]
    turned += first[cell]
    out[order[turned]] = np.repeat(np.tile(np.arange(left.shape[1], dtype=kind), len(left)), counts)[np.argsort(place)]
    return out


def _dealt(
    left: NDArray[np.int64],
    above: NDArray[np.integer[Any]],
    beside: Codes,
    sizes: list[int],
    entropy: Entropy,
    cancel: CancelToken,
) -> NDArray[np.int64]:
    """Return the same, each row taking what is most overdue beside its values ``beside`` (n, s)."""
    left = left.copy()
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = beside + starts[:-1]
    tie = 1e-3 * uniforms(len(above) * left.shape[1], entropy).reshape(len(above), -1)
    order = permutation(len(above), entropy)
    overdue = np.zeros((int(starts[-1]), left.shape[1]))
    out = np.empty(len(above), dtype=np.int64)
    # One cell of the parent after the other; what rounding left of the former ones is still overdue.
    for cell in range(len(left)):
        rows, free = order[above[order] == cell], left[cell]
        here = np.bincount(places[rows].ravel(), minlength=len(overdue))
        overdue += np.outer(here, free / max(len(rows), 1))
        for first in range(0, len(rows), _BLOCK):
            cancel.check()
            block = rows[first : first + _BLOCK]
            held = places[block]
            out[block] = taken = _taken(overdue[held].sum(axis=1) + tie[block], free, held)
            np.subtract.at(overdue, (held, taken[:, None]), 1)
    return out


def _taken(wanted: Doubles, free: NDArray[np.int64], held: Codes) -> NDArray[np.int64]:
    """Return the value that each row of a block takes, of those ``free``, which become fewer.

    Args:
        wanted: (rows, values): how overdue each value is before the block.
        free: how many rows may still take each value.
        held: (rows, s): what the rows have already; a value that one takes is less overdue for those that share it.
    """
    has = np.zeros((len(held), int(held.max()) + 1))
    has[np.arange(len(held))[:, None], held] = 1.0
    by_value = np.where(free > 0, wanted, -np.inf).T.copy()
    taken = np.empty(len(held), dtype=np.int64)
    for row, shared in enumerate(has @ has.T):
        value = taken[row] = int(by_value[:, row].argmax())
        free[value] -= 1
        if free[value]:
            by_value[value] -= shared
        else:
            by_value[value] = -np.inf
    return taken
