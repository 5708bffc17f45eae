"""Non-uniform entropy: how unsure one is of a value by its label, as a share of how unsure without (Gionis 2009)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.risk.generalise.losses.base import Loss, log2, of_cells
from workbench.risk.generalise.problem import Problem, Reals


def _cells(problem: Problem) -> Sequence[Sequence[Reals]]:
    out = []
    for hierarchy, column in zip(problem.hierarchies, problem.columns, strict=True):
        rows = np.bincount(column, weights=problem.count, minlength=len(hierarchy.values))
        # The mean over rows of -log2 P(value | *) is the entropy of the column, to which each column is scaled.
        entropy = -float((rows / problem.rows * log2(rows / problem.rows)).sum())
        levels = []
        for codes in hierarchy.codes:
            of_label = np.bincount(codes, weights=rows)[codes]
            bits = -log2(rows / np.maximum(of_label, 1.0))
            levels.append(bits / entropy if entropy > 0 else np.zeros_like(bits))
        out.append(levels)
    return out


NONUNIFORM_ENTROPY: Loss = of_cells(
    name="entropy",
    title="non-uniform entropy",
    help="the uncertainty about a value that its label leaves, as a share of that without any label: 0 to 1",
    cells=_cells,
)
