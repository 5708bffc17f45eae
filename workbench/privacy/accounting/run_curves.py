"""ε of a DP-SGD run against each of its figures: the curves of the calculator and of ``budget dpsgd --curves``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import (
    COARSE,
    LEAST_NOISE,
    MOST_NOISE,
    MOST_STEPS,
    Grid,
    accountant_named,
    accountant_names,
    event_of,
    loss,
    renyi,
    renyi_of_run,
)
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.signals.cancel import NEVER, CancelToken

AXES = ("order", "rows", "batch", "sigma", "epochs", "delta")
"""What ε is drawn against; the order α is that of the Rényi conversions."""

POINTS = 17
HEAT_POINTS = 9
_GRID = Grid(COARSE, cells=2**15)
"""A step's distribution has so few cells that it takes half a second: a drag is not followed late."""

REACH = 8.0  # a curve goes from an eighth of a figure to eight times it


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """The figures of a run, as a person sets them."""

    rows: int
    batch: int
    sigma: float
    epochs: int
    delta: float
    bands: int = 1

    @property
    def event(self) -> PoissonGaussian:
        """The run as its accountant sees it."""
        return event_of(self.rows, self.batch, self.epochs, self.sigma, bands=self.bands)

    def epsilon(self, accountant: str = "pld", *, quick: bool = False) -> float:
        """Return an upper bound on ε; with ``quick`` Rényi by whole orders alone, in a millisecond."""
        event = self.event
        chosen = accountant_named(accountant)
        if quick and chosen.at_once == accountant:
            return chosen.quick(event, self.delta).epsilon
        return loss(event, self.delta, accountant, _GRID).epsilon


@dataclass(frozen=True, slots=True)
class RunCurve:
    """ε at several values of one figure, all others as they are."""

    axis: str  # one of `AXES`
    accountant: str  # one of the accountants
    x: tuple[float, ...]  # the values, ascending
    epsilons: tuple[float, ...]  # an upper bound at each


def orders_curve(run: TrainingRun, accountant: str, *, quick: bool = False) -> tuple[RunCurve, float]:
    """Return ε at each Rényi order, and the order that is chosen; for the accountants that have orders.

    With ``quick`` at whole orders alone, in a millisecond.

    Raises:
        ParameterError: the accountant has no orders, or a figure is out of range.
    """
    at_orders = accountant_named(accountant).at_orders
    if at_orders is None:
        raise ParameterError(f"the accountant {accountant} has no Rényi orders", hint="choose rdp or rdp-classic")
    orders, divergence = renyi_of_run(run.event) if quick else renyi(run.event)
    epsilons = at_orders(orders, divergence, run.delta)
    kept = np.isfinite(epsilons)
    chosen = orders[kept][int(np.argmin(epsilons[kept]))]
    curve = RunCurve("order", accountant, tuple(orders[kept].tolist()), tuple(epsilons[kept].tolist()))
    return curve, float(chosen)


def values_of(run: TrainingRun, axis: str, points: int | None = None) -> tuple[float, ...]:
    """Return the values that a curve is computed at: the present one and others about it, within what it may be."""
    present = float(getattr(run, axis))
    low, high = present / REACH, present * REACH
    match axis:
        case "rows":
            low, high = max(low, run.batch * run.bands), min(high, run.batch * (MOST_STEPS // run.epochs))
        case "batch":
            low, high = max(low, math.ceil(run.rows / (MOST_STEPS // run.epochs))), min(high, run.rows // run.bands)
        case "epochs":
            high = min(high, MOST_STEPS // -(-run.rows // run.batch))
        case "sigma":
            low, high = max(low, 0.3, LEAST_NOISE), min(high, MOST_NOISE)
        case "delta":
            low, high = present / 1e3, min(present * 1e3, 0.5)
    spread = np.geomspace(max(low, 1e-300), max(high, low * 1.0001), points or POINTS).tolist()
    nearest = min(spread, key=lambda v: abs(math.log(v / present)))
    values = sorted({present, *(v for v in spread if v != nearest)})
    if axis in ("rows", "batch", "epochs"):
        return tuple(float(v) for v in sorted({max(1, round(v)) for v in values}))
    return tuple(values)


def with_value(run: TrainingRun, axis: str, value: float) -> TrainingRun:
    """Return ``run`` with one figure changed."""
    changed: dict[str, Any] = {axis: round(value) if axis in ("rows", "batch", "epochs") else value}
    return replace(run, **changed)


def curve(
    run: TrainingRun,
    axis: str,
    accountant: str,
    cancel: CancelToken = NEVER,
    *,
    quick: bool = False,
    points: int | None = None,
) -> RunCurve:
    """Return ε against one figure at so many ``points``; ``quick`` as for :meth:`TrainingRun.epsilon`.

    Raises:
        CancelledError: ``cancel`` was set.
        ParameterError: a figure is out of range.
    """
    if axis == "order":
        return orders_curve(run, accountant)[0]
    x, epsilons = [], []
    for value in values_of(run, axis, points):
        cancel.check()
        changed = with_value(run, axis, value)
        if changed.batch * changed.bands > changed.rows:
            continue
        epsilon = changed.epsilon(accountant, quick=quick)
        if math.isfinite(epsilon):
            x.append(value)
            epsilons.append(epsilon)
    return RunCurve(axis, accountant, tuple(x), tuple(epsilons))


HEAT_BY = "rdp"  # the accountant of the map of σ and batch


@dataclass(frozen=True, slots=True)
class HeatMap:
    """ε over σ and batch by one accountant: ``epsilons[i][j]`` belongs to ``sigmas[i]`` and ``batches[j]``."""

    accountant: str
    sigmas: tuple[float, ...]
    batches: tuple[float, ...]
    epsilons: tuple[tuple[float, ...], ...]


def heat_map(run: TrainingRun, cancel: CancelToken = NEVER) -> HeatMap:
    """Return ε over σ and batch, of whole orders alone: 81 runs in a tenth of a second.

    Raises:
        CancelledError: ``cancel`` was set.
        ParameterError: a figure is out of range.
    """
    sigmas, batches = values_of(run, "sigma", HEAT_POINTS), values_of(run, "batch", HEAT_POINTS)
    rows = []
    for sigma in sigmas:
        line = []
        for batch in batches:
            cancel.check()
            line.append(replace(run, sigma=sigma, batch=round(batch)).epsilon(HEAT_BY, quick=True))
        rows.append(tuple(line))
    return HeatMap(HEAT_BY, sigmas, batches, tuple(rows))


def csv_lines(run: TrainingRun, cancel: CancelToken = NEVER) -> Iterator[str]:
    """Yield the lines of a CSV file with every curve of ``run`` and the heat map."""
    yield "plot,accountant,x,second,epsilon"
    for axis in AXES:
        for accountant in accountant_names():
            if axis == "order" and accountant_named(accountant).at_orders is None:
                continue
            found = curve(run, axis, accountant, cancel)
            for x, epsilon in zip(found.x, found.epsilons, strict=True):
                yield f"{axis},{accountant},{x!r},,{epsilon!r}"
    heat = heat_map(run, cancel)
    for sigma, line in zip(heat.sigmas, heat.epsilons, strict=True):
        for batch, epsilon in zip(heat.batches, line, strict=True):
            yield f"sigma_batch,rdp,{sigma!r},{batch!r},{epsilon!r}"
