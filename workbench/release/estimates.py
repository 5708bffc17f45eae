"""What a released table says of the original: estimates of its columns and of pairs of them, from its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from workbench.data.cluster_parts import PartsOnWorkers, Workers
from workbench.params import ParameterError, did_you_mean
from workbench.release.open_release import released_cells
from workbench.release.verify import VerifiedRelease
from workbench.sanitize.calibrated_columns import ProtectedColumn
from workbench.sanitize.estimates import ColumnEstimate, estimate_column
from workbench.sanitize.estimates.pairs import PairEstimate, estimate_pair
from workbench.sanitize.estimates.quantiles import Quantile, estimate_quantiles
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.work.work import Sums


@dataclass(frozen=True, eq=False)
class OfColumn:
    """The estimates of one column."""

    column: ProtectedColumn
    found: ColumnEstimate  # its mean or frequencies
    quantiles: tuple[Quantile, ...]  # those that were asked for, of a column of numbers


def estimates_of(
    released: VerifiedRelease,
    names: Sequence[str] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    *,
    confidence: float,
    quantiles: tuple[float, ...] = (),
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    workers: Workers | None = None,
) -> tuple[list[OfColumn], list[PairEstimate]]:
    """Return the estimates of columns, all that are protected where none is named, and of pairs.

    The released rows are read in parts: once for the counts of all columns, which workers of a cluster may make, and
    here for each pair.

    Raises:
        ParameterError: the release protects no such column, or nothing is estimated of such a pair.
        WorkbenchError: the cluster failed.
    """
    chosen = protected(released, names)
    columns: list[OfColumn] = []
    together: list[PairEstimate] = []
    steps = len(chosen) + len(pairs)
    for name, own in zip(chosen, _counts_of(released, chosen, cancel, workers), strict=True):
        cancel.check()
        emit(Progress(len(columns), steps, f"column {name}"))
        column = released.column(name)
        counts = np.zeros(max(column.randomiser.outputs, len(own)), dtype=np.int64)
        counts[: len(own)] = own
        found, cells = estimate_column(column, counts, confidence, cancel), column.grid.cells
        drawn = quantiles if cells.numeric else ()
        shares = estimate_quantiles(name, cells, column.randomiser, counts, drawn, confidence, cancel) if drawn else ()
        columns.append(OfColumn(column, found, tuple(shares)))
    for first, second in pairs:
        cancel.check()
        emit(Progress(len(columns) + len(together), steps, f"columns {first} and {second}"))
        answers = released.cells(first), released.cells(second)
        together.append(estimate_pair(released.column(first), released.column(second), answers, confidence, cancel))
    return columns, together


def _counts_of(
    released: VerifiedRelease, names: Sequence[str], cancel: CancelToken, workers: Workers | None
) -> list[NDArray[np.int64]]:
    grids = [released.plan.column(name).grid() for name in names]
    sizes = [grid.cells.total for grid in grids]
    sums = Sums([partial(released_cells, grid) for grid in grids], partial(_counted, sizes))
    parts = None if workers is None else PartsOnWorkers(released.table, workers)
    sums.read(released.table, cancel, parts)
    return [np.trim_zeros(own, "b") for own in np.split(sums.total, np.cumsum(sizes)[:-1])]


def _counted(sizes: Sequence[int], columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.bincount(own, minlength=size) for own, size in zip(columns, sizes, strict=True)])


def protected(released: VerifiedRelease, names: Sequence[str] | None) -> list[str]:
    """Return ``names``, or every protected column.

    Raises:
        ParameterError: the release does not protect one of them.
    """
    known = released.protected
    for name in names or ():
        if name not in known:
            what = f"the release protects no column {name!r}{did_you_mean(name, known)}"
            raise ParameterError(what, hint=f"choose from {', '.join(known)}")
    return list(names or known)


def pair_named(released: VerifiedRelease, text: str) -> tuple[str, str]:
    """Return the two columns that a text such as ``A,B`` names; their names may hold commas themselves.

    Raises:
        ParameterError: it does not name two protected columns.
    """
    parts, known = text.split(","), released.protected
    splits = [(",".join(parts[:at]).strip(), ",".join(parts[at:]).strip()) for at in range(1, len(parts))]
    if not splits:
        raise ParameterError(f"{text!r} does not name two columns", "--pair", "write --pair A,B")
    fitting = [split for split in splits if all(name in known for name in split)]
    first, second = protected(released, (fitting or splits)[0])
    return first, second
