"""Time and memory of a synthesis, from public sizes alone, and when it is refused.

The constants were measured on two cores of a server (``tests/benchmarks/bench_synthesis_size.py``): times may be a few
times larger or smaller elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from workbench.data.columns.grid import smallest_type
from workbench.params import ParameterError
from workbench.synth import aim, tan
from workbench.synth.base import CHOICE, COUNTS, MODEL, Setting, Synthesiser
from workbench.synth.cliques import CliqueTree
from workbench.synth.fit import ROUNDS
from workbench.synth.row_sampler import MOST_DEALT

MOST_CELLS = 1 << 22  # most cells of all tables of a model: some 300 MB while it is fitted

_SECONDS_OF_A_COUNT, _SECONDS_OF_A_TABLE = 1.5e-8, 5e-4
_SECONDS_OF_A_CELL, _SECONDS_OF_A_FIT = 5e-8, 6e-5
_SECONDS_OF_A_SCORE = 8e-6
_SECONDS_OF_A_VALUE, _SECONDS_OF_A_DEALT = 4e-7, 8e-6
_SECONDS_OF_A_NUMBER = 2e-8
_TRIES = 2
_BYTES_OF_A_CELL, _BYTES_OF_A_CODE, _BYTES_OF_A_ROW = 80, 5, 64
"""Of a value of the table that is coded, and of a drawn row beside its codes and their copy."""
_MOST_CODED = 1 << 27
"""Bytes of the codes of a table that is in memory: of a larger one, which is read in parts, only counts are kept."""


@dataclass(frozen=True)
class Resources:
    """What a synthesis is expected to take."""

    seconds: float  # time
    bytes: int  # memory, beside that of the table

    def words(self) -> str:
        """Return it as a person reads it."""
        s = self.seconds
        time = "a second" if s < 2 else f"{s:.0f} seconds" if s < 90 else f"{s / 60:.0f} minutes"
        return f"{time} and {max(self.bytes / 1e6, 1):.0f} MB of memory"


def needs_of(method: Synthesiser, setting: Setting, drawn: int) -> Resources:
    """Return what a synthesis of ``drawn`` rows takes."""
    queries, d = method.queries(setting), len(setting.columns)
    tables = sum(query.form == COUNTS for query in queries)
    chosen = sum(query.form == CHOICE for query in queries)
    counted = tables + (d * (d - 1) // 2 if chosen else 0)
    cells = model_cells(method, setting)
    seconds = counted * (setting.rows * _SECONDS_OF_A_COUNT + _SECONDS_OF_A_TABLE)
    seconds += chosen * d * (d - 1) / 2 * _SECONDS_OF_A_SCORE
    fits = ROUNDS + (chosen * aim.ROUNDS if method.closes_circles else 0)
    seconds += fits * _TRIES * (cells * _SECONDS_OF_A_CELL + tables * _SECONDS_OF_A_FIT)
    if method.closes_circles:
        # The expected table of every pair, in each round.
        seconds += chosen * d * (cells * max(setting.sizes) * _SECONDS_OF_A_CELL / 8 + d * _SECONDS_OF_A_TABLE)
    seconds += sum(query.form == MODEL for query in queries) * method.numbers(setting) * _SECONDS_OF_A_NUMBER
    evenly = drawn * d <= MOST_DEALT
    seconds += drawn * d * (_SECONDS_OF_A_DEALT if evenly else _SECONDS_OF_A_VALUE)
    code, values = np.dtype(smallest_type(max(setting.sizes))).itemsize, setting.rows * d
    coded = min(values * _BYTES_OF_A_CODE, _MOST_CODED) if method.inner(setting) is setting else 2 * code * values
    held = cells * _BYTES_OF_A_CELL + coded + drawn * (2 * code * d + _BYTES_OF_A_ROW)
    held += 16 * counted * min(max(setting.sizes) ** 2, 4096) if chosen else 0
    return Resources(seconds, held)


def model_cells(method: Synthesiser, setting: Setting) -> int:
    """Return how many cells a model may have at most, before it is known which pairs are chosen."""
    sizes = sorted(setting.sizes, reverse=True)
    if len(sizes) < 2:
        return sizes[0]
    if method.closes_circles:
        return aim.MOST_CELLS
    if method.with_target and setting.target is not None:
        sides = list(tan.largest_parts(setting))
        for i in {i for columns, _ in setting.impossible for i in columns}:
            sides[i] = min(2 * sides[i], setting.sizes[i])  # what is impossible may part its cells further
        others = sorted((side for j, side in enumerate(sides) if j != setting.target), reverse=True)
        # The target is in every table; other columns that a statement joins may have to be in each as well.
        joined = {i for columns, _ in setting.impossible if len(columns) > 1 for i in columns} - {setting.target}
        return len(sizes) * math.prod((sides[setting.target], *others[:2], *(sides[i] for i in joined)))
    groups = [columns for columns, _ in setting.impossible]
    if groups and method.needs_target and setting.target is not None:
        star = [tuple(sorted((setting.target, i))) for i in range(len(sizes)) if i != setting.target]
        return CliqueTree.of(setting.sizes, [*groups, *star]).cells
    tree = sizes[0] * sum(sizes[1:])
    # Given the columns of what is impossible, the rest is a tree: cliques of an edge and these are enough.
    return tree * math.prod(setting.sizes[i] for i in {i for columns in groups for i in columns})


def require_bounded(setting: Setting, method: Synthesiser | None = None) -> None:
    """Refuse a model, by default of a tree that is chosen, that would not fit into memory; from public sizes alone.

    Raises:
        ParameterError: its tables could have more cells than :data:`MOST_CELLS`.
    """
    sizes = sorted(setting.sizes, reverse=True)
    column = max(setting.columns, key=lambda c: c.size)
    where = f"column {column.name} alone has {column.size}"
    fewer = "drop columns with many values, or declare fewer values"
    groups = [columns for columns, _ in setting.impossible]
    if method is not None and method.with_target and setting.target is not None and len(sizes) > 2:
        others = sorted((s for j, s in enumerate(setting.sizes) if j != setting.target), reverse=True)
        cells = math.prod((setting.sizes[setting.target], *others[:2]))
        if cells > MOST_CELLS:
            raise ParameterError(
                f"the tables of pairs with the target could have {cells:,} cells, above {MOST_CELLS:,}", where, fewer
            )
    if method is not None and method.closes_circles:
        least = CliqueTree.of(setting.sizes, groups).cells + (sizes[-1] * sizes[-2] if len(sizes) > 1 else 0)
        if least > aim.MOST_CELLS:
            stated = f"the smallest model has {least:,} cells, above {aim.MOST_CELLS:,}"
            raise ParameterError(stated, where, fewer + ("" if not groups else ", or fewer impossible combinations"))
        return
    cells = sizes[0] * sum(sizes[1:])
    if cells > MOST_CELLS:
        raise ParameterError(f"the tables of pairs could have {cells:,} cells, above {MOST_CELLS:,}", where, fewer)
    cells = cells if method is None else model_cells(method, setting)
    if groups and cells > MOST_CELLS:
        raise ParameterError(
            f"with the impossible combinations the model could have {cells:,} cells, above {MOST_CELLS:,}",
            "--impossible",
            "choose the method aim, or declare fewer combinations",
        )
