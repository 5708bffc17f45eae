"""Exact facts about one mechanism as plain values: a local one on its cells, a frequency oracle, or a central one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.params import ParameterError, Parameters, integer, real, texts
from workbench.privacy.accounting.event import RELATION
from workbench.privacy.central.mechanisms import Asked, CentralMechanism
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import duchi_sd, error_profile
from workbench.privacy.local.frequency import OracleKind, variance
from workbench.privacy.local.limits import MOST_CELLS
from workbench.privacy.local.mechanisms.base import Randomiser

_DEFAULT_CELLS = 101
_FARTHEST = 1e150  # largest bound: the squares of errors are still doubles


@dataclass(frozen=True, kw_only=True)
class CellOptions(Parameters):
    """The cells that a mechanism is applied to: numbers with bounds, or a domain of names."""

    lower: float | None = real(
        default=None, at_least=-_FARTHEST, upto=_FARTHEST, help="lower bound of the cells' numbers"
    )
    upper: float | None = real(
        default=None, at_least=-_FARTHEST, upto=_FARTHEST, help="upper bound of the cells' numbers"
    )
    cells: int | None = integer(
        default=None,
        at_least=2,
        upto=MOST_CELLS,
        help=f"number of cells from lower to upper (default {_DEFAULT_CELLS})",
    )
    domain: tuple[str, ...] | None = texts(default=None, shortest=2, help="names instead of numbers: a,b,c")

    def made(self) -> Cells:
        """Return the cells, or raise :class:`ParameterError` where the options contradict each other."""
        if self.domain is not None:
            if any(v is not None for v in (self.lower, self.upper, self.cells)):
                raise ParameterError("--domain excludes --lower, --upper and --cells", hint="give only one kind")
            return Cells(size=len(self.domain))
        if self.lower is None or self.upper is None:
            raise ParameterError("the cells are not given", hint="give --lower, --upper and --cells, or --domain a,b,c")
        made = Cells.line(self.lower, self.upper, self.cells or _DEFAULT_CELLS)
        if made.values is None or not np.all(np.diff(made.values) > 0):
            raise ParameterError(
                f"{made.size} cells between {self.lower:g} and {self.upper:g} are too close for double precision",
                hint="use fewer cells, or a wider range",
            )
        return made


@dataclass(frozen=True, kw_only=True)
class CentralOptions(Parameters):
    """What a central mechanism is asked for, beside ε."""

    delta: float | None = real(
        default=None, above=0, below=1, symbol="δ", help="for a central Gaussian mechanism: chance that it fails"
    )
    sensitivity: float | None = real(
        default=None, above=0, upto=1e9, symbol="Δ", help="for a central mechanism: how much one row changes the answer"
    )
    scores: tuple[str, ...] | None = texts(
        default=None, shortest=2, help="for a central choice: the scores, such as 3,2,0"
    )

    @property
    def given(self) -> bool:
        """Whether any of them is given, so that a central mechanism is meant."""
        return self != CentralOptions()

    def asked(self, epsilon: float) -> Asked:
        """Return the question at ``epsilon``.

        Raises:
            ParameterError: a score is not a number.
        """
        try:
            scores = tuple(float(s) for s in self.scores or ())
        except ValueError:
            scores = (math.nan,)
        if not all(math.isfinite(s) for s in scores):
            raise ParameterError("a score is not a number", "--scores", "give scores such as 3,2,0")
        return Asked(epsilon, self.delta or 0.0, self.sensitivity or 1.0, scores)


def central_facts(mechanism: CentralMechanism, asked: Asked) -> dict[str, Any]:
    """Return the card of a central mechanism."""
    card = mechanism.card(asked)
    return {
        "mechanism": card.mechanism,
        "central": True,
        "title": mechanism.title,
        "summary": mechanism.summary,
        "epsilon": card.epsilon,
        "exact_epsilon": card.loss if math.isfinite(card.loss) else None,
        "delta": card.delta,
        "scale": card.scale,
        "expected_absolute_error": card.absolute,
        "variance": card.variance,
        "tails": [{"above": t, "chance": chance} for t, chance in card.tails],
        "density": [
            {"output": x, "table": p, "neighbour": q}
            for x, p, q in zip(card.outputs, card.densities, card.neighbours, strict=True)
        ],
        "drawn_by": card.drawn_by,
        "relation": RELATION,
    }


def local_facts(name: str, randomiser: Randomiser, cells: Cells, epsilon: float) -> dict[str, Any]:
    """Return the facts of a local mechanism on ``cells``."""
    known = error_profile(randomiser, cells)
    keys = (
        *("exact_epsilon", "variance_max", "variance_mean", "mse_uniform", "bias_max"),
        *("expected_absolute_error", "constant_error"),
    )
    return {
        "mechanism": name,
        "epsilon": epsilon,
        "cells": cells.total,
        **{key: getattr(known, key) for key in keys},
        "statistic_sd": known.facts.statistic_sd,
        "duchi_sd": None if cells.values is None else duchi_sd(epsilon) * float(np.ptp(cells.values)) / 2,
        "digest": randomiser.digest(),
    }


def oracle_facts(kind: OracleKind, cells: Cells, epsilon: float) -> dict[str, Any]:
    """Return the facts of a frequency oracle: of the unbiased estimate of one frequency, from one record."""
    made = kind.build(cells.total, epsilon)
    rare, even = variance(made, 0.0), variance(made, 1 / cells.total)
    return {
        "mechanism": kind.name,
        "epsilon": epsilon,
        "exact_epsilon": made.exact_epsilon,
        "cells": cells.total,
        "variance_max": max(rare, variance(made, 1.0)),
        "variance_mean": even,
        "mse_uniform": even,
        "bias_max": 0.0,
        "statistic_sd": even**0.5,
        "variance_rare": rare,
        "support_own": made.own,
        "support_other": made.other,
        "report": kind.report.format(k=cells.total),
    }
